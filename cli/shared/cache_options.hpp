// Reads options of both kinds of `tandem cache`: lists of names, sizes, and options of policies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"

namespace tandem::cli {

/// The parts between commas; at least one.
std::vector<std::string> parts_of(const std::string& text);
/// The sizes of a list: "0.1" is a share of the working set, "auto" is eight shares, other sizes are as in
/// an experiment. Errors: ConfigError.
std::vector<std::int64_t> sizes_of(const std::string& text, double working_set, std::int64_t smallest);
/// Prints a note on the sizes that hold nothing.
void note_small_sizes(const std::vector<std::int64_t>& sizes, std::int64_t smallest);
/// "lru" of "lru.x=1". Errors: ConfigError unless it is OWNER.OPTION=VALUE.
std::string owner_of(const std::string& setting);
/// The options that settings such as "two-q.in=0.3" give to `owner`.
std::map<std::string, OptionValue> options_given(const std::vector<std::string>& settings,
                                                 const std::string& owner);

}  // namespace tandem::cli
