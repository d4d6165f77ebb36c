// What checkpointing policies learn from events: which machines the job has and how often they fail, and what
// a commit costs.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "policies/checkpointing/policy.hpp"

namespace tandem::checkpointing {

/// The machines of a job, and how long all of them together were observed.
class Machines {
 public:
  /// Ignores an occupant that is older than the slot's present one.
  void ready(const Ready& event);
  void warned(const Warned& event);
  /// Ignores an occupant that the slot does not have.
  void departed(const Departed& event);
  /// A commit is complete that was made because of warnings: departures that were announced lose nothing, and
  /// do not count as failures.
  void save_warned();

  int count() const { return static_cast<int>(all_.size()); }
  /// In seconds, in order of arrival. One machine, started at time 0, if no machine has been announced.
  std::vector<double> ages_s(Seconds now) const;
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
  explicit FailureRate(const Options& options);
  /// Of the job: that of one machine divided by the number of machines. Learnt: the inverse of the posterior
  /// mean (a + failures) / (b + hours) of a machine's failure rate with a Gamma(a, b) prior.
  Seconds mtbf(const Machines& machines, Seconds now) const;

 private:
  Seconds given_;
  double prior_failures_;
  Seconds prior_time_;
};

/// The time of a commit: given by the options, or the mean of the measured ones.
class CommitCost {
 public:
  static OptionSpec option();
  explicit CommitCost(const Options& options);
  void add(Seconds duration);
  /// None: neither given nor measured yet.
  std::optional<Seconds> expected() const;
  /// Of all commits so far.
  Seconds spent() const { return spent_; }
  void serialise(PolicyState& state);

 private:
  Seconds given_;
  std::int64_t commits_ = 0;
  Seconds spent_;
};

/// The largest accepted number of seconds.
inline constexpr double longest_s = 1e12;

}  // namespace tandem::checkpointing
