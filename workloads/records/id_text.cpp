#include "workloads/records/id_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

// A text is a list of numbers. Each number is written in digits of 5 bits, the lowest first; all but the last
// have bit 5 set, and each is one of these letters. A number is twice the distance to the id before (0: the
// same id again; the first id is its distance to -1), or 1, which announces a run: the next number says
// how many ids follow of which each is the successor of the one before.
constexpr std::string_view id_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
constexpr std::uint64_t id_digit = 32;

constexpr auto digit_values = [] {
  std::array<std::int8_t, 256> all{};
  all.fill(-1);
  for (std::size_t i = 0; i < id_letters.size(); ++i)
    all[static_cast<unsigned char>(id_letters[i])] = static_cast<std::int8_t>(i);
  return all;
}();

void write(std::uint64_t number, std::string& text) {
  for (; number >= id_digit; number /= id_digit) text += id_letters[number % id_digit + id_digit];
  text += id_letters[number];
}

[[noreturn]] void refuse_ids() { throw ConfigError("expected ids of samples, found a damaged text"); }

std::uint64_t read(const std::string& text, std::size_t& at) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 60; shift += 5) {
    if (at == text.size()) refuse_ids();
    const auto value = digit_values[static_cast<unsigned char>(text[at++])];
    if (value < 0) refuse_ids();
    number |= (static_cast<std::uint64_t>(value) % id_digit) << shift;
    if (value < static_cast<std::int8_t>(id_digit)) return number;
  }
  refuse_ids();
}

}  // namespace

std::string id_text(std::vector<std::int64_t> ids) {
  std::ranges::sort(ids);
  std::string text;
  std::int64_t before = -1;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t run = 0;
    while (i + run < ids.size() && ids[i + run] == before + static_cast<std::int64_t>(run) + 1) ++run;
    if (run > 1) {
      write(1, text);
      write(run, text);
      i += run;
    } else {
      write(2 * static_cast<std::uint64_t>(ids[i] - before), text);
      ++i;
    }
    before = ids[i - 1];
  }
  return text;
}

void add_ids(const std::string& text, std::span<std::uint32_t> counts) {
  const auto size = static_cast<std::uint64_t>(counts.size());
  std::uint64_t next = 0;  // the id after the last one
  const auto add = [&](std::uint64_t id) {
    if (id >= size) refuse_ids();
    ++counts[id];
    next = id + 1;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t number = read(text, at);
    if (number == 1) {
      const std::uint64_t run = read(text, at);
      if (run > size) refuse_ids();
      for (std::uint64_t i = 0; i < run; ++i) add(next);
    } else {
      if (number % 2 == 1 || next + number / 2 == 0) refuse_ids();
      add(next + number / 2 - 1);
    }
  }
}

}  // namespace tandem
