// Compares a worker's training step of ResNets on a GPU with the same step in a bare libtorch loop: a batch
// of 256 copied and decoded, forward, backward (the worker's bucket by bucket), SGD with momentum. Both
// load the next batch while the GPU computes, use the same precision, and alternate. Without a GPU it only
// prints a message.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/benchmarks/bare_resnet.hpp"
#include "tests/benchmarks/gpu_step.hpp"
#include "tests/benchmarks/learner_loop.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/support/gpu.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace {

constexpr std::int64_t batch_samples = 256;
constexpr int warm_up_steps = 5;

/// Random labels and pixels.
std::vector<std::byte> make_records(const DatasetInfo& info) {
  Rng rng(3);
  const auto record = static_cast<std::size_t>(info.record_bytes().count());
  std::vector<std::byte> records(static_cast<std::size_t>(batch_samples) * record);
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i] = static_cast<std::byte>(i % record == 0 ? rng.below(10) : rng.below(256));
  return records;
}

double seconds_of(const std::function<void()>& step) {
  const auto start = std::chrono::steady_clock::now();
  step();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Case {
  std::string model;
  int side;  ///< of the images
  Precision precision;
  bool deterministic;  ///< also of the bare loop; jobs are deterministic by default
  double peak;         ///< of the GPU in this precision, in operations per second
};

/// Reports the worker's time; the counters give the medians of the loops, and the ratio to the bare one in
/// the faster of its two layouts. `at_once_ms`: without a worker's waits. `graphs`: the worker's time with
/// steps from CUDA graphs / without. `roofline`: the share of the GPU's peak rate, where backward counts as
/// twice forward.
void gpu_step(benchmark::State& state, const Case& what) {
  const auto gpu = testing::find_gpu();
  if (gpu.device == nullptr) return state.SkipWithError(gpu.reason.c_str());
  LearnerSetting setting;
  setting.model = what.model;
  setting.dataset = {.name = "noise", .channels = 3, .height = what.side, .width = what.side, .classes = 10};
  setting.bucket_bytes = Bytes(4 << 20);
  setting.precision = what.precision;
  setting.deterministic = what.deterministic;
  setting.gpu = 0;
  const auto records = make_records(setting.dataset);
  LearnerLoop learner(setting, *gpu.device);
  LearnerSetting from_graphs = setting;
  from_graphs.graphs = true;
  LearnerLoop repeating(from_graphs, *gpu.device);
  const auto bare_loop = [&](TensorLayout layout) {
    return BareResNet(setting, learner.learner(), *gpu.device, batch_samples, layout);
  };
  BareResNet contiguous = bare_loop(TensorLayout::contiguous);
  BareResNet channels_last = bare_loop(TensorLayout::channels_last);
  const std::function<void()> loops[] = {[&] { learner.step_loading_ahead(records); },
                                         [&] { learner.step_at_once(records); },
                                         [&] { benchmark::DoNotOptimize(contiguous.step(records)); },
                                         [&] { benchmark::DoNotOptimize(channels_last.step(records)); },
                                         [&] { repeating.step_loading_ahead(records); }};
  for (int step = 0; step < warm_up_steps; ++step)
    for (const auto& loop : loops) loop();
  std::array<std::vector<double>, 5> times_s;
  for (auto _ : state) {
    for (std::size_t loop = 0; loop < times_s.size(); ++loop)
      times_s[loop].push_back(seconds_of(loops[loop]));
    state.SetIterationTime(times_s[0].back());
  }
  const double worker_s = median(times_s[0]);
  const double bare_s = std::min(median(times_s[2]), median(times_s[3]));
  const double work =
      3.0 * learner.learner().description().forward().count() * static_cast<double>(batch_samples);
  state.counters["worker_ms"] = 1e3 * worker_s;
  state.counters["at_once_ms"] = 1e3 * median(times_s[1]);
  state.counters["bare_ms"] = 1e3 * bare_s;
  state.counters["bare_contiguous_ms"] = 1e3 * median(times_s[2]);
  state.counters["bare_channels_last_ms"] = 1e3 * median(times_s[3]);
  TANDEM_CHECK(repeating.learner().repeated_steps() > 0, "no step was repeated");
  state.counters["graphs_ms"] = 1e3 * median(times_s[4]);
  state.counters["graphs"] = median(times_s[4]) / worker_s;
  state.counters["ratio"] = worker_s / bare_s;
  state.counters["roofline"] = work / worker_s / what.peak;
  state.counters["bare_roofline"] = work / bare_s / what.peak;
  state.counters["images_per_s"] = static_cast<double>(batch_samples) / worker_s;
}

struct Peak {
  const char* name;
  Precision precision;
  double tera;  ///< 10^12 operations a second
};

std::vector<Peak> parse_peaks(int argc, char** argv) {
  std::vector<Peak> peaks = {
      {"fp32", Precision::fp32, 67.0}, {"tf32", Precision::tf32, 494.5}, {"bf16", Precision::bf16, 989.0}};
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    const auto peak = std::ranges::find_if(
        peaks, [&](const Peak& one) { return word.starts_with(std::string("--peak_") + one.name + '='); });
    if (peak != peaks.end()) peak->tera = std::atof(word.c_str() + word.find('=') + 1);
    if (peak == peaks.end() || !(peak->tera > 0.0))
      throw ConfigError(
          "expected --peak_fp32=, --peak_tf32= or --peak_bf16= with 10^12 operations a second, "
          "found '" +
          word + "'");
  }
  return peaks;
}

}  // namespace

void add_gpu_steps(int argc, char** argv) {
  for (const Peak& peak : parse_peaks(argc, argv))
    for (const char* model : {"resnet18", "resnet50"})
      for (const int side : {32, 224})
        for (const bool deterministic : {false, true}) {
          const Case what{model, side, peak.precision, deterministic, 1e12 * peak.tera};
          const std::string name = std::string("gpu_step/") + model + '/' + std::to_string(side) + '/' +
                                   peak.name + (deterministic ? "/deterministic" : "/fastest");
          benchmark::RegisterBenchmark(name.c_str(),
                                       [what](benchmark::State& state) { gpu_step(state, what); })
              ->Iterations(30)
              ->UseManualTime()
              ->Unit(benchmark::kMillisecond);
        }
}

}  // namespace tandem
