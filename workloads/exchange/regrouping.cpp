#include "workloads/exchange/regrouping.hpp"

#include <array>
#include <numeric>

#include "policies/vocabulary/check.hpp"

namespace tandem {

Regrouping::Regrouping(const Roster& roster, Context& context, RegroupingExchange& exchange, Bytes state_size,
                       bool has_values, int incarnation)
    : context_(context),
      exchange_(exchange),
      workers_(roster.workers()),
      self_(roster.assignment(context.rank()).index),
      steward_(*roster.steward()),
      state_size_(state_size),
      has_values_(has_values),
      incarnation_(incarnation),
      has_state_(incarnation == 1),
      members_(has_state_ ? workers_.size() : 0),
      leader_(has_state_ ? 0 : -1),
      is_quiet_(!has_state_),
      standings_(workers_.size()) {
  std::iota(members_.begin(), members_.end(), 0);
  next_ = context_.receive(steward_, protocol::groups, {Bytes(std::ssize(standings_)), standings_.data()});
  // From now on no note can reach an earlier occupant of the slot.
  if (!has_state_) tell(protocol::pack(protocol::Arrived{.incarnation = incarnation_}));
}

void Regrouping::hear(const Note& note) {
  if (protocol::holds<protocol::End>(note)) {
    has_ended_ = true;
    return;
  }
  if (protocol::holds<protocol::Members>(note))
    begin(protocol::unpack<protocol::Members>(note));
  else
    regroup(protocol::unpack<protocol::Regroup>(note));
  next_ = context_.receive(steward_, protocol::groups, {Bytes(std::ssize(standings_)), standings_.data()});
}

void Regrouping::wait() { hear(context_.wait(next_).note); }

/// After this, nothing that was sent before can meet what is sent later.
void Regrouping::regroup(const protocol::Regroup& change) {
  if (change.incarnation != incarnation_) return;
  epoch_ = change.epoch;
  is_quiet_ = true;
  exchange_.end_epoch();
  std::vector<Pending> disconnecting = context_.disconnect_all(workers_);
  context_.wait_all(disconnecting);
  exchange_.give_up();
  context_.wait_all(sends_);
  sends_.clear();
  if (fetch_) {
    std::array<Pending, 2> parts = {std::move(fetch_->numbers), std::move(fetch_->floats)};
    context_.wait_all(parts);
    fetch_.reset();
  }
  tell(protocol::pack(protocol::Quiet{
      .epoch = epoch_, .incarnation = incarnation_, .round = has_state_ ? exchange_.finished_rounds() : -1}));
}

void Regrouping::begin(const protocol::Members& members) {
  // A newer change follows.
  if (members.incarnation != incarnation_ || members.epoch != epoch_ || !is_quiet_) return;
  members_.clear();
  leader_ = members.leader;
  std::vector<int> behind;
  for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
    const auto standing = static_cast<protocol::Standing>(standings_[static_cast<std::size_t>(worker)]);
    if (standing != protocol::Standing::absent) members_.push_back(worker);
    if (standing == protocol::Standing::behind) behind.push_back(worker);
  }
  is_quiet_ = false;
  exchange_.agree_on_epoch(members_, members.round);
  const bool is_behind =
      standings_[static_cast<std::size_t>(self_)] == static_cast<std::byte>(protocol::Standing::behind);
  if (!is_behind) {
    if (members.source == self_) send_state(behind);
    return exchange_.begin_epoch();
  }
  fetch_.emplace();
  exchange_.serialise_common(fetch_->state);
  const Rank source = rank_of(members.source);
  fetch_->numbers = context_.receive(source, protocol::states, numbers_of(fetch_->state));
  fetch_->floats = context_.receive(source, protocol::states, floats_of(fetch_->state));
}

/// A copy, because this worker continues.
void Regrouping::send_state(std::span<const int> behind) {
  if (behind.empty()) return;
  sent_ = std::make_unique<TransferredState>();
  exchange_.serialise_common(*sent_);
  for (const int worker : behind) {
    sends_.push_back(context_.send(rank_of(worker), protocol::states, numbers_of(*sent_)));
    sends_.push_back(context_.send(rank_of(worker), protocol::states, floats_of(*sent_)));
  }
}

Slice Regrouping::numbers_of(TransferredState& state) const {
  return {Bytes(std::ssize(state.numbers())), state.numbers().data()};
}

Slice Regrouping::floats_of(TransferredState& state) const {
  if (!has_values_) return {state_size_, nullptr};
  const std::span<float> floats = state.floats();
  TANDEM_CHECK(Bytes(static_cast<std::int64_t>(floats.size_bytes())) == state_size_, "state",
               floats.size_bytes(), "expected", state_size_.count());
  return {state_size_, reinterpret_cast<std::byte*>(floats.data())};
}

bool Regrouping::finish_fetch() {
  while (is_fetching()) {
    const bool has_numbers = fetch_->numbers.empty();
    std::array<Pending, 2> awaited = {std::move(has_numbers ? fetch_->floats : fetch_->numbers),
                                      std::move(next_)};
    const Completion done = context_.wait_any(awaited);
    (has_numbers ? fetch_->floats : fetch_->numbers) = std::move(awaited[0]);
    next_ = std::move(awaited[1]);
    if (done.index == 1) {
      hear(done.note);
    } else if (has_numbers) {
      fetch_->state.begin_restore();
      exchange_.serialise_common(fetch_->state);
      fetch_.reset();
      has_state_ = true;
      return true;
    }
  }
  return false;
}

void Regrouping::tell_finished() {
  if (finished_in_ == epoch_) return;
  finished_in_ = epoch_;
  tell(protocol::pack(protocol::Finished{.epoch = epoch_, .incarnation = incarnation_}));
}

void Regrouping::close() {
  context_.wait_all(sends_);
  if (!told_.empty()) context_.wait(told_);
}

/// The steward receives notes at any time.
void Regrouping::tell(const Note& note) {
  if (!told_.empty()) context_.wait(told_);
  told_ = context_.send(steward_, protocol::groups, {}, note);
}

}  // namespace tandem
