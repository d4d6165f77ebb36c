// A sequence of deals, and what follows from them. Deals are only appended, so what follows from earlier
// ones stays the same. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "policies/vocabulary/digest.hpp"

namespace tandem::sampling {

/// Samples of an earlier deal that its worker should have taken and has not.
struct Returned {
  std::int64_t deal = 0;   ///< among all deals, the oldest first
  std::int64_t place = 0;  ///< of its worker
  std::int64_t first = 0;  ///< samples of the worker since that deal, before these
  std::int64_t count = 0;
  bool operator==(const Returned&) const = default;
};

/// The workers of a deal, until others continued.
struct Deal {
  int workers = 0;
  std::vector<std::int64_t> taken = {};  ///< samples of each, since they were dealt
  std::vector<Returned> returned = {};   ///< during this deal; they are dealt with the rest
  bool operator==(const Deal&) const = default;
};
using Deals = std::vector<Deal>;

/// The oldest first. Copies share the deals; no two threads may use such copies.
class DealHistory {
 public:
  DealHistory() = default;
  explicit DealHistory(std::span<const Deal> deals) {
    for (const Deal& deal : deals) append(deal);
  }
  void append(Deal deal);
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Deal& operator[](std::size_t number) const { return (*entries_)[number].deal; }
  const Deal& back() const { return (*this)[size_ - 1]; }
  Deals list() const;
  /// Digest of the first `count` deals. Equal deals have equal digests.
  Digest digest(std::size_t count) const { return count == 0 ? Digest() : (*entries_)[count - 1].digest; }

 private:
  struct Entry {
    Deal deal;
    Digest digest;  ///< of the deals up to this one
  };
  std::shared_ptr<std::deque<Entry>> entries_;  ///< may have further ones, of a copy
  std::size_t size_ = 0;
};

/// The beginning of each deal, a `First`: none for the first deal; for a later one, a result of the deals
/// before. The last ones are kept, so that each further deal costs the same.
template <class First>
class FirstsOfDeals {
 public:
  using Shared = std::shared_ptr<const First>;
  /// The beginning of a deal to `workers` workers, after the first `number` of `deals`. `next(last, workers,
  /// first_of)`: computes the beginning of the deal after number `last`, for `workers` workers.
  /// `first_of(deal)`: the result for a deal up to that one.
  template <class Next>
  Shared of(const DealHistory& deals, std::size_t number, int workers, const Next& next) {
    if (number == 0) return std::make_shared<const First>();
    const Kept* newest = nullptr;
    for (const Kept& kept : kept_)
      if (kept.is_of(deals, number, workers) && (newest == nullptr || kept.number > newest->number))
        newest = &kept;
    if (newest != nullptr && newest->number == number) return newest->first;
    // One after the other, so that the calls are not nested once for each deal.
    for (std::size_t at = newest == nullptr ? 1 : newest->number + 1; at < number; ++at)
      of(deals, at, deals[at].workers, next);
    const auto first_of = [&](std::size_t deal) { return of(deals, deal, deals[deal].workers, next); };
    auto first = std::make_shared<const First>(next(number - 1, workers, first_of));
    kept_.push_back({number, workers, deals.digest(number), first});
    if (kept_.size() > most_kept) kept_.pop_front();
    return first;
  }

 private:
  /// More deals than workers are behind each other, or than pass before a lost step comes back.
  static constexpr std::size_t most_kept = 16;
  struct Kept {
    std::size_t number;
    int workers;
    Digest before;  ///< of the deals before
    Shared first;

    bool is_of(const DealHistory& deals, std::size_t last, int workers_after_last) const {
      return number <= last && workers == (number == last ? workers_after_last : deals[number].workers) &&
             before == deals.digest(number);
    }
  };
  std::deque<Kept> kept_;
};

}  // namespace tandem::sampling
