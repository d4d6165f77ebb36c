#include "workloads/job/plan/device_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platforms/description_index.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/cost/directory_cost.hpp"
#include "workloads/data/image_sets.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/job/placement/disk_properties.hpp"
#include "workloads/model/catalog.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace {

std::vector<const platforms::Host*> hosts_of(const Roster& roster, const platforms::Description& platform) {
  const platforms::HostIndex by_name(platform);
  std::vector<const platforms::Host*> hosts;
  for (const RankAssignment& assignment : roster.assignments())
    hosts.push_back(by_name.find(assignment.host));
  return hosts;
}

std::vector<std::vector<DiskService>> disk_services(const std::vector<const platforms::Host*>& hosts,
                                                    const std::string& file) {
  std::vector<std::vector<DiskService>> services;
  for (const platforms::Host* host : hosts) {
    auto& of_rank = services.emplace_back();
    if (host == nullptr) continue;
    for (const auto& disk : host->disks) of_rank.push_back(service_of(disk, place_of(*host, file)));
  }
  return services;
}

/// Errors: ConfigError for a property that is no time.
Seconds answer_time_of(const platforms::Host& host, const std::string& file) {
  const auto found = host.properties.find("tandem:answer");
  if (found == host.properties.end()) return Seconds(0);
  const auto time = parse_seconds(found->second);
  if (!time || time->count() < 0.0)
    throw ConfigError(file + ": host '" + host.name + "': property 'tandem:answer': expected a time >= 0 (" +
                      time_examples("2ms") + "), found '" + found->second + "'");
  return *time;
}

std::map<Rank, ServerCost> server_costs(const Roster& roster,
                                        const std::vector<const platforms::Host*>& hosts,
                                        const std::string& file) {
  std::map<Rank, ServerCost> costs;
  for (Rank rank = 0; rank < roster.size(); ++rank) {
    const platforms::Host* host = hosts[static_cast<std::size_t>(rank)];
    if (host == nullptr) continue;
    // Wrong figures are found on every host of the job, whatever its ranks do.
    const auto stated = stated_server_cost(*host, file);
    if (stated && roster.assignment(rank).role == Roster::Role::server) {
      if (stated->parallel > 1 && roster.steward())
        throw ConfigError(file + ": host '" + host->name +
                          "': property 'tandem:server_parallel': expected 1 in a job from which machines may "
                          "depart, found " +
                          std::to_string(stated->parallel));
      costs.emplace(rank, *stated);
    }
    if (roster.assignment(rank).role == Roster::Role::directory) costs.emplace(rank, directory_cost());
  }
  return costs;
}

CompressionCost compression_cost(const ExchangePlan& exchange) {
  const auto* compression = exchange.compression();
  if (compression == nullptr) return {};
  const Options& options = exchange.compression_options();
  return {compression::describe(exchange.compression_method().name, options), compression->efforts(options)};
}

/// One where no images are decoded: the times of records in a profile hold for each number.
int decoding_threads(const Experiment& experiment) {
  const bool decodes_images =
      experiment.data.source == DataSource::storage && stores_images(experiment.workload.dataset);
  return decodes_images ? experiment.data.decode_threads : 1;
}

/// Times of a profile hold for one way to compute.
std::string measured_name(const std::string& model, const Experiment& experiment) {
  const Precision precision = experiment.workload.precision;
  const std::string name = precision == Precision::fp32 ? model : model + " in " + to_text(precision);
  return experiment.run.cuda_graphs ? name + " with CUDA graphs" : name;
}

