#include "workloads/experiment/keys.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tandem {
namespace {

Accepts at_least(double minimum) { return {.minimum = minimum}; }
Accepts above(double minimum) { return {.minimum = minimum, .without_minimum = true}; }
Accepts between(double minimum, double maximum) { return {.minimum = minimum, .maximum = maximum}; }
Accepts below_one() { return {.minimum = 0, .maximum = 1, .without_maximum = true}; }
Accepts share() { return {.minimum = 0, .maximum = 1, .without_minimum = true}; }
Accepts name_of(Names names) { return {.names = names}; }
Accepts name_or_file(Names names, std::string ending) {
  return {.names = names, .file_ending = std::move(ending)};
}
Accepts file() { return {.file_path = true}; }

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

/// What is trained, on what, and by whom.
std::vector<ExperimentKey> job_keys() {
  return {
      {KEY(name), {}, "shown in results; by default the file's name"},
      {KEY(platform), file(), "SimGrid platform file (required)"},
      {KEY(workload.math), {}, "sizes and costs only, or gradients, losses and accuracy"},
      {KEY(workload.model), name_or_file(Names::model, ".pt"), "what is trained"},
      {KEY(workload.dataset), name_of(Names::dataset), "what it is trained on"},
      {KEY(workload.dataset_directory), file(),
       "folder of its files; empty: /usr/share/datasets/NAME, where packages put them"},
      {KEY(workload.train_samples), between(0, billion), "use only that many; 0: all"},
      {KEY(workload.test_samples), between(0, billion), "use only that many; 0: all"},
      {KEY(workload.image_size), between(0, 4096),
       "side to which images are scaled for the model; 0: as they are"},
      {KEY(workload.batch), between(1, million), "samples a worker and step"},
      {KEY(workload.bucket_bytes), at_least(0),
       "gradients travel in pieces of at least this size; 0: in one"},
      {KEY(workload.non_finite),
       {},
       "a step whose loss or gradient is not finite ends the job, or is left out: from the first such bucket "
       "on "
       "its gradient is zero, and a local step does not happen; or nobody looks"},
      {KEY(workload.precision),
       {},
       "of real mathematics; parameters, gradients and losses are fp32 always. tf32: GPUs multiply with 10 "
       "bits "
       "of each factor, processors as in fp32; bf16: the forward pass, and what backward multiplies, in "
       "bf16"},
      {KEY(workload.deterministic),
       {},
       "real mathematics gives the same bits each time on the same device; false: the fastest algorithms, "
       "which "
       "cuDNN chooses by trying them"},
      {KEY(workload.initial), file(), "checkpoint to start from; empty: from the seed"},
      {KEY(workload.synthetic_parameters), at_least(1), "of model synthetic: size"},
      {KEY(workload.synthetic_forward), at_least(0), "of model synthetic: forward pass, a sample"},
      {KEY(workload.synthetic_backward), at_least(0), "of model synthetic: backward pass, a sample"},
      {KEY(workload.synthetic_buckets), between(1, million), "of model synthetic: pieces of its gradient"},
      {KEY(sync.algorithm), name_of(Names::sync), "when workers exchange what they learned"},
      {KEY(sync.over), {}, "how they exchange it"},
      {KEY(sync.collective), name_of(Names::collective), "schedule of the all-reduce"},
      {KEY(sync.order),
       {},
       "of workers in that schedule: near ones side by side where that costs less, or always by rank"},
      {KEY(sync.overlap),
       {},
       "gradients leave after backward; during it, each bucket as it is complete; or also the layers of the "
       "next forward wait for their own bucket only, which come in the order in which they are needed"},
      {KEY(sync.sharding), name_of(Names::sharding), "which server shard holds what of the model"},
      {KEY(sync.sharding_options), {}, "of the sharding policy; see `tandem list sharding`"},
      {KEY(sync.average_statistics),
       {},
       "running statistics (batch normalisation) travel with the model and are averaged; false: each worker "
       "keeps its own, checkpoints have the first worker's, and a server's those of the start"},
      {KEY(sync.options), {}, "of the algorithm; see `tandem list sync`"},
      {KEY(sync.compression), name_of(Names::compression),
       "of the gradients or changes that workers send; a server's model travels as it is"},
      {KEY(sync.compression_options), {}, "of the compression; see `tandem list compression`"},
      {KEY(data.source), {}, "each worker holds its shard, or reads it through cache nodes"},
      {KEY(data.split), name_of(Names::split), "how samples are dealt to workers"},
      {KEY(data.split_options), {}, "of the split; see `tandem list split`"},
      {KEY(data.cache), name_of(Names::cache), "what a cache node keeps"},
      {KEY(data.cache_options), {}, "of the cache policy; see `tandem list cache`"},
      {KEY(data.cache_capacity), at_least(0), "of each cache node"},
      {KEY(data.prefetch), between(0, million),
       "batches asked for ahead of use; 0: nor loaded while a GPU computes"},
      {KEY(placement.workers),
       {},
       "hosts, one a worker; empty: every host that no other role names, or every slot of the only host"},
      {KEY(placement.worker_count), between(0, million),
       "use only so many of the workers, the first; 0: all"},
      {KEY(placement.servers),
       {},
       "hosts, one a shard; co-located: a shard beside each worker; own: every host that no other role "
       "names; "
       "empty: the first host with a disk, else the first"},
      {KEY(placement.cache_nodes), {}, "hosts with a disk, one a cache node"},
      {KEY(placement.evaluator), {}, "host; empty: the first server's, else the first worker's"},
  };
}

std::vector<ExperimentKey> optimizer_keys() {
  return {
      {KEY(optimizer.kind), {}, "its state is kept by whoever steps a model: servers, or each worker"},
      {KEY(optimizer.update_at),
       {},
       "over a server: it steps the model and sends that, or it sends the mean gradient back, by which each "
       "worker steps its own (only where all get every update at once); over another route workers do "
       "anyway"},
      {KEY(optimizer.learning_rate), above(0), "step size"},
      {KEY(optimizer.momentum), below_one(), "of sgd: share of the last update that is kept"},
      {KEY(optimizer.nesterov), {}, "of sgd: the momentum is Nesterov's"},
      {KEY(optimizer.weight_decay), at_least(0),
       "pull of every weight towards zero; adamw takes it apart from the gradient"},
      {KEY(optimizer.beta1), below_one(), "of adam: share of the mean gradient that is kept"},
      {KEY(optimizer.beta2), below_one(), "of adam: share of the mean square that is kept"},
      {KEY(optimizer.epsilon), at_least(1e-12),
       "of adam: keeps the division by the root of the mean square finite"},
      {KEY(optimizer.global_rate), above(0), "factor on the mean change of local-update algorithms"},
      {KEY(optimizer.schedule),
       {},
       "of the learning rate, by rounds: a server's, as many pushes as workers, or those of a worker that "
       "steps its own model, whose local steps are parts of a round if their number is fixed"},
      {KEY(optimizer.warmup_rounds), between(0, billion),
       "until the learning rate, growing from near 0 in a line, is whole"},
      {KEY(optimizer.step_every), between(0, billion), "of schedule step: rounds between two drops"},
      {KEY(optimizer.step_factor), share(), "of schedule step: what a drop leaves of the rate"},
      {KEY(optimizer.cosine_rounds), between(0, billion),
       "of schedule cosine: rounds until its end; 0: those of stop"},
      {KEY(optimizer.cosine_floor), between(0, 1),
       "of schedule cosine: share of the rate that its end leaves"},
  };
}

/// When it ends, and how it is run.
std::vector<ExperimentKey> run_keys() {
  return {
      {KEY(stop.rounds), between(0, billion), "after that many rounds; 0: not set"},
      {KEY(stop.epochs), between(0, billion), "after that many passes over the training set; 0: not set"},
      {KEY(stop.seconds), at_least(0), "after that time of the experiment's clock; 0: not set"},
      {KEY(evaluate_every), between(0, billion), "rounds between evaluations; 0: none"},
      {KEY(target_accuracy), between(0, 1), "results tell when the test accuracy reached it; 0: none"},
      {KEY(run.devices), {}, "as fast as the platform says, or as this machine is"},
      {KEY(run.device_messages),
       {},
       "of ranks that compute on a GPU: messages go through memory of their host, or straight from GPU to "
       "GPU, "
       "which the MPI must be able to (CUDA-aware); auto: straight where it is. In measured runs"},
      {KEY(run.slowdown_probability), between(0, 1),
       "that an emulated device is slow for a step of its worker; drawn from the seed, alike in both worlds"},
      {KEY(run.slowdown_factor), at_least(1), "how many times as long the work of such a step takes"},
      {KEY(physics.network), {}, "network of the platform file, or as calibrated"},
      {KEY(physics.profile), file(), "calibration profile; empty: none"},
      {KEY(physics.noise), {}, "native work takes its median, or varies as when calibrated (seeded)"},
      {KEY(warmup_steps), between(0, billion), "first steps of a worker, left out of statistics"},
      {KEY(repetitions), between(1, million), "runs of each variant"},
      {KEY(seed), {}, "of everything random"},
      {KEY(variants), {}, "name -> keys that it overrides"},
  };
}

#undef KEY

std::vector<ExperimentKey> make_keys() {
  std::vector<ExperimentKey> keys = job_keys();
  for (const auto& more : {optimizer_keys(), run_keys()}) keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

std::string number_text(double number) {
  char buffer[32];
  // Bounds are small or whole: digits read better than exponents.
  return std::string(buffer,
                     std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr);
}

// ---- Types as text ----

std::string bounds_text(const Accepts& accepts) {
  const bool has_minimum = std::isfinite(accepts.minimum);
  const bool has_maximum = std::isfinite(accepts.maximum);
  std::string text;
  if (has_minimum) text += (accepts.without_minimum ? " > " : " >= ") + number_text(accepts.minimum);
  if (has_minimum && has_maximum) text += " and";
  if (has_maximum) text += (accepts.without_maximum ? " < " : " <= ") + number_text(accepts.maximum);
  return text;
}

struct TypeText {
  const Accepts& accepts;
  std::string operator()(const std::string*) const {
    if (accepts.file_path) return "path";
    return accepts.names == Names::none ? "text" : "name";
  }
  std::string operator()(const bool*) const { return "true | false"; }
  std::string operator()(const int*) const { return "integer" + bounds_text(accepts); }
  std::string operator()(const std::int64_t*) const { return "integer" + bounds_text(accepts); }
  std::string operator()(const std::uint64_t*) const { return "integer >= 0"; }
  std::string operator()(const double*) const { return "number" + bounds_text(accepts); }
  std::string operator()(const Bytes*) const { return "size" + bounds_text(accepts) + " (like 4MiB)"; }
  std::string operator()(const Seconds*) const { return "time" + bounds_text(accepts) + " (like 10s)"; }
  std::string operator()(const Flops*) const { return "work" + bounds_text(accepts) + " (like 20Mflop)"; }
  std::string operator()(const ChoiceField& field) const {
    std::string text;
    for (const auto& name : field.names()) text += (text.empty() ? "" : " | ") + name;
    return text;
  }
  std::string operator()(const std::vector<std::string>*) const { return "list of names"; }
  std::string operator()(const OptionValues*) const { return "map of options"; }
  std::string operator()(const Variants*) const { return "map of variants"; }
};

}  // namespace

const std::vector<ExperimentKey>& experiment_keys() {
  static const std::vector<ExperimentKey> keys = make_keys();
  return keys;
}

const ExperimentKey* find_experiment_key(const std::string& path) {
  for (const auto& key : experiment_keys()) {
    if (key.path == path) return &key;
    if (!path.starts_with(key.path + '.')) continue;
    Experiment any;
    if (std::holds_alternative<OptionValues*>(key.field(any))) return &key;
  }
  return nullptr;
}

bool is_experiment_section(const std::string& path) {
  return std::any_of(experiment_keys().begin(), experiment_keys().end(),
                     [&](const auto& key) { return key.path.starts_with(path + '.'); });
}

std::string describe_type(const ExperimentKey& key) {
  Experiment any;
  return std::visit(TypeText{key.accepts}, key.field(any));
}

bool takes_text(const ExperimentKey& key) {
  Experiment any;
  const Field field = key.field(any);
  return std::holds_alternative<std::string*>(field) ||
         std::holds_alternative<std::vector<std::string>*>(field) ||
         std::holds_alternative<ChoiceField>(field);
}

}  // namespace tandem
