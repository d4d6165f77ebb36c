#include "workloads/model/plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace {

struct Shape {
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  std::int64_t elements() const { return channels * height * width; }
  bool operator==(const Shape&) const = default;
};

std::string to_text(const Shape& shape) {
  return std::to_string(shape.channels) + 'x' + std::to_string(shape.height) + 'x' +
         std::to_string(shape.width);
}

/// How a layer counts as work. `operands`: of the size of its output, which a block reads at its end; 0: a
/// layer that reads its input.
struct WorkOf {
  LayerKind kind;
  std::int64_t operands = 0;
};

/// None: no work.
std::optional<WorkOf> work_of(const Layer& layer) {
  return std::visit(
      [](const auto& operation) -> std::optional<WorkOf> {
        using Operation = std::decay_t<decltype(operation)>;
        constexpr auto is = []<class... Kinds>() { return (std::is_same_v<Operation, Kinds> || ...); };
        if constexpr (std::is_same_v<Operation, Convolution>)
          return WorkOf{operation.groups > 1 ? LayerKind::grouped_convolution : LayerKind::convolution};
        else if constexpr (std::is_same_v<Operation, Linear>)
          return WorkOf{LayerKind::linear};
        else if constexpr (std::is_same_v<Operation, BatchNorm>)
          return WorkOf{LayerKind::normalisation};
        else if constexpr (is.template operator()<Relu, Relu6, Dropout>())
          return WorkOf{LayerKind::activation};
        else if constexpr (is.template
                           operator()<MaxPool, AveragePool, AdaptiveAveragePool, GlobalAveragePool>())
          return WorkOf{LayerKind::pooling};
        else if constexpr (std::is_same_v<Operation, Residual>)
          return WorkOf{LayerKind::sum, 2};
        else if constexpr (std::is_same_v<Operation, Shake>)
          return WorkOf{LayerKind::sum, 3};
        else if constexpr (std::is_same_v<Operation, Branches>)
          return WorkOf{LayerKind::copy, 1};
        else if constexpr (std::is_same_v<Operation, Flatten>)
          return std::nullopt;
        else
          return WorkOf{LayerKind::copy};
      },
      layer.operation);
}

/// Walks the layers forward once, carrying the shape between them.
class Walk {
 public:
  Walk(ModelPlan& plan, Shape shape) : plan_(plan), shape_(shape), input_(to_text(shape)) {}

  void run(std::vector<Layer>& layers) {
    for (auto& layer : layers) {
      layer.first_tensor = static_cast<int>(plan_.description.tensors.size());
      const std::int64_t input = shape_.elements();
      std::visit([&](auto& operation) { apply(layer.name, operation); }, layer.operation);
      activations_.widest = std::max(activations_.widest, input + shape_.elements());
      add_work(layer, input);
    }
  }
  /// Called once, at the end.
  ModelDescription::Activations activations() {
    keep_output();  // the loss
    return activations_;
  }
  /// Flops since the last call.
  std::pair<Flops, Flops> take_flops() {
    return {std::exchange(forward_, Flops(0)), std::exchange(backward_, Flops(0))};
  }

 private:
  void apply(const std::string& name, const Convolution& convolution) {
    const auto& [outputs, kernel, stride, padding, bias, groups, gain] = convolution;
    TANDEM_CHECK(shape_.channels % groups == 0 && outputs % groups == 0, name, shape_.channels, groups);
    keep_input();
    const std::int64_t inputs = shape_.channels / groups;
    slide(name, kernel, stride, padding);
    shape_.channels = outputs;
    const std::int64_t window = inputs * kernel.height * kernel.width;
    const double bound = 1.0 / std::sqrt(static_cast<double>(window));
    add_tensor(name + ".weight", {outputs, inputs, kernel.height, kernel.width}, gain * bound);
    if (bias) add_tensor(name + ".bias", {outputs}, bound);
    add_weighted_flops(2 * shape_.elements() * window);
  }

  void apply(const std::string& name, const Linear& linear) {
    keep_input();
    const std::int64_t inputs = shape_.elements();
    shape_ = {linear.outputs, 1, 1};
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
    add_tensor(name + ".weight", {linear.outputs, inputs}, bound);
    add_tensor(name + ".bias", {linear.outputs}, bound);
    add_weighted_flops(2 * inputs * linear.outputs);
  }

