#include "workloads/roles/steward.hpp"

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

Steward::Steward(const Job& job, Context& context, Journal& journal)
    : job_(job),
      context_(context),
      journal_(journal),
      known_(job.spec().directory),
      machines_(job.spec().experiment.transience, fates_of(job), job.roster().workers().size()),
      policy_(make_recovery_policy(job)),
      deciders_(job.roster().deciders()),
      running_deciders_(deciders_.size()) {
  if (job.generation() != nullptr) began_ = job.generation()->began;
  for (const Rank worker : job.roster().workers()) {
    Slot& slot = slots_.emplace_back();
    slot.rank = worker;
    slot.worker = slot.machine = static_cast<int>(slots_.size()) - 1;
    slot.machines = &machines_;
  }
  if (job.exchange().route() != sync::Route::server)
    agreement_.emplace(static_cast<int>(slots_.size()),
                       static_cast<int>(job.roster().first_workers().size()));
  add_nodes();
}

void Steward::run() {
  start();
  while (!is_over()) wait_for_events();
  if (agreement_) end_groups();
  for (const Slot& slot : slots_) tell<"membership">(slot.rank, protocol::End{});
  end_nodes();
  context_.wait_all(told_);
  if (awaited_.back().empty()) return;
  context_.cancel(awaited_.back());
  context_.wait(awaited_.back());
}

bool Steward::is_training_over() const {
  return running_deciders_ == 0 && (!agreement_ || agreement_->is_over());
}

/// A worker may depart while it ends what it has with its cache node, which must hear of it.
bool Steward::is_over() const {
  return is_training_over() &&
         std::ranges::all_of(nodes_, [this](const Node& node) { return has_ended(node); });
}

void Steward::start() {
  for (const Rank decider : deciders_)
    awaited_.push_back(protocol::receive<"ends-of-job">(context_, decider));
  for (const Node& node : nodes_) awaited_.push_back(protocol::receive<"ends-of-job">(context_, node.rank));
  awaited_.resize(awaited_.size() + (agreement_ ? slots_.size() : 0) + 1);
  for (int slot = 0; agreement_ && slot < static_cast<int>(slots_.size()); ++slot) listen_to_group(slot);
  const Generation* const launch = job_.generation();
  if (launch == nullptr || launch->number() == 0) return occupy_first_slots();
  catch_up(launch->launched);
  begin_again();
}

void Steward::occupy_first_slots() {
  const std::size_t workers = job_.roster().first_workers().size();
  for (Slot& slot : std::span(slots_).first(workers)) {
    slot.incarnation = machines_.occupy(slot.machine, Seconds(0));
    slot.is_member = true;
    record(slot, "joined");
    announce(slot);
  }
  occupy_nodes();
  give(recovery::Started{Seconds(0), static_cast<int>(workers)});
}

void Steward::catch_up(Seconds launched) {
  past_ = Seconds(0);
  occupy_first_slots();
  for (auto next = next_event(); next && *next <= launched; next = next_event()) {
    past_ = std::max(*next, *past_);
    pass_time(*past_);
  }
  past_.reset();
}

/// All roles begin this launch as the first one, with the first occupant in each slot but those for spares:
/// they hear of the slots for which that is wrong.
void Steward::begin_again() {
  const auto first = static_cast<int>(job_.roster().first_workers().size());
  for (int index = 0; index < static_cast<int>(slots_.size()); ++index) {
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    slot.begin_launch();
    // Nobody may have noticed yet that its machine has departed.
    if (slot.is_member && !slot.is_gone) announce(slot);
    if (slot.is_member == (index < first)) continue;
    if (slot.is_member) {
      note_joined(index);
    } else {
      constexpr int first_occupant = 1;
      note_left(index, first_occupant);
    }
  }
  begin_nodes_again();
  if (is_paused_) tell_deciders(protocol::Training{.paused = true});
}

/// Since the job began.
Seconds Steward::now() const { return past_.value_or(began_ + context_.now()); }

