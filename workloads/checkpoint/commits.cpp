#include "workloads/checkpoint/commits.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/commit_members.hpp"
#include "workloads/checkpoint/old_commits.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/commit_plan.hpp"
#include "workloads/job/workers_of_generation.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {

using Role = Roster::Role;

Commits::Commits(const Job& job, Context& context, Journal& journal)
    : job_(job),
      plan_(job.checkpoints().commits),
      roster_(job.roster()),
      assignment_(roster_.assignment(context.rank())),
      notices_(job.notices()),
      context_(context),
      journal_(journal),
      directory_(commit_directory(plan_, job.checkpoints().directory, assignment_.host)),
      disk_(job.devices().disk_of(context.rank())),
      size_(commit_size(job, context.rank())),
      parts_(plan_.parts),
      decider_(plan_.decider),
      keeps_files_(job.checkpoints().has_states),
      has_part_(has_part_in_commits(job, context.rank())),
      is_awaited_(std::ranges::find(plan_.parts, context.rank()) != plan_.parts.end() &&
                  (!plan_.by_members || assignment_.role == Role::worker)),
      writes_model_(context.rank() == job.checkpoints().writer),
      copies_(job, context, has_part_),
      begun_(job.checkpoints().first_round),
      last_(context),
      told_(context, plan_.told_ahead) {
  if (!has_part_) return;
  if (keeps_files_)
    for (const std::string& directory : {directory_, job.checkpoints().directory})
      std::filesystem::create_directories(directory + "/checkpoints");
  if (context.rank() == plan_.decider && !plan_.by_members) make_schedule();
}

void Commits::make_schedule() {
  CommitSchedule::Log log;
  if (journal_.keep_decisions)
    log = [this](const std::string& event, const std::string& decisions) {
      journal_.decisions.push_back({context_.rank(), "checkpointing", event, decisions});
    };
  schedule_.emplace(plan_.make({.options = plan_.options}),
                    CommitSchedule::Setting{.ahead = plan_.announced_ahead ? 1 : plan_.told_ahead,
                                            .counts_from_commit = plan_.only_rounds,
                                            .every = plan_.may_be_requested() ? 0 : plan_.every,
                                            .counts_later = confirms_records()},
                    std::move(log));
}

void Commits::start(std::int64_t round) {
  begin_at(round);
  // A warning that comes later is not as old as the start.
  hear_warnings();
}

void Commits::begin_at(std::int64_t round) {
  if (plan_.by_members) {
    if (keeps_files_) find_written();
    // Slots for spares are empty as the job begins.
    std::vector<int> first(roster_.first_workers().size());
    std::iota(first.begin(), first.end(), 0);
    // A worker that joins is in an epoch already.
    if (!is_awaited_ || is_in_epoch_) return;
    // Which of them is present, they do not know yet; of several rows one stays.
    if (job_.is_restarted()) record_last();
    begin_epoch(first, round);
    return;
  }
  if (job_.is_restarted()) {
    read_state();
    find_written();
    if (schedule_) record_last();
  }
  begun_ = last_round_ = round;
  if (plan_.told_ahead > 0) listen_from(round);
  if (job_.is_restarted()) last_.begin_at(round);
  if (listens()) last_.listen(plan_.decider);
  round_began_ = context_.now();
  if (!schedule_) return;
  if (tells_complete()) last_.set_listeners(listeners());
  if (tells_complete() && confirms_records()) last_.wait_for_records(roster_.workers());
  schedule_->begin(round_began_, round, plan_.machines);
  if (!plan_.commits_on_warning || !may_be_warned()) return;
  for (const auto ranks : {roster_.workers(), roster_.deciders()})
    for (const Rank rank : ranks)
      if (rank != context_.rank()) warnings_.push_back({rank, protocol::receive<"warnings">(context_, rank)});
}

