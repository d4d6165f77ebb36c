// The barrier that all synchronous servers share: who still takes part, and who has pushed in this round.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {

class Barrier {
 public:
  explicit Barrier(int workers) : Barrier(workers, workers) {}
  /// Opens when `quorum` workers have arrived, or all who still take part if they are fewer.
  Barrier(int workers, std::int64_t quorum)
      : active_(static_cast<std::size_t>(workers), true), arrived_(active_.size(), false), quorum_(quorum) {}

  void arrive(int worker) {
    TANDEM_CHECK(!arrived_.at(index(worker)), "second push of a round by worker", worker);
    arrived_[index(worker)] = true;
  }
  void leave(int worker) { active_.at(index(worker)) = false; }
  bool is_active(int worker) const { return active_.at(index(worker)); }
  /// At least one has arrived, and so many or all of the active workers have.
  bool complete() const {
    const auto arrived = std::count(arrived_.begin(), arrived_.end(), true);
    if (arrived == 0 || arrived >= quorum_) return arrived > 0;
    for (std::size_t worker = 0; worker < active_.size(); ++worker)
      if (active_[worker] && !arrived_[worker]) return false;
    return true;
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
  std::int64_t quorum_;
};

}  // namespace tandem::sync
