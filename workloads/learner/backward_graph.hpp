// The autograd graph of a loss: the order of the operations of the backward pass, and the pass itself, in
// parts. For models whose graph only libtorch knows: libtorch's own engine cannot stop at an operation and
// continue later.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tandem {

class BackwardGraph {
 public:
  explicit BackwardGraph(at::Tensor loss);

  std::size_t size() const { return nodes_.size(); }
  /// The operation at a position: autograd's name, like "ConvolutionBackward0".
  std::string operation(std::size_t position) const { return nodes_[position]->name(); }
  /// Shape of the operation's output in forward.
  std::vector<std::int64_t> output_shape(std::size_t position) const;
  /// Shape of the operation's input; empty for an operand that needs no gradient.
  std::vector<std::int64_t> operand_shape(std::size_t position, std::size_t operand) const;
  /// Position in backward at which the gradient of a trained tensor is complete; -1 when the loss does not
  /// depend on it.
  std::ptrdiff_t position_of(const at::Tensor& trained) const;

  /// Does some work. If it fails, may do it again.
  using Attempt = std::function<void(const std::function<void()>& work)>;
  /// Continues the backward pass through `last`, each operation by `attempt`. Returns the gradients that are
  /// then complete.
  void run_through(std::ptrdiff_t last, const Attempt& attempt,
                   const std::function<void(const at::Tensor& trained, const at::Tensor& gradient)>& take);

 private:
  using Node = torch::autograd::Node;

  void sort_nodes(Node* last_operation);
  void add_gradient(const torch::autograd::Edge& edge, at::Tensor gradient);

  at::Tensor loss_;           ///< keeps the graph alive
  std::vector<Node*> nodes_;  ///< in the order of backward
  std::unordered_map<const Node*, std::size_t> positions_;
  std::vector<torch::autograd::variable_list> gradients_;  ///< so far, of each operation's outputs in forward
  std::size_t next_ = 0;                                   ///< first position that has not run
};

}  // namespace tandem
