// What a node knows of samples on other nodes, and what it tells about its own. Either all nodes tell each
// other what they keep (replays), or a directory answers before each request (shared.hpp). Makes no other
// decisions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/cache/training/shares.hpp"

namespace tandem::cache {

class KnownHolders {
 public:
  explicit KnownHolders(const Setting& setting)
      : node_(setting.node),
        has_others_(setting.nodes > 1),
        samples_(static_cast<std::size_t>(setting.manifest.samples)) {}

  /// An entry of this node comes from a directory alone: the node may keep the sample.
  void note(std::span<const Holder> holders) {
    // Of the first entries: without other nodes they stay empty.
    holder_.resize(samples_, nobody);
    is_let_.resize(samples_);
    noted_.insert(noted_.end(), holders.begin(), holders.end());
    for (const Holder& entry : holders) {
      if (entry.node == node_)
        has_directory_ = is_let_[index(entry.id)] = true;
      else
        holder_[index(entry.id)] = static_cast<std::int16_t>(entry.node);
    }
  }
  void note(const PeerChange& change) { forget_owner(holder_, change); }
  /// A read did not bring the sample.
  void note_missing(const Arrived& read) {
    if (!holder_.empty()) forget_owners(holder_, std::span(&read, 1));
  }

  /// Of a sample that is not here: the node that holds it, or the store.
  Place place_of(SampleId id) const {
    return holder_.empty() || holder_[index(id)] == nobody ? store() : peer(holder_[index(id)]);
  }
  /// Whether the node may keep a sample that is not here. Without a directory: if no other node holds it.
  bool let_keep(SampleId id) const {
    return has_directory_ ? is_let_[index(id)] : place_of(id).where == Where::store;
  }

  /// The node keeps the sample, which may still have to arrive. To a directory that is news when it has.
  void note_kept(SampleId id, Decisions& decisions) const {
    if (has_others_ && !has_directory_) decisions.published.push_back(id);
  }
  void note_arrived(SampleId id, Decisions& decisions) const {
    if (has_directory_) decisions.published.push_back(id);
  }
  void note_dropped(SampleId id, Decisions& decisions) {
    if (has_directory_) is_let_[index(id)] = false;
    if (has_others_ || has_directory_) decisions.withdrawn.push_back(id);
  }
  /// The request is decided, and the answers of a directory hold no longer. Withdraws samples that the node
  /// might have kept and does not.
  template <class Holds>
  void end_request(const Holds& holds, Decisions& decisions) {
    for (const Holder& entry : noted_) {
      if (!has_directory_) break;
      holder_[index(entry.id)] = nobody;
      is_let_[index(entry.id)] = false;
      if (entry.node == node_ && !holds(entry.id) &&
          std::ranges::find(decisions.withdrawn, entry.id) == decisions.withdrawn.end())
        decisions.withdrawn.push_back(entry.id);
    }
    noted_.clear();
  }

 private:
  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }

  int node_;
  bool has_others_;
  bool has_directory_ = false;
  std::size_t samples_;
  std::vector<std::int16_t> holder_;  ///< by id; empty: none was noted
  std::vector<bool> is_let_;          ///< by id: a directory lets the node keep it
  std::vector<Holder> noted_;         ///< since the last request
};

}  // namespace tandem::cache
