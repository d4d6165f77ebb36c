#include "workloads/roles/steward/steward.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "policies/recovery/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/fates_of_job.hpp"
#include "workloads/job/plan/recovery_plan.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

namespace {

std::vector<WorkerPlace> slots_of(const Job& job, Machines& machines) {
  std::vector<WorkerPlace> slots;
  for (const Rank worker : job.roster().workers()) {
    WorkerPlace& slot = slots.emplace_back();
    slot.rank = worker;
    slot.worker = slot.machine = static_cast<int>(slots.size()) - 1;
    slot.machines = &machines;
  }
  return slots;
}

}  // namespace

Steward::Steward(const Job& job, Context& context, Journal& journal)
    : job_(job),
      context_(context),
      journal_(journal),
      notices_(job, context, journal),
      machines_(job.spec().experiment.transience, fates_of(job), job.roster().workers().size()),
      policy_(make_recovery_policy(job)),
      slots_(slots_of(job, machines_)),
      deciders_(job.roster().deciders()),
      nodes_(job, context, notices_, slots_),
      running_deciders_(deciders_.size()) {
  if (job.exchange().route() != sync::Route::server)
    groups_.emplace(context, notices_, slots_, job.roster().first_workers().size());
}

void Steward::run() {
  start();
  while (!is_over()) wait_for_events();
  if (groups_) groups_->end(awaited_);
  for (const WorkerPlace& slot : slots_) notices_.tell<"membership">(slot.rank, protocol::End{});
  nodes_.end(std::span(awaited_).subspan(deciders_.size(), nodes_.size()));
  notices_.finish();
  if (awaited_.back().empty()) return;
  context_.cancel(awaited_.back());
  context_.wait(awaited_.back());
}

bool Steward::is_training_over() const { return running_deciders_ == 0 && (!groups_ || groups_->is_over()); }

/// A worker may depart while it ends what it has with its cache node, which must hear of it.
bool Steward::is_over() const { return is_training_over() && nodes_.have_all_ended(); }

void Steward::start() {
  for (const Rank decider : deciders_)
    awaited_.push_back(protocol::receive<"ends-of-job">(context_, decider));
  for (std::size_t node = 0; node < nodes_.size(); ++node) awaited_.push_back(nodes_.listen(node));
  for (std::size_t slot = 0; groups_ && slot < slots_.size(); ++slot)
    awaited_.push_back(groups_->listen(slot));
  awaited_.emplace_back();
  const Generation* const launch = job_.generation();
  if (launch == nullptr || launch->number() == 0) return occupy_first_slots();
  catch_up(launch->launched);
  begin_again();
}

void Steward::occupy_first_slots() {
  const std::size_t workers = job_.roster().first_workers().size();
  for (WorkerPlace& slot : std::span(slots_).first(workers)) {
    slot.incarnation = machines_.occupy(slot.machine, Seconds(0));
    slot.is_member = true;
    notices_.record(slot, "joined");
    notices_.announce(slot);
  }
  nodes_.occupy();
  give(recovery::Started{Seconds(0), static_cast<int>(workers)});
}

void Steward::catch_up(Seconds launched) {
  Seconds past(0);
  notices_.set_past(past);
  occupy_first_slots();
  for (auto next = next_event(); next && *next <= launched; next = next_event()) {
    past = std::max(*next, past);
    notices_.set_past(past);
    pass_time(past);
  }
  notices_.set_past(std::nullopt);
}

/// All roles begin this launch as the first one, with the first occupant in each slot but those for spares:
/// they hear of the slots for which that is wrong.
void Steward::begin_again() {
  const auto first = static_cast<int>(job_.roster().first_workers().size());
  for (int index = 0; index < static_cast<int>(slots_.size()); ++index) {
    WorkerPlace& slot = at(index);
    slot.begin_launch();
    // Nobody may have noticed yet that its machine has departed.
    if (slot.is_member && !slot.is_gone) notices_.announce(slot);
    if (slot.is_member == (index < first)) continue;
    if (slot.is_member) {
      note_joined(index);
    } else {
      constexpr int first_occupant = 1;
      note_left(index, first_occupant);
    }
  }
  nodes_.begin_again();
  if (is_paused_) tell_deciders(protocol::Training{.paused = true});
}

