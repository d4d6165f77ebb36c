// What the directory of cache nodes does itself with each message, besides sending and receiving it.
#pragma once

#include "workloads/cost/server_cost.hpp"

namespace tandem {

/// Of an update or an answer, as a push or a reply of a server whose tensors are the ids: for each id, the
/// entries of one sample in a table of all samples are found and changed, which no cache of a processor
/// holds. As measured with the table of 1.28 million samples in random order: 0.25 us (a publication) to
/// 1.5 us (a first entry, for which there is no memory yet).
inline ServerCost directory_cost() { return {.message = Seconds(1e-6), .tensor = Seconds(0.5e-6)}; }

}  // namespace tandem
