// The file of a lifetime model that `tandem fit lifetimes --out` writes, for the key transience.lifetime.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem {

/// Whether the text is meant as such a file, not as the name of a model.
bool is_lifetime_file(const std::string& text);

struct LifetimeFile {
  std::string name;        ///< of the model
  nlohmann::json options;  ///< name -> number, text, true or false
};

/// Other keys of the file are ignored: where the model comes from, the models of groups. Errors: ConfigError
/// naming file, line and key when the file cannot be read, is not such a model, or the model is not `known`.
LifetimeFile read_lifetime_file(const std::string& path, const std::vector<std::string>& known);

}  // namespace tandem
