#include "workloads/checkpoint/commits.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <variant>

#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/commit_restart.hpp"
#include "workloads/job/plan/commit_plan.hpp"

namespace tandem {

using Role = Roster::Role;

Commits::Commits(const Job& job, Context& context, Journal& journal)
    : job_(job),
      plan_(job.checkpoints().commits),
      context_(context),
      journal_(journal),
      keeps_files_(job.checkpoints().has_states),
      has_part_(has_part_in_commits(job, context.rank())),
      is_awaited_(std::ranges::find(plan_.parts, context.rank()) != plan_.parts.end() &&
                  (!plan_.by_members || is_worker(context.rank()))),
      parts_(plan_.parts),
      decider_(plan_.decider),
      view_(job.generation() == nullptr ? 0 : job.generation()->number()),
      knowledge_(plan_.ahead),
      line_(context, knowledge_, tells_ahead() ? plan_.ahead : 0),
      files_(job, context.rank()),
      writer_(job, context, has_part_),
      warnings_(job, context, journal),
      begun_(job.checkpoints().first_round) {
  if (!has_part_) return;
  if (keeps_files_) files_.create_directories();
  if (context.rank() == plan_.decider && !plan_.by_members) make_schedule();
}

bool Commits::is_worker(Rank rank) const { return job_.roster().assignment(rank).role == Role::worker; }

bool Commits::writes_model_of(Rank rank) const {
  return rank == (plan_.by_members ? decider_ : job_.checkpoints().writer);
}

Bytes Commits::size_of(Rank rank) const { return commit_size(job_, rank, writes_model_of(rank)); }

void Commits::make_schedule() {
  CommitSchedule::Log log;
  if (journal_.keep_decisions)
    log = [this](const std::string& event, const std::string& decisions) {
      journal_.decisions.push_back({context_.rank(), "checkpointing", event, decisions});
    };
  machines_ = machines_that_stop(job_);
  const Generation* const generation = job_.generation();
  schedule_.emplace(plan_.make(checkpointing_setting(job_.spec().experiment, plan_.options,
                                                     describe_lifetimes(job_, machines_))),
                    CommitSchedule::Setting{.ahead = plan_.ahead,
                                            .counts_from_commit = plan_.only_rounds,
                                            .every = plan_.may_be_requested() ? 0 : plan_.every,
                                            .counts_later = confirms_records(),
                                            .began = generation == nullptr ? Seconds() : generation->began},
                    std::move(log));
}

void Commits::record_restart() {
  restart_ = restart_commit(job_);
  if (restart_) journal_.commits.push_back(restart_->record);
}

/// The policy continues as it was when the last commit was written, and learns what it has missed since then;
/// without that, what has happened to its machines since the job began.
std::vector<checkpointing::Event> Commits::events_before() const {
  if (!restart_ || restart_->policy.empty()) return machine_events(job_, machines_, std::nullopt);
  auto events = machine_events(job_, machines_, restart_->policy_at);
  const auto is_later = [&](const checkpointing::Event& event) {
    return std::visit([](const auto& one) { return one.now; }, event) > restart_->event.now;
  };
  events.insert(std::ranges::find_if(events, is_later), restart_->event);
  return events;
}

/// It counts machines and commits for the next generation. Where workers come and go, another one may decide
/// then.
void Commits::note_policy(SavedState& state) const {
  if (!schedule_ || plan_.by_members || job_.generation() == nullptr) return;
  double at_s = (job_.generation()->began + context_.now()).count();
  state.set_text("commit.policy", schedule_->state());
  state.number("commit.policy_at_s", at_s);
}

// ---- The job, or another view of its members, begins ----

void Commits::start(std::int64_t round) {
  plan_.by_members ? begin_members(round) : begin_at(round);
  // A warning that comes later is not as old as the start.
  hear_warnings();
}

void Commits::begin_members(std::int64_t round) {
  if (keeps_files_)
    for (const auto& part : files_.find()) written_.add(part);
  // A worker that joins is in a view already.
  if (!is_awaited_ || is_in_view_) return;
  // Which of them is present, they do not know yet; of several rows one stays.
  if (job_.is_restarted()) record_restart();
  // Slots for spares are empty as the job begins.
  std::vector<int> first(job_.roster().first_workers().size());
  std::iota(first.begin(), first.end(), 0);
  begin_view(first, round, 0);
}

void Commits::begin_at(std::int64_t round) {
  if (job_.is_restarted()) {
    read_commit(job_, context_, writer_.size());
    for (const auto& part : files_.find()) written_.add(part);
    if (schedule_) record_restart();
    knowledge_.restart_from(round);
  }
  begun_ = last_round_ = round;
  open_line();
  round_began_ = context_.now();
  if (!schedule_) return;
  if (confirms_records()) line_.expect_records(job_.roster().workers());
  if (restart_ && !restart_->policy.empty()) schedule_->restore(restart_->policy);
  schedule_->begin(round_began_, round, events_before());
  warnings_.listen();
}

/// What has arrived counts. From now on nothing may be sent.
void Commits::end_view() {
  if (!plan_.by_members || has_finished_) return;
  collect(false);
  line_.hear();
  is_counted_ = false;
}

void Commits::begin_view(std::span<const int> workers, std::int64_t round, std::int32_t view) {
  if (!plan_.by_members || has_finished_) return;
  // The messages of the last view have ended.
  for (PartLine& line : lines_)
    if (!line.next.empty()) context_.wait(line.next);
  lines_.clear();
  if (tally_.is_open()) {
    tally_.close();
    schedule_->commit_failed(context_.now());
    ++journal_.failed_commits;
  }
  is_in_view_ = true;
  view_ = view;
  parts_.clear();
  for (const int worker : workers)
    parts_.push_back(job_.roster().workers()[static_cast<std::size_t>(worker)]);
  decider_ = parts_.front();
  files_.set_writer(context_.rank() == decider_, parts_);
  writer_.set_size(size_of(context_.rank()));
  plan_.every > 0 ? count_from(round) : follow_from(round);
  open_line();
}

/// With a new policy: only this plan is known to all workers.
void Commits::count_from(std::int64_t round) {
  begun_ = last_round_of_commits(job_.checkpoints().first_round, plan_.every, round);
  schedule_.reset();
  if (context_.rank() != decider_) return;
  make_schedule();
  begin_rounds(begun_);
  schedule_->begin(round_began_, begun_, events_before());
}

/// A commit that was decided and has not begun follows later: not all workers know of it. The worker that has
/// decided before continues; another one decides with what that one has sent to all.
void Commits::follow_from(std::int64_t round) {
  begun_ = round;
  if (schedule_ && schedule_->is_under_way()) schedule_->postpone();
  if (schedule_ && context_.rank() != decider_) {
    knowledge_.set_history(schedule_->history());
    schedule_.reset();
  }
  // Otherwise the round in progress is done again, and takes its time since it began first.
  if (round != last_round_) begin_rounds(round);
}

/// Pre: begun_ is where the job, or this view of its members, computes from.
void Commits::open_line() {
  knowledge_.begin(begun_, view_);
  if (listens())
    line_.listen(decider_);
  else if (tells_ahead() || tells_complete())
    line_.lead(listeners(), view_);
}

/// It has files that it removes, or commits or records to write, and another rank decides.
bool Commits::listens() const {
  if (plan_.by_members ? context_.rank() == decider_ : schedule_.has_value()) return false;
  if (tells_ahead() && has_part_) return true;
  return tells_complete() && (has_part_ || (confirms_records() && is_worker(context_.rank())));
}

/// The ranks that listen to this one.
std::vector<Rank> Commits::listeners() const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < job_.roster().size(); ++rank) {
    const bool has_part =
        plan_.by_members ? std::ranges::find(parts_, rank) != parts_.end() : has_part_in_commits(job_, rank);
    if (rank != context_.rank() && has_part) ranks.push_back(rank);
  }
  return ranks;
}

