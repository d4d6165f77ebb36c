#include "workloads/job/check/job_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "platforms/description_index.hpp"
#include "policies/vocabulary/numbered_name.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/cost/decoding_name.hpp"
#include "workloads/job/check/commit_warnings.hpp"
#include "workloads/job/check/idle_keys.hpp"
#include "workloads/job/check/limits.hpp"
#include "workloads/job/check/memory_estimate.hpp"
#include "workloads/job/check/shard_shares.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/plan/commit_plan.hpp"
#include "workloads/job/plan/departing_nodes.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/run_plan.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/records/format.hpp"

namespace tandem {
namespace {

constexpr int most_decode_threads = 256;  ///< of data.decode_threads

std::string readable(Flops work) { return with_prefix(work.count(), "flop"); }
std::string bits_text(double bits_per_second) { return with_prefix(bits_per_second, "b/s"); }

std::string images_line(const Job& job) {
  const DatasetInfo& info = job.data().info();
  const auto& setting = job.replica_plan().learner;
  std::string scaled;
  const int side = setting.image_size;
  if (side > 0 && (info.height != side || info.width != side))
    scaled = fmt::format(" scaled to {0} x {0}", side);
  return fmt::format("{} images of {} ({} x {}{}, {}, {} classes)", with_separators(info.train_samples),
                     info.name, info.height, info.width, scaled, info.channels == 1 ? "grey" : "colour",
                     info.classes);
}

std::string rate_text(FlopsPerSecond rate) { return readable(Flops(rate.count())) + "/s"; }

/// "46.8 Tflop/s in tf32": the sustained rate of the job's work, and the precision in which it is one.
std::string speed_text(const platforms::Device& device, Precision precision) {
  const std::string name = device.precision_of_speed_for(precision);
  return rate_text(device.speed_for(precision)) + (name.empty() ? "" : " in " + name);
}

std::string time_text(Seconds time) {
  return time < Seconds(1) ? fmt::format("{:.4g} ms", time.count() * 1e3)
                           : fmt::format("{:.4g} s", time.count());
}

/// Its times are those that the user measured, or fitted to such.
bool is_measured_device(const Job& job, const platforms::Device& device) {
  if (job.devices().fitted_step(device.name) != nullptr) return true;
  const MeasuredPasses* const measured = job.devices().measured();
  const Precision precision = job.spec().experiment.workload.precision;
  return measured != nullptr && device.name == measured->device.name &&
         device.speed_for(precision) == measured->device.speed_for(precision);
}

/// "step of 64 samples 180 ms, measured", "... 433.3 ms, scaled from a100: not measured": of the rank's
/// device, where the user measured a step.
std::string measured_text(const Job& job, Rank rank) {
  const MeasuredPasses& measured = *job.devices().measured();
  const CostModel costs = job.devices().cost_model(rank);
  const auto price = [&](Work::Kind kind) {
    return costs.price({.kind = kind, .samples = measured.samples});
  };
  const bool is_same = is_measured_device(job, job.devices().host_of(rank).device);
  const bool counts_steps = job.spec().experiment.workload.counts_steps();
  return fmt::format("step{} {}, {}", counts_steps ? "" : fmt::format(" of {} samples", measured.samples),
                     time_text(price(Work::Kind::forward) + price(Work::Kind::backward)),
                     is_same ? "measured" : "scaled from " + measured.device.name + ": not measured");
}

/// "step of 64 samples 57 ms, fitted (54 ms to 60 ms)": with its interval.
std::string fitted_text(const Job& job, const FittedStep& step) {
  return fmt::format("step of {} samples {}, fitted ({} to {})", job.spec().experiment.workload.batch,
                     time_text(step.value), time_text(step.lower), time_text(step.upper));
}

std::string device_text(const Job& job, const platforms::Device& device, Rank rank) {
  if (const FittedStep* step = job.devices().fitted_step(device.name)) return fitted_text(job, *step);
  if (job.devices().measured() != nullptr) return measured_text(job, rank);
  return speed_text(device, job.spec().experiment.workload.precision);
}

/// "2 x a100 (7.8 Tflop/s in fp32), 6 x t4 (3.24 Tflop/s in fp32)": each device with its sustained rate, or
/// with the time that was measured, or follows from that.
std::string devices_line(const Job& job) {
  std::vector<std::pair<const platforms::Device*, int>> devices;
  std::vector<Rank> ranks;  // the first one with each
  for (const Rank rank : job.roster().workers()) {
    const platforms::Device& own = job.devices().host_of(rank).device;
    const auto known = std::ranges::find_if(devices, [&](const auto& entry) {
      return entry.first->name == own.name && entry.first->speed.count() == own.speed.count();
    });
    if (known != devices.end()) {
      ++known->second;
      continue;
    }
    devices.push_back({&own, 1});
    ranks.push_back(rank);
  }
  constexpr std::size_t most = 6;
  std::string line;
  for (std::size_t i = 0; i < std::min(devices.size(), most); ++i)
    line += fmt::format("{}{} x {} ({})", i == 0 ? "" : ", ", devices[i].second, devices[i].first->name,
                        device_text(job, *devices[i].first, ranks[i]));
  if (devices.size() > most) line += fmt::format(" and {} more kinds", devices.size() - most);
  return "devices of the workers: " + line;
}

/// "network: 14 links of 100 Mb/s to 1 Gb/s (platforms/lab.xml)".
std::string network_line(const Job& job) {
  const platforms::Description& platform = job.spec().platform;
  if (platform.links.empty()) return "network: no links in " + platform.file;
  const auto bits = [](const platforms::Link& link) { return 8 * link.bandwidth.count(); };
  const auto [least, most] = std::ranges::minmax_element(platform.links, {}, bits);
  const std::string slowest = bits_text(bits(*least)), fastest = bits_text(bits(*most));
  return fmt::format("network: {} of {} ({})", counted(platform.links.size(), "link"),
                     slowest == fastest ? slowest : slowest + " to " + fastest, platform.file);
}

std::string memory_line(const Job& job) {
  using Role = Roster::Role;
  std::string line;
  for (const Role role : {Role::worker, Role::server, Role::cache_node, Role::store, Role::directory,
                          Role::evaluator, Role::keeper}) {
    RankMemory most;
    for (const Rank rank : job.roster().ranks_of(role))
      if (const RankMemory own = estimate_memory(job, rank); own.total() > most.total()) most = own;
    if (most.total().count() == 0) continue;
    line +=
        fmt::format("{}{} {}", line.empty() ? "" : ", ", role_name(role), readable(most.total() - most.data));
    if (most.data.count() > 0)
      line += fmt::format(" + {} of {}", readable(most.data), role == Role::keeper ? "commits" : "samples");
  }
  if (!job.model().activations) line += " (activations of this model are not known)";
  return "memory in addition to the program, about: " + line;
}

/// "server costs as stated by host 's': 200 us per message, ..."; empty without any.
std::string server_cost_line(const Job& job) {
  std::set<std::string> named;
  std::string line;
  for (const Rank server : job.roster().servers()) {
    const ServerCost* const cost = job.devices().server_cost(server);
    const std::string& host = job.roster().host_of(server);
    if (cost == nullptr || !named.insert(host).second) continue;
    const auto rate = [](const auto& stated) {
      return stated ? bits_text(8 * stated->count()) : std::string("no limit");
    };
    line += fmt::format("{}'{}' {:.4g} us per message, {:.4g} us per tensor, {} of pushes, {} of replies",
                        line.empty() ? "server costs stated by the platform file: " : "; ", host,
                        cost->message.count() * 1e6, cost->tensor.count() * 1e6, rate(cost->push_rate),
                        rate(cost->reply_rate));
    if (cost->parallel > 1) line += fmt::format(", {} at the same time", cost->parallel);
  }
  return line;
}

/// A native server takes the time that it takes.
void warn_of_unused_server_costs(const Job& job, std::vector<std::string>& warnings) {
  if (job.devices().are_emulated()) return;
  for (const Rank server : job.roster().servers()) {
    if (job.devices().server_cost(server) == nullptr) continue;
    warnings.push_back(fmt::format(
        "host '{}' states the costs of a server (tandem:server_*), which a simulation uses; a run "
        "with run.devices: native has the costs of this program's own server instead",
        job.roster().host_of(server)));
    return;
  }
}

/// Without a device, each worker computes on a core of its own while there are enough.
bool has_own_cores(const platforms::Host& host, int workers) {
  return !host.properties.contains("device") && host.cores >= workers;
}

/// The simulation lets ranks of one host share its device; an emulated device belongs to one rank.
void warn_of_shared_devices(const Job& job, std::vector<std::string>& warnings) {
  if (!job.devices().are_emulated()) return;
  std::map<std::string, int> workers;
  for (const Rank worker : job.roster().workers()) ++workers[job.roster().host_of(worker)];
  const platforms::HostIndex hosts(job.spec().platform);
  std::erase_if(workers,
                [&](const auto& entry) { return has_own_cores(hosts.host(entry.first), entry.second); });
  const auto most = std::ranges::max_element(workers, {}, [](const auto& entry) { return entry.second; });
  if (most == workers.end() || most->second < 2) return;
  warnings.push_back(fmt::format(
      "host '{}' has {} workers, which share its device in a simulation; in a run with run.devices: emulated "
      "each has a whole one, so measured steps are shorter than simulated ones. To compare the two, place "
      "one "
      "worker on each host",
      most->first, most->second));
}

/// A simulation lets servers share the cores of a host; an emulated server has its own.
void warn_of_shared_cores(const Job& job, std::vector<std::string>& warnings) {
  if (!job.devices().are_emulated()) return;
  struct Load {
    int servers = 0;
    int threads = 0;
    bool has_stated = false;
  };
  std::map<std::string, Load> loads;
  for (const Rank server : job.roster().servers()) {
    const ServerCost* const cost = job.devices().server_cost(server);
    Load& load = loads[job.roster().host_of(server)];
    ++load.servers;
    load.threads += cost == nullptr ? 1 : cost->parallel;
    load.has_stated = load.has_stated || cost != nullptr;
  }
  for (const auto& [name, load] : loads) {
    const platforms::Host& host = job.spec().platform.host(name);
    const bool is_device = host.properties.contains("device") && !load.has_stated;
    const int cores = is_device ? 1 : std::max(1, host.cores);
    if (load.servers < 2 || load.threads <= cores) continue;
    warnings.push_back(fmt::format(
        "host '{}' has {} servers, which share its {} in a simulation; in a run with run.devices: emulated "
        "each works as if it was alone there, so measured steps are shorter than simulated ones",
        name, load.servers,
        is_device    ? "device"
        : cores == 1 ? "core"
                     : fmt::format("{} cores", cores)));
    return;
  }
}

/// "server" of server-2.
std::string family_of(const std::string& host) {
  const auto name = numbered(host);
  std::string family = name ? name->before + name->after : host;
  while (!family.empty() && std::ispunct(static_cast<unsigned char>(family.back())) != 0) family.pop_back();
  return family;
}

/// "'a', 'b', 'c' and 2 more".
std::string quoted_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  return names.size() > most ? text + fmt::format(" and {} more", names.size() - most) : text;
}

/// Workers by default that the author may have meant for something else: named like the servers, or without
/// a device, where other workers are not.
void warn_of_unexpected_workers(const Job& job, std::vector<std::string>& warnings) {
  const auto& placement = job.spec().experiment.placement;
  if (!placement.workers_by_default) return;
  std::set<std::string> servers;
  for (const auto& host : placement.servers) servers.insert(family_of(host));
  const auto warn = [&](const std::string& why, const auto& is_unexpected) {
    std::vector<std::string> hosts;
    std::ranges::copy_if(placement.workers, std::back_inserter(hosts), is_unexpected);
    if (hosts.empty() || hosts.size() == placement.workers.size()) return;
    warnings.push_back(
        fmt::format("host{} {} {}, {}: without placement.workers, all hosts without another role are workers",
                    hosts.size() == 1 ? "" : "s", quoted_names(hosts),
                    hosts.size() == 1 ? "is a worker" : "are workers", why));
  };
  warn("but named like the servers", [&](const auto& host) { return servers.contains(family_of(host)); });
  const platforms::HostIndex hosts(job.spec().platform);
  warn("but without a device, unlike others",
       [&](const auto& host) { return !hosts.host(host).properties.contains("device"); });
}

void warn_of_small_images(const Job& job, std::vector<std::string>& warnings) {
  const auto& setting = job.replica_plan().learner;
  const DatasetInfo images = scaled_images(setting);
  if (!is_for_photographs(setting.model) || std::min(images.height, images.width) >= photograph_side) return;
  warnings.push_back(fmt::format(
      "model '{0}' is made for photographs of {1} x {1} pixels, but the images of data set '{2}' have {3} x "
      "{4} "
      "here, so this job computes and answers something else. For photographs set workload.dataset: "
      "synthetic-imagenet (or workload.image_size: {1}); for small images choose a model made for them, such "
      "as "
      "workload.model: lenet or resnet32",
      setting.model, photograph_side, images.name, images.height, images.width));
}

/// by-class deals consecutive samples, so that every worker has some, but hardly one has a class to itself.
void warn_of_shared_classes(const Job& job, std::vector<std::string>& warnings) {
  const DatasetInfo& info = job.data().info();
  const int workers = job.data().workers();
  if (job.chosen().split.name() != "by-class" || workers <= info.classes) return;
  warnings.push_back(fmt::format(
      "data.split by-class has {} classes for {} workers: each worker gets about {} samples, of one or two "
      "classes, and several workers have the same class. For a class for each worker, name at most {} "
      "workers "
      "(placement.worker_count)",
      info.classes, workers, info.train_samples / workers, info.classes));
}

void warn_of_warm_tiers(const Job& job, std::vector<std::string>& warnings) {
  if (!job.spec().experiment.reads_cold() || !job.data().has_disk_tier()) return;
  warnings.emplace_back(
      "data.cold is for the samples in storage: the second tier of cache nodes is read through the page "
      "cache, and simulated as if it were not");
}

void warn_of_sampling_without_selection(const Job& job, std::vector<std::string>& warnings) {
  const Experiment& experiment = job.spec().experiment;
  if (experiment.stop.epochs <= 0.0 && experiment.stop.rounds <= 0) return;
  const auto epochs = epochs_of_run(experiment, job.data().workers(), job.data().info().train_samples);
  if (const std::string options = job.data().lists().why_select_none(epochs); !options.empty())
    warnings.push_back(fmt::format("no epoch is sampled by {}: data.sampling_options.{}",
                                   experiment.data.sampling, options));
}

/// Who names stores has said which disks are read; other jobs may use other disks.
void warn_of_unread_disks(const Job& job, std::vector<std::string>& warnings) {
  const Experiment& experiment = job.spec().experiment;
  if (!job.data().from_storage() || !experiment.placement.stores.empty()) return;
  std::set<std::string> used;
  for (const RankAssignment& assignment : job.roster().assignments()) used.insert(assignment.host);
  std::vector<std::string> unread;
  for (const auto& host : job.spec().platform.hosts)
    if (!host.disks.empty() && !used.contains(host.name)) unread.push_back(host.name);
  if (unread.empty()) return;
  warnings.push_back(fmt::format(
      "nobody reads the disk{} of host{} {}: a cache node, or a store where there are stores, "
      "reads the first disk of its own host. To use such a disk, name its host in placement.stores or "
      "placement.cache_nodes",
      unread.size() == 1 ? "" : "s", unread.size() == 1 ? "" : "s", quoted_names(unread)));
}

/// Devices of workers whose speed in the precision is not known, each once. A profile was measured in it.
void warn_of_unknown_speeds(const Job& job, std::vector<std::string>& warnings) {
  const Precision precision = job.spec().experiment.workload.precision;
  if (job.devices().are_calibrated()) return;
  std::set<std::string> named;
  std::string unknown;
  for (const Rank worker : job.roster().workers()) {
    const platforms::Host& host = job.devices().host_of(worker);
    const platforms::Device& device = host.device;
    const bool is_rounded_nowhere = precision == Precision::tf32 && !device.is_gpu;
    const bool is_certain = is_rounded_nowhere || is_measured_device(job, device);
    if (device.gives(precision) || is_certain || !named.insert(device.name).second) continue;
    unknown += fmt::format("{}device '{}' (host '{}'; known: {})", unknown.empty() ? "" : ", ", device.name,
                           host.name, device.given_precisions());
  }
  if (unknown.empty()) return;
  warnings.push_back(fmt::format(
      "no rate in {} is in the data sheet of {}, so simulated work there takes the time of fp32{}",
      to_text(precision), unknown,
      precision == Precision::tf32 ? ", in which these compute where tf32 is allowed"
                                   : "; a profile (tandem calibrate) would have its own"));
}

/// Warns for hosts with ranks, equal ones once.
void warn_of_ignored_speeds(const Job& job, std::vector<std::string>& warnings) {
  std::map<std::string, std::set<std::string>> hosts;
  for (Rank rank = 0; rank < job.roster().size(); ++rank) {
    const platforms::Host& host = job.devices().host_of(rank);
    if (std::string why = platforms::ignored_speed(host); !why.empty())
      hosts[std::move(why)].insert(host.name);
  }
  for (const auto& [why, names] : hosts)
    warnings.push_back(fmt::format("host '{}'{}: {}", *names.begin(),
                                   names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "",
                                   why));
}

/// A profile that has the model, but times of decoding its images on other numbers of threads alone.
void warn_of_unmeasured_decoding(const Job& job, std::vector<std::string>& warnings) {
  if (!job.devices().are_calibrated() || !job.data().decodes_images()) return;
  std::set<std::string> measured;
  for (const auto& entry : job.devices().profile()->compute)
    if (entry.kind == Work::Kind::decode && entry.stored > 0) measured.insert(entry.model);
  const CostModel costs = job.devices().cost_model(job.roster().first_worker());
  if (measured.contains(costs.subject(Work::Kind::decode))) return;
  std::string known;
  for (int threads = 1; threads <= most_decode_threads; ++threads)
    if (measured.contains(decoding_name(costs.subject(Work::Kind::forward), threads)))
      known += fmt::format("{}{}", known.empty() ? "" : ", ", threads);
  if (known.empty()) return;
  warnings.push_back(fmt::format(
      "the profile has times of decoding images with data.decode_threads {0}, but not with {1}, so simulated "
      "decoding takes an estimate: the time of one core, divided by the threads; calibrate again with "
      "data.decode_threads {1}",
      known, job.data().decode_threads()));
}

void warn_of_unequal_shards(const Job& job, std::vector<std::string>& warnings) {
  const ShardLayout& layout = job.exchange().shard_layout();
  if (layout.size() < 2) return;
  const auto policies = shares_of_policies(job.model(), layout, job.spec().experiment.sync.sharding);
  if (auto warning = warning_of_shares(policies, shard_hosts(job)); !warning.empty())
    warnings.push_back(std::move(warning));
}

void warn_of_lost_commits(const Job& job, std::vector<std::string>& warnings) {
  if (!has_drawn_generations(job)) return;
  const auto hosts = hosts_without_whom_no_commit(job);
  if (hosts.empty()) return;
  const std::string others =
      hosts.size() == 1 ? "" : fmt::format(" (and {} more)", counted(hosts.size() - 1, "host"));
  warnings.push_back(
      fmt::format("checkpoint.to is {}: when the machine of '{}'{} departs, it takes a part of every commit "
                  "along, and the job starts again from its beginning",
                  to_text(job.checkpoints().commits.to), hosts.front(), others));
}

/// Lifetimes of machines on which nothing departs.
void warn_of_unused_lifetimes(const Job& job, std::vector<std::string>& warnings) {
  std::set<std::string> departing;
  for (const Rank worker : job.roster().workers()) departing.insert(job.roster().host_of(worker));
  for (const NeededMachine& machine : needed_machines(job)) departing.insert(machine.host);
  for (const std::size_t node : departing_cache_nodes(job))
    departing.insert(job.roster().host_of(job.roster().ranks_of(Roster::Role::cache_node)[node]));
  std::set<std::string> unused;
  for (Rank rank = 0; rank < job.roster().size(); ++rank) {
    const std::string& host = job.roster().host_of(rank);
    if (has_own_departures(job.devices().host_of(rank)) && !departing.contains(host)) unused.insert(host);
  }
  if (unused.empty()) return;
  const std::string others =
      unused.size() == 1 ? "" : fmt::format(" (and of {} more)", counted(unused.size() - 1, "host"));
  warnings.push_back(
      fmt::format("the lifetime of host '{}'{} has no effect: only machines of workers depart, and this one "
                  "has none; with transience.lifetime, those of cache nodes and stores depart, too, and with "
                  "checkpoint.policy or recovery.mode restart also all others",
                  *unused.begin(), others));
}

/// Per sample; a model given by its measured buckets has no work, but times.
std::string work_text(const Job& job) {
  const ModelDescription& model = job.model();
  const MeasuredPasses* const measured = job.devices().measured();
  if (measured == nullptr || model.forward() + model.backward() > Flops(0))
    return fmt::format("per sample {} forward and {} backward", readable(model.forward()),
                       readable(model.backward()));
  const bool counts_steps = job.spec().experiment.workload.counts_steps();
  return fmt::format("{} forward and {} backward on {}{}, measured", time_text(measured->forward),
                     time_text(measured->backward), measured->device.name,
                     counts_steps ? "" : fmt::format(" for a batch of {}", measured->samples));
}

/// A traced job is known by its buckets: images and memory are not.
bool is_traced(const Job& job) { return !job.spec().experiment.workload.measured_buckets.empty(); }

/// "; up to 4 workers"; empty: the job has no more than those with which it begins.
std::string growth_text(const Job& job) {
  const int most = job.spec().experiment.recovery.most;
  const bool grows = most > std::ssize(job.roster().first_workers());
  return grows ? fmt::format("; up to {} workers", most) : "";
}

}  // namespace

