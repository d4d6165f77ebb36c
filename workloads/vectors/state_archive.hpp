// The state that a part of a rank saves so that the job can be resumed. One function of the part both saves
// and restores, so that the two cannot differ. Standard library only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tandem {

class StateArchive {
 public:
  virtual ~StateArchive() = default;
  /// True if it restores into its arguments; false if it saves them.
  virtual bool restores() const = 0;
  /// Names are unique in a rank. Errors of all functions when restoring: ConfigError for a name that was not
  /// saved.
  virtual void number(const std::string& name, std::int64_t& value) = 0;
  virtual void number(const std::string& name, double& value) = 0;
  void number(const std::string& name, int& value) {
    std::int64_t wide = value;
    number(name, wide);
    value = static_cast<int>(wide);
  }
  /// Errors: ConfigError also when another number of them was saved.
  virtual void floats(const std::string& name, std::span<float> values) = 0;
};

}  // namespace tandem