void Commits::begin_rounds(std::int64_t round) {
  round_began_ = context_.now();
  blocked_in_round_ = {};
  last_round_ = round;
}

/// As a round has ended: a worker with the first one's duties may have got the state of others since the
/// view began.
void Commits::take_over() {
  make_schedule();
  const CommitHistory& before = knowledge_.history();
  if (before.round == 0 && before.work == Seconds())
    return schedule_->begin(round_began_, last_round_, events_before());
  const std::int64_t since = std::max(before.round, job_.checkpoints().first_round);
  schedule_->continue_from(round_began_, last_round_, since, events_before(), before);
}

void Commits::serialise_common(StateArchive& state) {
  if (!plan_.by_members || plan_.every > 0) return;
  CommitHistory history = schedule_ ? schedule_->history() : knowledge_.history();
  double blocked_s = history.blocked.count(), work_s = history.work.count();
  state.number("commits.round", history.round);
  state.number("commits.blocked_s", blocked_s);
  state.number("commits.work_s", work_s);
  if (state.restores())
    knowledge_.set_history({.round = history.round, .blocked = Seconds(blocked_s), .work = Seconds(work_s)});
}

// ---- A round ends: what is decided about it ----

void Commits::hear_warnings() {
  const Seconds now = context_.now();
  for (const MachineWarnings::Warning& warning : warnings_.hear()) {
    if (schedule_)
      schedule_->warned(now, slot_of_machine(job_, machines_, warning.rank),
                        std::max(Seconds(), warning.departs - now));
    else if (plan_.commits_on_warning)
      warnings_.send(warning);
  }
  const auto& is_end_requested = job_.notices().is_end_requested;
  if (ends_ || !schedule_ || !is_end_requested || !is_end_requested()) return;
  ends_ = plan_.may_be_requested();
  if (ends_) schedule_->request();
}

