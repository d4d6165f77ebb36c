#include "workloads/learner/step_loss.hpp"

#include <cstring>

#include "policies/vocabulary/check.hpp"

namespace tandem {

StepLoss::StepLoss(const TorchRunner& runner) : runner_(runner) {
  ComputeDevice& device = runner.compute_device();
  if (!device.is_host()) fetched_ = PinnedArray<std::byte>(device, sizeof(float));
}

StepLoss::~StepLoss() { fetching_.await_end(); }

at::Tensor StepLoss::of(const at::Tensor& outputs, const at::Tensor& labels) {
  const at::Tensor mean = mean_of(outputs, labels);
  if (!runner_.setting().sums_gradients) return mean;
  const at::Tensor sum = mean * labels.size(0);
  return mean.detach() + (sum - sum.detach());
}

at::Tensor StepLoss::mean_of(const at::Tensor& outputs, const at::Tensor& labels) {
  // The mean of losses has other bits than the mean loss that libtorch computes directly.
  if (!runner_.setting().sample_losses) return at::cross_entropy_loss(outputs, labels);
  const at::Tensor losses = at::cross_entropy_loss(outputs, labels, {}, at::Reduction::None);
  of_samples_ = losses.detach();
  if (weights_.empty()) return losses.mean();
  const at::Tensor weights =
      at::from_blob(weights_.data(), {std::ssize(weights_)}, at::kFloat).to(runner_.device());
  return (losses * weights).mean();
}

void StepLoss::keep(const at::Tensor& loss) {
  ComputeDevice& device = runner_.compute_device();
  mean_ = loss.detach();
  if (device.is_host()) return;
  device.copy(fetched_.data(), mean_.data_ptr<float>(), sizeof(float));
  fetching_ = OwnedMark(device, device.mark());
}

double StepLoss::value() {
  TANDEM_CHECK(mean_.defined(), "loss before forward");
  if (runner_.compute_device().is_host()) return mean_.item<double>();
  fetching_.await();
  float value = 0.0F;
  std::memcpy(&value, fetched_.data(), sizeof value);
  return value;
}

std::span<const float> StepLoss::values_of_samples() {
  TANDEM_CHECK(of_samples_.defined(), "sample losses before forward, or not kept");
  const StreamInUse stream(runner_.device(), runner_.compute_device().libtorch_stream());
  const at::Tensor losses = of_samples_.to(at::kCPU, at::kFloat).contiguous();
  fetched_of_samples_.assign(losses.data_ptr<float>(), losses.data_ptr<float>() + losses.numel());
  return fetched_of_samples_;
}

}  // namespace tandem
