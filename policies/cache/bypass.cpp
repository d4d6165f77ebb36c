#include "policies/cache/bypass.hpp"

#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::cache {
namespace {

class Bypass final : public CachePolicy {
 public:
  Bypass(std::unique_ptr<CachePolicy> policy, int jobs)
      : policy_(std::move(policy)), bypasses_(static_cast<std::size_t>(jobs)) {}

  void on_want(const Want& want, Decisions& decisions) override {
    const std::size_t before = decisions.serve.size();
    policy_->on_want(want, decisions);
    if (!bypasses_[index(want.job)]) return;
    for (std::size_t i = before; i < decisions.serve.size(); ++i) {
      Place& from = decisions.serve[i].from;
      if (from.where != Where::store) from = store();
    }
  }
  void on_job(const JobChange& change, Decisions& decisions) override {
    using State = JobChange::State;
    bypasses_[index(change.job)] = change.state == State::bypasses;
    if (change.state != State::bypasses && change.state != State::returns) policy_->on_job(change, decisions);
  }
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    policy_->on_arrived(arrived, decisions);
  }
  void on_epoch(const EpochBegins& event, Decisions& decisions) override {
    policy_->on_epoch(event, decisions);
  }
  void on_importance(int job, std::span<const float> losses, Decisions& decisions) override {
    policy_->on_importance(job, losses, decisions);
  }
  void on_peer(const PeerChange& change, Decisions& decisions) override {
    policy_->on_peer(change, decisions);
  }
  void on_directory(std::span<const Holder> holders, Decisions& decisions) override {
    policy_->on_directory(holders, decisions);
  }
  void on_idle(Bytes room, Decisions& decisions) override { policy_->on_idle(room, decisions); }
  bool holds(SampleId id) const override { return policy_->holds(id); }
  Bytes used(int tier) const override { return policy_->used(tier); }

 private:
  std::size_t index(int job) const {
    TANDEM_CHECK(job >= 0 && static_cast<std::size_t>(job) < bypasses_.size(), job, bypasses_.size());
    return static_cast<std::size_t>(job);
  }

  std::unique_ptr<CachePolicy> policy_;
  std::vector<bool> bypasses_;  ///< by job
};

}  // namespace

std::unique_ptr<CachePolicy> with_bypass(std::unique_ptr<CachePolicy> policy, int jobs) {
  return std::make_unique<Bypass>(std::move(policy), jobs);
}

}  // namespace tandem::cache