void Commits::step_done() {
  hear_warnings();
  if (plan_.by_members && has_part_) collect(false);
}

void Commits::round_done(std::int64_t round, int workers, bool is_last) {
  hear_warnings();
  if (!has_part_) return;
  const bool hears_of_it = is_worker(context_.rank()) && plan_.announced_by_reply;
  const bool ends = is_last && plan_.at_end && last_of_job_ == 0 && !hears_of_it;
  if (ends) last_of_job_ = round;
  const bool decides = plan_.by_members && plan_.every == 0 && is_awaited_ && context_.rank() == decider_;
  if (decides && !schedule_ && round > last_round_) take_over();
  if (!schedule_) {
    collect(false);
    if (plan_.every == 0 && round > last_round_) begin_rounds(round);
    return await_decision(round);
  }
  line_.hear();
  note_counted();
  if (round == last_round_) return;
  // Where replies announce commits, a worker pushes the next round only after it has written its part, so the
  // wait takes no time. Where ranks count, the next commit begins only when the last one is complete.
  const bool is_next = plan_.every > 0 && round >= begun_ + plan_.every;
  collect(is_next || ends || (plan_.announced_by_reply && plan_.mode == CommitMode::blocking));
  // The view may have ended meanwhile, or this worker may have got the state of others.
  if (plan_.by_members && (!schedule_ || round <= begun_)) return;
  const Seconds now = context_.now();
  const Seconds duration = std::max(Seconds(), now - round_began_ - std::exchange(blocked_in_round_, {}));
  round_began_ = now;
  last_round_ = round;
  if (plan_.by_members) workers = static_cast<int>(parts_.size());
  schedule_->round_done(now, round, workers, duration, ends);
  if (!tells_ahead()) return;
  const std::int64_t planned = round + plan_.ahead;
  const bool commits = schedule_->decided() == planned;
  if (commits && ends_) ends_after_ = planned;
  send_planned(planned, commits, ends_after_ == planned);
}

void Commits::send_planned(std::int64_t round, bool commits, bool ends) {
  const CommitHistory history = schedule_->history();
  line_.send({.round = static_cast<std::int32_t>(round),
              .view = view_,
              .last_round = static_cast<std::int32_t>(history.round),
              .commits = commits,
              .ends = ends,
              .blocked = history.blocked,
              .work = history.work});
}

/// Whether the job commits after this round, as the worker that decides has sent. Meanwhile another view may
/// begin, whose decider knows nothing of this round.
void Commits::await_decision(std::int64_t round) {
  while (line_.is_needed(round)) {
    if (!plan_.by_members)
      line_.take(context_.wait(line_.next()));
    else if (const auto heard = wait_(line_.next()))
      line_.take(*heard);
  }
  if (tells_ahead()) line_.hear();
}

