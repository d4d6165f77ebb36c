#include "runtime/mpi/peer_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/machine_ranks.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace {

/// The message of a rank to the others about memory that they may try to read.
struct Offer {
  std::int32_t is_there = 0;
  std::int32_t machine = 0;  ///< the first rank of the machine
  SharedDeviceMemory::Handle handle = {};
};

}  // namespace

PeerMessages::PeerMessages(MPI_Comm communicator, ComputeDevice* device, const PeerLimits& limits)
    : limits_(limits),
      receipts_(communicator),
      device_(device),
      memory_(dynamic_cast<SharedDeviceMemory*>(device)),
      allocations_(dynamic_cast<const DeviceAllocations*>(device)) {
  reached_ = find_readable(communicator);
}

PeerMessages::~PeerMessages() {
  // After an error, copies may still use opened memory, and the other ranks may not come.
  if (std::uncaught_exceptions() > 0) return;
  try {
    if (!opened_.empty()) device_->finish();
  } catch (const WorldError&) {
    // A broken device has reported its error before.
  }
  for (const auto& [owner, memory] : opened_) memory_->close(memory);
  MPI_Barrier(receipts_.get());
}

std::vector<bool> PeerMessages::find_readable(MPI_Comm communicator) {
  int size = 0;
  int rank = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  const MachineRanks machine(communicator);
  DeviceArray<std::byte> sample;
  Offer own{.machine = machine.leader()};
  if (memory_ != nullptr && allocations_ != nullptr) {
    sample = DeviceArray<std::byte>(*device_, std::max(limits_.allocation, own.handle.size()));
    if (const auto handle = memory_->share(*allocations_->allocation_of(sample.data()))) {
      own.is_there = 1;
      own.handle = *handle;
      // The content that the others expect to read there.
      copy_and_await(*device_, sample.data(), handle->data(), handle->size());
    }
  }
  std::vector<Offer> offers(static_cast<std::size_t>(size));
  check_mpi(
      MPI_Allgather(&own, sizeof(Offer), MPI_BYTE, offers.data(), sizeof(Offer), MPI_BYTE, communicator),
      "MPI_Allgather");
  std::vector<std::int32_t> reads(offers.size());
  for (std::size_t other = 0; other < offers.size(); ++other) {
    const Offer& offer = offers[other];
    const bool may_read = own.is_there != 0 && offer.is_there != 0 && offer.machine == own.machine &&
                          static_cast<int>(other) != rank;
    reads[other] = may_read && can_read(offer.handle) ? 1 : 0;
  }
  // Behind it, no rank has the memory of another one open.
  std::vector<std::int32_t> is_read(reads.size());
  check_mpi(MPI_Alltoall(reads.data(), 1, MPI_INT32_T, is_read.data(), 1, MPI_INT32_T, communicator),
            "MPI_Alltoall");
  std::vector<bool> reached(reads.size());
  for (std::size_t other = 0; other < reads.size(); ++other) {
    reached[other] = reads[other] != 0 && is_read[other] != 0;
    if (reached[other] && rank < static_cast<int>(other)) ++pairs_;
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &pairs_, 1, MPI_INT, MPI_SUM, communicator), "MPI_Allreduce");
  return reached;
}

/// Memory that begins with its own handle. To open it is not enough: where a bridge or an IOMMU redirects
/// what GPUs send each other, drivers open memory from which copies bring other bytes.
bool PeerMessages::can_read(const SharedDeviceMemory::Handle& handle) {
  const std::byte* const opened = memory_->open(handle);
  if (opened == nullptr) return false;
  DeviceArray<std::byte> arrived(*device_, handle.size());
  OwnedMark(*device_, memory_->copy_opened(arrived.data(), opened, handle.size())).await();
  memory_->close(opened);
  SharedDeviceMemory::Handle found;
  copy_and_await(*device_, found.data(), arrived.data(), found.size());
  return found == handle;
}

bool PeerMessages::carries(Rank to, const Slice& slice) const {
  if (!reaches(to) || slice.size < limits_.message) return false;
  const auto allocation = allocations_->allocation_of(slice.data);
  return allocation && allocation->bytes >= limits_.allocation;
}

PeerMessages::Ticket PeerMessages::ticket_for(const Slice& slice) {
  const auto allocation = allocations_->allocation_of(slice.data);
  auto shared = shared_.find(allocation->number);
  if (shared == shared_.end()) {
    const auto handle = memory_->share(*allocation);
    if (!handle)
      throw WorldError(device_->name() + " cannot share " + std::to_string(allocation->bytes) +
                       " bytes with other processes; take run.device_messages staged");
    shared = shared_.emplace(allocation->number, *handle).first;
  }
  return {allocation->number, static_cast<std::uint64_t>(slice.data - allocation->begin), shared->second};
}

const std::byte* PeerMessages::payload(Rank from, const Ticket& ticket) {
  const auto [found, is_new] = opened_.try_emplace({from, ticket.allocation});
  if (is_new) found->second = memory_->open(ticket.handle);
  if (found->second == nullptr)
    throw WorldError(device_->name() + " cannot read the memory of the GPU of rank " + std::to_string(from) +
                     "; take run.device_messages staged");
  return found->second + ticket.offset;
}

}  // namespace tandem
