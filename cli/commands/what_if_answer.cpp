// The answers of `simulate --workers` and `study --vary` in words. What they compare is simulated, too, in
// processes of their own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "cli/commands/what_if.hpp"
#include "cli/shared/scratch_folder.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "cli/studies/suite_input.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
/// Of `tandem simulate`, without a folder for results.
using Words = std::vector<std::string>;

constexpr const char* both_bounds = "gpu-alone";  // variant of an imported job
constexpr double worst_slowdown = 1.8;            // of kernels under NCCL, in public measurements
constexpr double hardly = 0.01;                   // share of a step that is not worth a word

std::string ms(double seconds) { return fmt::format("{:.1f} ms", 1e3 * seconds); }
std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

// ---- Simulations to compare with ----

Words with_settings(Words words, const std::vector<std::string>& settings) {
  for (const auto& setting : settings) words.insert(words.end(), {"--set", setting});
  return words;
}

/// Without a compression that --set gives, and its options, which others refuse.
Words without_compression(const Words& words) {
  Words kept;
  for (const auto& word : words)
    if (word.starts_with("sync.compression"))
      kept.pop_back();  // its --set
    else
      kept.push_back(word);
  return kept;
}

Words simulation_of(const JobOptions& job, const std::string& variant) {
  Words words = {"simulate", job.experiment_file};
  if (!variant.empty()) words.insert(words.end(), {"--variant", variant});
  return with_settings(std::move(words), job.settings);
}

/// Seconds of a step, by simulation.
std::vector<double> steps_of(const std::vector<Words>& simulations) {
  const ScratchFolder folder(new_temporary_path("tandem-answer-"));
  std::vector<Subcommand> commands;
  std::vector<std::string> outs;
  for (const Words& words : simulations) {
    outs.push_back((folder.path() / std::to_string(outs.size())).string());
    commands.push_back({words, outs.back() + ".log"});
    commands.back().words.insert(commands.back().words.end(), {"--out", outs.back()});
  }
  run_subcommands(commands, std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  std::vector<double> steps;
  for (const auto& out : outs) steps.push_back(read_results(out).summary.step_time.mean);
  return steps;
}

/// Real mathematics would be computed again, for the same times.
bool is_compared(const Experiment& experiment) { return experiment.workload.math == Math::modelled; }

/// Settings for one device's step without exchange, on this platform with one device. Over servers, also one
/// worker exchanges.
std::optional<std::vector<std::string>> settings_alone(const Experiment& experiment,
                                                       const std::string& platform) {
  if (experiment.sync.over != sync::Route::all_reduce || !is_compared(experiment)) return std::nullopt;
  return std::vector<std::string>{"platform=" + platform, "sync.compression=none",
                                  "physics.overlap_slowdown=1"};
}

std::string slowed_setting() { return fmt::format("physics.overlap_slowdown={}", worst_slowdown); }

/// Whether the simulation leaves out that kernels may be slower.
bool may_be_slower(const Experiment& experiment, const json& physics) {
  return is_compared(experiment) && experiment.physics.overlap_slowdown == 1.0 && physics.is_object() &&
         physics.value("overlap_s", 0.0) > 0;
}

/// How the library's all-reduces were timed.
std::string sums_of(const json& physics) {
  return physics.is_object() ? physics.value("native_all_reduce", "") : "";
}

bool has_trees(const json& physics) {
  const std::string sums = sums_of(physics);
  return sums.starts_with("as NCCL's") && sums.find("tree") < sums.find(',');
}

// ---- Where the numbers come from ----

/// Whether it is --set's, not the file's.
bool is_given(const JobOptions& job, const std::string& key) {
  return std::ranges::any_of(job.settings,
                             [&](const std::string& setting) { return setting.starts_with(key + '='); });
}

/// "measured_forward: a third of the step": of lines of the experiment with a comment "# assumed: ...".
std::vector<std::string> assumptions_of(const std::string& file) {
  constexpr std::string_view mark = "# assumed: ";
  std::vector<std::string> found;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const auto comment = line.find(mark), colon = line.find(':'), key = line.find_first_not_of(' ');
    if (comment == std::string::npos || colon == std::string::npos || colon > comment) continue;
    found.push_back(line.substr(key, colon - key) + ": " + line.substr(comment + mark.size()));
  }
  return found;
}