void Commits::hear(std::int64_t round) {
  if (plan_.by_members && is_awaited_)
    confirmed_ = std::max(confirmed_, round);
  else
    knowledge_.hear_named(round);
}

std::int64_t Commits::announced() const {
  if (plan_.by_members) return stored_;
  if (!schedule_) return 0;
  const std::int64_t round = schedule_->decided();
  // A commit that is announced in advance stays announced, for workers that get their next reply late; and
  // where workers come and go, for all that then write their records.
  return are_announced_ahead() || job_.roster().steward() || round != begun_ ? round : 0;
}

std::int64_t Commits::next_decided() const {
  return schedule_ && plan_.by_members && plan_.every == 0 ? schedule_->decided() : 0;
}

bool Commits::is_due(std::int64_t round) const {
  if (!has_part_ || round == begun_) return false;
  if (schedule_) return schedule_->is_due(round);
  if (round == last_of_job_) return true;
  if (plan_.every > 0 && !(is_worker(context_.rank()) && plan_.announced_by_reply))
    return round >= begun_ + plan_.every;
  return round == knowledge_.commit_round();
}

bool Commits::ends_job_after(std::int64_t round) const {
  if (!tells_ahead()) return ends_ && is_due(round);
  return (schedule_ ? ends_after_ == round : knowledge_.ends()) && is_due(round);
}

// ---- A commit ----

void Commits::begin(std::int64_t round) {
  started_ = context_.now();
  if (writer_.is_writing()) {
    writer_.end();
    note_written();
  }
  // Otherwise it would stay until another commit is complete.
  line_.hear();
  remove(written_.take(knowledge_.take_failed()));
  // Where ranks count, others may still write the last commit.
  remove_old(plan_.every > 0 ? std::max(plan_.keep, 2) : plan_.keep);
  begun_ = round;
  is_counted_ = true;
  if (!schedule_) return;
  tally_.open(round, view_, parts_, started_);
  if (plan_.by_members && job_.roster().coordinator() && confirmed_ != round) tally_.fail();
  for (const Rank rank : parts_)
    if (rank != context_.rank()) lines_.push_back({rank, protocol::receive<"commits">(context_, rank)});
}

void Commits::write(PartOfCommit part) {
  std::function<bool()> save;
  if (keeps_files_) {
    note_policy(part.state);
    // Evaluations have files of their own where a machine's disk is another place.
    written_.add({begun_, plan_.are_on_machines() || !part.model_stays});
    // Runs while training continues, perhaps on another thread, so it has its own copies.
    save = [this, round = begun_, with_model = writes_model_of(context_.rank()), started = started_,
            kept = std::make_shared<PartOfCommit>(std::move(part))] {
      if (job_.generation() != nullptr)
        note_times(kept->state, job_, started, context_.now(), writer_.copied(), writer_.size());
      return files_.save(round, *kept, with_model);
    };
  }
  writer_.write(begun_, started_, written_.kept(begun_), std::move(save));
  blocked_ = context_.now() - started_;
  blocked_in_round_ += blocked_;
  if (!writer_.is_writing()) note_written();
  // A commit that all have written counts even if the worker that decides departs next.
  if (plan_.by_members && plan_.mode == CommitMode::blocking) collect(true);
  // Workers that have no part in it hear of it with their next replies.
  if (schedule_ && confirms_records()) collect(false);
}

/// This rank's part is written.
void Commits::note_written() {
  const bool failed = writer_.take_failed();
  if (!is_counted_) return;
  if (!failed) stored_ = begun_;
  const protocol::Stored part{.round = static_cast<std::int32_t>(begun_),
                              .view = view_,
                              .failed = failed,
                              .ended = context_.now(),
                              .blocked = blocked_};
  if (tally_.is_open()) {
    tally_.add(context_.rank(), is_worker(context_.rank()), part, writer_.size());
    return;
  }
  if (!is_awaited_) return;
  if (!sent_.empty()) context_.wait(sent_);
  sent_ = protocol::send<"commits">(context_, decider_, part);
}

