// Random experiments survive YAML and JSON unchanged; invalid documents are rejected.
#include <gtest/gtest.h>

#include <set>

#include "policies/cache/policy.hpp"
#include "policies/checkpointing/policy.hpp"
#include "policies/provisioning/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/experiment/tensor_list.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Json = nlohmann::json;

// Words that YAML could misinterpret, and some plain ones.
std::string random_text(Rng& rng) {
  static const std::vector<std::string> words = {
      "a",          "node-1", "true",  "12",         "1e3", "~",   "null", "- x", "a: b", "#no", "'q'", "\"",
      "with space", " edge ", "tab\t", "line\nline", "{a}", "[b]", "é",    "&x",  "*y",   "!z",  "%",   "@"};
  return words[rng.below(words.size())];
}

// Any value that the key accepts.
struct RandomValue {
  const ExperimentKey& key;
  Rng& rng;

  double number() const {
    const auto& accepts = key.accepts;
    const double low = accepts.minimum + (accepts.without_minimum ? 1e-9 : 0.0);
    if (std::isfinite(accepts.maximum)) return low + (accepts.maximum - low) * rng.uniform();
    return rng.below(4) == 0 ? low : low + rng.uniform() * std::pow(10.0, static_cast<double>(rng.below(12)));
  }
  void operator()(bool* field) const { *field = rng.below(2) == 0; }
  void operator()(int* field) const { *field = static_cast<int>(number()); }
  void operator()(std::int64_t* field) const {
    if (std::isfinite(key.accepts.maximum)) {
      *field = static_cast<std::int64_t>(number());
      return;
    }
    const auto low = static_cast<std::int64_t>(key.accepts.minimum);
    *field = low + static_cast<std::int64_t>(rng.next() >> (2 + rng.below(60)));
  }
  void operator()(std::uint64_t* field) const { *field = rng.next() >> rng.below(64); }
  void operator()(double* field) const { *field = number(); }
  void operator()(Seconds* field) const { *field = Seconds(number()); }
  void operator()(Flops* field) const { *field = Flops(number()); }
  void operator()(Bytes* field) const {
    *field = Bytes(static_cast<std::int64_t>(rng.next() >> (1 + rng.below(62))));
  }
  void operator()(const ChoiceField& field) const {
    const auto names = field.names();
    ASSERT_TRUE(field.set(names[rng.below(names.size())]));
  }
  void operator()(Percent* field) const { *field = {100 * rng.uniform()}; }
  void operator()(const Either& field) const {
    if (key.path == "data.background") return;
    if (rng.below(2) == 0)
      std::visit(*this, field.first);
    else
      std::visit(*this, field.second);
  }
  void operator()(std::string* field) const {
    if (key.accepts.file_path)
      *field = rng.below(2) == 0 ? "" : "/absolute/" + std::to_string(rng.below(100));
    else if (key.accepts.names == Names::none)
      *field = key.path == "name" ? random_name() : random_text(rng);
  }
  /// Folders have this name, so not every text is valid.
  std::string random_name() const {
    std::string name = random_text(rng);
    std::erase_if(name, [](unsigned char c) { return c < ' ' || c == '/' || c == '.'; });
    return name.empty() ? "lab" : name;
  }
  void operator()(std::vector<std::string>* field) const {
    field->clear();
    for (auto count = rng.below(4); count > 0; --count)
      field->push_back(key.accepts.tensors   ? random_tensor()
                       : key.accepts.buckets ? random_bucket(count)
                                             : random_text(rng));
  }
  std::string random_tensor() const {
    ListedTensor tensor{.size = Bytes(static_cast<std::int64_t>(4 + 4 * rng.below(1'000'000)))};
    if (rng.below(2) == 0) tensor.name = "fc" + std::to_string(rng.below(9));
    if (rng.below(2) == 0)
      tensor.work =
          ListedTensor::Work{Flops(static_cast<double>(rng.below(1'000'000))), Flops(1e9 * rng.uniform())};
    return to_text(tensor);
  }
  /// Later ones are ready later.
  std::string random_bucket(std::uint64_t left) const {
    const auto time = Seconds(10.0 - static_cast<double>(left) + rng.uniform());
    return to_text(ListedBucket{.size = Bytes(static_cast<std::int64_t>(4 + 4 * rng.below(1'000'000))),
                                .ready = time,
                                .launched = rng.below(2) == 0 ? Seconds(0) : Seconds(5.0)});
  }
  void operator()(OptionValues*) const {}
  void operator()(Variants*) const {}
};

