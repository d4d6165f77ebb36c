// Local SGD (Stich, ICLR 2019; FedAvg, McMahan et al., AISTATS 2017): H local steps, then all workers average
// the changes of their models. H = 1 with plain SGD is BSP.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// Exchanges its change after so many local steps, or as many as the server wants from then on.
std::unique_ptr<WorkerPolicy> make_local_steps_worker(int steps);
std::unique_ptr<WorkerPolicy> make_local_sgd_worker(const Setting& setting, int worker);
std::unique_ptr<ServerPolicy> make_local_sgd_server(const Setting& setting);
int local_sgd_steps(const Options& options);

}  // namespace tandem::sync
