// Sums of GPU memory by the GPUs themselves, without the host; a context prefers them for its all-reduce. A
// program links one of two implementations of make_device_collective: the one with NCCL
// (nccl_collective.cpp), or the one for builds without NCCL (no_nccl.cpp).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/vocabulary/units.hpp"
#include "runtime/gpu/device_allocations.hpp"

namespace tandem {

/// Errors: WorldError from all members, and NoMemoryError where the GPU has too little memory. Not
/// thread-safe.
class DeviceCollective {
 public:
  virtual ~DeviceCollective() = default;
  /// Whether each member has a device of its own that takes part. All ranks get the same answer.
  virtual bool can(std::span<const Rank> members) const = 0;
  /// Starts the sum of elements over the members, in place, and returns its number; of bytes, an all-gather
  /// (see Context::all_reduce). `among` has the members as its ranks, in their order. The first sum over a
  /// list of members waits until all of them have started it.
  /// Returns nothing, for all members and permanently, if one of them already uses the maximum number of
  /// lists: each list takes memory of its device, and only all members together could release it. Pre:
  /// can(members); the memory is on this rank's device, and no queued work of the device writes it.
  virtual std::optional<std::uint32_t> start(std::span<const Rank> members, MPI_Comm among, std::byte* memory,
                                             std::int64_t bytes, const collectives::Element& element) = 0;
  /// Whether the sum has ended; its number is then invalid. Errors: also WorldError, after an abort(), if a
  /// member has failed, or the sum has taken longer than its timeout.
  virtual bool has_ended(std::uint32_t sum) = 0;
  /// Ends all sums without the other members; no sum may be started afterwards. A rank that ends by an error
  /// calls it: a sum that waits for its members occupies the device, and releasing memory waits for the
  /// device.
  virtual void abort() noexcept = 0;
};

/// NCCL uses some hundred MB of a GPU's memory for each list.
inline constexpr std::size_t most_device_lists = 8;

/// Memory that a library sums without copying it to its own memory first. A sum over these members, in any
/// order, registers the allocation of its memory, which stays registered until it is freed. Sums over other
/// lists do not register: a library may make the host wait for all members of a sum whose memory is new to
/// it, and members may start the sums of several lists in different orders.
struct RegisteredMemory {
  DeviceAllocations* allocations = nullptr;  ///< of this rank's device; lives whenever a sum starts
  std::vector<Rank> members = {};            ///< in ascending order; the same on all ranks
};

struct DeviceSumSetting {
  Seconds timeout;                             ///< of a sum, from its start on this rank (run.sum_timeout)
  std::size_t most_lists = most_device_lists;  ///< the largest number of lists over which this rank sums
  /// Frees memory of the GPU that another library keeps unused. Called where memory for a list may be
  /// missing.
  std::function<void()> free_cache = {};
  /// The memory that is registered with the library, if it can register memory.
  RegisteredMemory registered = {};
};

/// `gpu`: number of the GPU on which this rank computes, if it does. Null when the build has no
/// implementation, or when fewer than two ranks have both a GPU and the library that sums; a message names a
/// library that does not load. Collective over `communicator`, whose ranks are the members' numbers. Errors:
/// WorldError.
std::shared_ptr<DeviceCollective> make_device_collective(MPI_Comm communicator, std::optional<int> gpu,
                                                         DeviceSumSetting setting);

}  // namespace tandem
