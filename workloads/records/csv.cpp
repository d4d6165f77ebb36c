#include "workloads/records/csv.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

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
    : name_(std::move(name)), text_(std::move(text)), columns_(std::move(columns)) {
  if (!read_row() || (fields_ != columns_ && fields_ != earlier))
    throw ConfigError(fmt::format("{}:1: expected the header '{}', found '{}'", name_,
                                  fmt::join(columns_, ","), fmt::join(fields_, ",")));
}

bool Reader::next_row() {
  if (!read_row()) return false;
  if (fields_.size() != columns_.size())
    throw ConfigError(fmt::format("{}:{}: expected {} fields, found {}", name_, row_line_, columns_.size(),
                                  fields_.size()));
  return true;
}

bool Reader::read_row() {
  fields_.clear();
  taken_ = 0;
  row_line_ = line_;
  if (position_ >= text_.size()) return false;
  std::string field;
  bool quoted = false;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '\n') ++line_;
    if (quoted) {
      const bool doubled = c == '"' && position_ + 1 < text_.size() && text_[position_ + 1] == '"';
      if (c != '"' || doubled) field += c;
      if (doubled) ++position_;
      if (c == '"' && !doubled) quoted = false;
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',') {
      fields_.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      ++position_;
      break;
    } else if (c != '\r') {
      field += c;
    }
  }
  if (quoted) throw ConfigError(fmt::format("{}:{}: a quoted text does not end", name_, row_line_));
  fields_.push_back(std::move(field));
  return true;
}

const std::string& Reader::take() {
  TANDEM_CHECK(taken_ < fields_.size(), "file", name_, "line", row_line_);
  return fields_[taken_++];
}

void Reader::fail(const std::string& expected) const {
  throw ConfigError(fmt::format("{}:{}: column '{}': expected {}, found '{}'", name_, row_line_,
                                columns_[taken_ - 1], expected, fields_[taken_ - 1]));
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