/// By earlier generations, or by earlier workers in its slot, of which as few commits are kept.
void Commits::find_written() {
  // Of those that this rank has no part in, it may have to remove the other files later.
  std::set<std::int64_t> found;
  const auto exists = [](const std::string& path) { return std::filesystem::exists(path); };
  if (plan_.by_members) {
    for (const std::int64_t round : rounds_in(directory_))
      if (exists(state_path(directory_, round, assignment_)) || exists(members_path(directory_, round)))
        found.insert(round);
  } else {
    for (const RankAssignment& part : own_and_absent())
      for (const std::int64_t round : rounds_of_state(directory_, part)) found.insert(round);
  }
  for (const std::int64_t round : found) written_.push_back({round, !is_evaluated(round)});
}

/// The parts whose files this rank removes: its own, and if it writes the model those of workers that are
/// absent from this epoch or generation.
std::vector<RankAssignment> Commits::own_and_absent() const {
  std::vector<RankAssignment> parts = {assignment_};
  if (!writes_model_) return parts;
  for (const Rank worker : roster_.workers())
    if (plan_.by_members && std::ranges::find(parts_, worker) == parts_.end())
      parts.push_back(roster_.assignment(worker));
  std::ranges::move(absent_workers(job_), std::back_inserter(parts));
  return parts;
}

/// Models that are evaluated stay.
bool Commits::is_evaluated(std::int64_t round) const {
  const std::int64_t every = job_.checkpoints().every;
  if (plan_.by_members) return every > 0 && round % every == 0;
  const auto evaluated = announced_in(directory_);
  return std::ranges::find(evaluated, round, &AnnouncedCheckpoint::round) != evaluated.end();
}

/// Ranks without a state of their own begin with the model. Where each machine has a disk of its own, the
/// writer reads the model for all.
void Commits::read_state() {
  const Role role = assignment_.role;
  const bool has_model = role == Role::worker || role == Role::server;
  const bool has_state = role != Role::worker || job_.resume()->workers_continue;
  const bool is_brought = plan_.are_on_machines() && !job_.resume()->workers_continue;
  if (is_brought && !has_state && !writes_model_) return receive_model();
  const Bytes size = has_state ? size_ : job_.model().bytes();
  // A part in memory is there already (restore_copies).
  if (disk_ && has_model && size > Bytes(0) && !plan_.are_in_memory()) {
    Pending reading = context_.read(*disk_, size);
    context_.wait(reading);
  }
  if (is_brought && writes_model_) send_model();
}

/// Its values are read from the file, in which they are with real mathematics.
void Commits::receive_model() {
  Pending model = protocol::receive<"states">(context_, job_.checkpoints().writer, {job_.model().bytes()});
  context_.wait(model);
}

void Commits::send_model() {
  std::vector<Pending> sent;
  for (const Rank worker : roster_.workers())
    if (worker != context_.rank())
      sent.push_back(protocol::send<"states">(context_, worker, {job_.model().bytes()}));
  context_.wait_all(sent);
}

void Commits::step_done() {
  hear_warnings();
  if (plan_.by_members && has_part_) collect(false);
}

void Commits::round_done(std::int64_t round, int workers) {
  hear_warnings();
  if (!has_part_) return;
  if (plan_.by_members && plan_.every == 0 && writes_model_ && !schedule_ && round > last_round_) take_over();
  if (!schedule_) {
    collect(false);
    if (plan_.every == 0 && round > last_round_) begin_rounds(round);
    return await_told(round);
  }
  last_.hear();
  note_counted();
  if (round == last_round_) return;
  // Where replies announce commits, a worker pushes the next round only after it has written its part, so the
  // wait takes no time. Where ranks count, the next commit begins only when the last one is complete.
  const bool is_next = plan_.every > 0 && round >= begun_ + plan_.every;
  collect(is_next || (plan_.announced_by_reply && plan_.mode == CommitMode::blocking));
  // The epoch may have ended meanwhile, or this worker may have got the state of others.
  if (plan_.by_members && (!schedule_ || round <= begun_)) return;
  const Seconds now = context_.now();
  const Seconds duration = std::max(Seconds(), now - round_began_ - std::exchange(blocked_in_round_, {}));
  round_began_ = now;
  last_round_ = round;
  if (plan_.by_members) workers = static_cast<int>(parts_.size());
  schedule_->round_done(now, round, workers, duration);
  if (plan_.told_ahead > 0) tell_planned(round);
}

