#include "policies/vocabulary/line_codec.hpp"

#include <sstream>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {

std::string number_text(double value) { return to_text(OptionValue(value)); }
std::string number_text(Seconds value) { return number_text(value.count()); }

RecordedLine::RecordedLine(const std::string& text, std::string kind) : text_(text), kind_(std::move(kind)) {
  std::istringstream words(text);
  words >> name_;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos ||
        !values_.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      fail();
  }
}

std::string RecordedLine::take(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) fail();
  std::string value = found->second;
  values_.erase(found);
  return value;
}

void RecordedLine::expect_all_taken() const {
  if (!values_.empty()) fail();
}

void RecordedLine::fail() const { throw ConfigError("not a recorded " + kind_ + ": '" + text_ + "'"); }

std::string LineValue::text(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

void LineValue::read(const RecordedLine& line, const std::string& text, bool& value) {
  if (text != "0" && text != "1") line.fail();
  value = text == "1";
}

void LineValue::read(const RecordedLine& line, const std::string& text, std::vector<int>& values) {
  for (const std::string& item : split(text, ',')) values.push_back(line.parse<int>(item));
}

}  // namespace tandem