/// `first`: the device of the first worker. Pre: the workload has measured times.
MeasuredPasses measured_passes(const Experiment::Workload& workload, const ModelDescription& model,
                               const platforms::Device& first) {
  MeasuredPasses measured{
      .forward = workload.measured_forward,
      .backward = workload.measured_backward,
      .samples = workload.batch,
      .device = workload.measured_on.empty() ? first : platforms::find_device(workload.measured_on),
      .update = workload.measured_update,
      .host = workload.measured_host};
  const Seconds step = workload.measured_step;
  const bool has_forward = measured.forward > Seconds(0), has_backward = measured.backward > Seconds(0);
  if (!has_forward && !has_backward) {
    const Flops all = model.forward() + model.backward();
    // Where the model has no work: that of the backward pass is usually twice that of the forward pass.
    measured.forward = step * (all > Flops(0) ? model.forward() / all : 1.0 / 3.0);
  }
  if (!has_forward && has_backward) measured.forward = step - measured.backward;
  if (!has_backward) measured.backward = step - measured.forward;
  for (const ListedBucket& bucket :
       parse_buckets(workload.measured_buckets, "key 'workload.measured_buckets'"))
    measured.buckets.push_back({bucket.ready, measured.host > Seconds(0) ? bucket.launched : Seconds(0)});
  return measured;
}

/// Both passes and the update take together as long as fitted, in the proportion of the device's own figures.
MeasuredPasses fitted_passes(const std::shared_ptr<const PricedModel>& estimated,
                             const platforms::Device& device, int batch, Seconds step) {
  const CostModel costs(estimated, device);
  const Seconds forward = costs.price({.kind = Work::Kind::forward, .samples = batch});
  const Seconds backward = costs.price({.kind = Work::Kind::backward, .samples = batch});
  const Seconds update = costs.price({.kind = Work::Kind::update, .bytes = estimated->model().bytes()});
  const double factor = step / (forward + backward + update);
  return {.forward = forward * factor,
          .backward = backward * factor,
          .samples = batch,
          .device = device,
          .update = update * factor};
}

/// Errors: KeyError for a model that the program does not plan.
ModelFeatures features_for_predictor(const LearnerSetting& learner, const std::string& key) {
  if (learner.model == "synthetic" || is_script(learner.model))
    throw KeyError("workload.model", "a model of `tandem list model`, whose features " + key + " needs",
                   "'" + learner.model + "'");
  return features_of(plan_model(learner));
}

/// A predictor knows the time of workload.batch alone.
void refuse_varying_batches(const Experiment& experiment, const ExchangePlan& exchange) {
  const bool is_global = experiment.recovery.batch == BatchRule::global;
  const bool starts_with_fewer = experiment.continuation() == Continuation::restart_on_departure;
  if (!exchange.varies_batch() && !(is_global && starts_with_fewer)) return;
  throw KeyError(
      "physics.predictor",
      fmt::format("nothing, because {} gives steps other batches than workload.batch, whose time "
                  "alone it knows; or a job that keeps them",
                  is_global ? "recovery.batch=global" : "sync.algorithm=" + experiment.sync.algorithm),
      "'" + experiment.physics.predictor + "'");
}

/// Two sources of the same: the profile, the predictor, and what the user measured.
void refuse_two_measurements(const PricedModel& priced, const Experiment& experiment) {
  const std::string& predictor = experiment.physics.predictor;
  if (priced.measured() != nullptr && !predictor.empty())
    throw KeyError("physics.predictor",
                   "nothing, because the time of a step is given (workload.measured_step), or no such time",
                   "'" + predictor + "'");
  const bool is_given = priced.measured() != nullptr || !predictor.empty();
  if (!is_given || priced.profile() == nullptr) return;
  const std::string& name = priced.subject(Work::Kind::forward);
  const bool has_model = std::ranges::any_of(priced.profile()->compute, [&](const auto& entry) {
    return entry.model == name && (entry.kind == Work::Kind::forward || entry.kind == Work::Kind::backward);
  });
  if (!has_model) return;
  const std::string expected =
      "nothing, because the profile (physics.profile) has measured times of model '" + name +
      "', or no profile";
  if (!predictor.empty()) throw KeyError("physics.predictor", expected, "'" + predictor + "'");
  const bool has_step = experiment.workload.measured_step > Seconds(0);
  throw KeyError(
      has_step ? "workload.measured_step" : "workload.measured_forward", expected,
      to_text(has_step ? experiment.workload.measured_step : experiment.workload.measured_forward));
}

}  // namespace

