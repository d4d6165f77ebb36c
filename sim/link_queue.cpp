#include "sim/link_queue.hpp"

#include <algorithm>
#include <utility>

#include "sim/simgrid_internals.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

constexpr std::uint64_t chunks_in_queue = 4;
constexpr std::uint64_t queues_in_message = 16;

}  // namespace

LinkQueue::LinkQueue(Network& network, const Network::Narrowing& narrowing, std::function<void(bool)> arrived)
    : network_(network),
      narrowing_(narrowing),
      arrived_(std::move(arrived)),
      largest_(std::max<std::uint64_t>(1, narrowing.room / chunks_in_queue)),
      largest_message_(queues_in_message * narrowing.room) {}

void LinkQueue::set_terms(const Network::Terms& terms) {
  terms_ = terms;
  terms_.limit = 0;  // that of the narrowest link
  terms_.penalty = narrowing_.penalty;
}

void LinkQueue::add(std::uint64_t size, double additional_latency_s) {
  unsent_.push_back(size);
  start_chunk(additional_latency_s);
}

void LinkQueue::take(std::uint64_t bytes) {
  size_ -= std::min(bytes, size_);
  start_chunk(0);
}

void LinkQueue::drop(std::uint64_t bytes) {
  const auto drop_of = [&bytes](std::uint64_t& part) {
    const std::uint64_t here = std::min(bytes, part);
    part -= here;
    bytes -= here;
  };
  drop_of(size_);
  std::uint64_t chunk = on_the_way_ - lost_;
  drop_of(chunk);
  lost_ = on_the_way_ - chunk;
  if (!unsent_.empty()) drop_of(unsent_.front());
  start_chunk(0);
}

/// A chunk belongs to one message, so that the end of a message does not wait for the beginning of the next.
void LinkQueue::start_chunk(double latency_s) {
  while (!unsent_.empty() && unsent_.front() == 0) unsent_.pop_front();
  if (on_the_way_ > 0 || unsent_.empty()) return;
  const std::uint64_t chunk = std::min(unsent_.front(), largest_);
  if (size_ > 0 && size_ + chunk > narrowing_.room) return;
  unsent_.front() -= chunk;
  on_the_way_ = chunk;
  if (!comm_) {
    comm_ = s4u::Comm::sendto_init();
    take_off_list(*comm_);
    comm_->set_data(static_cast<Finishable*>(this));
    comm_->set_payload_size(0);
    comm_->set_source(narrowing_.before.first)->set_destination(narrowing_.before.second);
  }
  Network::Terms terms = terms_;
  terms.latency_s = latency_s;
  network_.prepare(terms, 0);
  comm_->set_state(s4u::Activity::State::STARTING);
  comm_->set_payload_size(chunk);
  comm_->start();
  // If a link is down, the activity ends immediately and SimGrid does not report it.
  if (comm_->get_remaining() == 0) return finish(false);
  network_.started(timer_);
}

void LinkQueue::finish(bool succeeded) {
  if (timer_ != nullptr) timer_->remove();
  timer_ = nullptr;
  const std::uint64_t chunk = std::exchange(on_the_way_, 0) - std::exchange(lost_, 0);
  std::swap(comm_, other_comm_);
  size_ += chunk;
  if (succeeded) start_chunk(0);
  arrived_(succeeded);
}

}  // namespace tandem::sim
