// How the samples of an epoch in progress are dealt to another number of workers, so that none is used twice
// or never in the epoch. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "policies/sampling/partition.hpp"
#include "policies/sampling/sampler.hpp"

namespace tandem::sampling {

/// Samples of an earlier deal that its worker should have taken and has not.
struct Returned {
  std::int64_t deal = 0;   ///< among all deals, the oldest first
  std::int64_t place = 0;  ///< of its worker
  std::int64_t first = 0;  ///< samples of the worker since that deal, before these
  std::int64_t count = 0;
  bool operator==(const Returned&) const = default;
};

/// Workers among whom samples were dealt, until others continued.
struct Deal {
  int workers = 0;
  std::vector<std::int64_t> taken = {};  ///< samples of each, since they were dealt
  std::vector<Returned> returned = {};   ///< meanwhile; they are dealt with what is left
  bool operator==(const Deal&) const = default;
};

/// What each of `workers` workers visits before its new shard, after these deals (the oldest first). What the
/// workers of a deal had left of their epochs is dealt by the split as all samples are; those that were
/// behind had the shards of the epochs left, too, that others had begun. Where a split replicates, workers
/// keep what they had left, and further workers begin with the next epoch. `setting.workers` is not used.
/// Pre: at least one deal. Errors: as Split::deal.
std::vector<Rest> rests_after(const Split& split, Setting setting, std::span<const Deal> deals, int workers);

/// The list from which workers continue where all take their parts of common lists.
struct RestList {
  std::int64_t epoch = 0;  ///< of the list
  /// None: workers begin with the whole list of the epoch.
  std::shared_ptr<const EpochList> list = nullptr;
  double share = 1.0;  ///< of the epoch's samples that are left
};
/// The same where workers take parts of common lists. `list_of`: the whole list of an epoch; all are equally
/// long. Too few ids for one per worker are left out, as at the end of every list.
RestList rest_list_after(const std::function<std::shared_ptr<const EpochList>(std::int64_t epoch)>& list_of,
                         std::span<const Deal> deals, int workers);

}  // namespace tandem::sampling
