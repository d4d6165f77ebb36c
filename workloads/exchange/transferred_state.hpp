// State that one worker sends to another: the values that it serialises, as numbers and floats in the order
// in which they were named. Standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// Saves until begin_restore(), then restores. Both ranks serialise the same parts. So a state that is saved
/// on one rank has the size of the state that another one receives.
class TransferredState final : public StateArchive {
 public:
  bool restores() const override { return restores_; }
  void number(const std::string&, std::int64_t& value) override { transfer(&value); }
  void number(const std::string&, double& value) override { transfer(&value); }
  void floats(const std::string& name, std::span<float> values) override {
    if (!restores_) {
      floats_.insert(floats_.end(), values.begin(), values.end());
      return;
    }
    TANDEM_CHECK(next_float_ + values.size() <= floats_.size(), name, values.size(), "of", floats_.size());
    std::memcpy(values.data(), floats_.data() + next_float_, values.size_bytes());
    next_float_ += values.size();
  }

  void begin_restore() {
    restores_ = true;
    next_byte_ = next_float_ = 0;
  }
  std::span<std::byte> numbers() { return numbers_; }
  std::span<float> floats() { return floats_; }

 private:
  template <class Number>
  void transfer(Number* value) {
    static_assert(sizeof(Number) == width);
    if (!restores_) {
      const auto* bytes = reinterpret_cast<const std::byte*>(value);
      numbers_.insert(numbers_.end(), bytes, bytes + width);
      return;
    }
    TANDEM_CHECK(next_byte_ + width <= numbers_.size(), "bytes", numbers_.size());
    std::memcpy(value, numbers_.data() + next_byte_, width);
    next_byte_ += width;
  }

  static constexpr std::size_t width = 8;
  bool restores_ = false;
  std::vector<std::byte> numbers_;
  std::vector<float> floats_;
  std::size_t next_byte_ = 0;
  std::size_t next_float_ = 0;
};

}  // namespace tandem
