#include "workloads/learner/script_learner.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

#include "workloads/learner/backward_graph.hpp"
#include "workloads/learner/flat_learner.hpp"
#include "workloads/learner/network_copies.hpp"
#include "workloads/learner/script_model.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace {

// Two, because normalisation over a batch of one does not work everywhere.
constexpr std::int64_t probed_images = 2;

double elements_of(const std::vector<std::int64_t>& shape) {
  double count = 1.0;
  for (const auto extent : shape) count *= static_cast<double>(extent);
  return count;
}

/// The costs of one operation over all probed images.
struct Cost {
  double forward = 0.0;
  double backward = 0.0;
};

/// The cost of convolutions and matrix products, by autograd's names and the place of their first factor
/// among the operands; zero for any other operation. Backward computes the gradient of each factor that needs
/// one.
Cost cost_at(const BackwardGraph& graph, std::size_t position) {
  const std::string name = graph.operation(position);
  constexpr std::pair<const char*, std::size_t> products[] = {{"ConvolutionBackward", 0},
                                                              {"MmBackward", 0},
                                                              {"BmmBackward", 0},
                                                              {"AddmmBackward", 1},
                                                              {"BaddbmmBackward", 1}};
  for (const auto& [operation, first] : products) {
    if (!name.starts_with(operation)) continue;
    const auto left = graph.operand_shape(position, first);
    const auto right = graph.operand_shape(position, first + 1);
    double terms = 0.0;  // of the sum behind each output value
    if (name.starts_with("Convolution"))
      terms = right.empty() ? 0.0 : elements_of(right) / static_cast<double>(right.front());
    else
      terms = static_cast<double>(right.empty() ? left.back() : right.end()[-2]);
    const double forward = 2.0 * terms * elements_of(graph.output_shape(position));
    return {forward, forward * ((left.empty() ? 0.0 : 1.0) + (right.empty() ? 0.0 : 1.0))};
  }
  return {};
}

/// Tensors with the position in backward at which they are complete; statistics go with the tensor before.
struct Placed {
  ScriptTensor tensor;
  std::ptrdiff_t position;
};

std::vector<Placed> place_tensors(const std::vector<ScriptTensor>& tensors, const BackwardGraph& graph) {
  std::vector<Placed> placed;
  std::ptrdiff_t before = -1;
  for (const auto& tensor : tensors) {
    const std::ptrdiff_t own = tensor.trained ? graph.position_of(tensor.value) : -1;
    if (own >= 0) before = own;
    placed.push_back({tensor, own >= 0 ? own : before});
    placed.back().tensor.trained = own >= 0;
  }
  const auto first = std::ranges::find_if(placed, [](const Placed& item) { return item.position >= 0; });
  for (auto item = placed.begin(); item != first; ++item) item->position = first->position;
  std::ranges::stable_sort(placed, std::ranges::greater(), &Placed::position);
  return placed;
}

/// Adds each operation's flops to the share of the next tensor that is complete in backward.
void add_flops(const std::map<std::ptrdiff_t, SegmentShare*>& share_at, const BackwardGraph& graph) {
  for (std::size_t position = 0; position < graph.size(); ++position) {
    auto share = share_at.lower_bound(static_cast<std::ptrdiff_t>(position));
    if (share == share_at.end()) --share;
    const Cost cost = cost_at(graph, position);
    share->second->forward += Flops(cost.forward / probed_images);
    share->second->backward += Flops(cost.backward / probed_images);
  }
}

class ScriptLearner final : public FlatLearner {
 public:
  ScriptLearner(const LearnerSetting& setting, ComputeDevice& compute_device)
      : FlatLearner(setting, describe_torch_script(setting), compute_device),
        script_(setting, runner().device()) {
    // A module has the channels in the order that it was saved with.
    if (runner().device().is_cuda()) copies_.emplace(compute_device, /*adjacent_channels=*/false);
    bind_tensors();
  }

 private:
  /// Modules draw from libtorch's global generator.
  void begin_pass(Rng random) override { seed_libtorch(runner().device(), random.next()); }

  at::Tensor train(const at::Tensor& pixels, const at::Tensor& labels) override {
    if (copies_) copies_->refresh();
    const at::Tensor outputs = script_.run(pixels, /*training=*/true).to(at::kFloat);
    const at::Tensor loss = step_loss().of(outputs, labels);
    take_back_statistics();
    if (copies_) copies_->give_back();
    graph_.emplace(loss);
    ends_.assign(description().buckets.size(), -1);
    for (std::size_t bucket = 0; bucket < trained_.size(); ++bucket) {
      if (bucket > 0) ends_[bucket] = ends_[bucket - 1];
      for (auto& [value, gradient] : trained_[bucket]) {
        const std::ptrdiff_t position = graph_->position_of(value);
        ends_[bucket] = std::max(ends_[bucket], position);
        if (position < 0) gradient.zero_();
      }
    }
    return loss;
  }

  void drop_pass() override {
    graph_.reset();
    for (const auto& [name, value] : statistics_) script_.set(name, value);
  }

