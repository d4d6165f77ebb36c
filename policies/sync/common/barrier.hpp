// The barrier of all synchronous servers: which workers take part, and which have pushed in this round. A
// push costs the same however many workers there are; only the end of a round visits the workers that pushed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {

/// `Flags`: true or false for each worker.
template <class Flags>
class BasicBarrier {
 public:
  explicit BasicBarrier(int workers) : BasicBarrier(workers, workers) {}
  /// Opens when `quorum` workers have arrived, or all active workers if they are fewer.
  BasicBarrier(int workers, std::int64_t quorum)
      : active_(static_cast<std::size_t>(workers), true),
        arrived_(static_cast<std::size_t>(workers), false),
        active_count_(workers),
        missing_(workers),
        quorum_(quorum) {}

  void arrive(int worker) {
    TANDEM_CHECK(index(worker) < arrived_.size() && !arrived_[index(worker)],
                 "second push of a round by worker", worker);
    arrived_[index(worker)] = true;
    arrivals_.push_back(worker);
    if (is_active(worker)) --missing_;
  }
  void leave(int worker) {
    if (!is_active(worker)) return;
    active_[index(worker)] = false;
    --active_count_;
    if (!arrived_[index(worker)]) --missing_;
  }
  bool is_active(int worker) const { return active_[index(worker)]; }
  /// At least one worker has arrived, and the quorum or all active workers have.
  bool complete() const { return !arrivals_.empty() && (std::ssize(arrivals_) >= quorum_ || missing_ == 0); }
  /// Ends the round: one update, then the new model for every worker that waits for it, in worker order.
  void release(ServerDecisions& decisions) {
    decisions.emplace_back(Apply{});
    std::sort(arrivals_.begin(), arrivals_.end());
    for (const int worker : arrivals_) {
      if (is_active(worker)) decisions.emplace_back(Reply{worker});
      arrived_[index(worker)] = false;
    }
    arrivals_.clear();
    missing_ = active_count_;
  }

  void serialise(PolicyState& state) {
    state.flags("active", active_);
    state.flags("arrived", arrived_);
    if (!state.restores()) return;
    active_count_ = std::count(active_.begin(), active_.end(), true);
    missing_ = active_count_;
    arrivals_.clear();
    for (std::size_t worker = 0; worker < arrived_.size(); ++worker) {
      if (!arrived_[worker]) continue;
      arrivals_.push_back(static_cast<int>(worker));
      if (active_[worker]) --missing_;
    }
  }

 private:
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  Flags active_;
  Flags arrived_;
  std::vector<int> arrivals_;  ///< the workers that have arrived
  std::int64_t active_count_;
  std::int64_t missing_;  ///< active workers that have not arrived
  std::int64_t quorum_;
};

using Barrier = BasicBarrier<std::vector<bool>>;

}  // namespace tandem::sync
