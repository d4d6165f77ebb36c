// The device on which a rank computes, and the reason if it is not the one in the platform file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

struct RankDevice {
  std::unique_ptr<ComputeDevice> gpu = {};  ///< null: the processor
  std::string address = {};                 ///< of the GPU, as gpu_address() gives it
  std::string why_no_gpu =
      {};  ///< reason why the GPU of the platform file is not used; empty if it is, or if there is none
};

/// The GPU of the rank's host in the platform file, if devices are native, math is real and the rank
/// computes. Errors: WorldError when the file names a GPU (tandem:gpu) that this machine does not have, or
/// when the GPU cannot be used. If only the `device` property makes a host a GPU host, it computes on its
/// processor when the machine has no GPU.
RankDevice make_rank_device(const Job& job, Rank rank);

/// One line for each reason in `why_no_gpu` (by rank). It names the hosts whose ranks compute on the
/// processor.
std::vector<std::string> processor_notes(const Job& job, const std::vector<std::string>& why_no_gpu);

}  // namespace tandem
