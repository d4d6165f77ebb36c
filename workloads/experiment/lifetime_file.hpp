// The file of a lifetime model that `tandem fit lifetimes --out` writes, for the key transience.lifetime.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem {

/// Whether the text names such a file, not a model.
bool is_lifetime_file(const std::string& text);

struct LifetimeFile {
  std::string name;        ///< of the model
  nlohmann::json options;  ///< name -> number, text, true or false
};

/// Models of groups of machines become the option by_host of the model: groups are known by their values in
/// the columns by which they were fitted, which are properties of hosts. Other keys of the file are ignored.
/// Errors: ConfigError naming file, line and key when the file cannot be read, is not such a model, or a
/// model is not `known`.
LifetimeFile read_lifetime_file(const std::string& path, const std::vector<std::string>& known);

}  // namespace tandem
