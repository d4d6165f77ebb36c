// The answer of `simulate --workers` in words.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/answer_origins.hpp"
#include "cli/commands/compared_jobs.hpp"
#include "cli/commands/what_if.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/measured_buckets.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

constexpr double hardly = 0.01;  // share of a step that is not worth a word

double phase_of(const Summary& summary, Phase phase) {
  const auto found = summary.phases.find(phase_names[static_cast<std::size_t>(phase)]);
  return found == summary.phases.end() ? 0.0 : found->second.mean_s;
}

/// Seconds of the step of compared jobs, where they are known.
struct ComparedSteps {
  std::optional<double> alone;            ///< one device's, without exchange
  std::optional<double> slowed;           ///< if kernels are slower while messages move
  std::optional<double> rings;            ///< if all sums go by NCCL's ring
  std::optional<double> slower_links;     ///< if links carry a part of their rate
  std::optional<double> without_buffers;  ///< if nothing is sent before the forward pass
  std::optional<double> gpu_alone;        ///< of a launch-bound job: if the GPU never waits
};

ComparedSteps compared_steps(const Results& results, const ClusterFiles& files) {
  const Experiment& job = results.info.experiment;
  const auto& physics = results.info.physics;
  ComparedSteps compared;
  std::vector<Experiment> jobs;
  std::vector<std::optional<double>*> found;
  const auto add = [&](std::optional<Experiment> other, std::optional<double>& into) {
    if (!other) return;
    jobs.push_back(std::move(*other));
    found.push_back(&into);
  };
  add(one_device_alone(job, files.one_device), compared.alone);
  add(with_slower_kernels(job, physics), compared.slowed);
  add(with_rings(job, physics), compared.rings);
  add(with_slower_links(job, physics, files.slower_links), compared.slower_links);
  add(without_buffers(job), compared.without_buffers);
  add(with_gpu_alone(job), compared.gpu_alone);
  if (jobs.empty()) return compared;
  const auto steps = simulated_steps(std::move(jobs));
  for (std::size_t i = 0; i < steps.size(); ++i) *found[i] = steps[i];
  return compared;
}

/// What a step of the job does, by its mean after the warm-up.
struct StepAnswer {
  double step_s = 0;
  double computing_s = 0;     ///< or launching, if that takes longer
  bool is_launching = false;  ///< the processor launches longer than the device computes
  double buffers_s = 0;       ///< before the forward pass
  double exposed_s = 0;       ///< of the exchange of gradients
  double bytes = 0;           ///< of each worker's gradients, or what it sends to servers
  double last_share = 0;      ///< of the bucket that is complete last
  double link_s = 0;          ///< that the bytes need of the busiest link; 0: not known
  std::size_t servers = 0;    ///< whose links are the busiest; 0: those of the workers are
  bool is_drawn = false;      ///< steps vary, so that workers wait for each other
};

double sent_by_each(const Results& results) {
  // Rows of ranks may be those of classes.
  const std::int64_t steps = results.summary.steps;
  if (steps == 0) return 0;
  return static_cast<double>(results.summary.bytes.sent) / static_cast<double>(steps);
}

/// A sum of n workers moves 2 (n - 1) / n of its bytes over each link. Those of the library are recorded
/// without this factor, but for those in closed form.
void add_links(const Results& results, double rate, StepAnswer& answer) {
  const Experiment& job = results.info.experiment;
  const auto workers = static_cast<double>(job.placement.workers.size());
  const double sent = sent_by_each(results);
  answer.bytes = sent;
  if (job.sync.over == sync::Route::server) {
    answer.servers = std::max<std::size_t>(1, job.placement.servers.size());
    answer.link_s = workers * sent / static_cast<double>(answer.servers) / rate;
  }
  if (job.sync.over != sync::Route::all_reduce || workers < 2) return;
  const double factor = 2 * (workers - 1) / workers;
  if (job.sync.collective != native_all_reduce || is_priced(results.info.physics)) answer.bytes /= factor;
  answer.bytes -= static_cast<double>(job.workload.measured_buffers.count());
  answer.link_s = factor * answer.bytes / rate;
}

StepAnswer step_answer(const Results& results, const std::string& within, const ComparedSteps& compared) {
  const Summary& summary = results.summary;
  const auto& workload = results.info.experiment.workload;
  const Experiment& job = results.info.experiment;
  StepAnswer answer{.step_s = summary.step_time.mean};
  answer.is_drawn = job.run.slowdown_probability > 0.0 || job.physics.noise != NoiseSource::none;
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    answer.computing_s += phase_of(summary, phase);
  // The processor launches the rest of a step during the exchange.
  const double host_s = workload.measured_host.count();
  answer.is_launching = host_s > answer.computing_s;
  answer.computing_s = std::max(answer.computing_s, host_s);
  answer.buffers_s = std::max(0.0, answer.step_s - compared.without_buffers.value_or(answer.step_s));
  answer.exposed_s = std::max(0.0, answer.step_s - answer.computing_s - answer.buffers_s);
  if (!workload.measured_buckets.empty()) {
    const auto buckets = parse_buckets(workload.measured_buckets, "workload.measured_buckets");
    double all = 0;
    for (const auto& bucket : buckets) all += static_cast<double>(bucket.size.count());
    answer.last_share = static_cast<double>(buckets.back().size.count()) / all;
  }
  if (const auto rate = parse_rate(within)) add_links(results, rate->count(), answer);
  return answer;
}

