#include "policies/recovery/slot_policy.hpp"

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/line_codec.hpp"

namespace tandem::recovery {

SlotPolicy::SlotPolicy(const Setting& setting, const RequestRules& rules)
    : setting_(setting), slots_(setting.slots), waits_(setting, rules) {
  TANDEM_CHECK(setting.workers >= 1 && setting.slots >= setting.workers, "workers", setting.workers, "slots",
               setting.slots);
  TANDEM_CHECK(setting.least >= 1 && setting.least <= setting.workers, "least", setting.least, "workers",
               setting.workers);
  TANDEM_CHECK(setting.zones.empty() || setting.zones.size() == slots_.size(), "zones", setting.zones.size(),
               "slots", setting.slots);
  TANDEM_CHECK(setting.machines.empty() || setting.machines.size() == slots_.size(), "machines",
               setting.machines.size(), "slots", setting.slots);
  const auto& entry = provisioning::catalog().find(setting.provisioning);
  provisioning_ =
      entry.make({.zones = setting.zones.empty() ? std::vector<std::size_t>(slots_.size(), 0) : setting.zones,
                  .options = Options::resolve(entry.name, entry.options, setting.provisioning_options),
                  .time_scale = setting.time_scale,
                  .machines = setting.machines});
}

bool SlotPolicy::admits(bool) const { return true; }
bool SlotPolicy::rolls_back() const { return false; }
void SlotPolicy::arrived(std::size_t, Seconds) {}

void SlotPolicy::on_started(const Started& event, Decisions& decisions) {
  TANDEM_CHECK(!started_, "a second start, at", event.now.count());
  TANDEM_CHECK(event.workers >= 0 && event.workers <= setting_.workers, "workers", event.workers, "of",
               setting_.workers);
  started_ = true;
  for (int slot = 0; slot < event.workers; ++slot) {
    slots_.at(slot) = {SlotState::member, 1};
    provisioning_->arrived(static_cast<std::size_t>(slot), event.now);
    arrived(static_cast<std::size_t>(slot), event.now);
  }
  settle(event.now, {}, decisions);
}

void SlotPolicy::on_warned(const Warned& event, Decisions& decisions) {
  Slot& slot = slots_.at(event.slot);
  slot.warned = slot.is_occupied();
  settle(event.now, {}, decisions);
}

void SlotPolicy::on_departed(const Departed& event, Decisions& decisions) {
  Slot& slot = slots_.at(event.slot);
  const bool is_known =
      event.incarnation < slot.incarnation || (event.incarnation == slot.incarnation && !slot.is_occupied());
  Change change;
  if (!is_known) {
    const auto number = static_cast<std::size_t>(event.slot);
    if (event.how != How::left) waits_.died(number, event.now);
    provisioning_->departed(number, event.how, event.now);
    // It departed before it was ready.
    if (slot.state == SlotState::requested) waits_.failed(number, event.now);
    change = {number, slot.state == SlotState::member};
    slot = {SlotState::empty, event.incarnation};
  }
  settle(event.now, change, decisions);
}

void SlotPolicy::on_ready(const Ready& event, Decisions& decisions) {
  Slot& slot = slots_.at(event.slot);
  Change change;
  if (event.incarnation > slot.incarnation) {
    const auto number = static_cast<std::size_t>(event.slot);
    // The news of the predecessor's departure has been overtaken.
    if (slot.is_occupied()) {
      waits_.died(number, event.now);
      provisioning_->departed(number, How::lost, event.now);
    }
    waits_.obtained(number);
    provisioning_->arrived(number, event.now);
    arrived(number, event.now);
    change = {number, slot.state == SlotState::member};
    slot = {SlotState::waits, event.incarnation};
  }
  settle(event.now, change, decisions);
}

void SlotPolicy::on_request_failed(const RequestFailed& event, Decisions& decisions) {
  Slot& slot = slots_.at(event.slot);
  if (slot.state == SlotState::requested) {
    slot.state = SlotState::empty;
    waits_.failed(static_cast<std::size_t>(event.slot), event.now);
    provisioning_->request_failed(static_cast<std::size_t>(event.slot));
  }
  settle(event.now, {}, decisions);
}

void SlotPolicy::on_tick(const Tick& event, Decisions& decisions) {
  tick_.reset();
  settle(event.now, {}, decisions);
}

void SlotPolicy::settle(Seconds now, const Change& change, Decisions& decisions) {
  TANDEM_CHECK(started_, "an event before the start, at", now.count());
  if (gave_up_) return;
  const bool chosen = choose_members(now, change.member_departed, decisions);
  pause_or_continue(now, chosen || change.member_departed, decisions);
  if (has_waited_too_long(now)) return give_up(decisions);
  request_machines(now, change, decisions);
  plan_tick(now, decisions);
}

/// Those that were warned come last.
bool SlotPolicy::choose_members(Seconds, bool member_departed, Decisions& decisions) {
  if (!paused_ && !admits(member_departed)) return false;
  int missing = setting_.workers - slots_.members();
  bool admitted = false;
  for (const bool warned : {false, true})
    for (std::size_t i = 0; i < slots_.size() && missing > 0; ++i) {
      if (slots_[i].state != SlotState::waits || slots_[i].warned != warned) continue;
      admit(i, decisions);
      admitted = true;
      --missing;
    }
  return admitted;
}

void SlotPolicy::admit(std::size_t slot, Decisions& decisions) {
  TANDEM_CHECK(slots_[slot].state == SlotState::waits, "no machine waits in slot", slot);
  slots_[slot].state = SlotState::member;
  decisions.emplace_back(Admit{static_cast<int>(slot)});
}

void SlotPolicy::release(std::size_t slot, Decisions& decisions) {
  TANDEM_CHECK(slots_[slot].state == SlotState::member, "no member is in slot", slot);
  slots_[slot].state = SlotState::waits;
  decisions.emplace_back(Release{static_cast<int>(slot)});
}

void SlotPolicy::pause_or_continue(Seconds now, bool members_changed, Decisions& decisions) {
  const bool enough = slots_.members() >= setting_.least;
  if (enough && rolls_back() && members_changed) decisions.emplace_back(Rollback{});
  if (enough == !paused_) return;
  paused_ = !enough;
  if (enough)
    decisions.emplace_back(Resume{});
  else
    decisions.emplace_back(Pause{});
  paused_since_ = paused_ ? now : Seconds();
}

bool SlotPolicy::has_waited_too_long(Seconds now) const {
  return paused_ && setting_.give_up > Seconds() && now >= paused_since_ + setting_.give_up;
}

void SlotPolicy::give_up(Decisions& decisions) {
  gave_up_ = true;
  const std::string since = " for " + number_text(setting_.give_up) + " s";
  if (setting_.least == 1)
    decisions.emplace_back(GiveUp{"no worker" + since});
  else
    decisions.emplace_back(GiveUp{"fewer than " + std::to_string(setting_.least) + " workers" + since +
                                  ", now " + std::to_string(slots_.members())});
}

/// When a machine may be requested in the slot, and is worth it.
Seconds SlotPolicy::earliest(std::size_t slot, Seconds now) const {
  const Seconds may = waits_.earliest(slot);
  return slots_.machines() < setting_.least ? may : std::max(may, provisioning_->earliest(slot, now));
}

/// The slot that provisioning prefers among those in which a machine may be requested now; of equal ones that
/// of the machine that departed, else the lowest.
std::optional<std::size_t> SlotPolicy::next_request(Seconds now, const Change& change) const {
  std::optional<std::size_t> best;
  double best_cost = 0.0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].state != SlotState::empty || earliest(slot, now) > now) continue;
    const double cost = provisioning_->cost(slot, now);
    if (best && (cost > best_cost || (cost == best_cost && slot != change.slot))) continue;
    best = slot;
    best_cost = cost;
  }
  return best;
}

