// The world's own all-reduce of the context on MPI: of host memory by MPI, of a device's memory by MPI
// through pinned memory, or by the devices.
#include <algorithm>
#include <cstring>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/mpi_context.hpp"

namespace tandem {
namespace {

constexpr std::int64_t element = sizeof(float);
// Sums over a list of members must start in one order everywhere. All share a route: none waits long there.
constexpr Channel rendezvous{.stream = Channel::most_streams - 1};
constexpr DeviceCopies::Route sums_route{.to = -1, .tag = -1};

}  // namespace

/// Before something that waits for other ranks without letting messages go on: they may wait for these.
void MpiContext::let_leave() {
  for (time_->restart(); copies_.is_leaving();)
    if (!advance()) pause_until(std::nullopt, true);
}

/// It can be given up by all members together only: who sums over ever new lists keeps some, and who keeps
/// them all is agreed on by those who meet anyway.
MpiContext::Members MpiContext::communicator_of(std::span<const Rank> members) {
  const std::vector<Rank> list(members.begin(), members.end());
  if (const auto found = communicators_.find(list); found != communicators_.end()) return {found->second};
  const Members made = make_communicator(members);
  if (made.is_kept) communicators_.emplace(list, made.communicator);
  return made;
}

/// Returns when all of them are here, and lets messages go on until then: in MPI's own calls nobody asks for
/// the payload of an envelope, for which its sender may wait before it comes here, or serves one who does.
void MpiContext::meet(std::span<const Rank> members) {
  const Rank host = members.front();
  std::vector<Pending> words;
  const auto each_guest = [&](auto&& exchange) {
    for (const Rank member : members)
      if (member != host) words.push_back(exchange(member));
    wait_all(words);
    words.clear();
  };
  if (rank_ == host) {
    each_guest([&](Rank guest) { return receive(guest, rendezvous, {}); });
    each_guest([&](Rank guest) { return send(guest, rendezvous, {}, {}); });
  } else {
    words.push_back(send(host, rendezvous, {}, {}));
    words.push_back(receive(host, rendezvous, {}));
    wait_all(words);
  }
}

MpiContext::Members MpiContext::make_communicator(std::span<const Rank> members) {
  meet(members);
  let_leave();
  Members made;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(communicator_, &all), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group), "MPI_Group_incl");
  check_mpi(MPI_Comm_create_group(communicator_, group, 0, &made.communicator), "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(made.communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Group_free(&group), "MPI_Group_free");
  check_mpi(MPI_Group_free(&all), "MPI_Group_free");
  int have_room = communicators_.size() < setting_.most_communicators ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &have_room, 1, MPI_INT, MPI_MIN, made.communicator), "MPI_Allreduce");
  made.is_kept = have_room == 1;
  return made;
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
  TANDEM_CHECK(size >= 0 && size % element == 0, "channel", channel.number(), "bytes", size);
  if (members.size() == 1 || size == 0) return Pending(acquire(Slot::State::done));
  const Members met = communicator_of(members);
  const MPI_Comm among = met.communicator;
  const bool of_device = device_.owns(vector.data);
  if (of_device && met.is_kept && setting_.collective && setting_.collective->can(members)) {
    let_leave();
    if (const auto sum = setting_.collective->start(members, among, vector.data, size)) {
      const auto number = acquire(Slot::State::summed);
      slots_[number].sum = *sum;
      return Pending(number);
    }
  }
  const auto number = acquire(Slot::State::messages);
  Slot& slot = slots_[number];
  if (!met.is_kept) slot.own_communicator = among;
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
