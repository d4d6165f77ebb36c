#include "workloads/learner/flat_learner.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

constexpr std::int64_t evaluation_batch = 256;

at::Device device_for(const LearnerSetting& setting) {
  const auto gpus = at::getNumGPUs();
  if (gpus == 0) return at::kCPU;
  const auto index = static_cast<std::size_t>(setting.gpu) % gpus;
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

}  // namespace

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

Decoder::Decoder(const DatasetInfo& info) : info_(info) {
  for (std::size_t value = 0; value < scaled_.size(); ++value)
    scaled_[value] = (static_cast<float>(value) / 255.0F - info.mean) / info.deviation;
}

void Decoder::decode(std::span<const std::byte> records, Batch& batch) const {
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

FlatLearner::FlatLearner(const LearnerSetting& setting, ModelDescription description, ModelPlace place)
    : description_(std::move(description)),
      decoder_(setting.dataset),
      image_size_(setting.image_size),
      device_(device_for(setting)),
      random_seed_(Rng::stream(setting.seed, "dropout", static_cast<std::uint64_t>(setting.replica)).next()) {
  use_one_thread();
  host_model_ = at::empty({description_.elements()}, at::kFloat);
  gradient_ = at::zeros_like(host_model_);
  const bool apart = place == ModelPlace::own_copy || device_ != at::kCPU;
  model_ = apart ? at::empty(host_model_.sizes(), host_model_.options().device(device_)) : host_model_;
}

void FlatLearner::load(std::span<const std::byte> records) {
  // A backward that is under way still reads its images: the next batch gets memory of its own then.
  const bool under_way = next_bucket_ >= 0 && next_bucket_ < std::ssize(description_.buckets);
  if (under_way) batch_ = {};
  decoder_.decode(records, batch_);
}

double FlatLearner::forward() {
  TANDEM_CHECK(batch_.pixels.defined(), "forward before load");
  const at::AutoGradMode with_gradients(true);
  refresh_model();
  const at::Tensor loss =
      train(pixels_of(batch_), batch_.labels.to(device_), Rng::stream(random_seed_, "step", steps_++));
  return_statistics();
  next_bucket_ = 0;
  return loss.item<double>();
}

void FlatLearner::backward(int bucket) {
  TANDEM_CHECK(bucket == next_bucket_ && bucket < std::ssize(description_.buckets), "bucket", bucket,
               "expected", next_bucket_);
  ++next_bucket_;
  differentiate(bucket);
  const auto index = static_cast<std::size_t>(bucket);
  statistics_of(gradient_, index).copy_(statistics_of(host_model_, index));
}

EvaluationResult FlatLearner::evaluate(std::span<const std::byte> records) {
  const at::NoGradGuard without_gradients;
  refresh_model();
  const std::size_t record = decoder_.record_bytes();
  const std::size_t chunk = record * evaluation_batch;
  std::int64_t correct = 0;
  double loss = 0.0;
  Batch batch;
  for (auto rest = records; !rest.empty(); rest = rest.subspan(std::min(chunk, rest.size()))) {
    decoder_.decode(rest.first(std::min(chunk, rest.size())), batch);
    const at::Tensor outputs = evaluate_pixels(pixels_of(batch));
    const at::Tensor labels = batch.labels.to(device_);
    loss += at::cross_entropy_loss(outputs, labels, {}, at::Reduction::Sum).item<double>();
    correct += outputs.argmax(1).eq(labels).sum().item<std::int64_t>();
  }
  const auto samples = static_cast<double>(records.size() / record);
  TANDEM_CHECK(samples > 0, "evaluate without records");
  return {.accuracy = static_cast<double>(correct) / samples, .loss = loss / samples};
}

std::span<float> FlatLearner::span_of(const at::Tensor& flat) {
  return {flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel())};
}

/// By address rather than by narrow(): views share one version counter, and autograd would take the change of
/// a running statistic for a change of the weights.
at::Tensor FlatLearner::window(const at::Tensor& flat, const TensorDescription& tensor) {
  return at::from_blob(flat.data_ptr<float>() + tensor.offset, tensor.shape, flat.options());
}

at::Tensor FlatLearner::statistics_of(const at::Tensor& flat, std::size_t bucket) const {
  const auto& part = description_.buckets[bucket];
  return flat.narrow(0, part.offset + part.parameters, part.statistics);
}

at::Tensor FlatLearner::pixels_of(const Batch& batch) const {
  const at::Tensor pixels = batch.pixels.to(device_);
  if (image_size_ == 0) return pixels;
  return at::upsample_bilinear2d(pixels, {image_size_, image_size_}, /*align_corners=*/false);
}

void FlatLearner::refresh_model() {
  if (is_apart()) model_.copy_(host_model_);
}

void FlatLearner::return_statistics() {
  if (!is_apart()) return;
  for (std::size_t bucket = 0; bucket < description_.buckets.size(); ++bucket)
    statistics_of(host_model_, bucket).copy_(statistics_of(model_, bucket));
}

}  // namespace tandem
