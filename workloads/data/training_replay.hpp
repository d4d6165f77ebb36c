// Training jobs that read through cache nodes, without time. Each epoch's list comes from a sampler, and
// passes batch by batch through the engines of all nodes, which read from each other and from the store.
// Counts the reads of each source; a simulation or a run gives their times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/divergence.hpp"
#include "workloads/data/cache_engine.hpp"

namespace tandem {

/// Sets the losses of job `job` that are known when an epoch begins, by id; NaN: not visited.
using LossSource = std::function<void(int job, std::int64_t epoch, std::span<float> losses)>;

struct TrainingReplaySetting {
  cache::Manifest manifest;
  std::int64_t epochs = 1;
  int batch = 64;            ///< samples per node and step
  int nodes = 1;             ///< each with a cache and one worker of each job
  std::vector<Bytes> tiers;  ///< of each node
  const CatalogEntry<cache::Factory>* policy = nullptr;
  Options policy_options;
  const cache::Rates* rates = nullptr;
  Bytes idle_room{0};  ///< that a node may read in the background after each step
  std::uint64_t seed = 1;
  /// The sampler of each job. Must outlive the replay.
  std::vector<const sampling::Sampler*> jobs;
  LossSource losses = nullptr;        ///< null: no losses are known
  std::vector<double> benefits = {};  ///< of each job, for policies that weigh jobs; empty: all are 1
  /// Called after each step; null: not called. It may throw to end the replay.
  std::function<void(std::int64_t epoch, double share_of_epoch)> progress = nullptr;
};

/// One epoch of one job, over all nodes.
struct EpochReads {
  int job = 0;
  std::int64_t epoch = 0;
  CacheLedger ledger;
  std::int64_t listed = 0;    ///< samples that the sampler listed and the nodes wanted
  std::int64_t omitted = 0;   ///< listed, but never delivered
  std::int64_t repeated = 0;  ///< deliveries beyond those listed
};

/// Errors: ConfigError if the setting lacks data that the policy needs.
std::vector<EpochReads> replay_training(const TrainingReplaySetting& setting);

}  // namespace tandem
