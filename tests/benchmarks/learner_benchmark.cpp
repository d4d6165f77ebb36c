// Compares one LeNet training step of the learner with the same step in a bare libtorch loop: a batch of 64
// assembled, forward, backward, SGD with momentum. The two alternate, so that other load on the machine
// affects both.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <vector>

#include "tests/benchmarks/gpu_step.hpp"
#include "tests/benchmarks/learner_loop.hpp"
#include "tests/benchmarks/median.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem {
namespace {

constexpr std::int64_t batch_samples = 64;

/// What a PyTorch user would write.
class BareLeNet {
 public:
  explicit BareLeNet(const DatasetInfo& info)
      : info_(info),
        optimizer_(network_->parameters(),
                   torch::optim::SGDOptions(learning_rate).momentum(momentum).weight_decay(weight_decay)),
        pixels_(torch::empty({batch_samples, info.channels, info.height, info.width})),
        labels_(torch::empty({batch_samples}, torch::kLong)) {
    for (std::size_t value = 0; value < 256; ++value)
      scaled_[value] = (static_cast<float>(value) / 255.0F - info.mean) / info.deviation;
  }

  void step(Records records) {
    assemble(records);
    optimizer_.zero_grad();
    const auto loss = torch::cross_entropy_loss(network_->forward(pixels_), labels_);
    loss.backward();
    optimizer_.step();
    benchmark::DoNotOptimize(loss.item<double>());
  }

 private:
  void assemble(Records records) {
    float* pixel = pixels_.data_ptr<float>();
    auto* label = labels_.data_ptr<std::int64_t>();
    const auto record = static_cast<std::size_t>(info_.record_bytes().count());
    for (std::size_t at = 0; at < records.size(); at += record) {
      *label++ = std::to_integer<std::int64_t>(records[at]);
      for (const auto value : records.subspan(at + 1, record - 1))
        *pixel++ = scaled_[std::to_integer<std::size_t>(value)];
    }
  }

  DatasetInfo info_;
  torch::nn::Sequential network_{torch::nn::Conv2d(1, 20, 5),  torch::nn::MaxPool2d(2),     torch::nn::ReLU(),
                                 torch::nn::Conv2d(20, 50, 5), torch::nn::MaxPool2d(2),     torch::nn::ReLU(),
                                 torch::nn::Flatten(),         torch::nn::Linear(800, 500), torch::nn::ReLU(),
                                 torch::nn::Linear(500, 10)};
  torch::optim::SGD optimizer_;
  at::Tensor pixels_;
  at::Tensor labels_;
  std::array<float, 256> scaled_{};
};

/// Seconds of every step of one loop: wall-clock time, and CPU time, which other programs disturb less.
struct Times {
  std::vector<double> wall_s;
  std::vector<double> cpu_s;
};

double cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Loop>
void time_step(Loop& loop, Records batch, Times& times) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu_start = cpu_now();
  loop.step(batch);
  times.cpu_s.push_back(cpu_now() - cpu_start);
  times.wall_s.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

/// Reports the learner's time; the counters give the medians of both loops and their ratios.
void lenet_step(benchmark::State& state) {
  const auto dataset = load_dataset({"synthetic", "", 8 * batch_samples, 1, 1});
  const auto batch_bytes = static_cast<std::size_t>((dataset->info().record_bytes() * batch_samples).count());
  const auto records = dataset->records(Dataset::Part::train);
  LearnerSetting setting;
  setting.model = "lenet";
  setting.dataset = dataset->info();
  setting.bucket_bytes = Bytes(state.range(0));
  LearnerLoop learner(setting, host_device());
  BareLeNet bare(dataset->info());
  Times learner_times;
  Times bare_times;
  std::size_t step = 0;
  for (auto _ : state) {
    const auto batch = records.subspan(step % 8 * batch_bytes, batch_bytes);
    // The second loop finds warmer caches, so the order alternates.
    if (step % 2 == 0) time_step(learner, batch, learner_times);
    time_step(bare, batch, bare_times);
    if (step % 2 == 1) time_step(learner, batch, learner_times);
    ++step;
    state.SetIterationTime(learner_times.wall_s.back());
  }
  state.counters["learner_ms"] = 1e3 * median(learner_times.wall_s);
  state.counters["bare_ms"] = 1e3 * median(bare_times.wall_s);
  state.counters["ratio"] = median(learner_times.wall_s) / median(bare_times.wall_s);
  state.counters["cpu_ratio"] = median(learner_times.cpu_s) / median(bare_times.cpu_s);
}

BENCHMARK(lenet_step)
    ->ArgName("bucket_bytes")
    ->Arg(0)
    ->Arg(64 << 10)
    ->Iterations(200)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  try {
    benchmark::Initialize(&argc, argv);
    tandem::add_gpu_steps(argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "learner_benchmark: %s\n", error.what());
    return 2;
  }
  return 0;
}