  void apply(const std::string& name, const BatchNorm&) {
    keep_input();
    add_tensor(name + ".weight", {shape_.channels}, 0.0, 1.0F);
    add_tensor(name + ".bias", {shape_.channels}, 0.0);
    add_tensor(name + ".running_mean", {shape_.channels}, 0.0, 0.0F, true);
    add_tensor(name + ".running_var", {shape_.channels}, 0.0, 1.0F, true);
    add_flops(4 * shape_.elements());  // an addition to each moment, a scale and a shift
  }

  void apply(const std::string&, const Relu&) {
    add_flops(shape_.elements());
    keep_output();
  }
  void apply(const std::string&, const Relu6&) {
    keep_input();
    add_flops(shape_.elements());
  }

  void apply(const std::string&, const MaxPool& pool) {
    keep_input();
    slide("max pooling", pool.size, pool.stride, pool.padding);
    activations_.kept += 2 * shape_.elements();  // the positions of the largest values, as 64-bit integers
    add_flops(shape_.elements() * pool.size * pool.size);
  }

  void apply(const std::string&, const AveragePool& pool) {
    keep_input();
    slide("average pooling", pool.size, pool.stride, pool.padding);
    add_flops(shape_.elements() * pool.size * pool.size);
  }

  void apply(const std::string&, const AdaptiveAveragePool& pool) {
    const Shape before = std::exchange(shape_, {shape_.channels, pool.outputs, pool.outputs});
    add_flops(std::max(before.elements(), shape_.elements()));
    if (before == shape_) return;  // the same value
    if (!is_kept_) activations_.kept += before.elements();
    is_kept_ = false;
  }

  void apply(const std::string&, const GlobalAveragePool&) {
    add_flops(shape_.elements());
    shape_ = {shape_.channels, 1, 1};
    is_kept_ = false;
  }

  void apply(const std::string&, const Flatten&) { shape_ = {shape_.elements(), 1, 1}; }

  void apply(const std::string&, const Dropout&) {
    add_flops(shape_.elements());
    activations_.kept += shape_.elements();  // the factors
    is_kept_ = false;
  }

  void apply(const std::string&, const PadChannels& pad) {
    TANDEM_CHECK(pad.outputs >= shape_.channels, pad.outputs, shape_.channels);
    slide("a shortcut", 1, pad.stride, 0);
    shape_.channels = pad.outputs;
    is_kept_ = false;
  }

  void apply(const std::string&, Residual& residual) {
    keep();  // bodies begin with a layer that needs it
    const Shape before = shape_;
    run(residual.body);
    const Shape after = std::exchange(shape_, before);
    is_kept_ = true;
    run(residual.shortcut);
    TANDEM_CHECK(shape_ == after, to_text(shape_), to_text(after));
    add_flops((residual.rectified ? 2 : 1) * shape_.elements());
    is_kept_ = false;
    if (residual.rectified) keep_output();
  }

  void apply(const std::string&, Branches& branches) {
    keep();  // at least one branch begins with a layer that needs it
    const Shape before = shape_;
    std::int64_t channels = 0;
    for (auto& branch : branches.branches) {
      const Shape earlier = std::exchange(shape_, before);
      is_kept_ = true;
      run(branch);
      const bool same = earlier.height == shape_.height && earlier.width == shape_.width;
      TANDEM_CHECK(same || channels == 0, to_text(earlier), to_text(shape_));
      channels += shape_.channels;
    }
    shape_.channels = channels;
    is_kept_ = false;
  }

  void apply(const std::string&, const Shift&) { is_kept_ = false; }

  void apply(const std::string&, Shake& shake) {
    const Shape before = shape_;
    const bool was_kept = is_kept_;
    std::optional<Shape> after;
    for (auto* branch : {&shake.first, &shake.second, &shake.shortcut}) {
      shape_ = before;
      is_kept_ = was_kept;
      run(*branch);
      TANDEM_CHECK(!after || shape_ == *after, to_text(shape_), to_text(after.value_or(shape_)));
      after = shape_;
    }
    add_flops(4 * shape_.elements());  // each branch by its share, and two additions
    is_kept_ = false;
  }

  // What libtorch's layers keep for backward: convolutions, linear layers, normalisations and poolings their
  // inputs, ReLU its output. A value that two layers need is one value.
  void keep_output() {
    activations_.kept += shape_.elements();
    is_kept_ = true;
  }
  void keep() {
    if (!is_kept_) keep_output();
  }
  void keep_input() {
    keep();
    is_kept_ = false;  // the layer's output, which comes next
  }

