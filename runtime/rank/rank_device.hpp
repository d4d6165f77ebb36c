// On which device a rank of a job computes, and why, where the platform file says another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/job/job.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

struct RankDevice {
  std::unique_ptr<ComputeDevice> gpu = {};  ///< null: the processor
  std::string why_no_gpu = {};  ///< that the rank's host should have; empty where all is as the file says
};

/// The GPU of the rank's host in the platform file, where devices are native, mathematics is real and the
/// rank computes. Errors: WorldError when the file gives the number of a GPU (tandem:gpu) that this machine
/// does not have, or the GPU cannot be used. A host that is only said to be one with a GPU computes on its
/// processor where there is none.
RankDevice make_rank_device(const Job& job, Rank rank);

/// A line for each reason of `why_no_gpu` (by rank), with the hosts whose ranks compute on the processor for
/// it.
std::vector<std::string> processor_notes(const Job& job, const std::vector<std::string>& why_no_gpu);

}  // namespace tandem
