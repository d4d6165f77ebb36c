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
    std::vector<std::int32_t> epochs;  ///< the epoch in which each of them is visited
    std::vector<float> weights;        ///< factors on the losses; empty: all are 1
  };
  /// For lists that depend on the content of caches. `own`: returns the content of this worker's cache node,
  /// if the worker reports it (Loader::residents). Pre: nothing was taken.
  void know_residents(std::optional<ResidentLists> lists, std::function<ResidentSet()> own);
  /// The samples that were in caches when the list of the present epoch was made; empty where lists do not
  /// depend on them.
  const ResidentSet& residents() const { return residents_; }
  /// Fills `batch` with the next `count` samples. The last batch of a common list may have fewer.
  void next(int count, Batch& batch);
  /// Notes the losses of the oldest batch of `next` that has none yet, and the samples that it was trained
  /// on. Empty, unless a worker computes losses.
  void note_losses(std::span<const SampleId> ids, std::span<const float> losses);
  /// The next batch is of an epoch whose list needs losses that are not noted yet.
  bool awaits_losses() const { return data_.needs_losses() && list_ && taken_ == part() && noted_ < taken_; }
  /// Other samples came than those of a batch: changes them and their weights. Pre: the batch is of the
  /// epoch in progress.
  void replace(Batch& batch, std::span<const SampleId> ids);
  /// Where cache nodes let samples change places: the samples that came for the first `position` places of
  /// this worker's part of the epoch's list. Samples of later places are forgotten. Valid until the next
  /// change.
  std::span<const SampleId> given_before(std::int64_t epoch, std::int64_t position);
  /// Epoch of the batch that was returned last.
  std::int64_t epoch() const;
  /// Where that batch began in this worker's part of the list.
  std::int64_t position() const { return static_cast<std::int64_t>(last_); }
  /// By id: the losses by which the list of the present epoch was made; empty where no worker computes
  /// losses.
  std::span<const float> losses() const { return table_; }
  /// Whether `samples` samples are this worker's part of the lists of `epochs` epochs. Never with shards,
  /// whose epochs are counted for all workers together.
  bool has_trained(double epochs, std::int64_t samples) const;

  /// Where workers leave and join: the worker of this slot takes the samples of the present deal from now
  /// on, or from the beginning of that deal.
  void follow(const sampling::MemberDeals& deals, int slot);
  /// The same for a worker that joins when `samples` samples of its slot's workers count. Pre: nothing was
  /// taken.
  void join(const sampling::MemberDeals& deals, int slot, std::int64_t samples);
  /// Skips samples. Pre: nothing was taken; no list needs losses.
  void skip(std::int64_t samples);
  /// The worker's epoch and position in it; the losses that it knows, if lists need them; and which samples
  /// came, if they may have changed places.
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
  int worker_;  ///< its number among the workers to which the samples were dealt
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
  std::size_t last_ = 0;           ///< of those, taken before the last batch
  std::size_t noted_ = 0;          ///< of those, with known losses
  std::vector<float> own_losses_;  ///< of its part, where mathematics is real
  std::vector<SampleId> own_ids_;  ///< of `own_losses_`, where cache nodes may replace samples
  std::vector<float> weight_of_;   ///< by id, where lists have weights and cache nodes may replace samples
  std::vector<float> table_;       ///< by id: losses for the next list; NaN: not visited
  /// By id, of each epoch that is newer than the lag allows, oldest first; NaN: not visited in it.
  std::deque<std::vector<float>> too_new_;
  /// The samples that came for the places of an epoch, in order.
  struct Given {
    std::int64_t epoch = 0;
    std::vector<SampleId> ids = {};
  };
  bool notes_given_;         ///< samples may change places
  std::deque<Given> given_;  ///< of the last epochs, the oldest first
};

}  // namespace tandem
