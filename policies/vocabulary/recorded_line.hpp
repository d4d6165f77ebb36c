// Events and decisions as lines of text, "name key=value ...": what their readers and writers share.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <system_error>

#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem {

/// "0.25": the shortest text that reads back exactly.
std::string number_text(double value);
std::string number_text(Seconds value);

/// The parts of a line. Values are taken, each once, so that a reader can refuse a line with unknown ones.
class RecordedLine {
 public:
  /// `kind`: what the line should be, for messages: "server event". Errors (all functions): ConfigError that
  /// the line is not a recorded one of this kind.
  RecordedLine(const std::string& text, std::string kind);

  const std::string& name() const { return name_; }  ///< the first word
  bool has(const std::string& key) const { return values_.contains(key); }
  std::string take(const std::string& key);
  template <class Number>
  Number number(const std::string& key) {
    return parse<Number>(take(key));
  }
  Seconds seconds(const std::string& key) { return Seconds(number<double>(key)); }
  template <NamedChoice Choice>
  Choice choice(const std::string& key) {
    const auto value = parse_choice<Choice>(take(key));
    if (!value) fail();
    return *value;
  }
  template <class Number>
  Number parse(const std::string& value) const {
    const char* end = value.data() + value.size();
    Number result{};
    const auto read = std::from_chars(value.data(), end, result);
    if (read.ec != std::errc() || read.ptr != end) fail();
    return result;
  }
  void expect_all_taken() const;
  [[noreturn]] void fail() const;

 private:
  std::string text_;
  std::string kind_;
  std::string name_;
  std::map<std::string, std::string> values_;
};

}  // namespace tandem
