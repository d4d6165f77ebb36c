// The time of a library's all-reduce in a simulation: as calibrated, or by the algorithm that the library
// takes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platforms/description_network.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// With physics.network "profile", or a profile that has tables alone, an all-reduce takes the time in the
/// profile for its number of ranks, and varies as measured with physics.noise "profile". For a number of
/// ranks that was not measured, it takes the time of the formula that is fitted to the others
/// (fit_all_reduces); or if none fits, the time interpolated between fewer and more ranks. Else, on the
/// platform's network: among GPUs that of NCCL (nccl_all_reduce), among processors that of collective `auto`;
/// physics.all_reduce names another algorithm.
class LibraryAllReduceCost {
 public:
  /// `network`: between the hosts of the workers; it and `job` must outlive this object.
  LibraryAllReduceCost(const Job& job, const platforms::Network& network, std::uint64_t noise_seed);

  struct Time {
    Seconds alone;
    Seconds behind;  ///< that it adds at least to one that was in progress when it began
  };
  /// The time of the next all-reduce. Pre: the members are workers; the network is known, at least its
  /// typical route.
  Time next(std::span<const Rank> members, Bytes size);
  /// The origin of the prices so far, as text for results.
  std::string origin() const;
  bool used() const { return measured_ + fitted_ + guessed_ > 0; }

 private:
  /// The time of the algorithm that the library takes; and of a ring.
  struct Guess {
    Seconds time;
    Seconds ring;
  };
  const Guess& guess(std::span<const Rank> members, Bytes size);
  Guess guess_nccl(std::span<const Rank> members, Bytes size);
  /// The latency of a message from each worker to the next one of the order, the last to the first.
  std::vector<Seconds> latencies_around(const std::vector<std::string>& hosts,
                                        const std::vector<int>& order) const;
  bool is_nccl(std::span<const Rank> members) const;
  std::optional<Time> fitted(int ranks, Bytes size);

  const Job& job_;
  const platforms::Network& network_;
  const Profile* profile_;  ///< null: none that counts
  bool is_unused_ = false;  ///< there is a profile with times, which do not count with this network
  std::optional<Rng> noise_;
  std::map<std::pair<std::vector<Rank>, std::int64_t>, Guess> guesses_;   ///< known already
  std::map<std::pair<int, std::int64_t>, std::optional<Time>> formulas_;  ///< known already
  std::set<std::string> guessed_as_;                                      ///< schedules, or NCCL's algorithms
  bool guessed_nccl_ = false;
  Guess guessed_in_all_{};
  std::int64_t measured_ = 0;
  std::int64_t fitted_ = 0;
  std::int64_t guessed_ = 0;
};

}  // namespace tandem
