// A text's parts between separators, its words, the number that it is, the text without blanks around it or
// in lower case; and numbers of things. Standard library only.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace tandem {

inline constexpr std::string_view blanks_of_text = " \t\r\n\v\f";

/// Without the blanks at both ends.
inline std::string_view trimmed(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(blanks_of_text), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(blanks_of_text) + 1);
}

/// The parts between the separators, without blanks around them: n separators give n + 1 parts, empty ones
/// included. None of a text that has only blanks.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (trimmed(text).empty()) return parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

/// The longest parts without a separator; none is empty.
inline std::vector<std::string> words_in(std::string_view text,
                                         std::string_view separators = blanks_of_text) {
  std::vector<std::string> words;
  for (std::size_t end = 0, begin = 0;
       (begin = text.find_first_not_of(separators, end)) != std::string_view::npos;) {
    end = std::min(text.find_first_of(separators, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
  }
  return words;
}

/// With small letters for the capital ones of ASCII.
inline std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

/// "1 worker", "2 workers".
template <class Integer>
std::string counted(Integer count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

/// The number that the whole text is, as std::from_chars reads it; none: it is none of this type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

/// The same from `least` to `most`.
template <class Number>
std::optional<Number> parse_number(std::string_view text, std::type_identity_t<Number> least,
                                   std::type_identity_t<Number> most) {
  const auto number = parse_number<Number>(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

}  // namespace tandem
