// The number of workers in a mean that is not taken over a round: each push counts 1 over the workers that
// are present.
#pragma once

#include <algorithm>
#include <vector>

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// The option of algorithms that apply pushes on arrival, as a whole or by that share.
inline OptionSpec average_option() {
  return {.name = "average",
          .summary = "divide each push by the number of workers present, as in ConSGD",
          .default_value = false};
}

class PresentWorkers {
 public:
  explicit PresentWorkers(int workers) : present_(static_cast<std::size_t>(workers), true) { count_all(); }

  /// Workers that leave because the job has ended still count: its last pushes have the same weight as the
  /// others.
  void on_push(const Push& event) { ended_ = ended_ || event.done >= 1.0; }
  void leave(int worker) {
    if (ended_ || !present_[static_cast<std::size_t>(worker)]) return;
    present_[static_cast<std::size_t>(worker)] = false;
    --count_;
  }
  void join(int worker) {
    if (present_[static_cast<std::size_t>(worker)]) return;
    present_[static_cast<std::size_t>(worker)] = true;
    ++count_;
  }
  /// Pre: one is present.
  double share() const { return 1.0 / static_cast<double>(count_); }

  void serialise(PolicyState& state) {
    state.flags("present", present_);
    state.value("ended", ended_);
    if (state.restores()) count_all();
  }

 private:
  void count_all() { count_ = std::count(present_.begin(), present_.end(), true); }

  std::vector<bool> present_;
  std::ptrdiff_t count_ = 0;
  bool ended_ = false;
};

}  // namespace tandem::sync
