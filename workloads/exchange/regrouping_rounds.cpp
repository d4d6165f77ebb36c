#include "workloads/exchange/regrouping_rounds.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/coordinator_client.hpp"

namespace tandem {

RegroupingRounds::RegroupingRounds(const Roster& roster, const DataPlan& data, const StopRule& stop,
                                   const recovery::WorkerScaling& scaling, Context& context, Replica& replica,
                                   CompressedPayload* messages, int incarnation)
    : context_(context),
      replica_(replica),
      workers_(roster.workers()),
      self_(roster.assignment(context.rank()).index),
      rounds_(workers_.size()),
      scaling_(scaling),
      messages_(messages),
      regrouping_(roster, context, *this, common_size(), replica.has_values(), incarnation),
      stop_(stop),
      knows_samples_(data.knows_samples()),
      deals_(workers_.size(), roster.first_workers().size(), data.deals().before(),
             {.knows_samples = data.knows_samples(), .deals_again = data.deals().are_repeated()}) {}

void RegroupingRounds::open(const sync::Exchange& exchange) {
  is_open_ = true;
  decided_ = exchange;
  if (!is_quiet()) start();
}

ExchangeResult RegroupingRounds::finish() {
  while (true) {
    if (regrouping_.is_fetching()) {
      if (regrouping_.finish_fetch()) return fetched();
    } else if (regrouping_.is_quiet()) {
      regrouping_.wait();
    } else if (!progress()) {
      is_open_ = false;
      return complete();
    }
  }
}

Arrival RegroupingRounds::join(int) {
  while (!regrouping_.is_fetching() || !regrouping_.finish_fetch()) regrouping_.wait();
  const ExchangeResult result = fetched();
  return {.result = result,
          .rounds = rounds_.rounds(),
          .samples = rounds_.since_dealt()[static_cast<std::size_t>(self_)]};
}

void RegroupingRounds::end(const std::function<void()>& last_duties) {
  bool is_done = false;
  while (!regrouping_.has_ended()) {
    if (regrouping_.is_fetching()) {
      regrouping_.finish_fetch();
      continue;
    }
    if (!regrouping_.is_quiet()) {
      if (regrouping_.leads() && !std::exchange(is_done, true)) last_duties();
      regrouping_.notify_finished();
    }
    regrouping_.wait();
  }
  regrouping_.close();
}

/// This worker has the state of the round that others have finished.
ExchangeResult RegroupingRounds::fetched() {
  is_open_ = false;
  deals_.settle(regrouping_.members(), regrouping_.taken(), rounds_.since_dealt());
  // Others may have dealt before.
  if (hooks_.dealt) hooks_.dealt(deals_);
  hooks_.on_members(members_event(), false);
  finish_fetched();
  ExchangeResult result = state_of_job();
  result.is_fetched = true;
  result.bytes_received = common_size().count();
  return result;
}

void RegroupingRounds::end_view() {
  if (hooks_.ends) hooks_.ends();
}

void RegroupingRounds::agree_on_view(std::span<const int> members, std::int64_t round, std::int32_t view) {
  if (hooks_.begins) hooks_.begins(members, round, view);
}

std::optional<Completion> RegroupingRounds::wait_or_regroup(Pending& until) {
  TANDEM_CHECK(!is_open_, "an exchange is in progress; rounds", rounds_.rounds());
  // The end of a view may cancel the operation for which the caller waits.
  if (!regrouping_.take_up_change()) {
    std::array<Pending, 2> awaited = {std::move(until), std::move(regrouping_.next())};
    const Completion done = context_.wait_any(awaited);
    until = std::move(awaited[0]);
    regrouping_.next() = std::move(awaited[1]);
    if (done.index == 0) return done;
    regrouping_.on_message(done.note);
  }
  while (regrouping_.is_quiet() && !regrouping_.is_fetching()) regrouping_.wait();
  return std::nullopt;
}

void RegroupingRounds::begin_view() {
  const bool is_dealt = deals_.settle(regrouping_.members(), regrouping_.taken(), rounds_.since_dealt());
  if (is_dealt && hooks_.dealt) hooks_.dealt(deals_);
  const bool decides_again = is_open_ && !averages_all_;
  const auto again = hooks_.on_members(members_event(), decides_again);
  if (!is_open_) return;
  TANDEM_CHECK(again.has_value() == decides_again, "an exchange was not decided again; rounds",
               rounds_.rounds());
  if (again) decided_ = *again;
  restore();
  start();
}

/// In files: a job that is resumed begins there.
void RegroupingRounds::serialise(StateArchive& state) {
  rounds_.serialise(state);
  if (messages_ != nullptr) messages_->serialise(state);
  if (!state.restores() || stop_.has_time()) {
    double elapsed = since_begin().count();
    state.number("elapsed_s", elapsed);
    if (state.restores()) ran_before_ = Seconds(elapsed);
  }
  if (CoordinatorClient* const client = coordinator(); client != nullptr && state.restores())
    client->begin_round(rounds_.version());
}

void RegroupingRounds::serialise_common(StateArchive& state) {
  rounds_.serialise_common(state);
  if (stop_.has_time()) {
    double ran_before = ran_before_.count();
    state.number("exchange.ran_before", ran_before);
    ran_before_ = Seconds(ran_before);
  }
  auto counts = deals_.counts();
  state.number("deals.present", counts.present);
  state.number("deals.places", counts.places);
  state.number("deals.closed_numbers", counts.closed_numbers);
  if (state.restores() && !knows_samples_) deals_.restore(counts);
  if (hooks_.serialise) hooks_.serialise(state);
  replica_.serialise_common(state);
  if (messages_ != nullptr) messages_->serialise_common(state);
}

std::vector<std::int64_t> RegroupingRounds::deals_as_numbers() const {
  return knows_samples_ ? deals_.to_numbers(rounds_.since_dealt()) : std::vector<std::int64_t>();
}

void RegroupingRounds::restore_deals(std::span<const std::int64_t> numbers) {
  if (knows_samples_) deals_.restore(numbers);
}

sampling::Deals RegroupingRounds::changed_deals() const {
  return knows_samples_ && deals_.has_changed() ? deals_.all(rounds_.since_dealt()) : sampling::Deals();
}

void RegroupingRounds::await_members() {
  while (regrouping_.is_quiet() && !regrouping_.is_fetching()) regrouping_.wait();
}

void RegroupingRounds::count_round(std::span<const std::int64_t> samples, int version,
                                   std::optional<bool> stops) {
  rounds_.count(regrouping_.members(), samples, version);
  const Progress progress = rounds_.progress();
  rounds_.set_stops(stops.value_or(stop_.is_reached(progress)));
  if (!stops && regrouping_.leads())
    stop_.report({.rounds = progress.rounds, .samples = progress.samples, .now = since_begin()});
}

sync::Members RegroupingRounds::members_event() const {
  const auto members = regrouping_.members();
  return {.round = static_cast<int>(rounds_.rounds()), .workers = {members.begin(), members.end()}};
}

/// The size of the floats of the state that workers have in common.
Bytes RegroupingRounds::common_size() const {
  return replica_.common_size() + (messages_ == nullptr ? Bytes(0) : messages_->common_size());
}

ExchangeResult RegroupingRounds::state_of_job() const {
  const auto members = regrouping_.members();
  const auto place = static_cast<std::size_t>(std::ranges::find(members, self_) - members.begin());
  ExchangeResult state = rounds_.state_of_job();
  state.batch = scaling_.batch_of(place, static_cast<int>(members.size()));
  return state;
}

}  // namespace tandem
