#include "workloads/exchange/counted_rounds.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "workloads/vectors/state_archive.hpp"

namespace tandem {
namespace {

/// By slot.
std::vector<std::int64_t> difference(const std::vector<std::int64_t>& all,
                                     const std::vector<std::int64_t>& before) {
  std::vector<std::int64_t> rest(all.size());
  std::ranges::transform(all, before, rest.begin(), std::minus());
  return rest;
}

}  // namespace

Progress CountedRounds::progress() const {
  return {.rounds = rounds_,
          .samples = std::accumulate(applied_.begin(), applied_.end(), std::int64_t{0}),
          .now = Seconds(0.0)};
}

ExchangeResult CountedRounds::state_of_job() const {
  return {.version = version_, .stop = stops_ != 0, .rounds = rounds_, .samples = progress().samples};
}

std::vector<std::int64_t> CountedRounds::since_dealt() const { return difference(applied_, dealt_); }

std::vector<std::int64_t> CountedRounds::of_job() const { return difference(applied_, before_); }

void CountedRounds::count(std::span<const int> members, std::span<const std::int64_t> samples, int version) {
  ++rounds_;
  version_ = version;
  for (const int member : members)
    applied_[static_cast<std::size_t>(member)] += samples[static_cast<std::size_t>(member)];
}

void CountedRounds::serialise(StateArchive& state) {
  serialise_counters(state);
  if (!state.restores() || continues_)
    for (std::size_t slot = 0; slot < before_.size(); ++slot)
      state.number("exchange.before." + std::to_string(slot), before_[slot]);
  if (!state.restores()) return;
  if (!continues_) before_ = applied_;
  // That was the end of the job before.
  stops_ = 0;
}

void CountedRounds::serialise_counters(StateArchive& state) {
  state.number("exchange.rounds", rounds_);
  state.number("exchange.version", version_);
  state.number("exchange.stops", stops_);
  for (std::size_t slot = 0; slot < applied_.size(); ++slot)
    state.number("exchange.samples." + std::to_string(slot), applied_[slot]);
  for (std::size_t slot = 0; slot < dealt_.size(); ++slot)
    state.number("exchange.dealt." + std::to_string(slot), dealt_[slot]);
}

void CountedRounds::serialise_common(StateArchive& state) {
  serialise_counters(state);
  for (std::int64_t& samples : before_) state.number("exchange.samples_before", samples);
  state.number("exchange.averaged", is_averaged_);
}

}  // namespace tandem
