#include "workloads/checkpoint/commits.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/commit_plan.hpp"
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
      keeps_files_(job.checkpoints().has_states),
      has_part_(has_part_in_commits(job, context.rank())),
      is_awaited_(std::ranges::find(plan_.parts, context.rank()) != plan_.parts.end()),
      writes_model_(context.rank() == job.checkpoints().writer),
      begun_(job.checkpoints().first_round) {
  if (!has_part_) return;
  if (keeps_files_)
    for (const std::string& directory : {directory_, job.checkpoints().directory})
      std::filesystem::create_directories(directory + "/checkpoints");
  if (context.rank() != plan_.decider) return;
  CommitSchedule::Log log;
  if (journal.keep_decisions)
    log = [this](const std::string& event, const std::string& decisions) {
      journal_.decisions.push_back({context_.rank(), "checkpointing", event, decisions});
    };
  const checkpointing::Factory make = checkpointing::catalog().find(plan_.policy).make;
  schedule_.emplace(make({.options = plan_.options}),
                    CommitSchedule::Setting{.ahead = plan_.announced_ahead,
                                            .counts_from_commit = plan_.only_rounds,
                                            .every = plan_.may_be_requested() ? 0 : plan_.every},
                    std::move(log));
}

void Commits::start(std::int64_t round) {
  if (job_.is_restarted()) {
    read_state();
    find_written();
    if (schedule_) record_last();
  }
  begun_ = last_round_ = round;
  if (job_.is_restarted()) complete_ = round;
  if (plan_.are_parts_apart && plan_.keep > 0 && has_part_ && !schedule_)
    next_complete_ = context_.receive(plan_.decider, protocol::commits, {});
  round_began_ = context_.now();
  if (!schedule_) return;
  schedule_->begin(round_began_, round, plan_.machines);
  if (!plan_.commits_on_warning || !may_be_warned()) return;
  for (const auto ranks : {roster_.workers(), roster_.deciders()})
    for (const Rank rank : ranks)
      if (rank != context_.rank())
        warnings_.push_back({rank, context_.receive(rank, protocol::warnings, {})});
}

/// By earlier generations, of which as few commits are kept. Models that are evaluated stay.
void Commits::find_written() {
  auto rounds = rounds_of_state(directory_, assignment_);
  std::ranges::sort(rounds);
  const auto evaluated = announced_in(directory_);
  for (const std::int64_t round : rounds)
    written_.push_back(
        {round, writes_model_ &&
                    std::ranges::find(evaluated, round, &AnnouncedCheckpoint::round) == evaluated.end()});
}

/// Ranks without a state of their own begin with the model. Where each machine has a disk of its own, the
/// writer reads the model for all.
void Commits::read_state() {
  const Role role = assignment_.role;
  const bool has_model = role == Role::worker || role == Role::server;
  const bool has_state = role != Role::worker || job_.resume()->workers_continue;
  const bool is_brought = plan_.are_on_own_disks() && !job_.resume()->workers_continue;
  if (is_brought && !has_state && !writes_model_) return receive_model();
  const Bytes size = has_state ? size_ : job_.model().bytes();
  if (disk_ && has_model && size > Bytes(0)) {
    Pending reading = context_.read(*disk_, size);
    context_.wait(reading);
  }
  if (is_brought && writes_model_) send_model();
}

/// Its values are read from the file, in which they are with real mathematics.
void Commits::receive_model() {
  Pending model = context_.receive(job_.checkpoints().writer, protocol::states, {job_.model().bytes()});
  context_.wait(model);
}

void Commits::send_model() {
  std::vector<Pending> sent;
  for (const Rank worker : roster_.workers())
    if (worker != context_.rank())
      sent.push_back(context_.send(worker, protocol::states, {job_.model().bytes()}));
  context_.wait_all(sent);
}

