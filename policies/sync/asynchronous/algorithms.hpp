// The algorithms of this folder: the server answers each push by itself, so workers wait little or not at
// all. One file each; the variants of DC-ASGD share theirs.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

Algorithm asp();
Algorithm ssp();
Algorithm ssp_cached();
Algorithm dssp();
Algorithm dynsgd();
Algorithm ringmaster();
Algorithm sync_switch();
Algorithm dc_asgd();
Algorithm dc_asgd_adaptive();
Algorithm dc_asgd_mxnet();

}  // namespace tandem::sync
