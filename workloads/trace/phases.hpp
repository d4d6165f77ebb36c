// The computations of a step: forward pass, backward pass and optimiser, and the layers in order. A kernel
// belongs to the phase in which it was launched, by thread and time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/steps.hpp"
#include "workloads/trace/trace.hpp"

namespace tandem::trace {

/// A node of the backward pass, with its operator of the forward pass.
struct Layer {
  std::string node;     ///< "ConvolutionBackward0"
  std::string forward;  ///< "aten::conv2d"; empty where the trace does not have it
  std::string shapes;   ///< of the inputs of the forward operator, as JSON text; empty without record_shapes
  std::string module;   ///< "nn.Module: Conv2d_3"; empty without with_stack
  Nanoseconds forward_time = 0;
  Nanoseconds backward_time = 0;
  std::size_t kernels = 0;  ///< of the node
};

enum class Phase { forward, backward, optimizer, other };

struct StepPhases {
  Nanoseconds forward = 0;
  Nanoseconds backward = 0;
  Nanoseconds optimizer = 0;
  Nanoseconds other = 0;  ///< launched outside of these phases, by another thread than the forward pass
  std::optional<Span> backward_pass;  ///< on the CPU, from the first node to the end of the last one
  TextId backward_thread = 0;
  std::size_t accumulated_gradients = 0;
  std::size_t kernels_in_nodes = 0;
  std::size_t kernels_between_nodes = 0;  ///< of the backward pass's thread
  int samples = 0;                        ///< images of the first convolution; 0: not known
  std::vector<Layer> layers;              ///< in the order of the backward pass
};

StepPhases phases_of(const Trace& trace, const Steps& steps, std::size_t step);
/// The phase of each event in Step::launched; `other` for communication and copies, too.
std::vector<Phase> phases_of_launched(const Trace& trace, const Step& step);

}  // namespace tandem::trace
