// Ringmaster ASGD (Maranjyan, Tyurin, Richtarik, ICML 2025): asynchronous SGD that ignores gradients of R or
// more updates ago. R without bound is ASP, R = 1 is Rennala SGD with B = 1. The paper sets R to about
// max(1, ceil(sigma^2 / epsilon)), which needs the noise of the gradients; the default here, the number of
// workers, drops nothing while workers are equally fast. Late workers finish their step; the form that
// restarts them is not offered (nothing in the seam interrupts a step).
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_ringmaster_server(const Setting& setting);

}  // namespace tandem::sync
