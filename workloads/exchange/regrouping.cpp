#include "workloads/exchange/regrouping.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

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
      has_state_(incarnation == 1 && self_ < std::ssize(roster.first_workers())),
      members_(has_state_ ? roster.first_workers().size() : 0),
      leader_(has_state_ ? 0 : -1),
      is_quiet_(!has_state_),
      slots_(workers_.size()),
      taken_(workers_.size()) {
  std::iota(members_.begin(), members_.end(), 0);
  listen();
  // The receive is posted now, so no note for an earlier occupant of the slot can be mistaken for one to
  // this worker.
  if (!has_state_) notify(protocol::Arrived{.incarnation = incarnation_});
}

void Regrouping::listen() {
  next_ = protocol::receive<"groups">(context_, steward_,
                                      {Bytes(std::ssize(slots_.bytes())), slots_.bytes().data()});
}

void Regrouping::on_message(const Note& note) {
  if (protocol::as<protocol::End>(note)) {
    has_ended_ = true;
    return;
  }
  if (const auto members = protocol::as<protocol::Members>(note)) {
    begin(*members);
    listen();
    return;
  }
  const auto change = protocol::unpack<protocol::Regroup>(note);
  note_receivers();
  listen();
  regroup(change);
}

void Regrouping::wait() {
  if (deferred_)
    take_up_change();
  else
    on_message(context_.wait(next_).note);
}

void Regrouping::regroup(protocol::Regroup change) {
  if (change.incarnation != incarnation_) return;
  if (fetch_ && change.has_source) {
    deferred_ = change;
    return;
  }
  deferred_.reset();
  finish_sends(change);
  become_quiet(change.view);
}

bool Regrouping::take_up_change() {
  if (fetch_ || !deferred_) return false;
  const std::int32_t view = deferred_->view;
  deferred_.reset();
  become_quiet(view);
  return true;
}

/// Waits for the sends to members that are still there. A newer change names those that have departed
/// meanwhile.
void Regrouping::finish_sends(protocol::Regroup& change) {
  const auto is_awaited = [](const Sent& sent) { return sent.is_to_member && !sent.part.empty(); };
  for (auto open = std::ranges::find_if(sends_, is_awaited); open != sends_.end();
       open = std::ranges::find_if(sends_, is_awaited)) {
    std::array<Pending, 2> awaited = {std::move(open->part), std::move(next_)};
    const Completion done = context_.wait_any(awaited);
    open->part = std::move(awaited[0]);
    next_ = std::move(awaited[1]);
    if (done.index == 0) continue;
    change = protocol::unpack<protocol::Regroup>(done.note);
    note_receivers();
    listen();
  }
}

/// After this, earlier and later messages cannot meet.
void Regrouping::become_quiet(std::int32_t view) {
  view_ = view;
  is_quiet_ = true;
  exchange_.end_view();
  std::vector<Pending> disconnecting = context_.disconnect_all(workers_);
  context_.wait_all(disconnecting);
  exchange_.give_up();
  wait_for_sends();
  if (fetch_) {
    context_.wait_all(fetch_->parts);
    fetch_.reset();
  }
  notify(protocol::Quiet{.view = view_,
                         .incarnation = incarnation_,
                         .round = has_state_ ? exchange_.finished_rounds() : -1,
                         .taken = exchange_.taken_samples()});
}

void Regrouping::begin(const protocol::Members& members) {
  // A newer change follows.
  if (members.incarnation != incarnation_ || members.view != view_ || !is_quiet_) return;
  members_.clear();
  leader_ = members.leader;
  std::vector<int> behind;
  for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
    const auto slot = static_cast<std::size_t>(worker);
    const protocol::Standing standing = slots_.standing(slot);
    taken_[slot] = standing == protocol::Standing::absent ? -1 : slots_.taken(slot);
    if (standing != protocol::Standing::absent) members_.push_back(worker);
    if (standing == protocol::Standing::behind) behind.push_back(worker);
  }
  is_quiet_ = false;
  exchange_.agree_on_view(members_, members.round, view_);
  const bool is_behind = slots_.standing(static_cast<std::size_t>(self_)) == protocol::Standing::behind;
  if (!is_behind) {
    if (members.source == self_) send_state(behind);
    return exchange_.begin_view();
  }
  fetch_.emplace();
  std::int64_t deals = 0;
  fetch_->state.number("deals", deals);
  exchange_.serialise_common(fetch_->state);
  source_ = rank_of(members.source);
  fetch_->parts[0] = protocol::receive<"states">(context_, source_, numbers_of(fetch_->state));
  fetch_->parts[2] = protocol::receive<"states">(context_, source_, floats_of(fetch_->state));
}

