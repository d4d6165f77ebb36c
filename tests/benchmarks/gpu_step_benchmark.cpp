// Compares a worker's training step of ResNets on a GPU with the same step in a bare libtorch loop: a batch
// of 256 copied and decoded, forward, backward (the worker's bucket by bucket), SGD with momentum. Both
// compute with the same precision and alternate. Without a GPU it only prints a message.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/benchmarks/gpu_step.hpp"
#include "tests/benchmarks/learner_loop.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/support/gpu.hpp"
#include "tests/workloads/learner/reference_zoo.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/learner/torch_mode.hpp"
#include "workloads/vectors/owned_mark.hpp"

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

/// What a PyTorch user would write following PyTorch's own advice: pinned memory, one call that updates all
/// parameters, and bf16 with channels-last layout.
class BareResNet {
 public:
  BareResNet(const LearnerSetting& setting, LearnerLoop& other, ComputeDevice& device)
      : setting_(setting), mode_{torch_device(setting), setting.precision, setting.deterministic} {
    auto& learner = other.learner();
    for (const auto& tensor : learner.description().tensors) {
      at::Tensor value = torch::empty(tensor.shape);
      copy_and_await(device, value.data_ptr<float>(), learner.model().data() + tensor.offset,
                     static_cast<std::size_t>(tensor.elements()) * sizeof(float));
      value = value.to(mode_.device);
      if (channels_last() && value.dim() == 4) value = value.contiguous(at::MemoryFormat::ChannelsLast);
      tensors_[tensor.name] = value;
      if (tensor.statistic) continue;
      value.requires_grad_(true);
      parameters_.push_back(value);
      velocities_.push_back(torch::zeros_like(value).detach());
    }
    const auto& info = setting.dataset;
    pinned_ = torch::empty({batch_samples, info.record_bytes().count()},
                           torch::TensorOptions(torch::kByte).pinned_memory(true));
  }

  void step(Records records) {
    mode_.apply();
    std::ranges::copy(records, reinterpret_cast<std::byte*>(pinned_.data_ptr<std::uint8_t>()));
    const auto& info = setting_.dataset;
    const auto raw = pinned_.to(mode_.device, /*non_blocking=*/true);
    at::Tensor pixels = raw.narrow(1, 1, raw.size(1) - 1).to(torch::kFloat).div_(255.0).sub_(info.mean);
    pixels = pixels.div_(info.deviation).view({batch_samples, info.channels, info.height, info.width});
    if (channels_last()) pixels = pixels.contiguous(at::MemoryFormat::ChannelsLast);
    at::Tensor loss;
    {
      const Autocast autocast(mode_);
      reference::Pass pass(tensors_, Rng(1));
      loss = torch::cross_entropy_loss(pass.run(setting_.model, pixels), raw.select(1, 0).to(torch::kLong));
    }
    loss.backward();
    update();
    benchmark::DoNotOptimize(loss.item<double>());
  }

 private:
  bool channels_last() const { return setting_.precision == Precision::bf16; }

  void update() {
    const torch::NoGradGuard without_gradients;
    std::vector<at::Tensor> gradients;
    for (auto& parameter : parameters_) gradients.push_back(parameter.grad());
    at::_foreach_add_(gradients, parameters_, weight_decay);
    at::_foreach_mul_(velocities_, momentum);
    at::_foreach_add_(velocities_, gradients);
    at::_foreach_add_(parameters_, velocities_, -learning_rate);
    for (auto& parameter : parameters_) parameter.mutable_grad().reset();
  }

  LearnerSetting setting_;
  TorchMode mode_;
  std::map<std::string, at::Tensor> tensors_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> velocities_;
  at::Tensor pinned_;
};

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

/// Reports the worker's time; the counters give the medians of the loops, and the ratio to the bare one.
/// `at_once_ms`: without a worker's waits. `roofline`: the share of the GPU's peak rate, where backward
/// counts as twice forward.
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
  BareResNet bare(setting, learner, *gpu.device);
  const std::function<void()> loops[] = {[&] { learner.step(records); },
                                         [&] { learner.step_at_once(records); }, [&] { bare.step(records); }};
  for (int step = 0; step < warm_up_steps; ++step)
    for (const auto& loop : loops) loop();
  std::array<std::vector<double>, 3> times_s;
  for (auto _ : state) {
    for (std::size_t loop = 0; loop < times_s.size(); ++loop)
      times_s[loop].push_back(seconds_of(loops[loop]));
    state.SetIterationTime(times_s[0].back());
  }
  const double worker_s = median(times_s[0]);
  const double bare_s = median(times_s[2]);
  const double work =
      3.0 * learner.learner().description().forward().count() * static_cast<double>(batch_samples);
  state.counters["worker_ms"] = 1e3 * worker_s;
  state.counters["at_once_ms"] = 1e3 * median(times_s[1]);
  state.counters["bare_ms"] = 1e3 * bare_s;
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
