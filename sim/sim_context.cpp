#include "sim/sim_context.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "policies/vocabulary/check.hpp"

namespace tandem::sim {

namespace sg = simgrid::s4u;

Message* World::acquire() {
  if (free_messages.empty()) return &messages.emplace_back();
  Message* message = free_messages.back();
  free_messages.pop_back();
  return message;
}

void World::release(Message* message) {
  message->holds_bytes = false;
  message->arrived = false;
  message->slot = Message::unmatched;
  free_messages.push_back(message);
}

SimContext::SimContext(World& world, Rank rank, sg::Host* host)
    : world_(world),
      rank_(rank),
      host_(host),
      mailbox_(sg::Mailbox::by_name("rank " + std::to_string(rank))),
      device_cores_(host->get_property("device") != nullptr ? host->get_core_count() : 1) {}

std::uint32_t SimContext::acquire(Slot::State state) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  slots_[number].state = state;
  return number;
}

Pending SimContext::start(sg::ActivityPtr activity) {
  const std::uint32_t number = acquire(Slot::State::activity);
  slots_[number].activity = std::move(activity);
  return Pending(number);
}

Pending SimContext::compute(const Work& work, Kernel kernel) {
  if (kernel) kernel();
  const Seconds alone = world_.setting->price(rank_, work);
  if (alone <= Seconds(0.0)) return Pending(acquire(Slot::State::done));
  const double flops = alone.count() * host_->get_speed();  // of each core
  sg::ExecPtr exec = sg::this_actor::exec_init(flops);
  if (device_cores_ > 1) exec->set_thread_count(device_cores_);
  exec->start();
  return start(std::move(exec));
}

Pending SimContext::sleep(Seconds duration) {
  const std::uint32_t number = acquire(Slot::State::sleep);
  slots_[number].deadline = now() + duration;
  return Pending(number);
}

Pending SimContext::read(int disk, Bytes size, Kernel transfer) {
  return use_disk(disk, size, false, transfer);
}
Pending SimContext::write(int disk, Bytes size, Kernel transfer) {
  return use_disk(disk, size, true, transfer);
}

Pending SimContext::use_disk(int disk, Bytes size, bool write, const Kernel& transfer) {
  const auto disks = host_->get_disks();
  TANDEM_CHECK(disk >= 0 && static_cast<std::size_t>(disk) < disks.size(), "disk", disk, "of", disks.size());
  if (transfer) transfer();
  if (size.count() == 0) return Pending(acquire(Slot::State::done));
  sg::Disk* device = disks[static_cast<std::size_t>(disk)];
  const auto bytes = static_cast<sg_size_t>(size.count());
  return start(write ? device->write_async(bytes) : device->read_async(bytes));
}

SimContext::Stream& SimContext::stream(Rank from, std::int32_t channel) {
  return streams_[(static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) |
                  static_cast<std::uint32_t>(channel)];
}

void SimContext::deliver_bytes(Message& message, const Slice& from, Slot& slot) {
  TANDEM_CHECK(message.size <= slot.slice.size, "message of", message.size.count(), "bytes for a receive of",
               slot.slice.size.count());
  if (from.data != nullptr && slot.slice.data != nullptr)
    std::memcpy(slot.slice.data, from.data, static_cast<std::size_t>(message.size.count()));
}

/// The bytes are taken at once, so that the sender may reuse its memory whenever its own wait returns.
Pending SimContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  SimContext& receiver = *world_.contexts[static_cast<std::size_t>(to)];
  Message* message = world_.acquire();
  message->from = rank_;
  message->channel = channel.number;
  message->size = slice.size;
  if (channel.carries_note) message->note = note;
  Stream& stream = receiver.stream(rank_, channel.number);
  if (stream.posted.empty()) {
    if (slice.data != nullptr) {
      message->bytes.assign(slice.data, slice.data + slice.size.count());
      message->holds_bytes = true;
    }
    stream.unexpected.push_back(message);
  } else {
    message->slot = stream.posted.front();
    stream.posted.pop_front();
    receiver.deliver_bytes(*message, slice, receiver.slots_[message->slot]);
  }
  const Bytes wire = slice.size + (channel.carries_note ? note_bytes : Bytes(0));
  return start(receiver.mailbox_->put_async(message, static_cast<std::uint64_t>(wire.count())));
}

Pending SimContext::receive(Rank from, Channel channel, Slice slice) {
  const std::uint32_t number = acquire(Slot::State::receive);
  Slot& slot = slots_[number];
  slot.slice = slice;
  slot.from = from;
  slot.channel = channel.number;
  Stream& incoming = stream(from, channel.number);
  if (incoming.unexpected.empty()) {
    incoming.posted.push_back(number);
  } else {
    Message* message = incoming.unexpected.front();
    incoming.unexpected.pop_front();
    match(message, number);
  }
  return Pending(number);
}

