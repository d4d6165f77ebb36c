#include "policies/checkpointing/planning_policy.hpp"

#include <algorithm>

#include "policies/checkpointing/interval.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {

void PlanningPolicy::on_started(const Started& event, Decisions& decisions) {
  round_began_ = event.now;
  requested_ = false;
  plan(next_commit(event.now), decisions);
}

void PlanningPolicy::on_round_done(const RoundDone& event, Decisions&) {
  round_began_ = event.now;
  round_duration_ = event.duration;
  work_ += event.duration;
}

void PlanningPolicy::on_warned(const Warned& event, Decisions& decisions) {
  machines_.warned(event);
  commits_for_warning(event.now, decisions);
}

void PlanningPolicy::on_departed(const Departed& event, Decisions&) { machines_.departed(event); }

void PlanningPolicy::on_ready(const Ready& event, Decisions&) { machines_.ready(event); }

void PlanningPolicy::on_committed(const Committed& event, Decisions& decisions) {
  cost_.add(event.duration);
  failed_in_a_row_ = 0;
  requested_ = false;
  round_began_ = event.now;
  if (commits_on_warning_) machines_.save_warned();
  plan(next_commit(event.now), decisions);
}

void PlanningPolicy::on_commit_failed(const CommitFailed& event, Decisions& decisions) {
  ++failed_;
  ++failed_in_a_row_;
  requested_ = false;
  if (!commits_for_warning(event.now, decisions)) plan(retry(event.now), decisions);
  round_began_ = event.now;
}

std::optional<Decision> PlanningPolicy::retry(Seconds now) const {
  if (!next_commit(now)) return std::nullopt;
  constexpr int most_doublings = 10;
  return NextCommitInRounds{std::int64_t{1} << std::clamp(failed_in_a_row_ - 1, 0, most_doublings)};
}

void PlanningPolicy::plan(const std::optional<Decision>& next, Decisions& decisions) const {
  if (next) decisions.push_back(*next);
}

/// A commit that takes an unknown time is tried: otherwise the work would be lost for certain.
bool PlanningPolicy::commits_for_warning(Seconds now, Decisions& decisions) {
  if (!commits_on_warning_ || requested_) return false;
  const Seconds left = std::max(Seconds(), round_began_ + round_duration_ - now);
  const Seconds expected = cost_.expected().value_or(Seconds());
  const auto notices = machines_.notices(now);
  if (std::ranges::none_of(notices, [&](Seconds notice) { return fits_notice(left, expected, notice); }))
    return false;
  requested_ = true;
  decisions.emplace_back(CommitNow{});
  return true;
}

void PlanningPolicy::serialise(PolicyState& state) {
  machines_.serialise(state);
  cost_.serialise(state);
  state.value("requested", requested_);
  state.value("failed", failed_);
  state.value("failed_in_a_row", failed_in_a_row_);
  state.value("round_began", round_began_);
  state.value("round_duration", round_duration_);
  state.value("work", work_);
  if (failed_ < 0 || failed_in_a_row_ < 0 || work_ < Seconds())
    throw ConfigError("policy state: expected 'failed', 'failed_in_a_row' and 'work' of at least 0");
}

OptionSpec on_warning_option() {
  return {
      .name = "on_warning",
      .summary = "also commits when a machine is announced to be taken away, if the notice is long enough",
      .default_value = false};
}

}  // namespace tandem::checkpointing
