// The generations of a job on real machines.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/membership/generations/generation_world.hpp"
#include "workloads/membership/restart_steward.hpp"

namespace tandem {

/// A rank that is to die.
struct PlannedDeath {
  Rank rank = 0;
  Seconds in{};  ///< from now on; below 0: its time has passed
};

/// What generations need of this process.
class GenerationLauncher {
 public:
  virtual ~GenerationLauncher() = default;
  /// Runs the job as its document says. Calls `death` again and again, and kills the rank that it returns;
  /// null: kills none. Errors: WorldError.
  virtual GenerationResult launch(const std::function<std::optional<PlannedDeath>()>& death) = 0;
  /// Removes what killed ranks left on this machine.
  virtual void clean() = 0;
  /// Returns the signal that arrived meanwhile, if any.
  virtual std::optional<int> wait(Seconds pause) = 0;
  /// A note to the user.
  virtual void notify(const std::string& note) = 0;
};

/// The generations of a real job. Between two launches, too, a signal ends the job in order. With run.revoke
/// kill, ranks are killed when the machines under them depart. In place, ranks on needed machines are killed
/// in any case. Where the job may have fewer workers, its recovery policy also decides about workers that
/// die by themselves.
class MeasuredGenerations final : public GenerationWorld {
 public:
  /// `out`: the result directory of the job. Job and launcher must outlive this. Errors: as
  /// make_restart_steward.
  MeasuredGenerations(Job& job, std::string out, GenerationLauncher& launcher);
  GenerationResult launch() override;
  std::optional<ResumePoint> restart_point(GenerationResult& result) override;
  Seconds decide_next(const GenerationResult& result, Seconds pause) override;
  std::optional<int> wait(Seconds pause) override { return launcher_.wait(pause); }
  const std::vector<int>* members() const override;
  bool has_lost_more() const override { return has_lost_more_; }
  void write_membership(bool as_drawn) override;
  void notify(const std::string& note) override { launcher_.notify(note); }

 private:
  GenerationResult launch_once();
  std::optional<Seconds> now() const;
  std::optional<PlannedDeath> next_death() const;
  Rank rank_of(const RestartSteward::End& end) const;
  std::vector<SlotDeath> deaths_of(const GenerationResult& result) const;
  std::optional<Seconds> decide_on_deaths(const GenerationResult& result);
  std::optional<Seconds> pass_departures(Seconds pause);

  Job& job_;
  std::string out_;
  GenerationLauncher& launcher_;
  bool is_revoked_;                        ///< machines depart as they are drawn
  std::vector<SlotDeath> deaths_;          ///< that were not drawn and that the policy knows
  std::optional<RestartSteward> steward_;  ///< none: no machine has changed so far
  bool has_lost_more_ = false;
};

}  // namespace tandem