DevicePlan::DevicePlan(const JobSpec& spec, const Roster& roster, const ReplicaPlan& replica,
                       const ExchangePlan& exchange)
    : spec_(spec),
      roster_(roster),
      are_native_(spec.experiment.run.devices == DeviceSpeed::native),
      hosts_(hosts_of(roster, spec.platform)),
      disk_services_(disk_services(hosts_, spec.platform.file)),
      server_costs_(server_costs(roster, hosts_, spec.platform.file)) {
  for (const auto& host : spec.platform.hosts) answer_time_of(host, spec.platform.file);
  if (const auto& path = spec.experiment.physics.profile; !path.empty())
    profile_ = std::make_shared<Profile>(load_profile(path));
  const bool is_measured = profile_ && !profile_->has_tables_alone();
  if (profile_ && !is_measured && spec.experiment.physics.network == NetworkSource::profile)
    throw KeyError("physics.network",
                   "platform, because the profile has times of all-reduces alone (--from-nccl-tests), which "
                   "count with the platform's own links",
                   "profile");
  if (profile_ && are_native_) {
    measured_disk_ = profile_->disk(spec.experiment.reads_cold());
    // No rank writes past the page cache.
    measured_writes_ = profile_->disk(false);
  }
  const auto& model = replica.description;
  std::string name = measured_name(model->name, spec.experiment);
  std::optional<MeasuredPasses> measured;
  if (spec.experiment.workload.has_measured_times())
    measured = measured_passes(spec.experiment.workload, *model, host_of(roster.first_worker()).device);
  // A profile was measured on real devices; emulated ones take as long as the platform says.
  prices_ = std::make_shared<PricedModel>(
      model, std::move(name), compression_cost(exchange), are_native_ && is_measured ? profile_ : nullptr,
      spec.experiment.workload.precision, decoding_threads(spec.experiment), std::move(measured));
  refuse_two_measurements(*prices_, spec.experiment);
  if (!spec.experiment.physics.commit_predictor.empty()) fit_commits(replica);
  if (spec.experiment.physics.predictor.empty()) return;
  refuse_varying_batches(spec.experiment, exchange);
  fit_steps(replica);
}

void DevicePlan::fit_steps(const ReplicaPlan& replica) {
  const auto& workload = spec_.experiment.workload;
  const StepPredictor predictor = load_step_predictor(spec_.experiment.physics.predictor);
  const ModelFeatures features = features_for_predictor(replica.learner, "physics.predictor");
  const auto add = [&](const platforms::Device& device) {
    if (fitted_.contains(device.name)) return;
    const FittedStep step =
        predict_step(predictor, device.name, workload.precision, workload.batch, features);
    auto prices = std::make_shared<PricedModel>(
        replica.description, prices_->measured_name(), prices_->compression(),
        prices_->profile() == nullptr ? nullptr : profile_, workload.precision,
        decoding_threads(spec_.experiment), fitted_passes(prices_, device, workload.batch, step.value));
    fitted_.emplace(device.name, FittedDevice{step, std::move(prices)});
  };
  for (const Rank rank : roster_.workers()) add(host_of(rank).device);
  for (const std::string& host : spec_.experiment.placement.spares) add(spec_.platform.host(host).device);
}

void DevicePlan::fit_commits(const ReplicaPlan& replica) {
  const std::string& file = spec_.experiment.physics.commit_predictor;
  if (measured_disk_ != nullptr)
    throw KeyError("physics.commit_predictor",
                   "nothing, because the profile (physics.profile) has measured the disk, or no profile",
                   "'" + file + "'");
  const StepPredictor predictor = load_commit_predictor(file);
  const ModelFeatures features = features_for_predictor(replica.learner, "physics.commit_predictor");
  const auto add = [&](const platforms::Device& device) {
    if (state_s_per_byte_.contains(device.name)) return;
    const Seconds model = predict_checkpoint(predictor, device.name, features).value;
    state_s_per_byte_[device.name] = model.count() / static_cast<double>(features.checkpoint_bytes.count());
  };
  for (const Rank rank : roster_.workers()) add(host_of(rank).device);
  for (const Rank rank : roster_.servers()) add(host_of(rank).device);
  for (const std::string& host : spec_.experiment.placement.spares) add(spec_.platform.host(host).device);
}