namespace {

std::optional<Seconds> earlier(std::optional<Seconds> one, std::optional<Seconds> other) {
  return one && (!other || *one <= *other) ? one : other;
}

}  // namespace

std::optional<Seconds> Steward::next_event() const {
  const auto of_nodes = earlier(nodes_.next_of_machines(), nodes_.next_of_stores());
  return earlier(earlier(machines_.next(), tick_), of_nodes);
}

/// Without machines, or with too few, and without one that will come, nothing would ever happen. Requests
/// that fail are repeated for ever where the user has not said how long.
void Steward::give_up_in_vain() {
  if (is_training_over() || (nodes_.is_ending() && !groups_)) return;
  const auto members = std::ranges::count_if(slots_, &WorkerPlace::is_member);
  if (members > 0 && (!is_paused_ || nodes_.is_ending())) return;
  const Experiment::Recovery& recovery = job_.spec().experiment.recovery;
  const auto may_come = [this](const WorkerPlace& slot) {
    return !slot.is_member && machines_.may_have(slot.machine, notices_.now());
  };
  if (machines_.next()) return;
  if (tick_ && (recovery.give_up > Seconds(0) || std::ranges::any_of(slots_, may_come))) return;
  const std::string who = members == 0
                              ? "the machines of all workers have departed"
                              : std::to_string(members) + " of at least " + std::to_string(recovery.least) +
                                    " workers (recovery.least) are left";
  throw WorldError("the job gives up: " + who + ", and no replacement can come up (recovery.policy " +
                   recovery.policy + ")");
}

void Steward::wait_for_events() {
  const std::optional<Seconds> next = next_event();
  give_up_in_vain();
  Pending& timer = awaited_.back();
  if (next) timer = context_.sleep(std::max(Seconds(0), *next - notices_.now()));
  const Completion completion = context_.wait_any(awaited_);
  if (completion.index + 1 == awaited_.size()) {
    // A timer may end a little early.
    pass_time(std::max(notices_.now(), *next));
  } else {
    if (!timer.empty()) {
      context_.cancel(timer);
      context_.wait(timer);
    }
    hear(completion.index, completion.note);
  }
  // At the end of the job nothing resumes any more, and all who are left have to finish.
  if (groups_ && !is_training_over()) groups_->advance(!is_paused_ || nodes_.is_ending());
  nodes_.end_stores();
}

/// `entry`: of awaited_.
void Steward::hear(std::size_t entry, const Note& note) {
  Pending& next = awaited_[entry];
  if (entry < deciders_.size()) return hear_end(entry);
  if (const std::size_t node = entry - deciders_.size(); node < nodes_.size())
    return nodes_.hear(node, note, next);
  const std::size_t slot = entry - deciders_.size() - nodes_.size();
  next = groups_->listen(slot);
  // Nobody would have anything left to do.
  if (groups_->hear(static_cast<int>(slot), note)) nodes_.end_joins();
}

/// Of workers first, of two at the same time.
bool Steward::handle_next(Seconds time) {
  const auto of_workers = machines_.next(), of_nodes = nodes_.next_of_machines();
  const bool is_of_node = of_nodes && (!of_workers || *of_nodes < *of_workers);
  if (!is_of_node && !of_workers) return false;
  if ((is_of_node ? *of_nodes : *of_workers) > time) return false;
  if (is_of_node)
    nodes_.take_event(time);
  else if (const auto event = machines_.take(time))
    handle(*event);
  return true;
}

void Steward::pass_time(Seconds time) {
  while (handle_next(time)) {
  }
  nodes_.give_up_stores(time);
  if (!tick_ || *tick_ > time) return;
  tick_.reset();
  give(recovery::Tick{time});
}

