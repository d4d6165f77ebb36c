#include "runtime/mpi_context.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi_check.hpp"
#include "runtime/wire.hpp"

namespace tandem {
namespace {

/// What precedes the payload on a channel that carries notes.
struct Envelope {
  Note note;
  std::int64_t size;
};

// Up to here a copy costs less than a second message.
constexpr std::int64_t packed_limit = 16 * 1024;
constexpr std::size_t staging_size = sizeof(Envelope) + packed_limit;

// Two tags a channel, since a large payload follows its envelope as a message of its own.
int tag_of(Channel channel) { return 2 * channel.number; }
int payload_tag_of(Channel channel) { return 2 * channel.number + 1; }

MPI_Comm duplicate(MPI_Comm communicator) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

}  // namespace

MpiContext::MpiContext(MPI_Comm communicator, MpiSetting setting)
    : communicator_(duplicate(communicator)), setting_(std::move(setting)), time_(host_time(communicator_)) {
  check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
  check_mpi(MPI_Barrier(communicator_), "MPI_Barrier");
  start_ = time_->now();
}

MpiContext::~MpiContext() {
  // Freeing is collective: a rank that leaves by an exception must not wait for the others.
  if (std::uncaught_exceptions() > 0) return;
  for (auto& [members, communicator] : communicators_) MPI_Comm_free(&communicator);
  MPI_Comm_free(&communicator_);
}

Seconds MpiContext::now() const { return time_->now() - start_; }

std::uint32_t MpiContext::acquire(Slot::State state) {
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  slots_[number].state = state;
  return number;
}

void MpiContext::watch(std::uint32_t slot, MPI_Request request) {
  ++slots_[slot].open_messages;
  requests_.push_back(request);
  owners_.push_back(slot);
}

std::byte* MpiContext::staging_of(Slot& slot) {
  if (!slot.staging) slot.staging = std::make_unique<std::byte[]>(staging_size);
  return slot.staging.get();
}

std::byte* MpiContext::scratch(Bytes size) {
  const auto needed = static_cast<std::size_t>(size.count());
  if (scratch_.empty() || scratch_.back().size() < needed)
    scratch_.emplace_back(scratch_.empty() ? needed : std::max(needed, 2 * scratch_.back().size()));
  return scratch_.back().data();
}

// Below this the overrun disappears in the noise of timers.
constexpr Seconds lateness_that_counts(1e-3);

bool MpiContext::is_late(const Unit& unit) { return unit.behind > lateness_that_counts; }

std::int64_t MpiContext::late_devices() const {
  const auto late_disks =
      std::count_if(disks_.begin(), disks_.end(), [](const auto& disk) { return is_late(disk.second); });
  return late_devices_ + late_disks + (is_late(device_) ? 1 : 0);
}

Pending MpiContext::occupy(Unit& unit, std::optional<Seconds> duration, const Kernel& kernel) {
  const Seconds start = now();
  if (start > unit.free_at + lateness_that_counts) {
    if (is_late(unit)) ++late_devices_;
    unit.behind = Seconds(0);
  }
  if (kernel) {
    kernel();
    // The kernel kept the rank from its messages; without this a long chain of kernels would stop all
    // transfers.
    advance();
  }
  if (!duration) return Pending(acquire(Slot::State::done));
  const Seconds end = now();
  const Seconds due = std::max(start, unit.free_at) - unit.behind + *duration;
  unit.behind = std::max(Seconds(0), end - due);
  unit.free_at = std::max(end, due);
  const auto number = acquire(Slot::State::timed);
  slots_[number].deadline = unit.free_at;
  return Pending(number);
}

Pending MpiContext::compute(const Work& work, Kernel kernel) {
  return occupy(device_, setting_.emulated ? setting_.emulated(work) : std::nullopt, kernel);
}

Pending MpiContext::use_disk(int disk, Bytes size, const Kernel& transfer, bool write) {
  const auto duration = setting_.emulated_disk ? setting_.emulated_disk(disk, size, write) : std::nullopt;
  return occupy(disks_[disk], duration, transfer);
}

Pending MpiContext::read(int disk, Bytes size, Kernel transfer) {
  return use_disk(disk, size, transfer, false);
}
Pending MpiContext::write(int disk, Bytes size, Kernel transfer) {
  return use_disk(disk, size, transfer, true);
}

Pending MpiContext::sleep(Seconds duration) {
  const auto number = acquire(Slot::State::timed);
  slots_[number].deadline = now() + duration;
  return Pending(number);
}

// ---- Messages ----

Pending MpiContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  TANDEM_CHECK(to >= 0 && to < size_ && channel.number >= 0 && slice.size >= Bytes(0), "to", to, "channel",
               channel.number, "bytes", slice.size.count());
  if (slice.data == nullptr) slice.data = scratch(slice.size);
  const auto number = acquire(Slot::State::messages);
  if (channel.carries_note)
    send_with_note(number, to, tag_of(channel), slice, note);
  else
    watch(number, start_send(communicator_, to, tag_of(channel), slice.data, slice.size.count()));
  return Pending(number);
}

