// The algorithms of this folder: workers take local steps, then exchange the changes of their models. One
// file each; a file with several functions holds variants that differ only in their defaults or in the
// update.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

Algorithm local_sgd();
Algorithm post_local_sgd();
Algorithm adacomm();
Algorithm esync();
Algorithm esync_published();
Algorithm fedavg();
Algorithm slowmo();
Algorithm diloco();
Algorithm easgd();
Algorithm easgd_async();
Algorithm adsp();

}  // namespace tandem::sync