  /// Height and width after a window has moved over them.
  void slide(const std::string& layer, Extent window, std::int64_t stride, Extent padding) {
    const Extent room(shape_.height + 2 * padding.height - window.height,
                      shape_.width + 2 * padding.width - window.width);
    if (room.height < 0 || room.width < 0)
      throw ConfigError("model '" + plan_.description.name + "' does not accept images of " + input_ + ": " +
                        layer + " has a window of " + std::to_string(window.height) + 'x' +
                        std::to_string(window.width) + " pixels, but only " + to_text(shape_) +
                        " arrive there");
    shape_.height = room.height / stride + 1;
    shape_.width = room.width / stride + 1;
  }

  void add_tensor(std::string name, std::vector<std::int64_t> shape, double spread, float centre = 0.0F,
                  bool statistic = false) {
    plan_.description.tensors.push_back(
        {.name = std::move(name), .shape = std::move(shape), .statistic = statistic});
    plan_.initial_values.push_back({.centre = centre, .spread = static_cast<float>(spread)});
  }

  void add_flops(std::int64_t forward) { add_flops(forward, 2.0); }
  void add_flops(std::int64_t forward, double backward) {
    own_forward_ += Flops(static_cast<double>(forward));
    own_backward_ += Flops(backward * static_cast<double>(forward));
  }

  /// Of a layer that has been applied, with the flops since the last call: those of a block's end, because
  /// its layers came before.
  void add_work(const Layer& layer, std::int64_t input) {
    const Flops forward = std::exchange(own_forward_, Flops(0));
    const Flops backward = std::exchange(own_backward_, Flops(0));
    forward_ += forward;
    backward_ += backward;
    const auto work = work_of(layer);
    if (!work) return;
    std::int64_t parameters = 0;
    const auto& tensors = plan_.description.tensors;
    if (!layer.name.empty())
      for (auto index = static_cast<std::size_t>(layer.first_tensor); index < tensors.size(); ++index)
        if (!tensors[index].statistic) parameters += tensors[index].elements();
    const std::int64_t outputs = shape_.elements();
    plan_.work.push_back({.kind = work->kind,
                          .inputs = work->operands > 0 ? work->operands * outputs : input,
                          .outputs = outputs,
                          .parameters = parameters,
                          .forward = forward,
                          .backward = backward});
  }

  /// Backward computes the gradient of the weights and, except in the first such layer, that of the input.
  void add_weighted_flops(std::int64_t forward) {
    add_flops(forward, first_weights_ ? 1.0 : 2.0);
    first_weights_ = false;
  }

  ModelPlan& plan_;
  Shape shape_;
  std::string input_;
  Flops own_forward_;  ///< of the current layer
  Flops own_backward_;
  Flops forward_;
  Flops backward_;
  bool first_weights_ = true;
  ModelDescription::Activations activations_;
  bool is_kept_ = false;  ///< the current value is among them
};

/// How many floats the memory after `elements` floats is aligned to, if the memory before them is aligned: a
/// power of two, at most 64 (256 bytes, as CUDA aligns new memory).
std::int64_t alignment_behind(std::int64_t elements) {
  constexpr std::int64_t most = 64;
  return elements == 0 ? most : std::min(most, elements & -elements);
}

/// Tensors [first, last) that are statistics, or are not, in the order in which they lie in memory: behind
/// one with an odd number of elements, as the bias of ten classes, no other one would be aligned.
std::vector<TensorDescription*> in_memory_order(std::vector<TensorDescription>& tensors, std::size_t first,
                                                std::size_t last, bool statistic) {
  std::vector<TensorDescription*> ordered;
  for (std::size_t index = first; index < last; ++index)
    if (tensors[index].statistic == statistic) ordered.push_back(&tensors[index]);
  std::ranges::stable_sort(ordered, std::ranges::greater(),
                           [](const auto* tensor) { return alignment_behind(tensor->elements()); });
  return ordered;
}

