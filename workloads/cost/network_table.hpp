// What a calibration profile says about networks beyond the times of messages: all-reduces of the library,
// and how transfers share a link. Pure.
#pragma once

#include <optional>

#include "policies/vocabulary/rng.hpp"
#include "workloads/cost/profile.hpp"

namespace tandem {

class NetworkTable {
 public:
  /// `profile` must outlive it.
  explicit NetworkTable(const Profile& profile) : profile_(profile) {}

  // ---- All-reduces of MPI or of another library ----

  /// Whether all-reduces of exactly this number of ranks were measured.
  bool has_all_reduces(int ranks) const;
  /// The measured number of ranks that is nearest; 0 if none was measured.
  int nearest_all_reduce_ranks(int ranks) const;
  /// Time of an all-reduce: interpolated linearly between measured sizes and numbers of ranks, extrapolated
  /// from the two largest sizes. Nothing outside the measured numbers of ranks.
  std::optional<Seconds> all_reduce(int ranks, Bytes size) const;
  /// Least time that an all-reduce adds to another one that was in progress when it began.
  std::optional<Seconds> all_reduce_behind(int ranks, Bytes size) const;
  /// As PriceTable::draw_variation, for the nearest measured all-reduce that has neither more ranks nor a
  /// larger size.
  double draw_all_reduce_variation(int ranks, Bytes size, Rng& random) const;

  // ---- Transfers that share a link ----

  /// Profile::share_jitter_bytes without systematic differences. From the offsets if they were measured, else
  /// those bytes.
  double share_jitter() const;
  /// Time that a transfer loses when it starts on a link in use: the median over pairs of transfers that
  /// start one after the other of (distance of their ends - distance of their starts). With three sharers or
  /// more it is measured while bytes move the other way; without those it is several times as long. 0
  /// without offsets.
  Seconds busy_start() const;
  /// Rate of the older of two transfers over that of the newer, while both share the link: the median of the
  /// measured pairs. 1: equal shares, as simulated; large: a queue. None without offsets.
  std::optional<double> older_rate() const;

 private:
  const Profile& profile_;
};

}  // namespace tandem