  void differentiate(int bucket) override {
    graph_->run_through(
        ends_[static_cast<std::size_t>(bucket)],
        [this](const std::function<void()>& work) { runner().try_twice(work); },
        [&](const at::Tensor& trained, const at::Tensor& gradient) {
          gradients_.at(trained.unsafeGetTensorImpl()).copy_(gradient);
        });
    if (bucket + 1 == std::ssize(ends_)) graph_.reset();
  }

  at::Tensor evaluate_pixels(const at::Tensor& pixels) override {
    if (copies_) copies_->refresh();
    return script_.run(pixels, /*training=*/false);
  }

  struct Trained {
    at::Tensor value;
    at::Tensor gradient;
  };
  struct Statistic {
    std::string name;
    at::Tensor value;
  };

  void bind_tensors() {
    std::map<std::string, ScriptTensor> by_name;
    for (auto& tensor : script_.tensors()) by_name.emplace(tensor.name, tensor);
    trained_.resize(description().buckets.size());
    std::vector<float> values(static_cast<std::size_t>(description().elements()));
    std::size_t bucket = description().buckets.size() - 1;
    for (const auto& tensor : description().tensors) {
      while (tensor.offset >=
                 description().buckets[bucket].offset + description().buckets[bucket].elements() ||
             tensor.offset < description().buckets[bucket].offset)
        --bucket;
      at::Tensor value = by_name.at(tensor.name).value;
      const at::Tensor initial = value.detach().to(at::kCPU, at::kFloat).contiguous();
      std::copy_n(initial.data_ptr<float>(), initial.numel(), values.begin() + tensor.offset);
      const at::Tensor window = flat().window_of_model(tensor);
      value.set_data(copies_ ? copies_->of(window, tensor.statistic) : window);
      value.requires_grad_(!tensor.statistic);
      if (tensor.statistic) {
        statistics_.push_back({tensor.name, value});
        continue;
      }
      trained_[bucket].push_back({value, flat().window_of_gradient(tensor)});
      gradients_[value.unsafeGetTensorImpl()] = trained_[bucket].back().gradient;
    }
    flat().begin_with(values);
  }

  /// A module may change a buffer in place or put another one there.
  void take_back_statistics() {
    const at::NoGradGuard without_gradients;
    for (auto& [name, value] : statistics_) {
      const at::Tensor now = script_.get(name);
      if (now.is_same(value)) continue;
      value.copy_(now);
      script_.set(name, value);
    }
  }

  ScriptModel script_;
  std::optional<NetworkCopies> copies_;                               ///< on a GPU
  std::vector<std::vector<Trained>> trained_;                         ///< by bucket
  std::unordered_map<const c10::TensorImpl*, at::Tensor> gradients_;  ///< windows of trained tensors
  std::vector<Statistic> statistics_;
  std::optional<BackwardGraph> graph_;  ///< from forward to the last backward
  std::vector<std::ptrdiff_t> ends_;    ///< by bucket: where in the graph its backward ends
};

}  // namespace

ModelDescription describe_torch_script(const LearnerSetting& setting) {
  use_one_thread();
  ScriptModel script(setting, at::kCPU);
  const auto tensors = script.tensors();
  const at::AutoGradMode with_gradients(true);
  const DatasetInfo images = scaled_images(setting);
  const auto dtype = tensors.empty() ? at::kFloat : tensors.front().value.scalar_type();
  const at::Tensor outputs =
      script.run(at::zeros({probed_images, images.channels, images.height, images.width}, dtype), true);
  if (!outputs.requires_grad())
    throw ConfigError("model '" + setting.model +
                      "': expected parameters that its outputs depend on, found none (a frozen module has "
                      "constants instead)");
  const BackwardGraph graph(outputs.sum());
  const auto placed = place_tensors(tensors, graph);

  ModelDescription description{
      .name = std::filesystem::path(setting.model).filename().string(), .tensors = {}, .buckets = {}};
  std::vector<SegmentShare> shares;
  std::vector<std::ptrdiff_t> positions;
  for (const auto& [tensor, position] : placed) {
    if (positions.empty() || positions.back() != position) {
      positions.push_back(position);
      shares.push_back({description.tensors.size(), 0, {}, {}});
    }
    description.tensors.push_back(
        {.name = tensor.name, .shape = tensor.value.sizes().vec(), .statistic = !tensor.trained});
    shares.back().last = description.tensors.size();
  }
  std::map<std::ptrdiff_t, SegmentShare*> share_at;
  for (std::size_t segment = 0; segment < shares.size(); ++segment)
    share_at[positions[segment]] = &shares[segment];
  add_flops(share_at, graph);
  cut_into_buckets(description, shares, setting.bucket_sizes());
  return description;
}

std::unique_ptr<Learner> make_script_learner(const LearnerSetting& setting, ComputeDevice& compute_device) {
  return std::make_unique<ScriptLearner>(setting, compute_device);
}

}  // namespace tandem
