// What a rank says when its device, or its machine, has not enough memory for its part of the job.
#pragma once

#include <functional>

#include "workloads/job/job.hpp"

namespace tandem {

/// Does `work` of the rank. Errors: as the work's, but a lack of memory (NoMemoryError, std::bad_alloc) as a
/// WorldError that names the rank's role, its host and the model, with what was asked for and free as far as
/// the complaint says it, and what to do.
void within_rank_memory(const Job& job, Rank rank, const std::function<void()>& work);

}  // namespace tandem
