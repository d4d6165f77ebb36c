// The processor as a compute device: plain loops, each the twin of a CUDA kernel (runtime/gpu/kernels.cu).
// Calls are done when they return, and all marks are reached.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>

#include "policies/compression/half.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {
namespace {

constexpr std::align_val_t alignment{64};

// Free functions over restrict pointers, so that the compiler turns the loops into vector instructions.
void step_plain(float* __restrict model, const float* __restrict gradient, std::int64_t count, SgdStep step) {
  for (std::int64_t i = 0; i < count; ++i)
    model[i] -= step.learning_rate * (step.scale * (step.share * gradient[i]) + step.weight_decay * model[i]);
}

void step_with_momentum(float* __restrict model, const float* __restrict gradient, float* __restrict velocity,
                        std::int64_t count, SgdStep step) {
  for (std::int64_t i = 0; i < count; ++i) {
    velocity[i] = step.momentum * velocity[i] +
                  (step.scale * (step.share * gradient[i]) + step.weight_decay * model[i]);
    model[i] -= step.learning_rate * velocity[i];
  }
}

void step_with_nesterov(float* __restrict model, const float* __restrict gradient, float* __restrict velocity,
                        std::int64_t count, SgdStep step) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = step.scale * (step.share * gradient[i]) + step.weight_decay * model[i];
    velocity[i] = step.momentum * velocity[i] + g;
    model[i] -= step.learning_rate * (g + step.momentum * velocity[i]);
  }
}

void step_adam(float* __restrict model, const float* __restrict gradient, float* __restrict mean,
               float* __restrict square, std::int64_t count, AdamStep step) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float kept = step.kept * model[i];
    const float g = step.scale * (step.share * gradient[i]) + step.weight_decay * kept;
    mean[i] = step.beta1 * mean[i] + step.new_mean * g;
    square[i] = step.beta2 * square[i] + step.new_square * g * g;
    model[i] = kept - step.rate * mean[i] / (step.root * std::sqrt(square[i]) + step.epsilon);
  }
}

void step_moving(float* model, const float* base, const float* sum, float* velocity, std::int64_t count,
                 MoveStep step) {
  if (velocity == nullptr) {
    const float rate = step.share * step.rate;
    for (std::int64_t i = 0; i < count; ++i) model[i] = base[i] + rate * sum[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const float change = step.share * sum[i];
    velocity[i] = step.kept * velocity[i] + change;
    model[i] = base[i] + step.rate * (step.nesterov ? change + step.momentum * velocity[i] : velocity[i]);
  }
}

float* at_or_null(float* values, std::int64_t index) { return values == nullptr ? nullptr : values + index; }

void add_plain(float* __restrict sum, const float* __restrict values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += values[i];
}

void add_scaled(float* __restrict sum, const float* __restrict values, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += factor * values[i];
}

void compensate_fixed(float* __restrict gradient, const float* __restrict model,
                      const float* __restrict older, std::int64_t count, float lambda) {
  for (std::int64_t i = 0; i < count; ++i)
    gradient[i] += lambda * (gradient[i] * gradient[i]) * (model[i] - older[i]);
}

void compensate_adaptively(float* __restrict gradient, const float* __restrict model,
                           const float* __restrict older, float* __restrict mean_square, std::int64_t count,
                           CompensationStep step) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float square = gradient[i] * gradient[i];
    mean_square[i] = step.memory * mean_square[i] + (1.0F - step.memory) * square;
    const float strength = step.lambda / std::sqrt(mean_square[i] + smallest_mean_square);
    gradient[i] += strength * square * (model[i] - older[i]);
  }
}

/// Infinities and NaNs have an exponent of ones only. Without branches, so that the loop is
/// vectorised.
bool all_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t exponent = 0x7f800000U;
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]) & exponent;
    found |= static_cast<std::uint32_t>(bits == exponent);
  }
  return found == 0;
}

template <class Format>
void add_halves_of(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    sum[i] = Format::narrow(Format::widen(sum[i]) + Format::widen(values[i]));
}

void transpose(const FloatCopy& copy) {
  const std::int64_t elements = copy.rows * copy.columns;
  for (std::int64_t begin = 0; begin < copy.count; begin += elements)
    for (std::int64_t row = 0; row < copy.rows; ++row)
      for (std::int64_t column = 0; column < copy.columns; ++column)
        copy.to[begin + column * copy.rows + row] = copy.from[begin + row * copy.columns + column];
}

class HostDevice final : public ComputeDevice {
 public:
  std::string name() const override { return "host"; }
  bool is_host() const override { return true; }