void Commits::round_done(std::int64_t round, int workers) {
  hear_warnings();
  if (!has_part_) return;
  if (!schedule_) return collect(false);
  if (round == last_round_) return;
  // Where replies announce commits, a worker pushes the next round only after it has written its part, so the
  // wait takes no time. Where ranks count, the next commit begins only when the last one is complete.
  const bool is_next = plan_.every > 0 && round >= begun_ + plan_.every;
  collect(is_next || (plan_.announced_by_reply && plan_.mode == CommitMode::blocking));
  const Seconds now = context_.now();
  const Seconds duration = std::max(Seconds(), now - round_began_ - std::exchange(blocked_in_round_, {}));
  round_began_ = now;
  last_round_ = round;
  schedule_->round_done(now, round, workers, duration);
}

std::int64_t Commits::announced() const {
  if (!schedule_) return 0;
  const std::int64_t round = schedule_->decided();
  // A commit that is announced in advance stays announced, for workers that get their next reply late.
  return plan_.announced_ahead || round != begun_ ? round : 0;
}

bool Commits::is_due(std::int64_t round) const {
  if (!has_part_ || round == begun_) return false;
  if (schedule_) return schedule_->is_due(round);
  const bool is_worker = assignment_.role == Roster::Role::worker;
  if (plan_.every > 0 && !(is_worker && plan_.announced_by_reply)) return round >= begun_ + plan_.every;
  return round == heard_;
}

void Commits::begin(std::int64_t round) {
  started_ = context_.now();
  if (!writing_.empty()) {
    context_.wait(writing_);
    note_written(context_.now());
  }
  // Where ranks count, others may still write the last commit.
  remove_old(plan_.every > 0 ? std::max(plan_.keep, 2) : plan_.keep);
  begun_ = round;
  if (!schedule_) return;
  whole_.emplace().record = {.round = round, .started = started_};
  for (const Rank rank : plan_.parts) {
    Pending& part = whole_->others.emplace_back();
    if (rank != context_.rank()) part = context_.receive(rank, protocol::commits, {});
  }
}

void Commits::write(Part part) {
  Kernel transfer;
  if (keeps_files_) {
    // Evaluations have files of their own where a machine's disk is another place.
    written_.push_back({begun_, writes_model_ && (plan_.are_on_own_disks() || !part.model_stays)});
    transfer = [this, round = begun_, kept = std::make_shared<Part>(std::move(part))] {
      if (job_.generation() != nullptr) note_times(kept->state);
      save(round, *kept);
    };
  }
  const bool takes_time = size_ > Bytes(0);
  if (takes_time && plan_.mode == CommitMode::background) {
    Pending copy = context_.compute({.kind = Work::Kind::reduce, .bytes = size_});
    context_.wait(copy);
    copied_ = context_.now() - started_;
  }
  if (takes_time && disk_) {
    writing_ = context_.write(*disk_, size_, std::move(transfer));
    if (plan_.mode == CommitMode::blocking) context_.wait(writing_);
  } else if (transfer) {
    transfer();
  }
  blocked_ = context_.now() - started_;
  blocked_in_round_ += blocked_;
  if (writing_.empty()) note_written(context_.now());
}

/// Where the job starts again from this part, nobody may have learnt that all parts were written.
void Commits::note_times(SavedState& state) const {
  const double began_s = job_.generation()->began.count();
  double started_s = began_s + started_.count(), ended_s = began_s + context_.now().count();
  double blocked_s = plan_.mode == CommitMode::background ? copied_.count() : ended_s - started_s;
  state.number("commit.started_s", started_s);
  state.number("commit.ended_s", ended_s);
  state.number("commit.blocked_s", blocked_s);
}

/// The record of the commit from which the job starts again, as its parts say.
void Commits::record_last() {
  const ResumePoint& from = *job_.resume();
  const double began_s = job_.generation()->began.count();
  constexpr double before_all = -std::numeric_limits<double>::infinity();
  whole_.emplace().record = {.round = from.round, .ended = Seconds(before_all)};
  for (const Rank rank : plan_.parts) {
    const auto state =
        SavedState::load_numbers(state_path(job_, from.directory, from.round, roster_.assignment(rank)));
    if (!state.has("commit.ended_s")) return whole_.reset();
    if (rank == plan_.decider) whole_->record.started = Seconds(state.real("commit.started_s") - began_s);
    add(rank, {.round = static_cast<std::int32_t>(from.round),
               .ended = Seconds(state.real("commit.ended_s") - began_s),
               .blocked = Seconds(state.real("commit.blocked_s")),
               .bytes = commit_size(job_, rank)});
  }
  whole_->record.blocked = whole_->by_servers + whole_->by_workers;
  journal_.commits.push_back(whole_->record);
  whole_.reset();
}

