#include "workloads/records/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <ranges>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::csv {
namespace {

template <class Number>
bool parse(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void Writer::separate() {
  if (row_begun_) text_ += ',';
  row_begun_ = true;
}

void Writer::field(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void Writer::field(double value) {
  separate();
  if (!std::isnan(value)) fmt::format_to(std::back_inserter(text_), "{}", value);
}

void Writer::field(std::string_view text) {
  separate();
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    text_ += text;
    return;
  }
  text_ += '"';
  for (const char c : text) {
    if (c == '"') text_ += '"';
    text_ += c;
  }
  text_ += '"';
}

void Writer::end_row() {
  text_ += '\n';
  row_begun_ = false;
}

Reader::Reader(std::string name, std::string text, std::vector<std::string> columns,
               const std::vector<std::string>& earlier)
    : rows_(std::move(name), std::move(text), Rows::Between::nothing), columns_(std::move(columns)) {
  rows_.next(fields_);
  columns_of_file_ = fields_.size();
  const auto is_known = [&](std::size_t column) {
    if (column >= columns_.size()) return false;
    if (column >= fields_.size()) return earlier[column].empty();
    const auto& name = fields_[column].text;
    return name == columns_[column] || (!name.empty() && name == earlier[column]);
  };
  const auto all = std::views::iota(std::size_t{0}, std::max(fields_.size(), columns_.size()));
  if (!std::ranges::all_of(all, is_known)) {
    std::vector<std::string_view> found;
    for (const Field& field : fields_) found.push_back(field.text);
    throw ConfigError(fmt::format("{}:1: expected the header '{}', found '{}'", rows_.name(),
                                  fmt::join(columns_, ","), fmt::join(found, ",")));
  }
}

bool Reader::next_row() {
  taken_ = 0;
  if (!rows_.next(fields_)) return false;
  if (fields_.size() != columns_of_file_)
    throw ConfigError(
        fmt::format("{}: expected {} fields, found {}", rows_.place(), columns_of_file_, fields_.size()));
  return true;
}

const std::string& Reader::take() {
  TANDEM_CHECK(taken_ < fields_.size(), "field", taken_, "of", rows_.place());
  return fields_[taken_++].text;
}

void Reader::fail(const std::string& expected) const {
  throw ConfigError(fmt::format("{}: column '{}': expected {}, found '{}'", rows_.place(),
                                columns_[taken_ - 1], expected, fields_[taken_ - 1].text));
}

void Reader::field(std::int64_t& value) {
  if (!parse(take(), value)) fail("an integer");
}

void Reader::field(int& value) {
  if (!parse(take(), value)) fail("an integer");
}

void Reader::field(double& value) {
  const auto& text = take();
  if (text.empty())
    value = std::numeric_limits<double>::quiet_NaN();
  else if (!parse(text, value))
    fail("a number");
}

void Reader::field(Seconds& value) {
  double seconds = 0;
  field(seconds);
  value = Seconds(seconds);
}

void Reader::field(std::string& text) { text = take(); }

}  // namespace tandem::csv
