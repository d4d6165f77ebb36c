// The clocks that bounded staleness is about: how many steps each worker has completed, who takes part, and
// who is held because it is too far ahead of the slowest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {

class Clocks {
 public:
  explicit Clocks(int workers) : workers_(static_cast<std::size_t>(workers)) {}

  /// The worker has completed a step and is held from here on.
  void complete_step(int worker) {
    Worker& one = at(worker);
    TANDEM_CHECK(!one.held, "a step of a held worker", worker);
    ++one.clock;
    one.held = true;
  }
  void leave(int worker) { at(worker).active = false; }

  /// The active worker with the fewest steps; ties: lowest index. Pre: one is active.
  int slowest() const {
    int slowest = -1;
    for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker)
      if (at(worker).active && (slowest < 0 || at(worker).clock < at(slowest).clock)) slowest = worker;
    TANDEM_CHECK(slowest >= 0, "no worker is left");
    return slowest;
  }
  /// Steps by which an active worker is ahead of the slowest.
  std::int64_t lead(int worker) const { return at(worker).clock - at(slowest()).clock; }
  /// No active worker has completed more steps.
  bool is_fastest(int worker) const {
    return std::none_of(workers_.begin(), workers_.end(),
                        [&](const Worker& other) { return other.active && other.clock > at(worker).clock; });
  }

  /// Lets a held worker start its next step.
  void release(int worker, ServerDecisions& decisions) {
    at(worker).held = false;
    decisions.emplace_back(Reply{worker});
  }
  /// Lets everybody start who is held and at most `bound` steps ahead, in worker order.
  void release_within(std::int64_t bound, ServerDecisions& decisions) {
    const bool anybody =
        std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return w.active; });
    if (!anybody) return;
    const std::int64_t behind = at(slowest()).clock;
    for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker)
      if (at(worker).active && at(worker).held && at(worker).clock - behind <= bound)
        release(worker, decisions);
  }

 private:
  struct Worker {
    std::int64_t clock = 0;  ///< steps completed
    bool active = true;
    bool held = false;
  };
  Worker& at(int worker) { return workers_.at(static_cast<std::size_t>(worker)); }
  const Worker& at(int worker) const { return workers_.at(static_cast<std::size_t>(worker)); }
  std::vector<Worker> workers_;
};

}  // namespace tandem::sync
