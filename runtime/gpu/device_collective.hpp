// Sums of the memory of GPUs by the GPUs themselves, past the host: what a context takes for its all-reduce
// where it can. Two implementations of the maker, of which a program links one: NCCL's (nccl_collective.cpp)
// and that of a build without it (no_nccl.cpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Errors: WorldError from everything that starts or asks. Not thread-safe.
class DeviceCollective {
 public:
  virtual ~DeviceCollective() = default;
  /// Whether each member has a device of its own that takes part. All ranks get the same answer.
  virtual bool can(std::span<const Rank> members) const = 0;
  /// Starts the sum of float32 over the members, in place, with the number by which to ask for it. `among`
  /// has the members as its ranks, in their order. The first sum over a list of members waits until all of
  /// them have started it. Nothing, for all members alike and for good, where one of them sums over as many
  /// other lists as it may: each takes memory of its device, and can be given up by all members together
  /// only. Pre: can(members); the memory is this rank's device's, and nothing that the device still has to do
  /// writes it.
  virtual std::optional<std::uint32_t> start(std::span<const Rank> members, MPI_Comm among, std::byte* memory,
                                             std::int64_t bytes) = 0;
  /// Whether it has; then its number is forgotten.
  virtual bool has_ended(std::uint32_t sum) = 0;
};

/// NCCL takes some hundred MB of a GPU's memory for each.
inline constexpr std::size_t most_device_lists = 8;

/// `gpu`: number of the GPU on which this rank computes, if it does. Null when no two ranks have one, or the
/// build knows no way. `most_lists`: over which this rank sums. Collective over `communicator`, whose ranks
/// are the members' numbers. Errors: WorldError.
std::shared_ptr<DeviceCollective> make_device_collective(MPI_Comm communicator, std::optional<int> gpu,
                                                         std::size_t most_lists = most_device_lists);

}  // namespace tandem
