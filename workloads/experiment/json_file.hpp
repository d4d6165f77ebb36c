// JSON files that people or programs may have damaged, read with messages that name file, line and key.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem {

class JsonFile {
 public:
  using Pointer = nlohmann::json::json_pointer;

  /// `what`: what the file should be, for messages: "a calibration profile".
  /// Errors: ConfigError when it cannot be opened, or is not valid JSON; the latter names line and column.
  JsonFile(std::string path, std::string what);

  const nlohmann::json& document() const { return document_; }
  /// Checks that every key of `example` exists and has a value of the same kind (number, text, list, ...).
  /// Elements of a list are checked against the first element of the example's list, if it has one.
  /// Errors: ConfigError naming line, key, expected and found kind.
  void expect_like(const nlohmann::json& example) const;
  /// Throws ConfigError naming line and key of a value.
  [[noreturn]] void fail(const Pointer& at, const std::string& expected, const std::string& found) const;

 private:
  void expect_like(const nlohmann::json& example, const nlohmann::json& found, const Pointer& at) const;

  std::string path_;
  std::string what_;
  nlohmann::json document_;
  std::map<std::string, int> lines_;  ///< of each key and list element, by JSON pointer
};

/// "a number", "a list", "null", ...: for messages.
std::string kind_of(const nlohmann::json& value);

/// The document of a file. Errors: as JsonFile.
nlohmann::json read_json_file(const std::string& path, const std::string& what);

}  // namespace tandem
