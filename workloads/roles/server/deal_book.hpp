// How a parameter server deals samples where workers may depart and join, and which of the deals each worker
// knows. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/sampling/member_deals.hpp"

namespace tandem {

/// The coordinator alone deals. `counted`, in all functions: by slot, how many samples of all its workers
/// count.
class DealBook {
 public:
  struct Setting {
    int batch = 0;                       ///< samples that a worker takes as the job begins
    int prefetch = 0;                    ///< batches that workers request from cache nodes in advance
    std::vector<bool> loads_ahead = {};  ///< by slot: its worker may have taken the next batch already
    bool knows_samples = false;          ///< the numbers of the deals are known, not only how many there are
  };
  /// `deals`: none: nothing is dealt while the job runs.
  DealBook(Setting setting, std::optional<sampling::MemberDeals> deals)
      : setting_(std::move(setting)),
        deals_(std::move(deals)),
        known_(setting_.loads_ahead.size()),
        numbers_(setting_.loads_ahead.size()) {}

  bool deals() const { return deals_.has_value(); }
  void on_push(int samples) { largest_push_ = std::max(largest_push_, samples); }
  /// A worker leaves its place, or comes to a slot.
  void leave(int worker, std::int64_t counted);
  void join(int worker, std::int64_t counted);

  /// The samples that a worker may take before it learns of a deal.
  struct Taker {
    bool is_member = false;
    bool awaits_reply = false;
    int batch = 0;  ///< that it was granted last; 0: none
  };
  /// The members have changed since the last deal.
  bool is_due() const { return deals_ && deals_->is_due(); }
  /// Deals again. `takers`: by slot. Each worker learns of it with its next reply, and continues until then
  /// with its former samples. Pre: is_due().
  void deal(std::span<const std::int64_t> counted, std::span<const Taker> takers);

  /// For a worker: the numbers of a message, and how many; null if workers ask for no samples. The numbers
  /// stay until the next message to the worker.
  struct Message {
    std::int64_t* numbers = nullptr;
    std::int64_t count = 0;
  };
  /// All deals that the worker does not know, in one message; none: it knows all.
  std::optional<Message> take_new(int worker);
  /// All that a newcomer needs. Pre: deals().
  Message take_all(int worker, std::span<const std::int64_t> counted);
  /// Deals that the worker knows.
  int known(int worker) const { return static_cast<int>(known_.at(static_cast<std::size_t>(worker))); }
  /// Numbers of take_all(); 0: nothing is dealt.
  std::int64_t count_numbers(std::span<const std::int64_t> counted) const;
  /// The deals, with the samples of the present one that count; empty: as when the job began.
  sampling::Deals changed(std::span<const std::int64_t> counted) const;

 private:
  struct Dealt {
    std::vector<std::int64_t> numbers;
    std::int64_t count = 0;
  };
  std::int64_t most_ahead(std::size_t worker, const Taker& taker) const;

  Setting setting_;
  std::optional<sampling::MemberDeals> deals_;
  std::deque<Dealt> dealt_;  ///< since the job began; they may be in flight
  int largest_push_ = 0;     ///< in samples
  std::vector<std::size_t> known_;
  std::vector<std::vector<std::int64_t>> numbers_;  ///< by slot: of several deals, or of all
};

}  // namespace tandem