void Commits::tell_planned(std::int64_t round) {
  const std::int64_t planned = round + plan_.told_ahead;
  const bool commits = schedule_->decided() == planned;
  if (commits && ends_) ends_after_ = planned;
  told_.tell(round, commits, ends_after_ == planned, schedule_->history());
}

std::int64_t Commits::announced() const {
  if (plan_.by_members) return stored_;
  if (!schedule_) return 0;
  const std::int64_t round = schedule_->decided();
  // A commit that is announced in advance stays announced, for workers that get their next reply late; and
  // where workers come and go, for all that then write their records.
  return plan_.announced_ahead || roster_.steward() || round != begun_ ? round : 0;
}

bool Commits::is_due(std::int64_t round) const {
  if (!has_part_ || round == begun_) return false;
  if (schedule_) return schedule_->is_due(round);
  const bool is_worker = assignment_.role == Roster::Role::worker;
  if (is_worker && plan_.told_ahead > 0) return round == told_.commit_round();
  if (plan_.every > 0 && !(is_worker && plan_.announced_by_reply)) return round >= begun_ + plan_.every;
  return round == heard_;
}

void Commits::begin(std::int64_t round) {
  started_ = context_.now();
  if (is_writing()) {
    end_writing();
    note_written(context_.now());
  }
  // Otherwise it would stay until another commit is complete.
  const auto failed = last_.take_failed();
  remove_written([&](const Written& one) { return std::ranges::find(failed, one.round) != failed.end(); });
  // Where ranks count, others may still write the last commit.
  remove_old(plan_.every > 0 ? std::max(plan_.keep, 2) : plan_.keep);
  begun_ = round;
  is_counted_ = true;
  if (!schedule_) return;
  whole_.emplace().record = {.round = round, .started = started_};
  whole_->failed = plan_.by_members && roster_.coordinator() && heard_ != round;
  for (const Rank rank : parts_) {
    Pending& part = whole_->others.emplace_back();
    if (rank != context_.rank()) part = protocol::receive<"commits">(context_, rank);
  }
}

void Commits::write(Part part) {
  Kernel transfer;
  if (keeps_files_) {
    // Evaluations have files of their own where a machine's disk is another place.
    written_.push_back({begun_, plan_.are_on_machines() || !part.model_stays});
    // Runs while training continues, perhaps on another thread, so it has its own copies.
    transfer = [this, round = begun_, with_model = writes_model_, started = started_,
                kept = std::make_shared<Part>(std::move(part))] {
      if (job_.generation() != nullptr) note_times(kept->state, started);
      save(round, *kept, with_model);
    };
  }
  write_part(std::move(transfer));
  blocked_ = context_.now() - started_;
  blocked_in_round_ += blocked_;
  if (!is_writing()) note_written(context_.now());
  // A commit that all have written counts even if the worker that decides departs next.
  if (plan_.by_members && plan_.mode == CommitMode::blocking) collect(true);
  // Workers that have no part in it hear of it with their next replies.
  if (schedule_ && confirms_records()) collect(false);
}

/// To this rank's own machine, and from there to the memory of another one.
void Commits::write_part(Kernel transfer) {
  const bool takes_time = size_ > Bytes(0), in_memory = plan_.are_in_memory();
  if (takes_time && (plan_.mode == CommitMode::background || in_memory)) {
    Pending copy = context_.compute({.kind = Work::Kind::reduce, .bytes = size_});
    context_.wait(copy);
    copied_ = context_.now() - started_;
  }
  if (takes_time && disk_ && !in_memory) {
    writing_ = context_.write(*disk_, size_, std::move(transfer));
  } else {
    if (transfer) transfer();
    // A part that this rank could not keep is not sent; a host that is left alone has no buddy.
    if (copies_.is_enabled() && !failed_) copies_.send(begun_, kept_rounds());
  }
  if (plan_.mode == CommitMode::blocking) end_writing();
}

