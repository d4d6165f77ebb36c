// The interface of every sampler: which samples an epoch trains on, in which order, and the weight of each
// loss. A pure function of the seed, the epoch and the known results of earlier epochs, for all workers
// together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::sampling {

/// The data that is known when the list of an epoch is made.
struct Known {
  std::span<const float> losses = {};  ///< by id, of the last visit; NaN: not visited. Empty: no losses
  std::function<bool(SampleId)> is_cached = nullptr;  ///< null: unknown
};

/// The samples of one epoch, of all workers together.
struct EpochList {
  std::vector<SampleId> ids;
  std::vector<std::uint8_t> low;  ///< 1: of low importance (L), by position in `ids`; empty: all are high (H)
  std::vector<float> weights;     ///< factor on the loss, by position in `ids`; empty: all are 1

  void clear() {
    ids.clear();
    low.clear();
    weights.clear();
  }
};

/// Deterministic.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// The list of epoch number `epoch`, from 0. It does not depend on which lists were asked for before.
  virtual void list(std::int64_t epoch, const Known& known, EpochList& list) const = 0;
  /// Why a sampler selects no samples in a job of `epochs` epochs, although it is made to: the options that
  /// prevent it ("warm_up 5 of 3 epochs"). Empty: it selects, or is not made to.
  virtual std::string why_selects_none(std::int64_t /*epochs*/) const { return ""; }
};

struct SamplerSetting {
  std::int64_t samples;     ///< ids are below
  std::int64_t batch = 64;  ///< of one worker
  std::uint64_t seed = 1;
  Options options = {};
};

struct SamplerFactory {
  /// Null: `shard`, whose workers visit their own shards (ShardVisits). Errors: ConfigError.
  std::unique_ptr<Sampler> (*make)(const SamplerSetting&) = nullptr;
  bool needs_losses = false;
  bool needs_cached = false;  ///< Known::is_cached
  bool may_repeat = false;    ///< a sample may be listed more than once
  bool visits_all = false;    ///< each epoch has every sample once, except those that cannot be dealt equally
};
const Catalog<SamplerFactory>& samplers();

/// The part of a list that a worker trains on: every workers-th id from its own index. All workers have
/// equally many; the last ids of a list that cannot be divided are left out.
void deal(const EpochList& list, int worker, int workers, EpochList& part);

/// How well an order is mixed: the mean entropy of the sample ids of a batch over `ranges` equal ranges of
/// ids, as a share of that of batches of uniformly drawn samples. About 1: as a random order; 0: each batch
/// is from one range. Pre: at least one batch.
double mixing(const std::vector<SampleId>& ids, std::int64_t samples, std::int64_t batch, int ranges = 16);

}  // namespace tandem::sampling
