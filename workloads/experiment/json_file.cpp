#include "workloads/experiment/json_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"

namespace tandem {
namespace {

using nlohmann::json;

/// Counts the lines that a parser has read. The parser reads one character beyond a number.
class LineCounter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounter(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineCounter& operator++() {
    // Counted when the line break is left behind, so that the value before it is still on its own line.
    if (*at_ == '\n') pending_ = true;
    ++at_;
    return *this;
  }
  /// Called before each character is read.
  bool operator==(const LineCounter& end) const {
    if (pending_ && line_ != nullptr) ++*line_;
    pending_ = false;
    return at_ == end.at_;
  }
  bool operator!=(const LineCounter& end) const { return !(*this == end); }

 private:
  const char* at_;
  int* line_;
  mutable bool pending_ = false;
};

/// The place of a value while the file is read.
class Place {
 public:
  explicit Place(std::map<std::string, int>& lines) : lines_(lines) {}

  void note(json::parse_event_t event, const json& parsed, int line) {
    using Event = json::parse_event_t;
    if (event == Event::key) {
      levels_.back().key = parsed.get<std::string>();
      if (levels_.size() <= deepest) lines_[pointer().to_string()] = line;
    } else if (event == Event::object_start || event == Event::array_start) {
      next_element(line);
      levels_.push_back({event == Event::array_start, -1, ""});
    } else if (event == Event::object_end || event == Event::array_end) {
      levels_.pop_back();
    } else {
      next_element(line);
    }
  }

 private:
  // Pointers into a document that is nothing but brackets would take memory without end.
  static constexpr std::size_t deepest = 16;
  struct Level {
    bool is_list;
    int index;
    std::string key;
  };
  void next_element(int line) {
    if (levels_.size() > deepest) return;
    if (levels_.empty() || !levels_.back().is_list) return;
    ++levels_.back().index;
    lines_[pointer().to_string()] = line;
  }
  json::json_pointer pointer() const {
    json::json_pointer all;
    for (const auto& level : levels_) all /= level.is_list ? std::to_string(level.index) : level.key;
    return all;
  }

  std::map<std::string, int>& lines_;
  std::vector<Level> levels_;
};

/// The library's message: "[...] parse error at line 3, column 17: REASON; last read: '...'", of any length.
[[noreturn]] void fail_syntax(const std::string& path, const std::string& what, const std::string& message) {
  constexpr std::size_t longest_reason = 200;
  const std::string before_line = "at line ", before_column = ", column ";
  const std::size_t line = message.find(before_line);
  const std::size_t column = message.find(before_column, line);
  const std::size_t end = message.find(": ", column);
  std::string place = path;
  std::string reason = message;
  if (line != std::string::npos && column != std::string::npos && end != std::string::npos) {
    const std::size_t first = line + before_line.size(), second = column + before_column.size();
    place += ':' + message.substr(first, column - first) + ':' + message.substr(second, end - second);
    reason = message.substr(end + 2);
  }
  throw ConfigError(place + ": expected " + what + ", found invalid JSON (" +
                    reason.substr(0, longest_reason) + ")");
}

std::string text_of(const std::string& path, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path + ": expected " + what + ", found: " + std::strerror(errno));
  return rest_of(file);
}

}  // namespace

std::string kind_of(const json& value) {
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a text";
  if (value.is_boolean()) return "true or false";
  if (value.is_array()) return "a list";
  return value.is_object() ? "keys with values" : "null";
}

JsonFile::JsonFile(std::string path, std::string what) : path_(std::move(path)), what_(std::move(what)) {
  const std::string text = text_of(path_, what_);
  int line = 1;
  Place place(lines_);
  try {
    document_ = json::parse(LineCounter(text.data(), &line), LineCounter(text.data() + text.size(), nullptr),
                            [&](int, json::parse_event_t event, const json& parsed) {
                              place.note(event, parsed, line);
                              return true;
                            });
  } catch (const json::exception& error) {
    fail_syntax(path_, what_, error.what());
  }
}

void JsonFile::fail(const Pointer& at, const std::string& expected, const std::string& found) const {
  // A key that is missing is reported at what should contain it.
  Pointer known = at;
  while (!known.empty() && !lines_.contains(known.to_string())) known = known.parent_pointer();
  const std::string line = known.empty() ? "" : ":" + std::to_string(lines_.at(known.to_string()));
  throw ConfigError(path_ + line + ": not " + what_ + ": " + (at.empty() ? "" : at.to_string() + ": ") +
                    "expected " + expected + ", found " + found);
}

void JsonFile::expect_like(const json& example) const { expect_like(example, document_, Pointer()); }

void JsonFile::expect_like(const json& example, const json& found, const Pointer& at) const {
  if (kind_of(example) != kind_of(found)) fail(at, kind_of(example), kind_of(found));
  if (example.is_object())
    for (const auto& [key, value] : example.items()) {
      if (!found.contains(key)) fail(at / key, kind_of(value), "no such key");
      expect_like(value, found.at(key), at / key);
    }
  if (example.is_array() && !example.empty())
    for (std::size_t i = 0; i < found.size(); ++i) expect_like(example.front(), found.at(i), at / i);
}

json read_json_file(const std::string& path, const std::string& what) {
  try {
    return json::parse(text_of(path, what));
  } catch (const json::exception& error) {
    fail_syntax(path, what, error.what());
  }
}

}  // namespace tandem
