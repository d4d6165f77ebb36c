// The barrier that all synchronous servers share: who still takes part, and who has pushed in this round.
#pragma once

#include <algorithm>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {

class Barrier {
 public:
  explicit Barrier(int workers)
      : active_(static_cast<std::size_t>(workers), true), arrived_(active_.size(), false) {}

  void arrive(int worker) {
    TANDEM_CHECK(!arrived_.at(index(worker)), "second push of a round by worker", worker);
    arrived_[index(worker)] = true;
  }
  void leave(int worker) { active_.at(index(worker)) = false; }
  bool is_active(int worker) const { return active_.at(index(worker)); }
  /// At least one has arrived, and every active worker has.
  bool complete() const {
    for (std::size_t worker = 0; worker < active_.size(); ++worker)
      if (active_[worker] && !arrived_[worker]) return false;
    return std::find(arrived_.begin(), arrived_.end(), true) != arrived_.end();
  }
  /// Ends the round: one update, then the new model for everybody who is waiting for it, in worker order.
  void release(ServerDecisions& decisions) {
    decisions.emplace_back(Apply{});
    for (std::size_t worker = 0; worker < active_.size(); ++worker) {
      if (active_[worker] && arrived_[worker]) decisions.emplace_back(Reply{static_cast<int>(worker)});
      arrived_[worker] = false;
    }
  }

 private:
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  std::vector<bool> active_;
  std::vector<bool> arrived_;
};

}  // namespace tandem::sync
