// The keys of experiment files as text for people: `tandem show --keys`.
#pragma once

#include <string>

namespace tandem {

/// One line per key that begins with `prefix` ("": all keys): "workload.batch  integer >= 1  [64]". With
/// `details`, and always for a prefix that is a whole key, the line has the names that the key accepts and
/// the meaning of the key. Errors: ConfigError with the nearest key if no key begins with the prefix.
std::string describe_keys(const std::string& prefix, bool details);

}  // namespace tandem
