#include "policies/lifetimes/fates_by_machine.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::lifetimes {

FatesByMachine::FatesByMachine(std::unique_ptr<Fates> fates, std::vector<std::size_t> machine_of)
    : fates_(std::move(fates)), machine_of_(std::move(machine_of)) {
  TANDEM_CHECK(!machine_of_.empty(), "slots", machine_of_.size());
  machines_.resize(*std::ranges::max_element(machine_of_) + 1);
}

double FatesByMachine::obtainable(std::size_t slot, double time) {
  const std::size_t machine = machine_of_.at(slot);
  return machines_[machine].present.empty() ? fates_->obtainable(machine, time) : time;
}

void FatesByMachine::arrive(Occupant occupant, double time) {
  const std::size_t number = machine_of_.at(occupant.slot);
  Machine& machine = machines_[number];
  TANDEM_CHECK(!leaving_.contains(occupant.slot) && !machine.present.contains(occupant.slot), "slot",
               occupant.slot);
  if (machine.present.empty()) fates_->arrive({number, ++machine.incarnation}, time);
  machine.present.emplace(occupant.slot, occupant);
}

/// Times that callers convert may be rounded.
bool FatesByMachine::is_due(std::size_t machine, double time) const {
  constexpr double rounding = 1e-9;
  const auto due = fates_->next();
  return due && due->occupant.slot == machine && time >= due->time * (1.0 - rounding);
}

void FatesByMachine::depart(std::size_t slot, double time) {
  if (leaving_.erase(slot) > 0) return;
  const std::size_t number = machine_of_.at(slot);
  Machine& machine = machines_[number];
  TANDEM_CHECK(machine.present.contains(slot), "slot", slot, "time", time);
  machine.present.erase(slot);
  if (is_due(number, time)) {
    const Departure due = fates_->next().value();
    for (const auto& [other, occupant] : machine.present)
      leaving_.emplace(other, Departure{due.time, occupant, due.how});
    machine.present.clear();
  }
  if (machine.present.empty()) fates_->depart(number, time);
}

std::optional<Departure> FatesByMachine::next() const {
  const auto order = [](const Departure& one) { return std::pair(one.time, one.occupant.slot); };
  std::optional<Departure> first = fates_->next();
  if (first) first->occupant = machines_[first->occupant.slot].present.begin()->second;
  for (const auto& [slot, departure] : leaving_)
    if (!first || order(departure) < order(*first)) first = departure;
  return first;
}

std::optional<Departure> FatesByMachine::known(std::size_t slot) const {
  if (const auto leaving = leaving_.find(slot); leaving != leaving_.end()) return leaving->second;
  const std::size_t number = machine_of_.at(slot);
  const auto& present = machines_[number].present;
  const auto occupant = present.find(slot);
  if (occupant == present.end()) return std::nullopt;
  auto departure = fates_->known(number);
  if (departure) departure->occupant = occupant->second;
  return departure;
}

}  // namespace tandem::lifetimes