/// "because the last bucket (9.7 MB) leaves 6.2 ms after the backward pass; all else is hidden".
std::string reason_of(const StepAnswer& answer) {
  constexpr double about = 1.1, latencies_s = 1e-3;
  const double last_s = answer.link_s * answer.last_share;
  const char* const computing = answer.is_launching ? "launching" : "computing";
  if (answer.exposed_s < hardly * answer.step_s)
    return fmt::format("because the exchange is hidden: {} takes {}", computing, ms_text(answer.computing_s));
  if (answer.last_share > 0 && answer.exposed_s < about * last_s + latencies_s)
    return fmt::format("because the last bucket ({}) leaves {} after the backward pass; all else is hidden",
                       with_unit(answer.last_share * answer.bytes, Unit::bytes), ms_text(answer.exposed_s));
  const std::string exposed =
      fmt::format("because {} of the exchange{} are not hidden", ms_text(answer.exposed_s),
                  answer.is_drawn ? ", with waiting for slower workers," : "");
  const std::string computed = fmt::format("{} takes {}", computing, ms_text(answer.computing_s));
  if (answer.servers > 0)
    return fmt::format(
        "{}: each worker sends {} a step, for which the link of {} needs {}, and as long for the answers; {}",
        exposed, with_unit(answer.bytes, Unit::bytes), answer.servers == 1 ? "the server" : "each server",
        ms_text(answer.link_s), computed);
  if (answer.link_s == 0) return fmt::format("{}; {}", exposed, computed);
  return fmt::format("{}: {} a step need {} of each link, and {}", exposed,
                     with_unit(answer.bytes, Unit::bytes), ms_text(answer.link_s), computed);
}

/// " (101.7 to 127.5 ms)": from the spread of steps, and from each assumption that may fail.
std::string range_text(const StepAnswer& answer, const ComparedSteps& compared, double spread) {
  const double low = answer.step_s * (1 - spread);
  double high = answer.step_s * (1 + spread);
  for (const auto& other : {compared.slowed, compared.rings, compared.slower_links})
    high = std::max(high, other.value_or(0));
  return high < (1 + hardly) * low ? "" : fmt::format(" ({:.1f} to {})", 1e3 * low, ms_text(high));
}

std::string headline(const StepAnswer& answer, const ComparedSteps& compared, const Experiment& experiment,
                     const ClusterFiles& files) {
  return fmt::format("step {}{} on {} x {} at {}{}, {}\n", ms_text(answer.step_s),
                     range_text(answer, compared, experiment.physics.spread), files.place.workers,
                     files.place.device, files.place.within,
                     compared.alone ? fmt::format(" ({} of one device's speed each)",
                                                  share_text(*compared.alone / answer.step_s))
                                    : "",
                     reason_of(answer));
}

/// What the step is compared with.
std::string comparisons_text(const StepAnswer& answer, const ComparedSteps& compared) {
  std::string text;
  if (compared.alone)
    text += fmt::format(
        "  one device's step without exchange: {}; faster links or fewer bytes save at most {} ({})\n",
        ms_text(*compared.alone), ms_text(std::max(0.0, answer.step_s - *compared.alone)),
        share_text(std::max(0.0, 1 - *compared.alone / answer.step_s)));
  constexpr double shown_s = 5e-5;
  if (answer.buffers_s > shown_s)
    text += fmt::format(
        "  buffers of the first worker, sent to all before each forward pass, take {} of the step: "
        "DistributedDataParallel(broadcast_buffers=False) sends none\n",
        ms_text(answer.buffers_s));
  if (compared.rings)
    text += fmt::format(
        "  with rings alone (physics.all_reduce=ring): {}{}\n", ms_text(*compared.rings),
        compared.alone ? fmt::format(" ({})", share_text(*compared.alone / *compared.rings)) : "");
  if (compared.slower_links)
    text += fmt::format("  with {} of the rate of every link: {}\n", share_text(low_link_share),
                        ms_text(*compared.slower_links));
  if (compared.slowed)
    text += fmt::format(
        "  assumed: kernels are not slower while messages move; at {} times, the worst known, the step takes "
        "{}\n",
        worst_slowdown, ms_text(*compared.slowed));
  return text;
}

}  // namespace

void print_answer(const std::string& directory, const JobOptions& job, const ClusterOptions& cluster,
                  const ClusterFiles& files) {
  if (!cluster.is_wanted()) return;
  const Results results = read_results(directory);
  const Experiment& experiment = results.info.experiment;
  const ComparedSteps compared = compared_steps(results, files);
  const StepAnswer answer = step_answer(results, files.place.within, compared);
  fmt::print("\n{}{}{}", headline(answer, compared, experiment, files),
             origins_text(job, experiment, {results.info.physics}), comparisons_text(answer, compared));
  if (compared.gpu_alone)
    fmt::print(
        "launch-bound: between {} and {}. The GPU waited for the processor while it was profiled, and the "
        "profiler slows\nthe processor down. For one number, import the trace again with the step's time "
        "without the profiler\n(--step-time), or a trace of the job with CUDA graphs.\n",
        ms_text(*compared.gpu_alone), ms_text(answer.step_s));
}

}  // namespace tandem::cli
