// Times the plain libtorch loop (bare_resnet.hpp) with the model, batch and precision of a measured run,
// whose result directory is the argument, and prints how long a step of the run's worker takes in comparison:
// that of the real tandem-rank, alone. Without a GPU it prints a message, but with --processor both are those
// of the processor.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/benchmarks/bare_resnet.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/support/gpu.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {
namespace {

constexpr int warm_up_steps = 5;

/// Random labels and pixels.
std::vector<std::byte> records_of(const DatasetInfo& info, std::int64_t samples) {
  Rng rng(3);
  const auto record = static_cast<std::size_t>(info.record_bytes().count());
  const auto classes = static_cast<std::uint64_t>(info.classes);
  std::vector<std::byte> records(static_cast<std::size_t>(samples) * record);
  for (std::size_t at = 0; at < records.size(); ++at)
    records[at] = static_cast<std::byte>(rng.below(at % record == 0 ? classes : 256));
  return records;
}

/// Median of the steps after the first ones, which the run's statistics leave out too.
double worker_s(const Results& run) {
  std::vector<double> times;
  for (const StepRecord& step : run.journal.steps)
    if (step.step >= run.info.experiment.warmup_steps) times.push_back(step.duration().count());
  if (times.empty()) throw ConfigError(run.path + ": expected more steps than warmup_steps");
  return median(times);
}

/// Median of as many steps as the run has.
double bare_s(BareResNet& loop, Records records, std::size_t steps) {
  for (int step = 0; step < warm_up_steps; ++step) loop.step(records);
  std::vector<double> times;
  for (std::size_t step = 0; step < steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    loop.step(records);
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(times);
}

void compare(const Results& run, ComputeDevice& device) {
  const Experiment& experiment = run.info.experiment;
  const auto& workload = experiment.workload;
  if (workload.image_size != 0 || !workload.model.starts_with("resnet"))
    throw ConfigError(run.path + ": expected a ResNet of the catalogue, and images of their own size");
  LearnerSetting setting;
  setting.model = workload.model;
  setting.dataset = load_dataset({.name = workload.dataset,
                                  .directory = workload.dataset_directory,
                                  .train_samples = 1,
                                  .test_samples = 1,
                                  .seed = 1})
                        ->info();
  setting.bucket_bytes = workload.bucket_bytes;
  setting.precision = workload.precision;
  setting.deterministic = workload.deterministic;
  if (!device.is_host()) setting.gpu = 0;
  const auto learner = make_learner(setting, device);
  const auto records = records_of(setting.dataset, workload.batch);
  const double worker = worker_s(run);
  double fastest = 0.0;
  for (const auto layout : {TensorLayout::contiguous, TensorLayout::channels_last}) {
    BareResNet loop(setting, *learner, device, workload.batch, layout);
    const double step = bare_s(loop, records, run.journal.steps.size());
    const bool is_contiguous = layout == TensorLayout::contiguous;
    std::printf("bare %-16s %10.3f ms\n", is_contiguous ? "contiguous" : "channels_last", 1e3 * step);
    fastest = is_contiguous ? step : std::min(fastest, step);
  }
  std::printf("worker of the run    %10.3f ms\n", 1e3 * worker);
  std::printf("worker / bare        %10.4f (%s, batch %d, %s)\n", worker / fastest, setting.model.c_str(),
              workload.batch, device.name().c_str());
}

int run(int argc, char** argv) {
  const bool on_processor = argc == 3 && argv[2] == std::string("--processor");
  if (argc != 2 && !on_processor) {
    std::fprintf(stderr, "expected the result directory of a run of one worker, and perhaps --processor\n");
    return 2;
  }
  auto gpu = testing::find_gpu();
  if (gpu.device == nullptr && !on_processor) {
    std::printf("bare_loop: nothing measured, because %s\n", gpu.reason.c_str());
    return 0;
  }
  compare(read_results(argv[1]), on_processor ? host_device() : *gpu.device);
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  try {
    return tandem::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_loop: %s\n", error.what());
    return 2;
  }
}
