#include "workloads/trace/execution_nodes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::trace {
namespace {

using Kind = ExecutionNode::Kind;

// About 1 GB of memory.
constexpr std::size_t most_nodes = 8'000'000, most_tensors = 4'000'000;
constexpr std::size_t most_dimensions = 16;

Kind kind_of(const std::string& name) {
  if (name.starts_with("c10d::")) return Kind::collective;
  if (name == "torch::autograd::AccumulateGrad") return Kind::gradient;
  if (name.starts_with("autograd::engine::evaluate_function")) return Kind::backward;
  if (name.starts_with("DistributedDataParallel.forward")) return Kind::forward;
  if (name.starts_with("Optimizer.step")) return Kind::optimizer;
  return Kind::other;
}

/// "float" of "GenericList[Tensor(float)]".
std::string type_of(const std::string& text) {
  constexpr std::size_t longest = 64;
  const std::string opening = "Tensor(";
  const auto begin = text.find(opening);
  if (begin == std::string::npos) return "";
  const auto from = begin + opening.size();
  return text.substr(from, std::min(text.find(')', from) - from, longest));
}

std::int64_t elements_of(const Shape& shape) {
  constexpr std::int64_t most = std::int64_t{1} << 48U;
  std::int64_t product = 1;
  for (const auto size : shape) {
    if (size < 0 || (size > 0 && product > most / size)) return most;
    product *= size;
  }
  return product;
}

std::int64_t elements_of(const std::vector<Shape>& tensors) {
  constexpr std::int64_t most = std::int64_t{1} << 48U;
  std::int64_t sum = 0;
  for (const auto& tensor : tensors) sum = std::min(most, sum + elements_of(tensor));
  return sum;
}

/// What one step does.
struct NodeStep {
  std::vector<DescribedBucket> buckets;
  std::vector<Shape> gradients;  ///< in the order of their completion
  std::int64_t broadcast_bytes = 0;
};

std::vector<std::int64_t> sizes_of(const NodeStep& step) {
  std::vector<std::int64_t> sizes;
  for (const auto& bucket : step.buckets) sizes.push_back(bucket.elements);
  return sizes;
}

/// Gradients counted off against the elements of the buckets; nothing where they do not fit.
void add_gradients(NodeStep& step) {
  auto next = step.gradients.begin();
  std::vector<std::vector<Shape>> found;
  for (const auto& bucket : step.buckets) {
    std::int64_t left = bucket.elements;
    auto& own = found.emplace_back();
    for (; left > 0 && next != step.gradients.end(); ++next) {
      own.push_back(*next);
      left -= elements_of(*next);
    }
    if (left != 0) return;
  }
  if (next != step.gradients.end()) return;
  for (std::size_t i = 0; i < found.size(); ++i) step.buckets[i].gradients = std::move(found[i]);
}

/// Nodes in the order in which they began, and their parents.
class Nodes {
 public:
  explicit Nodes(std::vector<ExecutionNode> nodes) : nodes_(std::move(nodes)) {
    std::ranges::stable_sort(nodes_, {}, &ExecutionNode::id);
    has_forward_ = std::ranges::any_of(nodes_, [](const auto& node) { return node.kind == Kind::forward; });
  }

  bool in_backward(const ExecutionNode& node) const {
    constexpr int deepest = 64;
    std::int64_t id = node.parent;
    for (int i = 0; i < deepest; ++i) {
      const auto found = std::ranges::lower_bound(nodes_, id, {}, &ExecutionNode::id);
      if (found == nodes_.end() || found->id != id) return false;
      if (found->kind == Kind::backward) return true;
      id = found->parent;
    }
    return false;
  }

  /// From one call of DDP's forward pass to the next; without any, from optimiser to optimiser.
  std::vector<NodeStep> steps(std::map<CollectiveKind, int>& others) const {
    std::vector<NodeStep> all(1);
    for (const ExecutionNode& node : nodes_) {
      if (node.kind == (has_forward_ ? Kind::forward : Kind::optimizer)) all.emplace_back();
      if (node.kind == Kind::gradient)
        all.back().gradients.insert(all.back().gradients.end(), node.tensors.begin(), node.tensors.end());
      if (node.kind == Kind::collective) add_collective(node, all.back(), others);
    }
    return all;
  }

 private:
  void add_collective(const ExecutionNode& node, NodeStep& step,
                      std::map<CollectiveKind, int>& others) const {
    const std::int64_t elements = elements_of(node.tensors);
    const std::int64_t bytes = elements * bytes_of_type(node.dtype);
    const bool is_sum = node.collective == CollectiveKind::all_reduce;
    if (is_sum && in_backward(node))
      step.buckets.push_back(
          {.elements = elements, .bytes = bytes, .dtype = node.dtype, .ready = {}, .gradients = {}});
    else if (node.collective == CollectiveKind::broadcast)
      step.broadcast_bytes += bytes;
    else if (!is_sum && node.collective != CollectiveKind::unknown)
      ++others[node.collective];
  }

