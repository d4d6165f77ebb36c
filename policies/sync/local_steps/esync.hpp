// ESync (Li et al., "ESync: Accelerating Intra-Domain Federated Learning in Heterogeneous Data Centers", IEEE
// TSC 2022): while the slowest worker takes one local step, every other takes as many as fit; then all
// average the changes of their models. A coordinator (the first server, or a rank of its own over an
// all-reduce) tells each when it is ready.
//
// "esync-published" asks after each local step and waits for the answer. Differences from the published code,
// each a defect there: workers report durations, never readings of their own clocks; the coordinator uses the
// time at which a report reached it; the first round is one step each, which measures the durations; a worker
// that left is no longer the slowest.
//
// "esync" improves on it: a worker reports as a step begins and hears by its end whether it is the last (no
// answer means that it is not), so that asking takes no time; and the time counts until each worker's push is
// there, which over an all-reduce is that until its word is.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// What tells the variants apart is the defaults of their options.
struct EsyncDefaults {
  std::string query;  ///< "ahead" | "blocking"
  bool communication_aware;
  double epsilon_s;
};

std::unique_ptr<WorkerPolicy> make_esync_worker(const Setting& setting, int worker);
std::unique_ptr<ServerPolicy> make_esync_server(const Setting& setting);
std::vector<OptionSpec> esync_options(const EsyncDefaults& defaults);

}  // namespace tandem::sync
