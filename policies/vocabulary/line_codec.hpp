// Events and decisions as lines of text, "name key=value ...", which read back exactly: the name and fields
// of each are defined once, for both directions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/text_parts.hpp"
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
  Number parse(const std::string& value) const {
    const auto number = parse_number<Number>(value);
    if (!number) fail();
    return *number;
  }
  void expect_all_taken() const;
  [[noreturn]] void fail() const;

 private:
  std::string text_;
  std::string kind_;
  std::string name_;
  std::map<std::string, std::string> values_;
};

/// One value of a record. `key`: of the text. A value that equals `left_out` is not written.
template <class Record, class Value>
struct LineField {
  const char* key;
  Value Record::*member;
  std::optional<Value> left_out = {};
};

/// A record and the word that its line begins with.
template <class Record, class... Values>
struct LineFormat {
  const char* name;
  std::tuple<LineField<Record, Values>...> fields;
};

/// `fields`: in their order in the text.
template <class Record, class... Values>
LineFormat<Record, Values...> line(const char* name, LineField<Record, Values>... fields) {
  return {name, {std::move(fields)...}};
}
template <class Record, class Value>
LineField<Record, Value> field(const char* key, Value Record::*member) {
  return {key, member};
}
template <class Record, class Value>
LineField<Record, Value> field(const char* key, Value Record::*member, std::type_identity_t<Value> left_out) {
  return {key, member, std::move(left_out)};
}

/// Texts of one value.
struct LineValue {
  static std::string text(int value) { return std::to_string(value); }
  static std::string text(std::int64_t value) { return std::to_string(value); }
  static std::string text(double value) { return number_text(value); }
  static std::string text(Seconds value) { return number_text(value); }
  static std::string text(bool value) { return value ? "1" : "0"; }
  static std::string text(const std::string& value) { return value; }
  static std::string text(const std::vector<int>& values);
  template <NamedChoice Choice>
  static std::string text(Choice value) {
    return to_text(value);
  }
  template <class Value>
  static std::string text(const std::optional<Value>& value) {
    return text(*value);
  }

  static void read(const RecordedLine& line, const std::string& text, bool& value);
  static void read(const RecordedLine&, const std::string& text, std::string& value) { value = text; }
  static void read(const RecordedLine& line, const std::string& text, Seconds& value) {
    value = Seconds(line.parse<double>(text));
  }
  static void read(const RecordedLine& line, const std::string& text, std::vector<int>& values);
  template <class Number>
  requires std::is_arithmetic_v<Number>
  static void read(const RecordedLine& line, const std::string& text, Number& value) {
    value = line.parse<Number>(text);
  }
  template <NamedChoice Choice>
  static void read(const RecordedLine& line, const std::string& text, Choice& value) {
    const auto known = parse_choice<Choice>(text);
    if (!known) line.fail();
    value = *known;
  }
  template <class Value>
  static void read(const RecordedLine& line, const std::string& text, std::optional<Value>& value) {
    read(line, text, value.emplace());
  }
};

/// The lines of the alternatives of a variant.
template <class Variant, class... Formats>
class LineCodec {
 public:
  /// `kind`: what a text should be, for messages: "server event".
  explicit LineCodec(std::string kind, Formats... formats)
      : kind_(std::move(kind)), formats_(std::move(formats)...) {}

  std::string text(const Variant& record) const {
    return std::visit([this](const auto& one) { return text_of(one); }, record);
  }

  /// Errors: ConfigError that the text is no line of this kind.
  Variant read(const std::string& text) const {
    RecordedLine line(text, kind_);
    std::optional<Variant> record;
    std::apply([&](const auto&... each) { (read_as(each, line, record), ...); }, formats_);
    if (!record) line.fail();
    line.expect_all_taken();
    return *std::move(record);
  }

 private:
  template <class Record>
  std::string text_of(const Record& record) const {
    std::string text;
    const auto write = [&]<class Other, class... Values>(const LineFormat<Other, Values...>& format) {
      if constexpr (std::is_same_v<Other, Record>) text = written(format, record);
    };
    std::apply([&](const auto&... each) { (write(each), ...); }, formats_);
    return text;
  }

  template <class Record, class... Values>
  static std::string written(const LineFormat<Record, Values...>& format, const Record& record) {
    std::string text = format.name;
    const auto write = [&](const auto& field) {
      const auto& value = record.*field.member;
      const bool is_left_out = field.left_out && *field.left_out == value;
      if (!is_left_out) text += std::string(" ") + field.key + '=' + LineValue::text(value);
    };
    std::apply([&](const auto&... each) { (write(each), ...); }, format.fields);
    return text;
  }

  /// Two records may have the same name. Their keys distinguish them.
  template <class Record, class... Values>
  static void read_as(const LineFormat<Record, Values...>& format, RecordedLine& line,
                      std::optional<Variant>& found) {
    const auto is_complete = [&line](const auto&... each) {
      return ((line.has(each.key) || each.left_out) && ...);
    };
    if (found || line.name() != format.name || !std::apply(is_complete, format.fields)) return;
    Record record{};
    const auto take = [&](const auto& field) {
      if (line.has(field.key))
        LineValue::read(line, line.take(field.key), record.*field.member);
      else
        record.*field.member = *field.left_out;
    };
    std::apply([&](const auto&... each) { (take(each), ...); }, format.fields);
    found = std::move(record);
  }

  std::string kind_;
  std::tuple<Formats...> formats_;
};

template <class Variant, class... Formats>
LineCodec<Variant, Formats...> line_codec(std::string kind, Formats... formats) {
  return LineCodec<Variant, Formats...>(std::move(kind), std::move(formats)...);
}

/// The lines of several records as one: "accept 2 1; apply 1".
template <class Records, class Text>
std::string joined_lines(const Records& records, const Text& text_of) {
  std::string text;
  for (const auto& record : records) text += (text.empty() ? "" : "; ") + text_of(record);
  return text;
}

}  // namespace tandem
