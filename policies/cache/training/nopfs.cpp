// NoPFS (Dryden, Boehringer, Ben-Nun, Hoefler, SC 2021). The seed determines what all nodes will read during
// the whole run. A node keeps the samples that it will read most often, the most frequent in its fastest
// tier. It reads them in advance in the order of their first use, and others from the fastest of own tiers,
// another node and the store. Of the nodes that keep a sample, one reads it from the store. A node that is
// asked for a sample of its plan reads it immediately, so no node guesses how far another one is. The plan
// stays when nodes depart: samples that a departed node should read come from the store, and a node that is
// back reads its plan again.
#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "policies/cache/id_index.hpp"
#include "policies/cache/policies.hpp"
#include "policies/cache/training/frequency_plan.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/cache/training/shares.hpp"
#include "policies/cache/training/stated_rates.hpp"

namespace tandem::cache {
namespace {

class NoPfs final : public CachePolicy {
 public:
  explicit NoPfs(const Setting& setting)
      : rates_(stated_rates("nopfs", setting)),
        manifest_(setting.manifest),
        node_(setting.node),
        plan_(frequency_plan(setting)),
        departed_(static_cast<std::size_t>(setting.nodes)) {
    for (std::size_t tier = 0; tier < setting.tiers.size(); ++tier)
      kept_.emplace_back(setting.tiers[tier], static_cast<int>(tier));
    for (const auto& [id, tier] : mine()) tier_of_plan_.insert(id, static_cast<IdIndex::Row>(tier));
  }

  /// Reads all samples of the plan in advance.
  void on_job(const JobChange& change, Decisions& decisions) override {
    if (change.state != JobChange::State::starts || std::exchange(has_started_, true)) return;
    for (std::size_t first = 0; first < mine().size(); first += block)
      read_block(first, std::min(first + block, mine().size()), decisions);
  }

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      const int own = tier_of(id);
      decisions.serve.push_back({id, id, own >= 0 ? tier(own) : fastest_elsewhere(id)});
      const IdIndex::Row planned = tier_of_plan_.find(id);
      if (own < 0 && planned != IdIndex::none) kept_[planned].keep(id, size, decisions);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (Kept& kept : kept_) kept.forget_failed(arrived, decisions);
    for (const Arrived& read : arrived)
      if (read.from.where == Where::peer && read.outcome != Arrived::Outcome::here) lost_.insert(read.id);
  }

  void on_peer(const PeerChange& change, Decisions&) override {
    departed_[static_cast<std::size_t>(change.node)] = !change.joins;
    // A node that is back reads its plan again.
    if (change.joins)
      std::erase_if(lost_,
                    [&](SampleId id) { return plan_->reader[static_cast<std::size_t>(id)] == change.node; });
  }

  /// Samples that the disk has kept need not be read again, if the plan has them on the disk.
  void on_directory(std::span<const Holder> holders, Decisions& decisions) override {
    for (const auto& [id, node] : holders) {
      const IdIndex::Row planned = tier_of_plan_.find(id);
      if (node == node_ && planned != IdIndex::none && planned > 0 && !holds(id))
        kept_[planned].keep(id, manifest_.size_of(id), decisions);
    }
  }

  bool holds(SampleId id) const override { return tier_of(id) >= 0; }
  Bytes used(int tier) const override { return kept_[static_cast<std::size_t>(tier)].used(); }

 private:
  /// Samples of the plan in the order of their first use. Those from one place are read together.
  static constexpr std::size_t block = 256;

  const std::vector<FrequencyPlan::Kept>& mine() const {
    return plan_->of_node[static_cast<std::size_t>(node_)];
  }
  int tier_of(SampleId id) const {
    for (std::size_t tier = 0; tier < kept_.size(); ++tier)
      if (kept_[tier].holds(id)) return static_cast<int>(tier);
    return outside;
  }

  void read_block(std::size_t first, std::size_t end, Decisions& decisions) {
    from_.clear();
    for (std::size_t i = first; i < end; ++i) {
      const auto& [id, tier] = mine()[i];
      if (holds(id) || !kept_[static_cast<std::size_t>(tier)].keep(id, manifest_.size_of(id), decisions))
        continue;
      const Place place = fastest_elsewhere(id);
      auto group = std::ranges::find(from_, place, &Group::place);
      if (group == from_.end()) group = from_.insert(from_.end(), Group{place, {}});
      group->ids.push_back(id);
    }
    for (const Group& group : from_) decisions.read(group.ids, group.place, Why::prefetch);
  }

  Place fastest_elsewhere(SampleId id) const {
    const auto index = static_cast<std::size_t>(id);
    const int reader = plan_->reader[index];
    const bool is_asked = reader != nobody && reader != node_ && rates_.peer.bandwidth > BytesPerSecond(0) &&
                          !departed_[static_cast<std::size_t>(reader)] && !lost_.contains(id);
    if (!is_asked) return store();
    const Bytes size = manifest_.size_of(id);
    const Seconds network = rates_.peer.time_of(size);
    const Seconds there = rates_.tiers[static_cast<std::size_t>(plan_->reader_tier[index])].time_of(size);
    return std::max(network, there) <= rates_.store.time_of(size) ? peer(reader) : store();
  }

  struct Group {
    Place place;
    std::vector<SampleId> ids;
  };

  Rates rates_;
  Manifest manifest_;
  int node_;
  std::shared_ptr<const FrequencyPlan> plan_;
  IdIndex tier_of_plan_;    ///< of the samples that this node plans to keep
  std::vector<Kept> kept_;  ///< by tier
  bool has_started_ = false;
  std::vector<bool> departed_;         ///< by node
  std::unordered_set<SampleId> lost_;  ///< that their node should have had, and had not
  std::vector<Group> from_;            ///< scratch
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
      .options = rate_options(),
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<NoPfs>(setting);
               },
               .needs = {.manifest = true, .plan = true, .rates = true, .peers = true},
               .plans_one_job = true}};
}

}  // namespace tandem::cache
