// The clock of simulated machines for ranks that run on SimGrid's MPI, and waiting without polling: a waiting
// rank is woken whenever simulated time has advanced, so it sees the end of a message at the simulated time
// of that end.
#pragma once

#include <functional>
#include <vector>

namespace tandem::witness {

/// Wakes the waiting ranks of one simulation. One for all ranks, in the user data that SMPI keeps for each.
class Waker {
 public:
  /// Must live as long as the engine runs.
  Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  /// Calls `wake` once, when simulated time has moved.
  void at_next_event(std::function<void()> wake) { waiting_.push_back(std::move(wake)); }

 private:
  void wake_all();
  std::vector<std::function<void()>> waiting_;
  std::vector<std::function<void()>> woken_;
};

}  // namespace tandem::witness
