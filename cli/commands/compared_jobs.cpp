#include "cli/commands/compared_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/jobs/priced_jobs.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scratch_folder.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// Real mathematics would be computed again, for the same times.
bool is_compared(const Experiment& job) { return job.workload.math == Math::modelled; }

/// All workers wait for each other in each step, and nothing is drawn.
bool has_equal_steps(const Experiment& job) {
  return job.sync.over == sync::Route::all_reduce && job.sync.algorithm == "bsp" &&
         job.physics.noise == NoiseSource::none && job.run.slowdown_probability == 0.0 &&
         job.data.source == DataSource::memory && !job.transience.may_depart() &&
         job.checkpoint.policy.empty() && job.evaluate_every == 0 &&
         job.optimizer.schedule == RateDecay::constant;
}

void shorten(Experiment& job) {
  constexpr int measured_steps = 2;
  if (has_equal_steps(job) && job.stop.rounds > 0)
    job.stop.rounds = std::min<std::int64_t>(job.stop.rounds, job.warmup_steps + measured_steps);
}

}  // namespace

std::string sums_of(const json& physics) {
  return physics.is_object() ? physics.value("native_all_reduce", "") : "";
}

bool are_calibrated(const json& physics) {
  const std::string sums = sums_of(physics);
  return sums.starts_with("as calibrated") || sums.starts_with("by a formula");
}

bool is_priced(const json& physics) {
  return physics.is_object() && physics.value("fidelity", "") == priced_fidelity;
}

std::optional<Experiment> one_device_alone(const Experiment& job, const std::string& platform) {
  if (job.sync.over != sync::Route::all_reduce || !is_compared(job)) return std::nullopt;
  Experiment alone = job;
  alone.platform = platform;
  alone.placement = {};
  alone.placement.servers = {"server"};
  alone.sync.compression = "none";
  alone.sync.compression_options.clear();
  alone.physics.overlap_slowdown = 1.0;
  return alone;
}

std::optional<Experiment> with_slower_kernels(const Experiment& job, const json& physics) {
  const bool overlaps = physics.is_object() && physics.value("overlap_s", 0.0) > 0;
  // Where workers do not wait for each other, a step may become shorter.
  if (!is_compared(job) || job.sync.algorithm != "bsp" || job.physics.overlap_slowdown != 1.0 || !overlaps)
    return std::nullopt;
  Experiment slower = job;
  slower.physics.overlap_slowdown = worst_slowdown;
  return slower;
}

std::optional<Experiment> with_rings(const Experiment& job, const json& physics) {
  const std::string sums = sums_of(physics);
  const bool has_trees = sums.starts_with("as NCCL's") && sums.find("tree") < sums.find(',');
  if (!is_compared(job) || !has_trees) return std::nullopt;
  Experiment rings = job;
  rings.physics.all_reduce = LibraryAlgorithm::ring;
  return rings;
}

std::optional<Experiment> with_slower_links(const Experiment& job, const json& physics,
                                            const std::string& platform) {
  if (!is_compared(job) || are_calibrated(physics)) return std::nullopt;
  Experiment slower = job;
  slower.platform = platform;
  return slower;
}

std::optional<Experiment> without_buffers(const Experiment& job) {
  const bool has_any =
      job.workload.measured_buffers > Bytes(0) || job.workload.bucket_rule == BucketRule::ddp;
  if (!is_compared(job) || !has_any || !job.sync.average_statistics) return std::nullopt;
  Experiment without = job;
  without.sync.average_statistics = false;
  return without;
}

std::optional<Experiment> with_gpu_alone(const Experiment& job) {
  if (job.workload.measured_host == Seconds(0) || !job.variants.contains(gpu_alone_variant))
    return std::nullopt;
  Experiment alone = apply_variant(job, gpu_alone_variant);
  alone.name = job.name;
  return alone;
}

std::vector<double> simulated_steps(std::vector<Experiment> jobs) {
  const ScratchFolder folder(new_temporary_path("tandem-answer-"));
  std::vector<Subcommand> commands;
  std::vector<std::string> outs;
  for (Experiment& job : jobs) {
    shorten(job);
    const std::string out = (folder.path() / std::to_string(outs.size())).string();
    write_whole_file(out + ".yaml", to_yaml(job));
    commands.push_back({{"simulate", out + ".yaml", "--out", out}, out + ".log"});
    outs.push_back(out);
  }
  ProgressBar bar(fmt::format("compare with {} other{}", jobs.size(), jobs.size() == 1 ? "" : "s"));
  run_subcommands(commands, std::max(1, static_cast<int>(std::thread::hardware_concurrency())),
                  [&](double done) { bar.update(done); });
  std::vector<double> steps;
  for (const auto& out : outs) steps.push_back(read_results(out).summary.step_time.mean);
  return steps;
}

}  // namespace tandem::cli
