// Eviction orders written from their definitions, slow and obvious: lists of ids, searched from end to end.
// The tests hold the real ones against them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::testing {

/// What a model decided for one request.
struct ModelAccess {
  bool is_hit = false;
  bool keeps = false;
  std::vector<SampleId> evicted = {};
};

class ReferenceModel {
 public:
  explicit ReferenceModel(std::int64_t capacity) : capacity_(capacity) {}
  virtual ~ReferenceModel() = default;
  virtual ModelAccess access(SampleId id, std::int64_t size) = 0;

 protected:
  struct Item {
    SampleId id;
    std::int64_t size;
    int count = 0;
  };
  using Items = std::list<Item>;  ///< newest first

  static Items::iterator find(Items& items, SampleId id) { return std::ranges::find(items, id, &Item::id); }
  static bool has(Items& items, SampleId id) { return find(items, id) != items.end(); }
  static std::int64_t bytes(const Items& items) {
    std::int64_t sum = 0;
    for (const Item& item : items) sum += item.size;
    return sum;
  }
  static Item take(Items& from, Items::iterator at) {
    const Item item = *at;
    from.erase(at);
    return item;
  }
  static Item take_oldest(Items& from) { return take(from, std::prev(from.end())); }

  std::int64_t capacity_;
};

/// FIFO, LRU, CLOCK and SIEVE keep one list.
class FifoModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;
  ModelAccess access(SampleId id, std::int64_t size) override {
    if (const auto at = find(items_, id); at != items_.end()) {
      on_hit(at);
      return {.is_hit = true};
    }
    ModelAccess result;
    if (size > capacity_) return result;
    while (bytes(items_) + size > capacity_) result.evicted.push_back(evict());
    items_.push_front({id, size});
    result.keeps = true;
    return result;
  }

 protected:
  virtual void on_hit(Items::iterator) {}
  virtual SampleId evict() { return take_oldest(items_).id; }
  Items items_;
};

class LruModel : public FifoModel {
  using FifoModel::FifoModel;
  void on_hit(Items::iterator at) override { items_.splice(items_.begin(), items_, at); }
};

class ClockModel : public FifoModel {
  using FifoModel::FifoModel;
  void on_hit(Items::iterator at) override { at->count = 1; }
  SampleId evict() override {
    while (items_.back().count > 0) {
      Item again = take_oldest(items_);
      again.count = 0;
      items_.push_front(again);
    }
    return take_oldest(items_).id;
  }
};

class SieveModel : public FifoModel {
  using FifoModel::FifoModel;
  void on_hit(Items::iterator at) override { at->count = 1; }
  SampleId evict() override {
    if (hand_ == -1 || !has(items_, hand_)) hand_ = items_.back().id;
    auto at = find(items_, hand_);
    while (at->count > 0) {
      at->count = 0;
      at = at == items_.begin() ? std::prev(items_.end()) : std::prev(at);
    }
    hand_ = at == items_.begin() ? -1 : std::prev(at)->id;
    return take(items_, at).id;
  }
  SampleId hand_ = -1;
};

/// The lowest count leaves; of several, the one that reached that count first.
class LfuModel : public FifoModel {
  using FifoModel::FifoModel;
  void on_hit(Items::iterator at) override {
    ++at->count;
    items_.splice(items_.begin(), items_, at);
  }
  SampleId evict() override {
    auto least = std::prev(items_.end());
    for (auto at = items_.begin(); at != items_.end(); ++at)
      if (at->count <= least->count) least = at;
    return take(items_, least).id;
  }
};

