#include "workloads/membership/membership.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "policies/recovery/replay.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {

Membership::Membership(const Setting& setting, Machines machines, std::unique_ptr<recovery::Policy> policy)
    : setting_(setting),
      machines_(std::move(machines)),
      policy_(std::move(policy)),
      slots_(static_cast<std::size_t>(setting.slots)) {
  TANDEM_CHECK(setting.workers <= setting.slots, setting.workers, setting.slots);
}

Membership::Step Membership::begin(int first) {
  TANDEM_CHECK(first <= setting_.workers, first, setting_.workers);
  Step step;
  for (int slot = 0; policy_ && slot < first; ++slot) occupy(slot, step);
  for (int slot = setting_.workers; slot < setting_.slots; ++slot) occupy(slot, step);
  if (policy_) ask(recovery::Started{step.at, first}, step);
  return step;
}

/// As the job begins.
void Membership::occupy(int slot, Step& step) {
  Slot& occupied = at(slot);
  occupied.incarnation = machines_.occupy(slot, step.at);
  occupied.has_machine = true;
  occupied.is_member = is_of_worker(slot);
  act(MemberAction::What::joined, slot, step);
}

std::optional<Seconds> Membership::next() const {
  const auto of_machines = machines_.next();
  return tick_ && (!of_machines || *tick_ < *of_machines) ? tick_ : of_machines;
}

/// Of two steps at the same time, that of a machine comes first.
Membership::Step Membership::take() {
  const auto time = next();
  TANDEM_CHECK(time, "nothing happens any more");
  Step step{.at = std::max(*time, Seconds(0))};
  if (const auto event = machines_.take(*time)) {
    handle(*event, step);
  } else if (tick_ && *tick_ <= *time) {
    tick_.reset();
    ask(recovery::Tick{step.at}, step);
  }
  return step;
}

void Membership::handle(const MachineEvent& event, Step& step) {
  using What = MachineEvent::What;
  Slot& slot = at(event.slot);
  if (event.what == What::departed) slot.has_machine = false;
  const bool ends_member = event.what == What::noticed && slot.is_member;
  if (ends_member) change(event.slot, false);
  if (event.what == What::ready) slot = {.incarnation = event.incarnation, .has_machine = true};
  act(MemberAction::What::machine, event.slot, step);
  step.actions.back().machine = event;
  step.actions.back().ends_member = ends_member;
  if (is_of_worker(event.slot)) inform(event, step);
}

/// The policy.
void Membership::inform(const MachineEvent& event, Step& step) {
  switch (event.what) {
    case MachineEvent::What::warned:
      return ask(recovery::Warned{step.at, event.slot, event.notice}, step);
    case MachineEvent::What::departed:
      return;
    case MachineEvent::What::noticed:
      return ask(recovery::Departed{step.at, event.slot, event.incarnation, event.how}, step);
    case MachineEvent::What::ready:
      return ask(recovery::Ready{step.at, event.slot, event.incarnation}, step);
    case MachineEvent::What::refused:
      return refuse(event, step);
  }
}

/// Without a pause, those that are there are enough.
void Membership::refuse(const MachineEvent& event, Step& step) {
  if (!setting_.may_ask_again && !is_paused_) return;
  ask(recovery::RequestFailed{step.at, event.slot}, step);
  if (setting_.may_ask_again || step.actions.back().what == MemberAction::What::gave_up) return;
  act(MemberAction::What::gave_up, event.slot, step);
  step.actions.back().why =
      "no machine can be had any more for worker " + std::to_string(event.slot) + " (transience.lifetime)";
}

void Membership::ask(const recovery::Event& event, Step& step) {
  if (is_closed_) return;
  step.event = event;
  step.decisions = recovery::decide(*policy_, event);
  for (const recovery::Decision& decision : step.decisions) carry_out(decision, step);
}

void Membership::carry_out(const recovery::Decision& decision, Step& step) {
  using What = MemberAction::What;
  constexpr int all = -1;
  if (const auto* request = std::get_if<recovery::Request>(&decision)) {
    machines_.request(request->slot, step.at);
    act(What::requested, request->slot, step);
  } else if (const auto* admitted = std::get_if<recovery::Admit>(&decision)) {
    change(admitted->slot, true);
    act(What::joined, admitted->slot, step);
  } else if (const auto* released = std::get_if<recovery::Release>(&decision)) {
    change(released->slot, false);
    act(What::released, released->slot, step);
  } else if (const auto* wake = std::get_if<recovery::WakeAt>(&decision)) {
    tick_ = wake->at;
  } else if (const auto* end = std::get_if<recovery::GiveUp>(&decision)) {
    act(What::gave_up, all, step);
    step.actions.back().why = end->why;
  } else if (std::holds_alternative<recovery::Rollback>(decision)) {
    act(What::restarted, all, step);
  } else {
    is_paused_ = std::holds_alternative<recovery::Pause>(decision);
    act(is_paused_ ? What::paused : What::resumed, all, step);
  }
}

/// Another view begins.
void Membership::change(int slot, bool is_member) {
  at(slot).is_member = is_member;
  ++view_;
}

void Membership::act(MemberAction::What what, int slot, Step& step) const {
  step.actions.push_back({.what = what, .at = step.at, .slot = slot, .view = view_});
}

std::vector<int> Membership::members() const {
  std::vector<int> members;
  for (int slot = 0; slot < setting_.workers; ++slot)
    if (is_member(slot)) members.push_back(slot);
  return members;
}

/// Requests that fail are repeated without end, unless the user has set a limit.
bool Membership::waits_in_vain(Seconds now) {
  const bool is_empty = std::ranges::none_of(slots_, &Slot::is_member);
  if (!is_empty && (!is_paused_ || is_closed_)) return false;
  if (machines_.next()) return false;
  if (!tick_) return true;
  if (setting_.has_deadline) return false;
  for (int slot = 0; slot < setting_.workers; ++slot)
    if (!is_member(slot) && machines_.may_have(slot, now)) return false;
  return true;
}

}  // namespace tandem
