#include "workloads/membership/restart_steward.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "policies/recovery/replay.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

/// While no generation runs: more would follow.
constexpr int most_events = 1'000'000;

}  // namespace

RestartSteward::RestartSteward(Machines machines, std::unique_ptr<recovery::Policy> policy,
                               std::vector<std::string> hosts, std::vector<Needed> needed)
    : machines_(std::move(machines)), policy_(std::move(policy)), workers_(static_cast<int>(hosts.size())) {
  for (std::string& host : hosts) slots_.push_back({.host = std::move(host)});
  for (Needed& machine : needed)
    slots_.push_back({.host = std::move(machine.host), .roles = std::move(machine.roles)});
  const Seconds begin(0);
  for (int slot = policy_ ? 0 : workers_; slot < static_cast<int>(slots_.size()); ++slot) occupy(begin, slot);
  if (policy_) give(begin, recovery::Started{begin, workers_});
  start_ = begin;
  members_ = admitted();
  look_ahead();
}

/// As the job begins.
void RestartSteward::occupy(Seconds now, int slot) {
  Slot& of = slots_[static_cast<std::size_t>(slot)];
  of.incarnation = machines_.occupy(slot, now);
  of.is_there = of.is_member = true;
  record(now, slot, "joined");
}

Seconds RestartSteward::begin_next() {
  TANDEM_CHECK(end_, "the generation does not end");
  start_.reset();
  departed_meanwhile_ = std::exchange(departed_apart_, {});
  start_if_complete(std::exchange(end_, std::nullopt)->at);
  int events = 0;
  // What happens at that very time belongs to it: a machine that is still there is had at once.
  while (!start_ || is_due(*start_)) {
    const auto complete = std::exchange(start_, std::nullopt);
    if (!advance())
      throw WorldError(
          "the job gives up: machines have departed, and no other one is coming (recovery.policy)");
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

/// Whether something happens to machines until then.
bool RestartSteward::is_due(Seconds time) const {
  const auto next = machines_.next();
  return next && *next <= time;
}

/// Finds the end of the generation that runs: what the job does has no influence on its machines.
void RestartSteward::look_ahead() {
  for (int events = 0; !end_; ++events) {
    if (!advance()) return;
    if (events > most_events)
      throw WorldError(
          "the job gives up: machines of workers that it lacks come up and depart without end while the "
          "others stay (transience.lifetime, recovery.options)");
  }
}

/// The slots of the workers that the policy has admitted.
std::vector<int> RestartSteward::admitted() const {
  std::vector<int> slots;
  for (int slot = 0; slot < workers_; ++slot)
    if (slots_[static_cast<std::size_t>(slot)].is_member) slots.push_back(slot);
  return slots;
}

/// A machine that has departed unnoticed cannot start; the policy decides again when it knows.
void RestartSteward::start_if_complete(Seconds now) {
  const auto lacks_machine = [](const Slot& slot) { return slot.is_member && !slot.is_there; };
  if (start_ || is_paused_ || std::ranges::any_of(slots_, lacks_machine)) return;
  start_ = now;
  members_ = admitted();
}

/// The policy starts all again: with a machine that has come up.
void RestartSteward::end_if_changed(Seconds now) {
  if (!start_ || end_) return;
  for (const int slot : admitted()) {
    if (std::ranges::binary_search(members_, slot)) continue;
    const Slot& of = slots_[static_cast<std::size_t>(slot)];
    end_ = {.at = now, .slot = slot, .incarnation = of.incarnation, .host = of.host};
    return;
  }
}

/// To the next event; false: there is none.
bool RestartSteward::advance() {
  std::optional<Seconds> next = machines_.next();
  if (tick_ && (!next || *tick_ < *next)) next = tick_;
  if (!next) return false;
  if (const auto event = machines_.take(*next)) {
    handle(*event);
  } else if (tick_ && *tick_ <= *next) {
    const Seconds now = *std::exchange(tick_, std::nullopt);
    give(now, recovery::Tick{now});
  }
  return true;
}

void RestartSteward::handle(const MachineEvent& event) {
  using What = MachineEvent::What;
  Slot& slot = slots_[static_cast<std::size_t>(event.slot)];
  switch (event.what) {
    case What::warned:
      record(event.at, event.slot, "warned");
      if (is_needed(event.slot)) return;
      warnings_.push_back({event.at, event.at + event.notice, event.slot});
      return give(event.at, recovery::Warned{event.at, event.slot, event.notice});
    case What::departed:
      return note_departure(event);
    case What::noticed:
      if (is_needed(event.slot)) {
        record(event.at, event.slot, "noticed", to_text(event.how));
        record(event.at, event.slot, "requested");
        return machines_.request(event.slot, event.at);
      }
      if (std::exchange(slot.is_member, false)) ++epoch_;
      record(event.at, event.slot, "noticed", to_text(event.how));
      return give(event.at, recovery::Departed{event.at, event.slot, event.incarnation, event.how});
    case What::ready:
      slot.incarnation = event.incarnation;
      slot.is_there = true;
      record(event.at, event.slot, "ready");
      if (is_needed(event.slot)) {
        record(event.at, event.slot, "joined");
        return start_if_complete(event.at);
      }
      return give(event.at, recovery::Ready{event.at, event.slot, event.incarnation});
    case What::refused:
      return refuse(event);
  }
}

void RestartSteward::note_departure(const MachineEvent& event) {
  Slot& slot = slots_[static_cast<std::size_t>(event.slot)];
  slot.is_there = false;
  record(event.at, event.slot, "departed", to_text(event.how));
  if (!start_) {
    departed_meanwhile_.push_back(event.slot);
  } else if (!is_needed(event.slot) && !std::ranges::binary_search(members_, event.slot)) {
    departed_apart_.push_back(event.slot);
  } else if (!end_) {
    end_ = {.at = event.at,
            .slot = event.slot,
            .incarnation = event.incarnation,
            .host = slot.host,
            .how = event.how,
            .roles = slot.roles};
  }
}

void RestartSteward::refuse(const MachineEvent& event) {
  record(event.at, event.slot, "refused");
  if (is_needed(event.slot)) {
    const Slot& slot = slots_[static_cast<std::size_t>(event.slot)];
    throw WorldError("the job gives up: no machine can be had any more for the " + slot.roles + " on '" +
                     slot.host + "' (tandem:lifetime)");
  }
  // Those that are there are enough. The policy, which would ask again for ever, hears no answer.
  if (!is_paused_) return;
  give(event.at, recovery::RequestFailed{event.at, event.slot});
  throw WorldError("the job gives up: no machine can be had any more for worker " +
                   std::to_string(event.slot) + " (transience.lifetime)");
}

void RestartSteward::give(Seconds now, const recovery::Event& event) {
  constexpr Rank launcher = -1;
  const recovery::Decisions decisions = recovery::decide(*policy_, event);
  decisions_.push_back({now, {launcher, "recovery", recovery::to_text(event), recovery::to_text(decisions)}});
  carry_out(now, decisions);
}

void RestartSteward::carry_out(Seconds now, const recovery::Decisions& decisions) {
  for (const auto& decision : decisions) {
    if (const auto* request = std::get_if<recovery::Request>(&decision)) {
      record(now, request->slot, "requested");
      machines_.request(request->slot, now);
    }
    if (const auto* admitted = std::get_if<recovery::Admit>(&decision)) {
      slots_[static_cast<std::size_t>(admitted->slot)].is_member = true;
      ++epoch_;
      record(now, admitted->slot, "joined");
    }
    if (const auto* released = std::get_if<recovery::Release>(&decision)) {
      TANDEM_CHECK(!start_, "a member was released while its generation runs, in slot", released->slot);
      slots_[static_cast<std::size_t>(released->slot)].is_member = false;
      ++epoch_;
      record(now, released->slot, "released");
    }
    if (const auto* wake = std::get_if<recovery::WakeAt>(&decision)) tick_ = wake->at;
    if (const auto* end = std::get_if<recovery::GiveUp>(&decision))
      throw WorldError("the job gives up: " + end->why);
    if (std::holds_alternative<recovery::Pause>(decision)) is_paused_ = true;
    if (std::holds_alternative<recovery::Resume>(decision)) is_paused_ = false;
    if (std::holds_alternative<recovery::Rollback>(decision)) end_if_changed(now);
  }
  start_if_complete(now);
}

void RestartSteward::record(Seconds now, int slot, const std::string& event, const std::string& cause) {
  const Slot& of = slots_[static_cast<std::size_t>(slot)];
  constexpr int no_worker = -1;
  membership_.push_back({.time = now,
                         .slot = is_needed(slot) ? no_worker : slot,
                         .incarnation = of.incarnation,
                         .host = of.host,
                         .event = event,
                         .cause = cause,
                         .epoch = epoch_,
                         .role = is_needed(slot) ? of.roles : "worker"});
}

}  // namespace tandem
