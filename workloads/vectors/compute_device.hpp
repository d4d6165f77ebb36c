// The device that stores a rank's flat vectors and computes on them: a processor with its memory, or a GPU.
// Roles use this interface for their arithmetic and cannot tell the two apart. Includes no header of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "policies/collectives/element.hpp"
#include "policies/compression/codec.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/vectors/vector_steps.hpp"

namespace tandem {

/// A position in a device's work, which the device reaches later. Valid for the device that created it.
using DeviceMark = std::uint32_t;

/// Not thread-safe. Memory is named by plain pointers; unless `is_host()`, only the device may access it.
/// Arithmetic and copies are queued and done in order; a processor does them immediately. Vectors of one call
/// are equal or do not overlap. Any count, also zero. Errors: WorldError from all members when the device
/// fails; NoMemoryError, or std::bad_alloc from the host, when memory is insufficient.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  /// "host"; "cuda:0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  /// The number under which libtorch computes on it; none: libtorch computes on the processor.
  virtual std::optional<int> libtorch_gpu() const { return {}; }
  /// The queue as a stream of that GPU, CUDA's handle: libtorch has to compute there, so that both are in
  /// order. Null: libtorch's own default.
  virtual void* libtorch_stream() const { return nullptr; }
  /// The processor may access its memory, and calls are done when they return.
  virtual bool is_host() const = 0;

  // ---- Memory ----
  /// Filled with zeros; aligned to at least 64 bytes. Null for no bytes.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  /// Whether a pointer names memory of this device that only the device may access. Null: no.
  virtual bool owns(const void* memory) const = 0;
  /// Host memory to and from which the device copies fastest; every processor may access it.
  virtual std::byte* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(std::byte* memory) noexcept = 0;
  /// `free_cache` frees what another user of the device's memory keeps unused. It is called when memory is
  /// insufficient; the allocation is then tried again.
  void on_shortage(std::function<void()> free_cache) { free_cache_ = std::move(free_cache); }
  /// Calls it, for a library that lacks memory of the device. False if there is no such function.
  bool free_cache() const {
    if (free_cache_) free_cache_();
    return free_cache_ != nullptr;
  }

  // ---- The queue ----
  /// Between any memory. Host memory must not change until the queue has done the copy.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Any number of copies together, which do not overlap. Pre: matrices are whole.
  virtual void copy_all(std::span<const FloatCopy> copies) = 0;
  /// Waits until all calls are done.
  virtual void finish() = 0;
  /// The position after all queued work. Every mark has to be forgotten once.
  virtual DeviceMark mark() = 0;
  virtual bool has_reached(DeviceMark mark) = 0;
  /// The device's own time between two marks that it has reached.
  virtual Seconds between(DeviceMark begin, DeviceMark end) = 0;
  virtual void forget(DeviceMark mark) noexcept = 0;
  /// Called by a kernel that queues more than its own work: its work ends at this mark, which the caller of
  /// the kernel forgets.
  void end_kernel_at(DeviceMark mark) { kernel_end_ = mark; }
  /// Whether the kernel that has just run called end_kernel_at, perhaps for work that an earlier one queued.
  bool kernel_said_end() const { return kernel_end_.has_value(); }
  /// The end of the kernel that has just run: the mark of end_kernel_at, or one after all queued work.
  DeviceMark kernel_end() {
    const auto said = std::exchange(kernel_end_, std::nullopt);
    return said ? *said : mark();
  }

