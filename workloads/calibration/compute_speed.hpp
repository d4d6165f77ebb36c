// The speed of a device as platform files state it, from measured operations of a training step.
#pragma once

#include <optional>
#include <vector>

#include "workloads/cost/profile.hpp"
#include "workloads/cost/server_cost.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Bytes per additional second between two measurements, so that fixed costs do not count.
BytesPerSecond rate_between(std::int64_t small_bytes, double small_s, std::int64_t large_bytes,
                            double large_s);

struct ComputeSpeed {
  FlopsPerSecond core;    ///< sustained in forward and backward passes
  BytesPerSecond memory;  ///< moved by updates
};
/// Pre: the entries have medians, and contain a whole step with updates of two sizes or more, or of one.
ComputeSpeed compute_speed(const std::vector<Profile::ComputeEntry>& entries, const ModelDescription& model);

/// What this program's own server does itself with pushes, as a host would state it: each push is summed and
/// applied whole, so tensors cost nothing, and a reply is sent from the model's memory, so its bytes cost
/// nothing. The fixed time of a sum and an update counts half for the push and half for the reply. None: the
/// entries have no sum or no update in two sizes.
std::optional<ServerCost> own_server_cost(const std::vector<Profile::ComputeEntry>& entries);

}  // namespace tandem