/// Puts segments [first, last) into the next bucket and gives their tensors positions in it.
void add_bucket(ModelDescription& description, const std::vector<SegmentShare>& shares, std::size_t first,
                std::size_t last) {
  BucketDescription bucket;
  for (const bool statistic : {false, true}) {
    auto& count = statistic ? bucket.statistics : bucket.parameters;
    for (auto* tensor :
         in_memory_order(description.tensors, shares[first].first, shares[last - 1].last, statistic)) {
      tensor->offset = bucket.elements();
      count += tensor->elements();
    }
  }
  for (std::size_t segment = first; segment < last; ++segment) {
    bucket.forward += shares[segment].forward;
    bucket.backward += shares[segment].backward;
  }
  description.buckets.push_back(bucket);
}

/// Gives buckets and their tensors positions in the flat layout.
void place_buckets(ModelDescription& description, const std::vector<SegmentShare>& shares,
                   const std::vector<int>& bucket_of_segment) {
  std::vector<BucketDescription*> ordered;
  for (auto& bucket : description.buckets) ordered.push_back(&bucket);
  std::ranges::stable_sort(ordered, std::ranges::greater(),
                           [](const auto* bucket) { return alignment_behind(bucket->elements()); });
  std::int64_t next = 0;
  for (auto* bucket : ordered) {
    bucket->offset = next;
    next += bucket->elements();
  }
  for (std::size_t segment = 0; segment < shares.size(); ++segment)
    for (std::size_t index = shares[segment].first; index < shares[segment].last; ++index)
      description.tensors[index].offset +=
          description.buckets[static_cast<std::size_t>(bucket_of_segment[segment])].offset;
}

std::int64_t elements_of(const std::vector<TensorDescription>& tensors, const SegmentShare& share) {
  std::int64_t sum = 0;
  for (std::size_t index = share.first; index < share.last; ++index) sum += tensors[index].elements();
  return sum;
}

}  // namespace

std::vector<int> cut_into_buckets(ModelDescription& description, const std::vector<SegmentShare>& shares,
                                  const BucketSizes& wanted) {
  std::vector<int> bucket_of_segment(shares.size());
  std::size_t last = shares.size();
  Bytes gathered;
  for (std::size_t segment = shares.size(); segment-- > 0;) {
    bucket_of_segment[segment] = static_cast<int>(description.buckets.size());
    gathered += Bytes(4 * elements_of(description.tensors, shares[segment]));
    const bool is_first = description.buckets.empty() && wanted.first > Bytes(0);
    const Bytes least = is_first ? wanted.first : wanted.others;
    const bool full = least > Bytes(0) && gathered >= least;
    if (!full && segment > 0) continue;
    add_bucket(description, shares, segment, last);
    last = segment;
    gathered = Bytes(0);
  }
  place_buckets(description, shares, bucket_of_segment);
  return bucket_of_segment;
}

ModelPlan plan_model(const LearnerSetting& setting) {
  const DatasetInfo images = scaled_images(setting);
  if (images.channels < 1 || images.height < 1 || images.width < 1 || images.classes < 1)
    throw ConfigError("model '" + setting.model +
                      "' needs images with at least one channel, row, column and class, found " +
                      to_text(Shape{images.channels, images.height, images.width}) + " of " +
                      std::to_string(images.classes) + " classes");
  ModelPlan plan;
  plan.description.name = setting.model;
  plan.segments = define_model(setting.model, images);

  Walk walk(plan, {images.channels, images.height, images.width});
  std::vector<SegmentShare> shares;
  for (auto& segment : plan.segments) {
    const std::size_t first = plan.description.tensors.size();
    walk.run(segment.layers);
    const auto [forward, backward] = walk.take_flops();
    plan.segment_of_tensor.resize(plan.description.tensors.size(), shares.size());
    shares.push_back({first, plan.description.tensors.size(), forward, backward});
  }

  plan.description.activations = walk.activations();
  plan.bucket_of_segment = cut_into_buckets(plan.description, shares, setting.bucket_sizes());
  return plan;
}

std::vector<float> initial_model(const ModelPlan& plan, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(plan.description.elements()));
  for (std::size_t index = 0; index < plan.description.tensors.size(); ++index) {
    const auto& tensor = plan.description.tensors[index];
    const auto [centre, spread] = plan.initial_values[index];
    Rng rng = Rng::stream(seed, "initial parameters", index);
    for (std::int64_t element = 0; element < tensor.elements(); ++element) {
      const auto deviation = spread > 0.0F ? static_cast<float>(2.0 * rng.uniform() - 1.0) * spread : 0.0F;
      values[static_cast<std::size_t>(tensor.offset + element)] = centre + deviation;
    }
  }
  return values;
}

}  // namespace tandem
