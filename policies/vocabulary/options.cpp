#include "policies/vocabulary/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"

namespace tandem {
namespace {

bool is_number(const OptionValue& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

double as_number(const OptionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

bool accepts(const OptionSpec& spec, const OptionValue& value) {
  if (is_number(spec.default_value)) {
    if (std::holds_alternative<std::int64_t>(spec.default_value) &&
        !std::holds_alternative<std::int64_t>(value))
      return false;
    return is_number(value) && as_number(value) >= spec.minimum && as_number(value) <= spec.maximum;
  }
  if (value.index() != spec.default_value.index()) return false;
  if (spec.choices.empty()) return true;
  return std::find(spec.choices.begin(), spec.choices.end(), std::get<std::string>(value)) !=
         spec.choices.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "inf" for a number that is infinite by default: files and JSON have no other word for it.
OptionValue read_infinity(const OptionSpec& spec, const OptionValue& value) {
  const auto* number = std::get_if<double>(&spec.default_value);
  const bool is_word = value == OptionValue(std::string("inf"));
  return number != nullptr && std::isinf(*number) && is_word ? spec.default_value : value;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

OptionError::OptionError(const std::string& owner, const std::string& option, const std::string& expected,
                         const OptionValue& found)
    : ConfigError(owner + ": option '" + option + "': expected " + expected + ", found '" + to_text(found) +
                  "'"),
      option_(option),
      expected_(expected),
      found_("'" + to_text(found) + "'") {}

Options Options::resolve(const std::string& owner, const std::vector<OptionSpec>& specs,
                         const std::map<std::string, OptionValue>& given) {
  Options resolved;
  for (const auto& spec : specs) resolved.values_[spec.name] = spec.default_value;
  for (const auto& [name, value] : given) {
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&wanted = name](const auto& s) { return s.name == wanted; });
    if (spec == specs.end()) {
      std::vector<std::string> names;
      for (const auto& s : specs) names.push_back(s.name);
      const std::string nearest = nearest_name(name, names);
      throw ConfigError(owner + ": unknown option '" + name + "'" +
                        (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    const OptionValue read = read_infinity(*spec, value);
    if (!accepts(*spec, read)) throw OptionError(owner, name, describe_type(*spec), value);
    const bool widen = std::holds_alternative<double>(spec->default_value);
    resolved.values_[name] = widen ? OptionValue(as_number(read)) : read;
  }
  return resolved;
}

bool Options::boolean(const std::string& name) const { return std::get<bool>(values_.at(name)); }
std::int64_t Options::integer(const std::string& name) const {
  return std::get<std::int64_t>(values_.at(name));
}
double Options::real(const std::string& name) const { return std::get<double>(values_.at(name)); }
const std::string& Options::text(const std::string& name) const {
  return std::get<std::string>(values_.at(name));
}

std::string to_text(const OptionValue& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return shortest_text(*real);
  return std::get<std::string>(value);
}

std::string describe_type(const OptionSpec& spec) {
  if (std::holds_alternative<bool>(spec.default_value)) return "true | false";
  if (std::holds_alternative<std::string>(spec.default_value)) {
    std::string text;
    for (const auto& choice : spec.choices) text += (text.empty() ? "" : " | ") + choice;
    return text.empty() ? "text" : text;
  }
  std::string text = std::holds_alternative<std::int64_t>(spec.default_value) ? "integer" : "number";
  const bool from_below = spec.minimum > -std::numeric_limits<double>::infinity();
  const bool from_above = spec.maximum < std::numeric_limits<double>::infinity();
  if (from_below) text += " >= " + shortest_text(spec.minimum);
  if (from_below && from_above) text += " and";
  if (from_above) text += " <= " + shortest_text(spec.maximum);
  return text;
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  // Products: b200 and h200 are two, and no typing errors of each other.
  const bool has_number = std::ranges::any_of(name, is_digit);
  for (const auto& candidate : candidates) {
    if (has_number && candidate[0] != name[0]) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace tandem
