// The measurements of a calibration, one file each. Every rank calls the measurements in which it takes
// part, in the same order; rank 0 gets the results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/calibration/calibration.hpp"
#include "workloads/protocol.hpp"

namespace tandem::calibration {

/// Interquartile range over median.
double spread_of(const std::vector<double>& values);
/// Every kind `repetitions` times, in a seeded random order that all ranks share.
std::vector<std::size_t> shuffled_plan(const std::vector<int>& repetitions, std::uint64_t seed);

/// When each rank had created everything that a worker needs before its first operation. Offsets between the
/// clocks are estimated from the fastest of some round trips. Called by all ranks, before all other
/// measurements, so that one-time costs of a process are included.
Profile::StartOffsets measure_start_offsets(const Job& job, Context& context);

/// Messages between a rank and its partner; the rank gets the result.
std::vector<Profile::MessageEntry> measure_messages(Context& context, const Partner& partner,
                                                    const CalibrationSetting& setting, std::uint64_t seed);

/// Every rank does emulated work and concurrently sends messages to the next rank, so that shared cores have
/// the load of a job. Called by all ranks.
std::vector<double> measure_lateness(Context& context, const CalibrationSetting& setting);

/// See Profile. Called by all ranks; those that do not take part return immediately.
double measure_share_jitter(Context& context, const CalibrationSetting& setting);

/// Transfers between rank 0 and the sharers that start one after the other. Called by all ranks; those that
/// do not take part return immediately. Empty with fewer than two sharers.
std::vector<Profile::OffsetEntry> measure_offsets(Context& context, const CalibrationSetting& setting,
                                                  std::uint64_t seed);

/// MPI's own all-reduce among the first workers. Called by all ranks. Pre: rank 0 is the first worker.
std::vector<Profile::AllReduceEntry> measure_all_reduces(Context& context, std::span<const Rank> workers,
                                                         const CalibrationSetting& setting,
                                                         std::uint64_t seed);

struct ComputeTimes {
  std::vector<Profile::ComputeEntry> entries;
  std::int64_t disturbing_bytes = 0;
  std::vector<double> step_s;  ///< of all operations of a training step together, each alone
};
/// The operations of one training step: the first execution, alone, and while messages are exchanged with the
/// partner. `path`: the path to the partner. Pre: math is real.
ComputeTimes measure_compute(const Job& job, Context& context, const CalibrationSetting& setting,
                             Rank partner, const Profile::Path& path);
/// First executions and executions alone, without medians. Called by one rank, on its own device. Pre: math
/// is real.
ComputeTimes measure_alone(const Job& job, Context& context, int repetitions);
/// The partner's side.
void answer_streams(Context& context);

/// The same steps on one rank of each other host or kind of host, one rank after the other. `own`: the
/// measurement of rank 0. Called by all ranks. Empty when there is no other host. Pre: math is real.
std::vector<Profile::HostEntry> measure_hosts(const Job& job, Context& context,
                                              const CalibrationSetting& setting, const ComputeTimes& own);

/// Called by one rank. Empty if the device uses host memory.
std::vector<Profile::CopyEntry> measure_copies(ComputeDevice& device, const CalibrationSetting& setting,
                                               std::uint64_t seed);

/// Called by rank 0. Pre: math is real.
std::vector<Profile::StorageEntry> measure_storage(const Job& job, Context& context,
                                                   const CalibrationSetting& setting);

/// Random reads, several at the same time, and writes in the job's directory. Called by rank 0.
std::vector<Profile::DiskEntry> measure_disks(const Job& job, Context& context,
                                              const CalibrationSetting& setting);

}  // namespace tandem::calibration
