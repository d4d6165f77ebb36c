// Brings a fresh policy to where another one was. That is all it takes to go on with it, since a policy is
// what its events made of it.
#pragma once

#include <cstdint>
#include <string>

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// What the policy decides on an event.
ServerDecisions decide(ServerPolicy& policy, const ServerEvent& event);

/// What it decides as a step begins.
Beginning decide(WorkerPolicy& policy, const StepBegin& event);
/// What it decides on any event, as text; empty where there is nothing to decide.
std::string decide_in_words(WorkerPolicy& policy, const WorkerEvent& event);

/// Lets a fresh policy see the steps of so many exchanges, of `batch` samples each. Pre: the algorithm is not
/// driven by timing, so that the durations that it is told do not matter.
void fast_forward(WorkerPolicy& policy, std::int64_t exchanges, int batch);

}  // namespace tandem::sync
