// A cache policy whose events and decisions are recorded, so that they can be replayed.
#pragma once

#include <memory>

#include "policies/cache/policy.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Records the decisions of the policy itself. Which samples are then read also depends on the reads in
/// flight.
class RecordedPolicy final : public cache::CachePolicy {
 public:
  /// `wants_alone`: the policy decides by requests alone; other events are not recorded. `journal` must
  /// outlive it.
  RecordedPolicy(std::unique_ptr<cache::CachePolicy> policy, Journal& journal, Rank rank, bool wants_alone)
      : policy_(std::move(policy)), journal_(journal), rank_(rank), wants_alone_(wants_alone) {}

  /// Records that a new policy begins on the rank.
  void record_new();
  void on_want(const cache::Want& want, cache::Decisions& decisions) override;
  void on_arrived(std::span<const cache::Arrived> arrived, cache::Decisions& decisions) override;
  void on_epoch(const cache::EpochBegins& event, cache::Decisions& decisions) override;
  void on_importance(int job, std::span<const float> losses, cache::Decisions& decisions) override;
  void on_job(const cache::JobChange& event, cache::Decisions& decisions) override;
  void on_peer(const cache::PeerChange& event, cache::Decisions& decisions) override;
  void on_directory(std::span<const cache::Holder> holders, cache::Decisions& decisions) override;
  void on_idle(Bytes room, cache::Decisions& decisions) override;
  bool holds(SampleId id) const override { return policy_->holds(id); }
  Bytes used(int tier) const override { return policy_->used(tier); }

 private:
  bool records_other_events() const { return journal_.keep_decisions && !wants_alone_; }
  void record(std::string event, const cache::Decisions& decisions);

  std::unique_ptr<cache::CachePolicy> policy_;
  Journal& journal_;
  Rank rank_;
  bool wants_alone_;
};

}  // namespace tandem