bool Commits::has_written() {
  return (writing_.empty() || context_.is_done(writing_)) && (!copies_.is_open() || copies_.is_kept());
}

void Commits::end_writing() {
  if (!writing_.empty()) context_.wait(writing_);
  if (copies_.is_open() && !copies_.wait()) failed_ = true;
}

/// Where the job starts again from this part, nobody may have learnt that all parts were written.
void Commits::note_times(SavedState& state, Seconds started) const {
  const double began_s = job_.generation()->began.count();
  double started_s = began_s + started.count(), ended_s = began_s + context_.now().count();
  double blocked_s = plan_.mode == CommitMode::background ? copied_.count() : ended_s - started_s;
  state.number("commit.started_s", started_s);
  state.number("commit.ended_s", ended_s);
  state.number("commit.blocked_s", blocked_s);
  state.set("commit.bytes", size_.count());
}

/// As the generation that wrote the commit from which the job starts again had them.
std::vector<RankAssignment> Commits::last_parts() const {
  std::vector<RankAssignment> parts;
  for (const Rank rank : plan_.parts) parts.push_back(roster_.assignment(rank));
  if (plan_.by_members) {
    std::erase_if(parts, [&](const RankAssignment& part) {
      return part.role != Role::worker || !job_.resume()->has_state_of(part.index);
    });
    return parts;
  }
  const int former = job_.resume()->former_workers;
  const auto is_worker = [](const RankAssignment& part) { return part.role == Role::worker; };
  if (former == 0 || std::erase_if(parts, is_worker) == 0) return parts;
  for (int index = 0; index < former; ++index) parts.push_back({Role::worker, index, std::string()});
  return parts;
}

/// The record of the commit from which the job starts again, as its parts say.
void Commits::record_last() {
  const ResumePoint& from = *job_.resume();
  const double began_s = job_.generation()->began.count();
  constexpr double before_all = -std::numeric_limits<double>::infinity();
  whole_.emplace().record = {.round = from.round, .ended = Seconds(before_all)};
  const auto first = static_cast<std::size_t>(from.first_member());
  const RankAssignment& decider =
      roster_.assignment(plan_.by_members ? roster_.workers()[first] : plan_.decider);
  for (const RankAssignment& part : last_parts()) {
    const auto state = SavedState::load_numbers(state_path(job_, from.directory, from.round, part));
    if (!state.has("commit.ended_s")) return whole_.reset();
    if (part.role == decider.role && part.index == decider.index)
      whole_->record.started = Seconds(state.real("commit.started_s") - began_s);
    add(part.role, {.round = static_cast<std::int32_t>(from.round),
                    .ended = Seconds(state.real("commit.ended_s") - began_s),
                    .blocked = Seconds(state.real("commit.blocked_s")),
                    .bytes = Bytes(state.integer("commit.bytes"))});
  }
  whole_->record.blocked = whole_->by_servers + whole_->by_workers;
  journal_.commits.push_back(whole_->record);
  whole_.reset();
}

/// Nothing stays of a part that cannot be written.
void Commits::save(std::int64_t round, Part& part, bool with_model) {
  failed_ = !part.is_whole;
  if (failed_) return;
  const std::string state = state_path(directory_, round, assignment_),
                    model = checkpoint_path(directory_, round);
  try {
    part.state.save(state);
    if (with_model) save_model(job_, directory_, round, std::move(part.model));
  } catch (const WorldError&) {
    failed_ = true;
    std::error_code ignored;
    std::filesystem::remove(state, ignored);
  }
}