std::string origins_text(const JobOptions& job, const Experiment& experiment, const json& physics) {
  const auto& workload = experiment.workload;
  std::string text;
  if (workload.has_measured_times()) {
    const auto assumed = assumptions_of(job.experiment_file);
    text += fmt::format(
        "  measured: one {}'s step, {}{}\n", workload.measured_on.empty() ? "device" : workload.measured_on,
        workload.measured_buckets.empty() ? "as a whole" : "its buckets, and when each is ready",
        assumed.empty() ? "" : ", but for what is assumed:");
    for (const auto& one : assumed) text += "  assumed: " + one + '\n';
  }
  if (experiment.physics.spread > 0)
    text +=
        fmt::format("  {}: steps vary by {:.2g} %\n", is_given(job, "physics.spread") ? "given" : "measured",
                    100 * experiment.physics.spread);
  if (const std::string sums = sums_of(physics); !sums.empty())
    text += fmt::format("  {}: all-reduces {}\n",
                        sums.starts_with("as calibrated")  ? "measured"
                        : sums.starts_with("by a formula") ? "fitted"
                                                           : "assumed",
                        sums);
  text += "  assumed: every link has its full rate and a latency of 20 us\n";
  if (experiment.physics.overlap_slowdown > 1.0)
    text += fmt::format("  {}: kernels take {:.2f} times as long while messages move\n",
                        is_given(job, "physics.overlap_slowdown") ? "given" : "measured",
                        experiment.physics.overlap_slowdown);
  return text;
}

// ---- One answer ----

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
  constexpr double about = 1.1, latencies_s = 1e-3;
  const double last_s = answer.link_s * answer.last_share;
  const char* const computing = answer.is_launching ? "launching" : "computing";
  if (answer.exposed_s < hardly * answer.step_s)
    return fmt::format("because the exchange is hidden: {} takes {}", computing, ms(answer.computing_s));
  if (answer.last_share > 0 && answer.exposed_s < about * last_s + latencies_s)
    return fmt::format("because the last bucket ({}) leaves {} after the backward pass; all else is hidden",
                       with_unit(answer.last_share * answer.bytes, Unit::bytes), ms(answer.exposed_s));
  return fmt::format(
      "because {} of the exchange are not hidden: {} a step need {} of each link, and {} takes {}",
      ms(answer.exposed_s), with_unit(answer.bytes, Unit::bytes), ms(answer.link_s), computing,
      ms(answer.computing_s));
}

/// Seconds of the step, where they are known.
struct ComparedSteps {
  std::optional<double> alone;      ///< one device's, without exchange
  std::optional<double> slowed;     ///< if kernels are slower while messages move
  std::optional<double> rings;      ///< if all sums go by NCCL's ring
  std::optional<double> gpu_alone;  ///< of a launch-bound job: if the GPU never waits
};

ComparedSteps compared_steps(const Results& results, const JobOptions& job, const std::string& one_device) {
  const Experiment& experiment = results.info.experiment;
  const json& physics = results.info.physics;
  const Words words = simulation_of(job, job.variant);
  ComparedSteps compared;
  std::vector<Words> simulations;
  std::vector<std::optional<double>*> found;
  const auto add = [&](Words simulation, std::optional<double>& into) {
    simulations.push_back(std::move(simulation));
    found.push_back(&into);
  };
  if (const auto settings = settings_alone(experiment, one_device))
    add(with_settings(without_compression(words), *settings), compared.alone);
  if (may_be_slower(experiment, physics)) add(with_settings(words, {slowed_setting()}), compared.slowed);
  if (is_compared(experiment) && has_trees(physics))
    add(with_settings(words, {"physics.all_reduce=ring"}), compared.rings);
  if (experiment.workload.measured_host > Seconds(0) && experiment.variants.contains(both_bounds))
    add(simulation_of(job, both_bounds), compared.gpu_alone);
  const auto steps = steps_of(simulations);
  for (std::size_t i = 0; i < steps.size(); ++i) *found[i] = steps[i];
  return compared;
}

