#include "workloads/learner/flat_learner.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

FlatLearner::FlatLearner(const LearnerSetting& setting, ModelDescription description,
                         ComputeDevice& compute_device)
    : runner_(setting, compute_device),
      flat_(std::move(description), compute_device, runner_.device()),
      batches_(setting.dataset, compute_device, runner_.device()),
      evaluated_(setting.dataset, compute_device, runner_.device()),
      loss_(runner_),
      backward_(compute_device, flat_.buckets()),
      random_seed_(Rng::stream(setting.seed, "dropout", static_cast<std::uint64_t>(setting.replica)).next()) {
}

void FlatLearner::load(std::span<const std::byte> records) {
  const auto images = static_cast<std::int64_t>(records.size() / batches_.record_bytes());
  runner_.within_memory(images, [&] { batches_.load(records, backward_.is_running()); });
  loss_.weigh({});
}

void FlatLearner::forward() {
  TANDEM_CHECK(batches_.samples() > 0, "forward before load");
  const at::AutoGradMode with_gradients(true);
  is_repeating_ = repeats_step();
  if (!is_repeating_)
    compute_forward();
  else
    runner_.compute(batches_.samples(), [this] {
      begin_pass(random_of_step());
      recording_.repeat_forward(batches_.batch(), loss_);
    });
  ++steps_;
  backward_.begin();
}

void FlatLearner::compute_forward() {
  // The backward pass of the step before was stopped.
  if (backward_.is_running()) drop_pass();
  flat_.keep_statistics();
  const auto pass = [this] {
    const Autocast autocast(runner_.mode());
    const Batch& batch = batches_.batch();
    begin_pass(random_of_step());
    loss_.keep(train(scaled(batch.pixels), batch.labels));
  };
  const auto undo = [this] {
    drop_pass();
    flat_.restore_statistics();
  };
  runner_.compute(batches_.samples(), [&] { runner_.try_twice(pass, undo); });
}

/// Weights of samples come from the processor, so no graph has them.
bool FlatLearner::repeats_step() {
  if (!runner_.setting().graphs || runner_.compute_device().is_host() || loss_.has_weights()) return false;
  if (recording_.is_due(batches_.samples())) record_step();
  return recording_.has(batches_.samples());
}

void FlatLearner::record_step() {
  // The memory of the size before, and of the steps so far, is for this size.
  recording_.discard();
  runner_.compute_device().finish();
  runner_.compute_device().free_cache();
  auto graphs = make_step_graphs(runner_.device());
  if (graphs == nullptr) return;
  runner_.compute(batches_.samples(), [&] {
    const Batch& batch = batches_.batch();
    begin_pass(random_of_step());
    const auto pass = [this](const Batch& own) {
      const Autocast autocast(runner_.mode());
      return train(scaled(own.pixels), own.labels);
    };
    try {
      recording_.record(std::move(graphs), batch, loss_, pass, flat_.buckets(),
                        [this](int bucket) { calculate_gradients(bucket); });
    } catch (const std::exception& error) {
      drop_pass();
      if (lacks_memory(error)) throw;
      const std::string complaint = error.what();
      throw WorldError("key 'run.cuda_graphs': '" + runner_.setting().model +
                       "' cannot be recorded as CUDA graphs, set it to false (" +
                       complaint.substr(0, complaint.find('\n')) + ')');
    }
  });
}

void FlatLearner::weigh(std::span<const float> weights) {
  TANDEM_CHECK(runner_.setting().sample_losses && std::ssize(weights) == batches_.samples(), weights.size(),
               batches_.samples());
  loss_.weigh(weights);
}

void FlatLearner::backward(int bucket) {
  backward_.request(bucket);
  runner_.compute(batches_.samples(),
                  [this, bucket] { backward_.run(bucket, [this](int one) { calculate(one); }); });
}

void FlatLearner::calculate(int bucket) {
  if (is_repeating_)
    recording_.repeat_backward(bucket);
  else
    calculate_gradients(bucket);
  if (after_backward_) after_backward_(bucket);
}

/// Gradients of a bucket, and its running statistics in their places.
void FlatLearner::calculate_gradients(int bucket) {
  differentiate(bucket);
  flat_.hand_out_statistics(bucket);
}

EvaluationResult FlatLearner::evaluate(std::span<const std::byte> records) {
  TANDEM_CHECK(!records.empty(), "evaluate without records");
  const at::NoGradGuard without_gradients;
  const at::Device device = runner_.device();
  const std::size_t record = evaluated_.record_bytes();
  const std::size_t chunk = record * evaluation_batch;
  constexpr std::int64_t top = 5;
  EvaluationResult result;
  const auto pass = [&] {
    // Summed on the device and fetched once: each fetch would wait for the device.
    at::Tensor loss = at::zeros({}, at::TensorOptions(at::kDouble).device(device));
    at::Tensor correct = at::zeros({}, at::TensorOptions(at::kLong).device(device));
    std::optional<at::Tensor> among_top;
    for (auto rest = records; !rest.empty(); rest = rest.subspan(std::min(chunk, rest.size()))) {
      evaluated_.load(rest.first(std::min(chunk, rest.size())), /*in_use=*/false);
      const Autocast autocast(runner_.mode());
      const Batch& batch = evaluated_.batch();
      const at::Tensor outputs = evaluate_pixels(scaled(batch.pixels)).to(at::kFloat);
      loss += at::cross_entropy_loss(outputs, batch.labels, {}, at::Reduction::Sum);
      correct += outputs.argmax(1).eq(batch.labels).sum();
      if (outputs.size(1) <= top) continue;
      const at::Tensor found = std::get<1>(outputs.topk(top, 1)).eq(batch.labels.unsqueeze(1)).sum();
      among_top = among_top ? *among_top + found : found;
    }
    const auto samples = static_cast<double>(records.size() / record);
    result.accuracy = static_cast<double>(correct.item<std::int64_t>()) / samples;
    result.loss = loss.item<double>() / samples;
    if (among_top) result.top5_accuracy = static_cast<double>(among_top->item<std::int64_t>()) / samples;
  };
  runner_.compute(evaluation_batch, [&] { runner_.try_twice(pass); });
  return result;
}

at::Tensor FlatLearner::scaled(const at::Tensor& pixels) const {
  const std::int64_t side = runner_.setting().image_size;
  // Images of files were decoded to this size.
  if (side == 0 || (pixels.size(2) == side && pixels.size(3) == side)) return pixels;
  return at::upsample_bilinear2d(pixels, {side, side}, /*align_corners=*/false);
}

}  // namespace tandem
