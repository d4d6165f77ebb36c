// The job of an execution trace, a Chakra trace or DDP's logging data, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/trace/job_description.hpp"

namespace tandem::cli {

/// What it is, one row per bucket, and what neither the format nor the user says.
std::string description_text(const trace::JobDescription& job, trace::GivenFigures given);
/// One row per tensor of the gradient, in the order of their completion; empty where shapes are not known.
std::string gradients_table(const trace::JobDescription& job);
nlohmann::json description_document(const trace::JobDescription& job,
                                    const std::vector<trace::Refusal>& refusals);

}  // namespace tandem::cli