void Commits::finish() {
  for (WarningLine& line : warnings_) {
    context_.cancel(line.next);
    context_.wait(line.next);
  }
  warnings_.clear();
  if (!warned_.empty()) context_.wait(warned_);
  if (has_part_) collect(true);
  last_.end_listening();
  told_.end_listening();
  if (!sent_.empty()) context_.wait(sent_);
  last_.finish();
  told_.finish();
  if (!has_part_) return;
  has_finished_ = true;
  // All workers have written all.
  recorded_.reset();
  remove_old(plan_.keep);
  if (copies_.is_enabled()) copies_.end(kept_rounds());
}

/// Learns which parts of the commit have been written, and waits for the others if asked to. While it waits,
/// the epoch may end, and the commit with it.
void Commits::collect(bool waits) {
  if (is_writing() && (waits || has_written())) {
    end_writing();
    note_written(context_.now());
  }
  for (std::size_t i = 0; whole_ && i < whole_->others.size();) {
    Pending& part = whole_->others[i];
    const bool is_open = !part.empty() && (waits || context_.is_done(part));
    if (is_open && plan_.by_members && !context_.is_done(part)) {
      const auto stored = wait_(part);
      if (!stored) continue;
      take(i, *stored);
    } else if (is_open) {
      take(i, context_.wait(part));
    }
    ++i;
  }
  const auto is_empty = [](const Pending& pending) { return pending.empty(); };
  if (whole_ && !is_writing() && std::ranges::all_of(whole_->others, is_empty)) complete();
}

/// Messages of another epoch than this one do not arrive.
void Commits::take(std::size_t part, const Completion& stored) {
  if (stored.outcome == Outcome::done)
    add(roster_.assignment(parts_[part]).role, protocol::unpack<protocol::Stored>(stored.note));
  else
    whole_->failed = true;
}

/// This rank's part is written.
void Commits::note_written(Seconds ended) {
  const bool failed = std::exchange(failed_, false);
  if (!is_counted_) return;
  if (!failed) stored_ = begun_;
  const protocol::Stored part{.round = static_cast<std::int32_t>(begun_),
                              .failed = failed,
                              .ended = ended,
                              .blocked = blocked_,
                              .bytes = size_};
  if (whole_) return add(assignment_.role, part);
  if (!is_awaited_) return;
  if (!sent_.empty()) context_.wait(sent_);
  sent_ = protocol::send<"commits">(context_, decider_, part);
}

/// Workers write after the servers, whose replies they await, and the ranks of one role at the same time.
void Commits::add(Role role, const protocol::Stored& part) {
  Seconds& blocked = role == Role::worker ? whole_->by_workers : whole_->by_servers;
  blocked = std::max(blocked, part.blocked);
  whole_->record.ended = std::max(whole_->record.ended, part.ended);
  whole_->record.bytes += part.bytes.count();
  whole_->failed = whole_->failed || part.failed;
}

void Commits::complete() {
  CommitRecord& record = whole_->record;
  record.blocked = whole_->by_servers + whole_->by_workers;
  blocked_in_round_ += record.blocked - blocked_;
  // Other machines have other clocks.
  const Seconds now = std::clamp(record.ended, record.started, context_.now());
  if (whole_->failed || !list_members()) {
    schedule_->commit_failed(now);
    ++journal_.failed_commits;
    if (tells_complete()) last_.set_failed(record.round);
  } else {
    schedule_->committed(now, record.blocked);
    if (plan_.told_ahead > 0 && plan_.by_members) told_.tell(schedule_->history());
    journal_.commits.push_back(record);
    last_.set(record.round);
    if (confirms_records()) uncounted_ = record;
  }
  whole_.reset();
}

/// On the rank that decides.
void Commits::note_counted() {
  if (!uncounted_ || last_.round() < uncounted_->round) return;
  schedule_->counted_after(std::max(Seconds(), context_.now() - uncounted_->ended));
  uncounted_.reset();
}

