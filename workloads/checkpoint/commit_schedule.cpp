#include "workloads/checkpoint/commit_schedule.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "policies/checkpointing/replay.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {

CommitSchedule::CommitSchedule(std::unique_ptr<checkpointing::Policy> policy, Setting setting, Log log)
    : policy_(std::move(policy)), setting_(setting), log_(std::move(log)) {}

void CommitSchedule::restore(const std::string& state) {
  tandem::restore(*policy_, state);
  if (log_) log_(checkpointing::restore_event(state), "");
}

void CommitSchedule::begin(Seconds now, std::int64_t round, const Events& before) {
  catch_up(before, round);
  give(checkpointing::Started{in_job(now), round}, round);
}

void CommitSchedule::continue_from(Seconds now, std::int64_t round, std::int64_t since, const Events& before,
                                   const CommitHistory& history) {
  catch_up(before, round);
  give(checkpointing::Started{in_job(now), round}, since);
  if (history.round > 0) give(checkpointing::Committed{in_job(now), history.round, history.blocked}, since);
  last_ = history;
  work_ = history.work;
}

void CommitSchedule::catch_up(const Events& before, std::int64_t round) {
  round_ = round;
  for (const checkpointing::Event& event : before) give(event, round);
}

void CommitSchedule::round_done(Seconds now, std::int64_t round, int workers, Seconds duration, bool ends) {
  TANDEM_CHECK(round > round_, "round", round, "after", round_);
  round_ = round;
  duration_ = duration;
  work_ += duration;
  if (under_way_ && round == due_) due_began_ = now;
  give(checkpointing::RoundDone{in_job(now), round, workers, duration}, round);
  // One that is decided for a later round does not come.
  const bool is_last = ends && !(under_way_ && due_ <= round);
  if (under_way_ && !is_last) return;
  if (!is_last && !is_planned_for(round + setting_.ahead, duration * setting_.ahead)) return;
  due_ = is_last ? round : round + setting_.ahead;
  due_began_ = now;
  under_way_ = true;
  requested_ = false;
  planned_round_.reset();
  planned_work_.reset();
}

void CommitSchedule::warned(Seconds now, int slot, Seconds notice) {
  Seconds late = duration_ * setting_.ahead;
  // Until one was measured: each worker learns of it with a reply, and has written when the next one comes.
  if (setting_.counts_later) late += until_counted_.value_or(duration_ * 2.0);
  give(checkpointing::Warned{in_job(now), slot, std::max(Seconds(), notice - late)}, round_);
}

bool CommitSchedule::is_planned_for(std::int64_t round, Seconds more_work) const {
  // Sums of durations are rounded.
  constexpr double almost = 1.0 - 1e-9;
  return requested_ || (planned_round_ && round >= *planned_round_) ||
         (planned_work_ && work_ + more_work >= *planned_work_ * almost);
}

void CommitSchedule::postpone() {
  TANDEM_CHECK(under_way_, "no commit is under way; the last one was of round", due_);
  under_way_ = false;
  requested_ = true;
  due_ = 0;
}

void CommitSchedule::committed(Seconds now, Seconds blocked) {
  TANDEM_CHECK(under_way_, "no commit is under way; the last one was of round", due_);
  under_way_ = false;
  last_ = {.round = due_, .blocked = blocked};
  const Seconds took = now - due_began_;
  give(checkpointing::Committed{in_job(now), due_, blocked, took > blocked ? took : Seconds()},
       setting_.counts_from_commit ? due_ : round_);
}

void CommitSchedule::commit_failed(Seconds now) {
  TANDEM_CHECK(under_way_, "no commit is under way; the last one was of round", due_);
  under_way_ = false;
  give(checkpointing::CommitFailed{in_job(now)}, round_);
  if (setting_.every > 0) planned_round_ = due_ + setting_.every;
}

/// `from_round`: from whose end a plan in rounds counts.
void CommitSchedule::give(const checkpointing::Event& event, std::int64_t from_round) {
  const checkpointing::Decisions decisions = checkpointing::decide(*policy_, event);
  for (const checkpointing::Decision& decision : decisions) {
    if (std::holds_alternative<checkpointing::CommitNow>(decision)) {
      requested_ = true;
      continue;
    }
    planned_round_.reset();
    planned_work_.reset();
    if (const auto* rounds = std::get_if<checkpointing::NextCommitInRounds>(&decision))
      planned_round_ = from_round + rounds->rounds;
    if (const auto* seconds = std::get_if<checkpointing::NextCommitInSeconds>(&decision)) {
      planned_work_ = seconds->work;
      work_ = {};
    }
  }
  if (log_) log_(to_text(event), to_text(decisions));
}

}  // namespace tandem
