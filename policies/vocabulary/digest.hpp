// A digest of texts: FNV-1a of 64 bits. Different texts have different digests, except on purpose or with
// tiny probability.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  bool operator==(const Digest&) const = default;
  /// 16 hexadecimal digits.
  std::string text() const {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[value_ >> shift & 0xfU];
    return text;
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace tandem