/// Buckets belong to the model that is given by its sizes, and say how long its passes take.
void make_buckets_agree(Experiment::Workload& workload) {
  if (workload.model == "synthetic" || workload.math == Math::real) workload.bucket_rule = BucketRule::layers;
  if (workload.model != "synthetic" && workload.math == Math::modelled && !workload.measured_buckets.empty())
    workload.model = "synthetic";
  if (workload.model != "synthetic" || workload.math == Math::real || !workload.synthetic_tensors.empty())
    return workload.measured_buckets.clear();
  if (workload.measured_buckets.empty()) return;
  for (std::string& text : workload.measured_buckets) {
    ListedBucket bucket = parse_bucket(text, "test");
    bucket.launched = Seconds(0);
    text = to_text(bucket);
  }
  const auto buckets = parse_buckets(workload.measured_buckets, "test");
  workload.bucket_rule = BucketRule::layers;
  workload.synthetic_parameters = 0;
  for (const ListedBucket& bucket : buckets) workload.synthetic_parameters += bucket.size.count() / 4;
  workload.measured_forward = buckets.front().ready / 2;
  workload.measured_backward = buckets.back().ready - workload.measured_forward;
  workload.measured_step = buckets.back().ready;
  workload.measured_on = "a100";
}

/// On a device of the catalogue, and the parts of the step are its parts.
void make_measured_times_sensible(Rng& rng, Experiment::Workload& workload) {
  const auto given = rng.below(3);
  const bool is_step = given == 1, are_parts = given == 2;
  if (!is_step) workload.measured_step = Seconds(0);
  if (!is_step && !are_parts) workload.measured_forward = Seconds(0);
  if (!are_parts || workload.measured_forward == Seconds(0)) workload.measured_backward = Seconds(0);
  if (are_parts && workload.measured_backward == Seconds(0)) workload.measured_forward = Seconds(0);
  if (is_step && workload.measured_forward >= workload.measured_step) workload.measured_forward = Seconds(0);
  const bool is_any = workload.measured_step + workload.measured_forward > Seconds(0);
  workload.measured_on = is_any ? "a100" : "";
  if (!is_any) workload.measured_update = workload.measured_host = Seconds(0);
  make_buckets_agree(workload);
}

/// Tensors belong to the model that is given by its sizes, and have its parameters and work.
void make_tensors_agree(Experiment::Workload& workload) {
  if (workload.synthetic_tensors.empty() || workload.math == Math::real)
    return workload.synthetic_tensors.clear();
  workload.model = "synthetic";
  const auto tensors = parse_tensors(workload.synthetic_tensors, "test");
  workload.synthetic_parameters = elements_of(tensors, "test");
  if (const auto work = work_of(tensors)) {
    workload.synthetic_forward = work->forward;
    workload.synthetic_backward = work->backward;
  }
}

void make_optimizer_sensible(Experiment::Optimizer& optimizer) {
  if (optimizer.kind != OptimizerKind::sgd) optimizer.momentum = 0.0;
  if (optimizer.momentum == 0.0) optimizer.nesterov = false;
  if (optimizer.schedule == RateDecay::step) ++optimizer.step_every;
  if (optimizer.schedule == RateDecay::cosine) optimizer.cosine_rounds = optimizer.warmup_rounds + 1;
}

// Machines do not depart.
void make_recovery_sensible(Experiment& experiment) {
  if (experiment.workload.math == Math::modelled || experiment.evaluate_every == 0)
    experiment.recovery.mode = RecoveryMode::in_place;
  experiment.run.revoke = RevokeMode::none;
  experiment.placement.spares.clear();
  experiment.recovery.most = 0;
}

void draw_policies_of_machines(Rng& rng, Experiment& experiment) {
  experiment.checkpoint.to = CommitPlace::directory;
  experiment.checkpoint.keep_every = 0;
  experiment.checkpoint.at_end = rng.below(2) == 0;
  if (rng.below(2) == 0) {
    experiment.checkpoint.to = rng.below(2) == 0 ? CommitPlace::local : CommitPlace::directory;
    if (experiment.checkpoint.to == CommitPlace::directory)
      experiment.checkpoint.keep_every = static_cast<int>(rng.below(1000));
    const auto& policy = checkpointing::catalog().find("fixed");
    experiment.checkpoint.policy = policy.name;
    experiment.checkpoint.options = Options::resolve(policy.name, policy.options,
                                                     {{"interval", 1.0 + static_cast<double>(rng.below(99))}})
                                        .values();
  }
  if (rng.below(2) == 0) {
    const auto& policy = provisioning::catalog().find("longest-living");
    experiment.recovery.provisioning = policy.name;
    experiment.recovery.provisioning_options =
        Options::resolve(policy.name, policy.options, {{"prior_hours", 1.0 + rng.uniform()}}).values();
  }
}

