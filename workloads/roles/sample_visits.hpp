// Which samples a worker trains on next: those of its own shard, or its part of the lists that all workers
// share. Where a list depends on losses, the workers exchange them when an epoch ends.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/sampling/member_deals.hpp"
#include "policies/sampling/partition.hpp"
#include "workloads/context.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/roles/cache/resident_lists.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class SampleVisits {
 public:
  /// `wait`: waits for an operation, and may let others progress meanwhile. The other arguments must outlive
  /// it.
  SampleVisits(const Roster& roster, const DataPlan& data, Context& context, int worker,
               std::function<void(Pending&)> wait);

  struct Batch {
    std::vector<SampleId> ids;
    std::vector<std::int32_t> epochs;  ///< in which each of them is visited
    std::vector<float> weights;        ///< factors on the losses; empty: all are 1
  };
  /// Where lists depend on what is in caches: `own` asks the cache node for which this worker speaks what it
  /// holds (Loader::residents). Pre: nothing was taken.
  void know_residents(std::optional<ResidentLists> lists, std::function<ResidentSet()> own);
  /// What the list of the present epoch knows to be in caches; empty where lists do not depend on it.
  const ResidentSet& residents() const { return residents_; }
  /// The next samples, `count` of them; the last batch of a common list may have fewer.
  void next(int count, Batch& batch);
  /// The losses of the oldest batch that `next` returned and for which they were not noted, and the samples
  /// that it was trained on. Empty, unless a worker computes losses.
  void note_losses(std::span<const SampleId> ids, std::span<const float> losses);
  /// The next batch is of an epoch whose list needs losses that are not noted yet.
  bool awaits_losses() const { return data_.needs_losses() && list_ && taken_ == part() && noted_ < taken_; }
  /// Other samples than those of a batch came: changes them and their weights. Pre: the batch is of the epoch
  /// in progress.
  void replace(Batch& batch, std::span<const SampleId> ids);
  /// Where cache nodes let samples change places: the samples of the first `position` places of this worker's
  /// part of the epoch's list, as they came. What came for later places is forgotten. Valid until the next
  /// change.
  std::span<const SampleId> given_before(std::int64_t epoch, std::int64_t position);
  /// Of the batch that was returned last.
  std::int64_t epoch() const;
  /// Where it began in this worker's part of the list.
  std::int64_t position() const { return static_cast<std::int64_t>(last_); }
  /// By id: what the list of the present epoch knows; empty where no worker computes losses.
  std::span<const float> losses() const { return table_; }
  /// Whether `samples` samples are this worker's part of so many epochs' lists. Never with shards, whose
  /// epochs are counted for all workers together.
  bool has_trained(double epochs, std::int64_t samples) const;

  /// Where workers leave and join: the worker of this slot takes the samples of the present deal from now on,
  /// or from where that begins.
  void follow(const sampling::MemberDeals& deals, int slot);
  /// The same for one that joins when `samples` of its slot's workers count. Pre: nothing was taken.
  void join(const sampling::MemberDeals& deals, int slot, std::int64_t samples);
  /// Skips samples. Pre: nothing was taken; no list needs losses.
  void skip(std::int64_t samples);
  /// Where in which epoch the worker is, and the losses that it knows, where lists need losses; and which
  /// samples came, where they may have changed places.
  void serialise(StateArchive& state);

 private:
  std::size_t part() const { return list_->ids.size() / static_cast<std::size_t>(workers_); }
  std::size_t place(std::size_t position) const {
    return static_cast<std::size_t>(worker_) + position * static_cast<std::size_t>(workers_);
  }
  void next_of_shard(int count, Batch& batch);
  void begin_deals();
  void skip_in_lists(std::int64_t samples);
  void begin_epoch(std::int64_t epoch);
  void exchange_losses();
  void collect(Slice all);
  void put_own_losses(std::span<std::byte> block) const;
  void keep_losses(std::span<const std::byte> all);
  void note_given(std::int64_t epoch, std::span<const SampleId> ids);
  void serialise_given(StateArchive& state);
  void keep_residents(std::span<const std::byte> all);
  void serialise_losses(StateArchive& state);

  const Roster& roster_;
  const DataPlan& data_;
  Context& context_;
  int worker_;  ///< among them, of those that the samples were dealt to
  int workers_;
  std::function<void(Pending&)> wait_;
  std::optional<ResidentLists> resident_lists_;
  std::function<ResidentSet()> own_residents_;
  ResidentSet residents_;
  sampling::DealsOfWorker deals_;
  std::int64_t total_ = 0;                      ///< taken, also by earlier workers of the slot
  std::optional<sampling::ShardVisits> shard_;  ///< made at its first use
  // Of lists:
  sampling::RestList first_;
  std::shared_ptr<const sampling::EpochList> list_;
  std::int64_t epoch_ = 0;
  std::int64_t before_epoch_ = 0;  ///< samples of this worker in earlier epochs
  std::size_t taken_ = 0;          ///< of this worker's part
  std::size_t last_ = 0;           ///< of those, before the last batch
  std::size_t noted_ = 0;          ///< of those, their losses are known
  std::vector<float> own_losses_;  ///< of its part, where mathematics is real
  std::vector<SampleId> own_ids_;  ///< of `own_losses_`, where cache nodes may replace samples
  std::vector<float> weight_of_;   ///< by id, where lists have weights and cache nodes may replace samples
  std::vector<float> table_;       ///< by id: what the next list knows; NaN: not visited
  /// By id, of each epoch that the lag leaves out, oldest first; NaN: not visited in it.
  std::deque<std::vector<float>> too_new_;
  /// What came for the places of an epoch, in order.
  struct Given {
    std::int64_t epoch = 0;
    std::vector<SampleId> ids = {};
  };
  bool notes_given_;         ///< samples may change places
  std::deque<Given> given_;  ///< of the last epochs, the oldest first
};

}  // namespace tandem
