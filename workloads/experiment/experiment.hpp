// A training job as the user describes it, with all defaults. Plain data with a lossless JSON form, which
// `tandem run` passes to the rank program. job/check/experiment_file.hpp reads it from YAML.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/experiment/bucket_rule.hpp"

namespace tandem {

/// How a job continues after it has lost a machine or a rank.
enum class Continuation {
  none,                 ///< machines stay; when a rank dies, the job ends
  in_place,             ///< machines depart, and the other ranks continue
  restart_on_death,     ///< machines stay; when a rank dies, all are launched again
  restart_on_departure  ///< machines depart; each time, and when a rank dies, all are launched again
};

constexpr bool launches_again(Continuation continuation) {
  return continuation == Continuation::restart_on_death || continuation == Continuation::restart_on_departure;
}

/// From 0 to 100.
struct Percent {
  double value = 0.0;
  bool operator==(const Percent&) const = default;
};

struct Experiment {
  std::string name;      ///< default: the file's stem
  std::string platform;  ///< path, made absolute when loaded

  struct Workload {
    using Math = tandem::Math;
    Math math = Math::modelled;
    std::string model = "lenet";  ///< of model_catalog(), "synthetic", or the path of a TorchScript file
    std::string dataset = "fashion-mnist";
    std::map<std::string, OptionValue> dataset_options;  ///< all resolved
    std::string dataset_directory;                       ///< empty: /usr/share/datasets/NAME
    std::int64_t train_samples = 0;                      ///< 0: all
    std::int64_t test_samples = 0;                       ///< 0: all
    int image_size = 0;           ///< side to which images are scaled for the model; 0: as they are
    int batch = 64;               ///< samples per worker and step
    Bytes bucket_bytes{1 << 20};  ///< 0: one bucket
    Bytes first_bucket_bytes{0};  ///< of the first in the backward pass; 0: as the others
    BucketRule bucket_rule = BucketRule::layers;
    // Computing times of a step with `batch` samples, as measured by the user; 0: not given.
    Seconds measured_step{0};  ///< forward and backward pass
    Seconds measured_forward{0};
    Seconds measured_backward{0};
    /// Buckets of the gradient of model "synthetic", as parse_bucket() reads them, in the order in which the
    /// backward pass completes them.
    std::vector<std::string> measured_buckets;
    Seconds measured_update{0};  ///< of the optimiser and all else after the exchange; 0: estimated
    Seconds measured_host{0};    ///< in which the processor launches a step; the same before every device
    Bytes measured_buffers{0};   ///< that the first worker sends to all before each forward pass
    std::string measured_on;     ///< a device of the catalogue; empty: that of the first worker
    /// Devices take the times that the user measured, or times scaled from them.
    bool has_measured_times() const {
      return measured_step > Seconds(0) || measured_forward > Seconds(0) || measured_backward > Seconds(0);
    }
    /// A traced step whose number of samples is not known: what counts is steps.
    bool counts_steps() const { return !measured_buckets.empty() && batch == 1; }
    Precision precision = Precision::fp32;  ///< of real mathematics
    bool deterministic = true;              ///< real mathematics: the same bits in every run on a device
    std::string initial;                    ///< model to start from; empty: from the seed
    OnNonFinite non_finite = OnNonFinite::stop;
    // Only for model "synthetic": a model given by its sizes. Modelled math only.
    std::int64_t synthetic_parameters = 1'000'000;
    Flops synthetic_forward{1e7};   ///< a sample
    Flops synthetic_backward{2e7};  ///< a sample
    int synthetic_buckets = 1;      ///< of equal size; 0: as large as bucket_bytes and first_bucket_bytes say
    /// Sizes of its tensors ("4MB"), or one path of a file with one per line; empty: synthetic_parameters in
    /// equal buckets.
    std::vector<std::string> synthetic_tensors;
  } workload;

  struct Sync {
    SyncPreset preset = SyncPreset::none;  ///< the keys that it sets have its values
    std::string algorithm = "bsp";         ///< of sync::catalog()
    sync::Route over = sync::Route::server;
    ServerPull pull = ServerPull::pushed;
    ExchangeUnit exchange = ExchangeUnit::whole;
    PushOrder decides = PushOrder::each_server;
    std::string collective = "ring";  ///< of collectives::catalog()
    int rings = 1;  ///< copies of the collective over disjoint links; 0: as many as the platform has
    WorkerOrder order = WorkerOrder::topology;  ///< of the workers in the collective
    OverlapMode overlap = OverlapMode::backward;
    bool average_statistics = true;              ///< running statistics are exchanged with the model
    std::map<std::string, OptionValue> options;  ///< of the algorithm, all resolved
    std::string compression = "none";            ///< of compression::catalog()
    std::map<std::string, OptionValue> compression_options;
    bool compress_replies = false;  ///< of servers, too
    /// How the model is divided among server shards: a name of sharding::catalog(), and its options, all
    /// resolved.
    std::string sharding = "even";
    std::map<std::string, OptionValue> sharding_options;

