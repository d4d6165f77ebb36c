#include "policies/cache/training/frequency_plan.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "policies/cache/training/shares.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cache {
namespace {

std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }

/// The samples that each node uses in the whole run, in order. Ids take four bytes, because all epochs are
/// in memory together.
std::vector<std::vector<std::uint32_t>> streams(const Setting& setting) {
  TANDEM_CHECK(setting.manifest.samples <= std::numeric_limits<std::uint32_t>::max(), "samples",
               setting.manifest.samples);
  std::vector<std::vector<std::uint32_t>> all(static_cast<std::size_t>(setting.nodes));
  std::vector<SampleId> list;
  for (std::int64_t epoch = 0; epoch < setting.plan->epochs(); ++epoch)
    for (int job = 0; job < setting.jobs; ++job)
      for (int node = 0; node < setting.nodes; ++node) {
        setting.plan->list(job, epoch, node, list);
        auto& stream = all[static_cast<std::size_t>(node)];
        for (const SampleId id : list) stream.push_back(static_cast<std::uint32_t>(id));
      }
  return all;
}

/// The plans of nodes, one after the other.
class Planner {
 public:
  explicit Planner(const Setting& setting)
      : setting_(setting),
        uses_(static_cast<std::size_t>(setting.manifest.samples)),
        first_(uses_.size()),
        reader_first_(uses_.size()) {
    plan_.of_node.resize(static_cast<std::size_t>(setting.nodes));
    plan_.reader.assign(uses_.size(), nobody);
    plan_.reader_tier.resize(uses_.size());
  }

  void add(std::size_t node, const std::vector<std::uint32_t>& stream) {
    count(stream);
    auto& kept = plan_.of_node[node];
    std::vector<Bytes> room = setting_.tiers;
    for (const std::uint32_t id : touched_) {
      const Bytes size = setting_.manifest.size_of(id);
      const auto tier = std::ranges::find_if(room, [size](Bytes left) { return left >= size; });
      if (tier == room.end()) continue;
      *tier = *tier - size;
      kept.push_back({id, static_cast<std::int8_t>(tier - room.begin())});
    }
    std::ranges::sort(kept, {}, [this](const auto& one) { return first_[index(one.id)]; });
    for (const auto& one : kept) offer(node, one);
    for (const std::uint32_t id : touched_) uses_[id] = 0;
  }
  FrequencyPlan take() && { return std::move(plan_); }

 private:
  /// Sets `touched_`: the samples of the node, the most frequent first.
  void count(const std::vector<std::uint32_t>& stream) {
    touched_.clear();
    for (std::size_t position = 0; position < stream.size(); ++position) {
      const std::uint32_t id = stream[position];
      if (uses_[id]++ > 0) continue;
      first_[id] = static_cast<std::uint32_t>(position);
      touched_.push_back(id);
    }
    std::ranges::stable_sort(touched_, std::ranges::greater(),
                             [this](std::uint32_t id) { return uses_[id]; });
  }
  /// Nodes come in ascending order, so the lower number wins a tie.
  void offer(std::size_t node, const FrequencyPlan::Kept& kept) {
    const std::size_t id = index(kept.id);
    const auto rank = std::pair(kept.tier, first_[id]);
    if (plan_.reader[id] != nobody && std::pair(plan_.reader_tier[id], reader_first_[id]) <= rank) return;
    plan_.reader[id] = static_cast<std::int16_t>(node);
    std::tie(plan_.reader_tier[id], reader_first_[id]) = rank;
  }

  const Setting& setting_;
  FrequencyPlan plan_;
  std::vector<std::uint32_t> uses_;          ///< by id, of the node; 0 between nodes
  std::vector<std::uint32_t> first_;         ///< by id: its first place in the stream of the node
  std::vector<std::uint32_t> reader_first_;  ///< the same of FrequencyPlan::reader
  std::vector<std::uint32_t> touched_;
};

}  // namespace

FrequencyPlan plan_by_frequency(const Setting& setting) {
  TANDEM_CHECK(setting.plan != nullptr, "no plan");
  const auto all = streams(setting);
  Planner planner(setting);
  for (std::size_t node = 0; node < all.size(); ++node) planner.add(node, all[node]);
  return std::move(planner).take();
}

std::shared_ptr<const FrequencyPlan> frequency_plan(const Setting& setting) {
  if (const auto* shared = dynamic_cast<const SharedPlan*>(setting.plan))
    return shared->by_frequency(setting);
  return std::make_shared<const FrequencyPlan>(plan_by_frequency(setting));
}

}  // namespace tandem::cache
