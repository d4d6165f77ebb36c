// The generations of a simulated job whose machines depart, each in a process of its own: a process can
// simulate once.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobs/restarts.hpp"
#include "cli/shared/progress.hpp"
#include "sim/job_world.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
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
  std::optional<ResumePoint> restart_point(GenerationResult& result) override;
  Seconds decide_next(const GenerationResult& result, Seconds pause) override;
  std::optional<int> wait(Seconds) override { return std::nullopt; }
  const std::vector<int>* members() const override {
    return recovers_in_place(job_) ? nullptr : &steward_.members();
  }
  bool has_lost_more() const override { return has_lost_more_; }
  void write_membership(bool as_drawn) override;
  void tell(const std::string&) override {}

  /// The whole job, once it has ended.
  sim::JobRun take_run() { return std::move(run_); }

 private:
  // In processes of their own.
  int simulate_here(std::optional<Seconds> until) const;
  int find_point_here() const;
  void run_apart(const std::function<int()>& body) const;
  nlohmann::json describe_point(const Journal& cut) const;
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
  bool has_lost_more_ = false;  ///< since that was found
  Journal cut_;                 ///< of the last generation, if commits may be lost with machines
  sim::JobRun run_;
};

}  // namespace tandem::cli
