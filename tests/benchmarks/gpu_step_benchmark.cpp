// A training step of ResNets on a GPU through the learner beside the same step in a bare libtorch loop: a
// batch of 256 copied and decoded, forward, backward (the learner's bucket by bucket), SGD with momentum.
// Both compute with the same precision, and the two take turns. Reports nothing but a message without a GPU.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "tests/support/gpu.hpp"
#include "tests/workloads/reference_zoo.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/learner/torch_mode.hpp"

namespace tandem {
namespace {

constexpr std::int64_t batch_samples = 256;
constexpr double learning_rate = 0.01;
constexpr double momentum = 0.9;
constexpr double weight_decay = 5e-4;
constexpr int warm_up_steps = 5;

using Records = std::span<const std::byte>;

/// Labels and pixels of noise.
std::vector<std::byte> make_records(const DatasetInfo& info) {
  Rng rng(3);
  const auto record = static_cast<std::size_t>(info.record_bytes().count());
  std::vector<std::byte> records(static_cast<std::size_t>(batch_samples) * record);
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i] = static_cast<std::byte>(i % record == 0 ? rng.below(10) : rng.below(256));
  return records;
}

/// The step through the learner; arithmetic of the update is the device's.
class LearnerLoop {
 public:
  LearnerLoop(const LearnerSetting& setting, ComputeDevice& device)
      : device_(device),
        learner_(make_learner(setting, device)),
        velocity_(device, learner_->model().size()) {}

  void step(Records records) {
    learner_->load(records);
    learner_->forward();
    const auto& buckets = learner_->description().buckets;
    for (int bucket = 0; bucket < static_cast<int>(buckets.size()); ++bucket) {
      learner_->backward(bucket);
      device_.forget(device_.kernel_end());
    }
    const SgdStep step{1.0F, static_cast<float>(learning_rate), static_cast<float>(momentum),
                       static_cast<float>(weight_decay), false};
    for (const auto& bucket : buckets)
      device_.sgd(learner_->model().data() + bucket.offset, learner_->gradient().data() + bucket.offset,
                  velocity_.data() + bucket.offset, bucket.parameters, step);
    benchmark::DoNotOptimize(learner_->loss());
    device_.finish();
  }

  Learner& learner() { return *learner_; }

 private:
  ComputeDevice& device_;
  std::unique_ptr<Learner> learner_;
  FloatArray velocity_;
};

/// What a PyTorch user would write, with its own advice followed: pinned memory, one call for all parameters
/// in the update, and bf16 with the channels last.
class BareLoop {
 public:
  BareLoop(const LearnerSetting& setting, LearnerLoop& other, ComputeDevice& device)
      : setting_(setting), mode_{torch_device(setting), setting.precision, setting.deterministic} {
    auto& learner = other.learner();
    for (const auto& tensor : learner.description().tensors) {
      at::Tensor value = torch::empty(tensor.shape);
      device.copy(value.data_ptr<float>(), learner.model().data() + tensor.offset,
                  static_cast<std::size_t>(tensor.elements()) * sizeof(float));
      device.finish();
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

template <class Loop>
double seconds_of_step(Loop& loop, Records records) {
  const auto start = std::chrono::steady_clock::now();
  loop.step(records);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

/// Reports the learner's time; the counters give the medians of both loops, and their ratio.
void gpu_step(benchmark::State& state, const std::string& model, int side, Precision precision) {
  const auto gpu = testing::find_gpu();
  if (gpu.device == nullptr) return state.SkipWithError(gpu.reason.c_str());
  LearnerSetting setting;
  setting.model = model;
  setting.dataset = {.name = "noise", .channels = 3, .height = side, .width = side, .classes = 10};
  setting.bucket_bytes = Bytes(4 << 20);
  setting.precision = precision;
  setting.deterministic = false;
  setting.gpu = 0;
  const auto records = make_records(setting.dataset);
  LearnerLoop learner(setting, *gpu.device);
  BareLoop bare(setting, learner, *gpu.device);
  for (int step = 0; step < warm_up_steps; ++step) {
    learner.step(records);
    bare.step(records);
  }
  std::vector<double> learner_s;
  std::vector<double> bare_s;
  for (auto _ : state) {
    learner_s.push_back(seconds_of_step(learner, records));
    bare_s.push_back(seconds_of_step(bare, records));
    state.SetIterationTime(learner_s.back());
  }
  state.counters["learner_ms"] = 1e3 * median(learner_s);
  state.counters["bare_ms"] = 1e3 * median(bare_s);
  state.counters["ratio"] = median(learner_s) / median(bare_s);
  state.counters["images_per_s"] = static_cast<double>(batch_samples) / median(learner_s);
}

const bool registered = [] {
  constexpr std::pair<const char*, Precision> precisions[] = {
      {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"bf16", Precision::bf16}};
  for (const char* model : {"resnet18", "resnet50"})
    for (const int side : {32, 224})
      for (const auto& [name, precision] : precisions)
        benchmark::RegisterBenchmark(
            (std::string("gpu_step/") + model + '/' + std::to_string(side) + '/' + name).c_str(),
            [model, side, which = precision](benchmark::State& state) {
              gpu_step(state, model, side, which);
            })
            ->Iterations(30)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace tandem
