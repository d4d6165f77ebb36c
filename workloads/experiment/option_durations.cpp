#include "workloads/experiment/option_durations.hpp"

#include <algorithm>
#include <variant>

#include "policies/vocabulary/quantity_text.hpp"

namespace tandem {

void read_durations(std::map<std::string, OptionValue>& options, const std::vector<OptionSpec>& specs) {
  for (auto& [name, value] : options) {
    const auto spec = std::ranges::find(specs, name, &OptionSpec::name);
    const auto* text = std::get_if<std::string>(&value);
    if (spec == specs.end() || text == nullptr || !std::holds_alternative<double>(spec->default_value))
      continue;
    if (const auto duration = parse_seconds(*text)) value = duration->count();
  }
}

}  // namespace tandem
