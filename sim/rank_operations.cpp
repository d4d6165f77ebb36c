#include "sim/rank_operations.hpp"

#include <algorithm>
#include <array>
#include <simgrid/kernel/Timer.hpp>

#include "policies/vocabulary/check.hpp"
#include "sim/crash_report.hpp"
#include "sim/rank_context.hpp"

namespace tandem::sim {

namespace {

const char* name_of(RankOperation::Kind kind) {
  constexpr std::array names{"compute", "send",  "receive", "all-reduce",
                             "read",    "write", "sleep",   "disconnect"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

void RankOperation::finish(bool succeeded) { owner->finish(number, succeeded); }

std::string RankOperation::describe() const {
  std::string on_channel = " on channel " + std::to_string(channel.stream);
  if (channel.bucket >= 0) on_channel += " of bucket " + std::to_string(channel.bucket);
  switch (kind) {
    case Kind::compute:
      return "a compute";
    case Kind::send:
      return "its send to rank " + std::to_string(peer) + on_channel;
    case Kind::receive:
      return "a message of rank " + std::to_string(peer) + on_channel;
    case Kind::all_reduce:
      return "the others of an all-reduce" + on_channel;
    case Kind::read:
      return "a read of disk " + std::to_string(disk);
    case Kind::write:
      return "a write to disk " + std::to_string(disk);
    case Kind::sleep:
      return "a sleep";
    case Kind::disconnect:
      return "rank " + std::to_string(peer) + " to discard messages";
  }
  return {};
}

RankOperation& RankOperations::make(Kind kind) {
  last_operation = {owner_.rank(), name_of(kind)};
  if (free_ == no_operation) {
    RankOperation& fresh = *all_.emplace_back(std::make_unique<RankOperation>());
    fresh.owner = &owner_;
    fresh.number = static_cast<std::uint32_t>(all_.size() - 1);
    ends_.push_back(End::open);
    end_dates_.push_back(0);
    free_ = fresh.number;
  }
  RankOperation& operation = *all_[free_];
  free_ = operation.next;
  operation.next = no_operation;
  operation.kind = kind;
  operation.state = State::pending;
  operation.outcome = Outcome::done;
  operation.note = {};
  operation.is_work = false;
  operation.is_timed = false;
  ends_[operation.number] = End::open;
  return operation;
}

RankOperation& RankOperations::make_sleep(Seconds duration) {
  TANDEM_CHECK(duration.count() >= 0, "duration", duration.count(), "rank", owner_.rank());
  RankOperation& operation = make(Kind::sleep);
  if (duration.count() <= precision_s_) return done_at_once(operation);
  end_on(operation, (owner_.now() + duration).count());
  return operation;
}

void RankOperations::end_on(RankOperation& operation, double date_s) {
  operation.is_timed = true;
  operation.amount = date_s;
  ends_[operation.number] = End::dated;
  end_dates_[operation.number] = date_s;
}

void RankOperations::start_timer(RankOperation& operation) {
  simgrid::kernel::timer::Timer::set(std::max(operation.amount, owner_.now().count()),
                                     [&operation, use = operation.uses] {
                                       if (operation.uses == use && operation.state == State::pending)
                                         operation.finish(true);
                                     });
}

void RankOperations::mark_ended(RankOperation& operation, State state) {
  const double now_s = owner_.now().count();
  operation.state = state;
  ends_[operation.number] = End::ended;
  end_dates_[operation.number] = now_s;
  if (done_count_++ == 0) first_end_s_ = now_s;
}

RankOperation& RankOperations::done_at_once(RankOperation& operation, Outcome outcome) {
  operation.outcome = outcome;
  mark_ended(operation, State::done);
  return operation;
}

void RankOperations::release(RankOperation& operation) {
  if (operation.state == State::done) --done_count_;
  ++operation.uses;
  operation.next = free_;
  free_ = operation.number;
}

bool RankOperations::is_done(std::uint32_t number) const {
  const RankOperation& operation = *all_[number];
  return operation.state != State::pending || operation.is_due(owner_.now().count(), precision_s_);
}

std::optional<std::size_t> RankOperations::first_ended(std::span<const Pending> pendings) const {
  if (done_count_ == 0) return std::nullopt;
  const double now_s = owner_.now().count();
  std::optional<std::size_t> first;
  double first_s = 0;
  std::size_t unseen = done_count_;
  for (std::size_t i = 0; i < pendings.size() && unseen > 0; ++i) {
    if (pendings[i].empty()) continue;
    const std::uint32_t number = pendings[i].number();
    if (ends_[number] == End::open) continue;
    double ended_s = end_dates_[number];
    if (ends_[number] == End::ended) {
      --unseen;
    } else {
      if (ended_s > now_s + precision_s_) continue;
      ended_s = now_s;
    }
    if (first && ended_s >= first_s - precision_s_) continue;
    first = i;
    first_s = ended_s;
    if (first_end_s_ >= first_s - precision_s_) break;
  }
  return first;
}

}  // namespace tandem::sim