/// The coordinator asks first whether workers can still join; then every decider ends.
void Steward::hear_end(std::size_t decider) {
  const Rank rank = deciders_[decider];
  if (has_told_end_) {
    --running_deciders_;
    return;
  }
  has_told_end_ = true;
  nodes_.end_joins();
  tell_deciders(protocol::End{});
  awaited_[decider] = protocol::receive<"ends-of-job">(context_, rank);
}

void Steward::handle(const MachineEvent& event) {
  using What = MachineEvent::What;
  WorkerPlace& slot = at(event.slot);
  const Seconds at = std::max(event.at, Seconds(0));
  if (event.what == What::noticed && slot.is_member) {
    slot.is_member = false;
    notices_.begin_epoch();
    note_left(event.slot, slot.in_launch(event.incarnation));
  }
  notices_.on_event(slot, event);
  switch (event.what) {
    case What::warned:
      return give(recovery::Warned{at, event.slot, event.notice});
    case What::departed:
      return;
    case What::noticed:
      return give(recovery::Departed{event.at, event.slot, event.incarnation, event.how});
    case What::ready:
      return give(recovery::Ready{at, event.slot, event.incarnation});
    case What::refused:
      return give(recovery::RequestFailed{at, event.slot});
  }
}

/// `incarnation`: as this launch counts.
void Steward::note_left(int slot, int incarnation) {
  if (notices_.is_past()) return;
  if (groups_ && !is_training_over()) groups_->leave(slot);
  const protocol::Departed note{.worker = slot, .incarnation = incarnation};
  tell_deciders(note);
  nodes_.tell(note);
}

/// Once workers can no longer join, nothing is left to decide.
void Steward::give(const recovery::Event& event) {
  if (nodes_.is_ending()) return;
  const recovery::Decisions decisions = recovery::decide(*policy_, event);
  if (journal_.keep_decisions)
    journal_.decisions.push_back(
        {context_.rank(), "recovery", recovery::to_text(event), recovery::to_text(decisions)});
  carry_out(decisions);
}

void Steward::carry_out(const recovery::Decisions& decisions) {
  for (const auto& decision : decisions) {
    if (const auto* request = std::get_if<recovery::Request>(&decision)) {
      notices_.record(at(request->slot), "requested");
      machines_.request(request->slot, notices_.now());
    }
    if (const auto* admitted = std::get_if<recovery::Admit>(&decision)) admit(admitted->slot);
    if (std::holds_alternative<recovery::Pause>(decision)) pause(true);
    if (std::holds_alternative<recovery::Resume>(decision)) pause(false);
    if (const auto* wake = std::get_if<recovery::WakeAt>(&decision)) tick_ = wake->at;
    if (const auto* end = std::get_if<recovery::GiveUp>(&decision))
      throw WorldError("the job gives up: " + end->why);
    TANDEM_CHECK(!std::holds_alternative<recovery::Rollback>(decision) &&
                     !std::holds_alternative<recovery::Release>(decision),
                 "a policy that recovers in place rolled back");
  }
}

void Steward::pause(bool paused) {
  notices_.record_job(paused ? "paused" : "resumed");
  is_paused_ = paused;
  tell_deciders(protocol::Training{.paused = paused});
}

void Steward::admit(int slot) {
  WorkerPlace& admitted = at(slot);
  admitted.is_member = true;
  notices_.begin_epoch();
  notices_.record(admitted, "joined");
  notices_.announce(admitted);
  note_joined(slot);
}

void Steward::note_joined(int slot) {
  if (notices_.is_past()) return;
  const int incarnation = at(slot).in_launch(at(slot).incarnation);
  if (groups_) groups_->join(slot, incarnation);
  const protocol::Joined note{.worker = slot, .incarnation = incarnation};
  tell_deciders(note);
  nodes_.tell(note);
}

void Steward::tell_deciders(const MembershipNote& note) {
  for (const Rank decider : deciders_) notices_.tell<"membership">(decider, note);
}

}  // namespace tandem
