#include "workloads/learner/flat_learner.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/learner/network_copies.hpp"
#include "workloads/learner/out_of_memory.hpp"
#include "workloads/vectors/no_memory.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace {

/// Steps of a batch size before it is recorded; PyTorch's documentation of CUDA graphs suggests three.
constexpr int steps_before_recording = 3;

}  // namespace

FlatLearner::FlatLearner(const LearnerSetting& setting, ModelDescription description,
                         ComputeDevice& compute_device)
    : setting_(setting),
      description_(std::move(description)),
      compute_device_(compute_device),
      mode_{torch_device(setting), setting.precision, setting.deterministic},
      model_(compute_device, static_cast<std::size_t>(description_.elements())),
      gradient_(compute_device, static_cast<std::size_t>(description_.elements())),
      batches_(setting.dataset, compute_device, device()),
      evaluated_(setting.dataset, compute_device, device()),
      random_seed_(Rng::stream(setting.seed, "dropout", static_cast<std::uint64_t>(setting.replica)).next()) {
  TANDEM_CHECK(setting.precision != Precision::fp16, "fp16 needs a scaled loss");
  TANDEM_CHECK(!setting.gpu || !compute_device.is_host(), "gpu", *setting.gpu, "memory of",
               compute_device.name());
  if (compute_device.is_host()) return;
  fetched_ = PinnedArray<std::byte>(compute_device, sizeof(float));
  plan_copies_of_statistics();
}

/// A pass changes running statistics as it goes, which a second attempt must not find changed.
void FlatLearner::plan_copies_of_statistics() {
  std::int64_t all = 0;
  for (const BucketDescription& bucket : description_.buckets) all += bucket.statistics;
  statistics_ = FloatArray(compute_device_, static_cast<std::size_t>(all));
  float* kept = statistics_.data();
  for (const BucketDescription& bucket : description_.buckets) {
    if (bucket.statistics == 0) continue;
    float* const own = model_.data() + bucket.offset + bucket.parameters;
    statistics_out_.push_back({kept, own, bucket.statistics});
    statistics_back_.push_back({own, kept, bucket.statistics});
    kept += bucket.statistics;
  }
}

FlatLearner::~FlatLearner() { fetching_.await_end(); }

void FlatLearner::begin_with(std::span<const float> values) {
  TANDEM_CHECK(values.size() == model_.size(), values.size(), model_.size());
  copy_and_await(compute_device_, model_.data(), values.data(), values.size_bytes());
}

/// Whether the device lacks memory, for libtorch or for a library that it uses (cuBLAS, cuDNN).
bool lacks_memory(const std::exception& error) {
  if (const auto* lack = dynamic_cast<const NoMemoryError*>(&error)) return !lack->of_host();
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr || is_no_memory_message(error.what());
}

/// Reports a lack of memory in the user's terms. `images`: the batch size.
template <class Work>
void FlatLearner::within_memory(std::int64_t images, const Work& work) const {
  try {
    work();
  } catch (const std::exception& error) {
    if (!lacks_memory(error)) throw;
    throw WorldError(no_memory_message(error.what(), setting_, images, compute_device_.name()));
  }
}

/// Every computation of libtorch for this learner goes through here.
template <class Work>
void FlatLearner::compute(std::int64_t images, const Work& work) {
  mode_.apply();
  const StreamInUse stream(device(), compute_device_.libtorch_stream());
  wait_for_device();
  within_memory(images, work);
}

void FlatLearner::try_twice(const std::function<void()>& work, const std::function<void()>& undo) {
  try {
    return work();
  } catch (const std::exception& error) {
    if (!lacks_memory(error) && !may_be_no_memory_message(error.what())) throw;
    undo();
    if (!compute_device_.free_cache()) throw;
  }
  wait_for_device();
  work();
}

/// On a GPU, libtorch queues its work after the device's; the processor would overtake it.
void FlatLearner::wait_for_device() const {
  if (!setting_.gpu) compute_device_.finish();
}

void FlatLearner::load(std::span<const std::byte> records) {
  const auto images = static_cast<std::int64_t>(records.size() / batches_.record_bytes());
  within_memory(images, [&] { batches_.load(records, backward_is_running()); });
  weights_.clear();
}

void FlatLearner::forward() {
  TANDEM_CHECK(batches_.samples() > 0, "forward before load");
  const at::AutoGradMode with_gradients(true);
  is_repeating_ = repeats_step();
  is_repeating_ ? repeat_forward() : compute_forward();
  ++steps_;
  next_bucket_ = 0;
  calculated_ = 0;
  ahead_ = {};
}