std::string headline(const StepAnswer& answer, const ComparedSteps& compared, const Experiment& experiment,
                     const ClusterOptions& cluster) {
  const std::string& device = experiment.workload.measured_on;
  const bool may_be_longer = compared.slowed && *compared.slowed > (1 + hardly) * answer.step_s;
  return fmt::format(
      "step {}{} on {} x {} at {}{}, {}\n", ms(answer.step_s),
      may_be_longer
          ? fmt::format(" (up to {} if kernels slow down while messages move)", ms(*compared.slowed))
          : "",
      cluster.workers, device.empty() ? "device" : device, cluster.within,
      compared.alone
          ? fmt::format(" ({} of one device's speed each)", share_text(*compared.alone / answer.step_s))
          : "",
      reason_of(answer));
}

/// What the step is compared with.
std::string comparisons_text(const StepAnswer& answer, const ComparedSteps& compared) {
  std::string text;
  if (compared.alone)
    text += fmt::format(
        "  one device's step without exchange: {}; faster links or fewer bytes save at most {} ({})\n",
        ms(*compared.alone), ms(std::max(0.0, answer.step_s - *compared.alone)),
        share_text(std::max(0.0, 1 - *compared.alone / answer.step_s)));
  if (compared.rings)
    text += fmt::format(
        "  with rings alone (physics.all_reduce=ring): {}{}\n", ms(*compared.rings),
        compared.alone ? fmt::format(" ({})", share_text(*compared.alone / *compared.rings)) : "");
  if (compared.slowed)
    text += fmt::format(
        "  assumed: kernels are not slower while messages move; at {} times, the worst known, the step takes "
        "{}\n",
        worst_slowdown, ms(*compared.slowed));
  return text;
}

// ---- Several answers ----

/// "32-v100-25Gbps".
std::string place_of(const validation::StudyResult& result) {
  return fs::path(result.experiment.platform).stem().string();
}

/// The bounds of a launch-bound job differ in the processor's time.
bool has_host_time(const validation::StudyResult& result) {
  return result.experiment.workload.measured_host > Seconds(0);
}

/// One device's step without exchange; the second one of a job that waits for its processor.
using StepsAlone = std::map<bool, double>;

StepsAlone steps_alone(const std::vector<validation::StudyResult>& results,
                       const std::map<std::string, Words>& words, const std::string& one_device) {
  std::map<bool, Words> simulations;
  for (const auto& result : results)
    if (const auto settings = settings_alone(result.experiment, one_device))
      simulations.try_emplace(has_host_time(result),
                              with_settings(without_compression(words.at(result.name)), *settings));
  std::vector<Words> all;
  for (const auto& [has_host, simulation] : simulations) all.push_back(simulation);
  const auto steps = steps_of(all);
  StepsAlone alone;
  for (const auto& [has_host, simulation] : simulations) alone.emplace(has_host, steps[alone.size()]);
  return alone;
}

/// "  -41 %: helps": of a step to the job's own.
std::string change_text(double step_s, double own_s) {
  constexpr double noticeable = 0.05;
  const double change = step_s / own_s - 1;
  return fmt::format("{:+.0f} %: {}", 100 * change, change < -noticeable ? "helps" : "would not help");
}

/// "at 1.8 times: none 187.8 ms, fp16 135.0 ms (-28 %: helps)", per place.
std::string slowed_text(const std::vector<validation::StudyResult>& results,
                        const std::map<std::string, Words>& words) {
  std::vector<Words> simulations;
  for (const auto& result : results)
    simulations.push_back(with_settings(words.at(result.name), {slowed_setting()}));
  const auto steps = steps_of(simulations);
  std::map<std::string, std::pair<double, std::string>> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto [place, is_first] = places.try_emplace(place_of(results[i]), steps[i], "");
    auto& [own_s, text] = place->second;
    text +=
        fmt::format("{} {} {}", is_first ? "" : ",", results[i].experiment.sync.compression, ms(steps[i]));
    if (!is_first) text += fmt::format(" ({})", change_text(steps[i], own_s));
  }
  std::string text;
  for (const auto& [place, found] : places)
    text += fmt::format("  {} if kernels take {} times as long while messages move, the worst known:{}\n",
                        place, worst_slowdown, found.second);
  return text;
}