namespace {

std::optional<Seconds> earlier(std::optional<Seconds> one, std::optional<Seconds> other) {
  return one && (!other || *one <= *other) ? one : other;
}

}  // namespace

std::optional<Seconds> Steward::next_of_workers() const { return earlier(machines_.next(), tick_); }

std::optional<Seconds> Steward::next_event() const {
  const auto of_nodes = node_machines_ ? node_machines_->next() : std::nullopt;
  return earlier(next_of_workers(), earlier(of_nodes, next_of_stores()));
}

/// Without machines, or with too few, and without one that will come, nothing would ever happen. Requests
/// that fail are repeated for ever where the user has not said how long.
void Steward::give_up_in_vain() {
  if (is_training_over() || (is_ending_ && !agreement_)) return;
  const auto members = std::ranges::count_if(slots_, &Slot::is_member);
  if (members > 0 && (!is_paused_ || is_ending_)) return;
  const Experiment::Recovery& recovery = job_.spec().experiment.recovery;
  const auto may_come = [this](const Slot& slot) {
    return !slot.is_member && machines_.may_have(slot.machine, now());
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
  if (next) awaited_.back() = context_.sleep(std::max(Seconds(0), *next - now()));
  const Completion completion = context_.wait_any(awaited_);
  if (completion.index + 1 == awaited_.size()) {
    // A timer may end a little early.
    pass_time(std::max(now(), *next));
  } else {
    if (!awaited_.back().empty()) {
      context_.cancel(awaited_.back());
      context_.wait(awaited_.back());
    }
    const std::size_t listeners = deciders_.size() + nodes_.size();
    if (completion.index < deciders_.size())
      hear_end(completion.index);
    else if (completion.index < listeners)
      hear_node(nodes_[completion.index - deciders_.size()], completion.note);
    else
      hear_group(static_cast<int>(completion.index - listeners), completion.note);
  }
  if (agreement_ && !is_training_over()) advance_agreement();
  end_stores();
}

/// Of workers first, of two at the same time.
bool Steward::handle_next(Seconds time) {
  const auto of_workers = machines_.next();
  const auto of_nodes = node_machines_ ? node_machines_->next() : std::nullopt;
  const bool is_of_node = of_nodes && (!of_workers || *of_nodes < *of_workers);
  if (!is_of_node && !of_workers) return false;
  if ((is_of_node ? *of_nodes : *of_workers) > time) return false;
  const auto event = (is_of_node ? *node_machines_ : machines_).take(time);
  if (event && is_of_node) handle_node(*event);
  if (event && !is_of_node) handle(*event);
  return true;
}

void Steward::pass_time(Seconds time) {
  while (handle_next(time)) {
  }
  give_up_stores(time);
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
  end_joins();
  tell_deciders(protocol::End{});
  awaited_[decider] = protocol::receive<"ends-of-job">(context_, rank);
}

/// A cache node ends when the workers that it has then have ended.
void Steward::end_joins() {
  if (std::exchange(is_ending_, true)) return;
  tell_all(Roster::Role::cache_node, protocol::End{});
}

/// What an event means for the machines of any place, and for the occupant.
void Steward::note_event(Place& place, const MachineEvent& event) {
  using What = MachineEvent::What;
  switch (event.what) {
    case What::warned:
      return record(place, "warned");
    case What::departed:
      record(place, "departed", to_text(event.how));
      // A machine that waits has no occupant.
      if (place.announced != event.incarnation) return;
      place.is_gone = true;
      if (!place.departs_by_itself) tell_occupancy(place, event.incarnation, std::max(event.at, Seconds(0)));
      return;
    case What::noticed:
      return record(place, "noticed", to_text(event.how));
    case What::ready:
      place.incarnation = event.incarnation;
      return record(place, "ready");
    case What::refused:
      return record(place, "refused");
  }
}

void Steward::handle(const MachineEvent& event) {
  using What = MachineEvent::What;
  Slot& slot = slots_[static_cast<std::size_t>(event.slot)];
  const Seconds at = std::max(event.at, Seconds(0));
  if (event.what == What::noticed && slot.is_member) {
    slot.is_member = false;
    ++epoch_;
    note_left(event.slot, slot.in_launch(event.incarnation));
  }
  note_event(slot, event);
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
  if (past_) return;
  if (agreement_ && !is_training_over()) agreement_->leave(slot);
  const protocol::Departed note{.worker = slot, .incarnation = incarnation};
  tell_deciders(note);
  tell_all(Roster::Role::cache_node, note);
  tell_stores(note);
}

/// Once workers can no longer join, nothing is left to decide.
void Steward::give(const recovery::Event& event) {
  if (is_ending_) return;
  const recovery::Decisions decisions = recovery::decide(*policy_, event);
  if (journal_.keep_decisions)
    journal_.decisions.push_back(
        {context_.rank(), "recovery", recovery::to_text(event), recovery::to_text(decisions)});
  carry_out(decisions);
}

void Steward::carry_out(const recovery::Decisions& decisions) {
  for (const auto& decision : decisions) {
    if (const auto* request = std::get_if<recovery::Request>(&decision)) {
      record(slots_[static_cast<std::size_t>(request->slot)], "requested");
      machines_.request(request->slot, now());
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
  constexpr int no_slot = -1;
  note({.time = now() - began_, .slot = no_slot, .event = paused ? "paused" : "resumed", .epoch = epoch_});
  is_paused_ = paused;
  tell_deciders(protocol::Training{.paused = paused});
}

void Steward::admit(int slot) {
  Slot& admitted = slots_[static_cast<std::size_t>(slot)];
  admitted.is_member = true;
  ++epoch_;
  record(admitted, "joined");
  announce(admitted);
  note_joined(slot);
}

void Steward::note_joined(int slot) {
  Slot& joined = slots_[static_cast<std::size_t>(slot)];
  if (past_) return;
  const int incarnation = joined.in_launch(joined.incarnation);
  if (agreement_) {
    joined.has_arrived = false;
    agreement_->join(slot, incarnation);
  }
  const protocol::Joined note{.worker = slot, .incarnation = incarnation};
  tell_deciders(note);
  tell_all(Roster::Role::cache_node, note);
  tell_stores(note);
}

/// To the place: who lives there, and when that departs, if this is known.
void Steward::announce(Place& place) {
  const auto departs = place.machines->known_departure(place.machine);
  place.announced = place.incarnation;
  place.is_gone = false;
  place.departs_by_itself = departs.has_value();
  constexpr Seconds never(std::numeric_limits<double>::infinity());
  tell_occupancy(place, place.incarnation, departs.value_or(never));
}

/// Places count as this launch does, and on its clock.
void Steward::tell_occupancy(const Place& place, int incarnation, Seconds departs) {
  const protocol::Occupancy note{
      .incarnation = place.in_launch(incarnation), .departs = departs - began_, .before = place.before};
  if (place.role == Roster::Role::worker)
    tell<"membership">(place.rank, note);
  else
    tell<"occupancies">(place.rank, note);
}

void Steward::tell_deciders(const MembershipNote& note) {
  for (const Rank decider : deciders_) tell<"membership">(decider, note);
}

/// Rows of machines without workers have no slot.
void Steward::record(const Place& place, const std::string& event, const std::string& cause) {
  note({.time = now() - began_,
        .slot = place.worker,
        .incarnation = place.incarnation,
        .host = job_.roster().host_of(place.rank),
        .event = event,
        .cause = cause,
        .epoch = epoch_,
        .role = role_name(place.role)});
}

/// `change`: with its time in this launch.
void Steward::note(const MembershipRecord& change) {
  journal_.membership.push_back(change);
  MembershipRecord of_job = change;
  of_job.time += began_;
  known_.add(of_job);
}

}  // namespace tandem
