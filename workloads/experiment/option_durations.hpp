// Durations among the options of catalogue entries, which are numbers of seconds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"

namespace tandem {

/// Texts such as "6h", given where an option is a number, become seconds. Other values stay as they are.
void read_durations(std::map<std::string, OptionValue>& options, const std::vector<OptionSpec>& specs);

}  // namespace tandem
