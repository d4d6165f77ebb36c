#include "runtime/mpi/mpi_context.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "policies/vocabulary/caught_error.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"

namespace tandem {
namespace {

// Sums over a list of members must start in one order everywhere. All share a route: none waits long there.
constexpr Channel rendezvous{.stream = Channel::most_streams - 1};
constexpr DeviceCopies::Route sums_route{.to = -1, .tag = -1};

/// The contribution of a member to an all-reduce: the vector, or its part of an all-gather.
Slice own_part(Slice vector, const collectives::Element& element, std::ptrdiff_t self,
               std::ptrdiff_t members) {
  if (!element.is_gathered()) return vector;
  const std::int64_t part = vector.size.count() / members;
  return {Bytes(part), vector.data == nullptr ? nullptr : vector.data + self * part};
}

}  // namespace

/// The operations of a wait that have not ended.
struct MpiContext::Awaited {
  std::optional<Seconds> deadline = {};  ///< the first
  bool device_is_asked = false;
  bool has_transfer = false;
  std::uint64_t transfers_ended = 0;  ///< before the wait looked at any of them

  void add(const Operation& operation, Seconds now) {
    const bool is_running = operation.state == Operation::State::transfer &&
                            (now >= operation.deadline || !operation.transfer->has_ended);
    has_transfer |= is_running;
    if (operation.state == Operation::State::timed ||
        (operation.state == Operation::State::transfer && !is_running))
      deadline = std::min(deadline.value_or(operation.deadline), operation.deadline);
    device_is_asked |=
        operation.state == Operation::State::queued || operation.state == Operation::State::summed;
  }
};

MpiContext::MpiContext(MPI_Comm communicator, MpiSetting setting)
    : all_(communicator),
      setting_(std::move(setting)),
      device_(setting_.device == nullptr ? host_device() : *setting_.device),
      time_(host_time(all_.get(), setting_.patience)),
      staging_(device_, setting_.direct_messages),
      node_(setting_.node_memory, setting_.node_routes),
      transport_(all_.get(), operations_, node_, setting_.peer_messages.get(), staging_, *time_),
      communicators_(all_.get(), setting_.most_communicators),
      transfers_(
          make_transfers(setting_.parallel_transfers, setting_.by_read_ring && setting_.transfers_overlap)) {
  check_mpi(MPI_Barrier(all_.get()), "MPI_Barrier");
  start_ = time_->now();
}

MpiContext::~MpiContext() {
  // Operations that were never waited for may still use their memory.
  for (std::uint32_t number = 0; number < operations_.size(); ++number)
    if (operations_[number].state == Operation::State::messages) operations_[number].block.abandon();
}

void MpiContext::end_transfers() noexcept {
  if (setting_.collective && std::uncaught_exceptions() > 0) setting_.collective->abort();
  transfers_->wait_for_all();
}

Seconds MpiContext::now() const { return time_->now() - start_; }

Pending MpiContext::occupy(EmulatedUnit& unit, std::optional<Seconds> duration, const Kernel& kernel,
                           bool is_work) {
  const Seconds start = now();
  unit.begin(start);
  if (kernel) {
    kernel();
    // Messages make no progress during a kernel; without this call a long chain of kernels would stop all
    // transfers.
    advance();
  }
  if (!duration) return Pending(operations_.acquire_done(time_->now()));
  const Seconds deadline = unit.end(start, now(), *duration);
  const auto number = operations_.acquire(Operation::State::timed);
  operations_[number].deadline = start_ + deadline;
  operations_[number].is_work = is_work;
  operations_[number].is_slowed = &unit == &units_.device();
  return Pending(number);
}

EmulatedUnit& MpiContext::unit_of(const Work& work) {
  if (work.kind == Work::Kind::launch) return units_.launching();
  if (work.concurrent) return units_.concurrent_device();
  return setting_.emulates_second_queue && is_of_finished_bucket(work) ? units_.second_queue()
                                                                       : units_.device();
}

Pending MpiContext::compute(const Work& work, Kernel kernel) {
  const auto duration = setting_.emulated ? setting_.emulated(work) : std::nullopt;
  if (work.concurrent && is_stated_of_server(work)) {
    // Each of the server's threads is a unit of its own.
    EmulatedUnit thread;
    return occupy(thread, duration, kernel, /*is_work=*/true);
  }
  EmulatedUnit& unit = unit_of(work);
  if (!kernel || device_.is_host()) return occupy(unit, duration, kernel, /*is_work=*/true);
  if (!duration) return queue(work, kernel);
  // For the emulated device, a kernel ends when all work that it has queued has ended.
  const auto whole_kernel = [&] {
    kernel();
    device_.forget(device_.kernel_end());
    device_.finish();
  };
  return occupy(unit, duration, whole_kernel, /*is_work=*/true);
}

Pending MpiContext::queue(const Work& work, const Kernel& kernel) {
  std::optional<SecondQueue> second_queue;
  // A bucket is compressed, or received data is added to it, while the device still computes other buckets.
  if (work.concurrent || is_of_finished_bucket(work)) second_queue.emplace(device_);
  OwnedMark begin(device_, device_.mark());
  kernel();
  const bool is_said = device_.kernel_said_end();
  OwnedMark end(device_, device_.kernel_end());
  second_queue.reset();
  const auto own = std::make_shared<const Stretch>(Stretch{std::move(begin), std::move(end)});
  const auto number = operations_.acquire(Operation::State::queued);
  operations_[number].work = {own, is_said ? last_said_ : nullptr};
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
    // Otherwise a kernel that begins immediately after the end that it reported would seem to last no time.
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

Pending MpiContext::use_disk(int disk, const DiskAccess& access, Kernel transfer, bool write) {
  TANDEM_CHECK(access.size.count() >= 0 && access.requests >= 1, "size", access.size.count(), "requests",
               access.requests, "rank", rank());
  const Seconds now = time_->now();
  std::optional<Seconds> deadline;
  if (setting_.emulated_disk)
    deadline = setting_.emulated_disk(disk, access, write, units_.disk(disk).arrival(now));
  if (!transfer) {
    if (!deadline) return Pending(operations_.acquire_done(now));
    const auto number = operations_.acquire(Operation::State::timed);
    operations_[number].deadline = *deadline;
    return Pending(number);
  }
  std::shared_ptr<const Transfer> running;
  if (setting_.transfers_overlap) {
    running = transfers_->start(disk, std::move(transfer));
  } else {
    const auto done = std::make_shared<Transfer>();
    done->error = caught_error(transfer, [disk] { return failed_transfer(disk); });
    done->ended_at = now;
    done->has_ended = true;
    running = done;
  }
  const auto number = operations_.acquire(Operation::State::transfer);
  Operation& operation = operations_[number];
  operation.disk = disk;
  operation.deadline = deadline.value_or(Seconds(0));
  operation.transfer = std::move(running);
  return Pending(number);
}

Pending MpiContext::read(int disk, DiskAccess access, Kernel transfer) {
  return use_disk(disk, access, std::move(transfer), false);
}
Pending MpiContext::write(int disk, DiskAccess access, Kernel transfer) {
  return use_disk(disk, access, std::move(transfer), true);
}

Pending MpiContext::sleep(Seconds duration) {
  const auto number = operations_.acquire(Operation::State::timed);
  operations_[number].deadline = time_->now() + duration;
  operations_[number].is_sleep = true;
  return Pending(number);
}

// ---- Messages ----

Pending MpiContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  Pending pending = transport_.send(to, channel, slice, note);
  note_flight();
  return pending;
}

Pending MpiContext::receive(Rank from, Channel channel, Slice slice) {
  return transport_.receive(from, channel, slice);
}

void MpiContext::cancel_all(std::span<const Pending> pendings) {
  std::vector<std::uint32_t> messages;
  advance();
  for (const Pending& pending : pendings) {
    if (pending.empty()) continue;
    Operation& operation = operations_[pending.number()];
    if (time_of_end(operation, time_->now())) continue;
    if (operation.state == Operation::State::timed && operation.is_sleep) {
      operation.outcome = Outcome::cancelled;
      operation.end(time_->now());
    } else if (operation.state == Operation::State::messages &&
               operation.direction != Operation::Direction::none) {
      if (!setting_.can_cancel) throw WorldError("messages cannot be cancelled under SMPI");
      messages.push_back(pending.number());
    }
  }
  if (!messages.empty()) transport_.cancel(messages);
}

void MpiContext::stop_work() {
  const Seconds now = time_->now();
  for (std::uint32_t number = 0; number < operations_.size(); ++number) {
    Operation& operation = operations_[number];
    if (operation.state != Operation::State::timed || !operation.is_work || now >= operation.deadline)
      continue;
    operation.outcome = Outcome::cancelled;
    operation.end(now);
  }
  units_.stop_devices(now - start_);
}

Pending MpiContext::disconnect(Rank peer) {
  if (!setting_.can_cancel) throw WorldError("ranks cannot disconnect under SMPI");
  send_staged_messages();
  return transport_.disconnect(peer);
}

void MpiContext::announce_departure() {
  if (!setting_.can_cancel) throw WorldError("ranks cannot announce their departure under SMPI");
  send_staged_messages();
  transport_.announce_departure();
}

// ---- All-reduce ----

/// Sends the messages that wait for a copy out of the device, and the receipts for those that this rank
/// copies from other GPUs. Needed before a call that waits for other ranks without progressing messages,
/// because those ranks may be waiting for them.
void MpiContext::send_staged_messages() {
  const auto others_wait = [this] {
    return setting_.peer_messages ? !staging_.copies().idle() : staging_.copies().is_leaving();
  };
  for (time_->restart(); others_wait();)
    if (!advance()) pause_until({.device_is_asked = true});
}

/// Returns when all members have called it. Unlike in MPI's own calls, messages progress meanwhile, because a
/// member may wait for the payload of an envelope before it calls this function.
void MpiContext::meet(std::span<const Rank> members) {
  const Rank host = members.front();
  std::vector<Pending> words;
  const auto each_guest = [&](auto&& exchange) {
    for (const Rank member : members)
      if (member != host) words.push_back(exchange(member));
    wait_all(words);
    words.clear();
  };
  if (rank() == host) {
    each_guest([&](Rank guest) { return receive(guest, rendezvous, {}); });
    each_guest([&](Rank guest) { return send(guest, rendezvous, {}, {}); });
  } else {
    words.push_back(send(host, rendezvous, {}, {}));
    words.push_back(receive(host, rendezvous, {}));
    wait_all(words);
  }
}

Pending MpiContext::all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                               const collectives::Element& element) {
  const std::int64_t size = vector.size.count();
  const auto self = std::ranges::find(members, rank()) - members.begin();
  const std::int64_t unit = element.is_gathered() ? std::ssize(members) : element.bytes;
  TANDEM_CHECK(std::ranges::count(members, rank()) == 1, "rank", rank(), "members", members.size());
  TANDEM_CHECK(size >= 0 && size % unit == 0, "channel", channel.number(), "bytes", size);
  if (members.size() == 1 || size == 0) return Pending(operations_.acquire_done(time_->now()));
  const Communicators::Members met = communicators_.of(members, [&] {
    meet(members);
    send_staged_messages();
  });
  const MPI_Comm among = met.communicator;
  const bool of_device = device_.owns(vector.data);
  if (of_device && met.is_kept && setting_.collective && setting_.collective->can(members)) {
    send_staged_messages();
    if (const auto sum = setting_.collective->start(members, among, vector.data, size, element)) {
      const auto number = operations_.acquire(Operation::State::summed);
      operations_[number].sum = *sum;
      return Pending(number);
    }
  }
  const auto number = operations_.acquire(Operation::State::messages);
  Operation& operation = operations_[number];
  operation.is_all_reduce = true;
  note_flight();
  if (!met.is_kept) operation.own_communicator = among;
  const auto vector_size = static_cast<std::size_t>(size);
  if (of_device) {
    const Slice own = own_part(vector, element, self, std::ssize(members));
    operation.slice = vector;
    operation.block = staging_.take(size);
    operation.landing = operation.block.data();
    operation.landed = size;
    staging_.copies().out(operation.landing + (own.data - vector.data), own.data, own.size.count(),
                          sums_route, [=, this, sum = operation.landing] {
                            start_sum(number, among, {sum, vector_size}, element);
                          });
    return Pending(number);
  }
  std::byte* const sum = vector.data == nullptr ? transport_.scratch(vector.size) : vector.data;
  if (staging_.copies().is_leaving(sums_route))
    staging_.copies().behind(sums_route, [=, this] {
      start_sum(number, among, {sum, vector_size}, element);
    });
  else
    start_sum(number, among, {sum, vector_size}, element);
  return Pending(number);
}

