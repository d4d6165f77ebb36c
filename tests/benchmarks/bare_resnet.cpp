#include "tests/benchmarks/bare_resnet.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/torch.h>

#include <algorithm>

#include "tests/workloads/learner/reference_zoo.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// libtorch's interface for any device, so that this builds with a libtorch for processors too.
struct BatchPrefetch::Queue {
  explicit Queue(at::Device where)
      : device(where),
        guard(device.type()),
        copying(guard.getStreamFromGlobalPool(device, /*isHighPriority=*/false)),
        copied(device.type()) {}

  at::Device device;
  c10::impl::VirtualGuardImpl guard;
  c10::Stream copying;
  c10::Event copied;
};

BatchPrefetch::BatchPrefetch(at::Device device, std::int64_t samples, std::int64_t batch_bytes) {
  const bool is_gpu = device.is_cuda();
  const at::TensorOptions bytes(at::kByte);
  for (auto& slot : slots_) {
    slot.staged = at::empty({samples, batch_bytes / samples}, bytes.pinned_memory(is_gpu));
    slot.batch = is_gpu ? at::empty_like(slot.staged, bytes.device(device)) : slot.staged;
  }
  if (is_gpu) queue_ = std::make_unique<Queue>(device);
}

BatchPrefetch::~BatchPrefetch() = default;

void BatchPrefetch::begin(Records records) {
  auto& slot = slots_[next_];
  std::ranges::copy(records, reinterpret_cast<std::byte*>(slot.staged.data_ptr<std::uint8_t>()));
  if (queue_ == nullptr) return;
  const c10::StreamGuard use(queue_->copying);
  slot.batch.copy_(slot.staged, /*non_blocking=*/true);
  queue_->copied.record(queue_->copying);
}

at::Tensor BatchPrefetch::take() {
  if (queue_ != nullptr) queue_->copied.block(queue_->guard.getStream(queue_->device));
  const at::Tensor batch = slots_[next_].batch;
  next_ = 1 - next_;
  return batch;
}

BareResNet::BareResNet(const LearnerSetting& setting, Learner& other, ComputeDevice& other_device,
                       std::int64_t samples, TensorLayout layout)
    : setting_(setting),
      mode_{torch_device(setting), setting.precision, setting.deterministic},
      samples_(samples),
      layout_(layout),
      batches_(mode_.device, samples, setting.dataset.record_bytes().count() * samples) {
  for (const auto& tensor : other.description().tensors) {
    at::Tensor value = torch::empty(tensor.shape);
    copy_and_await(other_device, value.data_ptr<float>(), other.model().data() + tensor.offset,
                   static_cast<std::size_t>(tensor.elements()) * sizeof(float));
    value = value.to(mode_.device);
    if (layout == TensorLayout::channels_last && value.dim() == 4)
      value = value.contiguous(at::MemoryFormat::ChannelsLast);
    tensors_[tensor.name] = value;
    if (tensor.statistic) continue;
    value.requires_grad_(true);
    parameters_.push_back(value);
    velocities_.push_back(torch::zeros_like(value).detach());
  }
}

double BareResNet::step(Records next) {
  mode_.apply();
  if (!has_batch_) batches_.begin(next);
  has_batch_ = true;
  const at::Tensor raw = batches_.take();
  const auto& info = setting_.dataset;
  at::Tensor pixels = raw.narrow(1, 1, raw.size(1) - 1).to(torch::kFloat).div_(255.0).sub_(info.mean);
  pixels = pixels.div_(info.deviation).view({samples_, info.channels, info.height, info.width});
  if (layout_ == TensorLayout::channels_last) pixels = pixels.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor loss;
  {
    const Autocast autocast(mode_);
    reference::Pass pass(tensors_, Rng(1));
    loss = torch::cross_entropy_loss(pass.run(setting_.model, pixels), raw.select(1, 0).to(torch::kLong));
  }
  loss.backward();
  update();
  batches_.begin(next);
  return loss.item<double>();
}

void BareResNet::update() {
  const torch::NoGradGuard without_gradients;
  std::vector<at::Tensor> gradients;
  for (auto& parameter : parameters_) gradients.push_back(parameter.grad());
  // Found by name, because older versions of libtorch have no declaration of it.
  static const auto fused = c10::Dispatcher::singleton().findSchema({"aten::_fused_sgd_", ""});
  if (fused.has_value()) {
    torch::jit::Stack arguments;
    const double dampening = 0.0;
    const bool nesterov = false, maximises = false;
    torch::jit::push(arguments, parameters_, gradients, velocities_, weight_decay, momentum, learning_rate,
                     dampening, nesterov, maximises, first_update_, c10::IValue(), c10::IValue());
    fused->callBoxed(&arguments);
  } else {
    at::_foreach_add_(gradients, parameters_, weight_decay);
    at::_foreach_mul_(velocities_, momentum);
    at::_foreach_add_(velocities_, gradients);
    at::_foreach_add_(parameters_, velocities_, -learning_rate);
  }
  first_update_ = false;
  for (auto& parameter : parameters_) parameter.mutable_grad().reset();
}

}  // namespace tandem
