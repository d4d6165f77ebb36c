// The samples of an H-cache ordered by importance, the least important first. New values take effect after a
// second heap has been built in small parts, so that no request waits for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "policies/cache/id_index.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

class ImportanceHeap {
 public:
  /// All samples have the importance `initial`.
  ImportanceHeap(std::int64_t samples, float initial) : values_(static_cast<std::size_t>(samples), initial) {}

  bool holds(SampleId id) const { return place_.find(id) != IdIndex::none; }
  std::int64_t size() const { return std::ssize(here_); }
  /// The value before or after renew(): the new values count when advance() has visited all samples.
  float importance(SampleId id) const { return values_[index(id)]; }

  /// Pre: a value for each sample.
  void renew(std::vector<float> values) {
    TANDEM_CHECK(values.size() == values_.size(), values.size(), values_.size());
    next_values_ = std::move(values);
    next_heap_.clear();
    built_ = 0;
    is_building_ = true;
  }
  /// Adds at most `samples` of the samples that are here to the next heap. When all were added, the new
  /// values count.
  void advance(std::size_t samples) {
    if (!is_building_) return;
    const std::size_t end = std::min(built_ + samples, here_.size());
    for (; built_ < end; ++built_) push(next_heap_, {next_values_[index(here_[built_])], here_[built_]});
    if (built_ < here_.size()) return;
    // Nodes of a simulation have values for all samples of large data sets.
    values_ = std::exchange(next_values_, {});
    std::swap(heap_, next_heap_);
    is_building_ = false;
  }

  /// Pre: not here.
  void insert(SampleId id) {
    TANDEM_CHECK(!holds(id), "id", id);
    place_.insert(id, static_cast<IdIndex::Row>(here_.size()));
    here_.push_back(id);
    push(heap_, {values_[index(id)], id});
  }
  /// Pre: here. Its entry stays in the heap until it is the least.
  void remove(SampleId id) {
    const IdIndex::Row place = place_.find(id);
    TANDEM_CHECK(place != IdIndex::none, "id", id);
    const SampleId last = here_.back();
    // The last sample takes its place, which may have been visited already.
    if (is_building_ && place < built_ && built_ < here_.size() && last != id)
      push(next_heap_, {next_values_[index(last)], last});
    place_.erase(id);
    here_.pop_back();
    built_ = std::min(built_, here_.size());
    if (last == id) return;
    here_[place] = last;
    place_.erase(last);
    place_.insert(last, place);
  }
  /// The least important sample; ties: the smallest id. Pre: not empty.
  SampleId least() {
    while (!holds(heap_.front().second)) pop(heap_);
    return heap_.front().second;
  }

 private:
  using Item = std::pair<float, SampleId>;
  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  static void push(std::vector<Item>& heap, Item item) {
    heap.push_back(item);
    std::ranges::push_heap(heap, std::ranges::greater());
  }
  static void pop(std::vector<Item>& heap) {
    std::ranges::pop_heap(heap, std::ranges::greater());
    heap.pop_back();
  }

  std::vector<float> values_;
  std::vector<SampleId> here_;
  IdIndex place_;           ///< in `here_`
  std::vector<Item> heap_;  ///< of all that are here, and of some that left
  bool is_building_ = false;
  std::vector<float> next_values_;
  std::vector<Item> next_heap_;
  std::size_t built_ = 0;  ///< samples of `here_` that were visited
};

}  // namespace tandem::cache