  // ---- Copies outside the queue ----
  /// Copies immediately, independent of the queue. Returns the mark of the copy's end. Pre: the source is
  /// complete, host memory is pinned, and neither side is accessed before the end.
  virtual DeviceMark copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) = 0;
  virtual DeviceMark copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) = 0;

  /// The position after all copies out, or in, that were started.
  virtual DeviceMark mark_copies(bool out) = 0;

  // ---- Arithmetic over `count` floats ----
  virtual void fill(float* values, std::int64_t count, float value) = 0;
  virtual void scale(float* values, std::int64_t count, float factor) = 0;
  /// sum += factor * values: reduces a received vector.
  virtual void add(float* sum, const float* values, std::int64_t count, float factor) = 0;
  /// The same for other elements of an all-reduce, rounded after each addition.
  virtual void add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count,
                          HalfFormat format) = 0;
  /// difference = left - right, which may be the same as `difference`.
  virtual void subtract(float* difference, const float* left, const float* right, std::int64_t count) = 0;
  /// values += share * (target - values).
  virtual void approach(float* values, const float* target, std::int64_t count, float share) = 0;
  /// product = factor * values.
  virtual void multiply(float* product, const float* values, std::int64_t count, float factor) = 0;
  /// sum += the terms, one after the other; `begins`: the sum has no value yet, and counts as 0.
  virtual void add_terms(float* sum, bool begins, std::span<const Term> terms, std::int64_t count) = 0;
  /// `mean_square` is null with a fixed strength.
  virtual void compensate(float* gradient, const float* model, const float* older, float* mean_square,
                          std::int64_t count, const CompensationStep& step) = 0;
  /// Writes the index of the first value that is not finite, or `count`, to pinned memory.
  virtual void find_non_finite(const float* values, std::int64_t count, std::int64_t* pinned_first) = 0;

  // ---- Updates over stretches of flat vectors, which do not overlap ----
  using Stretches = std::span<const UpdateStretch>;
  /// `velocity` is null without momentum.
  virtual void sgd_over(float* model, const float* gradient, float* velocity, Stretches stretches,
                        const SgdStep& step) = 0;
  virtual void adam_over(float* model, const float* gradient, float* mean, float* square, Stretches stretches,
                         const AdamStep& step) = 0;
  /// `velocity` is null without momentum; `model` may be `base`.
  virtual void move_over(float* model, const float* base, const float* sum, float* velocity,
                         Stretches stretches, const MoveStep& step) = 0;
  // The same over `count` trained elements.
  void sgd(float* model, const float* gradient, float* velocity, std::int64_t count, const SgdStep& step) {
    const UpdateStretch all{0, count, 0};
    sgd_over(model, gradient, velocity, {&all, 1}, step);
  }
  void adam(float* model, const float* gradient, float* mean, float* square, std::int64_t count,
            const AdamStep& step) {
    const UpdateStretch all{0, count, 0};
    adam_over(model, gradient, mean, square, {&all, 1}, step);
  }
  void move(float* model, const float* base, const float* sum, float* velocity, std::int64_t count,
            const MoveStep& step) {
    const UpdateStretch all{0, count, 0};
    move_over(model, base, sum, velocity, {&all, 1}, step);
  }

  // ---- Compression ----
  virtual void narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format) = 0;
  virtual void widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format) = 0;
  /// A codec for this device's memory, with the messages of policies/compression; null for an unsupported
  /// method.
  virtual std::unique_ptr<compression::Codec> make_codec(const Catalog<compression::Factory>::Entry& method,
                                                         const compression::Setting& setting) = 0;
  /// PowerSGD's factors in this device's memory; null if the processor has to calculate them.
  virtual std::unique_ptr<compression::SharedFactors> make_factors(const compression::Setting&) {
    return nullptr;
  }

 private:
  friend class SecondQueue;
  virtual void use_second_queue(bool second) noexcept = 0;

  std::optional<DeviceMark> kernel_end_;
  std::function<void()> free_cache_;
};

/// During its lifetime, calls go to the device's second queue, which does not wait for the first: for
/// arithmetic on complete data that must not wait for the work of the first queue. Marks are those of the
/// queue in use; find_non_finite belongs to the first. One at a time.
class SecondQueue {
 public:
  explicit SecondQueue(ComputeDevice& device) : device_(device) { device_.use_second_queue(true); }
  ~SecondQueue() { device_.use_second_queue(false); }
  SecondQueue(const SecondQueue&) = delete;
  SecondQueue& operator=(const SecondQueue&) = delete;

 private:
  ComputeDevice& device_;
};

/// The processor and its memory. Has no state, so one object is enough.
ComputeDevice& host_device();

/// sum[i] += arrived[i] over elements of an all-reduce in the device's memory, aligned as elements are. Pre:
/// not of bytes.
void add_elements(ComputeDevice& device, const collectives::Element& element, std::byte* sum,
                  const std::byte* arrived, std::int64_t elements);

/// Owns elements in a device's memory, or in pinned memory of the host; initially zero.
template <class Element, bool is_pinned = false>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(ComputeDevice& device, std::size_t size)
      : device_(&device), data_(allocate(device, size * sizeof(Element))), size_(size) {}
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceArray() {
    if (data_ == nullptr) return;
    auto* const memory = reinterpret_cast<std::byte*>(data_);
    is_pinned ? device_->release_pinned(memory) : device_->release(memory);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(Element); }
  Element* data() const { return data_; }
  std::span<Element> span() const { return {data_, size_}; }

 private:
  static Element* allocate(ComputeDevice& device, std::size_t bytes) {
    return reinterpret_cast<Element*>(is_pinned ? device.allocate_pinned(bytes) : device.allocate(bytes));
  }
  void swap(DeviceArray& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  ComputeDevice* device_ = nullptr;
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

using FloatArray = DeviceArray<float>;
template <class Element>
using PinnedArray = DeviceArray<Element, true>;

}  // namespace tandem
