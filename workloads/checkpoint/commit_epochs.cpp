// The part of Commits where workers that come and go commit together, and where one worker decides for all
// without replies.
#include <algorithm>
#include <utility>

#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/commits.hpp"
#include "workloads/job/commit_plan.hpp"

namespace tandem {

/// What has arrived counts. From now on nothing may be sent.
void Commits::end_epoch() {
  if (!plan_.by_members || has_finished_) return;
  collect(false);
  last_.hear();
  told_.hear();
  is_counted_ = false;
}

void Commits::begin_epoch(std::span<const int> workers, std::int64_t round) {
  if (!plan_.by_members || has_finished_) return;
  // The messages of the last epoch have ended.
  if (whole_) {
    context_.wait_all(whole_->others);
    schedule_->commit_failed(context_.now());
    ++journal_.failed_commits;
    whole_.reset();
  }
  is_in_epoch_ = true;
  parts_.clear();
  for (const int worker : workers) parts_.push_back(roster_.workers()[static_cast<std::size_t>(worker)]);
  decider_ = parts_.front();
  writes_model_ = context_.rank() == decider_;
  size_ = commit_size(job_, context_.rank(), writes_model_);
  plan_.every > 0 ? count_from(round) : follow_from(round);
  if (!tells_complete()) return;
  writes_model_ ? last_.set_listeners(listeners()) : last_.listen(decider_);
}

/// With a new policy: only this plan is known to all workers.
void Commits::count_from(std::int64_t round) {
  begun_ = last_round_of_commits(job_.checkpoints().first_round, plan_.every, round);
  schedule_.reset();
  if (!writes_model_) return;
  make_schedule();
  begin_rounds(begun_);
  schedule_->begin(round_began_, begun_, plan_.machines);
}

/// A commit that was decided and has not begun follows later: not all workers know of it. The worker that has
/// decided before continues; another one decides with what that one has told all.
void Commits::follow_from(std::int64_t round) {
  begun_ = round;
  if (schedule_ && schedule_->is_under_way()) schedule_->postpone();
  if (schedule_ && !writes_model_) {
    told_.set_history(schedule_->history());
    schedule_.reset();
  }
  // Otherwise the round in progress is done again, and takes its time since it began first.
  if (round != last_round_) begin_rounds(round);
  listen_from(round);
}

void Commits::listen_from(std::int64_t round) {
  if (context_.rank() == decider_) {
    std::vector<Rank> others = parts_;
    std::erase(others, decider_);
    told_.begin_as_decider(round, std::move(others));
  } else if (has_part_) {
    told_.begin(round, decider_);
  }
}

void Commits::begin_rounds(std::int64_t round) {
  round_began_ = context_.now();
  blocked_in_round_ = {};
  last_round_ = round;
}

/// As a round has ended: a worker with the first one's duties may have got the state of others since the
/// epoch began.
void Commits::take_over() {
  make_schedule();
  const CommitHistory& before = told_.history();
  if (before.round == 0 && before.work == Seconds())
    return schedule_->begin(round_began_, last_round_, plan_.machines);
  const std::int64_t since = std::max(before.round, job_.checkpoints().first_round);
  schedule_->continue_from(round_began_, last_round_, since, plan_.machines, before);
}

void Commits::serialise_common(StateArchive& state) {
  if (!plan_.by_members || plan_.every > 0) return;
  CommitHistory history = schedule_ ? schedule_->history() : told_.history();
  double blocked_s = history.blocked.count(), work_s = history.work.count();
  state.number("commits.round", history.round);
  state.number("commits.blocked_s", blocked_s);
  state.number("commits.work_s", work_s);
  if (state.restores())
    told_.set_history({.round = history.round, .blocked = Seconds(blocked_s), .work = Seconds(work_s)});
}

/// Whether the job commits after this round, as the worker that decides has told. Meanwhile another epoch may
/// begin, whose decider knows nothing of this round.
void Commits::await_told(std::int64_t round) {
  while (told_.is_needed(round)) {
    if (!plan_.by_members)
      told_.take(context_.wait(told_.next()));
    else if (const auto told = wait_(told_.next()))
      told_.take(*told);
  }
  told_.hear();
}

std::int64_t Commits::next_decided() const {
  return schedule_ && plan_.by_members && plan_.every == 0 ? schedule_->decided() : 0;
}

}  // namespace tandem
