// The decisions of a worker's policy. Records every event, because a replay passes them to another policy.
// Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class WorkerDecisions {
 public:
  /// `rank`: of the worker. `journal`: must outlive it.
  WorkerDecisions(std::unique_ptr<sync::WorkerPolicy> policy, Rank rank, Journal& journal)
      : policy_(std::move(policy)), rank_(rank), journal_(journal) {}

  sync::Neighbours neighbours() const { return policy_->neighbours(); }
  sync::StepBeginDecision step_begins(const sync::StepBegin& event);
  sync::WorkerDecision step_done(const sync::StepDone& event);
  /// Errors: a failed check if the policy asks again.
  sync::WorkerDecision answered(const sync::Answer& event);
  /// The members have changed. `decides_again`: the exchange after the last event is given up, and the
  /// policy gets that event again. Returns the exchange that it decides then.
  std::optional<sync::Exchange> on_members(const sync::Members& event, bool decides_again);
  void grant(int local_steps);

  std::string state() const { return serialised(*policy_); }
  void restore(const std::string& state);
  /// A replay continues with the same state.
  void log_restored(const std::string& state);

 private:
  bool keeps() const { return journal_.keep_decisions; }
  void log(const sync::WorkerEvent& event, std::string decision);
  sync::WorkerDecision logged(const sync::WorkerEvent& event, sync::WorkerDecision decision);

  std::unique_ptr<sync::WorkerPolicy> policy_;
  Rank rank_;
  Journal& journal_;
  std::variant<sync::StepBegin, sync::StepDone, sync::Answer> asked_;  ///< the last event about an exchange
};

}  // namespace tandem