void FlatLearner::compute_forward() {
  compute_device_.copy_all(statistics_out_);
  const auto pass = [this] {
    const Autocast autocast(mode_);
    const Batch& batch = batches_.batch();
    begin_pass(random_of_step());
    keep_loss(train(scaled(batch.pixels), batch.labels));
  };
  const auto undo = [this] {
    drop_pass();
    compute_device_.copy_all(statistics_back_);
  };
  compute(batches_.samples(), [&] { try_twice(pass, undo); });
}

void FlatLearner::repeat_forward() {
  compute(batches_.samples(), [this] {
    const Batch& batch = batches_.batch();
    recorded_->batch.pixels.copy_(batch.pixels);
    recorded_->batch.labels.copy_(batch.labels);
    begin_pass(random_of_step());
    recorded_->graphs->repeat(0);
    sample_losses_ = recorded_->sample_losses;
    keep_loss(recorded_->loss);
  });
  ++repeated_;
}

/// Whether this step is repeated. A batch size is recorded after some steps of it in a row, in which
/// libtorch's libraries choose algorithms; it replaces the size before, so that the last batch of an epoch,
/// which is often smaller, must not be recorded. Weights of samples come from the processor.
bool FlatLearner::repeats_step() {
  if (!setting_.graphs || compute_device_.is_host() || !weights_.empty()) return false;
  const std::int64_t samples = batches_.samples();
  if (recorded_ && recorded_->samples == samples) {
    alike_ = 0;
    return true;
  }
  alike_ = samples == last_samples_ ? alike_ + 1 : 1;
  last_samples_ = samples;
  if (alike_ <= steps_before_recording) return false;
  record_step();
  return recorded_.has_value();
}

void FlatLearner::record_step() {
  // The memory of the size before, and of the steps so far, is for this size.
  recorded_.reset();
  compute_device_.finish();
  compute_device_.free_cache();
  auto graphs = make_step_graphs(device());
  if (graphs == nullptr) return;
  compute(batches_.samples(), [&] {
    const Batch& batch = batches_.batch();
    RecordedStep step{batches_.samples(), std::move(graphs), {batch.pixels.clone(), batch.labels.clone()}};
    begin_pass(random_of_step());
    try {
      record_pieces(step);
    } catch (const std::exception& error) {
      drop_pass();
      if (lacks_memory(error)) throw;
      const std::string complaint = error.what();
      throw WorldError("key 'run.cuda_graphs': '" + setting_.model +
                       "' cannot be recorded as CUDA graphs, set it to false (" +
                       complaint.substr(0, complaint.find('\n')) + ')');
    }
    recorded_ = std::move(step);
  });
}

void FlatLearner::record_pieces(RecordedStep& step) {
  step.graphs->record([&] {
    const Autocast autocast(mode_);
    step.loss = train(scaled(step.batch.pixels), step.batch.labels).detach();
    step.sample_losses = sample_losses_;
  });
  for (int bucket = 0; bucket < buckets(); ++bucket)
    step.graphs->record([&] { calculate_gradients(bucket); });
}

void FlatLearner::keep_loss(const at::Tensor& loss) {
  loss_ = loss.detach();
  if (compute_device_.is_host()) return;
  compute_device_.copy(fetched_.data(), loss_.data_ptr<float>(), sizeof(float));
  fetching_ = OwnedMark(compute_device_, compute_device_.mark());
}

void FlatLearner::weigh(std::span<const float> weights) {
  TANDEM_CHECK(setting_.sample_losses && std::ssize(weights) == batches_.samples(), weights.size(),
               batches_.samples());
  weights_.assign(weights.begin(), weights.end());
}

at::Tensor FlatLearner::loss_of(const at::Tensor& outputs, const at::Tensor& labels) {
  // The mean of losses has other bits than the mean loss that libtorch computes at once.
  if (!setting_.sample_losses) return at::cross_entropy_loss(outputs, labels);
  const at::Tensor losses = at::cross_entropy_loss(outputs, labels, {}, at::Reduction::None);
  sample_losses_ = losses.detach();
  if (weights_.empty()) return losses.mean();
  const at::Tensor weights = at::from_blob(weights_.data(), {std::ssize(weights_)}, at::kFloat).to(device());
  return (losses * weights).mean();
}

std::span<const float> FlatLearner::sample_losses() {
  TANDEM_CHECK(sample_losses_.defined(), "sample losses before forward, or not kept");
  const StreamInUse stream(device(), compute_device_.libtorch_stream());
  const at::Tensor losses = sample_losses_.to(at::kCPU, at::kFloat).contiguous();
  fetched_losses_.assign(losses.data_ptr<float>(), losses.data_ptr<float>() + losses.numel());
  return fetched_losses_;
}

