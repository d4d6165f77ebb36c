// ESync (Li et al., "ESync: Accelerating Intra-Domain Federated Learning in Heterogeneous Data Centers", IEEE
// TSC 2022): while the slowest worker takes one local step, every other takes as many as fit; then all
// average the changes of their models. A coordinator (the first server) answers "ready?" after each local
// step.
//
// Differences from the published code, each a defect there: workers report durations, never readings of their
// own clocks; the coordinator uses the time at which a report reached it; the first round is one step each,
// which measures the durations; a worker that left is no longer the slowest.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_esync_worker(const Setting& setting, int worker);
std::unique_ptr<ServerPolicy> make_esync_server(const Setting& setting);
std::vector<OptionSpec> esync_options();

}  // namespace tandem::sync
