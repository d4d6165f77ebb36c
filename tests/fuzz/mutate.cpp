#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tandem::fuzz {
namespace {

// Tokens that often break readers of numbers, YAML, JSON, XML and CSV.
constexpr std::array<std::string_view, 64> words = {"0",
                                                    "-1",
                                                    "1",
                                                    "2",
                                                    "-0",
                                                    "1e308",
                                                    "-1e308",
                                                    "1e-320",
                                                    "1e999",
                                                    "nan",
                                                    "inf",
                                                    "-inf",
                                                    "0x10",
                                                    "2147483647",
                                                    "2147483648",
                                                    "-2147483649",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "18446744073709551615",
                                                    "18446744073709551616",
                                                    "99999999999999999999999",
                                                    "1.5",
                                                    "01",
                                                    "1_000",
                                                    "null",
                                                    "~",
                                                    "true",
                                                    "false",
                                                    "yes",
                                                    "",
                                                    " ",
                                                    "\n",
                                                    "\t",
                                                    "\r\n",
                                                    "\"",
                                                    "'",
                                                    "\\",
                                                    "\\u0000",
                                                    "\\ud800",
                                                    "&a",
                                                    "*a",
                                                    "&a [*a]",
                                                    "!!binary",
                                                    "---\n",
                                                    "...\n",
                                                    "? ",
                                                    "- ",
                                                    ": ",
                                                    ",",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    "#",
                                                    "|",
                                                    ">",
                                                    "%YAML 9.9\n",
                                                    "<<",
                                                    "<",
                                                    "/>",
                                                    "&amp;",
                                                    "=",
                                                    ";",
                                                    "\xEF\xBB\xBF"};
constexpr std::array<std::uint64_t, 12> numbers = {
    0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1ULL << 62, ~0ULL};

struct Range {
  std::size_t begin;
  std::size_t size;
};

/// A random stretch of a text, up to `longest` bytes and usually short.
Range some_range(std::size_t size, Rng& random, std::size_t longest = 256) {
  if (size == 0) return {0, 0};
  const std::size_t begin = random.below(size);
  const std::size_t most = std::min(size - begin, std::size_t{1} + random.below(longest));
  return {begin, std::size_t{1} + random.below(most)};
}

void flip_bit(std::string& text, Rng& random) {
  if (text.empty()) return;
  auto& byte = text[random.below(text.size())];
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << random.below(8)));
}

void set_byte(std::string& text, Rng& random) {
  if (!text.empty()) text[random.below(text.size())] = static_cast<char>(random.below(256));
}

void set_number(std::string& text, Rng& random) {
  const std::size_t size = std::size_t{1} << random.below(4);
  if (text.size() < size) return;
  const std::uint64_t number = numbers[random.below(numbers.size())];
  std::array<char, 8> bytes{};
  std::memcpy(bytes.data(), &number, size);
  if (random.below(2) == 0) std::reverse(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  text.replace(random.below(text.size() - size + 1), size, bytes.data(), size);
}

void cut(std::string& text, Rng& random) {
  const Range range = some_range(text.size(), random);
  text.erase(range.begin, range.size);
}

void cut_end(std::string& text, Rng& random) {
  if (!text.empty()) text.resize(random.below(text.size()));
}

void repeat(std::string& text, Rng& random) {
  const Range range = some_range(text.size(), random);
  const std::string part = text.substr(range.begin, range.size);
  const std::size_t times = std::size_t{1} << random.below(9);
  std::string all;
  for (std::size_t i = 0; i < times && all.size() < longest_input; ++i) all += part;
  text.insert(range.begin, all);
}

void insert_bytes(std::string& text, Rng& random) {
  std::string bytes(1 + random.below(16), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  text.insert(random.below(text.size() + 1), bytes);
}

void splice(std::string& text, const std::string& other, Rng& random) {
  const Range from = some_range(other.size(), random, 4096);
  const Range to = some_range(text.size(), random, 4096);
  text.replace(to.begin, random.below(2) == 0 ? 0 : to.size, other, from.begin, from.size);
}

/// Starts of lines, and the end of the text.
std::vector<std::size_t> line_starts(const std::string& text) {
  std::vector<std::size_t> starts = {0};
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == '\n') starts.push_back(i + 1);
  starts.push_back(text.size());
  return starts;
}

Range some_lines(const std::string& text, Rng& random) {
  const auto starts = line_starts(text);
  const std::size_t first = random.below(starts.size() - 1);
  const std::size_t last = std::min(first + 1 + random.below(3), starts.size() - 1);
  return {starts[first], starts[last] - starts[first]};
}

void copy_lines(std::string& text, const std::string& other, Rng& random) {
  const Range from = some_lines(other, random);
  const Range to = some_lines(text, random);
  text.replace(to.begin, random.below(2) == 0 ? 0 : to.size, other, from.begin, from.size);
}

void cut_lines(std::string& text, Rng& random) {
  const Range range = some_lines(text, random);
  text.erase(range.begin, range.size);
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

/// A word or a single other character, near a random place.
Range some_word(const std::string& text, Rng& random) {
  if (text.empty()) return {0, 0};
  std::size_t begin = random.below(text.size());
  if (!is_word(text[begin])) return {begin, 1};
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  std::size_t end = begin;
  while (end < text.size() && is_word(text[end])) ++end;
  return {begin, end - begin};
}

void change_word(std::string& text, const std::string& other, Rng& random) {
  const Range to = some_word(text, random);
  const bool inserts = random.below(4) == 0;
  if (random.below(2) == 0) {
    const std::string_view word = words[random.below(words.size())];
    text.replace(to.begin, inserts ? 0 : to.size, word);
  } else {
    const Range from = some_word(other, random);
    text.replace(to.begin, inserts ? 0 : to.size, other, from.begin, from.size);
  }
}

/// Encloses the text in many pairs of brackets.
void nest(std::string& text, Rng& random) {
  constexpr std::array<std::string_view, 4> openings = {"[", "{a: ", "- ", "<zone>"};
  const std::string_view opening = openings[random.below(openings.size())];
  const std::size_t place = random.below(text.size() + 1);
  std::string all;
  for (std::size_t i = std::size_t{1} << random.below(13); i > 0; --i) all += opening;
  text.insert(place, all);
}

void change_bytes(std::string& text, const std::string& other, Rng& random) {
  switch (random.below(9)) {
    case 0:
    case 1:
      return flip_bit(text, random);
    case 2:
      return set_byte(text, random);
    case 3:
      return set_number(text, random);
    case 4:
      return cut(text, random);
    case 5:
      return cut_end(text, random);
    case 6:
      return repeat(text, random);
    case 7:
      return insert_bytes(text, random);
    default:
      return splice(text, other, random);
  }
}

void change_text(std::string& text, const std::string& other, Rng& random) {
  switch (random.below(12)) {
    case 0:
      return copy_lines(text, other, random);
    case 1:
      return cut_lines(text, random);
    case 2:
      return random.below(8) == 0 ? nest(text, random) : change_word(text, other, random);
    default:
      return change_word(text, other, random);
  }
}

}  // namespace

std::string mutated(const std::vector<std::string>& corpus, bool is_text, Rng& random) {
  std::string text = corpus[random.below(corpus.size())];
  for (std::uint64_t changes = 1 + random.below(random.below(3) == 0 ? 8 : 3); changes > 0; --changes) {
    const std::string& other = corpus[random.below(corpus.size())];
    if (is_text && random.below(4) != 0)
      change_text(text, other, random);
    else
      change_bytes(text, other, random);
    if (text.size() > longest_input) text.resize(longest_input);
  }
  return text;
}

}  // namespace tandem::fuzz
