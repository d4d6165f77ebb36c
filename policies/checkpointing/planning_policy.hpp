// The common part of all checkpointing policies. They plan the next commit when the job starts and after
// each commit, and try again after a failed one. They may also commit on warnings: after the last round
// whose commit is complete before the machine is taken away.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpointing/estimates.hpp"
#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/make_policy.hpp"

namespace tandem::checkpointing {

class PlanningPolicy : public Policy {
 public:
  void on_started(const Started& event, Decisions& decisions) final;
  void on_round_done(const RoundDone& event, Decisions& decisions) final;
  void on_warned(const Warned& event, Decisions& decisions) final;
  void on_departed(const Departed& event, Decisions& decisions) final;
  void on_ready(const Ready& event, Decisions& decisions) final;
  void on_committed(const Committed& event, Decisions& decisions) final;
  void on_commit_failed(const CommitFailed& event, Decisions& decisions) final;
  void serialise(PolicyState& state) override;

 protected:
  PlanningPolicy(const Options& options, bool commits_on_warning)
      : cost_(options), commits_on_warning_(commits_on_warning), margin_(options.real("margin")) {}

  /// The next commit; none: it is not planned.
  virtual std::optional<Decision> next_commit(Seconds now) const = 0;
  /// The next commit after one failed: after 1, 2, 4, ... rounds. Soon, because more and more work is at
  /// risk; but not after each round, because a commit that always fails costs time.
  virtual std::optional<Decision> retry(Seconds now) const;

  const Machines& machines() const { return machines_; }
  const CommitCost& cost() const { return cost_; }
  Seconds work() const { return work_; }                  ///< sum of the durations of all rounds
  std::int64_t failed_in_all() const { return failed_; }  ///< commits

 private:
  void plan(const std::optional<Decision>& next, Decisions& decisions) const;
  bool is_last_chance(Seconds notice) const;
  bool may_follow(const Committed& event, Seconds notice) const;
  bool may_wait(Seconds notice, Seconds computed = {}) const;

  Machines machines_;
  CommitCost cost_;
  RecentTimes rounds_;
  bool commits_on_warning_;
  double margin_;
  bool requested_ = false;            ///< CommitNow was decided, and its commit has not ended
  std::int64_t requested_round_ = 0;  ///< after which round that was
  std::int64_t round_ = 0;            ///< the last one that ended
  Seconds round_ended_;
  std::int64_t failed_ = 0;
  int failed_in_a_row_ = 0;
  Seconds work_;
};

/// Whether a periodic policy also commits on warnings.
OptionSpec on_warning_option();
/// When a commit on a warning waits one more round: the share by which that round and the commit may exceed
/// their expected time.
OptionSpec margin_option();

/// After a first commit that shows the cost, an interval that follows from the cost of a commit and the mean
/// time between failures of the job.
template <Seconds (*interval)(Seconds cost, Seconds mtbf)>
class IntervalPolicy final : public PlanningPolicy {
 public:
  explicit IntervalPolicy(const Setting& setting)
      : PlanningPolicy(setting.options, setting.options.boolean("on_warning")),
        rate_(setting.options, setting.time_scale) {}

 protected:
  std::optional<Decision> next_commit(Seconds now) const override {
    const auto expected = cost().expected();
    if (!expected) return NextCommitInRounds{1};
    return NextCommitInSeconds{interval(*expected, rate_.mtbf(machines(), now))};
  }

 private:
  FailureRate rate_;
};

/// The catalogue entry of an IntervalPolicy.
template <Seconds (*interval)(Seconds cost, Seconds mtbf)>
Catalog<Factory>::Entry interval_entry(std::string name, std::string summary, std::string paper) {
  std::vector<OptionSpec> options = {CommitCost::option()};
  for (auto& option : FailureRate::options()) options.push_back(std::move(option));
  options.push_back(on_warning_option());
  options.push_back(margin_option());
  return {.name = std::move(name),
          .summary = std::move(summary),
          .paper = std::move(paper),
          .options = std::move(options),
          .make = make_policy<IntervalPolicy<interval>>};
}

}  // namespace tandem::checkpointing
