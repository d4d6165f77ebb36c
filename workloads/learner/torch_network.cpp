#include "workloads/learner/torch_network.hpp"

#include <span>

namespace tandem {
namespace {

constexpr double batch_norm_momentum = 0.1;

}  // namespace

at::Tensor Network::run(const std::vector<Layer>& layers, at::Tensor x) const {
  for (const auto& layer : layers) {
    const at::Tensor* first = layer.name.empty() ? nullptr : tensors_.data() + layer.first_tensor;
    x = std::visit([&](const auto& operation) { return apply(operation, first, x); }, layer.operation);
  }
  return x;
}

at::Tensor Network::apply(const Convolution& convolution, const at::Tensor* tensor,
                          const at::Tensor& x) const {
  const auto& padding = convolution.padding;
  return at::conv2d(x, tensor[0], convolution.bias ? tensor[1] : at::Tensor(), convolution.stride,
                    {padding.height, padding.width}, /*dilation=*/1, convolution.groups);
}

at::Tensor Network::apply(const Linear&, const at::Tensor* tensor, const at::Tensor& x) const {
  return at::linear(x, tensor[0], tensor[1]);
}

at::Tensor Network::apply(const BatchNorm& norm, const at::Tensor* tensor, const at::Tensor& x) const {
  const bool training = dropout_ != nullptr;
  // On processors some operations after a normalisation do not exist in bf16 (backward of ReLU6 in libtorch
  // 1.13).
  const bool widened = x.scalar_type() == at::kBFloat16 && !x.is_cuda();
  return at::batch_norm(widened ? x.to(at::kFloat) : x, tensor[0], tensor[1], tensor[2], tensor[3], training,
                        batch_norm_momentum, norm.epsilon, /*cudnn_enabled=*/true);
}

at::Tensor Network::apply(const Dropout& dropout, const at::Tensor*, const at::Tensor& x) const {
  if (dropout_ == nullptr) return x;
  // Drawing on the processor and copying would take longer than the rest of the layer.
  if (x.is_cuda()) return at::dropout(x, dropout.probability, /*train=*/true);
  // Drawn by Tandem's own generator: the same on every machine.
  const at::Tensor factors = at::empty(x.sizes(), at::kFloat);
  const auto kept = static_cast<float>(1.0 / (1.0 - dropout.probability));
  for (float& factor : std::span(factors.data_ptr<float>(), static_cast<std::size_t>(factors.numel())))
    factor = dropout_->uniform() < dropout.probability ? 0.0F : kept;
  return x * factors;
}

at::Tensor Network::apply(const PadChannels& pad, const at::Tensor*, const at::Tensor& x) const {
  const at::Tensor fewer = x.slice(2, 0, x.size(2), pad.stride).slice(3, 0, x.size(3), pad.stride);
  return at::constant_pad_nd(fewer, {0, 0, 0, 0, 0, pad.outputs - x.size(1)});
}

at::Tensor Network::apply(const Residual& residual, const at::Tensor*, const at::Tensor& x) const {
  const at::Tensor sum = run(residual.body, x) + run(residual.shortcut, x);
  return residual.rectified ? at::relu(sum) : sum;
}

at::Tensor Network::apply(const Branches& branches, const at::Tensor*, const at::Tensor& x) const {
  std::vector<at::Tensor> outputs;
  for (const auto& branch : branches.branches) outputs.push_back(run(branch, x));
  return at::cat(outputs, 1);
}

at::Tensor Network::shares_for(const at::Tensor& x) const {
  if (x.is_cuda()) return at::rand({x.size(0), 1, 1, 1}, x.options().requires_grad(false));
  const at::Tensor shares = at::empty({x.size(0), 1, 1, 1}, at::kFloat);
  for (float& share : std::span(shares.data_ptr<float>(), static_cast<std::size_t>(shares.numel())))
    share = static_cast<float>(dropout_->uniform());
  return shares.to(x.scalar_type());
}

at::Tensor Network::apply(const Shake& shake, const at::Tensor*, const at::Tensor& x) const {
  const at::Tensor first = run(shake.first, x), second = run(shake.second, x);
  const at::Tensor rest = run(shake.shortcut, x) + second, difference = first - second;
  if (dropout_ == nullptr) return rest + 0.5 * difference;
  const at::Tensor forward = shares_for(first), backward = shares_for(first);
  // The value has the shares of the forward pass, the gradient those of the backward pass.
  return rest + backward * difference + ((forward - backward) * difference).detach();
}

}  // namespace tandem
