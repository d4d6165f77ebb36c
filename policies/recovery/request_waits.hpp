// The time from which a machine may be requested in a slot again: after failed requests, and after several
// deaths in one place.
#pragma once

#include <cstddef>
#include <vector>

#include "policies/recovery/policy.hpp"

namespace tandem::recovery {

/// In the time of machines (Setting::time_scale). Waits double: the n-th in a row is first * 2^(n-1), at most
/// `longest`.
struct RequestRules {
  Seconds retry{10.0};     ///< first wait after a request that failed
  int deaths = 0;          ///< of machines of one group within `within` after which it cools down; 0: never
  Seconds within{3600.0};  ///< also the time without deaths after which waits begin again
  Seconds cooldown{60.0};  ///< first wait of a group that cools down
  Seconds longest{3600.0};
  bool by_slot = false;  ///< a group is a slot, else a zone
};

/// The options `cooldown_after`, `cooldown_within_s`, `cooldown_s`, `cooldown_of` and `longest_wait_s`.
std::vector<OptionSpec> cooldown_options();
RequestRules cooldown_rules(const Options& options);
/// Also `retry_s`, for policies that get an event when a request fails.
std::vector<OptionSpec> request_options();
RequestRules request_rules(const Options& options);

class RequestWaits {
 public:
  RequestWaits(const Setting& setting, const RequestRules& rules);

  /// A request for the slot failed.
  void failed(std::size_t slot, Seconds now);
  /// A machine is ready in the slot: earlier failures no longer count.
  void obtained(std::size_t slot);
  /// A machine in the slot was revoked or lost.
  void died(std::size_t slot, Seconds now);
  /// The first time at which a machine may be requested in the slot.
  Seconds earliest(std::size_t slot) const;
  void serialise(PolicyState& state);

 private:
  struct Retry {
    int failures = 0;  ///< in a row
    Seconds at;
  };
  struct Group {
    int cooldowns = 0;  ///< in a row
    Seconds until;
    std::vector<Seconds> deaths;  ///< since the last cool-down began, not older than `within`
  };

  void serialise_deaths(PolicyState& state);
  Seconds wait(Seconds first, int number) const;

  RequestRules rules_;
  std::vector<std::size_t> group_of_;  ///< of each slot
  std::vector<Retry> retries_;         ///< of each slot
  std::vector<Group> groups_;
};

}  // namespace tandem::recovery
