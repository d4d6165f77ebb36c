// Where the generations of a job run: a simulation, or real machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/job/plan/resume_point.hpp"
#include "workloads/membership/generations/generation_result.hpp"

namespace tandem {

/// Where the generations of a job run.
class GenerationWorld {
 public:
  virtual ~GenerationWorld() = default;
  /// Runs the job as its document says. An environment error is a reason to start it again.
  virtual GenerationResult launch() = 0;
  /// The point from which the job continues after the generation that has just ended; none: the beginning.
  /// May add the lost work to the result of that generation.
  virtual std::optional<ResumePoint> restart_point(GenerationResult& result) = 0;
  /// Decides when the next generation begins, and returns the time until then. `pause`: after a death
  /// without a drawn departure. Errors: WorldError when there are no machines to continue on.
  virtual Seconds decide_next(const GenerationResult& result, Seconds pause) = 0;
  /// Passes that time. Returns the signal that arrived meanwhile, if any.
  virtual std::optional<int> wait(Seconds pause) = 0;
  /// The slots of the workers that the next generation has; null: all. Pre: decide_next has returned.
  virtual const std::vector<int>* members() const = 0;
  /// Machines have departed during that time and took commits along: restart_point() may be another one.
  virtual bool has_lost_more() const = 0;
  /// The job ends without results: writes the known events of its machines to membership.csv. `as_drawn`:
  /// its last generation ended by a drawn event.
  virtual void write_membership(bool as_drawn) = 0;
  /// A note to the user.
  virtual void notify(const std::string& note) = 0;
};

}  // namespace tandem
