#include "workloads/checkpoint/commit_decider.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "policies/checkpointing/policy.hpp"
#include "workloads/checkpoint/saved_state.hpp"

namespace tandem {

CommitDecider::CommitDecider(const Job& job, const CommitGroup& group, Journal& journal)
    : job_(job), group_(group), journal_(journal) {}

void CommitDecider::make_schedule() {
  CommitSchedule::Log log;
  if (journal_.keep_decisions)
    log = [this](const std::string& event, const std::string& decisions) {
      journal_.decisions.push_back({group_.rank(), "checkpointing", event, decisions});
    };
  machines_ = machines_that_stop(job_);
  const CommitPlan& plan = group_.plan();
  const Generation* const generation = job_.generation();
  const bool only_rounds = checkpointing::rounds_between_commits(plan.policy, plan.options).has_value();
  schedule_.emplace(plan.make(checkpointing_setting(job_.spec().experiment, plan.options,
                                                    describe_lifetimes(job_, machines_))),
                    CommitSchedule::Setting{.ahead = plan.announced.ahead,
                                            .counts_from_commit = only_rounds,
                                            .every = plan.announced.every,
                                            .counts_later = group_.confirms_records(),
                                            .began = generation == nullptr ? Seconds() : generation->began},
                    std::move(log));
}

void CommitDecider::restart_from(std::optional<RestartCommit> commit) {
  restart_ = std::move(commit);
  if (restart_) journal_.commits.push_back(restart_->record);
}

/// The policy continues in its state of the last commit, and gets the events that it has missed since then.
/// Without that state, it gets the events of its machines since the job began.
std::vector<checkpointing::Event> CommitDecider::events_before() const {
  if (!restart_ || restart_->policy.empty()) return machine_events(job_, machines_, std::nullopt);
  auto events = machine_events(job_, machines_, restart_->policy_at);
  const auto is_later = [&](const checkpointing::Event& event) {
    return std::visit([](const auto& one) { return one.now; }, event) > restart_->event.now;
  };
  events.insert(std::ranges::find_if(events, is_later), restart_->event);
  return events;
}

void CommitDecider::begin_rounds(Seconds now, std::int64_t round) {
  round_began_ = now;
  blocked_in_round_ = {};
  last_round_ = round;
}

void CommitDecider::begin(Seconds now, std::int64_t round) {
  begin_rounds(now, round);
  make_schedule();
  if (restart_ && !restart_->policy.empty()) schedule_->restore(restart_->policy);
  schedule_->begin(now, round, events_before());
}

void CommitDecider::take_over(const CommitHistory& before) {
  make_schedule();
  if (before.round == 0 && before.work == Seconds())
    return schedule_->begin(round_began_, last_round_, events_before());
  const std::int64_t since = std::max(before.round, job_.checkpoints().first_round);
  schedule_->continue_from(round_began_, last_round_, since, events_before(), before);
}

void CommitDecider::postpone() {
  if (schedule_ && schedule_->is_under_way()) schedule_->postpone();
}

std::optional<CommitHistory> CommitDecider::resign() {
  if (!schedule_) return std::nullopt;
  const CommitHistory history = schedule_->history();
  schedule_.reset();
  return history;
}

void CommitDecider::round_done(Seconds now, std::int64_t round, int workers, bool ends) {
  const Seconds duration = std::max(Seconds(), now - round_began_ - blocked_in_round_);
  begin_rounds(now, round);
  schedule_->round_done(now, round, workers, duration, ends);
  if (ends_ && group_.plans_on_stream() && schedule_->decided() == next_planned())
    ends_after_ = next_planned();
}

protocol::Planned CommitDecider::planned() const {
  const CommitHistory last = schedule_->history();
  return {.round = static_cast<std::int32_t>(next_planned()),
          .view = group_.view(),
          .last_round = static_cast<std::int32_t>(last.round),
          .commits = schedule_->decided() == next_planned(),
          .ends = ends_after_ == next_planned(),
          .blocked = last.blocked,
          .work = last.work};
}

void CommitDecider::warned(Seconds now, Rank rank, Seconds departs) {
  schedule_->warned(now, slot_of_machine(job_, machines_, rank), std::max(Seconds(), departs - now));
}

void CommitDecider::request_end() {
  if (ends_ || !group_.plan().may_be_requested()) return;
  ends_ = true;
  schedule_->request();
}

bool CommitDecider::ends_after(std::int64_t round) const {
  return is_due(round) && (group_.plans_on_stream() ? ends_after_ == round : ends_);
}

void CommitDecider::complete(Seconds now, const CommitRecord& commit) {
  schedule_->committed(now, commit.blocked);
  journal_.commits.push_back(commit);
  if (group_.confirms_records()) uncounted_ = commit;
}

void CommitDecider::fail(Seconds now) {
  schedule_->commit_failed(now);
  ++journal_.failed_commits;
}

void CommitDecider::note_counted(Seconds now, std::int64_t counted) {
  if (!uncounted_ || counted < uncounted_->round) return;
  schedule_->counted_after(std::max(Seconds(), now - uncounted_->ended));
  uncounted_.reset();
}

/// It counts machines and commits for the next generation. Where workers come and go, another one may decide
/// then.
void CommitDecider::note_policy(SavedState& state, Seconds now) const {
  if (!schedule_ || group_.changes() || job_.generation() == nullptr) return;
  double at_s = (job_.generation()->began + now).count();
  state.set_text("commit.policy", schedule_->state());
  state.number("commit.policy_at_s", at_s);
}

}  // namespace tandem
