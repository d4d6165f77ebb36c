// What checkpointing policies learn from events: which machines the job has and how often they fail, how long
// rounds take, and what a commit costs.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "policies/checkpointing/policy.hpp"

namespace tandem::checkpointing {

/// The machines of a job, and how long all of them together were observed.
class Machines {
 public:
  /// Ignores an occupant that is older than the slot's present one.
  void ready(const Ready& event);
  void warned(const Warned& event);
  /// Ignores an occupant that is not in the slot.
  void departed(const Departed& event);
  /// A commit is complete, after which none fits into these notices: such departures lose nothing but what
  /// must be lost, and do not count as failures.
  void save_warned(Seconds now, const std::function<bool(Seconds notice)>& is_last);

  int count() const { return static_cast<int>(all_.size()); }
  struct Age {
    std::size_t slot = 0;
    double seconds = 0.0;
  };
  /// In order of arrival. One machine, started at time 0, if no machine has been announced.
  std::vector<Age> ages(Seconds now) const;
  /// Until its departure, of each machine that was warned and for which no commit has been made since.
  std::vector<Seconds> notices(Seconds now) const;
  /// Revoked and lost machines.
  double failures() const { return static_cast<double>(failures_); }
  /// Sum over all machines, also those that have departed.
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

/// The mean time between failures: given by the options, or learnt from the machines.
class FailureRate {
 public:
  static std::vector<OptionSpec> options();
  FailureRate(const Options& options, double time_scale);
  /// Of the job: that of one machine divided by the number of machines. Learnt: the inverse of the posterior
  /// mean (a + failures) / (b + hours) of a machine's failure rate with a Gamma(a, b) prior.
  Seconds mtbf(const Machines& machines, Seconds now) const;

 private:
  Seconds given_;
  double prior_failures_;
  Seconds prior_time_;
};

/// The last few durations of one kind, of which single ones may be far from the others.
class RecentTimes {
 public:
  void add(Seconds duration);
  bool empty() const { return last_.empty(); }
  /// Their median. Pre (both): not empty.
  Seconds usual() const;
  /// Few are longer: the median and three times the median deviation from it, which are about two standard
  /// deviations of normal ones.
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
  /// For which it blocks the job. None: neither given nor measured yet.
  std::optional<Seconds> expected() const;
  /// From the end of its round until it is complete, which may be later than the job continues: usually, and
  /// a time that few take longer. At least what the options say.
  std::optional<Seconds> until_complete() const;
  std::optional<Seconds> cautious_until_complete() const;
  /// Of all commits so far.
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
