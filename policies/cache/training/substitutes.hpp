// The samples of iCache's L-cache that may replace a wanted one: the oldest, the oldest of the same class,
// or the nearest in importance. Allocates nothing unless it holds more samples than ever before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

enum class Substitution { off, any, same_class, nearest };

/// A queue that reuses its memory.
class IdQueue {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::size_t size() const { return items_.size() - head_; }
  SampleId operator[](std::size_t i) const { return items_[head_ + i]; }
  SampleId front() const { return items_[head_]; }
  void push(SampleId id) {
    if (head_ > items_.size() / 2) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    items_.push_back(id);
  }
  void pop() { ++head_; }
  /// Takes time for each item before it.
  void erase(std::size_t i) {
    const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(head_);
    std::move_backward(begin, begin + static_cast<std::ptrdiff_t>(i),
                       begin + static_cast<std::ptrdiff_t>(i) + 1);
    ++head_;
  }
  void clear() {
    items_.clear();
    head_ = 0;
  }

 private:
  std::vector<SampleId> items_;
  std::size_t head_ = 0;
};

class Substitutes {
 public:
  Substitutes(Substitution mode, const Manifest& manifest) : mode_(mode), manifest_(manifest) {}

  /// Pre: not here.
  void add(SampleId id, float importance) {
    if (mode_ == Substitution::nearest) return insert({importance, id});
    const auto line = line_of(id);
    if (line >= lines_.size()) lines_.resize(line + 1);
    lines_[line].push(id);
  }
  /// Takes the best replacement for which `fits(id)`. Drops those for which `is_gone(id)` on the way. -1:
  /// none.
  template <class Fits, class IsGone>
  SampleId take(SampleId asked, float importance, const Fits& fits, const IsGone& is_gone) {
    if (mode_ == Substitution::nearest) return take_nearest({importance, asked}, fits, is_gone);
    const auto line = line_of(asked);
    return line < lines_.size() ? take_oldest(lines_[line], fits, is_gone) : -1;
  }
  /// Takes any one; -1: there is none.
  SampleId take_any() {
    if (!by_importance_.empty()) return extract(by_importance_.begin()).second;
    for (IdQueue& line : lines_) {
      if (line.empty()) continue;
      const SampleId id = line.front();
      line.pop();
      return id;
    }
    return -1;
  }

 private:
  /// Samples that do not fit (of another job) stay. After so many of them, the search ends.
  static constexpr std::size_t tried = 16;
  using Item = std::pair<float, SampleId>;
  using Items = std::set<Item>;

  std::size_t line_of(SampleId id) const {
    return mode_ == Substitution::same_class ? manifest_.labels[static_cast<std::size_t>(id)] : 0;
  }
  template <class Fits, class IsGone>
  SampleId take_oldest(IdQueue& line, const Fits& fits, const IsGone& is_gone) {
    while (!line.empty() && is_gone(line.front())) line.pop();
    for (std::size_t i = 0; i < std::min(tried, line.size()); ++i) {
      const SampleId id = line[i];
      if (is_gone(id) || !fits(id)) continue;
      line.erase(i);
      return id;
    }
    return -1;
  }
  /// Looks at samples in the order of their distance.
  template <class Fits, class IsGone>
  SampleId take_nearest(Item asked, const Fits& fits, const IsGone& is_gone) {
    auto above = by_importance_.lower_bound(asked);  // of the candidates above, the first
    auto below = above;                              // past the last of the candidates below
    for (std::size_t i = 0; i < tried; ++i) {
      const bool has_below = below != by_importance_.begin(), has_above = above != by_importance_.end();
      if (!has_below && !has_above) return -1;
      const bool goes_below =
          has_below && (!has_above || asked.first - std::prev(below)->first <= above->first - asked.first);
      const auto chosen = goes_below ? std::prev(below) : above;
      const SampleId id = chosen->second;
      if (is_gone(id) || fits(id)) {
        const bool fit = !is_gone(id);
        const bool was_one = below == above;
        if (!goes_below) ++above;
        if (!goes_below && was_one) below = above;
        extract(chosen);
        if (fit) return id;
        continue;
      }
      (goes_below ? below : above) = goes_below ? chosen : std::next(chosen);
    }
    return -1;
  }
  void insert(Item item) {
    if (spare_.empty()) {
      by_importance_.insert(item);
      return;
    }
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.value() = item;
    by_importance_.insert(std::move(node));
  }
  Item extract(Items::iterator at) {
    const Item item = *at;
    spare_.push_back(by_importance_.extract(at));
    return item;
  }

  Substitution mode_;
  Manifest manifest_;
  std::vector<IdQueue> lines_;  ///< by class, oldest first; may hold samples that are gone
  Items by_importance_;         ///< of `nearest`
  std::vector<Items::node_type> spare_;
};

}  // namespace tandem::cache