const FittedStep* DevicePlan::fitted_step(const std::string& device) const {
  const auto found = fitted_.find(device);
  return found == fitted_.end() ? nullptr : &found->second.step;
}

const platforms::Host& DevicePlan::host_of(Rank rank) const {
  const platforms::Host* host = hosts_.at(static_cast<std::size_t>(rank));
  return host != nullptr ? *host : spec_.platform.host(roster_.host_of(rank));
}

std::optional<int> DevicePlan::disk_of(Rank rank) const {
  return host_of(rank).disks.empty() ? std::nullopt : std::optional(0);
}

DiskService DevicePlan::disk_service(Rank rank, int disk) const {
  if (measured_disk_ != nullptr) return {Seconds(measured_disk_->latency_s), measured_disk_->parallel};
  return disk_services_.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(disk));
}

Seconds DevicePlan::disk_moving(Rank rank, int disk, const DiskAccess& access, bool write) const {
  if (write && access.is_state)
    if (const auto fitted = state_s_per_byte_.find(host_of(rank).device.name);
        fitted != state_s_per_byte_.end())
      return Seconds(fitted->second * static_cast<double>(access.size.count()));
  if (write && measured_writes_ != nullptr) return access.size / BytesPerSecond(measured_writes_->write_rate);
  if (measured_disk_ != nullptr)
    return access.size / BytesPerSecond(write ? measured_disk_->write_rate : measured_disk_->read_rate);
  const auto& used = host_of(rank).disks.at(static_cast<std::size_t>(disk));
  return access.size / (write ? used.write_rate : used.read_rate);
}

Seconds DevicePlan::answer_time(Rank rank) const {
  return are_native_ ? Seconds(0) : answer_time_of(host_of(rank), spec_.platform.file);
}

double DevicePlan::spread_of(Rank rank) const { return host_of(rank).device.spread; }

std::optional<int> DevicePlan::gpu_of(Rank rank) const {
  return spec_.real_math() && kind_of(rank) != processor_kind ? host_of(rank).gpu : std::nullopt;
}

bool DevicePlan::may_send_device_memory() const {
  if (spec_.experiment.run.device_messages != DeviceMessages::direct) return false;
  for (Rank rank = 0; rank < roster_.size(); ++rank)
    if (gpu_of(rank)) return true;
  return false;
}

std::string DevicePlan::kind_of(const platforms::Host& host) const {
  if (!host.gpu || !are_native_) return processor_kind;
  return host.device.is_gpu ? host.device.name : "gpu";
}

std::string DevicePlan::kind_of(Rank rank) const {
  if (!roster_.has(rank)) return processor_kind;
  const Roster::Role role = roster_.assignment(rank).role;
  const bool computes =
      role == Roster::Role::worker || role == Roster::Role::server || role == Roster::Role::evaluator;
  return computes ? kind_of(host_of(rank)) : processor_kind;
}

bool DevicePlan::has_second_queue(Rank rank) const {
  if (are_native_) return kind_of(rank) != processor_kind;
  return roster_.has(rank) && host_of(rank).device.is_gpu;
}

const ServerCost* DevicePlan::server_cost(Rank rank) const {
  const auto found = server_costs_.find(rank);
  return found == server_costs_.end() ? nullptr : &found->second;
}

bool DevicePlan::are_alike(Rank one, Rank other) const {
  // A profile knows hosts by name.
  if (profile_ != nullptr || server_cost(one) != nullptr || server_cost(other) != nullptr) return false;
  return host_of(one).device == host_of(other).device && kind_of(one) == kind_of(other) &&
         has_second_queue(one) == has_second_queue(other);
}

CostModel DevicePlan::cost_model(Rank rank) const {
  const platforms::Host& host = host_of(rank);
  const ServerCost* const server = server_cost(rank);
  const auto fitted = fitted_.find(host.device.name);
  return {fitted == fitted_.end() ? prices_ : fitted->second.prices, host.device, host.name, kind_of(rank),
          server == nullptr ? std::nullopt : std::optional(*server)};
}

}  // namespace tandem
