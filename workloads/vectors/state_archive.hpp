// How a part of a rank names what it must remember for the job to go on later. One function of the part
// serves both ways, saving and putting back, so that they cannot differ. Standard library only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tandem {

class StateArchive {
 public:
  virtual ~StateArchive() = default;
  /// True where it puts back into what it is shown; false where it saves that.
  virtual bool restores() const = 0;
  /// Names are unique in a rank. Errors (all, when it restores): ConfigError for what was not saved.
  virtual void number(const std::string& name, std::int64_t& value) = 0;
  virtual void number(const std::string& name, double& value) = 0;
  void number(const std::string& name, int& value) {
    std::int64_t wide = value;
    number(name, wide);
    value = static_cast<int>(wide);
  }
  /// Errors: ConfigError also when it restores and another number of them was saved.
  virtual void floats(const std::string& name, std::span<float> values) = 0;
};

}  // namespace tandem
