// The base of test devices other than the host: arithmetic uses the host's functions, but in the device's
// queue. The derived device decides when, by which thread and in which memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "workloads/vectors/compute_device.hpp"

namespace tandem::testing {

class QueuedDevice : public ComputeDevice {
 public:
  /// Adds a kernel, which can be any function, to the queue in use.
  virtual void queue(std::function<void()> work) = 0;

  bool is_host() const override { return false; }

  void copy(void* to, const void* from, std::size_t bytes) override {
    queue_twin(&ComputeDevice::copy, to, from, bytes);
  }
  void copy_all(std::span<const FloatCopy> copies) override {
    std::vector<FloatCopy> seen(copies.begin(), copies.end());
    for (FloatCopy& one : seen) {
      one.to = as_seen(one.to);
      one.from = as_seen(one.from);
    }
    queue_twin(&ComputeDevice::copy_all, seen);
  }
  void fill(float* values, std::int64_t count, float value) override {
    queue_twin(&ComputeDevice::fill, values, count, value);
  }
  void scale(float* values, std::int64_t count, float factor) override {
    queue_twin(&ComputeDevice::scale, values, count, factor);
  }
  void add(float* sum, const float* values, std::int64_t count, float factor) override {
    queue_twin(&ComputeDevice::add, sum, values, count, factor);
  }
  void add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count,
                  HalfFormat format) override {
    queue_twin(&ComputeDevice::add_halves, sum, values, count, format);
  }
  void subtract(float* difference, const float* left, const float* right, std::int64_t count) override {
    queue_twin(&ComputeDevice::subtract, difference, left, right, count);
  }
  void approach(float* values, const float* target, std::int64_t count, float share) override {
    queue_twin(&ComputeDevice::approach, values, target, count, share);
  }
  void multiply(float* product, const float* values, std::int64_t count, float factor) override {
    queue_twin(&ComputeDevice::multiply, product, values, count, factor);
  }
  void add_terms(float* sum, bool begins, std::span<const Term> terms, std::int64_t count) override {
    std::vector<Term> seen(terms.begin(), terms.end());
    for (Term& term : seen) term.values = as_seen(term.values);
    queue_twin(&ComputeDevice::add_terms, sum, begins, seen, count);
  }
  void compensate(float* gradient, const float* model, const float* older, float* mean_square,
                  std::int64_t count, const CompensationStep& step) override {
    queue_twin(&ComputeDevice::compensate, gradient, model, older, mean_square, count, step);
  }
  void sgd_over(float* model, const float* gradient, float* velocity, Stretches stretches,
                const SgdStep& step) override {
    queue_twin(&ComputeDevice::sgd_over, model, gradient, velocity, kept(stretches), step);
  }
  void adam_over(float* model, const float* gradient, float* mean, float* square, Stretches stretches,
                 const AdamStep& step) override {
    queue_twin(&ComputeDevice::adam_over, model, gradient, mean, square, kept(stretches), step);
  }
  void move_over(float* model, const float* base, const float* sum, float* velocity, Stretches stretches,
                 const MoveStep& step) override {
    queue_twin(&ComputeDevice::move_over, model, base, sum, velocity, kept(stretches), step);
  }
  void find_non_finite(const float* values, std::int64_t count, std::int64_t* pinned_first) override {
    queue_twin(&ComputeDevice::find_non_finite, values, count, pinned_first);
  }
  void narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format) override {
    queue_twin(&ComputeDevice::narrow, values, halves, count, format);
  }
  void widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format) override {
    queue_twin(&ComputeDevice::widen, halves, values, count, format);
  }
  std::unique_ptr<compression::Codec> make_codec(const Catalog<compression::Factory>::Entry&,
                                                 const compression::Setting&) override {
    return nullptr;
  }

 protected:
  /// Translates a pointer to the device's address; returns any other argument unchanged.
  template <class Argument>
  Argument as_seen(Argument argument) const {
    if constexpr (std::is_pointer_v<Argument>)
      return static_cast<Argument>(const_cast<void*>(inside(argument)));
    else
      return argument;
  }

 private:
  /// The caller's table ends with the call.
  static std::vector<UpdateStretch> kept(Stretches stretches) { return {stretches.begin(), stretches.end()}; }

  /// The device's address for `memory`, which may be host memory or null.
  virtual const void* inside(const void* memory) const { return memory; }

  /// Queues the host's function. Arguments are copied now.
  template <class... Wanted, class... Given>
  void queue_twin(void (ComputeDevice::*function)(Wanted...), const Given&... given) {
    queue([function, arguments = std::tuple(as_seen(given)...)] {
      std::apply([function](const auto&... argument) { (host_device().*function)(argument...); }, arguments);
    });
  }
};

}  // namespace tandem::testing