void MpiContext::start_sum(std::uint32_t number, MPI_Comm among, std::span<std::byte> vector,
                           const collectives::Element& element) {
  sums_.start(among, vector, element, [&](MPI_Request request) { transport_.watch(number, request); });
}

// ---- Progress ----

/// Lets MPI work and takes note of all messages and copies that have ended. True if there was one.
bool MpiContext::advance() {
  const bool messages_ended = transport_.advance();
  const bool copies_ended = staging_.copies().advance();
  note_flight();
  return messages_ended || copies_ended;
}

/// The emulated device becomes slower when the first message sets out, and as fast as before when the last
/// one has arrived.
void MpiContext::note_flight() {
  if (setting_.overlap_slowdown == 1.0) return;
  const double factor = operations_.has_messages_in_flight() ? setting_.overlap_slowdown : 1.0;
  EmulatedUnit& device = units_.device();
  if (factor == device.slowdown()) return;
  const Seconds now = time_->now();
  operations_.stretch_work(now, factor / device.slowdown());
  device.set_slowdown(now - start_, factor);
}

void MpiContext::watch_copies(std::function<void(const DeviceCopy&)> watcher) {
  staging_.watch(std::move(watcher), [this] { return now(); });
}

/// Control messages are rare, and a look for them may yield the core. By time, because looks of a rank that
/// sleeps in between, or that waits for a core, are far apart; and another rank may wait for the answer.
bool MpiContext::take_control_now_and_then() {
  if (!setting_.can_cancel) return false;
  constexpr Seconds interval{1e-3};
  const Seconds now = time_->now();
  if (now < next_control_) return false;
  next_control_ = now + interval;
  return transport_.take_control();
}

