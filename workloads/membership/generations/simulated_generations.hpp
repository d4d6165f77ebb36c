// The generations of a simulated job whose machines depart, each in a process of its own: a process can
// simulate once.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/membership/generations/generation_world.hpp"
#include "workloads/membership/restart_steward.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// The result of a simulation of one generation.
struct SimulatedRun {
  Journal journal;
  Seconds makespan{0};                ///< since the job began
  nlohmann::json physics;             ///< for run.json
  std::vector<std::string> warnings;  ///< for run.json, after those of the job
  bool is_cut = false;                ///< it ended before the job did: the journal is in its own time
};

/// What generations need of this process. SimGrid allows one simulation per process.
struct GenerationSimulator {
  /// Simulates a generation until the given time since it began; none: to the end of the job.
  std::function<SimulatedRun(std::optional<Seconds> until)> simulate;
  /// Runs `body` in a child process; `what` names it in an error. Errors: those of the process.
  std::function<void(const std::function<void()>& body, const std::string& what)> apart;
  /// The share of the job that is done.
  std::function<void(double fraction)> progress;
  /// A note to the user.
  std::function<void(const std::string& note)> notify;
};

/// Between the launch of a generation and its time zero.
Seconds launch_time_of(const Job& job);

class SimulatedGenerations final : public GenerationWorld {
 public:
  /// `out`: the result directory of the job, which must outlive this. Errors: ConfigError for a lifetime
  /// model that has no machines as the job begins.
  SimulatedGenerations(Job& job, std::string out, GenerationSimulator simulator);

  GenerationResult launch() override;
  std::optional<ResumePoint> restart_point(GenerationResult& result) override;
  Seconds decide_next(const GenerationResult& result, Seconds pause) override;
  std::optional<int> wait(Seconds) override { return std::nullopt; }
  const std::vector<int>* members() const override {
    return continuation_of(job_) == Continuation::in_place ? nullptr : &steward_.members();
  }
  bool has_lost_more() const override { return has_lost_more_; }
  void write_membership(bool as_drawn) override;
  void notify(const std::string&) override {}

  /// The whole job, once it has ended.
  SimulatedRun take_run() { return std::move(run_); }

 private:
  // Runs in a process of its own.
  void simulate_here(std::optional<Seconds> until) const;
  void run_apart(const std::function<void()>& body) const;
  nlohmann::json describe_point(const Journal& cut) const;
  GenerationResult ended(std::int64_t lost_samples) const;
  std::string file() const { return out_ + "/generation.part"; }

  Job& job_;
  std::string out_;
  GenerationSimulator simulator_;
  RestartSteward steward_;
  Seconds launch_time_;  ///< until all ranks of a generation are ready
  Seconds launched_{0};  ///< when the present generation was launched
  Seconds began_{0};     ///< when all of its ranks were ready
  std::optional<ResumePoint> point_;
  bool has_lost_more_ = false;  ///< since the restart point was found
  Journal cut_;                 ///< of the last generation, if commits may be lost with machines
  SimulatedRun run_;
};

}  // namespace tandem
