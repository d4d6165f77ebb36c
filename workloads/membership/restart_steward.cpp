#include "workloads/membership/restart_steward.hpp"

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

/// While no generation runs: more would follow.
constexpr int most_events = 1'000'000;

}  // namespace

RestartSteward::RestartSteward(Machines machines, std::unique_ptr<recovery::Policy> policy,
                               std::vector<std::string> hosts, std::vector<Needed> needed)
    : workers_(static_cast<int>(hosts.size())),
      slots_(slots_of(std::move(hosts), std::move(needed))),
      // With a policy that asks again and again, a generation might have no end.
      membership_({.workers = workers_, .slots = static_cast<int>(slots_.size()), .may_ask_again = false},
                  std::move(machines), std::move(policy)) {
  perform(membership_.begin(workers_));
  look_ahead();
}

std::vector<RestartSteward::Slot> RestartSteward::slots_of(std::vector<std::string> hosts,
                                                           std::vector<Needed> needed) {
  std::vector<Slot> slots;
  for (std::string& host : hosts) slots.push_back({.host = std::move(host)});
  for (Needed& machine : needed)
    slots.push_back({.host = std::move(machine.host), .roles = std::move(machine.roles)});
  return slots;
}

Seconds RestartSteward::begin_next(std::optional<Seconds> latest) {
  TANDEM_CHECK(end_, "the generation does not end");
  start_.reset();
  departed_meanwhile_ = std::exchange(departed_apart_, {});
  start_if_complete(std::exchange(end_, std::nullopt)->at);
  int events = 0;
  // Events at exactly that time belong to it: a machine that is still there is available immediately.
  while (!start_ || is_due(*start_)) {
    const auto complete = std::exchange(start_, std::nullopt);
    if (!membership_.next())
      throw WorldError(
          "the job gives up: machines have departed, and no other one is coming (recovery.policy)");
    if (latest && *membership_.next() > *latest)
      throw TooLate("the job gives up: machines depart before all workers have one, for too long");
    perform(membership_.take());
    if (complete) start_if_complete(*complete);
    if (++events > most_events)
      throw WorldError(
          "the job gives up: machines depart before all workers have one (transience.lifetime, "
          "transience.start)");
  }
  const Seconds start = *start_;
  std::erase_if(warnings_, [&](const DrawnWarning& warning) { return warning.departs <= start; });
  look_ahead();
  return start;
}

std::vector<TimedDecision> RestartSteward::decisions() const {
  constexpr Rank launcher = -1;
  std::vector<TimedDecision> all;
  for (const Decided& one : decided_)
    all.push_back(
        {one.at, {launcher, "recovery", recovery::to_text(one.event), recovery::to_text(one.decisions)}});
  return all;
}

/// Whether something happens to machines until then.
bool RestartSteward::is_due(Seconds time) const {
  const auto next = membership_.machines().next();
  return next && *next <= time;
}

/// Finds the end of the generation that runs: the job has no influence on its machines.
void RestartSteward::look_ahead() {
  for (int events = 0; !end_ && membership_.next(); ++events) {
    perform(membership_.take());
    if (events > most_events)
      throw WorldError(
          "the job gives up: machines of workers that it lacks come up and depart without end while the "
          "others stay (transience.lifetime, recovery.options)");
  }
}

/// A machine that has departed unnoticed cannot start; the policy decides again when it knows.
void RestartSteward::start_if_complete(Seconds now) {
  if (start_ || membership_.is_paused()) return;
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot)
    if ((is_needed(slot) || membership_.is_member(slot)) && !membership_.has_machine(slot)) return;
  start_ = now;
  members_ = membership_.members();
}

/// The policy starts all again: with a machine that has come up.
void RestartSteward::end_if_changed(Seconds now) {
  if (!start_ || end_) return;
  for (const int slot : membership_.members()) {
    if (std::ranges::binary_search(members_, slot)) continue;
    end_ = {.at = now, .slot = slot, .incarnation = membership_.incarnation(slot), .host = at(slot).host};
    return;
  }
}

void RestartSteward::perform(const Membership::Step& step) {
  if (step.event) decided_.push_back({step.at, *step.event, step.decisions});
  for (const MemberAction& action : step.actions) carry_out(action);
  start_if_complete(step.at);
}

void RestartSteward::carry_out(const MemberAction& action) {
  using What = MemberAction::What;
  switch (action.what) {
    case What::machine:
      return note_event(action);
    case What::released:
      TANDEM_CHECK(!start_, "a member was released while its generation runs, in slot", action.slot);
      return record(action, to_text(action.what));
    case What::requested:
    case What::joined:
      return record(action, to_text(action.what));
    case What::restarted:
      return end_if_changed(action.at);
    case What::gave_up:
      throw WorldError("the job gives up: " + action.why);
    case What::paused:
    case What::resumed:
      return;
  }
}

void RestartSteward::note_event(const MemberAction& action) {
  const MachineEvent& event = action.machine;
  record(action, to_text(event.what), cause_text(event));
  switch (event.what) {
    case MachineEvent::What::warned:
      if (!is_needed(event.slot)) warnings_.push_back({event.at, event.at + event.notice, event.slot});
      return;
    case MachineEvent::What::departed:
      return note_departure(event);
    case MachineEvent::What::noticed:
      if (!is_needed(event.slot)) return;
      record(action, "requested");
      return membership_.request(event.slot, action.at);
    case MachineEvent::What::ready:
      if (is_needed(event.slot)) record(action, "joined");
      return;
    case MachineEvent::What::refused:
      if (is_needed(event.slot))
        throw WorldError("the job gives up: no machine can be had any more for the " + at(event.slot).roles +
                         " on '" + at(event.slot).host + "' (tandem:lifetime)");
      return;
  }
}

void RestartSteward::note_departure(const MachineEvent& event) {
  if (!start_) {
    departed_meanwhile_.push_back(event.slot);
  } else if (!is_needed(event.slot) && !std::ranges::binary_search(members_, event.slot)) {
    departed_apart_.push_back(event.slot);
  } else if (!end_) {
    end_ = {.at = event.at,
            .slot = event.slot,
            .incarnation = event.incarnation,
            .host = at(event.slot).host,
            .how = event.how,
            .roles = at(event.slot).roles};
  }
}

void RestartSteward::record(const MemberAction& action, const std::string& event, const std::string& cause) {
  const Slot& slot = at(action.slot);
  constexpr int no_worker = -1;
  records_.push_back({.time = action.at,
                      .slot = is_needed(action.slot) ? no_worker : action.slot,
                      .incarnation = membership_.incarnation(action.slot),
                      .host = slot.host,
                      .event = event,
                      .cause = cause,
                      .view = action.view,
                      .role = is_needed(action.slot) ? slot.roles : "worker"});
}

}  // namespace tandem