    /// A bucket of a gradient is sent as soon as it is complete, while the backward pass continues.
    bool overlaps_backward() const { return overlap != OverlapMode::none; }
    /// In addition, each layer of the next forward pass waits only for its own bucket.
    bool overlaps_forward() const { return overlap == OverlapMode::both; }
  } sync;

  struct Data {
    DataSource source = DataSource::memory;
    std::string split = "iid";  ///< of sampling::splits()
    std::map<std::string, OptionValue> split_options;
    std::string sampling = "shard";  ///< of sampling::samplers()
    std::map<std::string, OptionValue> sampling_options;
    std::string losses;         ///< losses.csv of a run, where mathematics is modelled; empty: from a model
    std::string cache = "lru";  ///< of cache::catalog()
    std::map<std::string, OptionValue> cache_options;
    Bytes cache_capacity{0};  ///< of the first tier, memory
    /// The same as a part of the stored training samples; 0: in bytes. See resolve_cache_capacity().
    Percent cache_percent{};
    Bytes disk_capacity{0};  ///< of the second tier, on the node's disk; 0: none
    /// How training images are changed each time they are used, by augmentation_options(); empty: unchanged.
    std::map<std::string, OptionValue> augment;
    bool cold = false;          ///< native cache nodes read past the page cache
    Peers peers = Peers::none;  ///< how cache nodes find samples on other cache nodes
    int copies = 0;             ///< cache nodes that may hold a sample at the same time; 0: all
    StoreAccess store = StoreAccess::served;
    BadSample bad_sample = BadSample::stop;
    BackgroundReads background = BackgroundReads::idle;
    int loaders = 0;         ///< that read concurrently with demand, without pause; 0: `background` says when
    bool keep = false;       ///< a cache node that returns still has its disk tier
    bool shared = false;     ///< shares cache nodes and stores with other jobs that have it
    int decode_threads = 1;  ///< of each worker
    int prefetch = 1;        ///< batches requested ahead; 0: a GPU does not load one during a step either
  } data;

  struct Placement {  ///< host names, one per instance
    std::vector<std::string> workers;
    bool workers_by_default = false;  ///< not a key: resolve_placement() chose the workers
    int worker_count = 0;             ///< use only this many, the first ones; 0: all
    /// Hosts of slots in addition to the workers'. They are empty when the job begins; a recovery policy
    /// requests machines for them.
    std::vector<std::string> spares;
    /// One host per shard; without a parameter server, the host of the coordinator, if the algorithm has
    /// one. Before resolve_placement() it may be the word "own" or "co-located".
    std::vector<std::string> servers;
    std::vector<std::string> cache_nodes;  ///< with a disk, unless there are stores
    std::vector<std::string> stores;       ///< hosts with a disk; empty: cache nodes read their own
    std::string directory;                 ///< of data.peers: directory
    std::string evaluator;                 ///< empty: none
  } placement;

  struct Optimizer {
    OptimizerKind kind = OptimizerKind::sgd;
    UpdateSide update_at = UpdateSide::server;  ///< over a server
    BatchGradient gradient = BatchGradient::mean;
    double learning_rate = 0.01;
    double momentum = 0.0;  ///< of sgd
    bool nesterov = false;  ///< of sgd
    double weight_decay = 0.0;
    double beta1 = 0.9;  ///< of adam and adamw, as are the next two
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double global_rate = 1.0;  ///< factor on the mean change of local-update algorithms
    RateDecay schedule = RateDecay::constant;
    std::int64_t warmup_rounds = 0;
    std::int64_t step_every = 0;  ///< rounds
    double step_factor = 0.1;
    std::int64_t cosine_rounds = 0;  ///< 0: the rounds of stop
    double cosine_floor = 0.0;
  } optimizer;

  struct Stop {  ///< the first limit that is reached ends the job; 0: no limit. At least one is set.
    std::int64_t rounds = 0;  ///< one round: as many pushes as workers, or one all-reduce
    double epochs = 0.0;      ///< samples of all workers / samples of the training set
    Seconds seconds{0.0};     ///< on the experiment's clock; only where one rank decides when the job stops
    double accuracy = 0.0;    ///< on the test set, at an evaluation; needs another limit, too
  } stop;