/// Learns which parts of the commit have been written, and waits for the others if asked to. While it waits,
/// the view may end, and the commit with it.
void Commits::collect(bool waits) {
  if (writer_.is_writing() && (waits || writer_.has_written())) {
    writer_.end();
    note_written();
  }
  for (std::size_t i = 0; i < lines_.size();) {
    Pending& next = lines_[i].next;
    if (next.empty() || !(waits || context_.is_done(next))) {
      ++i;
    } else if (plan_.by_members && !context_.is_done(next)) {
      // A view that ends takes the lines away, which begin again with the next commit.
      if (const auto stored = wait_(next)) i += take(lines_[i], *stored) ? 1 : 0;
    } else {
      i += take(lines_[i], context_.wait(next)) ? 1 : 0;
    }
  }
  if (tally_.has_heard_of_all()) complete();
}

/// Returns whether nothing more is expected of that rank: a message of an earlier commit does not count.
bool Commits::take(PartLine& line, const Completion& stored) {
  if (stored.outcome != Outcome::done) {
    tally_.lose(line.rank);
    return true;
  }
  const auto part = protocol::unpack<protocol::Stored>(stored.note);
  if (tally_.add(line.rank, is_worker(line.rank), part, size_of(line.rank))) return true;
  line.next = protocol::receive<"commits">(context_, line.rank);
  return false;
}

void Commits::complete() {
  lines_.clear();
  const auto [record, is_whole] = tally_.close();
  blocked_in_round_ += record.blocked - blocked_;
  // Other machines have other clocks.
  const Seconds now = std::clamp(record.ended, record.started, context_.now());
  const bool is_listed =
      is_whole && (!plan_.by_members || !keeps_files_ || files_.list_members(record.round));
  if (!is_listed) {
    schedule_->commit_failed(now);
    ++journal_.failed_commits;
    if (tells_complete()) line_.send_failed(record.round);
    return;
  }
  schedule_->committed(now, record.blocked);
  if (tells_ahead() && plan_.by_members) send_planned(last_round_ + plan_.ahead, false, false);
  journal_.commits.push_back(record);
  if (tells_complete()) line_.send_complete(record.round);
  if (confirms_records()) uncounted_ = record;
}

/// On the rank that decides.
void Commits::note_counted() {
  if (!uncounted_ || knowledge_.counted() < uncounted_->round) return;
  schedule_->counted_after(std::max(Seconds(), context_.now() - uncounted_->ended));
  uncounted_.reset();
}

std::int64_t Commits::unrecorded() {
  if (!confirms_records()) return 0;
  line_.hear();
  return knowledge_.unrecorded();
}

void Commits::note_all_recorded() { line_.send_recorded(std::numeric_limits<std::int32_t>::max()); }

void Commits::finish() {
  warnings_.finish();
  if (has_part_) collect(true);
  line_.end_listening();
  if (!sent_.empty()) context_.wait(sent_);
  line_.finish();
  if (!has_part_) return;
  has_finished_ = true;
  // All workers have written all.
  recorded_.reset();
  remove_old(plan_.keep);
  writer_.finish(written_.kept(begun_));
}

// ---- Old commits ----

/// As far as this rank knows, where it cannot see all parts.
bool Commits::is_complete(std::int64_t round) const {
  // Other workers may have written it.
  if (job_.is_restarted() && round == job_.resume()->round) return true;
  if (tells_complete()) return round == knowledge_.counted();
  if (recorded_ && round > *recorded_) return false;
  return files_.are_complete(round);
}

void Commits::remove_old(int keep) {
  line_.hear();
  const bool needs_records = recorded_ && !tells_complete();
  const KeepRule rule{.keep = plan_.keep == 0 ? 0 : keep,
                      .waits_for_complete = tells_complete() || needs_records,
                      // Another server may take a later one for the last that counts.
                      .later_stay = needs_records,
                      .is_told = tells_complete(),
                      .every = plan_.keep_every};
  const auto old = written_.take_old(rule, [this](std::int64_t round) { return is_complete(round); });
  remove(old.parts);
  // What other generations had here, or its ranks got as they began.
  const bool had_others = job_.is_restarted() && !job_.generation()->hosts.empty();
  if (had_others && plan_.are_on_machines() && old.complete.value_or(0) > job_.resume()->round)
    files_.remove_before(written_.parts().front().round);
}

void Commits::remove(std::span<const WrittenParts::Part> parts) {
  for (const WrittenParts::Part& part : parts) files_.remove(part);
}

}  // namespace tandem
