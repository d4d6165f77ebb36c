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
                                   const recovery::WorkerScaling& scaling, Context& context, Replica& replica,
                                   CompressedPayload* messages, int incarnation)
    : context_(context),
      replica_(replica),
      workers_(roster.workers()),
      self_(roster.assignment(context.rank()).index),
      scaling_(scaling),
      messages_(messages),
      regrouping_(roster, context, *this, common_size(), replica.has_values(), incarnation),
      stop_(stop),
      samples_in_model_{.applied = std::vector<std::int64_t>(workers_.size()),
                        .before = std::vector<std::int64_t>(workers_.size()),
                        .dealt = std::vector<std::int64_t>(workers_.size())},
      knows_samples_(data.knows_samples()),
      deals_(workers_.size(), roster.first_workers().size(), data.deals_before(),
             {.knows_samples = data.knows_samples(), .deals_again = data.deals_again()}) {}

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
  result.bytes_received = common_size().count();
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
  const bool decides_again = is_open_ && !mean_.has_begun;
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
  if (messages_ != nullptr) messages_->serialise(state);
  if (!state.restores() || stop_.has_time()) {
    double elapsed = since_begin().count();
    state.number("elapsed_s", elapsed);
    if (state.restores()) ran_before_ = Seconds(elapsed);
  }
  if (!state.restores() || continues_)
    for (std::size_t slot = 0; slot < samples_in_model_.before.size(); ++slot)
      state.number("exchange.before." + std::to_string(slot), samples_in_model_.before[slot]);
  if (!state.restores()) return;
  if (!continues_) samples_in_model_.before = samples_in_model_.applied;
  // That was the end of the job before.
  stops_ = 0;
  if (CoordinatorClient* const client = coordinator()) client->begin_round(version_);
}

void RegroupingRounds::serialise_counters(StateArchive& state) {
  state.number("exchange.rounds", rounds_);
  state.number("exchange.version", version_);
  state.number("exchange.stops", stops_);
  for (std::size_t slot = 0; slot < samples_in_model_.applied.size(); ++slot)
    state.number("exchange.samples." + std::to_string(slot), samples_in_model_.applied[slot]);
  for (std::size_t slot = 0; slot < samples_in_model_.dealt.size(); ++slot)
    state.number("exchange.dealt." + std::to_string(slot), samples_in_model_.dealt[slot]);
}

void RegroupingRounds::serialise_common(StateArchive& state) {
  serialise_counters(state);
  for (std::int64_t& samples : samples_in_model_.before) state.number("exchange.samples_before", samples);
  state.number("exchange.averaged", mean_.is_done);
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
  std::vector<std::int64_t> counted(samples_in_model_.applied.size());
  std::ranges::transform(samples_in_model_.applied, samples_in_model_.dealt, counted.begin(), std::minus());
  return counted;
}

std::vector<std::int64_t> RegroupingRounds::applied_samples() const {
  std::vector<std::int64_t> applied(samples_in_model_.applied.size());
  std::ranges::transform(samples_in_model_.applied, samples_in_model_.before, applied.begin(), std::minus());
  return applied;
}

void RegroupingRounds::count_round(std::span<const std::int64_t> samples, int version,
                                   std::optional<bool> stops) {
  ++rounds_;
  version_ = version;
  for (const int member : regrouping_.members())
    samples_in_model_.applied[static_cast<std::size_t>(member)] += samples[static_cast<std::size_t>(member)];
  const Progress progress = progress_of_job();
  stops_ = stops.value_or(stop_.is_reached(progress)) ? 1 : 0;
  if (!stops && regrouping_.leads())
    stop_.report({.rounds = progress.rounds, .samples = progress.samples, .now = since_begin()});
}

sync::Members RegroupingRounds::members_event() const {
  const auto members = regrouping_.members();
  return {.round = static_cast<int>(rounds_), .workers = {members.begin(), members.end()}};
}

Progress RegroupingRounds::progress_of_job() const {
  return {.rounds = rounds_,
          .samples = std::accumulate(samples_in_model_.applied.begin(), samples_in_model_.applied.end(),
                                     std::int64_t{0}),
          .now = Seconds(0.0)};
}

/// Of the floats of the state that workers have in common.
Bytes RegroupingRounds::common_size() const {
  return replica_.common_size() + (messages_ == nullptr ? Bytes(0) : messages_->common_size());
}

ExchangeResult RegroupingRounds::state_of_job() const {
  const auto members = regrouping_.members();
  const auto place = static_cast<std::size_t>(std::ranges::find(members, self_) - members.begin());
  return {.version = version_,
          .batch = scaling_.batch_of(place, static_cast<int>(members.size())),
          .stop = stops_ != 0,
          .rounds = rounds_,
          .samples = progress_of_job().samples};
}

}  // namespace tandem