/// Nothing stays of a part that cannot be written.
void Commits::save(std::int64_t round, Part& part) {
  failed_ = !part.is_whole;
  if (failed_) return;
  const std::string state = state_path(directory_, round, assignment_),
                    model = checkpoint_path(directory_, round);
  try {
    part.state.save(state);
    if (writes_model_) save_model(job_, directory_, round, std::move(part.model));
  } catch (const WorldError&) {
    failed_ = true;
    std::error_code ignored;
    for (const std::string& path : {state, state + ".partial", model + ".partial"})
      std::filesystem::remove(path, ignored);
  }
}

/// The same on every rank of the job.
bool Commits::may_be_warned() const {
  const Generation* const generation = job_.generation();
  return notices_.take_warning || (generation != nullptr && !generation->warnings.empty());
}

/// What this process has been told, and on the rank that decides what others have.
void Commits::hear_warnings() {
  hear_drawn_warnings();
  if (notices_.take_warning)
    while (const auto notice = notices_.take_warning()) {
      record_warning();
      note_warning(context_.rank(), *notice);
    }
  for (WarningLine& line : warnings_)
    while (context_.is_done(line.next)) {
      const auto warned = protocol::unpack<protocol::Warned>(context_.wait(line.next).note);
      note_warning(line.rank, warned.notice);
      line.next = context_.receive(line.rank, protocol::warnings, {});
    }
  if (ends_ || !schedule_ || !notices_.is_end_requested || !notices_.is_end_requested()) return;
  ends_ = plan_.may_be_requested();
  if (ends_) schedule_->request();
}

/// Machines that depart as it was drawn: the generation has the records of their warnings.
void Commits::hear_drawn_warnings() {
  const Generation* const generation = job_.generation();
  if (generation == nullptr) return;
  const Seconds now = generation->began + context_.now();
  const auto& warnings = generation->warnings;
  for (; drawn_warnings_ < warnings.size() && warnings[drawn_warnings_].at <= now; ++drawn_warnings_) {
    const DrawnWarning& warning = warnings[drawn_warnings_];
    if (roster_.workers()[static_cast<std::size_t>(warning.slot)] == context_.rank())
      note_warning(context_.rank(), warning.departs - now);
  }
}

void Commits::record_warning() {
  if (assignment_.role != Roster::Role::worker) return;
  journal_.membership.push_back({.time = context_.now(),
                                 .slot = assignment_.index,
                                 .incarnation = 1,
                                 .host = assignment_.host,
                                 .event = "warned"});
}

void Commits::note_warning(Rank rank, Seconds notice) {
  if (schedule_)
    return schedule_->warned(context_.now(), plan_.slots[static_cast<std::size_t>(rank)], notice);
  if (!plan_.commits_on_warning) return;
  if (!warned_.empty()) context_.wait(warned_);
  warned_ = context_.send(plan_.decider, protocol::warnings, {}, protocol::pack(protocol::Warned{notice}));
}

void Commits::finish() {
  for (WarningLine& line : warnings_) {
    context_.cancel(line.next);
    context_.wait(line.next);
  }
  warnings_.clear();
  if (!next_complete_.empty()) {
    hear_complete();
    context_.cancel(next_complete_);
    context_.wait(next_complete_);
  }
  if (!warned_.empty()) context_.wait(warned_);
  if (!has_part_) return;
  collect(true);
  if (!sent_.empty()) context_.wait(sent_);
  context_.wait_all(told_);
  remove_old(plan_.keep);
}

/// Learns which parts of the commit have been written, and waits for the others if asked to.
void Commits::collect(bool waits) {
  const auto has_ended = [&](Pending& pending) {
    return !pending.empty() && (waits || context_.is_done(pending));
  };
  if (has_ended(writing_)) {
    context_.wait(writing_);
    note_written(context_.now());
  }
  if (!whole_) return;
  for (std::size_t i = 0; i < whole_->others.size(); ++i) {
    Pending& part = whole_->others[i];
    if (has_ended(part)) add(plan_.parts[i], protocol::unpack<protocol::Stored>(context_.wait(part).note));
  }
  const auto is_empty = [](const Pending& pending) { return pending.empty(); };
  if (writing_.empty() && std::ranges::all_of(whole_->others, is_empty)) complete();
}

