#include "policies/vocabulary/csv_rows.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::csv {
namespace {

constexpr const char* blanks = " \t\r";

}  // namespace

Rows::Rows(std::string name, std::string text, Between between)
    : name_(std::move(name)), text_(std::move(text)), between_(between) {
  constexpr std::string_view mark_of_utf8 = "\xef\xbb\xbf";
  if (text_.starts_with(mark_of_utf8)) position_ = mark_of_utf8.size();
}

std::string Rows::place() const { return name_ + ':' + std::to_string(row_line_); }

void Rows::skip_between() {
  while (position_ < text_.size()) {
    const auto first = text_.find_first_not_of(blanks, position_);
    if (first != std::string::npos && text_[first] != '\n' && text_[first] != '#') return;
    position_ = std::min(text_.find('\n', position_), text_.size() - 1) + 1;
    ++line_;
  }
}

bool Rows::next(std::vector<Field>& fields) {
  fields.clear();
  if (between_ == Between::comments) skip_between();
  row_line_ = line_;
  if (position_ >= text_.size()) return false;
  Field field;
  bool quoted = false;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '\n') ++line_;
    if (quoted) {
      const bool doubled = c == '"' && position_ + 1 < text_.size() && text_[position_ + 1] == '"';
      if (c != '"' || doubled) field.text += c;
      if (doubled) ++position_;
      if (c == '"' && !doubled) quoted = false;
    } else if (c == '"' && field.text.find_first_not_of(blanks) == std::string::npos) {
      quoted = field.is_quoted = true;
      field.text.clear();
    } else if (c == ',') {
      fields.push_back(std::exchange(field, {}));
    } else if (c == '\n') {
      ++position_;
      break;
    } else if (c != '\r') {
      field.text += c;
    }
  }
  if (quoted) throw ConfigError(place() + ": expected a quote at the end of a text, found none");
  fields.push_back(std::move(field));
  return true;
}

}  // namespace tandem::csv
