// The epoch in progress, for a cache node whose policy plans with epochs: the lists, which the node computes
// as the workers do, and which of these samples its own workers still want. In these lists samples may
// change places.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/data_plan.hpp"

namespace tandem {

class NodeEpoch {
 public:
  /// The arguments must outlive it. `node`: among the cache nodes. `job`: among those that the node serves.
  NodeEpoch(const Roster& roster, const DataPlan& data, std::size_t node, int job = 0);

  /// Below 0 before the first one.
  std::int64_t epoch() const { return epoch_; }
  /// Of low importance in this epoch.
  bool is_low(SampleId id) const { return !low_.empty() && low_[index(id)]; }
  /// `losses`: those that the list uses, by id, where workers compute losses; otherwise empty. `on_begin`
  /// gets the event, which is valid until it returns. `given`: in the epoch in which a job is resumed, by
  /// worker of the node, the samples that it got for its first places; the others of these lists remain.
  /// `list`: of the epoch, if it does not follow from the losses alone. `position`: in the workers' parts,
  /// from which the workers of the node ask for samples, if these do not change places.
  void begin(std::int64_t epoch, std::span<const float> losses,
             const std::function<void(const cache::EpochBegins&)>& on_begin,
             std::span<const std::vector<SampleId>> given = {},
             std::shared_ptr<const sampling::EpochList> list = nullptr, std::int64_t position = 0);
  /// A worker (its number among those of the node) asks for samples from this position of its part. Where
  /// samples have changed places, it gets those that are at these places now. Valid until the next call.
  cache::Want want(std::size_t client, std::int64_t position, std::span<const SampleId> ids);
  /// The samples that were served for it. Those that were swapped change places.
  void note_served(std::span<const cache::Serve> serves);

 private:
  struct Place {
    std::uint32_t client = 0;
    std::uint32_t position = 0;
  };
  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  std::size_t samples() const { return index(data_.manifest().samples); }
  void keep_lists(const sampling::EpochList& list);
  std::vector<SampleId> put_given(std::span<const std::vector<SampleId>> given);
  void swap(SampleId asked, SampleId given);
  SampleId& at(const Place& place) { return lists_[place.client][place.position]; }

  const DataPlan& data_;
  std::size_t node_;
  int job_;
  std::vector<std::vector<std::size_t>> workers_of_;  ///< by cache node
  bool keeps_lists_;                                  ///< of its own workers, of which samples may be swapped
  std::int64_t epoch_ = -1;
  std::vector<bool> low_;                     ///< by id; empty: all are H
  std::vector<std::vector<SampleId>> lists_;  ///< of its workers
  std::vector<Place> places_;                 ///< by id, in `lists_`
  std::vector<std::size_t> asked_;            ///< by worker: its next position
  std::size_t client_ = 0;                    ///< that wants a batch now
  std::size_t begin_ = 0;                     ///< of that batch
  std::vector<cache::Sample> now_;
  std::vector<std::uint8_t> low_now_;
};

}  // namespace tandem
