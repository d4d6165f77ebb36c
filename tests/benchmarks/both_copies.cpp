#include "tests/benchmarks/both_copies.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "runtime/gpu/cuda_check.hpp"
#include "runtime/gpu/cuda_stream.hpp"
#include "tests/benchmarks/torch_operations.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point begin) {
  return Seconds(std::chrono::duration<double>(Clock::now() - begin).count());
}

/// Memory of both directions, and the plain program's streams.
class BothCopies {
 public:
  BothCopies(CudaDevice& device, std::size_t bytes)
      : device_(device),
        source_(device, bytes),
        target_(device, bytes),
        out_(device, bytes),
        in_(device, bytes),
        streams_{make_stream(device.gpu(), Urgency::communication),
                 make_stream(device.gpu(), Urgency::communication)} {}
  ~BothCopies() {
    for (const cudaStream_t stream : streams_) static_cast<void>(cudaStreamDestroy(stream));
  }
  BothCopies(const BothCopies&) = delete;
  BothCopies& operator=(const BothCopies&) = delete;

  /// Each returns the time until the last copy has ended.
  Seconds ours(bool out, bool in) {
    const auto begin = Clock::now();
    const auto await = [this](DeviceMark end) {
      while (!device_.has_reached(end)) continue;
      device_.forget(end);
    };
    const DeviceMark out_end = out ? device_.copy_out(out_.data(), source_.data(), out_.size()) : 0;
    const DeviceMark in_end = in ? device_.copy_in(target_.data(), in_.data(), in_.size()) : 0;
    if (out) await(out_end);
    if (in) await(in_end);
    return since(begin);
  }
  Seconds plain() {
    const auto begin = Clock::now();
    device_.enter();
    const auto check = [this](cudaError_t error, const char* call) {
      check_cuda(error, call, device_.gpu());
    };
    check(cudaMemcpyAsync(out_.data(), source_.data(), out_.size(), cudaMemcpyDeviceToHost, streams_[0]),
          "cudaMemcpyAsync");
    check(cudaMemcpyAsync(target_.data(), in_.data(), in_.size(), cudaMemcpyHostToDevice, streams_[1]),
          "cudaMemcpyAsync");
    for (const cudaStream_t stream : streams_) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return since(begin);
  }

 private:
  CudaDevice& device_;
  DeviceArray<std::byte> source_;
  DeviceArray<std::byte> target_;
  PinnedArray<std::byte> out_;
  PinnedArray<std::byte> in_;
  cudaStream_t streams_[2];
};

/// A computation in the device's queue.
class Computation {
 public:
  explicit Computation(CudaDevice& device)
      : device_(device), convolve_(make_torch_convolution(device.gpu(), device.libtorch_stream())) {
    if (convolve_) return;
    for (FloatArray& vector : vectors_) vector = FloatArray(device, 1 << 14);
  }
  bool is_convolution() const { return convolve_ != nullptr; }

  /// Queues as many as take at least this time, then runs `work`. Returns the GPU's time for one of them.
  Seconds beside(Seconds at_least, const std::function<void()>& work) {
    const int count = std::max(1, static_cast<int>(std::ceil(at_least / one_)));
    const DeviceMark begin = device_.mark();
    for (int turn = 0; turn < count; ++turn) run();
    const DeviceMark end = device_.mark();
    work();
    device_.finish();
    const Seconds taken = device_.between(begin, end);
    device_.forget(begin);
    device_.forget(end);
    return taken / count;
  }
  /// Without anything beside it.
  Seconds alone() {
    one_ = std::max(beside(Seconds(10 * one_.count()), [] {}), Seconds(1e-6));
    return one_;
  }

 private:
  void run() {
    if (convolve_) return convolve_();
    device_.add(vectors_[0].data(), vectors_[1].data(), std::ssize(vectors_[0].span()), 0.5F);
  }
  CudaDevice& device_;
  std::function<void()> convolve_;
  FloatArray vectors_[2];
  Seconds one_{1.0};
};

}  // namespace

void measure_both_copies(benchmark::State& state, CudaDevice& device, std::size_t bytes, bool computes) {
  BothCopies copies(device, bytes);
  copies.ours(true, true);
  copies.plain();
  if (!computes) {
    Seconds ours, plain, one;
    for (auto _ : state) {
      const Seconds once = copies.ours(true, true);
      plain += copies.plain();
      one += std::max(copies.ours(true, false), copies.ours(false, true));
      ours += once;
      state.SetIterationTime(once.count());
    }
    state.counters["of_plain"] = plain / ours;
    state.counters["of_one"] = one / ours;
    return;
  }
  Computation computation(device);
  state.SetLabel(computation.is_convolution() ? "beside a convolution" : "beside additions of vectors");
  for (int turn = 0; turn < 3; ++turn) computation.alone();
  Seconds ours, plain, idle, alone, beside;
  for (auto _ : state) {
    alone += computation.alone();
    const Seconds on_idle = copies.ours(true, true);
    idle += on_idle;
    Seconds once;
    // Twice the time of the copies: the GPU computes until after their end.
    beside += computation.beside(on_idle * 2.0, [&] { once = copies.ours(true, true); });
    computation.beside(on_idle * 2.0, [&] { plain += copies.plain(); });
    ours += once;
    state.SetIterationTime(once.count());
  }
  state.counters["of_plain"] = plain / ours;
  state.counters["of_idle"] = idle / ours;
  state.counters["computing"] = alone / beside;
}

}  // namespace tandem
