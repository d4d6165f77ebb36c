// How long the tasks of a campaign still take: from the times that simulations foretell for runs, and what
// ended tasks took against what was planned. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "validation/campaign/plan.hpp"

namespace tandem::validation {

/// Each kind of task has a planned time: a run that of the simulations of its configuration, and the start of
/// its processes; a simulation, or one under SMPI, the relative cost of its configuration.
class TaskTimes {
 public:
  /// `tasks` must outlive it. `costs`: of a simulation, relative, by configuration; above 0.
  TaskTimes(const std::vector<Task>& tasks, std::vector<double> costs);

  /// A simulation says how long a run of its configuration takes. 0: it does not.
  void foretell(const Task& simulation, Seconds makespan);
  /// The task has taken so long, with its repetition.
  void ended(const Task& task, Seconds took);

  using Condition = std::function<bool(std::size_t configuration)>;
  /// Of the tasks from this one on, without those of configurations that `is_left_out`: their planned times,
  /// scaled by what ended tasks of their kind took over what was planned for these. None while a planned time
  /// is unknown, or no simulation has ended, whose cost is not in seconds.
  std::optional<Seconds> left(std::size_t next, const Condition& is_left_out) const;

 private:
  struct Foretold {
    double sum_s = 0.0;
    int count = 0;
  };
  /// Of ended tasks.
  struct Kind {
    double took_s = 0.0;
    double planned = 0.0;  ///< seconds of runs, costs of others
  };
  /// 0: unknown.
  double planned(const Task& task) const;

  const std::vector<Task>& tasks_;
  std::vector<double> costs_;
  std::vector<Foretold> foretold_;  ///< by configuration
  std::array<Kind, 3> kinds_;       ///< by Task::Kind
};

}  // namespace tandem::validation
