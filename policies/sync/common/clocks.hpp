// The clocks of bounded staleness: how many steps each worker has completed, which workers take part, and
// which are held because they are too far ahead of the slowest. The cost of a push grows with the logarithm
// of the number of workers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {

class Clocks {
 public:
  explicit Clocks(int workers) : workers_(static_cast<std::size_t>(workers)) { sort_workers(); }

  /// The worker has completed a step and is held from now on.
  void complete_step(int worker) {
    Worker& one = at(worker);
    TANDEM_CHECK(one.active && !one.held, "a step of a worker that is held or has left", worker);
    active_.erase({one.clock, worker});
    ++one.clock;
    one.held = true;
    active_.emplace(one.clock, worker);
    held_.emplace(one.clock, worker);
  }
  void leave(int worker) {
    Worker& one = at(worker);
    one.active = false;
    one.held = false;
    active_.erase({one.clock, worker});
    held_.erase({one.clock, worker});
  }
  /// A worker that had left starts at the clock of the slowest.
  void join(int worker) {
    Worker& one = at(worker);
    TANDEM_CHECK(!one.active, "joins, but has not left: worker", worker);
    one.active = true;
    if (!active_.empty()) one.clock = active_.begin()->first;
    active_.emplace(one.clock, worker);
  }

  /// The active worker with the fewest steps; ties: lowest index. Pre: one is active.
  int slowest() const {
    TANDEM_CHECK(!active_.empty(), "every worker has left");
    return active_.begin()->second;
  }
  /// Steps that a worker has completed.
  std::int64_t clock(int worker) const { return at(worker).clock; }
  /// Steps by which an active worker is ahead of the slowest.
  std::int64_t lead(int worker) const { return at(worker).clock - at(slowest()).clock; }
  /// No active worker has completed more steps.
  bool is_fastest(int worker) const { return active_.empty() || active_.rbegin()->first <= at(worker).clock; }

  /// Lets a held worker start its next step.
  void release(int worker, ServerDecisions& decisions) {
    at(worker).held = false;
    held_.erase({at(worker).clock, worker});
    decisions.emplace_back(Reply{worker});
  }
  /// Lets all held workers start that are at most `bound` steps ahead, in worker order.
  void release_within(std::int64_t bound, ServerDecisions& decisions) {
    if (active_.empty()) return;
    const std::int64_t behind = active_.begin()->first;
    std::vector<int> released;
    for (auto one = held_.begin(); one != held_.end() && one->first - behind <= bound; ++one)
      released.push_back(one->second);
    std::sort(released.begin(), released.end());
    for (const int worker : released) release(worker, decisions);
  }

  void serialise(PolicyState& state) {
    state.column("clock", workers_, &Worker::clock);
    state.column("active", workers_, &Worker::active);
    state.column("held", workers_, &Worker::held);
    if (state.restores()) sort_workers();
  }

 private:
  struct Worker {
    std::int64_t clock = 0;  ///< steps completed
    bool active = true;
    bool held = false;
  };
  using ByClock = std::set<std::pair<std::int64_t, int>>;  ///< clock and worker

  Worker& at(int worker) { return workers_.at(static_cast<std::size_t>(worker)); }
  const Worker& at(int worker) const { return workers_.at(static_cast<std::size_t>(worker)); }
  void sort_workers() {
    active_.clear();
    held_.clear();
    for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
      if (at(worker).active) active_.emplace(at(worker).clock, worker);
      if (at(worker).active && at(worker).held) held_.emplace(at(worker).clock, worker);
    }
  }

  std::vector<Worker> workers_;
  ByClock active_;
  ByClock held_;  ///< of the active ones
};

}  // namespace tandem::sync