  std::byte* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* const memory = ::operator new(bytes, alignment);
    std::memset(memory, 0, bytes);
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) noexcept override { ::operator delete(memory, alignment); }
  bool owns(const void*) const override { return false; }
  std::byte* allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
  void release_pinned(std::byte* memory) noexcept override { release(memory); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void copy_all(std::span<const FloatCopy> copies) override {
    for (const FloatCopy& one : copies)
      if (one.rows == 0)
        copy(one.to, one.from, static_cast<std::size_t>(one.count) * sizeof(float));
      else
        transpose(one);
  }
  void finish() override {}
  DeviceMark mark() override { return 0; }
  bool has_reached(DeviceMark) override { return true; }
  Seconds between(DeviceMark, DeviceMark) override { return Seconds(0); }
  void forget(DeviceMark) noexcept override {}
  DeviceMark copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) override {
    copy(pinned, own, bytes);
    return mark();
  }
  DeviceMark copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) override {
    copy(own, pinned, bytes);
    return mark();
  }
  DeviceMark mark_copies(bool) override { return mark(); }

  void fill(float* values, std::int64_t count, float value) override { std::fill_n(values, count, value); }
  void scale(float* values, std::int64_t count, float factor) override {
    for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
  }
  void add(float* sum, const float* values, std::int64_t count, float factor) override {
    // An all-reduce spends much of its time here, where a multiplication would be noticeable.
    factor == 1.0F ? add_plain(sum, values, count) : add_scaled(sum, values, count, factor);
  }
  void add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count,
                  HalfFormat format) override {
    format == HalfFormat::fp16 ? add_halves_of<compression::Fp16>(sum, values, count)
                               : add_halves_of<compression::Bf16>(sum, values, count);
  }
  void subtract(float* difference, const float* left, const float* right, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) difference[i] = left[i] - right[i];
  }
  void approach(float* values, const float* target, std::int64_t count, float share) override {
    for (std::int64_t i = 0; i < count; ++i) values[i] += share * (target[i] - values[i]);
  }
  void multiply(float* product, const float* values, std::int64_t count, float factor) override {
    for (std::int64_t i = 0; i < count; ++i) product[i] = factor * values[i];
  }
  void add_terms(float* sum, bool begins, std::span<const Term> terms, std::int64_t count) override {
    // Block by block, so that the sum stays in the processor's cache.
    constexpr std::int64_t block = 4096;
    for (std::int64_t at = 0; at < count; at += block) {
      const std::int64_t size = std::min(block, count - at);
      if (begins) fill(sum + at, size, 0.0F);
      for (const Term& term : terms) add(sum + at, term.values + at, size, term.factor);
    }
  }
  void compensate(float* gradient, const float* model, const float* older, float* mean_square,
                  std::int64_t count, const CompensationStep& step) override {
    if (mean_square == nullptr) return compensate_fixed(gradient, model, older, count, step.lambda);
    compensate_adaptively(gradient, model, older, mean_square, count, step);
  }
  void find_non_finite(const float* values, std::int64_t count, std::int64_t* pinned_first) override {
    *pinned_first = count;
    if (all_finite(values, count)) return;
    *pinned_first = std::find_if(values, values + count, [](float v) { return !std::isfinite(v); }) - values;
  }

  void sgd_over(float* model, const float* gradient, float* velocity, Stretches stretches,
                const SgdStep& step) override {
    for (const auto& [begin, trained, statistics] : stretches) {
      float* const own = at_or_null(velocity, begin);
      if (own == nullptr)
        step_plain(model + begin, gradient + begin, trained, step);
      else
        (step.nesterov ? step_with_nesterov : step_with_momentum)(model + begin, gradient + begin, own,
                                                                  trained, step);
      multiply(model + begin + trained, gradient + begin + trained, statistics, step.average);
    }
  }
  void adam_over(float* model, const float* gradient, float* mean, float* square, Stretches stretches,
                 const AdamStep& step) override {
    for (const auto& [begin, trained, statistics] : stretches) {
      step_adam(model + begin, gradient + begin, mean + begin, square + begin, trained, step);
      multiply(model + begin + trained, gradient + begin + trained, statistics, step.average);
    }
  }
  void move_over(float* model, const float* base, const float* sum, float* velocity, Stretches stretches,
                 const MoveStep& step) override {
    for (const auto& [begin, trained, statistics] : stretches) {
      step_moving(model + begin, base + begin, sum + begin, at_or_null(velocity, begin), trained, step);
      for (std::int64_t i = begin + trained; i < begin + trained + statistics; ++i)
        model[i] = base[i] + step.average * sum[i];
    }
  }

  void narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format) override {
    const auto narrow_one =
        format == HalfFormat::fp16 ? compression::Fp16::narrow : compression::Bf16::narrow;
    std::transform(values, values + count, halves, narrow_one);
  }
  void widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format) override {
    const auto widen_one = format == HalfFormat::fp16 ? compression::Fp16::widen : compression::Bf16::widen;
    std::transform(halves, halves + count, values, widen_one);
  }
  std::unique_ptr<compression::Codec> make_codec(const Catalog<compression::Factory>::Entry& method,
                                                 const compression::Setting& setting) override {
    return method.make.make(setting);
  }

 private:
  void use_second_queue(bool) noexcept override {}
};

}  // namespace

ComputeDevice& host_device() {
  static HostDevice device;
  return device;
}

void add_elements(ComputeDevice& device, const collectives::Element& element, std::byte* sum,
                  const std::byte* arrived, std::int64_t elements) {
  using Kind = collectives::Element::Kind;
  if (element.kind == Kind::float32)
    return device.add(reinterpret_cast<float*>(sum), reinterpret_cast<const float*>(arrived), elements, 1.0F);
  TANDEM_CHECK(element.kind != Kind::bytes, "elements", elements);
  device.add_halves(reinterpret_cast<std::uint16_t*>(sum), reinterpret_cast<const std::uint16_t*>(arrived),
                    elements, element.kind == Kind::fp16 ? HalfFormat::fp16 : HalfFormat::bf16);
}

}  // namespace tandem
