// How the samples of an epoch in progress are dealt while workers leave and join, as all workers know it.
// Pure: no clock, and no randomness but the seed of the visits.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "policies/sampling/deals.hpp"

namespace tandem::sampling {

/// Each deal has places, one for each of its workers. A worker that joins continues in a place whose worker
/// has left. If then every place has a worker and every worker a place, nothing is dealt. Otherwise the rest
/// of the epoch of all places is dealt again to the present workers. Samples that a worker has taken and that
/// never count are taken again.
class MemberDeals {
 public:
  struct Rules {
    /// False: workers ask for no samples. It then says only when deals are made, and how many numbers they
    /// have, at a cost that does not grow with the slots.
    bool knows_samples = true;
    /// False: places stay empty until a worker comes, because each worker has all samples.
    bool deals_again = true;
  };
  /// The workers of the first `workers` slots begin. `before`: earlier deals, to other workers.
  MemberDeals(std::size_t slots, std::size_t workers, std::span<const Deal> before, const Rules& rules);

  /// The worker of the slot is gone. A worker that waits for a place takes its place. `counted`: samples
  /// that count, of all workers of the slot. Pre: there is a worker.
  void leave(int slot, std::int64_t counted);
  /// A worker comes to an empty slot. `counted`: as for leave. False: there is no place for it before the
  /// next deal.
  bool join(int slot, std::int64_t counted);
  /// A place has no worker, a worker has no place, or samples of an earlier deal have come back. False if
  /// nothing is dealt again.
  bool is_due() const { return rules_.deals_again && (present_ != places_ || !returned_.empty()); }

  /// The effect of a deal, for ranks that only follow.
  struct Change {
    Deal closed;
    std::vector<int> slots;           ///< of the workers, by new place
    std::vector<std::int64_t> begin;  ///< by new place, see begin()
  };
  /// How many numbers the change has that deal() would make now.
  std::int64_t count_numbers_of_change() const;
  /// Most numbers of a change in a job of at most `workers` workers.
  static std::int64_t most_numbers_of_change(std::int64_t workers) {
    return 4 + 3 * workers + numbers_of_returned * most_returned(workers);
  }
  /// Deals again. `taken`: by slot, samples of all its workers together that its worker will have taken when
  /// it begins with the new deal, at least as many as now. `counted`: by slot. Pre: there is a worker.
  Change deal(std::span<const std::int64_t> taken, std::span<const std::int64_t> counted);
  void follow(const Change& change);

  /// For all workers together, where they agree on a change. `slots`: sorted, of the workers that are there
  /// now. `taken`: by slot, what its worker has taken now. It is less than `counted` for a worker that is
  /// behind, which takes the rest before it learns of the change, and below 0 for workers that have joined
  /// since the last change. `counted`: by slot. Returns whether samples were dealt.
  bool settle(std::span<const int> slots, std::span<const std::int64_t> taken,
              std::span<const std::int64_t> counted);

  /// The deals before the present one, the oldest first.
  const DealHistory& before() const { return before_; }
  /// Other workers have samples than those that began, or other numbers of samples.
  bool has_changed() const;
  /// before() and the present deal in its present state. `counted`: by slot.
  Deals all(std::span<const std::int64_t> counted) const;
  /// Places of the present deal.
  int places() const { return places_; }
  /// The worker's place in the present deal; none: it waits for the next one.
  std::optional<int> place(int slot) const;
  /// Samples of the slot's workers before it began with the present deal.
  std::int64_t begin(int slot) const { return slots_.at(static_cast<std::size_t>(slot)).begin; }

  /// The state as numbers, for other ranks. `counted`: by slot.
  std::int64_t count_numbers(std::span<const std::int64_t> counted) const;
  std::vector<std::int64_t> to_numbers(std::span<const std::int64_t> counted) const;
  /// Restores these numbers. Pre: equally many slots.
  void restore(std::span<const std::int64_t> numbers);
  /// The figures that are known without samples.
  struct Counts {
    std::int64_t present = 0, places = 0, closed_numbers = 0;
  };
  Counts counts() const { return {present_, places_, closed_numbers_}; }
  void restore(const Counts& counts);

 private:
  static constexpr int nowhere = -1;
  static constexpr std::int64_t numbers_of_returned = 4;
  static std::int64_t most_returned(std::int64_t workers) { return 4 * workers; }
  /// A place in an earlier deal, which the worker leaves when it has taken `end` samples.
  struct Held {
    std::int64_t deal = 0;
    std::int64_t place = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Slot {
    bool is_present = false;
    int place = nowhere;
    std::int64_t begin = 0;
    std::vector<Held> held = {};  ///< the oldest first
  };
  static bool is_open(const Held& held, std::int64_t counted) { return held.end > counted; }
  Slot& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }
  void occupy(Slot& slot, std::size_t place);
  void append(Deal deal);
  void put(std::span<const int> slots, std::span<const std::int64_t> begin);

  Rules rules_;
  std::size_t deals_at_begin_;
  std::int64_t all_slots_;
  int present_;                      ///< workers
  int places_;                       ///< of the present deal
  std::int64_t closed_numbers_ = 0;  ///< of all deals before
  std::vector<Slot> slots_;
  /// By place: samples that were taken there, if it is empty; none: its worker is there.
  std::vector<std::optional<std::int64_t>> open_;
  std::vector<Returned> returned_;  ///< since the present deal
  DealHistory before_;
};

/// A change as numbers for a message, and back.
std::vector<std::int64_t> to_numbers(const MemberDeals::Change& change);
/// `count` changes whose numbers follow each other; numbers after them are not read.
std::vector<MemberDeals::Change> changes_from(std::span<const std::int64_t> numbers, int count);

/// The deals that one worker follows, one after the other.
class DealsOfWorker {
 public:
  struct Part {
    DealHistory before;
    int places = 0;
    int place = 0;
    std::int64_t begin = 0;  ///< samples of its slot that are taken before this part
  };
  /// From sample number `begin` of its slot on, the worker takes the samples of the present deal.
  void follow(const MemberDeals& deals, int slot);
  /// How many of the next `count` samples after `taken` precede the next deal.
  std::int64_t until_next(std::int64_t taken, std::int64_t count) const;
  /// The deal that begins after `taken`; returned once.
  std::optional<Part> take(std::int64_t taken);

 private:
  std::deque<Part> parts_;
};

}  // namespace tandem::sampling
