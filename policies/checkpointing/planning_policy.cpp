#include "policies/checkpointing/planning_policy.hpp"

#include <algorithm>

#include "policies/checkpointing/interval.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {

void PlanningPolicy::on_started(const Started& event, Decisions& decisions) {
  requested_ = false;
  round_ = event.round;
  round_ended_ = event.now;
  plan(next_commit(event.now), decisions);
}

void PlanningPolicy::on_round_done(const RoundDone& event, Decisions& decisions) {
  round_ = event.round;
  round_ended_ = event.now;
  rounds_.add(event.duration);
  work_ += event.duration;
  if (!commits_on_warning_ || requested_) return;
  const auto notices = machines_.notices(event.now);
  if (std::ranges::none_of(notices, [this](Seconds notice) { return is_last_chance(notice); })) return;
  requested_ = true;
  requested_round_ = event.round;
  decisions.emplace_back(CommitNow{});
}

/// A commit can only follow the round in progress, and whether that is the last one that leaves enough time
/// is better known when it has ended.
void PlanningPolicy::on_warned(const Warned& event, Decisions&) { machines_.warned(event); }

void PlanningPolicy::on_departed(const Departed& event, Decisions&) { machines_.departed(event); }

void PlanningPolicy::on_ready(const Ready& event, Decisions&) { machines_.ready(event); }

void PlanningPolicy::on_committed(const Committed& event, Decisions& decisions) {
  cost_.add(event);
  failed_in_a_row_ = 0;
  // A commit that was in progress when another one was decided does not replace that one.
  requested_ = requested_ && event.round < requested_round_;
  if (commits_on_warning_)
    machines_.save_warned(event.now, [&](Seconds notice) { return !may_follow(event, notice); });
  plan(next_commit(event.now), decisions);
}

void PlanningPolicy::on_commit_failed(const CommitFailed& event, Decisions& decisions) {
  ++failed_;
  ++failed_in_a_row_;
  requested_ = false;
  plan(retry(event.now), decisions);
}

std::optional<Decision> PlanningPolicy::retry(Seconds now) const {
  if (!next_commit(now)) return std::nullopt;
  constexpr int most_doublings = 10;
  return NextCommitInRounds{std::int64_t{1} << std::clamp(failed_in_a_row_ - 1, 0, most_doublings)};
}

void PlanningPolicy::plan(const std::optional<Decision>& next, Decisions& decisions) const {
  if (next) decisions.push_back(*next);
}

/// Just after a round, with this time until the departure. A commit that takes an unknown time is tried:
/// otherwise the work would be lost for certain.
bool PlanningPolicy::is_last_chance(Seconds notice) const {
  const Seconds commit = cost_.until_complete().value_or(Seconds());
  return fits_notice(Seconds(), commit, notice) && !may_wait(notice);
}

/// Another commit, after the round in progress. One in the background was complete some time after it let the
/// job continue, so that round may end soon. Where other rounds have ended since, their work is at risk, too,
/// and it may have ended just now.
bool PlanningPolicy::may_follow(const Committed& event, Seconds notice) const {
  if (event.round < round_) return fits_notice(Seconds(), cost_.until_complete().value_or(Seconds()), notice);
  return may_wait(notice, event.now - round_ended_ - event.duration);
}

/// Whether the commit may follow another round, of which nothing is lost then. Not if the duration of rounds
/// and commits is unknown. A commit that comes too late costs all work since the one before; one that comes
/// too early costs only rounds. So the times are those that few exceed. `computed`: since that round began.
bool PlanningPolicy::may_wait(Seconds notice, Seconds computed) const {
  const auto commit = cost_.cautious_until_complete();
  if (!commit || rounds_.empty()) return false;
  const Seconds left = rounds_.cautious() * (1.0 + margin_) - std::max(Seconds(), computed);
  return fits_notice(std::max(Seconds(), left), *commit * (1.0 + margin_), notice);
}

void PlanningPolicy::serialise(PolicyState& state) {
  machines_.serialise(state);
  cost_.serialise(state);
  rounds_.serialise(state, "rounds");
  state.value("requested", requested_);
  state.value("requested_round", requested_round_);
  state.value("round", round_);
  state.value("round_ended", round_ended_);
  state.value("failed", failed_);
  state.value("failed_in_a_row", failed_in_a_row_);
  state.value("work", work_);
  if (failed_ < 0 || failed_in_a_row_ < 0 || work_ < Seconds())
    throw ConfigError("policy state: expected 'failed', 'failed_in_a_row' and 'work' of at least 0");
}

OptionSpec on_warning_option() {
  return {
      .name = "on_warning",
      .summary =
          "also commits after the warning that a machine will be taken away, as late as the notice allows",
      .default_value = false};
}

OptionSpec margin_option() {
  return {.name = "margin",
          .summary =
              "on a warning, how much longer than expected another round and a commit may take, as a "
              "share, if the commit is put off; default not from a paper",
          .default_value = 0.1,
          .minimum = 0.0,
          .maximum = 10.0};
}

}  // namespace tandem::checkpointing
