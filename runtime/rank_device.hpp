// On which device a rank of a job computes.
#pragma once

#include <memory>

#include "workloads/job.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// The GPU of the rank's host in the platform file, where devices are native, mathematics is real and the
/// rank computes; null: the processor. Errors: WorldError when the file gives the number of a GPU
/// (tandem:gpu) that this machine does not have. A host that is only said to be one with a GPU computes on
/// its processor where there is none.
std::unique_ptr<ComputeDevice> make_rank_device(const Job& job, Rank rank);

}  // namespace tandem
