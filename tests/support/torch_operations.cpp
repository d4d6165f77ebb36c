#include "tests/support/torch_operations.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {
namespace {

/// Below autograd and above the processor's kernels; libtorch itself does not use it.
constexpr auto key = c10::DispatchKey::Fake;

OperationsSeen::Around& seen_by() {
  static OperationsSeen::Around around;
  return around;
}

void intercept(const c10::OperatorHandle& operation, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard inner(key);
  seen_by() ? seen_by()(operation, *stack) : operation.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, Fake, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

void add_tensors(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor() && value.toTensor().defined()) tensors.push_back(value.toTensor());
  if (value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
}

std::vector<at::Tensor> tensors_in(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) add_tensors(value, tensors);
  return tensors;
}

/// The arguments that an operation changes. The schema of a normalisation does not name its running
/// statistics as such.
std::vector<at::Tensor> changed_by(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const bool is_norm = schema.name().find("batch_norm") != std::string::npos;
  std::vector<at::Tensor> changed;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const c10::Argument& argument = schema.arguments().at(at);
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    const bool is_statistic =
        is_norm && (argument.name() == "running_mean" || argument.name() == "running_var");
    if (is_written || is_statistic) add_tensors(arguments[at], changed);
  }
  return changed;
}

class HostStepGraphs final : public StepGraphs {
 public:
  void record(const std::function<void()>& work) override {
    pieces_.emplace_back();
    before_.clear();
    try {
      const OperationsSeen seen([this](const auto& operation, auto& stack) { add(operation, stack); });
      work();
    } catch (...) {
      restore();
      throw;
    }
    restore();
  }

  void repeat(std::size_t piece) override {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    for (const Step& step : pieces_.at(piece)) {
      torch::jit::Stack stack = step.arguments;
      step.operation.callBoxed(&stack);
      const std::vector<at::Tensor> found = tensors_in(stack);
      for (std::size_t at = 0; at < found.size(); ++at)
        if (!step.results[at].is_alias_of(found[at])) step.results[at].copy_(found[at]);
    }
  }

 private:
  struct Step {
    c10::OperatorHandle operation;
    torch::jit::Stack arguments;
    std::vector<at::Tensor> results;
  };
  struct Before {
    at::Tensor tensor;
    at::Tensor value;
  };

  void add(const c10::OperatorHandle& operation, torch::jit::Stack& stack) {
    const c10::FunctionSchema& schema = operation.schema();
    if (schema.name() == "aten::_local_scalar_dense")
      throw std::runtime_error("operation not permitted when stream is capturing");
    torch::jit::Stack arguments = stack;
    for (const at::Tensor& tensor : changed_by(schema, arguments))
      before_.push_back({tensor, tensor.clone()});
    operation.callBoxed(&stack);
    pieces_.back().push_back({operation, std::move(arguments), tensors_in(stack)});
  }

  /// Recording changes no tensor, but it is done by computing.
  void restore() {
    const at::AutoDispatchBelowADInplaceOrView without_autograd;
    for (; !before_.empty(); before_.pop_back()) before_.back().tensor.copy_(before_.back().value);
  }

  std::vector<std::vector<Step>> pieces_;
  std::vector<Before> before_;
};

}  // namespace

OperationsSeen::OperationsSeen(Around around) : guard_(key) { seen_by() = std::move(around); }
OperationsSeen::~OperationsSeen() { seen_by() = {}; }

std::unique_ptr<StepGraphs> make_step_graphs_on_host() { return std::make_unique<HostStepGraphs>(); }

}  // namespace tandem::testing
