// Which node keeps which samples, if the lists of the first epoch determine it: every node can compute the
// sets of all others without messages.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

inline constexpr std::int16_t nobody = -1;

/// By id, the node that keeps the sample: each node keeps the samples of its list in order while they fit.
/// Nodes have equal capacities.
inline std::vector<std::int16_t> owners_by_first_use(std::span<const std::vector<SampleId>> lists,
                                                     const Manifest& manifest, Bytes capacity) {
  std::vector<std::int16_t> owners(static_cast<std::size_t>(manifest.samples), nobody);
  for (std::size_t node = 0; node < lists.size(); ++node) {
    Bytes used{0};
    for (const SampleId id : lists[node]) {
      auto& owner = owners[static_cast<std::size_t>(id)];
      if (owner != nobody || used + manifest.size_of(id) > capacity) continue;
      owner = static_cast<std::int16_t>(node);
      used += manifest.size_of(id);
    }
  }
  return owners;
}

/// Serves a sample from this node, from the node that owns it, or from the store.
inline void serve_from_owner(SampleId id, bool is_here, int owner, int self, Decisions& decisions) {
  const bool elsewhere = owner != nobody && owner != self;
  decisions.serve.push_back({id, id, is_here ? tier(0) : elsewhere ? peer(owner) : store()});
}

/// A departed owner owns nothing. A sample that its owner does not hold has no owner.
inline void forget_owner(std::vector<std::int16_t>& owners, const PeerChange& change) {
  if (change.joins) return;
  for (auto& owner : owners)
    if (owner == change.node) owner = nobody;
}
inline void forget_owners(std::vector<std::int16_t>& owners, std::span<const Arrived> arrived) {
  for (const Arrived& read : arrived)
    if (read.from.where == Where::peer && read.outcome != Arrived::Outcome::here)
      owners[static_cast<std::size_t>(read.id)] = nobody;
}

/// The owners of samples. Those that are there are asked. An owner that departs keeps its share: its samples
/// come from the store until it is back and has read them again.
class Shares {
 public:
  Shares(std::int64_t samples, int nodes)
      : owners_(static_cast<std::size_t>(samples), nobody),
        asked_(owners_),
        is_away_(static_cast<std::size_t>(nodes)) {}

  /// `owners`: by id.
  void set_owners(std::vector<std::int16_t> owners) {
    owners_ = std::move(owners);
    ask_again();
  }
  int owner_of(SampleId id) const { return owners_[static_cast<std::size_t>(id)]; }
  /// The owner, if it is there and was not found to lack the sample; otherwise `nobody`.
  int asked_for(SampleId id) const { return asked_[static_cast<std::size_t>(id)]; }

  void note(const PeerChange& change) {
    is_away_[static_cast<std::size_t>(change.node)] = !change.joins;
    for (std::size_t id = 0; id < owners_.size(); ++id)
      if (owners_[id] == change.node) asked_[id] = change.joins ? owners_[id] : nobody;
  }
  void note(std::span<const Arrived> arrived) { forget_owners(asked_, arrived); }
  /// Owners are asked again for samples that they lacked. They may have read them meanwhile.
  void ask_again() {
    for (std::size_t id = 0; id < owners_.size(); ++id) {
      const std::int16_t owner = owners_[id];
      asked_[id] = owner != nobody && is_away_[static_cast<std::size_t>(owner)] ? nobody : owner;
    }
  }

 private:
  std::vector<std::int16_t> owners_, asked_;  ///< by id
  std::vector<bool> is_away_;                 ///< by node
};

}  // namespace tandem::cache
