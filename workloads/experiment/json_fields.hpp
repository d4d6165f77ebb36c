// The keys of structs in JSON documents that this program writes and reads again: declared once, used in both
// directions.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/experiment/field_kinds.hpp"

namespace tandem {

/// The place of a value in a document, for messages.
struct JsonPlace {
  const JsonPlace* above;  ///< null: the document itself
  std::string_view name;   ///< a key; for the document itself the name of its file
  std::size_t index = 0;   ///< of an element of a list; its name is empty
};
/// Throws ConfigError: "FILE: /key/0/key: expected a number, found null".
[[noreturn]] void fail_json(const JsonPlace& place, const std::string& expected, const nlohmann::json& found);
/// The same for a key that an object lacks.
[[noreturn]] void fail_json_key(const JsonPlace& object, const char* key);

namespace json_fields {

using nlohmann::json;

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t size>
inline constexpr bool is_array<std::array<T, size>> = true;

template <class T>
concept HasFields = requires {
  sizeof(Fields<T>);
};
template <class T>
concept HasOwnDocument = requires {
  sizeof(OwnDocument<T>);
};
template <class T>
concept HasElements = requires {
  sizeof(Elements<T>);
};

template <class T>
bool is_empty(const T& value) {
  if constexpr (is_a<T, std::optional>)
    return !value.has_value();
  else if constexpr (std::is_arithmetic_v<T>)
    return value == T{};
  else if constexpr (std::same_as<T, json>)
    return value.is_null();
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else
    return false;
}

// ---- Writing ----

template <class T>
json write(const T& value);

class Writer {
 public:
  template <class T>
  void operator()(const std::string& key, const T& value, Key kind = Key::required) {
    const bool is_left_out = (kind == Key::optional || kind == Key::nullable) && is_empty(value);
    if (!is_left_out)
      object[key] = write(value);
    else if (kind == Key::nullable)
      object[key] = nullptr;
  }
  json object = json::object();
};

template <class T>
json write(const T& value) {
  if constexpr (HasFields<T>) {
    Writer writer;
    Fields<T>::visit(value, writer);
    return std::move(writer.object);
  } else if constexpr (HasElements<T>) {
    json list = json::array();
    Elements<T>::visit(value, [&](const auto& element) { list.push_back(write(element)); });
    return list;
  } else if constexpr (HasOwnDocument<T>) {
    return OwnDocument<T>::write(value);
  } else if constexpr (std::is_enum_v<T>) {
    return Texts<T>::of(value);
  } else if constexpr (is_a<T, std::optional>) {
    return value ? write(*value) : json();
  } else if constexpr (is_a<T, std::vector> || is_array<T>) {
    json list = json::array();
    for (const auto& element : value) list.push_back(write(element));
    return list;
  } else if constexpr (is_a<T, std::map>) {
    json object = json::object();
    for (const auto& [key, element] : value) object[key] = write(element);
    return object;
  } else if constexpr (is_a<T, std::pair>) {
    json list = json::array();
    list.push_back(write(value.first));
    list.push_back(write(value.second));
    return list;
  } else if constexpr (std::same_as<T, Seconds>) {
    return write(value.count());
  } else if constexpr (std::same_as<T, MixedNumber>) {
    return value.is_whole ? json(static_cast<std::int64_t>(value.value)) : write(value.value);
  } else if constexpr (std::is_floating_point_v<T>) {
    // JSON has no NaN.
    return std::isfinite(value) ? json(value) : json();
  } else {
    return value;
  }
}

// ---- Reading ----

template <class T>
void read(const json& document, const JsonPlace& place, T& value);

class Reader {
 public:
  Reader(const json& object, const JsonPlace& place) : object_(object), place_(place) {
    if (!object.is_object()) fail_json(place, "keys with values", object);
  }
  template <class T>
  void operator()(const std::string& key, T& value, Key kind = Key::required) {
    const auto found = object_.find(key);
    if (found != object_.end() && kind == Key::nullable && found->is_null()) return;
    if (found != object_.end()) return read(*found, {&place_, key}, value);
    if (kind == Key::required) fail_json_key(place_, key.c_str());
  }

