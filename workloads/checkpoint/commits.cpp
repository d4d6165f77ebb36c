#include "workloads/checkpoint/commits.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/commit_restart.hpp"

namespace tandem {

Commits::Commits(const Job& job, Context& context, Journal& journal, WaitForRank wait)
    : job_(job),
      plan_(job.checkpoints().commits),
      context_(context),
      wait_(std::move(wait)),
      group_(job, context.rank()),
      line_(context, group_, wait_),
      decider_(job, group_, journal),
      stored_(context, group_, wait_),
      own_(job, context, group_),
      warnings_(job, context, journal) {}

// ---- The job, or another view of its members, begins ----

void Commits::start(std::int64_t round) {
  group_.changes() ? begin_members(round) : begin_at(round);
  // A warning that comes later is not as old as the start.
  take_warnings();
}

void Commits::begin_members(std::int64_t round) {
  own_.find();
  // A worker that joins is in a view already.
  if (!group_.is_awaited() || group_.is_in_view()) return;
  // The members do not know yet which of them is present; of several rows, one stays.
  if (job_.is_restarted()) decider_.restart_from(restart_commit(job_));
  // Slots for spares are empty as the job begins.
  std::vector<int> first(job_.roster().first_workers().size());
  std::iota(first.begin(), first.end(), 0);
  begin_view(first, round, 0);
}

void Commits::begin_at(std::int64_t round) {
  if (job_.is_restarted()) {
    read_commit(job_, context_, own_.size());
    own_.find();
    if (group_.decides()) decider_.restart_from(restart_commit(job_));
    line_.knowledge().restart_from(round);
  }
  own_.begin_at(round);
  line_.begin(round);
  if (!group_.decides()) return decider_.begin_rounds(context_.now(), round);
  decider_.begin(context_.now(), round);
  warnings_.listen();
}

/// Messages that have arrived count. From now on nothing may be sent.
void Commits::end_view() {
  if (!group_.changes() || has_finished_) return;
  collect(false);
  line_.take_arrived();
  is_counted_ = false;
}

void Commits::begin_view(std::span<const int> workers, std::int64_t round, std::int32_t view) {
  if (!group_.changes() || has_finished_) return;
  if (stored_.give_up()) decider_.fail(context_.now());
  group_.begin_view(workers, view);
  own_.follow_group();
  group_.counts() ? count_from(round) : follow_from(round);
  line_.begin(own_.begun());
}

/// With a new policy: only this plan is known to all workers.
void Commits::count_from(std::int64_t round) {
  const std::int64_t last =
      last_round_of_commits(job_.checkpoints().first_round, plan_.announced.every, round);
  own_.begin_at(last);
  decider_.resign();
  if (group_.decides()) decider_.begin(context_.now(), last);
}

/// The worker that has decided before continues. Another worker decides with the data that the former one
/// has sent to all.
void Commits::follow_from(std::int64_t round) {
  own_.begin_at(round);
  decider_.postpone();
  if (!group_.decides())
    if (const auto history = decider_.resign()) line_.knowledge().set_history(*history);
  // Otherwise the round in progress is done again, and takes its time since it began first.
  if (round != decider_.last_round()) decider_.begin_rounds(context_.now(), round);
}

void Commits::serialise_common(StateArchive& state) {
  if (!group_.changes() || group_.counts()) return;
  CommitHistory history = decider_.decides() ? decider_.history() : line_.knowledge().history();
  double blocked_s = history.blocked.count(), work_s = history.work.count();
  state.number("commits.round", history.round);
  state.number("commits.blocked_s", blocked_s);
  state.number("commits.work_s", work_s);
  if (state.restores())
    line_.knowledge().set_history(
        {.round = history.round, .blocked = Seconds(blocked_s), .work = Seconds(work_s)});
}

// ---- A round ends: what is decided about it ----

void Commits::take_warnings() {
  for (const MachineWarnings::Warning& warning : warnings_.take()) {
    if (decider_.decides())
      decider_.warned(context_.now(), warning.rank, warning.departs);
    else if (plan_.commits_on_warning)
      warnings_.send(warning);
  }
  const auto& is_end_requested = job_.notices().is_end_requested;
  if (decider_.decides() && is_end_requested && is_end_requested()) decider_.request_end();
}

void Commits::step_done() {
  take_warnings();
  if (group_.changes() && group_.has_part()) collect(false);
}

void Commits::round_done(std::int64_t round, int workers, bool is_last) {
  take_warnings();
  if (!group_.has_part()) return;
  const bool ends = is_last && plan_.at_end && last_of_job_ == 0 && !group_.learns_with_replies();
  if (ends) last_of_job_ = round;
  // A worker with the first one's duties may have got the state of others since the view began.
  if (group_.decides() && !decider_.decides() && round > decider_.last_round())
    decider_.take_over(line_.knowledge().history());
  if (!decider_.decides()) {
    collect(false);
    if (round > decider_.last_round()) decider_.begin_rounds(context_.now(), round);
    return line_.await(round);
  }
  line_.take_arrived();
  decider_.note_counted(context_.now(), line_.knowledge().counted());
  if (round == decider_.last_round()) return;
  // Where replies announce commits, a worker pushes the next round only after it has written its part, so the
  // wait takes no time. Where ranks count, the next commit begins only when the last one is complete.
  const bool is_next = group_.counts() && round >= own_.begun() + plan_.announced.every;
  collect(is_next || ends || (plan_.announced.has_replies() && plan_.mode == CommitMode::blocking));
  // The view may have ended meanwhile, or this worker may have got the state of others.
  if (!decider_.decides() || round <= own_.begun()) return;
  if (group_.changes()) workers = static_cast<int>(group_.parts().size());
  decider_.round_done(context_.now(), round, workers, ends);
  if (group_.plans_on_stream()) line_.send(decider_.planned());
}

void Commits::learn(std::int64_t round) {
  if (group_.changes() && group_.is_awaited())
    confirmed_ = std::max(confirmed_, round);
  else
    line_.knowledge().learn_named(round);
}

std::int64_t Commits::announced() const {
  if (group_.changes()) return last_stored_;
  if (!decider_.decides()) return 0;
  const std::int64_t round = decider_.decided();
  // A commit that is announced in advance stays announced, for workers that get their next reply late; and
  // where workers come and go, for all that then write their records.
  return plan_.announced.has_replies_ahead() || job_.roster().steward() || round != own_.begun() ? round : 0;
}

std::int64_t Commits::next_decided() const {
  return decider_.decides() && group_.changes() && !group_.counts() ? decider_.decided() : 0;
}

bool Commits::is_due(std::int64_t round) const {
  if (!group_.has_part() || round == own_.begun()) return false;
  if (decider_.decides()) return decider_.is_due(round);
  if (round == last_of_job_) return true;
  if (group_.counts()) return round >= own_.begun() + plan_.announced.every;
  return round == line_.knowledge().commit_round();
}

bool Commits::ends_job_after(std::int64_t round) const {
  if (decider_.decides()) return decider_.ends_after(round) && is_due(round);
  return line_.knowledge().ends() && is_due(round);
}

// ---- A commit ----

void Commits::begin(std::int64_t round) {
  const Seconds started = context_.now();
  note(own_.take_stored(true));
  // Otherwise it would stay until another commit is complete.
  line_.take_arrived();
  own_.remove(line_.knowledge().take_failed());
  // Where ranks count, others may still write the last commit.
  own_.remove_old(plan_.announced.every > 0 ? std::max(plan_.keep, 2) : plan_.keep,
                  line_.knowledge().counted());
  own_.begin(round, started);
  is_counted_ = true;
  if (!decider_.decides()) return;
  stored_.open(round, started);
  if (group_.changes() && job_.roster().coordinator() && confirmed_ != round) stored_.fail();
}

void Commits::write(PartOfCommit part) {
  if (own_.has_files()) decider_.note_policy(part.state, context_.now());
  own_.write(std::move(part));
  decider_.add_blocked(own_.blocked());
  if (!own_.is_writing()) note(own_.take_stored(false));
  // A commit that all have written counts even if the worker that decides departs next.
  if (group_.changes() && plan_.mode == CommitMode::blocking) collect(true);
  // The next replies announce it to workers that have no part in it.
  if (decider_.decides() && group_.confirms_records()) collect(false);
}

void Commits::note(const std::optional<protocol::Stored>& part) {
  if (!part || !is_counted_) return;
  if (!part->failed) last_stored_ = part->round;
  stored_.note(*part, own_.size());
}

/// Learns which parts of the commit have been written, and waits for the others if asked to.
void Commits::collect(bool waits) {
  note(own_.take_stored(waits));
  stored_.collect(waits);
  if (stored_.has_all_answers()) complete();
}

void Commits::complete() {
  const auto [record, is_whole] = stored_.close();
  decider_.add_blocked(record.blocked - own_.blocked());
  // Other machines have other clocks.
  const Seconds now = std::clamp(record.ended, record.started, context_.now());
  const bool is_complete = is_whole && own_.list_members(record.round);
  if (!is_complete) {
    decider_.fail(now);
    if (group_.announces_complete()) line_.send_failed(record.round);
    return;
  }
  decider_.complete(now, record);
  // Another worker may decide next, and needs to know of this commit.
  if (group_.changes() && group_.plans_on_stream()) line_.send(decider_.planned());
  if (group_.announces_complete()) line_.send_complete(record.round);
}

void Commits::finish() {
  warnings_.finish();
  if (group_.has_part()) collect(true);
  line_.end_listening();
  stored_.finish();
  line_.finish();
  if (!group_.has_part()) return;
  has_finished_ = true;
  // All workers have written all.
  own_.set_recorded(std::nullopt);
  own_.remove_old(plan_.keep, line_.knowledge().counted());
  own_.finish();
}

}  // namespace tandem
