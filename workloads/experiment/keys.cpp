#include "workloads/experiment/keys.hpp"

#include <algorithm>
#include <unordered_map>

namespace tandem {
namespace {

Accepts at_least(double minimum) { return {.minimum = minimum}; }
Accepts above(double minimum) { return {.minimum = minimum, .without_minimum = true}; }
Accepts between(double minimum, double maximum) { return {.minimum = minimum, .maximum = maximum}; }
Accepts zero_or(std::string word, double maximum) {
  return {.minimum = 0, .maximum = maximum, .zero = std::move(word)};
}
Accepts below_one() { return {.minimum = 0, .maximum = 1, .without_maximum = true}; }
Accepts share() { return {.minimum = 0, .maximum = 1, .without_minimum = true}; }
Accepts name_of(Names names, std::string options = "") {
  return {.names = names, .options = std::move(options)};
}
Accepts name_or_file(Names names, std::string ending, std::string file) {
  return {.names = names, .file_ending = std::move(ending), .needed_file = std::move(file)};
}
Accepts file(std::string needed = "") { return {.file_path = true, .needed_file = std::move(needed)}; }
Accepts tensors() {
  return {.needed_file = "tensors (sizes like 4MB), or a file with one per line", .tensors = true};
}
Accepts lifetime() {
  Accepts accepts = name_of(Names::lifetime, "transience.options");
  accepts.needed_file = "a lifetime model, or a file that `tandem fit lifetimes --out` wrote";
  return accepts;
}

Accepts size_or_percent(std::string of) { return {.minimum = 0, .percent_of = std::move(of)}; }

constexpr double most_loaders = 1024;
constexpr double million = 1e6;
constexpr double billion = 1e9;

template <class Value>
Field field_of(Value& value) {
  if constexpr (NamedChoice<Value>)
    return ChoiceField(&value);
  else
    return &value;
}

// Binds the key to the field of the same path.
#define KEY(path) #path, [](Experiment & experiment) -> Field { return field_of(experiment.path); }

/// The model and the data set.
std::vector<ExperimentKey> workload_keys() {
  return {
      {KEY(name), {}, "name of the job in results; default: the name of the file without .yaml"},
      {KEY(platform), file("a platform file"), "SimGrid platform file (required)", Shared::by_all_jobs},
      {KEY(workload.math),
       {},
       "modelled: sizes and costs only; real: gradients, losses and accuracy are computed",
       Shared::with_caches},
      {KEY(workload.model), name_or_file(Names::model, ".pt", "a TorchScript file"), "the model to train"},
      {KEY(workload.dataset), name_of(Names::dataset, "workload.dataset_options"), "the data set to train on",
       Shared::with_caches},
      {KEY(workload.dataset_options),
       {},
       "options of the data set; see `tandem list dataset`",
       Shared::with_caches},
      {KEY(workload.dataset_directory), file(),
       "folder with the files of the data set; empty: /usr/share/datasets/NAME, where packages install them",
       Shared::with_caches},
      {KEY(workload.train_samples), between(0, billion),
       "number of training samples to use, the first ones; 0: all", Shared::with_caches},
      {KEY(workload.test_samples), between(0, billion),
       "number of test samples to use, the first ones; 0: all"},
      {KEY(workload.image_size), between(0, 4096),
       "images are scaled to this height and width for the model; 0: not scaled. Those of data sets folder "
       "and shards are decoded to it: the shorter side is scaled, and the centre is cut out",
       Shared::with_caches},
      {KEY(workload.batch), between(1, million), "samples per worker and step"},
      {KEY(workload.bucket_bytes), at_least(0),
       "gradients are sent in buckets (groups of layers) of at least this size; 0: all in one bucket"},
      {KEY(workload.first_bucket_bytes), at_least(0),
       "the same for the bucket that is complete first in the backward pass, which PyTorch's DDP keeps small "
       "(1MiB) so that the exchange begins early; 0: as the others"},
      {KEY(workload.non_finite),
       {},
       "what to do if a loss or gradient is not finite - stop: end the job with an error; skip: skip the "
       "step (the gradient becomes zero from the first such bucket on; a local step is not taken); ignore: "
       "do not check"},
      {KEY(workload.precision),
       {},
       "precision in which the network computes, and whose rate a device has (tandem list devices); "
       "parameters, gradients and losses are always fp32. tf32: GPUs round the factors of products to 10 "
       "bits of mantissa, processors and GPUs without tf32 compute in fp32; bf16, fp16: the forward pass and "
       "the products of the backward pass use them (fp16 with modelled mathematics only). The default is "
       "fp32 for all products, so that every device computes the same. PyTorch's is fp32 for matrix products "
       "(torch.backends.cuda.matmul.allow_tf32 = False), but tf32 for convolutions of cuDNN on Ampere GPUs "
       "and later (torch.backends.cudnn.allow_tf32 = True); tf32 here allows it for both"},
      {KEY(workload.deterministic),
       {},
       "real mathematics gives the same bits in every run on the same device; false: cuDNN tries algorithms "
       "and chooses the fastest"},
      {KEY(workload.initial), file(),
       "model to start from: a checkpoint; the results of a job, whose last model it is; or a TorchScript "
       "file "
       "with tensors of the same names and shapes. Empty: random initial parameters, drawn from the seed"},
      {KEY(workload.synthetic_parameters), at_least(1), "model synthetic: number of parameters"},
      {KEY(workload.synthetic_forward), at_least(0), "model synthetic: work of the forward pass, per sample"},
      {KEY(workload.synthetic_backward), at_least(0),
       "model synthetic: work of the backward pass, per sample"},
      {KEY(workload.synthetic_buckets), between(0, million),
       "model synthetic: number of equal buckets of its gradient; 0: buckets of workload.bucket_bytes, the "
       "first one of workload.first_bucket_bytes. Without a value it is 0 if one of these two keys or "
       "sync.preset: ddp is given, otherwise 1"},
      {KEY(workload.synthetic_tensors), tensors(),
       "model synthetic: its tensors in forward order, as sizes in fp32 ([4MB, 16kB, 40B]), or a file with "
       "one per line: SIZE [NAME [FORWARD BACKWARD]], the work of its forward and backward pass per sample, "
       "and comments after #. They replace synthetic_parameters and synthetic_buckets: workload.bucket_bytes "
       "gathers them. Without their own work, synthetic_forward and synthetic_backward are divided among "
       "them by size; empty: one tensor per bucket"},
  };
}

/// Its buckets, and how long that takes, where the user knows.
std::vector<ExperimentKey> measured_keys() {
  return {
      {KEY(workload.bucket_rule),
       {},
       "what closes a bucket - layers: whole layers of at least workload.bucket_bytes together; ddp: as "
       "PyTorch's DistributedDataParallel, any tensor, in the order in which the backward pass completes "
       "them, "
       "without running statistics, which it does not sum"},
      {KEY(workload.measured_step), at_least(0),
       "computing time of one step (forward and backward pass of workload.batch samples, without waiting, "
       "exchange and optimiser) as you measured it on one device; it replaces the estimate from the model's "
       "flops. Forward and backward pass are divided as these are. Other batches take times in proportion, "
       "other devices by the ratio of their rates in workload.precision, which is an estimate. Refused with "
       "a "
       "profile that has times of the model; 0: not measured"},
      {KEY(workload.measured_forward), at_least(0),
       "the same of the forward pass alone, together with workload.measured_backward or measured_step; 0: "
       "not measured"},
      {KEY(workload.measured_backward), at_least(0),
       "the same of the backward pass alone, together with workload.measured_forward or measured_step; 0: "
       "not measured"},
      {KEY(workload.measured_buckets),
       {.buckets = true},
       "model synthetic: the buckets of its gradient as you measured them, in the order in which the "
       "backward pass completes them, as SIZE READY [HOST] - SIZE: bytes in fp32; READY: when the device has "
       "completed it, after the step's begin, if the device never waits for its processor; HOST: when the "
       "processor has launched it, before which no device completes it (with workload.measured_host; without "
       "HOST: in proportion); SHAPE: of each gradient in it (1000x2048; a vector: 64x1), for compression of "
       "matrices; without shapes, a bucket is one nearly square matrix. They replace synthetic_parameters, "
       "synthetic_buckets and measured_backward, "
       "and "
       "need workload.measured_forward"},
      {KEY(workload.measured_update), at_least(0),
       "what follows the exchange in a step as you measured it: the optimiser, and all else until the next "
       "step begins. On other devices by the ratio of their memory rates; 0: the optimiser's step is "
       "estimated"},
      {KEY(workload.measured_host), at_least(0),
       "time in which the processor launches one step, also during the exchange. A step is never shorter, on "
       "whatever device and with whatever batch: this time does not shrink on a faster device; 0: the "
       "processor is always ahead"},
      {KEY(workload.measured_buffers), at_least(0),
       "model synthetic, over an all-reduce: bytes of the buffers (running statistics and counters) that "
       "DistributedDataParallel sends from its first worker to all before each forward pass "
       "(broadcast_buffers), which waits for them. They take the time of a sum of as many bytes. With "
       "workload.bucket_rule ddp, the model says how many there are; sync.average_statistics false: none"},
      {KEY(workload.measured_on),
       {},
       "the device on which these times were measured (tandem list device); empty: that of the first worker"},
  };
}

/// How workers synchronise.
std::vector<ExperimentKey> sync_keys() {
  return {
      {KEY(sync.preset),
       {},
       "sets other keys where the same file, variant, job or command line does not set them - ddp: as "
       "PyTorch's DistributedDataParallel: sync.over all-reduce, sync.collective native, sync.algorithm bsp, "
       "sync.overlap backward, workload.bucket_bytes 25MiB, workload.first_bucket_bytes 1MiB; none: nothing. "
       "`tandem show` prints what follows"},
      {KEY(sync.algorithm), name_of(Names::sync, "sync.options"),
       "synchronisation algorithm: when workers exchange their updates"},
      {KEY(sync.over),
       {},
       "how workers exchange their updates: through parameter servers, by all-reduce, or directly with other "
       "workers"},
      {KEY(sync.pull),
       {},
       "over a server - pushed: the server sends the model as soon as it replies; requested: when its pushes "
       "are sent, a worker asks for each piece of the model, and the server keeps the requests until it "
       "replies"},
      {KEY(sync.exchange),
       {},
       "over a server - whole: all buckets (keys) at once; by-key: a worker pushes the next bucket when the "
       "server has answered the last one. The algorithm decides about each bucket on its own: servers that "
       "wait for all workers answer when all have pushed the bucket"},
      {KEY(sync.decides),
       {},
       "over several servers, with an algorithm that decides by the order or the times of pushes - "
       "each-server: each server decides about its part of a push when that arrives, so that a push may "
       "count "
       "at one server and be late at another; first-server: the first server decides, and the others decide "
       "in its order and by its times, so that a push counts at all servers or at none"},
      {KEY(sync.collective), name_of(Names::collective),
       "all-reduce algorithm. Compressed messages that cannot be added are gathered around a ring, or by "
       "doubling where the algorithm does not work by rings"},
      {KEY(sync.rings), zero_or("auto", 16),
       "copies of the all-reduce at the same time, each for an equal part of a bucket, in other orders of "
       "the workers, so that they use other links; auto (0): as many as pay, by the links of the platform"},
      {KEY(sync.order),
       {},
       "order of the workers in the all-reduce - topology: workers that are close in the network are "
       "neighbours, if that costs less; rank: by rank"},
      {KEY(sync.overlap),
       {},
       "none: gradients are sent after the backward pass; backward: each bucket is sent as soon as it is "
       "complete; both: also the next forward pass starts while buckets still arrive, and each of its layers "
       "waits only for its own bucket"},
      {KEY(sync.sharding), name_of(Names::sharding, "sync.sharding_options"),
       "how the model is divided among server shards"},
      {KEY(sync.sharding_options), {}, "options of the sharding policy; see `tandem list sharding`"},
      {KEY(sync.average_statistics),
       {},
       "running statistics (batch normalisation) are exchanged with the model and averaged; false: each "
       "worker keeps its own, checkpoints contain those of the first worker, or over a server the initial "
       "ones"},
      {KEY(sync.options), {}, "options of the algorithm; see `tandem list sync`"},
      {KEY(sync.compression), name_of(Names::compression, "sync.compression_options"),
       "compression of the gradients or model changes that workers send; servers reply with the model "
       "uncompressed, unless sync.compress_replies is true"},
      {KEY(sync.compression_options), {}, "options of the compression; see `tandem list compression`"},
      {KEY(sync.compress_replies),
       {},
       "over a server: replies are compressed, too. A reply is then the change of the model since the "
       "worker's version; what it lacks is part of the next reply. Where workers update their own models "
       "(optimizer.update_at), it is the mean of the pushes, with the server's own error feedback"},
  };
}

/// Keys of the data on which the job trains.
std::vector<ExperimentKey> data_keys() {
  return {
      {KEY(data.source),
       {},
       "memory: each worker holds its samples; storage: workers read them through cache nodes"},
      {KEY(data.split), name_of(Names::split, "data.split_options"),
       "how training samples are divided among workers"},
      {KEY(data.split_options), {}, "options of the split; see `tandem list split`"},
      {KEY(data.sampling), name_of(Names::sampling, "data.sampling_options"),
       "which samples an epoch trains on, and in which order. With another sampler than shard, all workers "
       "share the list of an epoch, and stop.epochs counts its lists"},
      {KEY(data.sampling_options), {}, "options of the sampler; see `tandem list sampling`"},
      {KEY(data.losses), file(),
       "losses.csv of a run with --losses: the losses that the sampler knows where mathematics is modelled; "
       "empty: losses of a seeded model"},
  };
}

std::vector<ExperimentKey> cache_keys() {
  return {
      {KEY(data.cache), name_of(Names::cache, "data.cache_options"),
       "cache policy: which samples a cache node keeps", Shared::with_caches},
      {KEY(data.cache_options),
       {},
       "options of the cache policy; see `tandem list cache`",
       Shared::with_caches},
      {"data.cache_capacity",
       [](Experiment& experiment) -> Field {
         return Either{&experiment.data.cache_capacity, &experiment.data.cache_percent};
       },
       size_or_percent("the training samples' bytes"),
       "size of each cache node's cache in memory, its first tier; 20%: a part of the stored training "
       "samples "
       "of the job, which `tandem show` prints in bytes",
       Shared::with_caches},
      {KEY(data.disk_capacity), at_least(0),
       "size of each cache node's second tier, on the first disk of its host: what leaves memory is written "
       "there, and read when it is wanted. 0: none",
       Shared::with_caches},
      {KEY(data.keep),
       {},
       "true: what is in the second tier of a cache node (data.disk_capacity) outlives its process, in files "
       "of the result directory (tier_N.bin and tier_N.index). A node of a job that starts again "
       "(recovery.mode) or is resumed, or whose machine comes back in place, begins with what is left there "
       "of the same host's disk, after it has compared all of it with its checksums; summary.json counts it "
       "(cache.kept, cache.spoiled). false: caches begin empty. Refused on several machines, with data.peers "
       "directory, with cache policies that need more than requests but nopfs, and with data.shared"},
      {KEY(data.peers),
       {},
       "whether cache nodes ask each other before the store - none: no; partition: any policy that needs "
       "only requests, and node i mod the number of cache nodes owns sample i; ring: the same with owners on "
       "a consistent hash ring; plan: the policy computes what each node keeps (those that `tandem list "
       "cache` says read from other nodes); directory: any policy that needs only requests, and icache; "
       "nodes "
       "tell a rank (placement.directory) what they keep, and ask it which node has a sample. Nodes neither "
       "read nor keep anything for others: what the other node does not have comes from the store",
       Shared::with_caches},
      {KEY(data.copies), between(0, million),
       "with data.peers partition, ring or directory, how many cache nodes may keep a sample (its first "
       "owners, or the first that ask the directory); 1: one partitioned cache without replicas; 0: each "
       "keeps what it wants, and asks others for the rest",
       Shared::with_caches},
      {KEY(data.shared),
       {},
       "true: the jobs of the experiment (key jobs) that say so use the same cache nodes and stores, those "
       "of the first of them that begins. They have the same data set, cache, capacity and hosts for them. "
       "Refused with cache policies that plan with the lists of one job, samplers that depend on what is "
       "cached, data.peers plan or directory, and data.keep"},
      {"data.background",
       [](Experiment& experiment) -> Field {
         return Either{ChoiceField(&experiment.data.background), &experiment.data.loaders};
       },
       between(1, most_loaders),
       "when cache nodes begin reads in the background (data.cache icache, hoard, ...) - idle: when no batch "
       "waits; while-computing: when no batch waits and no worker of the node, of any job, exchanges "
       "gradients (workers notify their node when an exchange begins and ends); a number: of loaders that "
       "read while batches wait, too, each a batch or a package. By default 4 with data.cache icache, as "
       "published, else idle"},
  };
}

/// How samples become batches.
std::vector<ExperimentKey> sample_keys() {
  return {
      {KEY(data.augment),
       {},
       "how training images are changed each time they are used, drawn from the seed, the sample and the "
       "epoch, so the same for every number of workers - crop: pixels of black border added on each side, "
       "before a part of the former size is cut out anywhere (0: none); flip: true mirrors every second one, "
       "left to right. An example: {crop: 4, flip: true}"},
      {KEY(data.cold),
       {},
       "with run.devices native, cache nodes and stores read their storage past the page cache where the "
       "file system lets them (run.json, physics, cold_reads says how); a profile then gives the times of "
       "cold reads",
       Shared::with_caches},
      {KEY(data.store),
       {},
       "how cache nodes reach placement.stores - served: ranks on their hosts send samples; mounted: in runs "
       "with run.devices native, cache nodes read workload.dataset_directory themselves, where the storage "
       "is mounted, and no ranks are on the hosts of the stores. Simulated like served",
       Shared::with_caches},
      {KEY(data.bad_sample),
       {},
       "data.source storage: what follows a sample that cannot be read, or is not what the data set says "
       "(checksum, size, no image), after 3 attempts with pauses between - stop: the job ends and names it; "
       "replace: another sample of its batch takes its place, the next one of its class if there is one, so "
       "steps stay equal; summary.json counts them (cache.replaced)",
       Shared::with_caches},
      {KEY(data.decode_threads), between(1, 256),
       "threads of each worker that decode a batch of images from storage. Simulations assume that the host "
       "of the worker has as many free cores; a calibration holds for one value of this key"},
      {KEY(data.prefetch), between(0, million),
       "batches requested in advance; 0: none, and a GPU does not load the next batch during a step"},
  };
}

/// Keys of the hosts on which roles run.
std::vector<ExperimentKey> placement_keys() {
  return {
      {KEY(placement.workers),
       {},
       "hosts, one per worker; empty: all hosts without another role, or, on a platform with one host, every "
       "slot of it"},
      {KEY(placement.worker_count), between(0, million), "number of workers to use, the first ones; 0: all"},
      {KEY(placement.spares),
       {},
       "hosts of slots beyond the workers', one each, where machines may depart: the policies spares and "
       "replace get machines there, for departed workers or for more of them (recovery.most); empty: no such "
       "slots"},
      {KEY(placement.servers),
       {},
       "hosts, one per server shard; co-located: one shard on the host of each worker; own: all hosts "
       "without another role; empty: the first host with a disk, or else the first host"},
      {KEY(placement.cache_nodes),
       {},
       "hosts, one per cache node, with a disk unless there are stores; a worker reads through one on its "
       "own host if there is one",
       Shared::with_caches},
      {KEY(placement.stores),
       {},
       "hosts with a disk, one per store; stores have the samples, and send them to cache nodes: sample i is "
       "on store i mod the number of stores. Empty: each cache node reads the disk of its own host",
       Shared::with_caches},
      {KEY(placement.directory),
       {},
       "with data.peers: directory, the host of the rank that knows which cache node has which sample; "
       "empty: the host of the first cache node"},
      {KEY(placement.evaluator),
       {},
       "host that evaluates checkpoints while training continues; first-worker: the first worker evaluates "
       "its own "
       "model, and its next step waits; empty: the host of the first server, or else of the first worker"},
  };
}

std::vector<ExperimentKey> optimizer_keys() {
  return {
      {KEY(optimizer.kind),
       {},
       "optimiser; its state is kept where the model is updated: on the servers or on each worker"},
      {KEY(optimizer.update_at),
       {},
       "over a server - server: the server updates the model and sends it; workers: the server sends the "
       "mean gradient and each worker updates its own model (only with algorithms that send every update to "
       "all workers at once). Over other routes workers always update"},
      {KEY(optimizer.gradient),
       {},
       "gradient of a worker's batch - mean: of its mean loss; sum: of the sum of its losses, which is as "
       "many "
       "times as large. Compression, weight decay and the mean over workers apply to it; recorded losses are "
       "means"},
      {KEY(optimizer.learning_rate), above(0), "step size"},
      {KEY(optimizer.momentum), below_one(), "sgd: factor on the velocity of the last update"},
      {KEY(optimizer.nesterov), {}, "sgd: use Nesterov's momentum"},
      {KEY(optimizer.weight_decay), at_least(0),
       "strength of the L2 penalty on weights; adamw decays the weights directly instead"},
      {KEY(optimizer.beta1), below_one(), "adam, adamw: decay of the running mean of gradients"},
      {KEY(optimizer.beta2), below_one(), "adam, adamw: decay of the running mean of squared gradients"},
      {KEY(optimizer.epsilon), at_least(1e-12),
       "adam, adamw: added to the denominator so that it is never zero"},
      {KEY(optimizer.global_rate), above(0),
       "factor on the mean change of the model, for algorithms with local steps"},
      {KEY(optimizer.schedule),
       {},
       "how the learning rate falls with the rounds. On servers a round is one push per worker. On workers "
       "that update their own models, local steps are fractions of a round if their number is fixed"},
      {KEY(optimizer.warmup_rounds), between(0, billion),
       "number of rounds over which the learning rate grows linearly from near 0 to its full value"},
      {KEY(optimizer.step_every), between(0, billion), "schedule step: rounds between two drops"},
      {KEY(optimizer.step_factor), share(), "schedule step: factor on the learning rate at each drop"},
      {KEY(optimizer.cosine_rounds), between(0, billion),
       "schedule cosine: rounds until it ends; 0: the rounds of the job (stop) with all of its workers"},
      {KEY(optimizer.cosine_floor), between(0, 1),
       "schedule cosine: learning rate at its end, as a share of learning_rate"},
  };
}

/// Machines that depart.
std::vector<ExperimentKey> transience_keys() {
  return {
      {KEY(transience.lifetime), lifetime(),
       "how long the machines of workers live, unless a host's <prop id=\"tandem:lifetime\" value=\"weibull "
       "shape=0.5 scale=6h\"/> says otherwise; never: all stay. Or a file (.json) that `tandem fit lifetimes "
       "--out` wrote; transience.options then replace single ones of its options. In place over servers, an "
       "all-reduce or peers; with recovery.mode restart everywhere. Machines without workers depart only "
       "where their host says so (tandem:lifetime), and then the job starts again from its last commit; in "
       "place, cache nodes and stores depart and come back alone"},
      {KEY(transience.options), {}, "options of the lifetime model; see `tandem list lifetime`"},
      {KEY(transience.limit), at_least(0),
       "longest lifetime of a machine, as providers have; 0: that of the options"},
      {KEY(transience.notice), at_least(0),
       "time between the warning of a revocation and the revocation; 0: no warning. Only warnings of "
       "workers' machines reach the job"},
      {KEY(transience.start), at_least(0),
       "time from the request for a machine until its worker begins to load the model"},
      {KEY(transience.detect), at_least(0),
       "time from a departure without a warning until the job knows of it"},
      {KEY(transience.time_scale), above(0),
       "divides lifetimes, the times above, and the times of machines in options of the recovery and the "
       "provisioning policy, so that hours of machines are seconds of the job"},
  };
}

std::vector<ExperimentKey> recovery_keys() {
  return {
      {KEY(recovery.policy), name_of(Names::recovery, "recovery.options"),
       "what the job does when a machine departs or comes up"},
      {KEY(recovery.options),
       {},
       "options of the recovery policy; see `tandem list recovery`. transience.time_scale divides the waits "
       "before a machine is requested again (retry_s, longest_wait_s and those of cooldown)"},
      {KEY(recovery.provisioning), name_of(Names::provisioning, "recovery.provisioning_options"),
       "in which of the empty slots of workers a machine is requested; zones are those of <prop "
       "id=\"tandem:zone\"> of the hosts"},
      {KEY(recovery.provisioning_options),
       {},
       "options of that policy; see `tandem list provisioning`. transience.time_scale divides their times"},
      {KEY(recovery.least), between(1, million),
       "number of workers; with fewer, training waits. A job that starts again (recovery.mode restart) with "
       "recovery.policy restart waits for all of them, unless this key says otherwise"},
      {KEY(recovery.most), between(0, million),
       "most workers at a time: with more than the job begins with, it grows as machines come up in "
       "placement.spares; 0: as many as it begins with"},
      {KEY(recovery.scale_rate),
       {},
       "the learning rate when n workers are present and the job began with n0 - keep: as configured; "
       "linear: times n / n0; sqrt: times the square root of n / n0; inverse-sqrt, for asynchronous "
       "algorithms: of n0 / n"},
      {KEY(recovery.ramp), between(0, billion),
       "rounds in which the learning rate moves evenly to what recovery.scale_rate says, each time the "
       "number of workers has changed; 0: at once. No effect where that is keep"},
      {KEY(recovery.batch),
       {},
       "keep: each worker keeps its batch; global: the workers that are present share the batches of all, "
       "and gradients are weighted by their samples"},
      {KEY(recovery.on_loss),
       {},
       "what becomes of the push of a worker that is gone, in a round over servers that waits for others - "
       "keep: it counts; drop: it does not. Jobs that continue in place, and algorithms with such rounds"},
      {KEY(recovery.give_up), at_least(0),
       "longest time to wait for that many workers, and in place for a store that has departed, in seconds "
       "of the job; 0: no limit, but a job in place ends where no machine can come any more"},
      {KEY(recovery.mode),
       {},
       "what happens when a machine departs (transience.lifetime) - in-place: the other workers continue, "
       "but when a machine without workers departs (a server's), all start again from the last commit; "
       "restart: the job starts again from its latest complete checkpoint or commit, in the same result "
       "directory, in simulations and with run.revoke also in measured runs. When a rank of a measured run "
       "dies - in-place: the job ends, and --resume continues it, unless machines may depart and "
       "checkpoint.policy commits its state: then it starts again from its last commit, as with restart; "
       "restart: it starts again. restart needs evaluate_every or checkpoint.policy, and real mathematics "
       "unless machines may depart"},
      {KEY(recovery.launch), at_least(0),
       "simulated jobs that start again (recovery.mode restart, or in place when a machine without workers "
       "departs): time in which the ranks get ready once the machines are there, in seconds of the job, not "
       "divided by transience.time_scale; 0: as `tandem calibrate` measured it (physics.profile), else none. "
       "run.json has the times of both worlds"},
      {KEY(recovery.restarts), between(0, million),
       "where a job starts again (recovery.mode): most restarts, after which the next departure or death of "
       "a rank ends it"},
  };
}

std::vector<ExperimentKey> stop_keys() {
  return {
      {KEY(stop.rounds), between(0, billion),
       "stop after this number of rounds; 0: no such limit. On servers a round is one push per worker, "
       "whether it is applied or dropped"},
      {KEY(stop.epochs), between(0, billion),
       "stop after this number of passes over the training set; 0: no such limit"},
      {KEY(stop.seconds), at_least(0),
       "stop after this time on the experiment's clock; 0: no such limit. Over an all-reduce after the round "
       "in "
       "which it is reached"},
      {KEY(stop.accuracy), between(0, 1),
       "stop when an evaluation finds this accuracy on the test set; needs another limit, too; training "
       "waits "
       "for each evaluation, so that simulation and measurement stop at the same one. 0: no such limit"},
      {KEY(evaluate_every), between(0, billion),
       "rounds between evaluations on the test set; 0: no evaluation"},
  };
}

std::vector<ExperimentKey> checkpoint_keys() {
  return {
      {KEY(checkpoint.policy), name_of(Names::checkpointing, "checkpoint.options"),
       "when the job commits its state, from which it can be resumed; empty: with every evaluation"},
      {KEY(checkpoint.options), {}, "options of the policy; see `tandem list checkpointing`"},
      {KEY(checkpoint.mode),
       {},
       "blocking: training waits until a commit is written; background: until it is copied, and continues "
       "while the copy is written"},
      {KEY(checkpoint.to),
       {},
       "directory: commits are in the result directory, which all machines share and no departure removes; "
       "local: each rank writes its part to the disk of its own machine, and loses it with the machine; "
       "buddy: each rank keeps its part in the memory of its own machine and sends a copy to that of the "
       "next host, so one of the two may be lost (needs recovery.mode restart). The job starts again from "
       "the latest commit of which every part is left, or from its beginning. Measured runs are on one "
       "machine, also with --cluster, and have a folder per host: OUT/local/HOST, OUT/memory/HOST"},
      {KEY(checkpoint.keep), between(0, million),
       "number of last commits whose files remain; 0: all. Files of evaluations remain"},
      {KEY(checkpoint.keep_every), between(0, billion),
       "rounds: the files of the first commit in each span of so many rounds remain, too (but for the span "
       "in which training begins); 0: only the last ones. Needs checkpoint.to directory"},
      {KEY(checkpoint.at_end),
       {},
       "commit after the last round, too, before the job ends. Left out where ranks do not know in time "
       "which round that is (stop.seconds, stop.accuracy without a server or over several; workers that "
       "come and go without one), and for parts of workers over a server written in the background"},
  };
}

/// How the job is run and measured.
std::vector<ExperimentKey> run_keys() {
  return {
      {KEY(target_accuracy), between(0, 1),
       "results report when the test accuracy first reaches this value; 0: no target"},
      {KEY(run.devices),
       {},
       "emulated: work takes as long as on the device in the platform file; native: as fast as this machine "
       "can",
       Shared::by_all_jobs},
      {KEY(run.device_messages),
       {},
       "measured runs with ranks on GPUs - staged: messages pass through host memory; direct: from GPU to "
       "GPU, which needs a CUDA-aware MPI; peer: large messages between ranks of a machine are copied from "
       "GPU to GPU (CUDA IPC), others staged; auto: staged"},
      {KEY(run.cuda_graphs),
       {},
       "measured runs with real mathematics on GPUs: the forward pass and the backward pass of each bucket "
       "are recorded once as CUDA graphs, and then queued by one call each; faster where the operations of a "
       "model are small. Takes more of the GPU's memory"},
      {KEY(run.sum_timeout), above(0),
       "measured runs with sync.collective native on GPUs: a sum of NCCL that has not ended after this time, "
       "from its start on a rank, ends the job with an error, because one of its ranks hangs"},
      {KEY(run.slowdown_probability), between(0, 1),
       "probability that an emulated device is slow during a step of its worker; drawn from the seed, with "
       "the same slow steps in simulation and measurement"},
      {KEY(run.slowdown_factor), at_least(1), "how many times as long a slow step takes"},
      {KEY(run.revoke),
       {},
       "what a measured run with recovery.mode restart does when a machine departs as transience.lifetime "
       "draws it - none: nothing, only ranks that really die start the job again; kill: it kills the "
       "worker's rank, or a rank of a machine without workers, at that time (kill -9), and starts the job "
       "again when the replacement has come up. In place, a rank of a machine without workers is killed "
       "without this key"},
  };
}

std::vector<ExperimentKey> physics_keys() {
  return {
      {KEY(physics.network),
       {},
       "platform: the network in the platform file; profile: the network that `tandem calibrate` measured",
       Shared::by_all_jobs},
      {KEY(physics.profile), file(), "calibration profile, a file made by `tandem calibrate`; empty: none",
       Shared::by_all_jobs},
      {KEY(physics.predictor), file(),
       "predictor of step times, a file made by `tandem fit speed`: steps take the time that it says for the "
       "model, the batch and the device of each worker. Models, batches, devices and precisions that it does "
       "not know are refused. Refused with measured times of the model; empty: none"},
      {KEY(physics.commit_predictor), file(),
       "predictor of the times of checkpoints, a file made by `tandem fit checkpoint`: a disk writes the "
       "model "
       "in the time that it says, by the device of the machine or without devices, and the parts of commits "
       "in "
       "proportion to their bytes. Models and devices that it does not know are refused; empty: the rates of "
       "disks count"},
      {KEY(physics.all_reduce),
       {},
       "how a library's all-reduce (sync.collective native) sums where no calibration says how long it takes "
       "- "
       "auto: on GPUs as NCCL, by the faster of its ring and its double binary tree; on processors by the "
       "cheapest schedule; ring, tree: by this algorithm of NCCL. Of no effect in a run",
       Shared::by_all_jobs},
      {KEY(physics.noise),
       {},
       "none: times take the median of the calibration; profile: times vary as in the calibration (drawn "
       "from the seed); spread: computing times of steps vary log-normally, without a calibration "
       "(physics.spread)",
       Shared::by_all_jobs},
      {KEY(physics.spread), between(0, 1),
       "coefficient of variation of the computing time of a step, with physics.noise spread and in ensembles "
       "without a profile; 0: that of each device (GPUs 0.02, processors 0.03, boards 0.05)",
       Shared::by_all_jobs},
      {KEY(physics.overlap_slowdown), between(1, 100),
       "factor on the time in which a device computes while messages of its rank move (an all-reduce takes "
       "processors and memory of a GPU), in simulations and in runs with emulated devices; 1: as the "
       "profile measured, or none. Public measurements of kernels under NCCL reach 1.8. Native devices are "
       "slowed down by the hardware itself, so it does not act on them",
       Shared::by_all_jobs},
      {KEY(physics.ensemble), between(0, 1000),
       "simulations of a job of several workers whose decisions depend on timing (asp, ssp, esync, ...), "
       "which differ in the noise of the profile, or without it in the starts of workers and in "
       "physics.spread; results are medians with 90 % intervals. At least 4; 0: one simulation",
       Shared::by_all_jobs},
      {KEY(warmup_steps), between(0, billion), "first steps of each worker that statistics of steps exclude"},
      {KEY(repetitions), between(1, million), "measured runs of each variant in `tandem validate`",
       Shared::by_all_jobs},
      {KEY(seed), {}, "seed of all random numbers"},
      {KEY(variants), {}, "name of each variant -> the keys that it overrides"},
  };
}

#undef KEY

std::vector<ExperimentKey> make_keys() {
  std::vector<ExperimentKey> keys = workload_keys();
  for (const auto& more : {measured_keys(), sync_keys(), data_keys(), cache_keys(), sample_keys(),
                           placement_keys(), optimizer_keys(), transience_keys(), recovery_keys(),
                           stop_keys(), checkpoint_keys(), run_keys(), physics_keys()})
    keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

}  // namespace

const std::vector<ExperimentKey>& experiment_keys() {
  static const std::vector<ExperimentKey> keys = make_keys();
  return keys;
}

const ExperimentKey* find_experiment_key(const std::string& path) {
  struct Known {
    const ExperimentKey* key;
    bool has_options;
  };
  static const auto keys = [] {
    Experiment any;
    std::unordered_map<std::string, Known> all;
    for (const auto& key : experiment_keys())
      all.emplace(key.path, Known{&key, std::holds_alternative<OptionValues*>(key.field(any))});
    return all;
  }();
  if (const auto found = keys.find(path); found != keys.end()) return found->second.key;
  for (auto end = path.rfind('.'); end != std::string::npos && end > 0; end = path.rfind('.', end - 1)) {
    const auto found = keys.find(path.substr(0, end));
    if (found != keys.end() && found->second.has_options) return found->second.key;
  }
  return nullptr;
}

bool is_experiment_section(const std::string& path) {
  return std::any_of(experiment_keys().begin(), experiment_keys().end(),
                     [&](const auto& key) { return key.path.starts_with(path + '.'); });
}

}  // namespace tandem
