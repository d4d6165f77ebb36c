#include "runtime/mpi/mpi_context.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/wire.hpp"

namespace tandem {
namespace {

MPI_Comm duplicate(MPI_Comm communicator) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

/// What it works on is there when it is started, since somebody has waited for it.
bool is_of_finished_bucket(const Work& work) {
  return work.bucket >= 0 && (work.kind == Work::Kind::reduce || work.kind == Work::Kind::compress ||
                              work.kind == Work::Kind::decompress);
}

}  // namespace

MpiContext::MpiContext(MPI_Comm communicator, MpiSetting setting)
    : communicator_(duplicate(communicator)),
      setting_(std::move(setting)),
      device_(setting_.device == nullptr ? host_device() : *setting_.device),
      time_(host_time(communicator_)),
      pinned_(device_),
      copies_(device_) {
  check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
  check_mpi(MPI_Barrier(communicator_), "MPI_Barrier");
  start_ = time_->now();
}

MpiContext::~MpiContext() {
  // Where a rank leaves what it has started, nobody knows when MPI and the device are through with it.
  for (Slot& slot : slots_)
    if (slot.state == Slot::State::messages) slot.block.abandon();
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

void MpiContext::end(Slot& slot) {
  slot.state = Slot::State::done;
  slot.landing = nullptr;
  slot.block = {};
}

void MpiContext::watch(std::uint32_t slot, MPI_Request request) {
  ++slots_[slot].open_messages;
  requests_.push_back(request);
  owners_.push_back(slot);
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
  return late_devices_ + late_disks + (is_late(emulated_device_) ? 1 : 0) +
         (is_late(concurrent_device_) ? 1 : 0);
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
  const auto duration = setting_.emulated ? setting_.emulated(work) : std::nullopt;
  Unit& unit = work.concurrent ? concurrent_device_ : emulated_device_;
  if (!kernel || device_.is_host()) return occupy(unit, duration, kernel);
  if (!duration) return queue(work, kernel);
  // The emulated device is the one that is timed: for it a kernel ends when all that it queued has.
  return occupy(unit, duration, [&] {
    kernel();
    device_.forget(device_.kernel_end());
    device_.finish();
  });
}

Pending MpiContext::queue(const Work& work, const Kernel& kernel) {
  std::optional<SecondQueue> beside;
  // A bucket is compressed, and what has come for it added, while the device still computes other buckets.
  if (work.concurrent || is_of_finished_bucket(work)) beside.emplace(device_);
  OwnedMark begin(device_, device_.mark());
  kernel();
  const bool is_said = device_.kernel_said_end();
  OwnedMark end(device_, device_.kernel_end());
  beside.reset();
  const auto own = std::make_shared<const Stretch>(Stretch{std::move(begin), std::move(end)});
  const auto number = acquire(Slot::State::queued);
  slots_[number].work = {own, is_said ? last_said_ : nullptr};
  if (is_said) last_said_ = own;
  advance();
  return Pending(number);
}

/// Work begins in the queue where its kernel began, behind all work before. What an earlier kernel has queued
/// for it ends before that: then it began behind the piece before it, or where the kernel of that piece
/// began, whatever else was queued between them.
Seconds MpiContext::device_time(const QueuedWork& work) {
  std::optional<Seconds> shortest;
  const auto consider = [&](const OwnedMark& from) {
    if (!from.is_reached()) return;
    const Seconds time = work.own->end.since(from);
    // A kernel that begins right behind the end of what it said would seem to have taken no time.
    const bool is_behind = time < Seconds(0) || (time == Seconds(0) && work.before);
    if (!is_behind) shortest = std::min(shortest.value_or(time), time);
  };
  consider(work.own->begin);
  if (work.before) {
    consider(work.before->end);
    consider(work.before->begin);
  }
  return shortest.value_or(Seconds(0));
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

// ---- Progress ----

/// Lets MPI work and takes note of all messages and copies that have ended. True if there was one.
bool MpiContext::advance() {
  const bool messages_ended = test_messages();
  const bool copies_ended = copies_.advance();
  return messages_ended || copies_ended;
}

void MpiContext::watch_copies(std::function<void(const DeviceCopy&)> watcher) {
  if (!watcher) return copies_.watch({});
  copies_.watch([this, watcher = std::move(watcher)](auto copy) { watcher(timed(std::move(copy))); });
}

/// One way a device copies one after the other, whatever a better estimate of its clock may say.
MpiContext::DeviceCopy MpiContext::timed(DeviceCopies::Ended copy) {
  Seconds& until = copied_until_[copy.out ? 1 : 0];
  const Seconds duration = copy.end.since(copy.begin);
  const Seconds end = std::max(device_clock_.time_of(std::move(copy.end), now()), until);
  const Seconds start = std::max(end - duration, until);
  until = end;
  return {copy.out, copy.bytes, start, end};
}

bool MpiContext::test_messages() {
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

  for (int i = 0; i < count; ++i) {
    Slot& slot = slots_[owners_[static_cast<std::size_t>(ended_[static_cast<std::size_t>(i)])]];
    if (slot.landing != nullptr && slot.landed == unknown_size)
      slot.landed = size_of(statuses_[static_cast<std::size_t>(i)]);
  }
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

bool MpiContext::is_done(const Pending& pending) {
  advance();
  Slot& slot = slots_[pending.slot()];
  if (!is_done(slot)) return false;
  // A sum that has ended is forgotten by whom it was asked of.
  if (slot.state == Slot::State::summed) slot.state = Slot::State::done;
  return true;
}

bool MpiContext::is_done(const Slot& slot) const {
  switch (slot.state) {
    case Slot::State::done:
      return true;
    case Slot::State::timed:
      return now() >= slot.deadline;
    case Slot::State::queued:
      return slot.work.own->end.is_reached();
    case Slot::State::summed:
      return setting_.collective->has_ended(slot.sum);
    case Slot::State::free:
    case Slot::State::messages:
      break;
  }
  return false;
}

Completion MpiContext::finish(Pending& pending, std::size_t index) {
  const auto number = pending.release();
  Slot& slot = slots_[number];
  Completion completion{.index = index, .note = slot.note};
  if (slot.state == Slot::State::queued) {
    completion.device_time = device_time(slot.work);
    slot.work = {};
  }
  // All members come here, each in its own time; Open MPI lets none wait for another.
  if (slot.own_communicator != MPI_COMM_NULL)
    check_mpi(MPI_Comm_free(&slot.own_communicator), "MPI_Comm_free");
  slot.state = Slot::State::free;
  slot.note = Note{};
  if (!slot.summand.empty()) summands_.push_back(std::move(slot.summand));
  free_.push_back(number);
  return completion;
}

void MpiContext::pause_until(std::optional<Seconds> deadline, bool device_is_asked) {
  if (deadline) deadline = *deadline - now();
  const bool only_deadline = requests_.empty() && copies_.idle() && !device_is_asked;
  // Otherwise MPI is asked, which gives the core away where ranks share it.
  if (requests_.empty() && !only_deadline) std::this_thread::yield();
  time_->pause(deadline, only_deadline);
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
    bool device_is_asked = false;
    for (std::size_t i = 0; i < pendings.size(); ++i) {
      if (pendings[i].empty()) continue;
      const Slot& slot = slots_[pendings[i].slot()];
      if (is_done(slot)) return finish(pendings[i], i);
      if (slot.state == Slot::State::timed)
        deadline = std::min(deadline.value_or(slot.deadline), slot.deadline);
      device_is_asked |= slot.state == Slot::State::queued || slot.state == Slot::State::summed;
    }
    if (moved)
      time_->restart();
    else
      pause_until(deadline, device_is_asked);
  }
}

}  // namespace tandem