// ---- Waiting ----

bool MpiContext::is_done(const Pending& pending) {
  advance();
  transfers_->ended();
  if (time_of_end(operations_[pending.number()], time_->now())) return true;
  take_control_now_and_then();
  return false;
}

/// When the operation ended, by the clock of the host; nullopt: it has not. `now` is the time of this look,
/// which counts as the end of work of the device and of its sums.
std::optional<Seconds> MpiContext::time_of_end(Operation& operation, Seconds now) const {
  const auto noticed = [&](bool has_ended) -> std::optional<Seconds> {
    if (!has_ended) return std::nullopt;
    operation.end(now);
    return now;
  };
  switch (operation.state) {
    case Operation::State::done:
      return operation.ended;
    case Operation::State::timed:
      return now >= operation.deadline ? std::optional(operation.deadline) : std::nullopt;
    case Operation::State::transfer:
      if (!operation.transfer->has_ended.load(std::memory_order_acquire) || now < operation.deadline)
        return std::nullopt;
      return std::max(operation.transfer->ended_at, operation.deadline);
    case Operation::State::queued:
      return noticed(operation.work.own->end.is_reached());
    case Operation::State::summed:
      return noticed(setting_.collective->has_ended(operation.sum));
    case Operation::State::free:
    case Operation::State::messages:
      break;
  }
  return std::nullopt;
}

