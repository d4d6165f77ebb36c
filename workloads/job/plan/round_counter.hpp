// Counts rounds, if each worker contributes one event (a push, a step) to every round, or if another part
// says when a round ends. A value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policies/vocabulary/check.hpp"

namespace tandem {

class RoundCounter {
 public:
  /// A round ends after `events_per_round` events. Pre: above 0.
  explicit RoundCounter(int events_per_round) : per_round_(events_per_round) {
    TANDEM_CHECK(events_per_round > 0, "events per round", events_per_round);
  }

  void count(std::int64_t events) {
    in_round_ += events;
    rounds_ += in_round_ / per_round_;
    in_round_ %= per_round_;
  }
  /// So many workers take part from now on; 0 counts as 1. A round that has all its events now ends with the
  /// next event.
  void set_events_per_round(int events) { per_round_ = events > 0 ? events : 1; }
  /// The round in progress ends, whatever its events.
  void end_round() {
    ++rounds_;
    in_round_ = 0;
  }
  std::int64_t events() const { return events_at(static_cast<int>(per_round_)); }
  /// The number of events, if all rounds had had `per_round`.
  std::int64_t events_at(int per_round) const {
    return rounds_ * per_round + std::min<std::int64_t>(in_round_, per_round - 1);
  }
  /// Rounds that have ended.
  std::int64_t rounds() const { return rounds_; }
  /// The last event ended a round, or there was none yet.
  bool is_between_rounds() const { return in_round_ == 0; }
  /// The round of the last event, counted from 0; 0 before the first event.
  std::int64_t current() const { return in_round_ == 0 && rounds_ > 0 ? rounds_ - 1 : rounds_; }

  void restore(std::int64_t events) {
    rounds_ = events / per_round_;
    in_round_ = events % per_round_;
  }

 private:
  std::int64_t per_round_;
  std::int64_t rounds_ = 0;
  std::int64_t in_round_ = 0;
};

}  // namespace tandem