/// Where workers come and go, their parts alone do not show whether the commit is complete. False: that
/// cannot be written.
bool Commits::list_members() const {
  if (!plan_.by_members || !keeps_files_) return true;
  std::vector<int> workers;
  for (const Rank rank : parts_) workers.push_back(roster_.assignment(rank).index);
  try {
    save_members(members_path(directory_, whole_->record.round), workers);
    return true;
  } catch (const WorldError&) {
    return false;
  }
}

/// It has files that it removes, or records to write, and another rank decides.
bool Commits::listens() const {
  const bool records = confirms_records() && assignment_.role == Role::worker;
  return tells_complete() && !schedule_ && (has_part_ || records);
}

/// Those that this rank tells which commits are complete.
std::vector<Rank> Commits::listeners() const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < roster_.size(); ++rank) {
    const bool has_part =
        plan_.by_members ? std::ranges::find(parts_, rank) != parts_.end() : has_part_in_commits(job_, rank);
    if (rank != context_.rank() && has_part) ranks.push_back(rank);
  }
  return ranks;
}

/// As far as this rank knows, where it cannot see all parts.
bool Commits::is_complete(std::int64_t round) const {
  // Other workers may have written it.
  if (job_.is_restarted() && round == job_.resume()->round) return true;
  if (tells_complete()) return round == last_.round();
  if (recorded_ && round > *recorded_) return false;
  const auto exists = [](const std::string& path) { return std::filesystem::exists(path); };
  if (plan_.by_members) return exists(members_path(directory_, round));
  // A restart needs one copy of each part; only a commit that has all of them replaces the one before.
  return std::ranges::all_of(copies_of_commit(job_, round), [&](const checkpointing::Copy& copy) {
    return exists(copy_path(job_, job_.checkpoints().directory, copy));
  });
}

/// The last commit that is complete stays; where that cannot be seen, all stay until one is known to be.
void Commits::remove_old(int keep) {
  last_.hear();
  if (plan_.keep == 0 || written_.size() <= static_cast<std::size_t>(keep)) return;
  const auto newest = std::ranges::find_if(written_.rbegin(), written_.rend(),
                                           [&](const Written& one) { return is_complete(one.round); });
  const bool needs_records = recorded_ && !tells_complete();
  const auto complete = newest == written_.rend() ? std::nullopt : std::optional(newest->round);
  // One that lacks parts would stay as the first of its span, instead of one that can be used. Later ones may
  // still be written.
  if (plan_.keep_every > 0 && complete && !tells_complete())
    remove_written([&](const Written& one) { return one.round < *complete && !is_complete(one.round); });
  const KeepRule rule{.keep = keep,
                      .waits_for_complete = tells_complete() || needs_records,
                      // Another server may take a later one for the last that counts.
                      .later_stay = needs_records,
                      .every = plan_.keep_every};
  std::vector<std::int64_t> rounds;
  for (const Written& one : written_) rounds.push_back(one.round);
  const auto removed = commits_to_remove(rounds, complete, rule);
  if (!complete && rule.waits_for_complete) return;
  remove_written([&](const Written& one) { return std::ranges::find(removed, one.round) != removed.end(); });
  // What other generations had here, or its ranks got as they began.
  const bool had_others = job_.is_restarted() && !job_.generation()->hosts.empty();
  if (had_others && plan_.are_on_machines() && complete.value_or(0) > job_.resume()->round)
    remove_rounds_before(directory_, written_.front().round);
}

template <class Goes>
void Commits::remove_written(const Goes& goes) {
  std::erase_if(written_, [&](const Written& one) {
    const bool is_removed = goes(one);
    if (is_removed) remove(one);
    return is_removed;
  });
}

void Commits::remove(const Written& one) const {
  const auto remove_file = [](const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  };
  // Without them nobody takes the states for a commit.
  if (writes_model_ && plan_.by_members) remove_file(members_path(directory_, one.round));
  if (writes_model_ && one.removes_model) remove_file(checkpoint_path(directory_, one.round));
  for (const RankAssignment& part : own_and_absent()) remove_file(state_path(directory_, one.round, part));
}

}  // namespace tandem