void draw_images(Rng& rng, Experiment& experiment) {
  if (rng.below(2) == 0) {
    experiment.workload.dataset = "folder";
    experiment.workload.dataset_options = {{"mean", rng.uniform()}, {"deviation", 0.1 + 0.8 * rng.uniform()}};
  }
  if (rng.below(2) == 0)
    experiment.data.augment = {{"crop", static_cast<std::int64_t>(rng.below(9))},
                               {"flip", rng.below(2) == 0}};
}

/// Where cache nodes ask each other, and read.
void make_data_sensible(Experiment& experiment) {
  if (experiment.placement.cache_nodes.empty()) experiment.data.source = DataSource::memory;
  if (experiment.data.source == DataSource::memory) experiment.placement.stores.clear();
  auto& data = experiment.data;
  if (data.peers == Peers::plan || data.source == DataSource::memory) data.peers = Peers::none;
  if (data.peers == Peers::none) data.copies = 0;
  // The policy is not drawn, and reads nothing in the background.
  data.background = BackgroundReads::idle;
  data.loaders = 0;
  if (data.peers != Peers::directory) experiment.placement.directory.clear();
  if (data.source == DataSource::memory || data.disk_capacity == Bytes(0) || data.peers == Peers::directory ||
      cache::catalog().find(data.cache).make.needs != cache::Needs{})
    data.keep = false;
  if (experiment.placement.stores.empty()) experiment.data.store = StoreAccess::served;
}

void add_variants(Rng& rng, Experiment& experiment) {
  experiment.variants = {{"same", Json::object()}};
  experiment.variants["other"] = {{"workload.bucket_bytes", 1 << rng.below(30)},
                                  {"stop.seconds", rng.uniform()},
                                  {"stop.accuracy", 0.0},
                                  {"placement.workers", {"true", "2"}},
                                  {"workload.math", "modelled"},
                                  {"recovery.mode", "in-place"},
                                  {"workload.precision", "fp16"},
                                  {"workload.model", "lenet"},
                                  {"workload.synthetic_tensors", Json::array()},
                                  {"workload.measured_buckets", Json::array()}};
  experiment.variants["fewer"] = {{"sync.algorithm", "local-sgd"},
                                  {"sync.options.h", 1 + rng.below(9)},
                                  {"sync.decides", "each-server"},
                                  {"optimizer.update_at", "server"}};
}

// Only valid combinations, because reading an experiment checks them.
void draw_algorithm(Rng& rng, Experiment::Sync& sync) {
  sync.algorithm = rng.below(2) == 0 ? "local-sgd" : "bsp";
  if (sync.algorithm == "local-sgd") {
    sync.options["h"] = static_cast<std::int64_t>(1 + rng.below(9));
    sync.options["weights"] = std::string(rng.below(2) == 0 ? "samples" : "uniform");
  }
  if (sync.decides == PushOrder::each_server) return;
  sync.algorithm = "asp";
  sync.options.clear();
  sync.exchange = ExchangeUnit::whole;
}

