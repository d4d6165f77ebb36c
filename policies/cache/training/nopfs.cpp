// NoPFS (Dryden, Boehringer, Ben-Nun, Hoefler, SC 2021). The seed tells each node what all nodes will read
// during the whole run. A node keeps the samples that it will read most often, the most frequent in its
// fastest tier; it reads them ahead in the order of their first use, and others from the fastest of own
// tiers, another node and the store.
#include <algorithm>
#include <numeric>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/cache/training/shares.hpp"

namespace tandem::cache {
namespace {

/// What one node plans to keep.
struct NodePlan {
  std::vector<std::int8_t> tier;               ///< by id; outside: not kept
  std::vector<std::vector<SampleId>> by_tier;  ///< in the order of their first use
};

class NoPfs final : public CachePolicy {
 public:
  explicit NoPfs(const Setting& setting)
      : setting_(setting),
        lead_(setting.options.integer("lead")),
        samples_(static_cast<std::size_t>(setting.manifest.samples)),
        read_ahead_(setting.tiers.size()),
        holder_(samples_, nobody),
        holder_tier_(samples_),
        place_in_list_(samples_) {
    for (std::size_t tier = 0; tier < setting.tiers.size(); ++tier)
      kept_.emplace_back(setting.tiers[tier], static_cast<int>(tier));
    plan();
  }

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      const int own = tier_of(id);
      decisions.serve.push_back({id, id, own >= 0 ? tier(own) : fastest_elsewhere(id, size)});
      const int planned = mine_.tier[index(id)];
      if (own < 0 && planned >= 0) kept_[static_cast<std::size_t>(planned)].keep(id, size, decisions);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (Kept& kept : kept_) kept.forget_failed(arrived, decisions);
  }

  void on_peer(const PeerChange& change, Decisions&) override { forget_owner(holder_, change); }

  /// Reads ahead, the fastest tier first.
  void on_idle(Bytes room, Decisions& decisions) override {
    for (std::size_t tier = 0; tier < kept_.size(); ++tier) {
      const auto& list = mine_.by_tier[tier];
      for (std::size_t& next = read_ahead_[tier]; next < list.size(); ++next) {
        const SampleId id = list[next];
        if (kept_[tier].holds(id)) continue;
        const Bytes size = setting_.manifest.size_of(id);
        if (size > room) return;
        kept_[tier].keep(id, size, decisions);
        decisions.read(id, store(), Why::prefetch);
        room = room - size;
      }
    }
  }

  bool holds(SampleId id) const override { return tier_of(id) >= 0; }
  Bytes used(int tier) const override { return kept_[static_cast<std::size_t>(tier)].used(); }

 private:
  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  int tier_of(SampleId id) const {
    for (std::size_t tier = 0; tier < kept_.size(); ++tier)
      if (kept_[tier].holds(id)) return static_cast<int>(tier);
    return outside;
  }

  /// The plans of all nodes; of those of others only who holds a sample in the fastest tier.
  void plan() {
    for (int distance = setting_.nodes - 1; distance >= 0; --distance) {
      const int node = (setting_.node + distance) % setting_.nodes;
      NodePlan plan = plan_of(node);
      if (node == setting_.node) {
        mine_ = std::move(plan);
        return;
      }
      for (std::size_t tier = 0; tier < plan.by_tier.size(); ++tier)
        for (std::size_t place = 0; place < plan.by_tier[tier].size(); ++place) {
          const std::size_t id = index(plan.by_tier[tier][place]);
          if (holder_[id] != nobody && holder_tier_[id] < static_cast<std::int8_t>(tier)) continue;
          holder_[id] = static_cast<std::int16_t>(node);
          holder_tier_[id] = static_cast<std::int8_t>(tier);
          place_in_list_[id] = static_cast<std::uint32_t>(place);
        }
    }
  }
  NodePlan plan_of(int node) const {
    std::vector<std::uint32_t> uses(samples_), first(samples_);
    std::uint32_t position = 0;
    std::vector<SampleId> list, touched;
    for (std::int64_t epoch = 0; epoch < setting_.plan->epochs(); ++epoch)
      for (int job = 0; job < setting_.jobs; ++job) {
        setting_.plan->list(job, epoch, node, list);
        for (const SampleId id : list) {
          if (uses[index(id)]++ == 0) {
            first[index(id)] = position;
            touched.push_back(id);
          }
          ++position;
        }
      }
    std::ranges::stable_sort(touched, std::ranges::greater(), [&](SampleId id) { return uses[index(id)]; });
    NodePlan plan{std::vector<std::int8_t>(samples_, outside), {}};
    plan.by_tier.resize(setting_.tiers.size());
    std::vector<Bytes> room = setting_.tiers;
    for (const SampleId id : touched) {
      const Bytes size = setting_.manifest.size_of(id);
      const auto tier = std::ranges::find_if(room, [size](Bytes left) { return left >= size; });
      if (tier == room.end()) continue;
      *tier = *tier - size;
      plan.tier[index(id)] = static_cast<std::int8_t>(tier - room.begin());
      plan.by_tier[static_cast<std::size_t>(tier - room.begin())].push_back(id);
    }
    for (auto& ids : plan.by_tier) std::ranges::sort(ids, {}, [&](SampleId id) { return first[index(id)]; });
    return plan;
  }

  /// Another node is taken to have read a sample when this node's own reading ahead in that tier is `lead`
  /// samples further, or has ended.
  bool is_expected_there(SampleId id) const {
    const auto tier = static_cast<std::size_t>(holder_tier_[index(id)]);
    const bool ended = read_ahead_[tier] >= mine_.by_tier[tier].size();
    return ended || read_ahead_[tier] >= place_in_list_[index(id)] + static_cast<std::size_t>(lead_);
  }
  Place fastest_elsewhere(SampleId id, Bytes size) const {
    const int holder = holder_[index(id)];
    if (holder == nobody || !is_expected_there(id)) return store();
    const auto& rates = *setting_.rates;
    const Seconds network = rates.peer.time_of(size);
    const Seconds disk = rates.tiers[static_cast<std::size_t>(holder_tier_[index(id)])].time_of(size);
    return std::max(network, disk) <= rates.store.time_of(size) ? peer(holder) : store();
  }

  Setting setting_;
  std::int64_t lead_;
  std::size_t samples_;
  std::vector<Kept> kept_;  ///< by tier
  NodePlan mine_;
  std::vector<std::size_t> read_ahead_;       ///< by tier: samples of the plan that were read or skipped
  std::vector<std::int16_t> holder_;          ///< by id: the other node with it in the fastest tier
  std::vector<std::int8_t> holder_tier_;      ///< of that node
  std::vector<std::uint32_t> place_in_list_;  ///< in that tier's order
};

}  // namespace

Catalog<Factory>::Entry nopfs() {
  return {
      .name = "nopfs",
      .summary =
          "keeps what this node will read most often in the whole run, read ahead in the order of first "
          "use; other samples from the fastest place",
      .paper =
          "Dryden, Boehringer, Ben-Nun, Hoefler: Clairvoyant Prefetching for Distributed Machine Learning "
          "I/O. SC 2021",
      .options = {{"lead",
                   "another node is asked for a sample when this node's own reading ahead is this many "
                   "samples further",
                   std::int64_t{20}, 0, 1e9}},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<NoPfs>(setting);
               },
               .needs = {.manifest = true, .plan = true, .rates = true, .peers = true, .idle = true}}};
}

}  // namespace tandem::cache
