#include "workloads/job/check/memory_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "policies/sampling/partition.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/run_plan.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/model/catalog.hpp"

namespace tandem {
namespace {

using Role = Roster::Role;

Bytes floats(std::int64_t count) { return Bytes(count * 4); }

Bytes activations_of(const Job& job, std::int64_t ModelDescription::Activations::*which,
                     std::int64_t samples) {
  const Precision precision = job.spec().experiment.workload.precision;
  const std::int64_t bytes = precision == Precision::bf16 || precision == Precision::fp16 ? 2 : 4;
  const auto& known = job.model().activations;
  return Bytes(known ? *known.*which * bytes * samples : 0);
}

Bytes largest_bucket(const ModelDescription& model) {
  std::int64_t largest = 0;
  for (const auto& bucket : model.buckets) largest = std::max(largest, bucket.elements());
  return floats(largest);
}

/// Batches of a worker in the form in which cache nodes send them, and the records of one batch if it
/// decodes or augments them.
Bytes of_batches_from_storage(const DataPlan& data) {
  const Bytes requested = data.stored_batch() * (1 + data.prefetch());
  const bool makes_records = data.samples() != nullptr || data.augmentation().is_used();
  return makes_records ? requested + data.info().record_bytes() * data.batch() : requested;
}

Bytes of_worker_data(const Job& job, int worker) {
  const DataPlan& data = job.data();
  if (data.from_storage()) return of_batches_from_storage(data);
  const Bytes record = data.info().record_bytes();
  // The batch that is loaded, and those requested in advance.
  const Bytes batches = record * data.batch() * (1 + data.prefetch());
  if (job.real_math()) return batches;
  const auto workers = static_cast<std::int64_t>(job.roster().workers().size());
  const std::int64_t samples = data.info().train_samples;
  const auto& split = job.chosen().split;
  if (split->sizes == sampling::equal_sizes)
    return batches + record * (samples / workers + (worker < samples % workers ? 1 : 0));
  const sampling::Setting setting{.samples = samples,
                                  .labels = {},
                                  .workers = static_cast<int>(workers),
                                  .seed = 0,
                                  .options = split.options()};
  return batches + record * split->sizes(setting).at(static_cast<std::size_t>(worker));
}

/// Copies of the model that the exchange of a worker needs in addition to model and gradient.
int copies_of_exchange(const ExchangePlan& exchange) {
  const sync::UpdateRule rule = exchange.update_rule();
  const bool tied = std::holds_alternative<sync::ElasticTie>(rule);
  int copies = tied || exchange.servers_send_means() ? 1 : 0;    // the received centre or mean
  if (exchange.payload() == sync::Payload::change) copies += 2;  // the marked model and the change
  const auto* outer = std::get_if<sync::OuterMomentum>(&rule);
  if (outer != nullptr && outer->momentum > 0.0 && exchange.route() == sync::Route::all_reduce) ++copies;
  return copies;
}

/// A learner, the checkpoint, the test set, and the activations of two neighbouring layers for one part of
/// it.
RankMemory of_evaluator(const Job& job) {
  const Bytes model = job.model().bytes();
  const DatasetInfo& info = job.data().info();
  RankMemory memory;
  memory.model = model * 2;
  memory.gradient = model;
  memory.activations = activations_of(job, &ModelDescription::Activations::widest,
                                      std::min(info.test_samples, evaluation_batch));
  if (!job.real_math()) memory.data = info.record_bytes() * info.test_samples;
  return memory;
}

/// The first worker also has a learner that evaluates.
void add_evaluation(const Job& job, RankMemory& memory) {
  const RankMemory evaluator = of_evaluator(job);
  memory.model += job.model().bytes();
  memory.gradient += evaluator.gradient;
  memory.activations = std::max(memory.activations, evaluator.activations);
  memory.data += evaluator.data;
}

RankMemory of_worker(const Job& job, int index) {
  const ExchangePlan& exchange = job.exchange();
  const Bytes model = job.model().bytes();
  RankMemory memory;
  memory.model = model;
  memory.gradient = model;
  memory.optimizer = model * optimizer_vectors(exchange.optimizer_setting());
  memory.algorithm = model * copies_of_exchange(exchange);
  if (exchange.route() == sync::Route::all_reduce) memory.buffers = largest_bucket(job.model());
  // The copy that is averaged, its mean, and the other's model.
  if (exchange.route() == sync::Route::peers) memory.buffers = model * 3;
  if (exchange.compression() != nullptr && exchange.has_error_feedback())
    memory.buffers += model * exchange.compression()->memory_vectors;
  if (exchange.compresses_replies()) memory.buffers += model;  // at most: a reply before decompression
  memory.activations = activations_of(job, &ModelDescription::Activations::kept, job.data().batch());
  memory.data = of_worker_data(job, index);
  if (job.checkpoints().evaluator == job.roster().workers()[static_cast<std::size_t>(index)])
    add_evaluation(job, memory);
  return memory;
}

/// A server holds one slot for each worker's push.
RankMemory of_server(const Job& job, int shard) {
  const ExchangePlan& exchange = job.exchange();
  const Bytes part = floats(shard_elements(exchange.shard_layout().at(static_cast<std::size_t>(shard))));
  const auto workers = static_cast<std::int64_t>(job.roster().workers().size());
  RankMemory memory;
  memory.model = part * 2;  // one may be in flight while the next one is computed
  memory.gradient = part;
  if (!exchange.servers_send_means())
    memory.optimizer = part * optimizer_vectors(exchange.optimizer_setting());
  memory.algorithm = part * workers;
  const sync::UpdateRule rule = exchange.update_rule();
  if (const auto* compensation = std::get_if<sync::DelayCompensation>(&rule)) {
    const bool each = compensation->since == sync::DelayCompensation::Since::handed_out;
    memory.algorithm += part * ((each ? workers : 1) + (compensation->adaptive ? 1 : 0));
  }
  if (const auto* tie = std::get_if<sync::ElasticTie>(&rule); tie != nullptr && tie->asynchronous)
    memory.algorithm += part * workers;
  if (const auto* outer = std::get_if<sync::OuterMomentum>(&rule); outer != nullptr && outer->momentum > 0.0)
    memory.algorithm += part;
  if (exchange.compression() != nullptr) memory.buffers = part * workers;  // at most: before decompression
  if (exchange.compresses_replies()) memory.buffers += part;               // at most: a message
  if (exchange.compresses_replies() && exchange.servers_send_means() && exchange.has_error_feedback())
    memory.buffers += part * exchange.compression()->memory_vectors;
  // At most: the models that workers have.
  if (exchange.replies_bring_differences()) memory.algorithm += part * (workers + 1);
  return memory;
}

/// The lists of the run by which a cache policy plans, as ids of four bytes; all nodes' are in the memory of
/// each while it plans.
Bytes of_run_lists(const Job& job) {
  const DataPlan& data = job.data();
  if (!data.cache_factory().needs.plan) return Bytes(0);
  const std::int64_t samples = data.info().train_samples;
  return Bytes(4 * samples * epochs_of_run(job.spec().experiment, data.workers(), samples));
}

/// The memory of a cache node for each job that it serves: batches, and tables with an entry for each
/// sample.
RankMemory of_cache_node_for_job(const Job& job) {
  constexpr std::int64_t delivered = 4;  // CacheEngine::JobState
  constexpr std::int64_t place = 8;      // NodeEpoch, of policies that let samples change places
  const DataPlan& data = job.data();
  const auto nodes = static_cast<std::int64_t>(job.roster().ranks_of(Role::cache_node).size());
  const auto workers = static_cast<std::int64_t>(job.roster().workers().size());
  RankMemory memory;
  const std::int64_t entry = delivered + (data.cache_factory().needs.ahead ? place : 0);
  memory.data = Bytes(entry * data.manifest().samples) + of_run_lists(job);
  // The batches that are being sent, and the samples that were just read, for each of its workers. Those that
  // a store sends are received apart from the batch to which they belong.
  const bool has_stores = !job.roster().ranks_of(Role::store).empty();
  // About as many samples are sent to other nodes as come from them.
  const std::int64_t asked = data.prefetch() + 1;
  const std::int64_t batches =
      data.prefetch() + 2 + (has_stores ? asked : 0) + (data.asks_peers() && nodes > 1 ? 2 * asked : 0);
  memory.buffers = data.stored_batch() * batches * ((workers + nodes - 1) / nodes);
  return memory;
}

RankMemory of_cache_node(const Job& job) {
  constexpr std::int64_t state = 4;  // CacheEngine::SampleState
  RankMemory memory = of_cache_node_for_job(job);
  memory.data += job.spec().experiment.data.cache_capacity + Bytes(state * job.data().manifest().samples);
  return memory;
}

/// The batches that its cache nodes have requested and not received, if all samples of each are on this
/// store.
RankMemory of_store(const Job& job) {
  const DataPlan& data = job.data();
  const auto workers = static_cast<std::int64_t>(job.roster().workers().size());
  RankMemory memory;
  memory.buffers = data.stored_batch() * (data.prefetch() + 1) * workers;
  return memory;
}

/// A list for each sample, with an entry for each node that may hold it. The list grows by doubling.
RankMemory of_directory(const Job& job) {
  constexpr std::int64_t list = 24, entry = 16;
  const auto nodes = static_cast<std::int64_t>(job.roster().ranks_of(Role::cache_node).size());
  const std::int64_t copies = job.spec().experiment.data.copies;
  const std::int64_t entries = copies == 0 ? nodes : std::min(copies, nodes);
  RankMemory memory;
  memory.data = Bytes(job.data().manifest().samples * (list + 2 * entries * entry));
  return memory;
}

/// What its host keeps in memory: the last commits, of which one is being written, of its ranks and of those
/// whose copies it has, and the part that each rank sends or the keeper receives. None of it is on a GPU.
RankMemory of_keeper(const Job& job, Rank keeper) {
  const int kept = std::max(job.checkpoints().commits.keep, 2) + 1;
  RankMemory memory;
  for (const Rank ward : wards_of(job, keeper)) memory.data += commit_size(job, ward) * (kept + 1);
  const Roster& roster = job.roster();
  for (Rank rank = 0; rank < roster.size(); ++rank)
    if (roster.host_of(rank) == roster.host_of(keeper) && has_part_in_commits(job, rank))
      memory.data += commit_size(job, rank) * (kept + 1);
  return memory;
}

/// The parts by name, in the order in which they are listed.
std::array<std::pair<const char*, Bytes>, 7> parts_of(const RankMemory& memory) {
  return {{{"model", memory.model},
           {"gradient", memory.gradient},
           {"optimizer", memory.optimizer},
           {"algorithm", memory.algorithm},
           {"buffers", memory.buffers},
           {"activations", memory.activations},
           {"data", memory.data}}};
}

/// Nothing when the host does not have the property.
std::optional<Bytes> size_property(const platforms::Host& host, const std::string& property,
                                   const std::string& file) {
  const auto found = host.properties.find(property);
  if (found == host.properties.end()) return std::nullopt;
  const auto size = parse_bytes(found->second);
  if (!size)
    throw ConfigError(file + ": host '" + host.name + "': property '" + property +
                      "': expected a size (like 4GiB), found '" + found->second + "'");
  return size;
}

struct StatedMemory {
  Bytes size{0};
  std::string by;
};

/// The property, or else the device's entry in the catalogue: a GPU's is its own, a board's that of its host.
std::optional<StatedMemory> stated_memory(const platforms::Host& host, bool on_gpu, const std::string& file) {
  const std::string property = on_gpu ? "tandem:device_memory" : "memory";
  if (const auto size = size_property(host, property, file))
    return StatedMemory{*size, "<prop id=\"" + property + "\">"};
  if (!host.device.memory || host.device.is_gpu != on_gpu) return std::nullopt;
  return StatedMemory{*host.device.memory, "device '" + host.device.name + "' in the device catalogue"};
}

RankMemory of_role(const Job& job, const RankAssignment& assignment) {
  switch (assignment.role) {
    case Role::worker:
      return of_worker(job, assignment.index);
    case Role::server:
      return of_server(job, assignment.index);
    case Role::cache_node:
      return of_cache_node(job);
    case Role::store:
      return of_store(job);
    case Role::evaluator:
      return of_evaluator(job);
    case Role::coordinator:
    case Role::steward:
      break;
    case Role::directory:
      return of_directory(job);
    case Role::keeper:
      return of_keeper(job, job.roster().keepers()[static_cast<std::size_t>(assignment.index)]);
  }
  return {};
}

/// The copies in which a learner on tensor cores has the channels of convolutions adjacent (NetworkCopies):
/// those with several channels, and several values of each.
Bytes of_channels_last_copies(const Job& job, Rank rank) {
  const auto& workload = job.spec().experiment.workload;
  const Role role = job.roster().assignment(rank).role;
  if (workload.precision == Precision::fp32 || is_script(workload.model) ||
      (role != Role::worker && role != Role::evaluator) || !job.devices().host_of(rank).device.is_gpu)
    return Bytes(0);
  const auto is_copied = [](const TensorDescription& tensor) {
    const auto& shape = tensor.shape;
    return shape.size() == 4 && shape[1] > 1 && shape[2] * shape[3] > 1;
  };
  std::int64_t copied = 0;
  for (const TensorDescription& tensor : job.model().tensors)
    if (is_copied(tensor)) copied += tensor.elements();
  const bool also_evaluates = role == Role::worker && job.checkpoints().evaluator == rank;
  return floats(also_evaluates ? 2 * copied : copied);
}

/// The memory of a rank that several jobs share (data.shared) for a job to which it does not belong.
RankMemory for_other_job(const Job& job, Rank rank) {
  return job.roster().assignment(rank).role == Role::cache_node ? of_cache_node_for_job(job) : of_store(job);
}

}  // namespace

RankMemory estimate_memory(const Job& job, Rank rank) {
  RankMemory memory = of_role(job, job.roster().assignment(rank));
  memory.model += of_channels_last_copies(job, rank);
  const DatasetInfo& info = job.data().info();
  const std::int64_t training = job.data().holds_training() ? info.train_samples : 0;
  if (job.real_math()) memory.data += info.record_bytes() * (training + info.test_samples);
  return memory;
}

nlohmann::json describe_memory(const Job& job) {
  std::map<std::pair<Role, std::int64_t>, std::pair<RankMemory, int>> kinds;
  for (Rank rank = 0; rank < job.roster().size(); ++rank) {
    const RankMemory memory = estimate_memory(job, rank);
    auto& [any, ranks] = kinds[{job.roster().assignment(rank).role, memory.total().count()}];
    any = memory;
    ++ranks;
  }
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [kind, described] : kinds) {
    const auto& [memory, ranks] = described;
    nlohmann::json& line = list.emplace_back();
    line = {{"role", role_name(kind.first)}, {"ranks", ranks}, {"total", memory.total().count()}};
    for (const auto& [name, size] : parts_of(memory)) line[name] = size.count();
  }
  return list;
}