Experiment random_experiment(std::uint64_t seed, const std::string& platform) {
  Rng rng(seed);
  Experiment experiment;
  for (const auto& key : experiment_keys()) std::visit(RandomValue{key, rng}, key.field(experiment));
  experiment.platform = platform;
  experiment.sync.over = sync::Route::server;
  experiment.physics.all_reduce = LibraryAlgorithm::automatic;
  experiment.workload.measured_buffers = Bytes(0);
  draw_algorithm(rng, experiment.sync);
  if (experiment.sync.overlap == OverlapMode::both) experiment.sync.overlap = OverlapMode::none;
  if (rng.below(2) == 0) {
    experiment.sync.compression = "top-k";
    experiment.sync.compression_options["ratio"] = 0.001 + 0.9 * rng.uniform();
    experiment.sync.compression_options["error_feedback"] = rng.below(2) == 0;
  } else {
    experiment.sync.compress_replies = false;
  }
  if (experiment.sync.compress_replies) experiment.sync.exchange = ExchangeUnit::whole;
  draw_policies_of_machines(rng, experiment);
  if (experiment.physics.ensemble < 4) experiment.physics.ensemble = 0;
  experiment.stop.rounds = 1;
  make_optimizer_sensible(experiment.optimizer);
  if (experiment.sync.algorithm != "bsp") experiment.optimizer.update_at = UpdateSide::server;
  if (experiment.run.devices == DeviceSpeed::native)
    experiment.run.slowdown_probability = 0.0;
  else
    experiment.run.device_messages = DeviceMessages::automatic;
  if (experiment.run.devices == DeviceSpeed::emulated) experiment.run.cuda_graphs = false;
  if (rng.below(2) == 0) {
    experiment.data.split = "dirichlet";
    experiment.data.split_options["alpha"] = 0.001 + rng.uniform();
    experiment.data.split_options["ratio"] = 1.0 + rng.uniform();
  } else if (rng.below(2) == 0) {
    experiment.data.sampling = "chunked";
    experiment.data.sampling_options["chunk"] = static_cast<std::int64_t>(1 + rng.below(999));
    experiment.data.sampling_options["group"] = static_cast<std::int64_t>(1 + rng.below(99));
  }
  if (experiment.workload.math == Math::modelled && experiment.data.split == "iid" &&
      experiment.sync.algorithm != "asp" && rng.below(2) == 0) {
    experiment.data.source = DataSource::memory;
    const auto& sampler = sampling::samplers().find("rank-exponential");
    experiment.data.sampling = sampler.name;
    experiment.data.sampling_options =
        Options::resolve(sampler.name, sampler.options, {{"pressure", 2.0 + rng.uniform()}}).values();
  } else {
    experiment.data.losses.clear();
  }
  draw_images(rng, experiment);
  experiment.workload.synthetic_buckets = 1;
  make_tensors_agree(experiment.workload);
  make_measured_times_sensible(rng, experiment.workload);
  if (experiment.workload.math == Math::modelled)
    experiment.stop.accuracy = 0.0;
  else if (experiment.workload.precision == Precision::fp16)
    experiment.workload.precision = Precision::bf16;
  if (experiment.evaluate_every == 0) experiment.stop.accuracy = 0.0;
  make_recovery_sensible(experiment);
  make_data_sensible(experiment);
  if (experiment.physics.profile.empty()) {
    experiment.physics.network = NetworkSource::platform;
    experiment.physics.noise = NoiseSource::none;
  }
  if (rng.below(2) == 0) add_variants(rng, experiment);
  return experiment;
}

void expect_round_trips(std::uint64_t seeds) {
  testing::TemporaryFolder folder;
  const std::string platform = folder.write("lab.xml", "<platform/>");
  for (const auto seed : testing::seeds(seeds)) {
    TANDEM_TRACE_SEED(seed);
    const Experiment original = random_experiment(seed, platform);
    const Json expected = to_json(original);
    const std::string yaml = to_yaml(original);
    SCOPED_TRACE(yaml);
    const Experiment from_yaml = load_experiment(folder.write("a.yaml", yaml));
    ASSERT_EQ(to_json(from_yaml), expected) << Json::diff(expected, to_json(from_yaml));
    const Experiment from_json = experiment_from_json(Json::parse(to_json(from_yaml).dump()));
    ASSERT_EQ(to_json(from_json), expected);
    ASSERT_EQ(to_yaml(from_json), yaml);
    ASSERT_EQ(to_json(load_experiment(folder.write("b.yaml", to_yaml(from_json)))), expected);
  }
}

TEST(RoundTrip, YamlAndJson) { expect_round_trips(100); }

TEST(LongRoundTrip, YamlAndJson) { expect_round_trips(300); }

/// Found by the fuzz driver: a plain scalar would lose the carriage return.
TEST(RoundTrip, ControlCharactersAreKept) {
  testing::TemporaryFolder folder;
  Experiment original = random_experiment(1, folder.write("lab.xml", "<platform/>"));
  for (const char* text : {"end\r", "\ttab", "line\nbreak", "bell\a", "delete\x7f"}) {
    original.workload.dataset_directory = std::string("/data/") + text;
    EXPECT_EQ(load_experiment(folder.write("a.yaml", to_yaml(original))).workload.dataset_directory,
              original.workload.dataset_directory)
        << to_yaml(original);
  }
}