double FlatLearner::loss() {
  TANDEM_CHECK(loss_.defined(), "loss before forward");
  if (compute_device_.is_host()) return loss_.item<double>();
  fetching_.await();
  float value = 0.0F;
  std::memcpy(&value, fetched_.data(), sizeof value);
  return value;
}

void FlatLearner::backward(int bucket) {
  TANDEM_CHECK(bucket == next_bucket_ && bucket < buckets(), "bucket", bucket, "expected", next_bucket_);
  ++next_bucket_;
  compute(batches_.samples(), [this, bucket] {
    if (compute_device_.is_host()) return calculate(bucket);
    OwnedMark end = calculated_ > bucket ? std::move(ahead_) : calculate_to_mark(bucket);
    if (bucket + 1 < buckets()) ahead_ = calculate_to_mark(bucket + 1);
    compute_device_.end_kernel_at(end.give_away());
  });
}

void FlatLearner::calculate(int bucket) {
  if (is_repeating_)
    recorded_->graphs->repeat(static_cast<std::size_t>(bucket) + 1);
  else
    calculate_gradients(bucket);
  ++calculated_;
  if (after_backward_) after_backward_(bucket);
}

/// Gradients of a bucket, and its running statistics in their places.
void FlatLearner::calculate_gradients(int bucket) {
  differentiate(bucket);
  const auto& part = description_.buckets[static_cast<std::size_t>(bucket)];
  const auto begin = part.offset + part.parameters;
  const auto statistics = [&](const FloatArray& flat) {
    return tensor_over(flat.data() + begin, {part.statistics}, at::kFloat, device());
  };
  statistics(gradient_).copy_(statistics(model_));
}

OwnedMark FlatLearner::calculate_to_mark(int bucket) {
  calculate(bucket);
  return {compute_device_, compute_device_.mark()};
}

EvaluationResult FlatLearner::evaluate(std::span<const std::byte> records) {
  TANDEM_CHECK(!records.empty(), "evaluate without records");
  const at::NoGradGuard without_gradients;
  const std::size_t record = evaluated_.record_bytes();
  const std::size_t chunk = record * evaluation_batch;
  EvaluationResult result;
  const auto pass = [&] {
    // Summed on the device and fetched once: each fetch would wait for the device.
    at::Tensor loss = at::zeros({}, at::TensorOptions(at::kDouble).device(device()));
    at::Tensor correct = at::zeros({}, at::TensorOptions(at::kLong).device(device()));
    for (auto rest = records; !rest.empty(); rest = rest.subspan(std::min(chunk, rest.size()))) {
      evaluated_.load(rest.first(std::min(chunk, rest.size())), /*in_use=*/false);
      const Autocast autocast(mode_);
      const Batch& batch = evaluated_.batch();
      const at::Tensor outputs = evaluate_pixels(scaled(batch.pixels)).to(at::kFloat);
      loss += at::cross_entropy_loss(outputs, batch.labels, {}, at::Reduction::Sum);
      correct += outputs.argmax(1).eq(batch.labels).sum();
    }
    const auto samples = static_cast<double>(records.size() / record);
    result.accuracy = static_cast<double>(correct.item<std::int64_t>()) / samples;
    result.loss = loss.item<double>() / samples;
  };
  compute(evaluation_batch, [&] { try_twice(pass); });
  return result;
}

at::Tensor FlatLearner::window(const FloatArray& flat, const TensorDescription& tensor) const {
  return tensor_over(flat.data() + tensor.offset, tensor.shape, at::kFloat, device());
}

void FlatLearner::copy_gradients(std::span<const at::Tensor> windows, std::span<const at::Tensor> gradients) {
  const at::NoGradGuard without_gradients;
  // libtorch frees gradients when the caller is done with them. A GPU's queue has copied them before it does
  // anything else with their memory; another device's may not have.
  const bool in_order = compute_device_.is_host() || setting_.gpu;
  std::vector<FloatCopy> copies;
  for (std::size_t at = 0; at < windows.size(); ++at) {
    const auto copy = in_order ? copy_into_window(windows[at], gradients[at]) : std::nullopt;
    if (copy)
      copies.push_back(*copy);
    else
      windows[at].copy_(gradients[at]);
  }
  compute_device_.copy_all(copies);
}

at::Tensor FlatLearner::scaled(const at::Tensor& pixels) const {
  const std::int64_t side = setting_.image_size;
  // Images of files were decoded to this size.
  if (side == 0 || (pixels.size(2) == side && pixels.size(3) == side)) return pixels;
  return at::upsample_bilinear2d(pixels, {setting_.image_size, setting_.image_size}, /*align_corners=*/false);
}

}  // namespace tandem
