#include "workloads/learner/step_graphs.hpp"

#include "workloads/learner/torch_version.hpp"

#ifdef TANDEM_TORCH_HAS_CUDA
#include <ATen/cuda/CUDAGraph.h>
#endif

#include <vector>

namespace tandem {

#ifdef TANDEM_TORCH_HAS_CUDA

namespace {

using at::cuda::CUDAGraph;

using Memory = decltype(at::cuda::graph_pool_handle());

void begin(CUDAGraph& graph, Memory memory) {
#if TANDEM_TORCH_SINCE(2, 1)
  // Other threads of the process may use CUDA meanwhile, such as those of an MPI.
  graph.capture_begin(memory, cudaStreamCaptureModeThreadLocal);
#else
  graph.capture_begin(memory);
#endif
}

class CudaStepGraphs final : public StepGraphs {
 public:
  void record(const std::function<void()>& work) override {
    auto graph = std::make_unique<CUDAGraph>();
    begin(*graph, memory_);
    try {
      work();
    } catch (...) {
      end_failed(*graph);
      throw;
    }
    graph->capture_end();
    pieces_.push_back(std::move(graph));
  }

  void repeat(std::size_t piece) override { pieces_.at(piece)->replay(); }

 private:
  /// The stream must not stay in recording.
  static void end_failed(CUDAGraph& graph) noexcept {
    try {
      graph.capture_end();
    } catch (const std::exception&) {
      // The error in flight says more.
    }
  }

  Memory memory_ = at::cuda::graph_pool_handle();
  std::vector<std::unique_ptr<CUDAGraph>> pieces_;
};

}  // namespace

std::unique_ptr<StepGraphs> make_step_graphs(at::Device device) {
  return device.is_cuda() ? std::make_unique<CudaStepGraphs>() : nullptr;
}

#else

std::unique_ptr<StepGraphs> make_step_graphs(at::Device) { return nullptr; }

#endif

}  // namespace tandem