std::vector<std::string> question_of(const Job& job) {
  const ModelDescription& model = job.model();
  const std::size_t workers = job.roster().first_workers().size();
  // The first workers of a launch, which may have some of the job's workers, have larger batches.
  const int batch = batch_of(job, 0), last = batch_of(job, static_cast<int>(workers) - 1);
  std::int64_t samples = 0;
  for (std::size_t worker = 0; worker < workers; ++worker) samples += batch_of(job, static_cast<int>(worker));
  if (job.spec().experiment.workload.counts_steps())
    return {fmt::format("{}, together {} parameters ({})", counted(model.buckets.size(), "bucket"),
                        with_separators(model.parameters()), readable(model.bytes())),
            fmt::format("{}; {}", work_text(job), counted(workers, "worker")), devices_line(job),
            network_line(job)};
  return {fmt::format("model {} ({} parameters, {}) on {}", model.name, with_separators(model.parameters()),
                      readable(model.bytes()), images_line(job)),
          fmt::format("{}; batch {} on each of {}: {} samples per step of all", work_text(job),
                      batch == last ? std::to_string(batch) : fmt::format("{} or {}", batch, last),
                      counted(workers, "worker"), samples),
          devices_line(job), network_line(job)};
}

std::vector<std::string> describe_job(const Job& job) {
  std::vector<std::string> lines = question_of(job);
  if (!is_traced(job)) lines.push_back(memory_line(job));
  if (const std::size_t slots = job.roster().workers().size() - job.roster().first_workers().size();
      slots > 0)
    lines.push_back(counted(slots, "slot") + " for spares" + growth_text(job));
  if (std::string line = server_cost_line(job); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> notes_of(const Job& job) {
  const Experiment& experiment = job.spec().experiment;
  const auto workers = job.roster().workers();
  const bool are_gpus =
      std::ranges::all_of(workers, [&](Rank worker) { return job.devices().host_of(worker).device.is_gpu; });
  if (experiment.sync.over != sync::Route::all_reduce || experiment.sync.collective != "ring" ||
      experiment.sync.algorithm != "bsp" || workers.size() < 2 || !are_gpus)
    return {};
  if (is_traced(job))
    return {
        "sync.collective=ring is Tandem's ring, which moves on only while the worker's own thread waits; for "
        "NCCL's ring, give sync.collective=native and physics.all_reduce=ring instead"};
  const auto& workload = experiment.workload;
  const bool are_counted =
      workload.model == "synthetic" && workload.synthetic_tensors.empty() && workload.synthetic_buckets > 0;
  return {fmt::format(
      "PyTorch's DistributedDataParallel sums through NCCL in buckets of 25 MiB, this job by Tandem's ring "
      "in {}. To predict DDP: sync.preset: ddp in place of sync.collective and "
      "workload.{} (it is sync.collective: native with DDP's buckets) and, for a simulation, a "
      "profile with the times of NCCL (tandem calibrate, physics.profile)",
      are_counted || workload.bucket_bytes == Bytes(0)
          ? fmt::format("{} ({} together)", counted(job.model().buckets.size(), "bucket"),
                        readable(job.model().bytes()))
          : "buckets of " + to_text(workload.bucket_bytes),
      are_counted ? "synthetic_buckets" : "bucket_bytes")};
}

std::vector<std::string> shard_hosts(const Job& job) {
  std::vector<std::string> hosts;
  for (const Rank server : job.roster().servers()) hosts.push_back(job.roster().host_of(server));
  return hosts;
}

std::vector<std::string> warnings_of(const Job& job) {
  std::vector<std::string> warnings;
  warn_of_unexpected_workers(job, warnings);
  warn_of_shared_devices(job, warnings);
  warn_of_shared_cores(job, warnings);
  warn_of_small_images(job, warnings);
  warn_of_shared_classes(job, warnings);
  warn_of_unread_disks(job, warnings);
  warn_of_sampling_without_selection(job, warnings);
  warn_of_warm_tiers(job, warnings);
  warn_of_unknown_speeds(job, warnings);
  warn_of_ignored_speeds(job, warnings);
  warn_of_unmeasured_decoding(job, warnings);
  warn_of_unequal_shards(job, warnings);
  warn_of_unused_server_costs(job, warnings);
  warn_of_lost_commits(job, warnings);
  warn_of_unused_lifetimes(job, warnings);
  const Combination all{job.spec().experiment, job.chosen()};
  const Locate& locate = job.spec().locate;
  for (auto& more : {met_warnings(warning_group().limits(), all, locate), warnings_of_commits(job)})
    warnings.insert(warnings.end(), more.begin(), more.end());
  if (std::string idle = warning_of_idle_keys(all, locate); !idle.empty())
    warnings.push_back(std::move(idle));
  return warnings;
}

}  // namespace tandem
