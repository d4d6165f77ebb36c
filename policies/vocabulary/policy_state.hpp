// The state of a policy as one line of text: saved in a checkpoint, restored into a fresh policy. Standard
// library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Saves or restores named values. An object shows each of its values once, in one function that serves both
/// directions, so that saving and restoring cannot differ. Text: "version=7 clock=3,4,4 active=101".
class PolicyState {
 public:
  /// Saves the values that it is shown.
  PolicyState() = default;
  /// Restores values from the text. Errors: ConfigError when it is not a list of name=value.
  explicit PolicyState(const std::string& text);
  bool restores() const { return restores_; }

  /// One value. `T`: bool, int, std::int64_t, std::uint64_t, double or Seconds. Numbers round-trip exactly.
  /// Pre: the name is new, and without space and '='. Errors (all functions, when restoring): ConfigError
  /// naming the value that is missing or malformed.
  template <class T>
  void value(const std::string& name, T& value) {
    if (!restores_) return put(name, write(value));
    if (const std::string text = take(name); !read(text, value)) fail(name, text);
  }
  /// A list whose length may change.
  template <class T>
  void list(const std::string& name, std::vector<T>& values) {
    if (restores_) values.assign(length(name), T{});
    column(name, values, std::identity());
  }
  /// One field of each item, e.g. `&Worker::clock`. When restoring, the number of items must be the same.
  template <class Items, class Field>
  void column(const std::string& name, Items& items, Field field) {
    std::vector<std::string> texts;
    if (restores_) texts = take_list(name, std::size(items));
    std::size_t at = 0;
    for (auto& item : items) {
      auto& value = std::invoke(field, item);
      if (!restores_)
        texts.push_back(write(value));
      else if (!read(texts[at], value))
        fail(name, texts[at]);
      ++at;
    }
    if (!restores_) put_list(name, texts);
  }
  /// A fixed number of flags, one character (0 or 1) each.
  void flags(const std::string& name, std::vector<bool>& values);

  /// Pre: it saves.
  const std::string& text() const { return text_; }
  /// Errors: ConfigError when the text has a value that was not restored.
  void expect_all_restored() const;

 private:
  static std::string write(std::int64_t value);
  static std::string write(std::uint64_t value);
  static std::string write(double value);
  static std::string write(int value) { return write(std::int64_t{value}); }
  static std::string write(bool value) { return value ? "1" : "0"; }
  static std::string write(Seconds value) { return write(value.count()); }
  static bool read(std::string_view text, std::int64_t& value);
  static bool read(std::string_view text, std::uint64_t& value);
  static bool read(std::string_view text, double& value);
  static bool read(std::string_view text, int& value);
  static bool read(std::string_view text, bool& value);
  static bool read(std::string_view text, Seconds& value);

  void put(const std::string& name, const std::string& value);
  void put_list(const std::string& name, const std::vector<std::string>& values);
  std::string take(const std::string& name);
  std::vector<std::string> take_list(const std::string& name, std::size_t size);
  std::size_t length(const std::string& name) const;
  [[noreturn]] static void fail(const std::string& name, const std::string& found);

  bool restores_ = false;
  std::string text_;                          ///< saved so far
  std::map<std::string, std::string> given_;  ///< not restored yet
};

/// The state of an object with a member `serialise(PolicyState&)`.
template <class Stateful>
std::string serialised(Stateful& object) {
  PolicyState state;
  object.serialise(state);
  return state.text();
}

/// Brings a fresh object, made with the same setting, to the serialised state. Errors: ConfigError when the
/// text is not the state of such an object; the object must then not be used.
template <class Stateful>
void restore(Stateful& object, const std::string& text) {
  PolicyState state(text);
  object.serialise(state);
  state.expect_all_restored();
}

}  // namespace tandem
