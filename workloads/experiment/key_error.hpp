// The error of a key that does not suit the job as a whole. The reader of the experiment's file adds the
// place where the key was set.
#pragma once

#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// "KEY: expected EXPECTED, found FOUND".
class KeyError : public ConfigError {
 public:
  KeyError(std::string key, std::string expected, std::string found)
      : ConfigError(key + ": expected " + expected + ", found " + found),
        key_(std::move(key)),
        expected_(std::move(expected)),
        found_(std::move(found)) {}
  /// The path of the key, as in `sync.algorithm`.
  const std::string& key() const { return key_; }
  const std::string& expected() const { return expected_; }
  const std::string& found() const { return found_; }

 private:
  std::string key_, expected_, found_;
};

}  // namespace tandem
