// The world's own all-reduce of the context on MPI: of host memory by MPI, of a device's memory by MPI
// through pinned memory, or by the devices.
#include <algorithm>
#include <cstring>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi_check.hpp"
#include "runtime/mpi_context.hpp"

namespace tandem {
namespace {

constexpr std::int64_t element = sizeof(float);
// Sums over a list of members must start in one order everywhere. All share a route: none waits long there.
constexpr DeviceCopies::Route sums_route{.to = -1, .tag = -1};

}  // namespace

/// Before something that waits for other ranks without letting messages go on: they may wait for these.
void MpiContext::let_leave() {
  for (time_->restart(); copies_.is_leaving();)
    if (!advance()) pause_until(std::nullopt, true);
}

MPI_Comm MpiContext::communicator_of(std::span<const Rank> members) {
  const auto [found, is_new] = communicators_.try_emplace({members.begin(), members.end()}, MPI_COMM_NULL);
  if (!is_new) return found->second;
  let_leave();
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(communicator_, &all), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group), "MPI_Group_incl");
  check_mpi(MPI_Comm_create_group(communicator_, group, 0, &found->second), "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(found->second, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Group_free(&group), "MPI_Group_free");
  check_mpi(MPI_Group_free(&all), "MPI_Group_free");
  return found->second;
}

std::vector<std::byte> MpiContext::summand_of(Slice vector) {
  std::vector<std::byte> bytes;
  if (!summands_.empty()) {
    bytes = std::move(summands_.back());
    summands_.pop_back();
  }
  bytes.resize(static_cast<std::size_t>(vector.size.count()));
  if (vector.data != nullptr) std::memcpy(bytes.data(), vector.data, bytes.size());
  return bytes;
}

Pending MpiContext::all_reduce(std::span<const Rank> members, Channel channel, Slice vector) {
  const std::int64_t size = vector.size.count();
  TANDEM_CHECK(std::ranges::count(members, rank_) == 1, "rank", rank_, "members", members.size());
  TANDEM_CHECK(size >= 0 && size % element == 0, "channel", channel.number, "bytes", size);
  if (members.size() == 1 || size == 0) return Pending(acquire(Slot::State::done));
  const MPI_Comm among = communicator_of(members);
  const bool of_device = device_.owns(vector.data);
  if (of_device && setting_.collective && setting_.collective->can(members)) {
    let_leave();
    const std::uint32_t sum = setting_.collective->start(members, among, vector.data, size);
    const auto number = acquire(Slot::State::summed);
    slots_[number].sum = sum;
    return Pending(number);
  }
  const auto number = acquire(Slot::State::messages);
  Slot& slot = slots_[number];
  if (of_device) {
    slot.slice = vector;
    slot.block = pinned_.take(2 * size);
    std::byte* const summand = slot.block.data();
    slot.landing = summand + size;
    slot.landed = size;
    copies_.out(summand, vector.data, size, sums_route,
                [=, this] { start_sum(number, among, summand, summand + size, size); });
    return Pending(number);
  }
  // Not in place: Open MPI 4.1 would send whole vectors up and down a tree then, whatever their size.
  slot.summand = summand_of(vector);
  const std::byte* const summand = slot.summand.data();
  std::byte* const sum = vector.data == nullptr ? scratch(vector.size) : vector.data;
  if (copies_.is_leaving(sums_route))
    copies_.behind(sums_route, [=, this] { start_sum(number, among, summand, sum, size); });
  else
    start_sum(number, among, summand, sum, size);
  return Pending(number);
}

void MpiContext::start_sum(std::uint32_t number, MPI_Comm among, const std::byte* summand, std::byte* sum,
                           std::int64_t size) {
  // MPI counts in ints.
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t begin = 0; begin < size; begin += most * element) {
    const std::int64_t count = std::min(most, (size - begin) / element);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(summand + begin, sum + begin, static_cast<int>(count), MPI_FLOAT, MPI_SUM, among,
                             &request),
              "MPI_Iallreduce");
    watch(number, request);
  }
}

}  // namespace tandem
