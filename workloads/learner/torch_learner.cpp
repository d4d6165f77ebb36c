// The learner on libtorch. The network is the plan's layers applied to tensors that are windows into one flat
// model; autograd is cut between segments, so that each bucket's backward is a call of its own.
#include "workloads/learner/torch_learner.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "workloads/learner/model_plan.hpp"

namespace tandem {
namespace {

constexpr double batch_norm_momentum = 0.1;
constexpr double batch_norm_epsilon = 1e-5;
constexpr std::int64_t evaluation_batch = 256;

void use_one_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::set_num_threads(1);
    at::set_num_interop_threads(1);
    // OpenBLAS keeps its own threads, which libtorch does not know of; another BLAS does not have this
    // function.
    if (void* found = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
      reinterpret_cast<void (*)(int)>(found)(1);
    at::globalContext().setBenchmarkCuDNN(false);
    at::globalContext().setDeterministicCuDNN(true);
  });
}

at::Device device_for(const LearnerSetting& setting) {
  const auto gpus = at::getNumGPUs();
  if (gpus == 0) return at::kCPU;
  const auto index = static_cast<std::size_t>(setting.gpu) % gpus;
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

struct Batch {
  at::Tensor pixels;
  at::Tensor labels;
};

/// Turns records into normalised pixels and labels.
class Decoder {
 public:
  explicit Decoder(const DatasetInfo& info) : info_(info) {
    for (std::size_t value = 0; value < scaled_.size(); ++value)
      scaled_[value] = (static_cast<float>(value) / 255.0F - info.mean) / info.deviation;
  }

  std::size_t record_bytes() const { return static_cast<std::size_t>(info_.record_bytes().count()); }

  /// Reuses the batch's memory when it has the right size.
  void decode(std::span<const std::byte> records, Batch& batch) const {
    const std::size_t record = record_bytes();
    TANDEM_CHECK(!records.empty() && records.size() % record == 0, records.size(), record);
    const auto samples = static_cast<std::int64_t>(records.size() / record);
    if (!batch.pixels.defined() || batch.pixels.size(0) != samples) {
      batch.pixels = at::empty({samples, info_.channels, info_.height, info_.width}, at::kFloat);
      batch.labels = at::empty({samples}, at::kLong);
    }
    float* pixel = batch.pixels.data_ptr<float>();
    auto* label = batch.labels.data_ptr<std::int64_t>();
    for (auto rest = records; !rest.empty(); rest = rest.subspan(record)) {
      *label = std::to_integer<std::int64_t>(rest[0]);
      TANDEM_CHECK(*label < info_.classes, "label", *label, "classes", info_.classes);
      ++label;
      for (const std::byte value : rest.subspan(1, record - 1))
        *pixel++ = scaled_[std::to_integer<std::size_t>(value)];
    }
  }

 private:
  DatasetInfo info_;
  std::array<float, 256> scaled_{};
};

/// Applies layers to activations. `tensors` are those of the plan, in its order.
class Network {
 public:
  Network(const std::vector<at::Tensor>& tensors, bool training) : tensors_(tensors), training_(training) {}

  at::Tensor run(const std::vector<Layer>& layers, at::Tensor x) const {
    for (const auto& layer : layers) {
      const at::Tensor* first = tensors_.data() + layer.first_tensor;
      x = std::visit([&](const auto& operation) { return apply(operation, first, x); }, layer.operation);
    }
    return x;
  }

 private:
  at::Tensor apply(const Convolution& convolution, const at::Tensor* tensor, const at::Tensor& x) const {
    return at::conv2d(x, tensor[0], convolution.bias ? tensor[1] : at::Tensor(), convolution.stride,
                      convolution.padding);
  }
  at::Tensor apply(const Linear&, const at::Tensor* tensor, const at::Tensor& x) const {
    return at::linear(x, tensor[0], tensor[1]);
  }
  at::Tensor apply(const BatchNorm&, const at::Tensor* tensor, const at::Tensor& x) const {
    return at::batch_norm(x, tensor[0], tensor[1], tensor[2], tensor[3], training_, batch_norm_momentum,
                          batch_norm_epsilon, /*cudnn_enabled=*/true);
  }
  at::Tensor apply(const Relu&, const at::Tensor*, const at::Tensor& x) const { return at::relu(x); }
  at::Tensor apply(const MaxPool& pool, const at::Tensor*, const at::Tensor& x) const {
    return at::max_pool2d(x, pool.size);
  }
  at::Tensor apply(const GlobalAveragePool&, const at::Tensor*, const at::Tensor& x) const {
    return at::mean(x, {2, 3}, /*keepdim=*/true);
  }
  at::Tensor apply(const Flatten&, const at::Tensor*, const at::Tensor& x) const { return x.flatten(1); }
  at::Tensor apply(const Residual& residual, const at::Tensor*, const at::Tensor& x) const {
    return at::relu(run(residual.body, x) + run(residual.shortcut, x));
  }

  const std::vector<at::Tensor>& tensors_;
  bool training_;
};

class TorchLearner final : public Learner {
 public:
  TorchLearner(const LearnerSetting& setting, ModelPlace place)
      : plan_(plan_model(setting)), decoder_(setting.dataset), device_(device_for(setting)) {
    use_one_thread();
    const auto values = initial_model(plan_, setting.seed);
    host_model_ = at::empty({plan_.description.elements()}, at::kFloat);
    std::ranges::copy(values, model().begin());
    gradient_ = at::zeros_like(host_model_);
    const bool apart = place == ModelPlace::own_copy || device_ != at::kCPU;
    model_ = apart ? at::empty(host_model_.sizes(), host_model_.options().device(device_)) : host_model_;
    bind_tensors();
    stretches_.resize(plan_.segments.size());
  }

  const ModelDescription& description() const override { return plan_.description; }
  std::span<float> model() override { return span_of(host_model_); }
  std::span<float> gradient() override { return span_of(gradient_); }

  void load(std::span<const std::byte> records) override {
    // A backward that is under way still reads its images: the next batch gets memory of its own then.
    if (stretches_.front().output.defined()) batch_ = {};
    decoder_.decode(records, batch_);
  }

  double forward() override {
    TANDEM_CHECK(batch_.pixels.defined(), "forward before load");
    const at::AutoGradMode with_gradients(true);
    refresh_model();
    const Network network(tensors_, /*training=*/true);
    at::Tensor x = batch_.pixels.to(device_);
    for (std::size_t segment = 0; segment < stretches_.size(); ++segment) {
      // Cut from what comes before; nobody asks for the gradient of the images.
      x = x.detach();
      if (segment > 0) x.requires_grad_(true);
      stretches_[segment].input = x;
      x = network.run(plan_.segments[segment].layers, x);
      stretches_[segment].output = x;
    }
    auto& loss = stretches_.back().output;
    loss = at::cross_entropy_loss(x, batch_.labels.to(device_));
    return_statistics();
    next_bucket_ = 0;
    gradient_of_output_ = at::Tensor();
    return loss.item<double>();
  }

  void backward(int bucket) override {
    TANDEM_CHECK(bucket == next_bucket_ && bucket < std::ssize(plan_.description.buckets), "bucket", bucket,
                 "expected", next_bucket_);
    ++next_bucket_;
    for (std::size_t segment = stretches_.size(); segment-- > 0;)
      if (plan_.bucket_of_segment[segment] == bucket) differentiate(segment);
    const auto index = static_cast<std::size_t>(bucket);
    statistics_of(gradient_, index).copy_(statistics_of(host_model_, index));
  }

  EvaluationResult evaluate(std::span<const std::byte> records) override {
    const at::NoGradGuard without_gradients;
    refresh_model();
    const Network network(tensors_, /*training=*/false);
    const std::size_t record = decoder_.record_bytes();
    const std::size_t chunk = record * evaluation_batch;
    std::int64_t correct = 0;
    double loss = 0.0;
    Batch batch;
    for (auto rest = records; !rest.empty(); rest = rest.subspan(std::min(chunk, rest.size()))) {
      decoder_.decode(rest.first(std::min(chunk, rest.size())), batch);
      at::Tensor x = batch.pixels.to(device_);
      for (const auto& segment : plan_.segments) x = network.run(segment.layers, x);
      const at::Tensor labels = batch.labels.to(device_);
      loss += at::cross_entropy_loss(x, labels, {}, at::Reduction::Sum).item<double>();
      correct += x.argmax(1).eq(labels).sum().item<std::int64_t>();
    }
    const auto samples = static_cast<double>(records.size() / record);
    TANDEM_CHECK(samples > 0, "evaluate without records");
    return {.accuracy = static_cast<double>(correct) / samples, .loss = loss / samples};
  }

 private:
  /// What autograd needs to differentiate one segment on its own.
  struct Stretch {
    at::Tensor input;
    at::Tensor output;
  };
  /// A trained tensor and the window of the flat gradient that is its own.
  struct Trained {
    at::Tensor tensor;
    at::Tensor gradient;
  };

  static std::span<float> span_of(const at::Tensor& flat) {
    return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
  }

  void bind_tensors() {
    trained_.resize(plan_.segments.size());
    for (std::size_t index = 0; index < plan_.description.tensors.size(); ++index) {
      const auto& description = plan_.description.tensors[index];
      // Windows by address rather than by narrow(): views share one version counter, and autograd would take
      // the change of a running statistic for a change of the weights.
      at::Tensor tensor =
          at::from_blob(model_.data_ptr<float>() + description.offset, description.shape, model_.options());
      tensors_.push_back(tensor);
      if (description.statistic) continue;
      tensor.requires_grad_(true);
      trained_[plan_.segment_of_tensor[index]].push_back(
          {tensor, at::from_blob(gradient_.data_ptr<float>() + description.offset, description.shape,
                                 gradient_.options())});
    }
  }

  /// Copies each gradient while it is still in the processor's cache: that is why segments, not buckets, are
  /// cut.
  void differentiate(std::size_t segment) {
    const Stretch stretch = std::exchange(stretches_[segment], {});
    const auto& trained = trained_[segment];
    std::vector<at::Tensor> sources;
    for (const auto& item : trained) sources.push_back(item.tensor);
    if (segment > 0) sources.push_back(stretch.input);
    const auto gradients = torch::autograd::grad({stretch.output}, sources, {gradient_of_output_});
    const at::NoGradGuard without_gradients;
    for (std::size_t item = 0; item < trained.size(); ++item) trained[item].gradient.copy_(gradients[item]);
    gradient_of_output_ = segment > 0 ? gradients.back() : at::Tensor();
  }

  at::Tensor statistics_of(const at::Tensor& flat, std::size_t index) const {
    const auto& bucket = plan_.description.buckets[index];
    return flat.narrow(0, bucket.offset + bucket.parameters, bucket.statistics);
  }

  bool is_apart() const { return !model_.is_same(host_model_); }
  void refresh_model() {
    if (is_apart()) model_.copy_(host_model_);
  }
  void return_statistics() {
    if (!is_apart()) return;
    for (std::size_t bucket = 0; bucket < plan_.description.buckets.size(); ++bucket)
      statistics_of(host_model_, bucket).copy_(statistics_of(model_, bucket));
  }

  ModelPlan plan_;
  Decoder decoder_;
  at::Device device_;
  at::Tensor host_model_;            ///< flat, what model() shows
  at::Tensor gradient_;              ///< flat, in host memory
  at::Tensor model_;                 ///< flat, what the network computes with; host_model_ unless apart
  std::vector<at::Tensor> tensors_;  ///< windows into model_, by tensor of the description
  std::vector<std::vector<Trained>> trained_;  ///< by segment
  std::vector<Stretch> stretches_;             ///< by segment, from forward to its backward
  Batch batch_;
  at::Tensor gradient_of_output_;  ///< of the next segment; undefined stands for 1, the loss's own
  int next_bucket_ = -1;           ///< whose turn backward is; -1 before the first forward
};

}  // namespace

std::unique_ptr<Learner> make_torch_learner(const LearnerSetting& setting, ModelPlace place) {
  return std::make_unique<TorchLearner>(setting, place);
}

}  // namespace tandem
