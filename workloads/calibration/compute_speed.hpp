// The speed of a device in the form of platform files, from measured operations of a training step.
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

/// The costs of this program's own server for pushes, in the form of a host's properties. Each push is
/// summed and applied as a whole, so tensors have no cost. A reply is sent from the model's memory, so its
/// bytes have no cost. Half of the fixed time of a sum and an update is the cost of the push, half that of
/// the reply. None: the entries have no sum or no update in two sizes.
std::optional<ServerCost> own_server_cost(const std::vector<Profile::ComputeEntry>& entries);

}  // namespace tandem
