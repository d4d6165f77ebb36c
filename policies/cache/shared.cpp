#include "policies/cache/shared.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::cache {
namespace {

class SharedCache final : public CachePolicy {
 public:
  SharedCache(std::unique_ptr<CachePolicy> policy, Sharing sharing)
      : policy_(std::move(policy)), sharing_(std::move(sharing)) {}

  void on_want(const Want& want, Decisions& decisions) override {
    const std::size_t before = decisions.serve.size();
    own_.clear();
    low_.clear();
    for (std::size_t i = 0; i < want.now.size(); ++i) {
      if (!may_keep(want.now[i].id)) continue;
      own_.push_back(want.now[i]);
      if (!want.low.empty()) low_.push_back(want.low[i]);
    }
    policy_->on_want({.job = want.job, .epoch = want.epoch, .now = own_, .ahead = want.ahead, .low = low_},
                     decisions);
    TANDEM_CHECK(decisions.serve.size() == before + own_.size(), "served", decisions.serve.size() - before,
                 "wanted", own_.size());
    served_.assign(decisions.serve.begin() + static_cast<std::ptrdiff_t>(before), decisions.serve.end());
    decisions.serve.resize(before);
    auto next = served_.begin();
    for (const auto& [id, size] : want.now) {
      Serve serve = may_keep(id) ? *next++ : Serve{id, id, store()};
      if (serve.from.where == Where::store) serve.from = elsewhere(serve.given);
      decisions.serve.push_back(serve);
    }
  }

  /// What no peer has comes from the store: for the policy, the read has not ended.
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    arrived_.clear();
    for (const Arrived& read : arrived)
      if (read.outcome != Arrived::Outcome::not_here) arrived_.push_back(read);
    if (!arrived_.empty()) policy_->on_arrived(arrived_, decisions);
  }
  void on_epoch(const EpochBegins& event, Decisions& decisions) override {
    policy_->on_epoch(event, decisions);
  }
  void on_job(const JobChange& change, Decisions& decisions) override { policy_->on_job(change, decisions); }
  /// Who else holds a sample follows from the owners.
  void on_directory(std::span<const Holder> holders, Decisions& decisions) override {
    own_holders_.clear();
    for (const Holder& holder : holders)
      if (holder.node == sharing_.node && may_keep(holder.id)) own_holders_.push_back(holder);
    if (!own_holders_.empty()) policy_->on_directory(own_holders_, decisions);
  }
  void on_peer(const PeerChange& change, Decisions& decisions) override {
    sharing_.owners.set_present(change.node, change.joins);
    policy_->on_peer(change, decisions);
  }
  bool holds(SampleId id) const override { return policy_->holds(id); }
  Bytes used(int tier) const override { return policy_->used(tier); }

 private:
  bool may_keep(SampleId id) {
    if (sharing_.copies == 0) return true;
    sharing_.owners.find(id, sharing_.copies, owners_);
    return std::ranges::find(owners_, sharing_.node) != owners_.end();
  }
  /// The first other node among the owners, or the store.
  Place elsewhere(SampleId id) {
    sharing_.owners.find(id, std::max(1, sharing_.copies), owners_);
    const auto other = std::ranges::find_if(owners_, [this](int node) { return node != sharing_.node; });
    return other == owners_.end() ? store() : peer(*other);
  }

  std::unique_ptr<CachePolicy> policy_;
  Sharing sharing_;
  // Scratch:
  std::vector<int> owners_;
  std::vector<Sample> own_;
  std::vector<std::uint8_t> low_;
  std::vector<Serve> served_;
  std::vector<Arrived> arrived_;
  std::vector<Holder> own_holders_;
};

}  // namespace

std::unique_ptr<CachePolicy> share(std::unique_ptr<CachePolicy> policy, Sharing sharing) {
  return std::make_unique<SharedCache>(std::move(policy), std::move(sharing));
}

}  // namespace tandem::cache