/// "  at least 90 % of one device's speed: up to 64 workers at 25Gbps". `efficiencies`: by bandwidth and
/// number of workers.
std::string scaling_text(const std::map<std::string, std::map<std::size_t, double>>& efficiencies) {
  constexpr double asked = 0.9;
  std::string text;
  for (const auto& [within, by_workers] : efficiencies) {
    if (by_workers.size() < 2) continue;
    std::size_t most = 0;
    for (const auto& [workers, efficiency] : by_workers) {
      if (efficiency < asked) break;
      most = workers;
    }
    text += fmt::format(
        "  at least {} of one device's speed each, at {}: {}\n", share_text(asked), within,
        most == 0 ? "with none of these numbers of workers" : fmt::format("up to {} workers", most));
  }
  return text;
}

}  // namespace

void print_answer(const std::string& directory, const JobOptions& job, const ClusterOptions& cluster,
                  const std::string& one_device) {
  if (!cluster.is_wanted()) return;
  const Results results = read_results(directory);
  const Experiment& experiment = results.info.experiment;
  const ComparedSteps compared = compared_steps(results, job, one_device);
  const StepAnswer answer = step_answer(results, cluster.within);
  fmt::print("\n{}{}{}", headline(answer, compared, experiment, cluster),
             origins_text(job, experiment, results.info.physics), comparisons_text(answer, compared));
  if (compared.gpu_alone)
    fmt::print(
        "launch-bound: between {} and {}. The GPU waited for the processor while it was profiled, and the "
        "profiler slows\nthe processor down. For one number, import the trace again with the step's time "
        "without the profiler\n(--step-time), or a trace of the job with CUDA graphs.\n",
        ms(*compared.gpu_alone), ms(answer.step_s));
}

std::string vary_text(const validation::Suite& suite, std::vector<validation::StudyResult> results,
                      const JobOptions& job, const std::string& one_device) {
  std::erase_if(results, [](const auto& result) { return result.failed(); });
  if (results.empty()) return "";
  std::map<std::string, Words> words;  // by name
  for (const auto& one : suite.configurations) words[one.name] = words_for("simulate", one, one.settings);
  const auto alone = steps_alone(results, words, one_device);
  const bool has_bounds =
      std::ranges::any_of(results, has_host_time) && !std::ranges::all_of(results, has_host_time);
  std::map<std::string, double> own;  // by place: the first value of a grid is the job's own
  std::map<std::string, std::map<std::size_t, double>> efficiencies;
  std::set<std::string> methods;
  std::string text;
  for (const auto& result : results) {
    const std::string bound = !has_bounds ? "" : has_host_time(result) ? ", as profiled" : ", GPU alone";
    const std::string place = place_of(result) + bound;
    methods.insert(result.experiment.sync.compression);
    text +=
        fmt::format("{:<20} {:<10} {:>9}", place, result.experiment.sync.compression, ms(result.step_time_s));
    if (const auto found = alone.find(has_host_time(result)); found != alone.end()) {
      const double efficiency = found->second / result.step_time_s;
      text += fmt::format("  {:>5} of one device's speed each", share_text(efficiency));
      efficiencies[place.substr(place.rfind('-') + 1)][result.workers] = efficiency;
    }
    const auto [known, is_own] = own.try_emplace(place, result.step_time_s);
    if (!is_own) text += "  " + change_text(result.step_time_s, known->second);
    text += '\n';
  }
  const auto& first = results.front();
  text += scaling_text(efficiencies) + origins_text(job, first.experiment, first.environment.physics);
  if (methods.size() > 1 && !has_bounds && may_be_slower(first.experiment, first.environment.physics))
    text += slowed_text(results, words);
  return text;
}

}  // namespace tandem::cli
