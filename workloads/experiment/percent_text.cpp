#include "workloads/experiment/percent_text.hpp"

#include <charconv>
#include <string_view>

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::string percent_encoded(const std::string& text) {
  constexpr std::string_view digits = "0123456789ABCDEF", punctuation = ";:=%";
  std::string encoded;
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (code > ' ' && punctuation.find(each) == std::string_view::npos) {
      encoded += each;
      continue;
    }
    encoded += {'%', digits[code / 16U], digits[code % 16U]};
  }
  return encoded;
}

std::string percent_decoded(const std::string& text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    const std::string digits = text.substr(at + 1, 2);
    unsigned code = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 2 || error != std::errc() || rest != digits.data() + digits.size())
      throw ConfigError("expected two hexadecimal digits after '%' (%25 is '%' itself), found '" + text +
                        "'");
    decoded += static_cast<char>(code);
    at += 2;
  }
  return decoded;
}

}  // namespace tandem
