// Lists of names as Slurm writes them, and SimGrid in a radical: "n[1-3,07],m" is n1, n2, n3, n07 and m.
// Pure.
#pragma once

#include <string>
#include <vector>

namespace tandem::machines {

/// The names of a list. The numbers of a range are as wide as its first one; of several brackets in a name,
/// the last one counts first. `what`: the option or variable, for errors. Errors: ConfigError for a list of
/// another form, or of more than 100,000 names.
std::vector<std::string> names_in(const std::string& list, const std::string& what);

/// The inverse: neighbours whose last numbers increase by one share brackets.
std::string list_of(const std::vector<std::string>& names);

}  // namespace tandem::machines
