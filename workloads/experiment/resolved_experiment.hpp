// The names of an experiment, resolved: entries of catalogues with their options, each looked up and parsed
// once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "policies/cache/policy.hpp"
#include "policies/checkpointing/policy.hpp"
#include "policies/compression/codec.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/provisioning/policy.hpp"
#include "policies/recovery/policy.hpp"
#include "policies/sampling/partition.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/sharding/policy.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/catalog.hpp"
#include "workloads/data/augmentation.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// An entry of a catalogue with its options. The entry is that of the catalogue, which lives as long as the
/// program.
template <class Factory>
class Chosen {
 public:
  using Entry = CatalogEntry<Factory>;
  /// Errors: ConfigError when there is no such entry or option.
  Chosen(const Catalog<Factory>& catalog, const std::string& name,
         const std::map<std::string, OptionValue>& given)
      : entry_(&catalog.find(name)), options_(Options::resolve(entry_->name, entry_->options, given)) {}

  const Entry& entry() const { return *entry_; }
  const std::string& name() const { return entry_->name; }
  const Options& options() const { return options_; }
  const Factory& make() const { return entry_->make; }
  const Factory* operator->() const { return &entry_->make; }

 private:
  const Entry* entry_;
  Options options_;
};

/// Has no reference to the experiment that it is made of.
struct ResolvedExperiment {
  /// Errors: ConfigError.
  explicit ResolvedExperiment(const Experiment& experiment);

  /// The configuration of the algorithm for this number of workers. Without the number of training samples,
  /// it is read from the data set when an algorithm asks for the size of a shard.
  sync::Setting sync_setting(int workers, std::optional<std::int64_t> train_samples = {}) const;
  /// The number of local steps in a round may change during the job.
  bool rounds_vary() const { return algorithm->steps_per_round(algorithm.options()) == 0; }
  /// All workers take the same steps, with the same batch.
  bool takes_same_steps() const {
    return !algorithm->timing_driven && !rounds_vary() && !algorithm->varies_batch && !may_pass_rounds();
  }
  /// In each round, a share of the workers takes no step.
  bool may_pass_rounds() const {
    constexpr int many = 1'000'000;  // of which no share is rounded to all
    return algorithm->workers_of_round != nullptr && algorithm->workers_of_round(sync_setting(many)) < many;
  }
  /// No worker can continue with the model of another one.
  bool has_models_of_their_own() const;
  bool compresses() const { return compression->make != nullptr; }

  Chosen<sync::Factory> algorithm;
  Chosen<compression::Factory> compression;
  Chosen<sharding::Policy> sharding;
  Chosen<cache::Factory> cache;
  Chosen<sampling::SamplerFactory> sampler;
  Chosen<sampling::Split> split;
  Chosen<lifetimes::Factory> lifetime;
  Chosen<recovery::Factory> recovery;
  Chosen<provisioning::Factory> provisioning;
  std::optional<Chosen<checkpointing::Factory>> checkpointing;  ///< none: commits with every evaluation
  Augmentation augmentation;
  DatasetSetting dataset;

 private:
  int batch_;
  sync::Route route_;
  std::uint64_t seed_;
  bool sums_gradients_;
};

}  // namespace tandem
