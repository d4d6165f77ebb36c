// LRU, least recently used (Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970). Every sample
// that fits the capacity is kept; to make room, the samples that have not been requested for the longest time
// are evicted.
#include "policies/cache/id_index.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {
namespace {

class Lru final : public CachePolicy {
 public:
  explicit Lru(Bytes capacity) : capacity_(capacity) {}

  Lookup on_request(SampleId id, Bytes) override {
    const Slot slot = index_.find(id);
    if (slot == IdIndex::none) return {Source::storage};
    touch(slot);
    return {Source::local};
  }

  Admission on_fetched(SampleId id, Bytes size) override {
    TANDEM_CHECK(size >= Bytes(0), "id", id, "size", size.count());
    // Two requests may miss before the first fetch ends; when the second ends, the sample is in the cache.
    if (const Slot slot = index_.find(id); slot != IdIndex::none) {
      touch(slot);
      return {.keep = true};
    }
    if (size > capacity_) return {};
    Admission admission{.keep = true};
    while (size > capacity_ - used_) admission.evicted.push_back(evict_oldest());
    const Slot slot = take_slot();
    nodes_[slot].id = id;
    nodes_[slot].size = size;
    link_newest(slot);
    index_.insert(id, slot);
    used_ += size;
    return admission;
  }

  Bytes used() const override { return used_; }

 private:
  using Slot = IdIndex::Slot;
  /// Node 0 is the list's sentinel: its `older` is the newest sample, its `newer` the oldest.
  static constexpr Slot sentinel = 0;
  struct Node {
    SampleId id = 0;
    Bytes size{0};
    Slot newer = sentinel;
    Slot older = sentinel;
  };

  void unlink(Slot slot) {
    const Node& node = nodes_[slot];
    nodes_[node.newer].older = node.older;
    nodes_[node.older].newer = node.newer;
  }
  void link_newest(Slot slot) {
    const Slot newest = nodes_[sentinel].older;
    nodes_[slot].newer = sentinel;
    nodes_[slot].older = newest;
    nodes_[newest].newer = slot;
    nodes_[sentinel].older = slot;
  }
  void touch(Slot slot) {
    if (nodes_[sentinel].older == slot) return;
    unlink(slot);
    link_newest(slot);
  }
  SampleId evict_oldest() {
    const Slot slot = nodes_[sentinel].newer;
    unlink(slot);
    index_.erase(nodes_[slot].id);
    used_ -= nodes_[slot].size;
    free_.push_back(slot);
    return nodes_[slot].id;
  }
  Slot take_slot() {
    if (free_.empty()) {
      nodes_.emplace_back();
      return static_cast<Slot>(nodes_.size() - 1);
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }

  Bytes capacity_;
  Bytes used_{0};
  IdIndex index_;
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<Slot> free_;
};

}  // namespace

Catalog<Factory>::Entry lru() {
  return {.name = "lru",
          .summary = "evicts the least recently used sample",
          .paper =
              "Mattson, Gecsei, Slutz, Traiger: Evaluation Techniques for Storage Hierarchies. "
              "IBM Systems Journal 9(2), 1970",
          .options = {},
          .make = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
            return std::make_unique<Lru>(setting.capacity);
          }};
}

}  // namespace tandem::cache
