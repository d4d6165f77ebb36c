// Named options of a catalogue entry: declared once with type, default and bounds, checked once, read by
// name.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// An option's value as written in an experiment.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// An option has a value that is not accepted: "OWNER: option 'k': expected EXPECTED, found '5'".
class OptionError : public ConfigError {
 public:
  OptionError(const std::string& owner, const std::string& option, const std::string& expected,
              const OptionValue& found);
  const std::string& option() const { return option_; }
  const std::string& expected() const { return expected_; }
  /// In quotes.
  const std::string& found() const { return found_; }

 private:
  std::string option_, expected_, found_;
};

/// Declares one option. The type is that of `default_value`; text with `choices` must be one of them. Where
/// the default is infinite, the text "inf" is a value, too.
struct OptionSpec {
  std::string name;
  std::string summary;
  OptionValue default_value;
  double minimum = -std::numeric_limits<double>::infinity();  ///< inclusive, numbers only
  double maximum = std::numeric_limits<double>::infinity();   ///< inclusive, numbers only
  std::vector<std::string> choices = {};
};

/// Values for every declared option. Reading an undeclared option or with the wrong type is a programmer's
/// error.
class Options {
 public:
  Options() = default;
  /// Fills in defaults. Errors: ConfigError naming `owner`, the option, what was expected and found.
  static Options resolve(const std::string& owner, const std::vector<OptionSpec>& specs,
                         const std::map<std::string, OptionValue>& given);

  bool boolean(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  const std::map<std::string, OptionValue>& values() const { return values_; }

 private:
  std::map<std::string, OptionValue> values_;
};

/// "0.5", "true", "ring": the value as a user would write it.
std::string to_text(const OptionValue& value);
/// "integer >= 1", "ring | halving-doubling": what an option accepts.
std::string describe_type(const OptionSpec& spec);
/// The candidate with the smallest edit distance to `name`, or empty when none is close enough to be meant.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace tandem