/// key = L + count / size; L = key of the last victim; of equal keys, the one that was set first leaves.
class GdsfModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;
  ModelAccess access(SampleId id, std::int64_t size) override {
    if (items_.contains(id)) {
      Keyed& item = items_.at(id);
      ++item.count;
      item.key = last_ + item.count / static_cast<double>(std::max<std::int64_t>(item.size, 1));
      item.since = ++changes_;
      return {.is_hit = true};
    }
    ModelAccess result;
    if (size > capacity_) return result;
    while (used() + size > capacity_) {
      const auto least = std::ranges::min_element(
          items_, {}, [](const auto& item) { return std::pair(item.second.key, item.second.since); });
      last_ = least->second.key;
      result.evicted.push_back(least->first);
      items_.erase(least);
    }
    items_[id] = {size, 1, last_ + 1 / static_cast<double>(std::max<std::int64_t>(size, 1)), ++changes_};
    result.keeps = true;
    return result;
  }

 private:
  struct Keyed {
    std::int64_t size;
    int count;
    double key;
    int since;
  };
  std::int64_t used() const {
    std::int64_t sum = 0;
    for (const auto& item : items_) sum += item.second.size;
    return sum;
  }
  std::map<SampleId, Keyed> items_;
  double last_ = 0;
  int changes_ = 0;
};

/// 2Q: A1in (a quarter), A1out (half, ids), Am.
class TwoQModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;
  ModelAccess access(SampleId id, std::int64_t size) override {
    if (const auto at = find(main_, id); at != main_.end()) {
      main_.splice(main_.begin(), main_, at);
      return {.is_hit = true};
    }
    if (has(in_, id)) return {.is_hit = true};
    ModelAccess result;
    if (size > capacity_) return result;
    const auto remembered = find(out_, id);
    const bool was_out = remembered != out_.end();
    if (was_out) out_.erase(remembered);
    while (bytes(in_) + bytes(main_) + size > capacity_) {
      const bool from_in = !in_.empty() && (bytes(in_) > capacity_ / 4 || main_.empty());
      const Item gone = take_oldest(from_in ? in_ : main_);
      result.evicted.push_back(gone.id);
      if (!from_in) continue;
      out_.push_front(gone);
      while (bytes(out_) > capacity_ / 2) take_oldest(out_);
    }
    (was_out ? main_ : in_).push_front({id, size});
    result.keeps = true;
    return result;
  }

 private:
  Items in_, out_, main_;
};

/// S3-FIFO: a small FIFO (a tenth), the main one, and a ghost FIFO of ids (nine tenths).
class S3FifoModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;
  ModelAccess access(SampleId id, std::int64_t size) override {
    for (Items* items : {&small_, &main_})
      if (const auto at = find(*items, id); at != items->end()) {
        at->count = std::min(3, at->count + 1);
        return {.is_hit = true};
      }
    ModelAccess result;
    if (size > capacity_) return result;
    const auto remembered = find(ghost_, id);
    const bool was_ghost = remembered != ghost_.end();
    if (was_ghost) ghost_.erase(remembered);
    while (bytes(small_) + bytes(main_) + size > capacity_) evict(result);
    (was_ghost ? main_ : small_).push_front({id, size});
    result.keeps = true;
    return result;
  }

 private:
  void evict(ModelAccess& result) {
    const std::int64_t main_share = capacity_ - capacity_ / 10;
    if (bytes(main_) > main_share || small_.empty()) {
      Item item = take_oldest(main_);
      if (item.count == 0) {
        result.evicted.push_back(item.id);
        return;
      }
      --item.count;
      main_.push_front(item);
      return;
    }
    Item item = take_oldest(small_);
    if (item.count >= 2) {
      item.count = 0;
      main_.push_front(item);
      return;
    }
    result.evicted.push_back(item.id);
    ghost_.push_front(item);
    while (bytes(ghost_) > static_cast<std::int64_t>(0.9 * static_cast<double>(capacity_)))
      take_oldest(ghost_);
  }
  Items small_, main_, ghost_;
};

