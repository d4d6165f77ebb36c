#include "cli/commands/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include "cli/commands/compared_jobs.hpp"
#include "cli/commands/init_files.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> rates_of(const std::string& within) {
  std::vector<std::string> rates;
  for (const std::string& word : split(within, ',')) {
    try {
      check_bandwidth(word);
    } catch (const ConfigError& error) {
      throw ConfigError(std::string("--within: ") + error.what());
    }
    rates.push_back(word);
  }
  return rates;
}

/// The devices on which the step was measured, else those of the first worker.
std::string device_of(const LoadedJob& loaded) {
  const auto& experiment = loaded.experiment;
  if (!experiment.workload.measured_on.empty()) return experiment.workload.measured_on;
  return loaded.platform.host(experiment.placement.workers.front()).device.name;
}

/// Writes the platform, and returns its absolute path.
std::string write_platform(const LoadedJob& loaded, const ClusterPlace& place) {
  const std::string text =
      platform_text({.name = loaded.experiment.name,
                     .sites = parse_devices(fmt::format("{}:{}", place.device, place.workers), 1),
                     .within = place.within});
  const fs::path folder = default_out(loaded.experiment.name, "platforms");
  fs::create_directories(folder);
  const fs::path path = folder / (place.name() + ".xml");
  write_whole_file(path.string(), text);
  return fs::absolute(path).lexically_normal().string();
}

/// "25Gbps" times 0.8 is "20Gbps". Pre: check_bandwidth.
std::string scaled_rate(const std::string& rate, double factor) {
  std::size_t unit = 0;
  const double number = std::stod(rate, &unit);
  return fmt::format("{:.9g}{}", number * factor, rate.substr(unit));
}

/// "16-v100-10Gbps-sync.compression=fp16": a folder for each question, so that the next one does not find
/// results of this one.
std::string question_folder(const std::string& place, const JobOptions& job) {
  std::string name = place;
  if (!job.variant.empty()) name += '-' + job.variant;
  for (const auto& setting : job.settings) name += '-' + setting;
  constexpr std::size_t longest = 200;  // of a file's name, 255
  if (name.size() > longest) name.resize(longest);
  const auto is_kept = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_.=").find(c) != std::string_view::npos;
  };
  std::ranges::replace_if(name, std::not_fn(is_kept), '-');
  return name;
}

/// --workers and --within place the job.
void refuse_other_places(const JobOptions& job) {
  for (const std::string& setting : job.settings)
    for (const char* key : {"platform=", "placement."})
      if (setting.starts_with(key))
        throw ConfigError("--workers: expected no --set of platform and placement with it, found '" +
                          setting + "'");
}

/// All devices of such a platform are workers.
const std::vector<std::string>& placement_of_cluster() {
  static const std::vector<std::string> settings = {"placement.workers=[]", "placement.worker_count=0",
                                                    "placement.servers=[server]"};
  return settings;
}

/// In rising order.
std::vector<std::string> usual_rates_and(const std::string& asked) {
  std::vector<std::string> rates = {"1Gbps", "10Gbps", "25Gbps", "100Gbps", "400Gbps"};
  const auto rate_of = [](const std::string& text) {
    return parse_rate(text).value_or(BytesPerSecond(0)).count();
  };
  if (std::ranges::find(rates, rate_of(asked), rate_of) == rates.end()) rates.push_back(asked);
  std::ranges::sort(rates, {}, rate_of);
  return rates;
}

/// Without them, a bucket has no matrices to compress.
bool has_shapes(const Experiment& experiment) {
  const auto buckets = parse_buckets(experiment.workload.measured_buckets, "key 'workload.measured_buckets'");
  return std::ranges::any_of(buckets, [](const ListedBucket& bucket) { return !bucket.tensors.empty(); });
}

/// What a study varies: one variant. Of a launch-bound job both bounds, unless one was chosen.
Experiment varied_job(Experiment job, const std::string& variant) {
  if (!variant.empty() || !job.variants.contains(gpu_alone_variant)) job.variants.clear();
  std::ranges::replace(job.name, '/', '-');
  return job;
}

}  // namespace

std::shared_ptr<ClusterOptions> add_cluster_options(CLI::App& command) {
  auto options = std::make_shared<ClusterOptions>();
  constexpr const char* group = "On other machines than the experiment's platform";
  auto* workers = command
                      .add_option("--workers", options->workers,
                                  "So many devices like the one on which the step was measured, or like the "
                                  "first worker's, each with a link to one switch")
                      ->check(CLI::Validator(
                          [](const std::string& text) {
                            return text.find(',') == std::string::npos
                                       ? std::string()
                                       : "expected one number, found '" + text +
                                             "'; tandem study --vary workers compares several";
                          },
                          ""))
                      ->check(CLI::Range(1, 1000))
                      ->group(group);
  auto* within = command.add_option("--within", options->within, "Bandwidth of these links, such as 25Gbps")
                     ->type_name("RATE")
                     ->group(group);
  workers->needs(within);
  within->needs(workers);
  return options;
}

