// Large messages between the GPUs of one machine, which their receiver copies out of the memory of the
// sender's GPU. MPI carries the envelope with a ticket to that memory, and the receipt that ends the send.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/gpu/shared_device_memory.hpp"
#include "runtime/mpi/communicators.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// The smallest messages and allocations that are copied between GPUs: smaller messages take less time
/// through pinned memory, and CUDA puts smaller allocations into common blocks, which other processes cannot
/// open one by one.
struct PeerLimits {
  Bytes message{256 * 1024};
  std::size_t allocation = std::size_t{2} << 20U;
};

class PeerMessages {
 public:
  /// The place of a payload. Travels after the envelope.
  struct Ticket {
    std::uint64_t allocation;  ///< its number at the sender
    std::uint64_t offset;      ///< bytes in it
    SharedDeviceMemory::Handle handle;
  };

  /// Finds out by a copy which ranks of a machine can read each other's GPU memory. Collective over
  /// `communicator`, whose rank numbers all functions use. `device`: of this rank, which must outlive this
  /// object; null, or without memory that can be shared: no peer is reached. Errors: WorldError.
  PeerMessages(MPI_Comm communicator, ComputeDevice* device, const PeerLimits& limits = {});
  /// Collective, unless an exception leads here: no rank frees memory that another one has opened. Pre: no
  /// copy is in flight.
  ~PeerMessages();
  PeerMessages(const PeerMessages&) = delete;
  PeerMessages& operator=(const PeerMessages&) = delete;

  /// The same at both ends.
  bool reaches(Rank rank) const { return reached_[static_cast<std::size_t>(rank)]; }
  /// Number of pairs of all ranks that reach each other.
  int pairs() const { return pairs_; }

  /// Whether a message to `to` is copied by its receiver.
  bool carries(Rank to, const Slice& slice) const;
  /// Pre: `carries`. Errors: WorldError when the driver refuses to share the memory.
  Ticket ticket_for(const Slice& slice);
  /// The first byte of the payload. Errors: WorldError when the driver refuses to open it.
  const std::byte* payload(Rank from, const Ticket& ticket);
  SharedDeviceMemory& memory() { return *memory_; }
  /// Carries the receipts alone.
  MPI_Comm receipts() const { return receipts_.get(); }

 private:
  std::vector<bool> find_readable(MPI_Comm communicator);
  bool can_read(const SharedDeviceMemory::Handle& handle);

  PeerLimits limits_;
  OwnCommunicator receipts_;
  ComputeDevice* device_;
  SharedDeviceMemory* memory_;            ///< of `device_`, or null
  const DeviceAllocations* allocations_;  ///< the same
  std::vector<bool> reached_;             ///< by rank
  int pairs_ = 0;
  std::unordered_map<std::uint64_t, SharedDeviceMemory::Handle> shared_;  ///< by own allocation
  std::map<std::pair<Rank, std::uint64_t>, const std::byte*> opened_;     ///< by owner and allocation
};

}  // namespace tandem