/// A copy, because this worker continues.
void Regrouping::send_state(std::span<const int> behind) {
  if (behind.empty()) return;
  sent_ = std::make_unique<TransferredState>();
  std::int64_t deals = exchange_.count_deals();
  sent_->number("deals", deals);
  exchange_.serialise_common(*sent_);
  sent_deals_ = exchange_.deals_as_numbers();
  for (const int worker : behind) {
    const Rank to = rank_of(worker);
    sends_.push_back({.to = worker, .part = protocol::send<"states">(context_, to, numbers_of(*sent_))});
    sends_.push_back(
        {.to = worker, .part = protocol::send<"deals">(context_, to, slice_of_deals(sent_deals_, deals))});
    sends_.push_back({.to = worker, .part = protocol::send<"states">(context_, to, floats_of(*sent_))});
  }
}

/// The slots of the view say which of them are still there.
void Regrouping::note_receivers() {
  for (Sent& sent : sends_)
    sent.is_to_member = slots_.standing(static_cast<std::size_t>(sent.to)) == protocol::Standing::current;
}

void Regrouping::wait_for_sends() {
  for (Sent& sent : sends_)
    if (!sent.part.empty()) context_.wait(sent.part);
  sends_.clear();
}

Slice Regrouping::numbers_of(TransferredState& state) const {
  return {Bytes(std::ssize(state.numbers())), state.numbers().data()};
}

/// Without the numbers, a message of their size.
Slice Regrouping::slice_of_deals(std::vector<std::int64_t>& deals, std::int64_t count) const {
  const Bytes size(count * static_cast<std::int64_t>(sizeof(std::int64_t)));
  return {size, deals.empty() ? nullptr : reinterpret_cast<std::byte*>(deals.data())};
}

/// The numbers say how many they are.
void Regrouping::receive_deals() {
  std::int64_t count = 0;
  fetch_->state.begin_restore();
  fetch_->state.number("deals", count);
  if (!exchange_.deals_as_numbers().empty()) fetch_->deals.resize(static_cast<std::size_t>(count));
  fetch_->parts[1] = protocol::receive<"deals">(context_, source_, slice_of_deals(fetch_->deals, count));
  fetch_->knows_deals = true;
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
    auto& parts = fetch_->parts;
    if (parts[0].empty() && !fetch_->knows_deals) receive_deals();
    const auto open = std::ranges::find_if(parts, [](const Pending& part) { return !part.empty(); });
    if (open != parts.end()) {
      std::array<Pending, 2> awaited = {std::move(*open), std::move(next_)};
      const Completion done = context_.wait_any(awaited);
      *open = std::move(awaited[0]);
      next_ = std::move(awaited[1]);
      if (done.index == 1) on_message(done.note);
    } else {
      std::int64_t count = 0;
      fetch_->state.begin_restore();
      fetch_->state.number("deals", count);
      exchange_.serialise_common(fetch_->state);
      exchange_.restore_deals(fetch_->deals);
      fetch_.reset();
      has_state_ = true;
      return true;
    }
  }
  return false;
}

void Regrouping::notify_finished() {
  if (finished_in_ == view_) return;
  finished_in_ = view_;
  notify(protocol::Finished{.view = view_, .incarnation = incarnation_});
}

void Regrouping::close() {
  wait_for_sends();
  if (!notice_.empty()) context_.wait(notice_);
}

/// The steward receives notes at any time.
void Regrouping::notify(const protocol::NoteOf<"groups">& note) {
  if (!notice_.empty()) context_.wait(notice_);
  notice_ = protocol::send<"groups">(context_, steward_, note);
}

}  // namespace tandem