/// ARC, for unit sizes.
class ArcModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;
  ModelAccess access(SampleId id, std::int64_t size) override {
    for (Items* items : {&t1_, &t2_})
      if (const auto at = find(*items, id); at != items->end()) {
        t2_.push_front(take(*items, at));
        return {.is_hit = true};
      }
    ModelAccess result;
    if (size > capacity_) return result;
    const double of_b1 = static_cast<double>(b1_.size()), of_b2 = static_cast<double>(b2_.size());
    if (const auto at = find(b1_, id); at != b1_.end()) {
      target_ = std::min(target_ + std::max(of_b2 / of_b1, 1.0), static_cast<double>(capacity_));
      b1_.erase(at);
      replace(false, result);
      t2_.push_front({id, size});
    } else if (const auto there = find(b2_, id); there != b2_.end()) {
      target_ = std::max(target_ - std::max(of_b1 / of_b2, 1.0), 0.0);
      b2_.erase(there);
      replace(true, result);
      t2_.push_front({id, size});
    } else {
      make_room(result);
      t1_.push_front({id, size});
    }
    result.keeps = true;
    return result;
  }

 private:
  std::int64_t residents() const { return std::ssize(t1_) + std::ssize(t2_); }
  void make_room(ModelAccess& result) {
    if (std::ssize(t1_) + std::ssize(b1_) >= capacity_) {
      if (std::ssize(t1_) < capacity_) {
        take_oldest(b1_);
        replace(false, result);
      } else {
        result.evicted.push_back(take_oldest(t1_).id);
      }
      return;
    }
    const std::int64_t all = residents() + std::ssize(b1_) + std::ssize(b2_);
    if (all < capacity_) return;
    if (all >= 2 * capacity_) take_oldest(b2_);
    replace(false, result);
  }
  void replace(bool from_b2, ModelAccess& result) {
    if (residents() < capacity_) return;
    const auto of_t1 = static_cast<double>(t1_.size());
    const bool takes_t1 = !t1_.empty() && (of_t1 > target_ || (from_b2 && of_t1 == target_));
    Items& from = takes_t1 || t2_.empty() ? t1_ : t2_;
    const Item item = take_oldest(from);
    (&from == &t1_ ? b1_ : b2_).push_front(item);
    result.evicted.push_back(item.id);
  }
  Items t1_, t2_, b1_, b2_;
  double target_ = 0;
};

/// LIRS, for unit sizes. The stack has low (LIR), resident and remembered (HIR) entries.
class LirsModel : public ReferenceModel {
 public:
  explicit LirsModel(std::int64_t capacity)
      : ReferenceModel(capacity), low_share_(capacity - std::max<std::int64_t>(1, capacity / 100)) {}
  ModelAccess access(SampleId id, std::int64_t size) override {
    ModelAccess result;
    const auto at = find(stack_, id);
    const bool queued = has(queue_, id);
    const bool is_low = at != stack_.end() && at->count == low;
    if (is_low) {
      stack_.splice(stack_.begin(), stack_, at);
      prune();
      return {.is_hit = true};
    }
    if (queued) {
      if (at != stack_.end()) {
        queue_.erase(find(queue_, id));
        raise(id, size);
      } else {
        queue_.splice(queue_.end(), queue_, find(queue_, id));
        stack_.push_front({id, size, high});
      }
      return {.is_hit = true};
    }
    if (size > capacity_) return result;
    while (lows() + std::ssize(queue_) + 1 > capacity_) evict(result);
    result.keeps = true;
    if (has(stack_, id)) {
      raise(id, size);
    } else if (lows() < low_share_ && std::ssize(queue_) == 0) {
      stack_.push_front({id, size, low});
    } else {
      stack_.push_front({id, size, high});
      queue_.push_back({id, size});
    }
    bound();
    return result;
  }