void MpiContext::send_with_note(std::uint32_t number, Rank to, int tag, Slice slice, const Note& note) {
  std::byte* staging = staging_of(slots_[number]);
  const Envelope envelope{note, slice.size.count()};
  std::memcpy(staging, &envelope, sizeof(envelope));
  const bool packed = envelope.size <= packed_limit;
  if (packed) std::copy_n(slice.data, envelope.size, staging + sizeof(envelope));
  const auto first = static_cast<std::int64_t>(sizeof(envelope)) + (packed ? envelope.size : 0);
  watch(number, start_send(communicator_, to, tag, staging, first));
  if (!packed) watch(number, start_send(communicator_, to, tag + 1, slice.data, envelope.size));
}

Pending MpiContext::receive(Rank from, Channel channel, Slice slice) {
  TANDEM_CHECK(from >= 0 && from < size_ && channel.number >= 0 && slice.size >= Bytes(0), "from", from,
               "channel", channel.number, "bytes", slice.size.count());
  if (slice.data == nullptr) slice.data = scratch(slice.size);
  const auto number = acquire(Slot::State::messages);
  if (!channel.carries_note) {
    watch(number, start_receive(communicator_, from, tag_of(channel), slice.data, slice.size.count()));
    return Pending(number);
  }
  Slot& slot = slots_[number];
  const auto key = static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(channel.number);
  slot.stream = &streams_[key];
  slot.stream->unresolved.push_back(number);
  slot.peer = from;
  slot.payload_tag = payload_tag_of(channel);
  slot.slice = slice;
  const auto most = static_cast<std::int64_t>(sizeof(Envelope)) + std::min(packed_limit, slice.size.count());
  watch(number, start_receive(communicator_, from, tag_of(channel), staging_of(slot), most));
  return Pending(number);
}

// ---- All-reduce ----

MPI_Comm MpiContext::communicator_of(std::span<const Rank> members) {
  const auto [found, is_new] = communicators_.try_emplace({members.begin(), members.end()}, MPI_COMM_NULL);
  if (!is_new) return found->second;
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
  constexpr std::int64_t element = sizeof(float);
  TANDEM_CHECK(std::ranges::count(members, rank_) == 1, "rank", rank_, "members", members.size());
  TANDEM_CHECK(vector.size >= Bytes(0) && vector.size.count() % element == 0, "channel", channel.number,
               "bytes", vector.size.count());
  if (members.size() == 1 || vector.size == Bytes(0)) return Pending(acquire(Slot::State::done));
  const MPI_Comm among = communicator_of(members);
  // Not in place: Open MPI 4.1 would send whole vectors up and down a tree then, whatever their size.
  std::vector<std::byte> summand = summand_of(vector);
  std::byte* const sum = vector.data == nullptr ? scratch(vector.size) : vector.data;
  const auto number = acquire(Slot::State::messages);
  // MPI counts in ints.
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t begin = 0; begin < vector.size.count(); begin += most * element) {
    const std::int64_t count = std::min(most, (vector.size.count() - begin) / element);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(summand.data() + begin, sum + begin, static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                             among, &request),
              "MPI_Iallreduce");
    watch(number, request);
  }
  slots_[number].summand = std::move(summand);
  return Pending(number);
}

