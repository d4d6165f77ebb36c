// Rennala SGD (Tyurin, Richtarik, NeurIPS 2023): asynchronous workers, one update for every B gradients that
// were computed at the current model; gradients of older models are ignored. The same rule as K-batch-sync,
// reached from the side of asynchronous SGD. The paper's choice of B from the noise of the gradients was not
// checked against it, so B is an option whose default, the number of workers, is this project's own.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_rennala_server(const Setting& setting);

}  // namespace tandem::sync
