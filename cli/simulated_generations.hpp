// The generations of a simulated job whose machines depart, each in a process of its own: a process can
// simulate once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/progress.hpp"
#include "cli/restarts.hpp"
#include "sim/job_world.hpp"
#include "workloads/membership/restart_steward.hpp"

namespace tandem::cli {

class SimulatedGenerations final : public GenerationWorld {
 public:
  /// Simulates a generation until the given time since it began; none: to the end of the job.
  using Simulate = std::function<sim::JobRun(std::optional<Seconds> until)>;
  /// `out`: the result directory of the job, which must outlive this. Errors: ConfigError for a lifetime
  /// model that has no machines as the job begins.
  SimulatedGenerations(Job& job, std::string out, Simulate simulate);

  GenerationResult launch() override;
  std::optional<ResumePoint> restart_point() override { return point_; }
  std::optional<int> wait(const GenerationResult& result, Seconds pause) override;
  const std::vector<int>* members() const override { return &steward_.members(); }
  void tell(const std::string&) override {}

  /// The whole job, once it has ended.
  sim::JobRun take_run() { return std::move(run_); }

 private:
  int simulate_here(std::optional<Seconds> until) const;
  void simulate_apart(std::optional<Seconds> until) const;
  GenerationResult ended(std::int64_t lost_samples) const;
  std::string file() const { return out_ + "/generation.part"; }

  Job& job_;
  std::string out_;
  Simulate simulate_;
  RestartSteward steward_;
  ProgressBar bar_;
  Seconds launch_time_;  ///< until all ranks of a generation are ready
  Seconds launched_{0};  ///< the present generation
  Seconds began_{0};     ///< the present generation
  std::optional<ResumePoint> point_;
  sim::JobRun run_;
};

}  // namespace tandem::cli
