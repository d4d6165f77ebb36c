// What the world's own all-reduce takes in a simulation: as calibrated, or else as the cheapest schedule
// would.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platforms/description_network.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// With physics.network "profile", an all-reduce takes what the profile says of so many ranks, and varies as
/// measured with physics.noise "profile". Where no profile tells, it takes what `auto` would take among the
/// same ranks on the platform's network.
class LibraryAllReduceCost {
 public:
  /// `network`: between the hosts of the workers; it and `job` must outlive this object.
  LibraryAllReduceCost(const Job& job, const platforms::Network& network, std::uint64_t noise_seed);

  struct Time {
    Seconds alone;
    Seconds behind;  ///< that it adds at least to one that was under way when it began
  };
  /// Of the all-reduce that comes next. Pre: the members are workers; the network is known, at least its
  /// typical route.
  Time next(std::span<const Rank> members, Bytes size);
  /// Where the prices so far came from, for people.
  std::string origin() const;
  bool used() const { return measured_ + guessed_ > 0; }

 private:
  Seconds cheapest(std::span<const Rank> members, Bytes size);

  const Job& job_;
  const platforms::Network& network_;
  const Profile* profile_;  ///< null: messages are not as measured
  std::optional<Rng> noise_;
  std::map<std::pair<std::vector<Rank>, std::int64_t>, Seconds> cheapest_;  ///< known already
  std::int64_t measured_ = 0;
  std::int64_t guessed_ = 0;
};

}  // namespace tandem