 private:
  const json& object_;
  const JsonPlace& place_;
};

template <class T>
void read_list(const json& document, const JsonPlace& place, T& list) {
  if (!document.is_array()) fail_json(place, "a list", document);
  for (std::size_t i = 0; i < document.size(); ++i) read(document[i], {&place, "", i}, list.emplace_back());
}

template <class T, std::size_t... index>
void read_tuple(const json& document, const JsonPlace& place, T& value, std::index_sequence<index...>) {
  if (!document.is_array() || document.size() != sizeof...(index))
    fail_json(place, "a list of " + std::to_string(sizeof...(index)), document);
  (read(document[index], {&place, "", index}, std::get<index>(value)), ...);
}

template <class T>
void read(const json& document, const JsonPlace& place, T& value) {
  if constexpr (HasFields<T>) {
    Fields<T>::visit(value, Reader(document, place));
  } else if constexpr (HasElements<T>) {
    if (!document.is_array()) fail_json(place, "a list", document);
    std::size_t index = 0;
    Elements<T>::visit(value, [&](auto& element) {
      if (index == document.size()) fail_json(place, "a longer list", document);
      read(document[index], {&place, "", index}, element);
      ++index;
    });
  } else if constexpr (HasOwnDocument<T>) {
    value = OwnDocument<T>::read(document);
  } else if constexpr (std::is_enum_v<T>) {
    std::string text;
    read(document, place, text);
    const std::optional<T> known = Texts<T>::parse(text);
    if (!known) fail_json(place, "one of the known texts", document);
    value = *known;
  } else if constexpr (is_a<T, std::optional>) {
    if (document.is_null() && !is_a<typename T::value_type, std::optional>) return value.reset();
    read(document, place, value.emplace());
  } else if constexpr (is_a<T, std::vector>) {
    value.clear();
    read_list(document, place, value);
  } else if constexpr (is_array<T>) {
    read_tuple(document, place, value, std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (is_a<T, std::map>) {
    if (!document.is_object()) fail_json(place, "keys with values", document);
    value.clear();
    for (const auto& [key, element] : document.items()) read(element, {&place, key}, value[key]);
  } else if constexpr (is_a<T, std::pair>) {
    read_tuple(document, place, value, std::make_index_sequence<2>());
  } else if constexpr (std::same_as<T, Seconds>) {
    double seconds = 0;
    read(document, place, seconds);
    value = Seconds(seconds);
  } else if constexpr (std::same_as<T, MixedNumber>) {
    read(document, place, value.value);
    value.is_whole = document.is_number_integer();
  } else if constexpr (std::same_as<T, json>) {
    value = document;
  } else if constexpr (std::same_as<T, bool>) {
    if (!document.is_boolean()) fail_json(place, "true or false", document);
    value = document.get<bool>();
  } else if constexpr (std::same_as<T, std::string>) {
    if (!document.is_string()) fail_json(place, "a text", document);
    value = document.get<std::string>();
  } else {
    static_assert(std::is_arithmetic_v<T>);
    if constexpr (std::is_floating_point_v<T>)
      if (document.is_null()) return void(value = std::numeric_limits<T>::quiet_NaN());
    if (!document.is_number()) fail_json(place, "a number", document);
    value = document.get<T>();
  }
}

}  // namespace json_fields

/// The document of a struct with Fields.
template <class T>
nlohmann::json write_fields(const T& value) {
  return json_fields::write(value);
}

/// Inverse of write_fields. `file`: for messages. Errors: ConfigError with the file and the key.
template <class T>
T read_fields(const nlohmann::json& document, const std::string& file) {
  T value{};
  json_fields::read(document, {nullptr, file}, value);
  return value;
}

}  // namespace tandem
