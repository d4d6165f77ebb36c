#include "workloads/learner/backward_graph.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <queue>
#include <utility>

namespace tandem {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Edge;
using torch::autograd::Node;

struct RunsLater {
  bool operator()(const Node* one, const Node* other) const {
    return one->sequence_nr() < other->sequence_nr();
  }
};

}  // namespace

BackwardGraph::BackwardGraph(at::Tensor loss) : loss_(std::move(loss)) {
  const Edge root = torch::autograd::impl::gradient_edge(loss_);
  sort_nodes(root.function.get());
  gradients_.resize(nodes_.size());
  add_gradient(root, at::ones_like(loss_));
}

/// Among the operations that are ready, the one that forward did last runs first, as in autograd's own
/// engine.
void BackwardGraph::sort_nodes(Node* last_operation) {
  std::unordered_map<Node*, int> awaited;
  std::vector<Node*> found = {last_operation};
  awaited[last_operation] = 0;
  while (!found.empty()) {
    const Node* node = found.back();
    found.pop_back();
    for (const Edge& edge : node->next_edges())
      if (edge.is_valid() && awaited[edge.function.get()]++ == 0) found.push_back(edge.function.get());
  }
  std::priority_queue<Node*, std::vector<Node*>, RunsLater> ready;
  ready.push(last_operation);
  while (!ready.empty()) {
    Node* const node = ready.top();
    ready.pop();
    positions_[node] = nodes_.size();
    nodes_.push_back(node);
    for (const Edge& edge : node->next_edges())
      if (edge.is_valid() && --awaited[edge.function.get()] == 0) ready.push(edge.function.get());
  }
}

std::vector<std::int64_t> BackwardGraph::output_shape(std::size_t position) const {
  return nodes_[position]->input_metadata(0).zeros_like().sizes().vec();
}

std::vector<std::int64_t> BackwardGraph::operand_shape(std::size_t position, std::size_t operand) const {
  const Edge& edge = nodes_[position]->next_edge(operand);
  if (!edge.is_valid()) return {};
  return edge.function->input_metadata(edge.input_nr).zeros_like().sizes().vec();
}

std::ptrdiff_t BackwardGraph::position_of(const at::Tensor& trained) const {
  const auto found = positions_.find(torch::autograd::impl::gradient_edge(trained).function.get());
  return found == positions_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second);
}

/// Where forward broadcast a value or changed its type, backward sums the gradients and changes the type
/// back.
void BackwardGraph::add_gradient(const Edge& edge, at::Tensor gradient) {
  const auto& expected = edge.function->input_metadata(edge.input_nr);
  if (!expected.is_same_shape(gradient)) gradient = expected.reduce_grad(gradient);
  gradient = gradient.to(expected.options());
  auto& gradients = gradients_[positions_.at(edge.function.get())];
  gradients.resize(edge.function->num_inputs());
  at::Tensor& sum = gradients[edge.input_nr];
  sum = sum.defined() ? sum + gradient : gradient;
}

void BackwardGraph::run_through(
    std::ptrdiff_t last, const Attempt& attempt,
    const std::function<void(const at::Tensor& trained, const at::Tensor& gradient)>& take) {
  const at::NoGradGuard without_gradients;
  for (; static_cast<std::ptrdiff_t>(next_) <= last; ++next_) {
    Node& node = *nodes_[next_];
    const auto gradients = std::exchange(gradients_[next_], {});
    if (gradients.empty()) continue;
    if (const auto* trained = dynamic_cast<const AccumulateGrad*>(&node)) {
      take(trained->variable, gradients.front());
      continue;
    }
    node.will_release_variables();
    torch::autograd::variable_list results;
    attempt([&] { results = node(torch::autograd::variable_list(gradients)); });
    node.release_variables();
    for (std::size_t operand = 0; operand < results.size(); ++operand)
      if (const Edge& edge = node.next_edge(operand); edge.is_valid() && results[operand].defined())
        add_gradient(edge, results[operand]);
  }
}

}  // namespace tandem
