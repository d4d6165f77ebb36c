#include "workloads/job/job.hpp"

#include <algorithm>
#include <cmath>

#include "platforms/description_json.hpp"
#include "policies/sampling/partition.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/compression_rules.hpp"
#include "workloads/model/stretch.hpp"

namespace tandem {
namespace {

std::vector<RankAssignment> assignments_of(const Experiment& experiment) {
  std::vector<RankAssignment> seats;
  const auto add = [&](RankAssignment::Role role, const std::vector<std::string>& hosts) {
    for (std::size_t index = 0; index < hosts.size(); ++index)
      seats.push_back({role, static_cast<int>(index), hosts[index]});
  };
  const auto& placement = experiment.placement;
  add(RankAssignment::Role::worker, placement.workers);
  const auto route = experiment.sync.over;
  if (route == sync::Route::server)
    add(RankAssignment::Role::server, placement.servers);
  else if (sync::has_coordinator(sync::catalog().find(experiment.sync.algorithm).make, route))
    add(RankAssignment::Role::coordinator, {placement.servers.front()});
  if (experiment.data.source == DataSource::storage)
    add(RankAssignment::Role::cache_node, placement.cache_nodes);
  if (experiment.evaluate_every > 0) add(RankAssignment::Role::evaluator, {placement.evaluator});
  return seats;
}

DatasetSetting dataset_setting(const Experiment& experiment) {
  const auto& workload = experiment.workload;
  return {.name = workload.dataset,
          .directory = workload.dataset_directory,
          .train_samples = workload.train_samples,
          .test_samples = workload.test_samples,
          .seed = experiment.seed};
}

/// A model given by its sizes: equal buckets.
ModelDescription synthetic_model(const Experiment::Workload& workload) {
  ModelDescription model{.name = "synthetic", .tensors = {}, .buckets = {}};
  const int count = workload.synthetic_buckets;
  for (int bucket = 0; bucket < count; ++bucket) {
    const auto part = collectives::part_of(workload.synthetic_parameters, count, bucket);
    model.buckets.push_back({.offset = part.begin,
                             .parameters = part.size(),
                             .statistics = 0,
                             .forward = workload.synthetic_forward / count,
                             .backward = workload.synthetic_backward / count});
  }
  return model;
}

/// `rounds`: of the whole job, where its limits tell.
OptimizerSetting optimizer_from(const Experiment::Optimizer& from, double rounds) {
  OptimizerSetting setting{.kind = from.kind,
                           .learning_rate = from.learning_rate,
                           .momentum = from.momentum,
                           .nesterov = from.nesterov,
                           .weight_decay = from.weight_decay,
                           .beta1 = from.beta1,
                           .beta2 = from.beta2,
                           .epsilon = from.epsilon};
  auto& schedule = setting.schedule;
  schedule.warmup_rounds = static_cast<double>(from.warmup_rounds);
  schedule.decay = from.schedule;
  if (from.schedule == RateDecay::step) {
    schedule.step_every = static_cast<double>(from.step_every);
    schedule.step_factor = from.step_factor;
  }
  if (from.schedule != RateDecay::cosine) return setting;
  schedule.cosine_floor = from.cosine_floor;
  schedule.cosine_rounds = from.cosine_rounds > 0 ? static_cast<double>(from.cosine_rounds) : rounds;
  if (schedule.warmup_rounds >= schedule.cosine_rounds)
    throw ConfigError("optimizer.warmup_rounds: expected fewer than the " +
                      std::to_string(std::llround(schedule.cosine_rounds)) + " rounds of the cosine, found " +
                      std::to_string(from.warmup_rounds));
  return setting;
}

}  // namespace

const char* role_name(RankAssignment::Role role) {
  switch (role) {
    case RankAssignment::Role::worker:
      return "worker";
    case RankAssignment::Role::server:
      return "server";
    case RankAssignment::Role::coordinator:
      return "coordinator";
    case RankAssignment::Role::cache_node:
      return "cache-node";
    case RankAssignment::Role::evaluator:
      return "evaluator";
  }
  return "";
}

nlohmann::json job_document(const Job& job) {
  nlohmann::json document = {{"experiment", to_json(job.experiment())},
                             {"platform", platforms::to_json(job.platform())}};
  if (const auto* plan = job.all_reduce()) document["all_reduce"] = to_json(*plan);
  if (const auto* point = job.resume()) document["resume"] = to_json(*point);
  return document;
}

Job Job::from_document(const nlohmann::json& document, std::string directory) {
  Job job(WithoutPlan{}, experiment_from_json(document.at("experiment")),
          platforms::description_from_json(document.at("platform")), std::move(directory));
  if (job.route() == sync::Route::all_reduce)
    job.all_reduce_ = all_reduce_plan_from_json(document.at("all_reduce"));
  if (document.contains("resume")) job.resume_from(resume_point_from_json(document["resume"]));
  return job;
}

Job::Job(Experiment experiment, platforms::Description platform, std::string directory,
         const platforms::Network& network)
    : Job(WithoutPlan{}, std::move(experiment), std::move(platform), std::move(directory)) {
  if (route() == sync::Route::all_reduce) plan(network);
}

Job::Job(WithoutPlan, Experiment experiment, platforms::Description platform, std::string directory)
    : experiment_(std::move(experiment)),
      platform_(std::move(platform)),
      directory_(std::move(directory)),
      assignments_(assignments_of(experiment_)),
      algorithm_(&sync::catalog().find(experiment_.sync.algorithm)),
      compression_(&compression::catalog().find(experiment_.sync.compression)) {
  const auto& split = sampling::splits().find(experiment_.data.split);
  std::vector<std::uint8_t> labels;
  if (real_math() || split.make.needs_labels) {
    dataset_ = load_dataset(dataset_setting(experiment_));
    dataset_info_ = dataset_->info();
    labels = dataset_->train_labels();
    if (!real_math()) dataset_.reset();
  } else {
    dataset_info_ = describe_dataset(dataset_setting(experiment_));
  }
  model_ = experiment_.workload.model == "synthetic" ? synthetic_model(experiment_.workload)
                                                     : describe_model(learner_setting());
  for (auto& bucket : model_.buckets) bucket.shares_statistics = experiment_.sync.average_statistics;
  if (!experiment_.physics.profile.empty())
    profile_ = std::make_shared<Profile>(load_profile(experiment_.physics.profile));
  const int workers = static_cast<int>(ranks_of(RankAssignment::Role::worker).size());
  shards_ = split.make.deal(
      {.samples = dataset_info_.train_samples,
       .labels = labels,
       .workers = workers,
       .seed = experiment_.seed,
       .options = Options::resolve(split.name, split.options, experiment_.data.split_options)});
  for (const auto& shard : shards_)
    if (shard.empty())
      throw ConfigError("fewer training samples (" + std::to_string(dataset_info_.train_samples) +
                        ") than workers (" + std::to_string(workers) + ")");
  check_statistics();
  check_compression();
  if (route() == sync::Route::server) {
    const auto& policy = sharding::catalog().find(experiment_.sync.sharding);
    shard_layout_ =
        lay_out_shards(model_, policy.make, static_cast<int>(ranks_of(RankAssignment::Role::server).size()),
                       Options::resolve(policy.name, policy.options, experiment_.sync.sharding_options));
  }
  optimizer_ = optimizer_from(experiment_.optimizer, rounds_until_stop());
  optimizer_.schedule.steps_per_round = algorithm_->make.steps_per_round(sync_setting().options);
}

/// Only a worker that holds the model it trains has statistics of its own to evaluate with.
void Job::check_statistics() const {
  const bool has_any = std::any_of(model_.buckets.begin(), model_.buckets.end(),
                                   [](const auto& bucket) { return bucket.exchanged() < bucket.elements(); });
  if (has_any && algorithm_->make.payload == sync::Payload::model)
    throw ConfigError("sync.average_statistics: expected true, because " + experiment_.sync.algorithm +
                      " averages whole models, found false");
  const bool evaluates = real_math() && experiment_.evaluate_every > 0;
  const bool by_worker = (route() == sync::Route::all_reduce || servers_send_means()) &&
                         !std::holds_alternative<sync::ElasticTie>(update_rule());
  if (has_any && evaluates && !by_worker)
    throw ConfigError("sync.average_statistics: expected true, because with " + experiment_.sync.algorithm +
                      " over " + to_text(experiment_.sync.over) +
                      " the model that is evaluated has no statistics of '" + model_.name +
                      "' otherwise, found false");
}

/// A distance that is still there is sent again: what a message lost of it must not be sent once more.
void Job::check_compression() const {
  if (compression() == nullptr) return;
  // A job's document may be written by hand.
  if (const auto needed = collective_needed(experiment_.sync))
    throw ConfigError("sync.collective: expected " + *needed + ", found " + experiment_.sync.collective);
  if (!compression::has_error_feedback(compression_options())) return;
  if (std::holds_alternative<sync::ElasticTie>(update_rule()))
    throw ConfigError("sync.compression_options.error_feedback: expected false, because workers of " +
                      experiment_.sync.algorithm +
                      " exchange their distances from the centre again and again, found true");
}

/// Of the limits that count rounds or samples, the first; 0 when there is none.
double Job::rounds_until_stop() const {
  const auto& stop = experiment_.stop;
  double rounds = stop.rounds > 0 ? static_cast<double>(stop.rounds) : 0.0;
  if (stop.epochs > 0.0) {
    const double samples = stop.epochs * static_cast<double>(dataset_info_.train_samples);
    const double of_epochs = std::ceil(samples / (static_cast<double>(largest_batch()) * steps_per_round()));
    rounds = rounds > 0.0 ? std::min(rounds, of_epochs) : of_epochs;
  }
  return rounds;
}

void Job::plan(const platforms::Network& network) {
  std::vector<std::int64_t> bucket_elements;
  for (const auto& bucket : model_.buckets) bucket_elements.push_back(summed_elements(bucket));
  all_reduce_ = plan_all_reduce(
      all_reduce_setting(ranks_of(RankAssignment::Role::worker), std::move(bucket_elements)), network);
}

AllReduceSetting Job::all_reduce_setting(std::span<const Rank> workers,
                                         std::vector<std::int64_t> bucket_elements) const {
  AllReduceSetting setting{.collective = experiment_.sync.collective,
                           .by_rank = experiment_.sync.order == WorkerOrder::rank,
                           .hosts = {},
                           .bucket_elements = std::move(bucket_elements),
                           .reduce = {}};
  const auto costs = std::make_shared<std::vector<CostModel>>();
  for (const Rank rank : workers) {
    setting.hosts.push_back(assignments_.at(static_cast<std::size_t>(rank)).host);
    costs->push_back(cost_model(rank));
  }
  setting.reduce = [costs](int worker, Bytes size) {
    return (*costs)[static_cast<std::size_t>(worker)].price({.kind = Work::Kind::reduce, .bytes = size});
  };
  return setting;
}

/// Floats whose all-reduce moves as much as the exchange of this bucket.
std::int64_t Job::summed_elements(const BucketDescription& bucket) const {
  if (compression() == nullptr) return bucket.exchanged();
  constexpr std::int64_t width = sizeof(float);
  const auto codec = compression()->make(compression_setting(0, bucket.offset, bucket.parameters));
  std::int64_t bytes = codec->message_bytes();
  // A ring passes on everybody's message once; in an all-reduce, parts of one vector twice.
  if (compression()->sharing == compression::Sharing::gathered)
    bytes = bytes * static_cast<std::int64_t>(ranks_of(RankAssignment::Role::worker).size()) / 2;
  return (bytes + width - 1) / width + bucket.exchanged() - bucket.parameters;
}

LearnerSetting Job::learner_setting() const {
  return {.model = experiment_.workload.model,
          .dataset = dataset_info_,
          .image_size = experiment_.workload.image_size,
          .bucket_bytes = experiment_.workload.bucket_bytes,
          .seed = experiment_.seed,
          .precision = experiment_.workload.precision,
          .deterministic = experiment_.workload.deterministic};
}

const platforms::Host& Job::host_of(Rank rank) const {
  return platform_.host(assignments_.at(static_cast<std::size_t>(rank)).host);
}

std::vector<Rank> Job::ranks_of(RankAssignment::Role role) const {
  std::vector<Rank> ranks;
  for (std::size_t rank = 0; rank < assignments_.size(); ++rank)
    if (assignments_[rank].role == role) ranks.push_back(static_cast<Rank>(rank));
  return ranks;
}

std::string Job::measured_model() const {
  const Precision precision = experiment_.workload.precision;
  return precision == Precision::fp32 ? model_.name : model_.name + " in " + to_text(precision);
}

std::optional<int> Job::gpu_of(Rank rank) const {
  return real_math() && kind_of(rank) != processor_kind ? host_of(rank).gpu : std::nullopt;
}

bool Job::may_send_device_memory() const {
  if (experiment_.run.device_messages == DeviceMessages::staged) return false;
  for (Rank rank = 0; rank < static_cast<int>(assignments_.size()); ++rank)
    if (gpu_of(rank)) return true;
  return false;
}

std::string Job::kind_of(const platforms::Host& host) const {
  if (!host.gpu || experiment_.run.devices != DeviceSpeed::native) return processor_kind;
  return host.device.is_gpu ? host.device.name : "gpu";
}

std::string Job::kind_of(Rank rank) const {
  if (rank >= static_cast<int>(assignments_.size())) return processor_kind;
  const RankAssignment::Role role = assignments_[static_cast<std::size_t>(rank)].role;
  const bool computes = role == RankAssignment::Role::worker || role == RankAssignment::Role::server ||
                        role == RankAssignment::Role::evaluator;
  return computes ? kind_of(host_of(rank)) : processor_kind;
}

bool Job::loads_ahead(Rank worker) const {
  // From storage come batches as large as they were asked for.
  const bool size_stays = experiment_.data.source == DataSource::storage || !algorithm_->make.varies_batch;
  return host_of(worker).gpu.has_value() && experiment_.data.prefetch > 0 && size_stays;
}

CostModel Job::cost_model(Rank rank) const {
  // A profile was measured on real devices; emulated ones take what the platform says.
  const bool native = experiment_.run.devices == DeviceSpeed::native;
  CompressionCost cost;
  if (compression() != nullptr)
    cost = {compression::describe(compression_->name, compression_options()),
            compression()->efforts(compression_options())};
  ModelDescription measured = model_;
  measured.name = measured_model();
  return CostModel(std::move(measured), host_of(rank).device, native ? profile_.get() : nullptr,
                   host_of(rank).name, std::move(cost), kind_of(rank));
}

Options Job::compression_options() const {
  return Options::resolve(compression_->name, compression_->options, experiment_.sync.compression_options);
}

compression::Setting Job::compression_setting(int worker, std::int64_t position,
                                              std::int64_t elements) const {
  return {.stretch = stretch_of(model_, position, elements),
          .options = compression_options(),
          .seed = experiment_.seed,
          .worker = worker};
}

sync::Route Job::route() const { return experiment_.sync.over; }

bool Job::servers_send_means() const {
  return route() == sync::Route::server && experiment_.optimizer.update_at == UpdateSide::workers;
}

sync::Setting Job::sync_setting() const {
  return {.workers = static_cast<int>(ranks_of(RankAssignment::Role::worker).size()),
          .batch = experiment_.workload.batch,
          .route = route(),
          .options = Options::resolve(algorithm_->name, algorithm_->options, experiment_.sync.options),
          .seed = experiment_.seed};
}

int Job::steps_per_round() const {
  return std::max(1, algorithm_->make.steps_per_round(sync_setting().options));
}

int Job::largest_batch() const {
  return experiment_.workload.batch * static_cast<int>(ranks_of(RankAssignment::Role::worker).size());
}

void Job::report_progress(const Progress& progress) const {
  if (on_progress_) on_progress_(fraction_done(experiment_.stop, dataset_info_.train_samples, progress));
}

RunInfo describe_run(const Job& job, const std::string& world) {
  RunInfo info;
  info.world = world;
  info.experiment = job.experiment();
  info.machine = this_machine();
  for (const RankAssignment& seat : job.assignments()) {
    info.roles.emplace_back(role_name(seat.role));
    info.hosts.push_back(seat.host);
  }
  info.versions = {{"tandem", TANDEM_VERSION}};
  info.profile = job.experiment().physics.profile;
  if (const auto* plan = job.all_reduce()) {
    info.all_reduce = to_json(*plan);
    info.all_reduce["summary"] = describe(*plan);
  }
  if (const auto* point = job.resume())
    info.resumed = {{"directory", point->directory}, {"round", point->round}};
  if (!job.shard_layout().empty())
    info.sharding = describe_shards(job.shard_layout(), job.experiment().sync.sharding);
  return info;
}

}  // namespace tandem
