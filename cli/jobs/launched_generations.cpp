#include "cli/jobs/launched_generations.hpp"

#include <chrono>
#include <utility>

#include "cli/machines/leftovers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "runtime/process/signals.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/membership/generations/generations.hpp"
#include "workloads/membership/generations/measured_generations.hpp"

namespace tandem::cli {
namespace {

using Clock = std::chrono::steady_clock;

GenerationResult::End end_of(int exit_code) {
  if (exit_code == exit_success) return GenerationResult::End::success;
  if (exit_code == exit_environment_error) return GenerationResult::End::environment_error;
  return exit_code > exit_of_signal ? GenerationResult::End::signal : GenerationResult::End::error;
}

/// By mpirun, on this machine or on those that are watched.
class MpirunLauncher final : public GenerationLauncher {
 public:
  explicit MpirunLauncher(const LaunchOnce& launch) : launch_(launch), signals_(ending_signals) {}

  GenerationResult launch(const std::function<std::optional<PlannedDeath>()>& death) override {
    last_ = {};
    std::function<std::optional<PlannedKill>()> kill;
    if (death)
      kill = [&death]() -> std::optional<PlannedKill> {
        const auto planned = death();
        if (!planned) return std::nullopt;
        return PlannedKill{planned->rank, planned->in};
      };
    last_ = launch_(kill);
    GenerationResult result;
    result.end = end_of(last_.exit_code);
    if (result.end == GenerationResult::End::signal) result.signal = last_.exit_code - exit_of_signal;
    result.message = last_.message;
    result.failed_rank = last_.failed_rank;
    result.is_death = last_.rank_died || !last_.lost_machine.empty();
    result.was_planned = last_.rank_was_killed;
    result.lost_ranks = last_.lost_ranks;
    return result;
  }
  void clean() override { remove_leftovers(false); }
  std::optional<int> wait(Seconds pause) override {
    const auto end = Clock::now() + std::chrono::duration<double>(pause.count());
    for (;;) {
      if (const auto signal = signals_.next()) return signal;
      const std::chrono::duration<double> left = end - Clock::now();
      if (left.count() <= 0.0) return std::nullopt;
      signals_.wait_for(Seconds(left.count()));
    }
  }
  void notify(const std::string& note) override { print_note(note); }

  /// The last launch, with the result of the generations.
  GuardedResult last(const GenerationResult& result) const {
    GuardedResult last = last_;
    if (result.end == GenerationResult::End::signal)
      last.exit_code = exit_of_signal + result.signal;
    else if (result.end == GenerationResult::End::environment_error)
      last.exit_code = exit_environment_error;
    last.message = result.message;
    last.failed_rank = result.failed_rank;
    return last;
  }

 private:
  const LaunchOnce& launch_;
  GuardedResult last_;
  SignalReader signals_;
};

}  // namespace

NetworkOf network_of_generations() {
  return [](const Experiment& experiment, const platforms::Description&) {
    return network_of_workers(experiment);
  };
}

GuardedResult launch_all(Job& job, const std::string& out, const LaunchOnce& launch) {
  MpirunLauncher launcher(launch);
  MeasuredGenerations generations(job, out, launcher);
  return launcher.last(launch_generations(job, out, generations, network_of_generations()));
}

std::string advice_after_death(const Job& job, const GuardedResult& result) {
  if (!result.rank_died || continuation_of(job) != Continuation::in_place || has_generations(job)) return "";
  return job.real_math() ? "with checkpoint.policy (for example --set checkpoint.policy=fixed) `tandem run` "
                           "would continue the job by itself from its last commit"
                         : "";
}

}  // namespace tandem::cli
