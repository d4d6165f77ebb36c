// Machines of a job with given lifetimes, and a recovery policy for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/lifetimes/catalog.hpp"
#include "policies/recovery/policy.hpp"
#include "workloads/membership/machines.hpp"

namespace tandem::testing {

struct GivenMachines {
  std::string times = {};  ///< lifetimes by slot and incarnation
  int slots = 1;
  Seconds detect{0};
  Seconds start{0};
  Seconds notice{0};
  double time_scale = 1.0;
  std::string model = "fixed";
  std::string policy = "restart";
  int least = 0;  ///< 0: all
  std::map<std::string, OptionValue> options = {};
  std::vector<SlotDeath> deaths = {};
  int needed = 0;         ///< of the slots: machines without workers, in the last ones
  bool in_place = false;  ///< another steward cares for the workers
  int spares = 0;         ///< of the workers' slots: those empty at first
  double mean_s = 0.0;    ///< of model exponential
  Seconds give_up{0};
  std::uint64_t seed = 1;

  int workers() const { return slots - needed; }
};

inline std::unique_ptr<recovery::Policy> policy_of(const GivenMachines& given) {
  const auto& entry = recovery::catalog().find(given.policy);
  const int wanted = given.workers() - given.spares;
  return entry.make({.workers = wanted,
                     .slots = given.workers(),
                     .least = given.least == 0 ? wanted : given.least,
                     .give_up = given.give_up,
                     .options = Options::resolve(entry.name, entry.options, given.options)});
}

inline Machines machines_of(const GivenMachines& given) {
  Experiment::Transience setting;
  setting.lifetime = given.model;
  if (given.model == "fixed") setting.options["times"] = given.times;
  if (given.model == "trace") setting.options["events"] = given.times;
  if (given.model == "exponential") setting.options["mean"] = given.mean_s;
  setting.detect = given.detect;
  setting.start = given.start;
  setting.notice = given.notice;
  setting.time_scale = given.time_scale;
  const std::vector<std::size_t> zones(static_cast<std::size_t>(given.slots), 0);
  return {setting, lifetimes::make_fates(setting.lifetime, setting.options, given.seed, zones), zones.size(),
          given.deaths};
}

}  // namespace tandem::testing