Completion MpiContext::finish(Pending& pending, std::size_t index) {
  const auto number = pending.release();
  Operation& operation = operations_[number];
  Completion completion{.index = index, .note = operation.note, .outcome = operation.outcome};
  if (operation.work.own) {
    completion.device_time = device_time(operation.work);
    operation.work = {};
  }
  // All members call this, at different times; in Open MPI, no member waits for another.
  if (operation.own_communicator != MPI_COMM_NULL)
    check_mpi(MPI_Comm_free(&operation.own_communicator), "MPI_Comm_free");
  std::exception_ptr error;
  if (operation.transfer) {
    if (setting_.emulated_disk)
      units_.disk(operation.disk).end(operation.deadline, operation.transfer->ended_at);
    error = operation.transfer->error;
  }
  operations_.release(number);
  if (error) std::rethrow_exception(error);
  return completion;
}

void MpiContext::pause_until(const Awaited& awaited) {
  auto deadline = awaited.deadline;
  if (deadline) deadline = *deadline - time_->now();
  const bool nothing_to_poll =
      !transport_.has_requests() && staging_.copies().idle() && !awaited.device_is_asked;
  if (nothing_to_poll && awaited.has_transfer) {
    // Control messages are looked for meanwhile.
    constexpr Seconds longest{1e-3};
    return transfers_->wait_for_end(awaited.transfers_ended, std::min(deadline.value_or(longest), longest));
  }
  // Otherwise a call of MPI follows, which yields the core where ranks share it.
  if (!transport_.has_requests() && !nothing_to_poll) std::this_thread::yield();
  time_->pause(deadline, nothing_to_poll);
}

void MpiContext::meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(all_.get(), &request), "MPI_Ibarrier");
  const auto number = operations_.acquire(Operation::State::messages);
  transport_.watch(number, request);
  Pending pending(number);
  wait(pending);
}

Completion MpiContext::wait(Pending& pending) { return wait_any(std::span(&pending, 1)); }

Completion MpiContext::wait_any(std::span<Pending> pendings) {
  TANDEM_CHECK(std::ranges::any_of(pendings, [](const Pending& pending) { return !pending.empty(); }), "of",
               pendings.size());
  try {
    return wait_for_any(pendings);
  } catch (...) {
    // The caller may end, and what transfers use with it.
    transfers_->wait_for_all();
    throw;
  }
}

Completion MpiContext::wait_for_any(std::span<Pending> pendings) {
  for (time_->restart();;) {
    const bool moved = advance();
    Awaited awaited{.transfers_ended = transfers_->ended()};
    const Seconds now = time_->now();
    std::optional<std::size_t> first;
    Seconds first_end;
    for (std::size_t i = 0; i < pendings.size(); ++i) {
      if (pendings[i].empty()) continue;
      Operation& operation = operations_[pendings[i].number()];
      const auto end = time_of_end(operation, now);
      if (!end) awaited.add(operation, now);
      if (!end || (first && *end >= first_end)) continue;
      first = i;
      first_end = *end;
    }
    if (first) return finish(pendings[*first], *first);
    if (moved || take_control_now_and_then())
      time_->restart();
    else
      pause_until(awaited);
  }
}

}  // namespace tandem
