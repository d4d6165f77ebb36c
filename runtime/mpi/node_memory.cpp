#include "runtime/mpi/node_memory.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <numeric>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/machine_ranks.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/streamed_copy.hpp"

namespace tandem {
namespace {

// Places are whole pages, so that messages of similar size can reuse each other's places.
constexpr std::int64_t page = 4096;
// Total size of the largest messages, if each rank of a node has one in flight. Larger ones pass through MPI;
// where two ranks send each other 16 MiB, MPI's single copy took 2.8 times as long as its two copies or those
// through this memory.
constexpr std::int64_t most_together = std::int64_t{64} << 20;
// Tree schedules have many messages in flight.
constexpr std::int64_t largest_in_room = 4;
// Smaller messages MPI itself copies twice.
constexpr std::int64_t least = 16 * 1024;
// The receiver is notified after this many bytes. Measured from 16 KiB to 256 KiB.
constexpr std::int64_t piece = 32 * 1024;
// Bytes past the caches must have left the processor for each notification: first after this many, and again
// each time their number has doubled.
constexpr std::int64_t first_streamed = 16 * 1024;

/// The share of the node's free shared memory that each of `ranks` may use; most of it is left to other
/// programs.
std::int64_t affordable_room(int ranks, std::int64_t most) {
  constexpr std::int64_t others = 4;
  struct statvfs shared {};
  // Where Open MPI makes such memory.
  constexpr const char* directory = "/dev/shm";
  if (access(directory, W_OK) != 0 || statvfs(directory, &shared) != 0) return 0;
  const auto left = static_cast<std::int64_t>(shared.f_bavail) * static_cast<std::int64_t>(shared.f_frsize);
  return std::min(most, left / others / ranks / page * page);
}

void copy(std::byte* to, const std::byte* from, std::size_t size) { std::memcpy(to, from, size); }

/// Numbers in `communicator` of the ranks of `node`, in its order.
std::vector<Rank> ranks_of(MPI_Comm node, MPI_Comm communicator) {
  int size = 0;
  check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size");
  MPI_Group among = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(node, &among), "MPI_Comm_group");
  check_mpi(MPI_Comm_group(communicator, &all), "MPI_Comm_group");
  std::vector<Rank> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<Rank> ranks(numbers.size());
  check_mpi(MPI_Group_translate_ranks(among, size, numbers.data(), all, ranks.data()),
            "MPI_Group_translate_ranks");
  check_mpi(MPI_Group_free(&among), "MPI_Group_free");
  check_mpi(MPI_Group_free(&all), "MPI_Group_free");
  return ranks;
}

}  // namespace

NodeMemory::NodeMemory(MPI_Comm communicator, Bytes room) {
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  parts_.resize(static_cast<std::size_t>(size), nullptr);
  const MachineRanks machine(communicator);
  const MPI_Comm node = machine.communicator();
  const std::vector<Rank> ranks = ranks_of(node, communicator);
  // The same on all ranks, so that two ranks agree whether they can reach each other.
  const auto members = static_cast<std::int64_t>(ranks.size());
  room_ = affordable_room(static_cast<int>(members), room.count());
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &room_, 1, MPI_INT64_T, MPI_MIN, node), "MPI_Allreduce");
  const std::int64_t affordable = std::min(most_together / members, room_ / largest_in_room - page);
  if (members > 1 && affordable >= least) {
    largest_ = affordable;
    check_mpi(MPI_Win_allocate_shared(static_cast<MPI_Aint>(room_), 1, MPI_INFO_NULL, node, &own_, &window_),
              "MPI_Win_allocate_shared");
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      MPI_Aint bytes = 0;
      int unit = 0;
      std::byte*& part = parts_[static_cast<std::size_t>(ranks[i])];
      check_mpi(MPI_Win_shared_query(window_, static_cast<int>(i), &bytes, &unit, &part),
                "MPI_Win_shared_query");
    }
  }
}

NodeMemory::~NodeMemory() {
  // Freeing is collective: a rank that leaves by an exception must not wait for the others.
  if (window_ == MPI_WIN_NULL || std::uncaught_exceptions() > 0) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

std::int64_t NodeMemory::place_size(std::int64_t message) {
  return (static_cast<std::int64_t>(sizeof(Head)) + message + page - 1) / page * page;
}

bool NodeMemory::is_used(const Place& place) const {
  return head_of(own_ + place.begin).there.load(std::memory_order_acquire) != unused;
}

/// The smallest that is large enough, or a new one.
const NodeMemory::Place* NodeMemory::free_place(std::int64_t size) {
  const Place* best = nullptr;
  for (const Place& place : places_)
    if (place.size >= size && (best == nullptr || place.size < best->size) && !is_used(place)) best = &place;
  if (best != nullptr) return best;
  const auto end = [&] { return places_.empty() ? 0 : places_.back().begin + places_.back().size; };
  // Free places at the end are merged, so that they can be divided for messages of other sizes.
  while (end() + size > room_ && !places_.empty() && !is_used(places_.back())) places_.pop_back();
  if (end() + size > room_) return nullptr;
  const Place place{end(), size};
  new (own_ + place.begin) Head{unused};
  return &places_.emplace_back(place);
}

std::optional<std::int64_t> NodeMemory::reserve(std::int64_t size) {
  TANDEM_CHECK(size > 0, "bytes", size);
  if (size > largest_) return std::nullopt;
  const Place* const place = free_place(place_size(size));
  if (place == nullptr) return std::nullopt;
  head_of(own_ + place->begin).there.store(0, std::memory_order_release);
  return place->begin;
}

void NodeMemory::put(std::int64_t place, const std::byte* message, std::int64_t size, bool past_caches) {
  Head& head = head_of(own_ + place);
  std::byte* const begin = own_ + place + sizeof(Head);
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t bytes = std::min(past_caches ? std::max(first_streamed, done) : piece, size - done);
    (past_caches ? streamed_copy : copy)(begin + done, message + done, static_cast<std::size_t>(bytes));
    done += bytes;
    head.there.store(done, std::memory_order_release);
  }
}

void NodeMemory::take(Rank from, std::int64_t place, std::byte* message, std::int64_t size,
                      const std::function<void()>& pause) {
  TANDEM_CHECK(reaches(from) && place >= 0 && size > 0 && place + size <= room_, "from", from, "place", place,
               "bytes", size);
  std::byte* const part = parts_[static_cast<std::size_t>(from)];
  Head& head = head_of(part + place);
  const std::byte* const begin = part + place + sizeof(Head);
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t there = head.there.load(std::memory_order_acquire);
    if (there == done) {
      pause();
      continue;
    }
    std::memcpy(message + done, begin + done, static_cast<std::size_t>(there - done));
    done = there;
  }
  head.there.store(unused, std::memory_order_release);
}

}  // namespace tandem