ClusterFiles place_on_cluster(JobOptions& job, const ClusterOptions& cluster, const std::string& world) {
  if (!cluster.is_wanted()) return {};
  const auto rates = rates_of(cluster.within);
  if (rates.size() != 1)
    throw ConfigError("--within: expected one bandwidth, found '" + cluster.within + "'");
  refuse_other_places(job);
  const LoadedJob loaded = load_job(job);
  const ClusterPlace place{cluster.workers, device_of(loaded), rates.front()};
  const std::string platform = write_platform(loaded, place);
  if (job.out.empty() && job.resume.empty())
    job.out = default_out(loaded.experiment.name, question_folder(place.name(), job) + '/' + world);
  fmt::print("platform: {}\n", fs::relative(platform).string());
  job.settings.push_back("platform=" + platform);
  const auto& placement = placement_of_cluster();
  job.settings.insert(job.settings.end(), placement.begin(), placement.end());
  return {.place = place,
          .one_device = write_platform(loaded, {1, place.device, place.within}),
          .slower_links = write_platform(
              loaded, {place.workers, place.device, scaled_rate(place.within, low_link_share)})};
}

std::string ClusterPlace::name() const { return fmt::format("{}-{}-{}", workers, device, within); }

std::string ClusterPlace::bandwidth() const {
  constexpr double bits_per_byte = 8, giga = 1e9;
  return fmt::format("{:g}Gbps",
                     parse_rate(within).value_or(BytesPerSecond(0)).count() * bits_per_byte / giga);
}

void name_places(std::vector<validation::StudyResult>& results, const VarySuite& suite) {
  const std::map<std::string, std::string> bounds = {{"as-profiled", "as profiled"},
                                                     {gpu_alone_variant, "GPU alone"}};
  std::map<std::string, std::string> bandwidths;  // by the value of the grid
  for (const auto& [file, place] : suite.clusters) bandwidths[place.name()] = place.bandwidth();
  for (auto& result : results) {
    for (auto& [key, value] : result.coordinates)
      if (const auto found = bandwidths.find(value); key == "platform" && found != bandwidths.end()) {
        key = "bandwidth";
        value = found->second;
      }
    const auto end_of_variant = result.algorithm.find('/');
    const auto bound = bounds.find(result.algorithm.substr(0, end_of_variant));
    if (bound == bounds.end()) continue;
    result.coordinates.emplace_back("bound", bound->second);
    result.group += '/' + bound->first;
    result.algorithm = end_of_variant == std::string::npos ? result.experiment.sync.algorithm
                                                           : result.algorithm.substr(end_of_variant + 1);
  }
}

VarySuite write_vary_suite(const JobOptions& job, const ClusterOptions& cluster, const std::string& what) {
  if (!cluster.is_wanted()) throw ConfigError("--vary: expected --workers and --within, found none");
  refuse_other_places(job);
  const LoadedJob loaded = load_job(job);
  auto rates = rates_of(cluster.within);
  std::vector<int> workers = {cluster.workers};
  if (what == "bandwidth" && rates.size() == 1) rates = usual_rates_and(rates.front());
  const bool varies_workers = what == "workers";
  if (varies_workers) {
    workers.clear();
    for (int count = 1; count < cluster.workers; count *= 2) workers.push_back(count);
    workers.push_back(cluster.workers);
  }
  const std::string device = device_of(loaded);
  VarySuite suite{
      .file = {}, .clusters = {}, .one_device = write_platform(loaded, {1, device, rates.front()})};
  std::vector<std::string> platforms;
  for (const auto& rate : rates) {
    const ClusterPlace largest{cluster.workers, device, rate};
    platforms.push_back(write_platform(loaded, largest));
    suite.clusters[platforms.back()] = largest;
  }
  std::string question =
      fmt::format("How long does a step of {} take on {} of its devices, with {} to each?",
                  loaded.experiment.name, fmt::join(workers, ", "), fmt::join(rates, ", "));
  std::string compression;
  if (what == "compression") {
    question = fmt::format(
        "Does compressing its gradient shorten the step of {} on {} of its devices, with {} to each?",
        loaded.experiment.name, fmt::join(workers, ", "), fmt::join(rates, ", "));
    // DDP's hooks; bf16 sends as many bytes as fp16.
    std::vector<std::string> methods = {"none", "fp16"};
    const std::string& own = loaded.experiment.sync.compression;
    if (own != "none") methods = {own};  // what the buckets have on the wire is no gain
    if (has_shapes(loaded.experiment))
      methods.emplace_back("power-sgd");
    else if (own != "none")
      print_note("the buckets are sent in " + own +
                 " already; power-sgd needs the shapes of the gradients: give their execution trace to "
                 "tandem import");
    compression = fmt::format("  sync.compression: [{}]\n", fmt::join(methods, ", "));
  }
  const fs::path folder = default_out(loaded.experiment.name, "platforms");
  const std::string place = fmt::format("{}-{}-{}", what, cluster.workers, cluster.within);
  const Experiment varied = varied_job(loaded.experiment, job.variant);
  const std::string base = fs::absolute(folder / (varied.name + ".yaml")).lexically_normal().string();
  write_whole_file(base, to_yaml(varied));
  const fs::path path = folder / fmt::format("{}-{}.yaml", varied.name, question_folder(place, job));
  write_whole_file(
      path.string(),
      fmt::format(
          "# What other {0} would do, written by `tandem study --vary {0}`.\n"
          "experiments: {1}\n"
          "set: {{placement.workers: '[]', placement.servers: '[server]'{6}}}\n"
          "grid:\n"
          "  platform: [{2}]\n"
          "{5}{3}"
          "study:\n"
          "  decides: step_time_s\n"
          "  about: >-\n    {4}\n",
          what, base, fmt::join(platforms, ", "), compression, question,
          varies_workers ? fmt::format("  placement.worker_count: [{}]\n", fmt::join(workers, ", ")) : "",
          varies_workers ? "" : ", placement.worker_count: 0"));
  suite.file = path.string();
  return suite;
}

}  // namespace tandem::cli
