#include "validation/campaign/task_times.hpp"

#include <utility>

namespace tandem::validation {
namespace {

/// Of the processes of a run, before the clock of its job starts, and after it. Ended runs correct it.
constexpr double start_and_end_s = 2.0;

}  // namespace

TaskTimes::TaskTimes(const std::vector<Task>& tasks, std::vector<double> costs)
    : tasks_(tasks), costs_(std::move(costs)), foretold_(costs_.size()), kinds_{} {}

void TaskTimes::foretell(const Task& simulation, Seconds makespan) {
  if (makespan <= Seconds(0)) return;
  Foretold& of = foretold_.at(simulation.configuration);
  of.sum_s += makespan.count();
  ++of.count;
}

double TaskTimes::planned(const Task& task) const {
  if (task.kind != Task::Kind::run) return costs_.at(task.configuration);
  const Foretold& of = foretold_.at(task.configuration);
  return of.count == 0 ? 0.0 : of.sum_s / of.count + start_and_end_s;
}

void TaskTimes::ended(const Task& task, Seconds took) {
  const double plan = planned(task);
  if (plan <= 0.0) return;
  Kind& kind = kinds_.at(static_cast<std::size_t>(task.kind));
  kind.took_s += took.count();
  kind.planned += plan;
}

std::optional<Seconds> TaskTimes::left(std::size_t next, const Condition& is_left_out) const {
  double left_s = 0.0;
  for (std::size_t i = next; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    if (is_left_out(task.configuration)) continue;
    const double plan = planned(task);
    const Kind& kind = kinds_.at(static_cast<std::size_t>(task.kind));
    const bool is_known = plan > 0.0 && (kind.planned > 0.0 || task.kind == Task::Kind::run);
    if (!is_known) return std::nullopt;
    left_s += plan * (kind.planned > 0.0 ? kind.took_s / kind.planned : 1.0);
  }
  return Seconds(left_s);
}

}  // namespace tandem::validation
