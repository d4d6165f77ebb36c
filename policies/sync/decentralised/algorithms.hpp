// The algorithms of this folder: there is no server; each worker has a model of its own and averages it with
// the models of other workers. One file each.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

Algorithm d_psgd();
Algorithm ad_psgd();
Algorithm group_average();

}  // namespace tandem::sync