std::vector<HostMemory> hosts_without_memory(const Job& job) {
  const RankedJob alone{.roster = &job.roster()};
  return hosts_without_memory({&job, 1}, JobRanks(std::span(&alone, 1)));
}

std::vector<HostMemory> hosts_without_memory(std::span<const Job> jobs, const JobRanks& ranks) {
  std::map<std::pair<std::string, bool>, HostMemory> hosts;
  const auto add = [&](const platforms::Host& host, bool on_gpu, const RankMemory& memory, Bytes program) {
    const auto stated = stated_memory(host, on_gpu, jobs.front().spec().platform.file);
    if (!stated) return;
    HostMemory& all = hosts[{host.name, on_gpu}];
    all.host = host.name;
    all.available = stated->size;
    all.stated_by = stated->by;
    ++all.ranks;
    all.needed += memory.total() + program;
    if (memory.total() > all.largest.total()) all.largest = memory;
  };
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    const JobRanks::Place& own = ranks.own(rank);
    const Job& job = jobs[own.job];
    const auto& host = job.devices().host_of(own.rank);
    RankMemory memory = estimate_memory(job, own.rank);
    for (const JobRanks::Place& other : ranks.places(rank).subspan(1)) {
      const RankMemory more = for_other_job(jobs[other.job], other.rank);
      memory.buffers += more.buffers;
      memory.data += more.data;
    }
    if (host.device.is_gpu) {
      const RankMemory of_processor{.data = std::exchange(memory.data, Bytes(0))};
      add(host, true, memory, Bytes(0));
      memory = of_processor;
    }
    add(host, false, memory, program_memory);
  }
  std::vector<HostMemory> lacking;
  for (const auto& [name, host] : hosts)
    if (host.needed > host.available) lacking.push_back(host);
  return lacking;
}

std::string to_text(const HostMemory& host) {
  std::string parts;
  for (const auto& [name, size] : parts_of(host.largest))
    if (size * 20 > host.largest.total())
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name, readable(size));
  return fmt::format("host '{}': {} need{} about {} ({}{}), but its {} gives it {}", host.host,
                     host.ranks == 1 ? "1 rank" : fmt::format("{} ranks", host.ranks),
                     host.ranks == 1 ? "s" : "", readable(host.needed),
                     host.ranks == 1 ? "" : "the largest: ", parts, host.stated_by, readable(host.available));
}

std::string with_prefix(double value, const char* unit) {
  constexpr std::array prefixes = {"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  for (; value >= 1000.0 && prefix + 1 < prefixes.size(); ++prefix) value /= 1000.0;
  return fmt::format("{:.3g} {}{}", value, prefixes[prefix], unit);
}

std::string readable(Bytes size) { return with_prefix(static_cast<double>(size.count()), "B"); }

}  // namespace tandem