void SlotPolicy::request_machines(Seconds now, const Change& change, Decisions& decisions) {
  for (int missing = wanted() - slots_.machines(); missing > 0; --missing) {
    const auto slot = next_request(now, change);
    if (!slot) return;
    slots_[*slot].state = SlotState::requested;
    provisioning_->requested(*slot);
    decisions.emplace_back(Request{static_cast<int>(*slot)});
  }
}

void SlotPolicy::plan_tick(Seconds now, Decisions& decisions) {
  std::optional<Seconds> next;
  const auto add = [&](Seconds time) {
    if (std::isfinite(time.count())) next = next ? std::min(*next, time) : time;
  };
  if (paused_ && setting_.give_up > Seconds()) add(paused_since_ + setting_.give_up);
  if (wanted() > slots_.machines())
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      if (slots_[slot].state == SlotState::empty) add(earliest(slot, now));
  if (!next || next == tick_) return;
  tick_ = next;
  decisions.emplace_back(WakeAt{*next});
}

void SlotPolicy::serialise(PolicyState& state) {
  slots_.serialise(state);
  waits_.serialise(state);
  provisioning_->serialise(state);
  state.value("started", started_);
  state.value("paused", paused_);
  state.value("gave_up", gave_up_);
  state.value("paused_since", paused_since_);
  std::vector<Seconds> ticks;
  if (tick_) ticks.push_back(*tick_);
  state.list("tick", ticks);
  if (ticks.size() > 1) throw ConfigError("policy state: expected at most one 'tick'");
  tick_ = ticks.empty() ? std::nullopt : std::optional(ticks.front());
  if (slots_.members() > setting_.workers)
    throw ConfigError("policy state: expected at most " + std::to_string(setting_.workers) + " members");
}

}  // namespace tandem::recovery
