// Keys that act in some jobs alone, as data: the condition of each. Keys that a user sets where they do not
// act are named in one warning; `tandem list limit` lists them. Where a key is refused instead, see
// limits.hpp.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/check/limits.hpp"

namespace tandem {

/// Keys with one condition.
struct ConditionalKeys {
  std::vector<std::string> keys;
  std::string needs;    ///< "data.source: storage"
  std::string example;  ///< settings with which they act, over an experiment with four workers and a server
  bool (*act)(const Combination&);
};

const std::vector<ConditionalKeys>& conditional_keys();

/// Those that act in this job.
std::vector<std::string> acting_keys(const Combination& all);

/// "no effect in this job: data.cache (lab.yaml:7) and data.prefetch (--set) act with data.source: storage".
/// Of the keys that are set to another value than their default, and may not be idle. Empty: there are none.
/// Pre: the experiment is complete.
std::string warning_of_idle_keys(const Combination& all, const Locate& locate);

}  // namespace tandem