void SimContext::match(Message* message, std::uint32_t number) {
  message->slot = number;
  std::byte* held = message->holds_bytes ? message->bytes.data() : nullptr;
  deliver_bytes(*message, {message->size, held}, slots_[number]);
  if (message->arrived) arrive(message);
}

void SimContext::arrive(Message* message) {
  message->arrived = true;
  if (message->slot == Message::unmatched) return;
  slots_[message->slot].note = message->note;
  slots_[message->slot].state = Slot::State::done;
  world_.release(message);
}

Message* SimContext::next_message() {
  if (!pending_get_) return mailbox_->get<Message>();
  pending_get_->wait();
  pending_get_.reset();
  return pending_message_;
}

/// Takes in what has arrived by now, without blocking.
void SimContext::drain() {
  if (pending_get_ && pending_get_->test()) {
    pending_get_.reset();
    arrive(pending_message_);
  }
  while (!pending_get_ && mailbox_->ready()) arrive(mailbox_->get<Message>());
}

bool SimContext::finished(Slot& slot) {
  switch (slot.state) {
    case Slot::State::done:
      return true;
    case Slot::State::sleep:
      return slot.deadline <= now();
    case Slot::State::activity:
      return slot.activity->test();
    case Slot::State::receive:
    case Slot::State::free:
      return false;
  }
  return false;
}

Completion SimContext::finish(Pending& pending, std::size_t index) {
  const std::uint32_t number = pending.release();
  Slot& slot = slots_[number];
  slot.activity.reset();
  slot.state = Slot::State::free;
  free_.push_back(number);
  return {.index = index, .note = slot.note};
}

Completion SimContext::wait(Pending& pending) {
  TANDEM_CHECK(!pending.empty(), "rank", rank_);
  Slot& slot = slots_[pending.slot()];
  switch (slot.state) {
    case Slot::State::activity:
      slot.activity->wait();
      break;
    case Slot::State::sleep:
      sg::this_actor::sleep_until(slot.deadline.count());
      break;
    case Slot::State::receive:
      waits_for_ = &slot;
      while (slot.state != Slot::State::done) arrive(next_message());
      break;
    case Slot::State::done:
      break;
    case Slot::State::free:
      TANDEM_CHECK(false, "slot", pending.slot(), "of rank", rank_);
  }
  return finish(pending, 0);
}

Completion SimContext::wait_any(std::span<Pending> pendings) {
  std::size_t index = 0;
  while (!try_any(pendings, index)) {
    block_on(pendings);
    drain();
  }
  return finish(pendings[index], index);
}

bool SimContext::try_any(std::span<Pending> pendings, std::size_t& index) {
  for (index = 0; index < pendings.size(); ++index)
    if (!pendings[index].empty() && finished(slots_[pendings[index].slot()])) return true;
  return false;
}

void SimContext::block_on(std::span<Pending> pendings) {
  bool receives = false;
  waiting_.clear();
  Seconds deadline(std::numeric_limits<double>::infinity());
  for (const Pending& pending : pendings) {
    if (pending.empty()) continue;
    const Slot& slot = slots_[pending.slot()];
    if (slot.state == Slot::State::receive) {
      waits_for_ = &slot;
      receives = true;
    }
    if (slot.state == Slot::State::activity) waiting_.push_back(slot.activity);
    if (slot.state == Slot::State::sleep) deadline = std::min(deadline, slot.deadline);
  }
  const bool sleeps = deadline.count() < std::numeric_limits<double>::infinity();
  TANDEM_CHECK(receives || sleeps || !waiting_.empty(), "wait for nothing by rank", rank_);
  if (waiting_.empty() && !sleeps) {
    arrive(next_message());
  } else {
    block_on_mixed(receives, deadline);
  }
}

void SimContext::block_on_mixed(bool receives, Seconds deadline) {
  if (receives) {
    if (!pending_get_) pending_get_ = mailbox_->get_async<Message>(&pending_message_);
    waiting_.push_back(pending_get_);
  }
  const bool sleeps = deadline.count() < std::numeric_limits<double>::infinity();
  if (waiting_.empty()) {
    sg::this_actor::sleep_until(deadline.count());
    return;
  }
  const double timeout = sleeps ? (deadline - now()).count() : -1.0;
  sg::Activity::wait_any_for(waiting_, timeout);
}

void SimContext::close() {
  if (!pending_get_) return;
  pending_get_->cancel();
  pending_get_.reset();
}

std::string SimContext::waits_for() const {
  if (waits_for_ == nullptr) return "nothing";
  return "a message from rank " + std::to_string(waits_for_->from) + " on channel " +
         std::to_string(waits_for_->channel);
}

}  // namespace tandem::sim