/// This rank's part is written.
void Commits::note_written(Seconds ended) {
  const protocol::Stored part{.round = static_cast<std::int32_t>(begun_),
                              .failed = std::exchange(failed_, false),
                              .ended = ended,
                              .blocked = blocked_,
                              .bytes = size_};
  if (whole_) return add(context_.rank(), part);
  if (!is_awaited_) return;
  if (!sent_.empty()) context_.wait(sent_);
  sent_ = context_.send(plan_.decider, protocol::commits, {}, protocol::pack(part));
}

/// Workers write after the servers, whose replies they await, and the ranks of one role at the same time.
void Commits::add(Rank rank, const protocol::Stored& part) {
  const bool is_worker = roster_.assignment(rank).role == Roster::Role::worker;
  Seconds& blocked = is_worker ? whole_->by_workers : whole_->by_servers;
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
  if (whole_->failed) {
    schedule_->commit_failed(now);
    ++journal_.failed_commits;
  } else {
    schedule_->committed(now, record.blocked);
    journal_.commits.push_back(record);
    complete_ = record.round;
    if (plan_.are_parts_apart && plan_.keep > 0) tell_complete();
  }
  whole_.reset();
}

/// To those that cannot see it.
void Commits::tell_complete() {
  context_.wait_all(told_);
  told_.clear();
  const Note note = protocol::pack(protocol::Complete{.round = static_cast<std::int32_t>(complete_)});
  for (Rank rank = 0; rank < roster_.size(); ++rank)
    if (rank != context_.rank() && has_part_in_commits(job_, rank))
      told_.push_back(context_.send(rank, protocol::commits, {}, note));
}

void Commits::hear_complete() {
  while (!next_complete_.empty() && context_.is_done(next_complete_)) {
    const auto complete = protocol::unpack<protocol::Complete>(context_.wait(next_complete_).note);
    complete_ = complete.round;
    next_complete_ = context_.receive(plan_.decider, protocol::commits, {});
  }
}

/// As far as this rank knows, where it cannot see all parts.
bool Commits::is_complete(std::int64_t round) const {
  if (plan_.are_parts_apart) return round == complete_;
  const std::string& directory = job_.checkpoints().directory;
  return std::ranges::all_of(parts_of_commit(job_, round), [&](const checkpointing::Copy& part) {
    const std::string own = commit_directory(plan_, directory, part.machine);
    return std::filesystem::exists(part.part == model_part
                                       ? checkpoint_path(own, round)
                                       : state_path(own, round, roster_.assignment(part.part)));
  });
}

/// The last commit that is complete stays; where that cannot be seen, all stay until one is known to be.
void Commits::remove_old(int keep) {
  hear_complete();
  if (plan_.keep == 0 || written_.size() <= static_cast<std::size_t>(keep)) return;
  const auto newest = std::ranges::find_if(written_.rbegin(), written_.rend(),
                                           [&](const Written& one) { return is_complete(one.round); });
  if (newest == written_.rend() && plan_.are_parts_apart) return;
  const std::int64_t stays = newest == written_.rend() ? 0 : newest->round;
  const auto removed = static_cast<std::ptrdiff_t>(written_.size()) - keep;
  std::vector<Written> left;
  for (std::ptrdiff_t i = 0; i < std::ssize(written_); ++i) {
    const Written& one = written_[static_cast<std::size_t>(i)];
    if (i >= removed || one.round == stays) {
      left.push_back(one);
      continue;
    }
    std::error_code ignored;
    // Without its model nobody takes the state for a commit.
    if (one.removes_model) std::filesystem::remove(checkpoint_path(directory_, one.round), ignored);
    std::filesystem::remove(state_path(directory_, one.round, assignment_), ignored);
  }
  written_ = std::move(left);
}

}  // namespace tandem
