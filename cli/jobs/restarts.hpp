// A job that starts again when a rank dies or a machine departs, launch by launch in one result directory, in
// simulation (of departures) and measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/machines/machine_use.hpp"
#include "runtime/process/signals.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/restart_steward.hpp"

namespace tandem::cli {

/// How the launch of one generation ended.
struct GenerationResult : GuardedResult {
  GenerationResult() = default;
  GenerationResult(GuardedResult result) : GuardedResult(std::move(result)) {}
  /// The departure or arrival of a machine, as it was drawn, which ended it.
  std::optional<RestartSteward::End> drawn = {};
  std::optional<std::int64_t> lost_samples = {};  ///< of steps that are done again; none: not known
  std::optional<std::int64_t> lost_commit = {};   ///< as EndedGeneration::lost_commit
  /// Machines were lost: the job would have started again from `before`, and now does from `after`.
  void note_loss(const std::optional<ResumePoint>& before, const std::optional<ResumePoint>& after);
};

/// The machines whose departures and arrivals end generations. `job`: with all workers. Pre:
/// has_drawn_generations(). Errors: ConfigError for a lifetime model that has no machines as the job
/// begins.
RestartSteward make_restart_steward(const Job& job);

/// Why a generation has ended. The text after a job (results_text.cpp) recognises it.
std::string describe(const RestartSteward::End& end);

/// Adds what the steward knows of the machines until the end of the present generation.
void add_machines(Generation& generation, const RestartSteward& steward);

/// The machines in these slots (hosts_of_machines) have departed, with what cache nodes keep there, and the
/// commits on their disks. Returns whether there were any commits.
bool lose_machines(const Job& job, const std::vector<int>& slots);

/// Where the generations of a job run.
class GenerationWorld {
 public:
  virtual ~GenerationWorld() = default;
  /// Runs the job as its document says. An environment error is a reason to start it again.
  virtual GenerationResult launch() = 0;
  /// From where the generation that has just ended is continued; none: from the beginning. May complete the
  /// result of that generation by what is lost.
  virtual std::optional<ResumePoint> restart_point(GenerationResult& result) = 0;
  /// Decides when the next generation begins: after how long. `pause`: after a death that nobody drew.
  /// Errors: WorldError when there are no machines to continue on.
  virtual Seconds decide_next(const GenerationResult& result, Seconds pause) = 0;
  /// Passes that time. Returns the signal that arrived meanwhile, if any.
  virtual std::optional<int> wait(Seconds pause) = 0;
  /// The slots of the workers that the next generation has; null: all. Pre: decide_next has returned.
  virtual const std::vector<int>* members() const = 0;
  /// Machines have departed during that time that took commits along: restart_point() may be another one.
  virtual bool has_lost_more() const = 0;
  /// The job ends without results: what is known of its machines stays in membership.csv. `as_drawn`: its
  /// last generation ended as it was drawn.
  virtual void write_membership(bool as_drawn) = 0;
  /// For the user.
  virtual void tell(const std::string& note) = 0;
};

/// The generations of a real job. Between two launches, too, a signal ends the job in order. With run.revoke
/// kill, ranks are killed when the machines under them depart; in place, those on needed machines in any
/// case. Where the job may have fewer workers, its
/// recovery policy decides about workers that die by themselves, too.
class MeasuredGenerations final : public GenerationWorld {
 public:
  /// Runs the job as its document says, and kills the rank that is asked for (LaunchEvents::kill).
  using Launch = std::function<GuardedResult(const std::function<std::optional<PlannedKill>()>& kill)>;
  /// `out`: the result directory of the job, which must outlive this. Errors: as make_restart_steward.
  MeasuredGenerations(Job& job, std::string out, Launch launch);
  GenerationResult launch() override;
  std::optional<ResumePoint> restart_point(GenerationResult& result) override;
  Seconds decide_next(const GenerationResult& result, Seconds pause) override;
  std::optional<int> wait(Seconds pause) override;
  const std::vector<int>* members() const override;
  bool has_lost_more() const override { return has_lost_more_; }
  void write_membership(bool as_drawn) override;
  void tell(const std::string& note) override;

 private:
  GenerationResult launch_once();
  std::optional<Seconds> now() const;
  std::optional<PlannedKill> next_kill() const;
  Rank rank_of(const RestartSteward::End& end) const;
  std::vector<SlotDeath> deaths_of(const GenerationResult& result) const;
  std::optional<Seconds> decide_on_deaths(const GenerationResult& result);
  std::optional<Seconds> pass_departures(Seconds pause);

  Job& job_;
  std::string out_;
  Launch launch_;
  bool is_revoked_;                        ///< as the experiment's lifetimes are drawn
  std::vector<SlotDeath> deaths_;          ///< so far, that nobody drew and that the policy knows of
  std::optional<RestartSteward> steward_;  ///< none: the machines are the same so far
  bool has_lost_more_ = false;
  SignalReader signals_;
};

/// Removes what only a next generation would need, when the job has ended successfully.
void remove_generation_files(const Job& job, const std::string& out);

/// Whether the job is launched again when a rank dies: with recovery.mode restart; or where it recovers in
/// place from the departures of machines and commits its state, with values or for needed machines that
/// depart.
bool outlives_ranks(const Job& job);
/// What would have helped a job that a death has ended; empty: nothing.
std::string advice_after_death(const Job& job, const GuardedResult& result);

/// Adds what the steward knows of the machines, until that time (none: all), to membership.csv in `out`.
void write_known_membership(const std::string& out, const RestartSteward& steward,
                            std::optional<Seconds> until);

/// Whether outlives_ranks. The job then gets its first generation.
bool begin_generations(Job& job);

/// Launches the job until it ends, at most recovery.restarts times more than once: each time from its latest
/// complete checkpoint, after pauses that grow while no launch gets further, with the workers that have a
/// machine. Tells of each restart. `job` is then its last generation. `out`: its result directory, with its
/// document. Pre: begin_generations(job). Errors: as the launches.
GenerationResult launch_generations(Job& job, const std::string& out, GenerationWorld& world);

}  // namespace tandem::cli
