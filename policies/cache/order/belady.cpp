// Belady's MIN (IBM Systems Journal 5(2), 1966): evicts the sample whose next request is farthest away. It
// knows the future, so it only replays traces: no order can miss less if all samples have one size. With
// `bypass`, a sample that is requested later than all others in the cache is not inserted.
#include <vector>

#include "policies/cache/policies.hpp"
#include "policies/cache/replay.hpp"

namespace tandem::cache {
namespace {

/// Ids by the position of their next request, the farthest on top, with the place of each id.
class FarthestFirst {
 public:
  explicit FarthestFirst(std::size_t ids) : place_(ids, absent) {}
  bool empty() const { return heap_.empty(); }
  bool holds(std::uint32_t id) const { return place_[id] != absent; }
  std::uint32_t top() const { return heap_.front().id; }
  std::uint64_t farthest() const { return heap_.front().next; }

  void put(std::uint32_t id, std::uint64_t next) {
    std::size_t at = place_[id];
    if (at == absent) {
      at = heap_.size();
      heap_.push_back({next, id});
    }
    heap_[at].next = next;
    rise(at);
  }
  void pop() {
    place_[heap_.front().id] = absent;
    const Item last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
  }

 private:
  struct Item {
    std::uint64_t next;
    std::uint32_t id;
  };
  static constexpr std::size_t absent = ~std::size_t{0};

  void set(std::size_t at, const Item& item) {
    heap_[at] = item;
    place_[item.id] = at;
  }
  /// A request moves the next one of its sample farther away, never nearer.
  void rise(std::size_t at) {
    const Item item = heap_[at];
    while (at > 0 && heap_[(at - 1) / 2].next < item.next) {
      set(at, heap_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    set(at, item);
  }
  void sink(const Item& item) {
    std::size_t at = 0;
    while (true) {
      std::size_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1].next > heap_[child].next) ++child;
      if (heap_[child].next <= item.next) break;
      set(at, heap_[child]);
      at = child;
    }
    set(at, item);
  }

  std::vector<Item> heap_;
  std::vector<std::size_t> place_;
};

Counts replay_belady(const Trace& trace, const ReplaySetting& setting) {
  TANDEM_CHECK(trace.next.size() == trace.requests.size(), trace.next.size(), trace.requests.size());
  const bool bypasses = setting.options.boolean("bypass");
  const std::int64_t capacity = setting.capacity.count();
  FarthestFirst here(trace.ids);
  std::vector<std::uint64_t> size_of(trace.ids);
  Counts counts;
  Admission admission(setting.admission, trace.ids, setting.seed);
  std::int64_t used = 0;
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const auto [id, size] = trace.requests[i];
    const std::uint64_t next = trace.next[i];
    const bool is_hit = here.holds(id);
    if (i >= setting.warm_up) counts.add(size, is_hit);
    if (is_hit) {
      here.put(id, next);
      continue;
    }
    if (size > capacity || !admission.admits(trace.requests[i])) continue;
    bool is_kept = true;
    if (used + size > capacity) counts.note_full();
    while (used + size > capacity && is_kept) {
      is_kept = !bypasses || here.farthest() > next;
      if (!is_kept) break;
      used -= static_cast<std::int64_t>(size_of[here.top()]);
      here.pop();
      ++counts.evicted;
    }
    if (!is_kept) continue;
    size_of[id] = static_cast<std::uint64_t>(size);
    used += size;
    here.put(id, next);
    counts.largest_used = std::max(counts.largest_used, used);
  }
  return counts;
}

}  // namespace

Catalog<Factory>::Entry belady() {
  return {
      .name = "belady",
      .summary = "the bound for traces: evicts the sample whose next request is farthest away",
      .paper =
          "Belady: A Study of Replacement Algorithms for a Virtual-Storage Computer. IBM Systems Journal "
          "5(2), 1966",
      .options = {{"bypass", "do not insert a sample that is requested later than all in the cache", true}},
      .make = {.node = nullptr, .replay = replay_belady, .knows_future = true}};
}

}  // namespace tandem::cache
