// Estimates of checkpointing policies from events: the machines of the job and how often they fail, the
// duration of rounds, and the cost of a commit.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "policies/checkpointing/policy.hpp"

namespace tandem::checkpointing {

/// The machines of a job, and the time for which all of them together were observed.
class Machines {
 public:
  /// Ignores an occupant that is older than the slot's present one.
  void ready(const Ready& event);
  void warned(const Warned& event);
  /// Ignores an occupant that is not in the slot.
  void departed(const Departed& event);
  /// A commit is complete. Machines for whose notice `is_last` is true have no later commit: their
  /// departures lose no more than they must, and do not count as failures.
  void save_warned(Seconds now, const std::function<bool(Seconds notice)>& is_last);

  int count() const { return static_cast<int>(all_.size()); }
  struct Age {
    std::size_t slot = 0;
    double seconds = 0.0;
  };
  /// Ages in order of arrival. One machine, started at time 0, if no machine has been announced.
  std::vector<Age> ages(Seconds now) const;
  /// The time until its departure, for each machine that was warned and for which no commit has been made
  /// since.
  std::vector<Seconds> notices(Seconds now) const;
  /// Number of revoked and lost machines.
  double failures() const { return static_cast<double>(failures_); }
  /// Time of observation, summed over all machines, also those that have departed.
  Seconds observed(Seconds now) const;
  void serialise(PolicyState& state);

 private:
  struct Machine {
    int slot = 0;
    int incarnation = 0;
    Seconds ready = {};
    Seconds age = {};  ///< when it became ready
    Seconds departs = Seconds(std::numeric_limits<double>::infinity());
    bool saved = false;  ///< a commit was made after its warning
  };

  std::vector<Machine>::iterator in_slot(int slot);

  std::vector<Machine> all_;
  std::int64_t failures_ = 0;
  Seconds observed_;  ///< machines that have departed
};

/// The mean time between failures: given by the options, or estimated from the machines.
class FailureRate {
 public:
  static std::vector<OptionSpec> options();
  FailureRate(const Options& options, double time_scale);
  /// For the job: that of one machine divided by the number of machines. The estimate is the inverse of the
  /// posterior mean (a + failures) / (b + hours) of a machine's failure rate with a Gamma(a, b) prior.
  Seconds mtbf(const Machines& machines, Seconds now) const;

 private:
  Seconds given_;
  double prior_failures_;
  Seconds prior_time_;
};

/// The last durations of one kind. Single ones may be far from the others.
class RecentTimes {
 public:
  void add(Seconds duration);
  bool empty() const { return last_.empty(); }
  /// Their median. Pre (both): not empty.
  Seconds usual() const;
  /// A duration that few exceed: the median plus three times the median deviation from it, which is about
  /// two standard deviations of normal ones.
  Seconds cautious() const;
  void serialise(PolicyState& state, const std::string& name);

 private:
  std::vector<Seconds> last_;  ///< in order of time
};

/// The time of a commit: given by the options, or the mean of the measured ones.
class CommitCost {
 public:
  static OptionSpec option();
  explicit CommitCost(const Options& options);
  void add(const Committed& commit);
  /// The time for which it blocks the job. None: neither given nor measured yet.
  std::optional<Seconds> expected() const;
  /// Times from the end of the round until the commit is complete, which may be after the job has continued:
  /// the usual time, and one that few exceed. At least the values of the options.
  std::optional<Seconds> until_complete() const;
  std::optional<Seconds> cautious_until_complete() const;
  /// The time of all commits so far.
  Seconds spent() const { return spent_; }
  void serialise(PolicyState& state);

 private:
  Seconds given_;
  std::int64_t commits_ = 0;
  Seconds spent_;
  RecentTimes took_;
};

/// The largest accepted number of seconds.
inline constexpr double longest_s = 1e12;

}  // namespace tandem::checkpointing
