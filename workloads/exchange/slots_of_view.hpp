// The data of the notes Members and Regroup: the slots of the workers as a view of the members begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace tandem::protocol {

enum class Standing : std::uint8_t {
  absent,
  current,  ///< it has finished the last round
  behind    ///< it gets the state
};

/// One byte for each slot, its Standing. Then a number of 8 bytes for each slot: the samples that it has
/// taken, or -1 without a state.
class SlotsOfView {
 public:
  explicit SlotsOfView(std::size_t slots) : bytes_(slots * (1 + width)) {}
  void set(std::size_t slot, Standing standing, std::int64_t taken) {
    bytes_[slot] = static_cast<std::byte>(standing);
    std::memcpy(bytes_.data() + place(slot), &taken, width);
  }
  Standing standing(std::size_t slot) const { return static_cast<Standing>(bytes_[slot]); }
  std::int64_t taken(std::size_t slot) const {
    std::int64_t taken = 0;
    std::memcpy(&taken, bytes_.data() + place(slot), width);
    return taken;
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  static constexpr std::size_t width = sizeof(std::int64_t);
  std::size_t slots() const { return bytes_.size() / (1 + width); }
  std::size_t place(std::size_t slot) const { return slots() + slot * width; }
  std::vector<std::byte> bytes_;
};

}  // namespace tandem::protocol
