#include "workloads/membership/machines.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

Machines::Machines(const Experiment::Transience& setting, std::unique_ptr<lifetimes::Fates> fates,
                   std::size_t slots, const std::vector<SlotDeath>& deaths)
    : setting_(setting),
      fates_(std::move(fates)),
      incarnations_(slots, 0),
      gone_(slots, 0.0),
      is_present_(slots, false),
      supply_(slots, Supply::as_drawn) {
  for (const SlotDeath& death : deaths)
    planned_.emplace(death.at, MachineEvent{.what = MachineEvent::What::departed,
                                            .at = death.at,
                                            .slot = death.slot,
                                            .how = DepartureKind::lost,
                                            .for_good = death.with_machine});
}

/// Rounding must not make a machine arrive before it is available.
std::optional<double> Machines::arrival(int slot, Seconds now) const {
  const double at = of_machine(static_cast<std::size_t>(slot), now);
  const double obtained = fates_->obtainable(static_cast<std::size_t>(slot), at);
  if (obtained <= at) return at;
  return in_job(obtained) <= now ? std::optional(obtained) : std::nullopt;
}

int Machines::occupy(int slot, Seconds now) {
  const auto place = static_cast<std::size_t>(slot);
  const auto arrives = arrival(slot, now);
  if (!arrives)
    throw ConfigError(
        "transience.lifetime: expected a model with a machine in each worker's slot as the job "
        "begins, found none in slot " +
        std::to_string(slot));
  const int incarnation = ++incarnations_[place];
  fates_->arrive({place, incarnation}, *arrives);
  is_present_[place] = true;
  supply_[place] = Supply::as_drawn;
  plan_warning(slot, now);
  return incarnation;
}

/// A warning that would come before the machine comes with it.
void Machines::plan_warning(int slot, Seconds now) {
  const auto place = static_cast<std::size_t>(slot);
  const auto departure = fates_->known(place);
  const Seconds notice = in_job(setting_.notice.count());
  if (!departure || departure->how != lifetimes::How::revoked || notice <= Seconds(0) ||
      std::isinf(departure->time))
    return;
  const Seconds leaves = in_job(departure->time);
  const Seconds at = std::max(now, leaves - notice);
  planned_.emplace(at, MachineEvent{.what = MachineEvent::What::warned,
                                    .at = at,
                                    .slot = slot,
                                    .incarnation = incarnations_[place],
                                    .how = departure->how,
                                    .notice = leaves - at});
}

void Machines::request(int slot, Seconds now) {
  const auto place = static_cast<std::size_t>(slot);
  const double obtained = fates_->obtainable(place, of_machine(place, now));
  MachineEvent answer{.what = MachineEvent::What::ready,
                      .at = in_job(obtained + setting_.start.count()),
                      .slot = slot,
                      .incarnation = incarnations_[place] + 1};
  // The machine of a process that died is still there.
  if (supply_[place] == Supply::at_once)
    answer.at = obtained <= of_machine(place, now) ? now : in_job(obtained);
  if (std::isinf(obtained) || supply_[place] == Supply::none) {
    answer.what = MachineEvent::What::refused;
    answer.at = now;
  }
  planned_.emplace(answer.at, answer);
}

bool Machines::may_have(int slot, Seconds now) {
  const auto place = static_cast<std::size_t>(slot);
  return is_present_[place] ||
         (supply_[place] != Supply::none && !std::isinf(fates_->obtainable(place, of_machine(place, now))));
}

std::optional<Seconds> Machines::known_departure(int slot) const {
  const auto departure = fates_->known(static_cast<std::size_t>(slot));
  if (!departure || std::isinf(departure->time)) return std::nullopt;
  return in_job(departure->time);
}

std::optional<MachineEvent> Machines::next_departure() const {
  const auto departure = fates_->next();
  if (!departure || std::isinf(departure->time)) return std::nullopt;
  return MachineEvent{.what = MachineEvent::What::departed,
                      .at = in_job(departure->time),
                      .slot = static_cast<int>(departure->occupant.slot),
                      .incarnation = static_cast<int>(departure->occupant.incarnation),
                      .how = departure->how};
}

std::optional<Seconds> Machines::next() const {
  std::optional<Seconds> first;
  if (!planned_.empty()) first = planned_.begin()->first;
  if (const auto departure = next_departure(); departure && (!first || departure->at < *first))
    first = departure->at;
  return first;
}

std::optional<MachineEvent> Machines::take(Seconds now) {
  while (true) {
    const auto departure = next_departure();
    const bool is_planned = !planned_.empty() && planned_.begin()->first <= now;
    // Planned events come before others at the same time: a warning precedes its departure.
    if (is_planned && (!departure || planned_.begin()->first <= departure->at)) {
      if (auto event = take_planned()) return event;
      continue;
    }
    if (!departure || departure->at > now) return std::nullopt;
    return depart(*departure);
  }
}

/// None: nothing has happened. The requested machine is gone again by the time at which it would have come
/// up, and comes later; or a process died with a machine that had departed before.
std::optional<MachineEvent> Machines::take_planned() {
  const MachineEvent event = planned_.extract(planned_.begin()).mapped();
  if (event.what == MachineEvent::What::departed) return die(event);
  if (event.what != MachineEvent::What::ready) return event;
  if (!arrival(event.slot, event.at)) {
    request(event.slot, event.at);
    return std::nullopt;
  }
  occupy(event.slot, event.at);
  return event;
}

std::optional<MachineEvent> Machines::die(MachineEvent death) {
  const auto place = static_cast<std::size_t>(death.slot);
  if (!is_present_[place]) return std::nullopt;
  death.incarnation = incarnations_[place];
  is_present_[place] = false;
  supply_[place] = death.for_good ? Supply::none : Supply::at_once;
  gone_[place] = of_machine(place, death.at);
  fates_->depart(place, gone_[place]);
  std::erase_if(planned_, [&](const auto& planned) {
    return planned.second.what == MachineEvent::What::warned && planned.second.slot == death.slot;
  });
  MachineEvent noticed = death;
  noticed.what = MachineEvent::What::noticed;
  planned_.emplace(noticed.at, noticed);
  return death;
}

MachineEvent Machines::depart(const MachineEvent& departure) {
  const auto place = static_cast<std::size_t>(departure.slot);
  is_present_[place] = false;
  gone_[place] = fates_->next()->time;
  fates_->depart(place, of_machine(departure.at));
  MachineEvent noticed = departure;
  noticed.what = MachineEvent::What::noticed;
  // A warned departure is expected; a loss shows only when signs of life are missing.
  if (departure.how == DepartureKind::lost || setting_.notice <= Seconds(0))
    noticed.at += in_job(setting_.detect.count());
  planned_.emplace(noticed.at, noticed);
  return departure;
}

}  // namespace tandem