TEST(RoundTrip, RandomExperimentsDifferInEveryKey) {
  const Json fixed = to_json(random_experiment(0, "p"));
  for (const auto& key : experiment_keys()) {
    static const std::set<std::string> held = {"platform",           "sync.over",
                                               "stop.rounds",        "run.revoke",
                                               "placement.spares",   "workload.synthetic_buckets",
                                               "data.background",    "recovery.most",
                                               "physics.all_reduce", "workload.measured_buffers"};
    if (held.contains(key.path) || (key.accepts.names != Names::none && key.path != "sync.algorithm"))
      continue;
    static const std::set<std::string> options = {"data.cache_options", "sync.sharding_options",
                                                  "transience.options", "recovery.options"};
    if (options.contains(key.path)) continue;
    bool differs = false;
    for (std::uint64_t seed = 1; seed < 200 && !differs; ++seed)
      differs = key_value(key, random_experiment(seed, "p")) != key_value(key, random_experiment(0, "p"));
    EXPECT_TRUE(differs) << key.path;
  }
}

// ---- The table ----

TEST(KeyTable, DefaultsAreAccepted) {
  for (const auto& key : experiment_keys()) {
    Experiment experiment;
    EXPECT_TRUE(key.path == "variants" || assign(key, experiment, key_value(key, {}))) << key.path;
    EXPECT_TRUE(key.path == "variants" || assign(key, experiment, written_value(key, {}))) << key.path;
  }
}

TEST(KeyTable, SectionsStandTogetherAndKeysAreUnique) {
  std::set<std::string> sections;
  std::set<std::string> paths;
  std::string current;
  for (const auto& key : experiment_keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.summary.empty()) << key.path;
    const auto dot = key.path.find('.');
    const std::string section = dot == std::string::npos ? "" : key.path.substr(0, dot);
    if (section == current || section.empty()) {
      current = section;
      continue;
    }
    EXPECT_TRUE(sections.insert(section).second) << section;
    current = section;
  }
}

struct Address {
  const void* operator()(const ChoiceField& field) const { return field.address(); }
  const void* operator()(const Either& field) const { return std::visit(*this, field.first); }
  const void* operator()(const auto* field) const { return field; }
};

TEST(KeyTable, FieldsAreDistinct) {
  Experiment experiment;
  std::set<const void*> fields;
  for (const auto& key : experiment_keys())
    EXPECT_TRUE(fields.insert(std::visit(Address(), key.field(experiment))).second) << key.path;
}

TEST(KeyTable, BoundsMatchTheMessage) {
  const auto* batch = find_experiment_key("workload.batch");
  const auto* momentum = find_experiment_key("optimizer.momentum");
  const auto* rate = find_experiment_key("optimizer.learning_rate");
  Experiment experiment;
  EXPECT_FALSE(assign(*batch, experiment, 0));
  EXPECT_TRUE(assign(*batch, experiment, 1));
  EXPECT_TRUE(assign(*batch, experiment, 1'000'000));
  EXPECT_FALSE(assign(*batch, experiment, 1'000'001));
  EXPECT_TRUE(assign(*momentum, experiment, 0));
  EXPECT_FALSE(assign(*momentum, experiment, 1));
  EXPECT_FALSE(assign(*rate, experiment, 0));
  EXPECT_TRUE(assign(*rate, experiment, 1e-300));
}

// ---- Documents ----

std::string document_error(const Json& document) {
  try {
    experiment_from_json(document);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Document, EveryKeyIsRequired) {
  for (const auto& key : experiment_keys()) {
    Json document = to_json(Experiment());
    const auto dot = key.path.find('.');
    if (dot == std::string::npos)
      document.erase(key.path);
    else
      document[key.path.substr(0, dot)].erase(key.path.substr(dot + 1));
    EXPECT_EQ(document_error(document), "experiment document: key '" + key.path + "': expected " +
                                            describe_type(key) + ", found nothing");
  }
}

TEST(Document, RefusesInvalidDocuments) {
  EXPECT_EQ(document_error(3), "experiment document: expected an object, found '3'");
  Json document = to_json(Experiment());
  document["workload"]["batch"] = -1;
  EXPECT_EQ(document_error(document),
            "experiment document: key 'workload.batch': expected integer >= 1 and <= 1000000, found '-1'");
  document = to_json(Experiment());
  document["workload"]["bach"] = 1;
  EXPECT_EQ(document_error(document),
            "experiment document: unknown key 'workload.bach'; did you mean 'workload.batch'?");
  document = to_json(Experiment());
  document["variants"] = 3;
  EXPECT_EQ(document_error(document),
            "experiment document: key 'variants': expected a map of variants, found '3'");
  document["variants"] = {{"a", 3}};
  EXPECT_EQ(document_error(document),
            "experiment document: key 'variants.a': expected a map of keys, found '3'");
  document["variants"] = {{"a", {{"seed", "x"}}}};
  EXPECT_EQ(document_error(document),
            "experiment document: key 'variants.a.seed': expected integer >= 0, found 'x'");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
