#include "policies/vocabulary/policy_state.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto read = parse_number<Number>(text);
  value = read.value_or(Number{});
  return read.has_value();
}

}  // namespace

PolicyState::PolicyState(const std::string& text) : restores_(true) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos ||
        !given_.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      throw ConfigError("policy state: expected name=value once for each name, found '" + word + "'");
  }
}

void PolicyState::flags(const std::string& name, std::vector<bool>& values) {
  if (!restores_) {
    std::string text;
    for (const bool value : values) text += value ? '1' : '0';
    return put(name, text);
  }
  const std::string text = take(name);
  if (text.size() != values.size() || text.find_first_not_of("01") != std::string::npos) fail(name, text);
  std::transform(text.begin(), text.end(), values.begin(), [](char letter) { return letter == '1'; });
}

void PolicyState::expect_all_restored() const {
  if (!given_.empty()) throw ConfigError("policy state: unknown value '" + given_.begin()->first + "'");
}

std::string PolicyState::write(std::int64_t value) { return std::to_string(value); }
std::string PolicyState::write(std::uint64_t value) { return std::to_string(value); }
std::string PolicyState::write(double value) { return shortest_text(value); }

bool PolicyState::read(std::string_view text, std::int64_t& value) { return read_number(text, value); }
bool PolicyState::read(std::string_view text, std::uint64_t& value) { return read_number(text, value); }
bool PolicyState::read(std::string_view text, double& value) { return read_number(text, value); }
bool PolicyState::read(std::string_view text, int& value) { return read_number(text, value); }
bool PolicyState::read(std::string_view text, bool& value) {
  value = text == "1";
  return value || text == "0";
}
bool PolicyState::read(std::string_view text, Seconds& value) {
  double seconds = 0.0;
  const bool known = read_number(text, seconds);
  value = Seconds(seconds);
  return known;
}

void PolicyState::put(const std::string& name, const std::string& value) {
  TANDEM_CHECK(given_.emplace(name, "").second, "second value of name", name);
  text_ += (text_.empty() ? "" : " ") + name + '=' + value;
}

void PolicyState::put_list(const std::string& name, const std::vector<std::string>& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ",") + value;
  put(name, text);
}

std::string PolicyState::take(const std::string& name) {
  const auto found = given_.find(name);
  if (found == given_.end()) throw ConfigError("policy state: expected a value '" + name + "', found none");
  const std::string value = found->second;
  given_.erase(found);
  return value;
}

std::vector<std::string> PolicyState::take_list(const std::string& name, std::size_t size) {
  const std::size_t found = length(name);
  const std::string text = take(name);
  if (found != size)
    throw ConfigError("policy state: expected " + std::to_string(size) + " values of '" + name + "', found " +
                      std::to_string(found));
  return split(text, ',');
}

std::size_t PolicyState::length(const std::string& name) const {
  const auto found = given_.find(name);
  if (found == given_.end() || found->second.empty()) return 0;
  return static_cast<std::size_t>(std::count(found->second.begin(), found->second.end(), ',')) + 1;
}

void PolicyState::fail(const std::string& name, const std::string& found) {
  throw ConfigError("policy state: malformed value of '" + name + "': '" + found + "'");
}

}  // namespace tandem
