// A GPU as a compute device: memory, queue and arithmetic through CUDA. Both queues, and the copies outside
// them, have streams of their own. No stream waits for another: CUDA's default stream would delay the
// streams of a CUDA-aware MPI. The GPU prefers the second queue and the copies to the first queue.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/gpu/cuda_marks.hpp"
#include "runtime/gpu/cuda_memory.hpp"
#include "runtime/gpu/cuda_stream.hpp"
#include "runtime/gpu/device_allocations.hpp"
#include "runtime/gpu/gpu.hpp"
#include "runtime/gpu/shared_device_memory.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

namespace kernels {
struct FlawSearch;
}

/// Several may coexist in a process, also on the same GPU: each call makes its GPU the thread's current one
/// and does not change it back. Release its memory and destroy its codecs before the device.
class CudaDevice final : public ComputeDevice, public DeviceAllocations, public SharedDeviceMemory {
 public:
  /// `gpu`: its number among the GPUs in CUDA_VISIBLE_DEVICES. Errors: WorldError, also where this build has
  /// no kernels for it.
  explicit CudaDevice(int gpu);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override;

  std::string name() const override { return name_; }
  std::optional<int> libtorch_gpu() const override;
  void* libtorch_stream() const override { return streams_.first(); }
  bool is_host() const override { return false; }
  int gpu() const { return gpu_; }
  /// Makes the GPU the thread's current one.
  void enter() const;

  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override { memory_.release(memory); }
  bool owns(const void* memory) const override { return allocation_of(memory).has_value(); }
  std::optional<DeviceAllocation> allocation_of(const void* memory) const override {
    return memory_.allocation_of(memory);
  }
  void watch(std::weak_ptr<AllocationWatcher> watcher) override { memory_.watch(std::move(watcher)); }
  std::optional<Handle> share(const DeviceAllocation& allocation) override;
  const std::byte* open(const Handle& handle) override;
  DeviceMark copy_opened(std::byte* to, const std::byte* opened, std::size_t bytes) override;
  void close(const std::byte* opened) noexcept override;
  std::byte* allocate_pinned(std::size_t bytes) override;
  void release_pinned(std::byte* memory) noexcept override { memory_.release(memory); }

  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_all(std::span<const FloatCopy> copies) override;
  void finish() override;
  DeviceMark mark() override;
  bool has_reached(DeviceMark mark) override;
  Seconds between(DeviceMark begin, DeviceMark end) override;
  void forget(DeviceMark mark) noexcept override { marks_.forget(mark); }

  cudaStream_t queue_in_use() const { return queue_; }

  DeviceMark copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) override;
  DeviceMark copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) override;
  DeviceMark mark_copies(bool out) override;

  void fill(float* values, std::int64_t count, float value) override;
  void scale(float* values, std::int64_t count, float factor) override;
  void add(float* sum, const float* values, std::int64_t count, float factor) override;
  void add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count,
                  HalfFormat format) override;
  void subtract(float* difference, const float* left, const float* right, std::int64_t count) override;
  void approach(float* values, const float* target, std::int64_t count, float share) override;
  void multiply(float* product, const float* values, std::int64_t count, float factor) override;
  void add_terms(float* sum, bool begins, std::span<const Term> terms, std::int64_t count) override;
  void sgd_over(float* model, const float* gradient, float* velocity, Stretches stretches,
                const SgdStep& step) override;
  void adam_over(float* model, const float* gradient, float* mean, float* square, Stretches stretches,
                 const AdamStep& step) override;
  void move_over(float* model, const float* base, const float* sum, float* velocity, Stretches stretches,
                 const MoveStep& step) override;
  void compensate(float* gradient, const float* model, const float* older, float* mean_square,
                  std::int64_t count, const CompensationStep& step) override;
  void find_non_finite(const float* values, std::int64_t count, std::int64_t* pinned_first) override;

  void narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format) override;
  void widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format) override;
  /// See cuda_codecs.hpp.
  std::unique_ptr<compression::Codec> make_codec(const Catalog<compression::Factory>::Entry& method,
                                                 const compression::Setting& setting) override;
  std::unique_ptr<compression::SharedFactors> make_factors(const compression::Setting& setting) override;

 private:
  void use_second_queue(bool second) noexcept override {
    queue_ = second ? streams_.second() : streams_.first();
  }
  /// Calls enter(), then puts a launcher with its arguments on the queue.
  template <class... Wanted, class... Given>
  void queue(const char* name, cudaError_t (*launcher)(Wanted...), Given... given) const;
  DeviceMark copy_concurrently(cudaStream_t stream, void* to, const void* from, std::size_t bytes,
                               cudaMemcpyKind kind);
  struct Frees {
    void operator()(void* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
  };

  int gpu_;
  std::string name_;
  CudaStreams streams_;
  std::unique_ptr<kernels::FlawSearch, Frees> search_;
  CudaMarks marks_;
  CudaMemory memory_;
  cudaStream_t queue_;  ///< in use
};

}  // namespace tandem
