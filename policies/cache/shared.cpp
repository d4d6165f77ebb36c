#include "policies/cache/shared.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::cache {
namespace {

/// The policy decides which samples the node may keep. Samples that it would read from the store may be on
/// other nodes.
class SharedCache : public CachePolicy {
 public:
  explicit SharedCache(std::unique_ptr<CachePolicy> policy) : policy_(std::move(policy)) {}

  void on_want(const Want& want, Decisions& decisions) override {
    const std::size_t before = decisions.serve.size();
    own_.clear();
    low_.clear();
    is_own_.clear();
    for (std::size_t i = 0; i < want.now.size(); ++i) {
      is_own_.push_back(may_keep(want.now[i].id));
      if (!is_own_.back()) continue;
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
    for (std::size_t i = 0; i < want.now.size(); ++i) {
      const SampleId id = want.now[i].id;
      Serve serve = is_own_[i] ? *next++ : Serve{id, id, store()};
      if (serve.from.where == Where::store) serve.from = elsewhere(serve.given);
      decisions.serve.push_back(serve);
    }
  }

  /// A sample that no peer has is read from the store next: for the policy, the read has not ended.
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
  void on_peer(const PeerChange& change, Decisions& decisions) override {
    policy_->on_peer(change, decisions);
  }
  bool holds(SampleId id) const override { return policy_->holds(id); }
  Bytes used(int tier) const override { return policy_->used(tier); }

 protected:
  CachePolicy& policy() { return *policy_; }
  /// The reads of the last on_arrived that have ended for the policy.
  std::span<const Arrived> ended() const { return arrived_; }

 private:
  virtual bool may_keep(SampleId id) = 0;
  /// Another node, or the store.
  virtual Place elsewhere(SampleId id) = 0;

  std::unique_ptr<CachePolicy> policy_;
  // Scratch:
  std::vector<Sample> own_;
  std::vector<std::uint8_t> low_;
  std::vector<bool> is_own_;
  std::vector<Serve> served_;
  std::vector<Arrived> arrived_;
};

class OwnedCache final : public SharedCache {
 public:
  OwnedCache(std::unique_ptr<CachePolicy> policy, Sharing sharing)
      : SharedCache(std::move(policy)), sharing_(std::move(sharing)) {}

  /// Who else holds a sample follows from the owners.
  void on_directory(std::span<const Holder> holders, Decisions& decisions) override {
    own_holders_.clear();
    for (const Holder& holder : holders)
      if (holder.node == sharing_.node && may_keep(holder.id)) own_holders_.push_back(holder);
    if (!own_holders_.empty()) policy().on_directory(own_holders_, decisions);
  }
  void on_peer(const PeerChange& change, Decisions& decisions) override {
    sharing_.owners.set_present(change.node, change.joins);
    SharedCache::on_peer(change, decisions);
  }

 private:
  /// It serves a sample that it got while an owner was away until it evicts it.
  bool may_keep(SampleId id) override {
    if (sharing_.copies == 0 || policy().holds(id)) return true;
    sharing_.owners.find(id, sharing_.copies, owners_);
    return std::ranges::find(owners_, sharing_.node) != owners_.end();
  }
  /// The first other node among the owners, or the store.
  Place elsewhere(SampleId id) override {
    sharing_.owners.find(id, std::max(1, sharing_.copies), owners_);
    const auto other = std::ranges::find_if(owners_, [this](int node) { return node != sharing_.node; });
    return other == owners_.end() ? store() : peer(*other);
  }

  Sharing sharing_;
  // Scratch:
  std::vector<int> owners_;
  std::vector<Holder> own_holders_;
};

class LocatedCache final : public SharedCache {
 public:
  LocatedCache(std::unique_ptr<CachePolicy> policy, int node) : SharedCache(std::move(policy)), node_(node) {}

  void on_directory(std::span<const Holder> holders, Decisions&) override {
    for (const Holder& holder : holders) {
      if (holder.node == node_)
        granted_.push_back(holder.id);
      else if (holder.node >= 0)
        holder_of_[holder.id] = holder.node;
    }
    is_granted_.insert(granted_.begin(), granted_.end());
  }
  void on_want(const Want& want, Decisions& decisions) override {
    const std::size_t moves = decisions.move.size();
    SharedCache::on_want(want, decisions);
    withdraw(granted_, decisions);
    withdraw_moved(moves, decisions);
    granted_.clear();
    is_granted_.clear();
    holder_of_.clear();
  }
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    const std::size_t moves = decisions.move.size();
    SharedCache::on_arrived(arrived, decisions);
    for (const Arrived& read : ended())
      if (holds(read.id)) decisions.published.push_back(read.id);
    withdraw_moved(moves, decisions);
  }

 private:
  /// It may hold every sample that it holds: it has an entry.
  bool may_keep(SampleId id) override { return is_granted_.contains(id) || holds(id); }
  Place elsewhere(SampleId id) override {
    const auto other = holder_of_.find(id);
    return other == holder_of_.end() ? store() : peer(other->second);
  }
  /// Withdraws the samples that it does not hold after the event, each once.
  void withdraw(std::span<const SampleId> ids, Decisions& decisions) const {
    for (const SampleId id : ids)
      if (!holds(id) && std::ranges::find(decisions.withdrawn, id) == decisions.withdrawn.end())
        decisions.withdrawn.push_back(id);
  }
  void withdraw_moved(std::size_t first, Decisions& decisions) {
    moved_.clear();
    for (std::size_t i = first; i < decisions.move.size(); ++i) moved_.push_back(decisions.move[i].id);
    withdraw(moved_, decisions);
  }

  int node_;
  std::vector<SampleId> granted_;  ///< by the answers for the next request, in their order
  std::unordered_set<SampleId> is_granted_;
  std::unordered_map<SampleId, int> holder_of_;  ///< the same
  std::vector<SampleId> moved_;                  ///< scratch
};

}  // namespace

std::unique_ptr<CachePolicy> share(std::unique_ptr<CachePolicy> policy, Sharing sharing) {
  return std::make_unique<OwnedCache>(std::move(policy), std::move(sharing));
}

std::unique_ptr<CachePolicy> share_by_directory(std::unique_ptr<CachePolicy> policy, int node) {
  return std::make_unique<LocatedCache>(std::move(policy), node);
}

}  // namespace tandem::cache
