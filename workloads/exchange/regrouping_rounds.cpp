#include "workloads/exchange/regrouping_rounds.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/coordinator_client.hpp"

namespace tandem {

RegroupingRounds::RegroupingRounds(const Roster& roster, const DataPlan& data, const StopRule& stop,
                                   Context& context, Replica& replica, int incarnation)
    : context_(context),
      replica_(replica),
      workers_(roster.workers()),
      self_(roster.assignment(context.rank()).index),
      regrouping_(roster, context, *this, replica.common_size(), replica.has_values(), incarnation),
      stop_(stop),
      applied_(workers_.size(), 0),
      before_(workers_.size(), 0),
      dealt_(workers_.size(), 0),
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
  return {.result = result, .rounds = rounds_, .samples = counted()[static_cast<std::size_t>(self_)]};
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
      regrouping_.tell_finished();
    }
    regrouping_.wait();
  }
  regrouping_.close();
}

/// This worker has the state of the round that others have finished.
ExchangeResult RegroupingRounds::fetched() {
  is_open_ = false;
  deals_.settle(regrouping_.members(), regrouping_.taken(), counted());
  // Others may have dealt before.
  if (hooks_.dealt) hooks_.dealt(deals_);
  hooks_.on_members(members_event(), false);
  finish_fetched();
  ExchangeResult result = state_of_job();
  result.is_fetched = true;
  result.bytes_received = replica_.common_size().count();
  return result;
}

void RegroupingRounds::end_epoch() {
  if (hooks_.ends) hooks_.ends();
}

void RegroupingRounds::agree_on_epoch(std::span<const int> members, std::int64_t round, std::int32_t epoch) {
  if (hooks_.begins) hooks_.begins(members, round, epoch);
}

std::optional<Completion> RegroupingRounds::wait_or_regroup(Pending& until) {
  TANDEM_CHECK(!is_open_, "an exchange is in progress; rounds", rounds_);
  // The end of an epoch may take away what the caller waits for.
  if (!regrouping_.take_up_change()) {
    std::array<Pending, 2> awaited = {std::move(until), std::move(regrouping_.next())};
    const Completion done = context_.wait_any(awaited);
    until = std::move(awaited[0]);
    regrouping_.next() = std::move(awaited[1]);
    if (done.index == 0) return done;
    regrouping_.hear(done.note);
  }
  while (regrouping_.is_quiet() && !regrouping_.is_fetching()) regrouping_.wait();
  return std::nullopt;
}

void RegroupingRounds::begin_epoch() {
  const bool is_dealt = deals_.settle(regrouping_.members(), regrouping_.taken(), counted());
  if (is_dealt && hooks_.dealt) hooks_.dealt(deals_);
  const bool decides_again = is_open_ && !averages_all_;
  const auto again = hooks_.on_members(members_event(), decides_again);
  if (!is_open_) return;
  TANDEM_CHECK(again.has_value() == decides_again, "an exchange was not decided again; rounds", rounds_);
  if (again) decided_ = *again;
  restore();
  start();
}

/// In files: a job that is resumed begins there.
void RegroupingRounds::serialise(StateArchive& state) {
  serialise_counters(state);
  if (!state.restores() || continues_)
    for (std::size_t slot = 0; slot < before_.size(); ++slot)
      state.number("exchange.before." + std::to_string(slot), before_[slot]);
  if (!state.restores()) return;
  if (!continues_) before_ = applied_;
  // That was the end of the job before.
  stops_ = 0;
  if (CoordinatorClient* const client = coordinator()) client->begin_round(version_);
}

void RegroupingRounds::serialise_counters(StateArchive& state) {
  state.number("exchange.rounds", rounds_);
  state.number("exchange.version", version_);
  state.number("exchange.stops", stops_);
  for (std::size_t slot = 0; slot < applied_.size(); ++slot)
    state.number("exchange.samples." + std::to_string(slot), applied_[slot]);
  for (std::size_t slot = 0; slot < dealt_.size(); ++slot)
    state.number("exchange.dealt." + std::to_string(slot), dealt_[slot]);
}

void RegroupingRounds::serialise_common(StateArchive& state) {
  serialise_counters(state);
  for (std::int64_t& samples : before_) state.number("exchange.samples_before", samples);
  state.number("exchange.averaged", is_averaged_);
  auto counts = deals_.counts();
  state.number("deals.present", counts.present);
  state.number("deals.places", counts.places);
  state.number("deals.closed_numbers", counts.closed_numbers);
  if (state.restores() && !knows_samples_) deals_.restore(counts);
  if (hooks_.serialise) hooks_.serialise(state);
  replica_.serialise_common(state);
}

std::vector<std::int64_t> RegroupingRounds::deals_as_numbers() const {
  return knows_samples_ ? deals_.to_numbers(counted()) : std::vector<std::int64_t>();
}

void RegroupingRounds::restore_deals(std::span<const std::int64_t> numbers) {
  if (knows_samples_) deals_.restore(numbers);
}

sampling::Deals RegroupingRounds::changed_deals() const {
  return knows_samples_ && deals_.has_changed() ? deals_.all(counted()) : sampling::Deals();
}

void RegroupingRounds::await_members() {
  while (regrouping_.is_quiet() && !regrouping_.is_fetching()) regrouping_.wait();
}

/// By slot: samples that count since the job has dealt them.
std::vector<std::int64_t> RegroupingRounds::counted() const {
  std::vector<std::int64_t> counted(applied_.size());
  std::ranges::transform(applied_, dealt_, counted.begin(), std::minus());
  return counted;
}

std::vector<std::int64_t> RegroupingRounds::applied_samples() const {
  std::vector<std::int64_t> applied(applied_.size());
  std::ranges::transform(applied_, before_, applied.begin(), std::minus());
  return applied;
}

void RegroupingRounds::count_round(std::span<const std::int64_t> samples, int version,
                                   std::optional<bool> stops) {
  ++rounds_;
  version_ = version;
  for (const int member : regrouping_.members())
    applied_[static_cast<std::size_t>(member)] += samples[static_cast<std::size_t>(member)];
  const Progress progress = progress_of_job();
  stops_ = stops.value_or(stop_.is_reached(progress)) ? 1 : 0;
  if (!stops && regrouping_.leads()) stop_.report(progress);
}

sync::Members RegroupingRounds::members_event() const {
  const auto members = regrouping_.members();
  return {.round = static_cast<int>(rounds_), .workers = {members.begin(), members.end()}};
}

Progress RegroupingRounds::progress_of_job() const {
  return {.rounds = rounds_,
          .samples = std::accumulate(applied_.begin(), applied_.end(), std::int64_t{0}),
          .now = Seconds(0.0)};
}

ExchangeResult RegroupingRounds::state_of_job() const {
  return {.version = version_, .stop = stops_ != 0, .rounds = rounds_, .samples = progress_of_job().samples};
}

}  // namespace tandem
