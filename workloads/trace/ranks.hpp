// Matches the collectives of several ranks of one job: how long transfers last, and which ranks wait for
// which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/trace/collectives.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

/// One rank's part in the comparison.
struct RankCollectives {
  int rank = 0;
  Nanoseconds base = 0;  ///< time from which its times count
  std::vector<Collective> collectives;
};

struct MatchedCollective {
  CollectiveKind kind = CollectiveKind::unknown;
  std::int64_t elements = 0;           ///< of the first rank
  Nanoseconds transfer = 0;            ///< the least duration over ranks: an upper bound of the transfer
  std::vector<Nanoseconds> durations;  ///< by rank
  std::size_t late = 0;                ///< index of the rank that started last
  Nanoseconds ends_differ = 0;         ///< latest end - earliest end
};

struct Match {
  std::vector<MatchedCollective> collectives;
  std::vector<Nanoseconds> communication;  ///< by rank, the sum of the durations
  Nanoseconds least = 0;                   ///< the sum of the transfers
  Nanoseconds ends_differ = 0;             ///< the largest
  /// Why the ranks cannot be compared; empty: they can.
  std::string refused;
};

/// The limit: two ends that differ by more belong to different collectives or clocks.
inline constexpr Nanoseconds most_different_ends = 1'000'000;

/// Matches by group and sequence number where all ranks have them, otherwise by order within the group.
/// `ranks`: at least two.
Match match_ranks(const std::vector<RankCollectives>& ranks);

}  // namespace tandem::trace
