#include "policies/checkpointing/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"

namespace tandem::checkpointing {

std::vector<Machines::Machine>::iterator Machines::in_slot(int slot) {
  return std::ranges::find(all_, slot, &Machine::slot);
}

void Machines::ready(const Ready& event) {
  if (const auto old = in_slot(event.slot); old != all_.end()) {
    if (old->incarnation >= event.incarnation) return;
    observed_ += event.now - old->ready;
    all_.erase(old);
  }
  all_.push_back(
      {.slot = event.slot, .incarnation = event.incarnation, .ready = event.now, .age = event.age});
}

void Machines::warned(const Warned& event) {
  const auto machine = in_slot(event.slot);
  if (machine == all_.end()) return;
  machine->departs = event.now + event.notice;
  machine->saved = false;
}

void Machines::departed(const Departed& event) {
  const auto machine = in_slot(event.slot);
  if (machine == all_.end() || machine->incarnation != event.incarnation) return;
  observed_ += event.now - machine->ready;
  const bool loses_nothing = event.how == Departure::revoked && machine->saved;
  if (event.how != Departure::left && !loses_nothing) ++failures_;
  all_.erase(machine);
}

void Machines::save_warned(Seconds now, const std::function<bool(Seconds notice)>& is_last) {
  for (auto& machine : all_)
    if (std::isfinite(machine.departs.count()) && is_last(machine.departs - now)) machine.saved = true;
}

std::vector<Machines::Age> Machines::ages(Seconds now) const {
  if (all_.empty()) return {{.seconds = now.count()}};
  std::vector<Age> ages;
  for (const auto& machine : all_)
    ages.push_back({static_cast<std::size_t>(machine.slot), (machine.age + (now - machine.ready)).count()});
  return ages;
}

std::vector<Seconds> Machines::notices(Seconds now) const {
  std::vector<Seconds> notices;
  for (const auto& machine : all_)
    if (std::isfinite(machine.departs.count()) && !machine.saved) notices.push_back(machine.departs - now);
  return notices;
}

Seconds Machines::observed(Seconds now) const {
  Seconds sum = observed_;
  for (const auto& machine : all_) sum += now - machine.ready;
  return sum;
}

void Machines::serialise(PolicyState& state) {
  std::vector<int> slots;
  for (const auto& machine : all_) slots.push_back(machine.slot);
  state.list("slots", slots);
  all_.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) all_[i].slot = slots[i];
  state.column("incarnations", all_, &Machine::incarnation);
  state.column("ready", all_, &Machine::ready);
  state.column("ages", all_, &Machine::age);
  state.column("departs", all_, &Machine::departs);
  state.column("saved", all_, &Machine::saved);
  state.value("failures", failures_);
  state.value("observed", observed_);
  if (failures_ < 0 || observed_ < Seconds())
    throw ConfigError("policy state: expected 'failures' and 'observed' of at least 0");
}

std::vector<OptionSpec> FailureRate::options() {
  return {{.name = "mtbf_s",
           .summary = "mean seconds of the job between failures of one machine; 0: learnt from departures",
           .default_value = 0.0,
           .minimum = 0.0,
           .maximum = longest_s},
          {.name = "prior_failures",
           .summary = "failures in prior_hours that are assumed before any is seen; default not from a paper",
           .default_value = 1.0,
           .minimum = 1e-6,
           .maximum = 1e6},
          {.name = "prior_hours",
           .summary = "hours of machines that the assumption counts for, shortened by transience.time_scale "
                      "as lifetimes "
                      "are; default not from a paper",
           .default_value = 24.0,
           .minimum = 1e-6,
           .maximum = 1e6}};
}

FailureRate::FailureRate(const Options& options, double time_scale)
    : given_(options.real("mtbf_s")),
      prior_failures_(options.real("prior_failures")),
      prior_time_(options.real("prior_hours") * 3600.0 / time_scale) {}

Seconds FailureRate::mtbf(const Machines& machines, Seconds now) const {
  const Seconds of_machine =
      given_ > Seconds() ? given_
                         : (prior_time_ + machines.observed(now)) / (prior_failures_ + machines.failures());
  return of_machine / std::max(1, machines.count());
}

void RecentTimes::add(Seconds duration) {
  constexpr std::size_t most = 9;
  if (last_.size() == most) last_.erase(last_.begin());
  last_.push_back(duration);
}

Seconds RecentTimes::usual() const {
  TANDEM_CHECK(!last_.empty(), last_.size());
  return upper_median(last_);
}

Seconds RecentTimes::cautious() const {
  constexpr double deviations = 3.0;
  const Seconds middle = usual();
  std::vector<Seconds> distances;
  for (const Seconds time : last_) distances.emplace_back(std::abs((time - middle).count()));
  return middle + upper_median(std::move(distances)) * deviations;
}

void RecentTimes::serialise(PolicyState& state, const std::string& name) { state.list(name, last_); }

OptionSpec CommitCost::option() {
  return {.name = "cost_s",
          .summary =
              "seconds for which the policy assumes that a commit blocks the job; 0: the mean of the "
              "measured ones. How long "
              "a commit does, disks and links decide",
          .default_value = 0.0,
          .minimum = 0.0,
          .maximum = longest_s};
}

CommitCost::CommitCost(const Options& options) : given_(options.real("cost_s")) {}

void CommitCost::add(const Committed& commit) {
  ++commits_;
  spent_ += commit.duration;
  took_.add(std::max(commit.duration, commit.took));
}

std::optional<Seconds> CommitCost::expected() const {
  if (given_ > Seconds()) return given_;
  if (commits_ == 0) return std::nullopt;
  return spent_ / static_cast<double>(commits_);
}

std::optional<Seconds> CommitCost::until_complete() const {
  return took_.empty() ? expected() : std::max(given_, took_.usual());
}

std::optional<Seconds> CommitCost::cautious_until_complete() const {
  return took_.empty() ? expected() : std::max(given_, took_.cautious());
}

void CommitCost::serialise(PolicyState& state) {
  state.value("commits", commits_);
  state.value("spent", spent_);
  took_.serialise(state, "took");
  if (commits_ < 0 || spent_ < Seconds())
    throw ConfigError("policy state: expected 'commits' and 'spent' of at least 0");
}

}  // namespace tandem::checkpointing
