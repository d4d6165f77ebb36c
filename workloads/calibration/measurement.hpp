// The measurements that make a calibration, one file each. Every rank of the world calls those that it takes
// part in, in the same order; rank 0 gets the results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/calibration/calibration.hpp"

namespace tandem::calibration {

inline constexpr Channel ping{1, false};
inline constexpr Channel pong{2, false};
/// Instructions of rank 0 to another rank, and results for rank 0, in notes.
inline constexpr Channel words{3, true};

/// Interquartile range over median.
double spread_of(const std::vector<double>& values);
/// Every kind as often as `repetitions` says, in a seeded random order that all ranks share.
std::vector<std::size_t> shuffled_plan(const std::vector<int>& repetitions, std::uint64_t seed);

/// When each rank had made what a worker needs, as its first operation waits for it. The clocks of the ranks
/// are told apart by the fastest of some round trips. Of all ranks; first of all, since what a process does
/// once it does here.
Profile::StartOffsets measure_start_offsets(const Job& job, Context& context);

/// Between the partner and the rank that it is of, which gets the result.
std::vector<Profile::MessageEntry> measure_messages(Context& context, const Partner& partner,
                                                    const CalibrationSetting& setting, std::uint64_t seed);

/// Every rank works, as an emulated device does, and sends to the next rank meanwhile: what a job asks of
/// the cores that ranks share. Of all ranks.
std::vector<double> measure_lateness(Context& context, const CalibrationSetting& setting);

/// See Profile. Of all ranks; those that do not share return at once.
double measure_share_spread(Context& context, const CalibrationSetting& setting);

/// MPI's own, among the first workers. Of all ranks. Pre: rank 0 is the first worker.
std::vector<Profile::AllReduceEntry> measure_all_reduces(Context& context, std::span<const Rank> workers,
                                                         const CalibrationSetting& setting,
                                                         std::uint64_t seed);

struct ComputeTimes {
  std::vector<Profile::ComputeEntry> entries;
  std::int64_t disturbing_bytes = 0;
  std::vector<double> step_s;  ///< of the pieces that make a training step together, each time alone
};
/// One training step's pieces: the first time, alone, and while messages go to and from the partner, which
/// answers meanwhile. `path`: the way to it. Pre: math is real.
ComputeTimes measure_compute(const Job& job, Context& context, const CalibrationSetting& setting,
                             Rank partner, const Profile::Path& path);
/// The first times and those alone, without medians. Of one rank, on its own device. Pre: math is real.
ComputeTimes measure_alone(const Job& job, Context& context, int repetitions);
/// The partner's side.
void answer_streams(Context& context);

/// The same steps on one rank of each further host or kind of hosts, one rank after the other. `own`: what
/// rank 0 measured. Of all ranks. Empty when there is no other host. Pre: math is real.
std::vector<Profile::HostEntry> measure_hosts(const Job& job, Context& context,
                                              const CalibrationSetting& setting, const ComputeTimes& own);

/// Of one rank. Empty where the device's memory is the host's.
std::vector<Profile::CopyEntry> measure_copies(ComputeDevice& device, const CalibrationSetting& setting,
                                               std::uint64_t seed);

/// Of rank 0. Pre: math is real.
std::vector<Profile::StorageEntry> measure_storage(const Job& job, Context& context,
                                                   const CalibrationSetting& setting);

}  // namespace tandem::calibration