  std::vector<ExecutionNode> nodes_;
  bool has_forward_ = false;
};

}  // namespace

void ExecutionNodes::begin(int depth) {
  if (depth == 1) {
    node_ = {};
    name_.clear();
    group_size_ = 0;
  }
  if (depth == 2) inner_key_.clear();
  if (list_ == List::none && depth > 1) {
    const bool is_inner = key_ == "inputs" && depth == 3;
    const bool is_own = depth == 2;
    if ((is_inner && inner_key_ == "shapes") || (is_own && key_ == "input_shapes")) list_ = List::shapes;
    if ((is_inner && inner_key_ == "types") || (is_own && key_ == "input_types")) list_ = List::types;
    list_depth_ = depth;
    argument_ = 0;
    return;
  }
  if (list_ != List::shapes) return;
  if (depth == list_depth_ + 1) ++argument_;
  // The first input is a list of tensors.
  if (argument_ == 1 && depth == list_depth_ + 2) node_.tensors.emplace_back();
}

void ExecutionNodes::end(int depth) {
  if (list_ != List::none && depth == list_depth_) list_ = List::none;
  if (depth == 1) finish_node();
}

void ExecutionNodes::key(const std::string& key, int depth) {
  if (depth == 1) key_ = key;
  if (depth == 2 || depth == 3) inner_key_ = key;
}

void ExecutionNodes::text(const std::string& value, int depth) {
  if (depth == 1 && key_ == "name") name_ = value;
  if (depth == 3 && key_ == "attrs" && inner_key_ == "name") attribute_ = value;
  if (list_ == List::types && depth == list_depth_ && std::exchange(argument_, 1) == 0)
    node_.dtype = type_of(value);
}

void ExecutionNodes::number(std::int64_t value, int depth) {
  if (depth == 1 && key_ == "id") node_.id = value;
  if (depth == 1 && (key_ == "parent" || key_ == "ctrl_deps")) node_.parent = value;
  if (depth == 3 && key_ == "attrs" && inner_key_ == "value" && attribute_ == "pg_size") group_size_ = value;
  if (list_ != List::shapes || argument_ != 1) return;
  // A size of the first input or, if that is a list, of a tensor in it.
  if (depth == list_depth_ + 1 && node_.tensors.empty()) node_.tensors.emplace_back();
  const bool is_size = depth == list_depth_ + 1 || depth == list_depth_ + 2;
  if (is_size && !node_.tensors.empty() && node_.tensors.back().size() < most_dimensions)
    node_.tensors.back().push_back(value);
}

void ExecutionNodes::finish_node() {
  largest_group_ = std::max(largest_group_, group_size_);
  node_.kind = kind_of(name_);
  if (node_.kind == Kind::collective) node_.collective = collective_kind(name_);
  if (node_.kind != Kind::collective && node_.kind != Kind::gradient) {
    node_.tensors = {};
    node_.dtype = {};
  }
  tensors_ += node_.tensors.size();
  if (nodes_.size() >= most_nodes || tensors_ > most_tensors)
    throw ConfigError(file_ + ": expected an execution trace of at most " + std::to_string(most_nodes) +
                      " nodes, found more; record fewer steps");
  nodes_.push_back(std::move(node_));
}

JobDescription ExecutionNodes::describe() {
  JobDescription job;
  job.format = DescriptionFormat::execution_trace;
  job.file = file_;
  if (largest_group_ > 0 && largest_group_ <= std::numeric_limits<int>::max())
    job.world_size = static_cast<int>(largest_group_);
  std::vector<NodeStep> steps = Nodes(std::exchange(nodes_, {})).steps(job.other_collectives);
  std::erase_if(steps, [](const NodeStep& step) { return step.buckets.empty(); });
  job.steps = static_cast<int>(std::ssize(steps));
  std::map<std::vector<std::int64_t>, int> alike;  // steps with these sizes
  for (const NodeStep& step : steps) ++alike[sizes_of(step)];
  for (NodeStep& step : steps) {
    const int count = alike[sizes_of(step)];
    // Of equal counts, the later one: in the first step, DDP has one bucket.
    if (count < job.steps_alike) continue;
    add_gradients(step);
    job.steps_alike = count;
    job.buckets = std::move(step.buckets);
    job.broadcast_bytes = step.broadcast_bytes;
  }
  return job;
}

}  // namespace tandem::trace