  /// Machines that may be taken away. Times are those of machines, divided by time_scale in the job.
  struct Transience {
    std::string lifetime = "never";  ///< of lifetimes::catalog(); never: no machine departs
    std::map<std::string, OptionValue> options;
    Seconds limit{0};         ///< longest lifetime; 0: as the options say
    Seconds notice{0};        ///< between the warning of a revocation and the revocation
    Seconds start{0};         ///< from the request for a machine until its rank begins to load the model
    Seconds detect{0};        ///< from a departure until the job knows of it
    double time_scale = 1.0;  ///< divides lifetimes and the times above

    bool may_depart() const { return lifetime != "never"; }
  } transience;

  /// When the job commits its state. A departure loses the work since the last commit.
  struct Checkpoint {
    std::string policy;  ///< of checkpointing::catalog(); empty: with every evaluation
    std::map<std::string, OptionValue> options;
    CommitMode mode = CommitMode::blocking;
    CommitPlace to = CommitPlace::directory;
    int keep = 2;        ///< number of last commits whose files stay; 0: all
    int keep_every = 0;  ///< in each span of this many rounds, the first commit stays, too; 0: none
    bool at_end = true;  ///< also after the last round
  } checkpoint;

  /// What follows a departure.
  struct Recovery {
    RecoveryMode mode = RecoveryMode::in_place;
    std::string policy = "replace";  ///< of recovery::catalog()
    std::map<std::string, OptionValue> options;
    std::string provisioning = "same";  ///< of provisioning::catalog(): where machines are requested
    std::map<std::string, OptionValue> provisioning_options;
    int least = 1;       ///< workers; the job waits while it has fewer
    int most = 0;        ///< workers at a time; 0: as many as the job begins with, otherwise it may grow
    Seconds give_up{0};  ///< limit of that wait, not divided by time_scale; 0: none
    int restarts = 10;   ///< limit for a job
    Seconds launch{0};   ///< until the ranks of a restarted job are ready; 0: as the profile measured
    RateScale scale_rate = RateScale::keep;
    int ramp = 0;  ///< rounds in which the learning rate moves to that of scale_rate
    BatchRule batch = BatchRule::keep;
    LossRule on_loss = LossRule::keep;
    /// The policy continues a job with fewer workers; `least` has no effect.
    bool shrinks() const { return policy == "shrink" || policy == "liveput"; }
  } recovery;

  Continuation continuation() const {
    if (recovery.mode == RecoveryMode::restart)
      return transience.may_depart() ? Continuation::restart_on_departure : Continuation::restart_on_death;
    return transience.may_depart() ? Continuation::in_place : Continuation::none;
  }
  /// Native cache nodes and stores read past the page cache.
  bool reads_cold() const {
    return data.cold && data.source == DataSource::storage && run.devices == DeviceSpeed::native;
  }

  int evaluate_every = 0;        ///< rounds between checkpoints, which are evaluated; 0: none
  double target_accuracy = 0.0;  ///< on the test set; results report when it was reached. 0: none

  struct Run {
    DeviceSpeed devices = DeviceSpeed::emulated;
    DeviceMessages device_messages = DeviceMessages::automatic;
    bool cuda_graphs = false;           ///< GPUs repeat the steps of training from CUDA graphs
    Seconds sum_timeout{1800.0};        ///< of one sum of GPUs by NCCL; after it, the job ends with an error
    double slowdown_probability = 0.0;  ///< that a step of a worker on an emulated device is slow
    double slowdown_factor = 4.0;       ///< on the time of all work of such a step
    RevokeMode revoke = RevokeMode::none;  ///< when a machine of recovery.mode restart departs
  } run;

  struct Physics {
    NetworkSource network = NetworkSource::platform;
    std::string profile;           ///< path of a calibration profile; empty: none
    std::string predictor;         ///< path of a predictor of step times; empty: none
    std::string commit_predictor;  ///< the same of the times of commits
    LibraryAlgorithm all_reduce = LibraryAlgorithm::automatic;
    NoiseSource noise = NoiseSource::none;
    double spread = 0.0;  ///< coefficient of variation of steps' computing times; 0: that of each device
    /// Factor on the time of computing while messages of the worker move; 1: none, or as the profile
    /// measured.
    double overlap_slowdown = 1.0;
    int ensemble = 16;  ///< simulations of a job whose decisions depend on timing; 0: one
  } physics;

  int warmup_steps = 2;  ///< first steps of each worker, which step statistics leave out
  int repetitions = 1;
  std::uint64_t seed = 1;
  /// Name -> keys it overrides ("sync.algorithm": "asp"). `tandem validate` runs each; without variants, the
  /// experiment itself.
  std::map<std::string, nlohmann::json> variants;
};

/// Nested JSON with the same keys as the YAML file; every key present.
nlohmann::json to_json(const Experiment& experiment);
/// Inverse of to_json. Errors: ConfigError naming the key.
Experiment experiment_from_json(const nlohmann::json& json);

}  // namespace tandem
