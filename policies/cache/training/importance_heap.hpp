// The samples of an H-cache ordered by importance, the least important first. New values take effect after a
// second heap has been built in small parts, so that no request waits for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

class ImportanceHeap {
 public:
  /// All samples have the importance `initial`.
  ImportanceHeap(std::int64_t samples, float initial)
      : values_(static_cast<std::size_t>(samples), initial), is_here_(values_.size()) {}

  bool holds(SampleId id) const { return is_here_[index(id)]; }
  std::int64_t size() const { return count_; }
  /// The value that counts now.
  float importance(SampleId id) const { return values_[index(id)]; }

  /// Pre: a value for each sample.
  void renew(std::span<const float> values) {
    TANDEM_CHECK(values.size() == values_.size(), values.size(), values_.size());
    next_values_.assign(values.begin(), values.end());
    next_heap_.clear();
    built_ = 0;
    is_building_ = true;
  }
  /// Visits at most `samples` samples for the next heap. When all were visited, the new values count.
  void advance(std::size_t samples) {
    if (!is_building_) return;
    const std::size_t end = std::min(built_ + samples, values_.size());
    for (; built_ < end; ++built_)
      if (is_here_[built_]) push(next_heap_, {next_values_[built_], static_cast<SampleId>(built_)});
    if (built_ < values_.size()) return;
    std::swap(values_, next_values_);
    std::swap(heap_, next_heap_);
    is_building_ = false;
  }

  /// Pre: not here.
  void insert(SampleId id) {
    TANDEM_CHECK(!holds(id), "id", id);
    is_here_[index(id)] = true;
    ++count_;
    push(heap_, {values_[index(id)], id});
    if (is_building_ && index(id) < built_) push(next_heap_, {next_values_[index(id)], id});
  }
  /// Pre: here. Its entry stays in the heap until it is the least.
  void remove(SampleId id) {
    TANDEM_CHECK(holds(id), "id", id);
    is_here_[index(id)] = false;
    --count_;
  }
  /// The least important sample; ties: the smallest id. Pre: not empty.
  SampleId least() {
    while (!is_here_[index(heap_.front().second)]) pop(heap_);
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
  std::vector<bool> is_here_;
  std::vector<Item> heap_;  ///< of all that are here, and of some that left
  std::int64_t count_ = 0;
  bool is_building_ = false;
  std::vector<float> next_values_;
  std::vector<Item> next_heap_;
  std::size_t built_ = 0;  ///< samples that were visited
};

}  // namespace tandem::cache
