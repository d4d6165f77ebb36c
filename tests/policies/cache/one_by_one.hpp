// Requests of one sample each to a cache policy, as a trace has them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::testing {

/// What a policy decided for one request.
struct Access {
  bool is_hit = false;
  bool keeps = false;
  std::vector<SampleId> evicted = {};
};

/// Requests a sample; the read of a miss ends at once.
inline Access access(cache::CachePolicy& policy, SampleId id, Bytes size) {
  const cache::Sample now{id, size};
  cache::Decisions decisions;
  policy.on_want({.now = {&now, 1}}, decisions);
  const cache::Serve& served = decisions.serve.at(0);
  if (served.from.where != cache::Where::tier) {
    const cache::Arrived arrived{id, size, served.from};
    policy.on_arrived({&arrived, 1}, decisions);
  }
  Access result{.is_hit = served.from.where == cache::Where::tier};
  for (const cache::Move& move : decisions.move) {
    if (move.to == cache::outside)
      result.evicted.push_back(move.id);
    else
      result.keeps = true;
  }
  return result;
}

inline std::unique_ptr<cache::CachePolicy> make_policy(
    const std::string& name, Bytes capacity, const std::map<std::string, OptionValue>& options = {}) {
  const auto& entry = cache::catalog().find(name);
  return entry.make.node({.tiers = {capacity}, .options = Options::resolve(name, entry.options, options)});
}

/// Policies that requests of one sample each can drive: those that need nothing else.
inline std::vector<std::string> simple_policies() {
  std::vector<std::string> names;
  for (const auto& entry : cache::catalog().entries())
    if (entry.make.needs == cache::Needs{}) names.push_back(entry.name);
  return names;
}

}  // namespace tandem::testing
