// A job ready to run in either world: who is which rank, the sizes, the prices, and the shared read-only
// data. Both executables build it from the same resolved document and start the same roles from it.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "policies/compression/codec.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/cost/cost_model.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/job/all_reduce_plan.hpp"
#include "workloads/job/progress.hpp"
#include "workloads/job/resume_point.hpp"
#include "workloads/job/shard_layout.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/model/description.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/records/records.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {

/// What one rank does, and where.
struct RankAssignment {
  enum class Role { worker, server, coordinator, cache_node, evaluator } role;
  int index;  ///< among ranks of that role
  std::string host;
};
const char* role_name(RankAssignment::Role role);

class Job {
 public:
  /// `directory`: the result directory (checkpoints go under it). Loads the data set when math is real.
  /// `network`: between the workers' hosts, if it is known. Errors: ConfigError.
  Job(Experiment experiment, platforms::Description platform, std::string directory,
      const platforms::Network& network = {});
  static Job from_document(const nlohmann::json& document, std::string directory);

  const Experiment& experiment() const { return experiment_; }
  const platforms::Description& platform() const { return platform_; }
  const ModelDescription& model() const { return model_; }
  const DatasetInfo& dataset_info() const { return dataset_info_; }
  const Dataset* dataset() const { return dataset_.get(); }  ///< null when math is modelled
  const std::vector<RankAssignment>& assignments() const {
    return assignments_;
  }  ///< by rank: workers, servers or coordinator, cache nodes, evaluator
  const std::string& directory() const { return directory_; }
  bool real_math() const { return experiment_.workload.math == Experiment::Workload::Math::real; }
  const platforms::Host& host_of(Rank rank) const;
  static constexpr const char* processor_kind = "processor";
  /// What computes on a host in this job, really or (modelled) as if: the processor, or the GPU's name in the
  /// catalogue ("gpu" without one). Calibration takes hosts of one kind to be equally fast where they are one
  /// machine's.
  std::string kind_of(const platforms::Host& host) const;
  /// The same for a rank: one that computes nothing, or has no seat, needs no GPU.
  std::string kind_of(Rank rank) const;
  /// The number of the GPU of its machine on which the rank really computes, if it is there.
  std::optional<int> gpu_of(Rank rank) const;
  /// Whether MPI may be given the memory of a GPU, if it is able to read it.
  bool may_send_device_memory() const;
  /// Whether this worker takes its next batch while its GPU still computes: one that is asked for ahead, and
  /// whose size no exchange changes meanwhile. The same in both worlds.
  bool loads_ahead(Rank worker) const;
  std::vector<Rank> ranks_of(RankAssignment::Role role) const;
  /// What a profile calls the model: by which precision it computes is part of it.
  std::string measured_model() const;
  /// Prices work on the rank's device.
  CostModel cost_model(Rank rank) const;
  /// What a rank needs to make its learner.
  LearnerSetting learner_setting() const;
  const Profile* profile() const { return profile_.get(); }
  /// The shard of training samples of worker `index`.
  const std::vector<SampleId>& shard(int index) const { return shards_.at(static_cast<std::size_t>(index)); }

  const Catalog<sync::Factory>::Entry& algorithm() const { return *algorithm_; }
  sync::Setting sync_setting() const;
  sync::UpdateRule update_rule() const { return algorithm_->make.update_rule(sync_setting()); }
  sync::Route route() const;
  /// What an exchange goes on during; see Experiment::Sync.
  bool overlaps_backward() const { return experiment_.sync.overlaps_backward(); }
  bool overlaps_forward() const { return experiment_.sync.overlaps_forward(); }
  /// Over a server: it sends mean gradients, by which each worker steps a model of its own, all alike; then
  /// no server has any.
  bool servers_send_means() const;
  bool servers_hold_model() const { return route() == sync::Route::server && !servers_send_means(); }
  /// The experiment's optimiser, with the length that its schedule has in this job.
  const OptimizerSetting& optimizer_setting() const { return optimizer_; }
  /// Local steps of a round; 1 when it varies.
  int steps_per_round() const;
  /// Samples that one batch may hold at most, whatever a policy grants.
  int largest_batch() const;
  /// How workers compress what they send; null when they do not.
  const compression::Factory* compression() const {
    return compression_->make.make == nullptr ? nullptr : &compression_->make;
  }
  Options compression_options() const;
  /// Of elements of the flat layout that a worker sends together. Pre: all trained, and of one bucket.
  compression::Setting compression_setting(int worker, std::int64_t position, std::int64_t elements) const;
  /// What an all-reduce among these workers depends on, by the experiment's collective.
  AllReduceSetting all_reduce_setting(std::span<const Rank> workers,
                                      std::vector<std::int64_t> bucket_elements) const;
  /// How workers sum; null over a server.
  const AllReducePlan* all_reduce() const { return all_reduce_ ? &*all_reduce_ : nullptr; }

  /// Where it goes on; null: it begins.
  const ResumePoint* resume() const { return resume_ ? &*resume_ : nullptr; }
  void resume_from(ResumePoint point) { resume_ = std::move(point); }
  /// What each server shard holds; empty over another route.
  const ShardLayout& shard_layout() const { return shard_layout_; }

  /// Called with the fraction done, 0 to 1, by the rank that knows it. Default: nobody.
  void on_progress(std::function<void(double)> callback) { on_progress_ = std::move(callback); }
  void report_progress(const Progress& progress) const;

 private:
  struct WithoutPlan {};
  Job(WithoutPlan, Experiment experiment, platforms::Description platform, std::string directory);
  void plan(const platforms::Network& network);
  double rounds_until_stop() const;
  void check_statistics() const;
  void check_compression() const;
  std::int64_t summed_elements(const BucketDescription& bucket) const;

  Experiment experiment_;
  platforms::Description platform_;
  std::string directory_;
  ModelDescription model_;
  DatasetInfo dataset_info_;
  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const Profile> profile_;
  std::vector<RankAssignment> assignments_;
  std::vector<std::vector<SampleId>> shards_;
  const Catalog<sync::Factory>::Entry* algorithm_;
  const Catalog<compression::Factory>::Entry* compression_;
  OptimizerSetting optimizer_;
  std::optional<AllReducePlan> all_reduce_;
  std::optional<ResumePoint> resume_;
  ShardLayout shard_layout_;
  std::function<void(double)> on_progress_;
};

/// The document that `tandem run` hands to `tandem-rank`, with all that was resolved for both worlds.
nlohmann::json job_document(const Job& job);

/// What is known of a run before it starts. `world`: "simulated" | "smpi" | "measured".
RunInfo describe_run(const Job& job, const std::string& world);

}  // namespace tandem
