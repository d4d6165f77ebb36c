// Reading and writing messages: floats, 32-bit numbers, and codes of a few bits each. For the methods of this
// folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "policies/vocabulary/check.hpp"

namespace tandem::compression {

/// Item `index` of an array of T that starts at the front of `bytes`. T is plain.
template <class T>
void put(std::span<std::byte> bytes, std::size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}
template <class T>
T get(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Bytes of `codes` codes of `bits` bits each.
constexpr std::int64_t packed_bytes(std::int64_t codes, int bits) { return (codes * bits + 7) / 8; }

/// Writes codes one after the other, lowest bits first. The destructor writes the last, incomplete byte.
class BitWriter {
 public:
  BitWriter(std::span<std::byte> bytes, int bits) : bytes_(bytes), bits_(bits) {}
  BitWriter(const BitWriter&) = delete;
  BitWriter& operator=(const BitWriter&) = delete;
  ~BitWriter() {
    if (filled_ > 0) bytes_[at_] = static_cast<std::byte>(pending_);
  }
  void put(std::uint32_t code) {
    pending_ |= static_cast<std::uint64_t>(code) << filled_;
    for (filled_ += bits_; filled_ >= 8; filled_ -= 8, pending_ >>= 8U)
      bytes_[at_++] = static_cast<std::byte>(pending_ & 0xffU);
  }

 private:
  std::span<std::byte> bytes_;
  int bits_;
  std::uint64_t pending_ = 0;
  int filled_ = 0;
  std::size_t at_ = 0;
};

class BitReader {
 public:
  BitReader(std::span<const std::byte> bytes, int bits) : bytes_(bytes), bits_(bits) {}
  std::uint32_t get() {
    for (; filled_ < bits_; filled_ += 8)
      pending_ |= std::to_integer<std::uint64_t>(bytes_[at_++]) << filled_;
    const auto code = static_cast<std::uint32_t>(pending_ & ((std::uint64_t{1} << bits_) - 1));
    pending_ >>= bits_;
    filled_ -= bits_;
    return code;
  }

 private:
  std::span<const std::byte> bytes_;
  int bits_;
  std::uint64_t pending_ = 0;
  int filled_ = 0;
  std::size_t at_ = 0;
};

/// The precondition of every encode and decode.
inline void check_sizes(std::size_t values, std::int64_t elements, std::size_t message, std::int64_t bytes) {
  TANDEM_CHECK(values == static_cast<std::size_t>(elements) && message == static_cast<std::size_t>(bytes),
               "values", values, "of", elements, "message", message, "of", bytes);
}

}  // namespace tandem::compression
