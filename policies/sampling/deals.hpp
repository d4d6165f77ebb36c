// How the samples of an epoch in progress are dealt to another number of workers, so that none is used twice
// or never in the epoch. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "policies/sampling/deal_history.hpp"
#include "policies/sampling/partition.hpp"
#include "policies/sampling/sampler.hpp"

namespace tandem::sampling {

/// What each of `workers` workers visits before its new shard, after these deals (the oldest first). The
/// rest of the epochs of a deal's workers is dealt by the split, as all samples are. Workers that were
/// behind also leave their shards of later epochs that others had begun. If a split replicates, workers keep
/// their own rest, and further workers begin with the next epoch. `setting.workers` is not used. Pre: at
/// least one deal. Errors: as Split::deal.
std::vector<Rest> rests_after(const Split& split, Setting setting, std::span<const Deal> deals, int workers);

/// The same while deals are appended. Pre: always the same split and setting.
class RestsOfDeals {
 public:
  std::shared_ptr<const std::vector<Rest>> after(const Split& split, const Setting& setting,
                                                 const DealHistory& deals, int workers);

 private:
  FirstsOfDeals<std::vector<Rest>> firsts_;
};

/// The list from which workers continue, if all take their parts of common lists.
struct RestList {
  std::int64_t epoch = 0;  ///< of the list
  /// None: workers begin with the whole list of the epoch.
  std::shared_ptr<const EpochList> list = nullptr;
  double share = 1.0;  ///< share of the epoch's samples that the list has
};
/// The whole list of an epoch. All lists have the same length.
using ListOfEpoch = std::function<std::shared_ptr<const EpochList>(std::int64_t epoch)>;
/// The same if workers take parts of common lists. If fewer ids than workers remain, they are left out, as
/// at the end of every list.
RestList rest_list_after(const ListOfEpoch& list_of, std::span<const Deal> deals, int workers);

/// The same while deals are appended. Pre: always the same lists.
class ListsOfDeals {
 public:
  RestList after(const ListOfEpoch& list_of, const DealHistory& deals, int workers);

 private:
  FirstsOfDeals<RestList> firsts_;
};

}  // namespace tandem::sampling