void MpiContext::message_ended(std::uint32_t number) {
  Slot& slot = slots_[number];
  --slot.open_messages;
  if (slot.stream == nullptr) {
    if (slot.open_messages == 0) slot.state = Slot::State::done;
    return;
  }
  // Envelopes match in order but may end out of order; payloads must be asked for in order.
  slot.has_envelope = true;
  auto& unresolved = slot.stream->unresolved;
  while (!unresolved.empty() && slots_[unresolved.front()].has_envelope) {
    resolve(unresolved.front());
    unresolved.erase(unresolved.begin());
  }
}

void MpiContext::resolve(std::uint32_t number) {
  Slot& slot = slots_[number];
  slot.stream = nullptr;
  slot.has_envelope = false;
  Envelope envelope;
  std::memcpy(&envelope, slot.staging.get(), sizeof(envelope));
  slot.note = envelope.note;
  if (envelope.size > slot.slice.size.count())
    throw WorldError("a message of " + std::to_string(envelope.size) + " bytes came from rank " +
                     std::to_string(slot.peer) + " where at most " + std::to_string(slot.slice.size.count()) +
                     " were expected");
  if (envelope.size > packed_limit) {
    watch(number, start_receive(communicator_, slot.peer, slot.payload_tag, slot.slice.data, envelope.size));
    return;
  }
  std::copy_n(slot.staging.get() + sizeof(envelope), envelope.size, slot.slice.data);
  slot.state = Slot::State::done;
}

/// Lets MPI work and takes note of every message that has ended. True if there was one.
bool MpiContext::advance() {
  if (requests_.empty()) return false;
  if (ended_.size() < requests_.size()) {
    ended_.resize(2 * requests_.size());
    statuses_.resize(ended_.size());
  }
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, ended_.data(),
                                statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i) check_mpi(statuses_[static_cast<std::size_t>(i)].MPI_ERROR, "message");
  check_mpi(code, "MPI_Testsome");
  if (count == 0 || count == MPI_UNDEFINED) return false;

  ended_owners_.clear();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) {
      ended_owners_.push_back(owners_[i]);
      continue;
    }
    requests_[kept] = requests_[i];
    owners_[kept] = owners_[i];
    ++kept;
  }
  requests_.resize(kept);
  owners_.resize(kept);
  for (const auto number : ended_owners_) message_ended(number);
  return true;
}

// ---- Waiting ----

bool MpiContext::is_done(const Slot& slot) const {
  return slot.state == Slot::State::done || (slot.state == Slot::State::timed && now() >= slot.deadline);
}

Completion MpiContext::finish(Pending& pending, std::size_t index) {
  const auto number = pending.release();
  Slot& slot = slots_[number];
  const Completion completion{index, slot.note};
  slot.state = Slot::State::free;
  slot.note = Note{};
  if (!slot.summand.empty()) summands_.push_back(std::move(slot.summand));
  free_.push_back(number);
  return completion;
}

void MpiContext::pause_until(std::optional<Seconds> deadline) {
  if (deadline) deadline = *deadline - now();
  time_->pause(deadline, requests_.empty());
}

void MpiContext::meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(communicator_, &request), "MPI_Ibarrier");
  const auto number = acquire(Slot::State::messages);
  watch(number, request);
  Pending pending(number);
  wait(pending);
}

Completion MpiContext::wait(Pending& pending) { return wait_any(std::span(&pending, 1)); }

Completion MpiContext::wait_any(std::span<Pending> pendings) {
  TANDEM_CHECK(std::ranges::any_of(pendings, [](const Pending& pending) { return !pending.empty(); }), "of",
               pendings.size());
  for (time_->restart();;) {
    const bool moved = advance();
    std::optional<Seconds> deadline;
    for (std::size_t i = 0; i < pendings.size(); ++i) {
      if (pendings[i].empty()) continue;
      const Slot& slot = slots_[pendings[i].slot()];
      if (is_done(slot)) return finish(pendings[i], i);
      if (slot.state == Slot::State::timed)
        deadline = std::min(deadline.value_or(slot.deadline), slot.deadline);
    }
    if (moved)
      time_->restart();
    else
      pause_until(deadline);
  }
}

}  // namespace tandem
