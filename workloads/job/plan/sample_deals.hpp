// How the training samples of a job are dealt to its workers: shards, and the rest of them or of common
// lists if other workers continue.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "policies/sampling/deals.hpp"
#include "policies/sampling/member_deals.hpp"
#include "policies/sampling/partition.hpp"
#include "workloads/job/plan/epoch_lists.hpp"

namespace tandem {

/// Shared by all workers of a process.
class SampleDeals {
 public:
  using Labels = std::function<std::vector<std::uint16_t>()>;
  /// `setting`: without labels, which `labels` loads where the split needs them. Pre: `lists` outlives this.
  /// Errors: ConfigError, if labels are needed and a sample has none.
  SampleDeals(const sampling::Split& split, sampling::Setting setting, Labels labels,
              const EpochLists& lists);

  /// The training samples of all workers. Unless the split needs labels, the samples are dealt at the first
  /// call: a job with modelled mathematics that reads nothing from storage never asks for them.
  const sampling::Shards& shards() const;
  const std::vector<SampleId>& shard(int index) const { return shards().at(static_cast<std::size_t>(index)); }
  /// Visits the shard of a worker, in the order of this job.
  sampling::ShardVisits visits(int worker) const;

  /// The job continues with other workers than those that trained before: `deals`, the oldest first. Its
  /// workers first visit the samples of an epoch that the former workers did not. Pre: called before any
  /// worker takes samples; the lists need no losses.
  void continue_after(std::span<const sampling::Deal> deals);
  /// The deals before that of this job.
  const sampling::Deals& before() const { return before_; }
  /// If workers leave and join, their remaining samples are dealt again. False if each worker has all
  /// samples.
  bool are_repeated() const { return lists_.exist() || !split_.replicates; }
  /// Visits the samples of a place in a later deal; the next function returns the rest of the lists there.
  /// Workers of a process share the common parts.
  sampling::ShardVisits visits(const sampling::DealsOfWorker::Part& part) const;
  sampling::RestList rest_list(const sampling::DealsOfWorker::Part& part) const;
  /// The rest of an epoch from former workers: it is visited first.
  struct Left {
    std::int64_t epoch = 0;
    std::int64_t samples = 0;
  };
  Left left_of_epoch() const;
  /// Where workers begin in the common lists.
  const sampling::RestList& first_list() const { return first_list_; }

 private:
  sampling::ListOfEpoch list_of_epoch() const {
    return [this](std::int64_t epoch) { return lists_.of(epoch, {}, {}); };
  }

  /// The setting with the labels that the split needs.
  struct Labelled {
    std::vector<std::uint16_t> labels;
    sampling::Setting setting;
  };
  Labelled labelled() const;

  const sampling::Split& split_;
  sampling::Setting setting_;
  Labels labels_;
  const EpochLists& lists_;
  sampling::Deals before_;
  sampling::RestList first_list_;
  std::vector<sampling::Rest> first_;  ///< by worker, before its shard; empty: nothing
  mutable std::once_flag once_;
  mutable sampling::Shards shards_;

  // Of later deals:
  struct Later {
    int places = 0;
    sampling::Shards shards;
  };
  static constexpr std::size_t kept = 2;
  mutable std::mutex mutex_;
  mutable std::vector<Later> later_;
  mutable std::optional<const Labelled> labelled_;  ///< from the first later deal on
  mutable sampling::RestsOfDeals rests_;
  mutable sampling::ListsOfDeals rest_lists_;
};

}  // namespace tandem
