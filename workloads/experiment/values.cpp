// The values of experiment keys: from JSON into the fields of the table, and back.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

bool within(const Accepts& accepts, double number) {
  if (accepts.without_minimum ? number <= accepts.minimum : number < accepts.minimum) return false;
  return accepts.without_maximum ? number < accepts.maximum : number <= accepts.maximum;
}

// ---- From JSON to a field: one overload a type, false when the value is of another type ----

bool read(std::string& field, const Json& value) {
  if (value.is_null()) field.clear();
  if (value.is_string()) field = value.get<std::string>();
  return value.is_null() || value.is_string();
}

bool read(bool& field, const Json& value) {
  if (value.is_boolean()) field = value.get<bool>();
  return value.is_boolean();
}

template <class Integer>
requires std::is_integral_v<Integer>
bool read(Integer& field, const Json& value) {
  if (!value.is_number_integer()) return false;
  const bool fits = value.is_number_unsigned() ? std::in_range<Integer>(value.get<std::uint64_t>())
                                               : std::in_range<Integer>(value.get<std::int64_t>());
  if (fits) field = value.get<Integer>();
  return fits;
}

bool read(double& field, const Json& value) {
  if (!value.is_number()) return false;
  field = value.get<double>();
  return std::isfinite(field);
}

bool read(Bytes& field, const Json& value) {
  std::optional<Bytes> size;
  std::int64_t plain = 0;
  if (value.is_string()) size = parse_bytes(value.get<std::string>());
  if (value.is_number_integer() && read(plain, value)) size = Bytes(plain);
  if (size) field = *size;
  return size.has_value();
}

template <class Quantity>
bool read_real(Quantity& field, const Json& value, std::optional<Quantity> (*parse)(const std::string&)) {
  std::optional<Quantity> quantity;
  double plain = 0;
  if (value.is_string()) quantity = parse(value.get<std::string>());
  if (read(plain, value)) quantity = Quantity(plain);
  if (quantity) field = *quantity;
  return quantity.has_value();
}
bool read(Seconds& field, const Json& value) { return read_real(field, value, parse_seconds); }
bool read(Flops& field, const Json& value) { return read_real(field, value, parse_flops); }

/// "12.5%".
bool read(Percent& field, const Json& value) {
  if (!value.is_string()) return false;
  std::string text = value.get<std::string>();
  if (!text.ends_with('%')) return false;
  text.pop_back();
  const auto number = parse_number<double>(text, 0.0, 100.0);
  if (number) field.value = *number;
  return number.has_value();
}

bool read(std::vector<std::string>& field, const Json& value) {
  std::vector<std::string> texts;
  const auto take = [&](const Json& item) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
    return item.is_string() && !texts.back().empty();
  };
  if (value.is_array() ? !std::all_of(value.begin(), value.end(), take) : !value.is_null() && !take(value))
    return false;
  field = std::move(texts);
  return true;
}

bool read(OptionValues& field, const Json& value) {
  if (!value.is_object()) return value.is_null();
  for (const auto& [name, option] : value.items()) {
    if (!option.is_primitive() || option.is_null()) return false;
    field[name] = option_from_json(option);
  }
  return true;
}

// Variants are read key by key; as a whole they can only be cleared.
bool read(Variants& field, const Json& value) {
  field.clear();
  return value.is_null() || (value.is_object() && value.empty());
}

// ---- From a field to JSON ----

template <class Value>
Json written(const Value& field) {
  return field;
}
template <class Tag, class Rep>
Json written(const Quantity<Tag, Rep>& field) {
  return field.count();
}
Json written(const Percent& field) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, field.value).ptr) + '%';
}
Json written(const OptionValues& field) {
  Json options = Json::object();
  for (const auto& [name, value] : field) options[name] = option_to_json(value);
  return options;
}
Json written(const Variants& field) {
  Json variants = Json::object();
  for (const auto& [name, overrides] : field) variants[name] = overrides;
  return variants;
}

// ---- Type and bounds ----

template <class Value>
bool bounds_hold([[maybe_unused]] const Accepts& accepts, [[maybe_unused]] const Value& field) {
  if constexpr (std::is_arithmetic_v<Value>) return within(accepts, static_cast<double>(field));
  return true;
}
template <class Tag, class Rep>
bool bounds_hold(const Accepts& accepts, const Quantity<Tag, Rep>& field) {
  return within(accepts, static_cast<double>(field.count()));
}

// ---- Values of two types ----

struct Clear {
  void operator()(const ChoiceField& field) const {
    const bool is_set = field.set(field.names().front());
    TANDEM_CHECK(is_set, "choice", field.names().front());
  }
  template <class Value>
  void operator()(Value* field) const {
    *field = Value{};
  }
};

/// By the visitor, of the field that counts.
template <class Visitor>
Json written_by(const Visitor& visitor, const Either& field) {
  const bool is_first = std::visit(
      [](const auto* second) { return *second == std::remove_cvref_t<decltype(*second)>{}; }, field.second);
  return is_first ? std::visit(visitor, field.first) : std::visit(visitor, field.second);
}

// ---- One visitor for each direction ----

struct Assign {
  const Accepts& accepts;
  const Json& value;
  bool stands_for_zero() const { return !accepts.zero.empty() && value == accepts.zero; }
  bool operator()(const ChoiceField& field) const {
    return value.is_string() && field.set(value.get<std::string>());
  }
  bool operator()(const Either& field) const {
    const bool is_second = std::visit(*this, field.second);
    std::visit(Clear(), field.first);
    if (!is_second) std::visit(Clear(), field.second);
    return is_second || std::visit(*this, field.first);
  }
  template <class Value>
  bool operator()(Value* field) const {
    if (stands_for_zero()) {
      if constexpr (std::is_same_v<Value, int>) *field = 0;
      return std::is_same_v<Value, int>;
    }
    return read(*field, value) && bounds_hold(accepts, *field);
  }
};

struct Plain {
  Json operator()(const ChoiceField& field) const { return field.get(); }
  Json operator()(const Either& field) const { return written_by(*this, field); }
  template <class Value>
  Json operator()(const Value* field) const {
    return written(*field);
  }
};

/// Quantities with their units.
struct WithUnits : Plain {
  using Plain::operator();
  Json operator()(const Either& field) const { return written_by(*this, field); }
  template <class Tag, class Rep>
  Json operator()(const Quantity<Tag, Rep>* field) const {
    return to_text(*field);
  }
};

}  // namespace

bool assign(const ExperimentKey& key, Experiment& experiment, const Json& value) {
  return std::visit(Assign{key.accepts, value}, key.field(experiment));
}

Json key_value(const ExperimentKey& key, const Experiment& experiment) {
  // The table binds fields for writing; here they are only read.
  return std::visit(Plain(), key.field(const_cast<Experiment&>(experiment)));
}

Json written_value(const ExperimentKey& key, const Experiment& experiment) {
  Json value = std::visit(WithUnits(), key.field(const_cast<Experiment&>(experiment)));
  if (!key.accepts.zero.empty() && value == 0) return key.accepts.zero;
  return value;
}

Json plain_scalar(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto integer = parse_number<std::int64_t>(text)) return *integer;
  if (const auto large = parse_number<std::uint64_t>(text)) return *large;
  if (const auto real = parse_number<double>(text); real && std::isfinite(*real)) return *real;
  return text;
}

Json option_to_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

OptionValue option_from_json(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  return value.get<std::string>();
}

}  // namespace tandem
