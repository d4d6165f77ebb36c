#include "cli/commands/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>

#include "cli/commands/init_files.hpp"
#include "cli/jobs/resume.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/scratch_folder.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* both_bounds = "gpu-alone";  // variant of an imported job

std::string ms(double seconds) { return fmt::format("{:.1f} ms", 1e3 * seconds); }

std::vector<std::string> rates_of(const std::string& within) {
  std::vector<std::string> rates;
  std::istringstream words(within);
  for (std::string word; std::getline(words, word, ',');) {
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
std::string write_platform(const LoadedJob& loaded, int workers, const std::string& within) {
  const std::string device = device_of(loaded);
  const std::string text = platform_text({.name = loaded.experiment.name,
                                          .sites = parse_devices(fmt::format("{}:{}", device, workers), 1),
                                          .within = within});
  const fs::path folder = default_out(loaded.experiment.name, "platforms");
  fs::create_directories(folder);
  const fs::path path = folder / fmt::format("{}-{}-{}.xml", workers, device, within);
  write_whole_file(path.string(), text);
  return fs::absolute(path).lexically_normal().string();
}

/// All devices of such a platform are workers.
const std::vector<std::string>& placement_of_cluster() {
  static const std::vector<std::string> settings = {"placement.workers=[]", "placement.worker_count=0",
                                                    "placement.servers=[server]"};
  return settings;
}

double phase_of(const Summary& summary, Phase phase) {
  const auto found = summary.phases.find(phase_names[static_cast<std::size_t>(phase)]);
  return found == summary.phases.end() ? 0.0 : found->second.mean_s;
}

/// What a step of the job does, by its mean after the warm-up.
struct StepAnswer {
  double step_s = 0;
  double computing_s = 0;     ///< or launching, if that takes longer
  bool is_launching = false;  ///< the processor launches longer than the device computes
  double exposed_s = 0;       ///< of the exchange
  double bytes = 0;           ///< of each worker
  double last_share = 0;      ///< of the bucket that is complete last
  double link_s = 0;          ///< that the bytes need of each worker's link; 0: not known
};

StepAnswer step_answer(const Results& results, const std::string& within) {
  const Summary& summary = results.summary;
  const auto workers = static_cast<double>(results.info.experiment.placement.workers.size());
  StepAnswer answer{.step_s = summary.step_time.mean};
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    answer.computing_s += phase_of(summary, phase);
  // The processor launches the rest of a step during the exchange.
  const double host_s = results.info.experiment.workload.measured_host.count();
  answer.is_launching = host_s > answer.computing_s;
  answer.computing_s = std::max(answer.computing_s, host_s);
  answer.exposed_s = std::max(0.0, answer.step_s - answer.computing_s);
  std::int64_t steps = 0;
  for (const auto& rank : summary.ranks) steps += rank.steps;
  if (steps > 0) answer.bytes = static_cast<double>(summary.bytes.sent) / static_cast<double>(steps);
  const auto& listed = results.info.experiment.workload.measured_buckets;
  if (!listed.empty()) {
    const auto buckets = parse_buckets(listed, "workload.measured_buckets");
    double all = 0;
    for (const auto& bucket : buckets) all += static_cast<double>(bucket.size.count());
    answer.last_share = static_cast<double>(buckets.back().size.count()) / all;
  }
  if (const auto rate = parse_rate(within); rate && workers > 0)
    answer.link_s = 2 * (workers - 1) / workers * answer.bytes / rate->count();
  return answer;
}

/// "because the last bucket (9.7 MB) leaves 6.2 ms after the backward pass; all else is hidden".
std::string reason_of(const StepAnswer& answer) {
  constexpr double hardly = 0.01, about = 1.1, latencies_s = 1e-3;
  const double last_s = answer.link_s * answer.last_share;
  const char* const computing = answer.is_launching ? "launching" : "computing";
  if (answer.exposed_s < hardly * answer.step_s)
    return fmt::format("because {} binds: the exchange is hidden", computing);
  if (answer.last_share > 0 && answer.exposed_s < about * last_s + latencies_s)
    return fmt::format("because the last bucket ({}) leaves {} after the backward pass; all else is hidden",
                       with_unit(answer.last_share * answer.bytes, Unit::bytes), ms(answer.exposed_s));
  return fmt::format(
      "because {} of the exchange are not hidden: {} a step need {} of each link, and {} takes {}",
      ms(answer.exposed_s), with_unit(answer.bytes, Unit::bytes), ms(answer.link_s), computing,
      ms(answer.computing_s));
}

/// Where the numbers come from.
std::string origins_text(const Results& results, const StepAnswer& answer) {
  const auto& experiment = results.info.experiment;
  const auto& workload = experiment.workload;
  std::string text;
  if (workload.has_measured_times())
    text +=
        fmt::format("  measured, but for what a comment of the experiment calls assumed: one {}'s step, {}\n",
                    workload.measured_on.empty() ? "device" : workload.measured_on,
                    workload.measured_buckets.empty() ? "as a whole" : "its buckets, and when each is ready");
  if (experiment.physics.spread > 0)
    text += fmt::format("  measured: steps vary by {:.2g} %\n", 100 * experiment.physics.spread);
  const auto& physics = results.info.physics;
  const std::string sums = physics.value("native_all_reduce", "");
  if (!sums.empty())
    text += fmt::format("  {}: all-reduces {}\n",
                        sums.starts_with("as calibrated")  ? "measured"
                        : sums.starts_with("by a formula") ? "fitted"
                                                           : "assumed",
                        sums);
  text += "  assumed: every link has its full rate and a latency of 20 us\n";
  if (experiment.physics.overlap_slowdown > 1.0) {
    text += fmt::format("  measured: kernels take {:.2f} times as long while messages move\n",
                        experiment.physics.overlap_slowdown);
  } else if (const double overlap_s = physics.value("overlap_s", 0.0); overlap_s > 0) {
    constexpr double worst = 1.8;  // of public measurements
    const double rounds = results.summary.rounds;
    const double longer = (1 - 1 / worst) * overlap_s / std::max(1.0, rounds);
    text += fmt::format(
        "  assumed: kernels are not slower while messages move; at {} times, the worst known, the step takes "
        "up "
        "to {}\n",
        worst, ms(answer.step_s + longer));
  }
  return text;
}

/// The same job as `results`, but for the variant; from a process of its own.
Results other_bound(const JobOptions& job) {
  const ScratchFolder folder(new_temporary_path("tandem-bound-"));
  const std::string out = (folder.path() / "results").string();
  std::vector<std::string> words = {"simulate", job.experiment_file, "--variant", both_bounds, "--out", out};
  for (const auto& setting : job.settings) words.insert(words.end(), {"--set", setting});
  run_subcommand({words, (folder.path() / "log").string()});
  return read_results(out);
}

/// Without them, a bucket has no matrices to compress.
bool has_shapes(const Experiment& experiment) {
  const auto buckets = parse_buckets(experiment.workload.measured_buckets, "key 'workload.measured_buckets'");
  return std::ranges::any_of(buckets, [](const ListedBucket& bucket) { return !bucket.tensors.empty(); });
}

bool is_launch_bound(const Experiment& experiment) { return experiment.workload.measured_host > Seconds(0); }

}  // namespace

std::shared_ptr<ClusterOptions> add_cluster_options(CLI::App& command) {
  auto options = std::make_shared<ClusterOptions>();
  constexpr const char* group = "On other machines than the experiment's platform";
  auto* workers = command
                      .add_option("--workers", options->workers,
                                  "So many devices like the one on which the step was measured, or like the "
                                  "first worker's, each with a link to one switch")
                      ->check(CLI::Range(1, 1000))
                      ->group(group);
  auto* within = command.add_option("--within", options->within, "Bandwidth of these links, such as 25Gbps")
                     ->type_name("RATE")
                     ->group(group);
  workers->needs(within);
  within->needs(workers);
  return options;
}

void place_on_cluster(JobOptions& job, const ClusterOptions& cluster, const std::string& world) {
  if (!cluster.is_wanted()) return;
  const auto rates = rates_of(cluster.within);
  if (rates.size() != 1)
    throw ConfigError("--within: expected one bandwidth, found '" + cluster.within + "'");
  const LoadedJob loaded = load_job(job);
  const std::string platform = write_platform(loaded, cluster.workers, rates.front());
  // A folder for each cluster, so that the next one does not find results of this one.
  if (job.out.empty() && job.resume.empty())
    job.out = default_out(loaded.experiment.name, fs::path(platform).stem().string() + '/' + world);
  fmt::print("platform: {}\n", fs::relative(platform).string());
  job.settings.push_back("platform=" + platform);
  const auto& placement = placement_of_cluster();
  job.settings.insert(job.settings.end(), placement.begin(), placement.end());
}

std::string answer_text(const Results& results, const ClusterOptions& cluster) {
  const StepAnswer answer = step_answer(results, cluster.within);
  const double spread = results.info.experiment.physics.spread;
  const std::string& device = results.info.experiment.workload.measured_on;
  return fmt::format("step {}{} on {} x {} at {} ({:.0f} % of one device's speed each), {}\n",
                     ms(answer.step_s),
                     spread > 0 ? fmt::format(" +- {:.1f}", 1e3 * spread * answer.computing_s) : "",
                     cluster.workers, device.empty() ? "device" : device, cluster.within,
                     100 * answer.computing_s / answer.step_s, reason_of(answer)) +
         origins_text(results, answer);
}

void print_answer(const std::string& directory, const JobOptions& job, const ClusterOptions& cluster) {
  if (!cluster.is_wanted()) return;
  const Results results = read_results(directory);
  fmt::print("\n{}", answer_text(results, cluster));
  const Experiment& experiment = results.info.experiment;
  if (!is_launch_bound(experiment) || !experiment.variants.contains(both_bounds)) return;
  const Results least = other_bound(job);
  fmt::print(
      "launch-bound: between {} and {}. The GPU waited for the processor while it was profiled, and the "
      "profiler slows\nthe processor down. For one number, import the trace again with the step's time "
      "without "
      "the profiler\n(--step-time), or a trace of the job with CUDA graphs.\n",
      ms(least.summary.step_time.mean), ms(results.summary.step_time.mean));
}

std::string write_vary_suite(const JobOptions& job, const ClusterOptions& cluster, const std::string& what) {
  if (!cluster.is_wanted()) throw ConfigError("--vary: expected --workers and --within, found none");
  const LoadedJob loaded = load_job(job);
  auto rates = rates_of(cluster.within);
  std::vector<int> workers = {cluster.workers};
  if (what == "bandwidth" && rates.size() == 1) rates = {"1Gbps", "10Gbps", "25Gbps", "100Gbps", "400Gbps"};
  if (what == "workers") {
    workers.clear();
    for (int count = 2; count < cluster.workers; count *= 2) workers.push_back(count);
    workers.push_back(cluster.workers);
  }
  std::vector<std::string> platforms;
  for (const auto& rate : rates)
    for (const int count : workers) platforms.push_back(write_platform(loaded, count, rate));
  std::string question =
      fmt::format("How long does a step of {} take on {} of its devices, with {} to each?",
                  loaded.experiment.name, fmt::join(workers, ", "), fmt::join(rates, ", "));
  std::string compression;
  if (what == "compression") {
    question = fmt::format(
        "Does compressing its gradient shorten the step of {} on {} of its devices, with {} to each?",
        loaded.experiment.name, fmt::join(workers, ", "), fmt::join(rates, ", "));
    std::vector<std::string> methods = {"none", "fp16", "qsgd"};
    const std::string& own = loaded.experiment.sync.compression;
    if (own != "none") methods = {own, "qsgd"};  // what the buckets have on the wire is no gain
    if (has_shapes(loaded.experiment)) methods.emplace_back("power-sgd");
    compression = fmt::format("  sync.compression: [{}]\n", fmt::join(methods, ", "));
  }
  const fs::path folder = default_out(loaded.experiment.name, "platforms");
  const fs::path path = folder / fmt::format("{}-{}.yaml", loaded.experiment.name, what);
  write_whole_file(
      path.string(),
      fmt::format(
          "# What other {0} would do, written by `tandem study --vary {0}`.\n"
          "experiments: {1}\n"
          "set: {{placement.workers: '[]', placement.worker_count: 0, placement.servers: '[server]'}}\n"
          "grid:\n"
          "  platform: [{2}]\n{3}"
          "study:\n"
          "  about: >-\n    {4}\n",
          what, fs::absolute(job.experiment_file).lexically_normal().string(), fmt::join(platforms, ", "),
          compression, question));
  return path.string();
}

std::string vary_text(const std::vector<validation::StudyResult>& results) {
  constexpr double noticeable = 0.05;
  std::map<std::string, double> own;  // by platform and variant
  const auto place_of = [](const validation::StudyResult& result) {
    return fs::path(result.experiment.platform).stem().string() + ' ' + result.experiment.name;
  };
  // The first value of a grid is the job's own.
  for (const auto& result : results)
    if (!result.failed()) own.try_emplace(place_of(result), result.step_time_s);
  std::string text;
  for (const auto& result : results) {
    if (result.failed()) continue;
    text += fmt::format("{:<32} {:<9} {:>10}", place_of(result), result.experiment.sync.compression,
                        ms(result.step_time_s));
    const auto before = own.find(place_of(result));
    if (before != own.end() && result.step_time_s != before->second) {
      const double change = result.step_time_s / before->second - 1;
      text += fmt::format("  {:+.0f} %: {}", 100 * change, change < -noticeable ? "helps" : "would not help");
    }
    text += '\n';
  }
  return text;
}

}  // namespace tandem::cli
