// The learner of the catalogue's models. The network is the plan's layers applied to tensors that are windows
// into the flat model; autograd is cut into stretches, so that each bucket's backward is a separate call.
#include "workloads/learner/torch_learner.hpp"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/learner/flat_learner.hpp"
#include "workloads/learner/network_copies.hpp"
#include "workloads/learner/out_of_memory.hpp"
#include "workloads/learner/script_learner.hpp"
#include "workloads/learner/torch_mode.hpp"
#include "workloads/learner/torch_network.hpp"
#include "workloads/model/plan.hpp"
#include "workloads/vectors/no_memory.hpp"

namespace tandem {
namespace {

class TorchLearner final : public FlatLearner {
 public:
  TorchLearner(const LearnerSetting& setting, ModelPlan plan, ComputeDevice& compute_device)
      : FlatLearner(setting, plan.description, compute_device), plan_(std::move(plan)) {
    if (runner().device().is_cuda()) copies_.emplace(compute_device, uses_tensor_cores());
    flat().begin_with(initial_model(plan_, setting.seed));
    cut_into_stretches(/*one_per_bucket=*/!compute_device.is_host());
    bind_tensors();
  }

 private:
  void begin_pass(Rng random) override {
    random_ = random;
    // A GPU draws the values that dropout omits itself.
    if (runner().device().is_cuda()) seed_libtorch(runner().device(), random_.next());
  }

  at::Tensor train(const at::Tensor& pixels, const at::Tensor& labels) override {
    if (copies_) copies_->refresh();
    const Network network(tensors_, &random_);
    at::Tensor x = in_order_for_network(pixels);
    for (Stretch& stretch : stretches_) {
      // Detached from the layers before; the gradient of the images is not needed.
      x = x.detach();
      if (stretch.first > 0) x.requires_grad_(true);
      stretch.input = x;
      for (std::size_t segment = stretch.first; segment < stretch.last; ++segment)
        x = network.run(plan_.segments[segment].layers, x);
      stretch.output = x;
    }
    if (copies_) copies_->give_back();
    auto& loss = stretches_.back().output;
    loss = step_loss().of(x.to(at::kFloat), labels);
    gradient_of_output_ = at::Tensor();
    return loss;
  }

  void drop_pass() override {
    for (Stretch& stretch : stretches_) stretch.forget_pass();
    gradient_of_output_ = at::Tensor();
  }

  void differentiate(int bucket) override {
    for (Stretch& stretch : std::views::reverse(stretches_))
      if (plan_.bucket_of_segment[stretch.first] == bucket) differentiate_stretch(stretch);
  }

  at::Tensor evaluate_pixels(const at::Tensor& pixels) override {
    if (copies_) copies_->refresh();
    const Network network(tensors_, /*dropout=*/nullptr);
    at::Tensor x = in_order_for_network(pixels);
    for (const auto& segment : plan_.segments) x = network.run(segment.layers, x);
    return x;
  }

  /// Tensor cores need adjacent channels; later layers keep this memory format.
  bool uses_tensor_cores() const {
    return runner().device().is_cuda() && runner().mode().precision != Precision::fp32;
  }
  at::Tensor in_order_for_network(const at::Tensor& pixels) const {
    return uses_tensor_cores() ? pixels.contiguous(at::MemoryFormat::ChannelsLast) : pixels;
  }

  /// Consecutive segments of one bucket that autograd differentiates by one call.
  struct Stretch {
    std::size_t first;  ///< segments [first, last)
    std::size_t last;
    std::vector<at::Tensor> trained = {};
    std::vector<at::Tensor> gradients = {};  ///< windows of the flat gradient, of the trained tensors
    at::Tensor input = {};                   ///< from forward to the stretch's backward, as its output
    at::Tensor output = {};
    void forget_pass() { input = output = at::Tensor(); }
  };

  /// On the host, a stretch is a segment: its gradients are copied while they are still in the processor's
  /// cache. On a GPU each call of autograd wakes a thread of libtorch and waits for it, which takes as long
  /// as several operations.
  void cut_into_stretches(bool one_per_bucket) {
    const auto& buckets = plan_.bucket_of_segment;
    for (std::size_t segment = 0; segment < plan_.segments.size(); ++segment) {
      const bool continues = one_per_bucket && segment > 0 && buckets[segment] == buckets[segment - 1];
      if (!continues) stretches_.push_back({.first = segment, .last = segment});
      ++stretches_.back().last;
    }
  }
  Stretch& stretch_of(std::size_t segment) {
    return *std::ranges::find_if(stretches_, [segment](const Stretch& one) { return segment < one.last; });
  }

  void bind_tensors() {
    for (std::size_t index = 0; index < plan_.description.tensors.size(); ++index) {
      const auto& tensor = plan_.description.tensors[index];
      const at::Tensor window = flat().window_of_model(tensor);
      tensors_.push_back(copies_ ? copies_->of(window, tensor.statistic) : window);
      if (tensor.statistic) continue;
      tensors_.back().requires_grad_(true);
      Stretch& stretch = stretch_of(plan_.segment_of_tensor[index]);
      stretch.trained.push_back(tensors_.back());
      stretch.gradients.push_back(flat().window_of_gradient(tensor));
    }
  }

  void differentiate_stretch(Stretch& stretch) {
    const at::Tensor input = std::exchange(stretch.input, {});
    const at::Tensor output = std::exchange(stretch.output, {});
    std::vector<at::Tensor> sources = stretch.trained;
    if (stretch.first > 0) sources.push_back(input);
    torch::autograd::variable_list gradients;
    // A second attempt needs the graph, which the first attempt otherwise releases.
    runner().try_twice([&] {
      gradients = torch::autograd::grad({output}, sources, {gradient_of_output_},
                                        /*retain_graph=*/runner().may_try_twice());
    });
    runner().copy_gradients(stretch.gradients, std::span(gradients).first(stretch.gradients.size()));
    gradient_of_output_ = stretch.first > 0 ? gradients.back() : at::Tensor();
  }

  ModelPlan plan_;
  Rng random_{0};                        ///< of this step; draws what dropout omits on a processor
  std::optional<NetworkCopies> copies_;  ///< on a GPU
  std::vector<at::Tensor> tensors_;      ///< windows into the model, or copies, by tensor of the description
  std::vector<Stretch> stretches_;       ///< in forward order
  at::Tensor gradient_of_output_;        ///< of the next stretch; undefined means 1, the loss's own
};

}  // namespace

std::unique_ptr<Learner> make_torch_learner(const LearnerSetting& setting, ComputeDevice& compute_device) {
  if (setting.gpu) compute_device.on_shortage(empty_libtorch_cache);
  try {
    make_library_handles(torch_device(setting));
    if (is_script(setting.model)) return make_script_learner(setting, compute_device);
    return std::make_unique<TorchLearner>(setting, plan_model(setting), compute_device);
  } catch (const NoMemoryError&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_no_memory_message(error.what())) throw;
    // libtorch's stack frames follow.
    const std::string complaint = error.what();
    throw NoMemoryError(complaint.substr(0, complaint.find('\n')), setting.gpu == std::nullopt);
  }
}

}  // namespace tandem