 private:
  static constexpr int low = 1, high = 0;
  std::int64_t lows() const { return std::ranges::count(stack_, low, &Item::count); }
  /// A high sample in the stack becomes low; the bottom one becomes high when there are too many.
  void raise(SampleId id, std::int64_t size) {
    if (const auto at = find(stack_, id); at != stack_.end()) stack_.erase(at);
    stack_.push_front({id, size, low});
    prune();
    while (lows() > low_share_) {
      Item bottom = take_oldest(stack_);
      queue_.push_back(bottom);
      prune();
    }
  }
  void prune() {
    while (!stack_.empty() && stack_.back().count != low) stack_.pop_back();
  }
  void evict(ModelAccess& result) {
    if (queue_.empty()) {
      result.evicted.push_back(take_oldest(stack_).id);
      prune();
      return;
    }
    result.evicted.push_back(queue_.front().id);
    queue_.pop_front();
  }
  /// At most twice the capacity: the oldest remembered entries are dropped.
  void bound() {
    while (std::ssize(stack_) > 2 * capacity_) {
      auto at = std::prev(stack_.end());
      while (at != stack_.begin() && (at->count == low || has(queue_, at->id))) --at;
      if (at->count == low || has(queue_, at->id)) return;
      stack_.erase(at);
    }
  }
  std::int64_t low_share_;
  Items stack_;  ///< newest first; count: low or high
  Items queue_;  ///< resident high samples, the next victim first
};

/// Four segments of equal shares. An insertion goes to the lowest segment with room.
class SlruModel : public ReferenceModel {
 public:
  using ReferenceModel::ReferenceModel;
  ModelAccess access(SampleId id, std::int64_t size) override {
    for (std::size_t own = 0; own < segments; ++own)
      if (const auto at = find(lists_[own], id); at != lists_[own].end()) {
        const std::size_t target = std::min(own + 1, segments - 1);
        lists_[target].push_front(take(lists_[own], at));
        // An overfull segment gives its oldest to the one below.
        for (std::size_t full = target; full > 0; --full)
          while (bytes(lists_[full]) > share()) lists_[full - 1].push_front(take_oldest(lists_[full]));
        return {.is_hit = true};
      }
    ModelAccess result;
    if (size > capacity_) return result;
    while (used() + size > capacity_) {
      auto lowest = std::ranges::find_if(lists_, [](const Items& items) { return !items.empty(); });
      result.evicted.push_back(take_oldest(*lowest).id);
    }
    std::size_t target = 0;
    while (target + 1 < segments && bytes(lists_[target]) + size > share()) ++target;
    if (bytes(lists_[target]) + size > share()) target = 0;
    lists_[target].push_front({id, size});
    result.keeps = true;
    return result;
  }

 private:
  static constexpr std::size_t segments = 4;
  std::int64_t share() const { return capacity_ / static_cast<std::int64_t>(segments); }
  std::int64_t used() const {
    std::int64_t sum = 0;
    for (const Items& items : lists_) sum += bytes(items);
    return sum;
  }
  std::vector<Items> lists_ = std::vector<Items>(segments);
};

/// By name of the order. `unit`: its model knows unit sizes only.
struct ReferenceEntry {
  std::string name;
  std::function<std::unique_ptr<ReferenceModel>(std::int64_t capacity)> make;
  bool unit = false;
};
inline void PrintTo(const ReferenceEntry& entry, std::ostream* out) { *out << entry.name; }
inline const std::vector<ReferenceEntry>& reference_models() {
  static const std::vector<ReferenceEntry> all = {
      {"fifo", [](std::int64_t c) { return std::make_unique<FifoModel>(c); }},
      {"lru", [](std::int64_t c) { return std::make_unique<LruModel>(c); }},
      {"clock", [](std::int64_t c) { return std::make_unique<ClockModel>(c); }},
      {"sieve", [](std::int64_t c) { return std::make_unique<SieveModel>(c); }},
      {"lfu", [](std::int64_t c) { return std::make_unique<LfuModel>(c); }},
      {"gdsf", [](std::int64_t c) { return std::make_unique<GdsfModel>(c); }},
      {"two-q", [](std::int64_t c) { return std::make_unique<TwoQModel>(c); }},
      {"s3-fifo", [](std::int64_t c) { return std::make_unique<S3FifoModel>(c); }},
      {"slru", [](std::int64_t c) { return std::make_unique<SlruModel>(c); }},
      {"arc", [](std::int64_t c) { return std::make_unique<ArcModel>(c); }, true},
      {"lirs", [](std::int64_t c) { return std::make_unique<LirsModel>(c); }, true}};
  return all;
}

}  // namespace tandem::testing
