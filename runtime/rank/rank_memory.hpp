// The error message of a rank whose device or machine has too little memory.
#pragma once

#include <functional>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Calls `work`. Errors: those of `work`, but NoMemoryError and std::bad_alloc become a WorldError. It names
/// the rank's role, its host and the model, the requested and the free memory if known, and gives advice.
void within_rank_memory(const Job& job, Rank rank, const std::function<void()>& work);

}  // namespace tandem
