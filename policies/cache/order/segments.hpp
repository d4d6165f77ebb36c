// Segments of an LRU list, as SLRU has them and W-TinyLFU in its main part. Each hit moves a sample one
// segment up; a segment that is too full moves its oldest samples one segment down.
#pragma once

#include <algorithm>

#include "policies/cache/order/order.hpp"

namespace tandem::cache {

inline constexpr int most_segments = 16;

/// An order some of whose lists are segments.
template <class Self, class Ids, int lists>
class SegmentedOrder : public Order<Self, Ids, lists> {
 protected:
  using Order<Self, Ids, lists>::Order;

  /// The lists `lowest` to `lowest` + `count` - 1 become segments. Pre: 1 <= count <= most_segments.
  void use_segments(int lowest, int count, std::int64_t lowest_bytes, std::int64_t bytes_of_others) {
    lowest_ = lowest;
    highest_ = lowest + count - 1;
    lowest_bytes_ = lowest_bytes;
    bytes_of_others_ = bytes_of_others;
  }
  /// A sample of a segment was requested.
  void promote(Row row) {
    const int target = std::min(static_cast<int>(this->entry(row).list) + 1, highest_);
    this->move_to_newest(target, row);
    for (int number = target; number > lowest_; --number)
      while (this->list(number).bytes > bytes_of_others_)
        this->move_to_newest(number - 1, this->list(number).oldest);
  }
  /// A new sample goes to the lowest segment that has room, so that a cold cache fills all of them.
  void enter(Row row) {
    const std::int64_t size = this->entry(row).size;
    int number = lowest_;
    while (number <= highest_ && this->list(number).bytes + size > most_bytes(number)) ++number;
    this->link_newest(number > highest_ ? lowest_ : number, row);
  }
  /// The sample to evict. Pre: a segment has one.
  Row oldest_of_segments() const {
    int number = lowest_;
    while (this->list(number).count == 0) ++number;
    return this->list(number).oldest;
  }

 private:
  std::int64_t most_bytes(int number) const { return number == lowest_ ? lowest_bytes_ : bytes_of_others_; }

  int lowest_ = 1;
  int highest_ = 1;
  std::int64_t lowest_bytes_ = 0;
  std::int64_t bytes_of_others_ = 0;
};

}  // namespace tandem::cache
