// Arithmetic over flat vectors on a GPU, each kernel the twin of a loop in workloads/vectors/host_device.cpp.
// Compiled with --fmad=false and without fast mathematics, so that they round as the processor does, bit for
// bit; memory, not arithmetic, limits their speed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

// ---- Floats ----
// Array 0 of an operation is the one in its name; reads and writes have a bit for each array.

struct Fill {
  using Element = float;
  static constexpr int arrays = 1;
  static constexpr unsigned reads = 0, writes = 1;
  float value;
  __device__ void operator()(float (&v)[1]) const { v[0] = value; }
};

struct Scale {
  using Element = float;
  static constexpr int arrays = 1;
  static constexpr unsigned reads = 1, writes = 1;
  float factor;
  __device__ void operator()(float (&v)[1]) const { v[0] *= factor; }
};

struct Add {
  using Element = float;
  static constexpr int arrays = 2;
  static constexpr unsigned reads = 3, writes = 1;
  float factor;
  __device__ void operator()(float (&v)[2]) const { v[0] += factor * v[1]; }
};

struct Subtract {
  using Element = float;
  static constexpr int arrays = 3;
  static constexpr unsigned reads = 6, writes = 1;
  __device__ void operator()(float (&v)[3]) const { v[0] = v[1] - v[2]; }
};

struct Approach {
  using Element = float;
  static constexpr int arrays = 2;
  static constexpr unsigned reads = 3, writes = 1;
  float share;
  __device__ void operator()(float (&v)[2]) const { v[0] += share * (v[1] - v[0]); }
};

struct Multiply {
  using Element = float;
  static constexpr int arrays = 2;
  static constexpr unsigned reads = 2, writes = 1;
  float factor;
  __device__ void operator()(float (&v)[2]) const { v[0] = factor * v[1]; }
};

/// Gradient, model, older.
struct CompensateFixed {
  using Element = float;
  static constexpr int arrays = 3;
  static constexpr unsigned reads = 7, writes = 1;
  float lambda;
  __device__ void operator()(float (&v)[3]) const { v[0] += lambda * (v[0] * v[0]) * (v[1] - v[2]); }
};

/// Gradient, model, older, mean square.
struct CompensateAdaptively {
  using Element = float;
  static constexpr int arrays = 4;
  static constexpr unsigned reads = 15, writes = 9;
  CompensationStep step;
  __device__ void operator()(float (&v)[4]) const {
    const float square = v[0] * v[0];
    v[3] = step.memory * v[3] + (1.0F - step.memory) * square;
    const float strength = step.lambda / sqrtf(v[3] + smallest_mean_square);
    v[0] += strength * square * (v[1] - v[2]);
  }
};

// ---- Sums of several vectors ----

constexpr int most_terms = 64;
struct Terms {
  int count;
  Term at[most_terms];
};
constexpr int sums_in_flight = 4;

/// The sum stays in registers while a thread adds the terms.
template <int width>
__global__ void __launch_bounds__(block_threads)
    sum_terms(float* sum, bool begins, const __grid_constant__ Terms terms, int head, std::int64_t count) {
  using Piece = Pack<float, width>;
  const std::int64_t packs = (count - head) / width;
  constexpr std::int64_t tile = block_threads * sums_in_flight;
  for (std::int64_t at = first_tile() * tile + thread(); at < packs; at += tile_stride() * tile) {
    Piece pieces[sums_in_flight] = {};
#pragma unroll
    for (int turn = 0; turn < sums_in_flight; ++turn) {
      const std::int64_t pack = at + turn * block_threads;
      if (!begins && pack < packs) pieces[turn] = reinterpret_cast<const Piece*>(sum + head)[pack];
    }
#pragma unroll 2
    for (int term = 0; term < terms.count; ++term) {
      const auto* const values = reinterpret_cast<const Piece*>(terms.at[term].values + head);
      const float factor = terms.at[term].factor;
      Piece more[sums_in_flight] = {};
#pragma unroll
      for (int turn = 0; turn < sums_in_flight; ++turn) {
        const std::int64_t pack = at + turn * block_threads;
        if (pack < packs) more[turn] = values[pack];
      }
#pragma unroll
      for (int turn = 0; turn < sums_in_flight; ++turn)
#pragma unroll
        for (int item = 0; item < width; ++item) pieces[turn].at[item] += factor * more[turn].at[item];
    }
#pragma unroll
    for (int turn = 0; turn < sums_in_flight; ++turn) {
      const std::int64_t pack = at + turn * block_threads;
      if (pack < packs) reinterpret_cast<Piece*>(sum + head)[pack] = pieces[turn];
    }
  }
  if (blockIdx.x != 0 || thread() >= count - packs * width) return;
  const std::int64_t index = loose_element(thread(), head, packs * width);
  float own = begins ? 0.0F : sum[index];
  for (int term = 0; term < terms.count; ++term) own += terms.at[term].factor * terms.at[term].values[index];
  sum[index] = own;
}

cudaError_t launch_terms(float* sum, bool begins, const Terms& terms, std::int64_t count,
                         cudaStream_t stream) {
  constexpr int width = 4;
  if (count == 0) return cudaSuccess;
  const int head = before_packs<float, width>(sum);
  bool alike = head <= count;
  for (int term = 0; term < terms.count; ++term)
    alike = alike && before_packs<float, width>(terms.at[term].values) == head;
  const auto tiles = [](std::int64_t packs) {
    return packs == 0 ? 1 : tiles_of(packs, block_threads * sums_in_flight);
  };
  if (alike)
    return launch(stream, tiles((count - head) / width), sum_terms<width>, sum, begins, terms, head, count);
  return launch(stream, tiles(count), sum_terms<1>, sum, begins, terms, 0, count);
}

// ---- 16 bits ----
// The hardware converts. Where it differs from policies/compression/half.hpp the result is corrected, which
// is rare: too large numbers stay finite, and a NaN keeps its sign and becomes quiet.

struct Fp16 {
  static constexpr std::uint32_t infinity = 0x7c00U;
  /// By the hardware alone, as is widen_number.
  static __device__ std::uint32_t convert(float value) { return __half_as_ushort(__float2half_rn(value)); }
  static __device__ float widen_number(std::uint16_t half) { return __half2float(__ushort_as_half(half)); }
  static __device__ std::uint16_t narrow(float value) {
    const std::uint32_t half = convert(value);
    return static_cast<std::uint16_t>((half & 0x7fffU) < infinity ? half : narrow_exception(value));
  }
  static __device__ float widen(std::uint16_t half) {
    const std::uint32_t bits = half;
    if ((bits & 0x7fffU) <= infinity) return widen_number(half);
    return __uint_as_float(((bits & 0x8000U) << 16U) | 0x7f800000U | ((bits & 0x3ffU) << 13U));
  }

 private:
  static __device__ std::uint32_t narrow_exception(float value) {
    const std::uint32_t bits = __float_as_uint(value);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    const std::uint32_t sign = (bits >> 16U) & 0x8000U;
    if (magnitude > 0x7f800000U) return sign | infinity | 0x200U;
    return sign | (magnitude == 0x7f800000U ? infinity : infinity - 1);
  }
};

struct Bf16 {
  static constexpr std::uint32_t infinity = 0x7f80U;
  /// By the hardware alone.
  static __device__ std::uint32_t convert(float value) {
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
  }
  static __device__ float widen_number(std::uint16_t half) { return widen(half); }
  static __device__ std::uint16_t narrow(float value) {
    const std::uint32_t half = convert(value);
    return static_cast<std::uint16_t>((half & 0x7fffU) < infinity ? half : narrow_exception(value));
  }
  static __device__ float widen(std::uint16_t half) {
    return __uint_as_float(static_cast<std::uint32_t>(half) << 16U);
  }

 private:
  static __device__ std::uint32_t narrow_exception(float value) {
    const std::uint32_t bits = __float_as_uint(value);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return (bits >> 16U) | 0x40U;
    return ((bits >> 16U) & 0x8000U) | (magnitude == 0x7f800000U ? infinity : infinity - 1);
  }
};

template <class Format>
struct AddHalves {
  using Element = std::uint16_t;
  static constexpr int arrays = 2;
  static constexpr unsigned reads = 3, writes = 1;
  /// The hardware is right for numbers; a sum that is NaN or too large is rare.
  __device__ void operator()(std::uint16_t (&v)[2]) const {
    const std::uint32_t sum = Format::convert(Format::widen_number(v[0]) + Format::widen_number(v[1]));
    if ((sum & 0x7fffU) < Format::infinity)
      v[0] = static_cast<std::uint16_t>(sum);
    else
      v[0] = Format::narrow(Format::widen(v[0]) + Format::widen(v[1]));
  }
};

template <class Format>
struct Narrow {
  using From = float;
  using To = std::uint16_t;
  static __device__ std::uint16_t convert(float value) { return Format::narrow(value); }
};

template <class Format>
struct Widen {
  using From = std::uint16_t;
  using To = float;
  static __device__ float convert(std::uint16_t value) { return Format::widen(value); }
};

constexpr int conversions_in_flight = 8;

/// In packs of as many elements on both sides.
template <class Op, int width>
__global__ void __launch_bounds__(block_threads)
    convert(const typename Op::From* from, typename Op::To* to, int head, std::int64_t count) {
  using Read = Pack<typename Op::From, width>;
  using Written = Pack<typename Op::To, width>;
  const std::int64_t packs = (count - head) / width;
  constexpr std::int64_t tile = block_threads * conversions_in_flight;
  for (std::int64_t at = first_tile() * tile; at < packs; at += tile_stride() * tile) {
    Read pieces[conversions_in_flight] = {};
#pragma unroll
    for (int turn = 0; turn < conversions_in_flight; ++turn) {
      const std::int64_t pack = at + turn * block_threads + thread();
      if (pack < packs) pieces[turn] = reinterpret_cast<const Read*>(from + head)[pack];
    }
#pragma unroll
    for (int turn = 0; turn < conversions_in_flight; ++turn) {
      const std::int64_t pack = at + turn * block_threads + thread();
      Written written;
#pragma unroll
      for (int item = 0; item < width; ++item) written.at[item] = Op::convert(pieces[turn].at[item]);
      if (pack < packs) reinterpret_cast<Written*>(to + head)[pack] = written;
    }
  }
  if (blockIdx.x != 0 || thread() >= count - packs * width) return;
  const std::int64_t index = loose_element(thread(), head, packs * width);
  to[index] = Op::convert(from[index]);
}

template <class Op>
cudaError_t launch_convert(const typename Op::From* from, typename Op::To* to, std::int64_t count,
                           cudaStream_t stream) {
  constexpr int width = 4;
  if (count == 0) return cudaSuccess;
  const int head = before_packs<typename Op::From, width>(from);
  const auto tiles = [](std::int64_t packs) {
    return packs == 0 ? 1 : tiles_of(packs, block_threads * conversions_in_flight);
  };
  if (head <= count && head == before_packs<typename Op::To, width>(to))
    return launch(stream, tiles((count - head) / width), convert<Op, width>, from, to, head, count);
  return launch(stream, tiles(count), convert<Op, 1>, from, to, 0, count);
}

// ---- Values that are not finite ----

constexpr int looks_in_flight = searched_by_block / block_threads;

/// The block that ends last reports to pinned memory, and prepares the next search.
__global__ void __launch_bounds__(block_threads)
    find_smallest(const float* values, std::int64_t count, FlawSearch* search, std::int64_t* first) {
  constexpr std::uint32_t exponent = 0x7f800000U;
  for (std::int64_t at = first_tile() * searched_by_block; at < count;
       at += tile_stride() * searched_by_block) {
    std::uint32_t bits[looks_in_flight];
#pragma unroll
    for (int turn = 0; turn < looks_in_flight; ++turn) {
      const std::int64_t index = at + turn * block_threads + thread();
      bits[turn] = index < count ? __float_as_uint(values[index]) : 0U;
    }
#pragma unroll
    for (int turn = looks_in_flight - 1; turn >= 0; --turn)
      if ((bits[turn] & exponent) == exponent)
        atomicMin(&search->smallest, static_cast<unsigned long long>(at + turn * block_threads + thread()));
  }
  // The results of the block are visible before the block counts as ended.
  __threadfence();
  __syncthreads();
  if (thread() != 0 || atomicAdd(&search->ended, 1U) + 1U < gridDim.x) return;
  __threadfence();
  const unsigned long long found = atomicMin(&search->smallest, no_flaw);
  *first = found == no_flaw ? count : static_cast<std::int64_t>(found);
  *search = FlawSearch{};
}

}  // namespace

// One kernel is enough, because all kernels are built with the same flags.
cudaError_t find_code() {
  cudaFuncAttributes attributes = {};
  return cudaFuncGetAttributes(&attributes, each<Fill, 4>);
}

cudaError_t fill(float* values, std::int64_t count, float value, cudaStream_t stream) {
  return for_each_element(stream, count, Fill{value}, values);
}
cudaError_t scale(float* values, std::int64_t count, float factor, cudaStream_t stream) {
  return for_each_element(stream, count, Scale{factor}, values);
}
cudaError_t add(float* sum, const float* values, std::int64_t count, float factor, cudaStream_t stream) {
  return for_each_element(stream, count, Add{factor}, sum, values);
}
cudaError_t add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count, HalfFormat format,
                       cudaStream_t stream) {
  return format == HalfFormat::fp16 ? for_each_element(stream, count, AddHalves<Fp16>{}, sum, values)
                                    : for_each_element(stream, count, AddHalves<Bf16>{}, sum, values);
}
cudaError_t subtract(float* difference, const float* left, const float* right, std::int64_t count,
                     cudaStream_t stream) {
  return for_each_element(stream, count, Subtract{}, difference, left, right);
}
cudaError_t approach(float* values, const float* target, std::int64_t count, float share,
                     cudaStream_t stream) {
  return for_each_element(stream, count, Approach{share}, values, target);
}

cudaError_t multiply(float* product, const float* values, std::int64_t count, float factor,
                     cudaStream_t stream) {
  return for_each_element(stream, count, Multiply{factor}, product, values);
}

cudaError_t add_terms(float* sum, bool begins, const Term* terms, int count_of_terms, std::int64_t count,
                      cudaStream_t stream) {
  int at = 0;
  do {
    Terms some = {};
    for (; some.count < most_terms && at < count_of_terms; ++at) some.at[some.count++] = terms[at];
    const cudaError_t error = launch_terms(sum, begins, some, count, stream);
    if (error != cudaSuccess) return error;
    begins = false;
  } while (at < count_of_terms);
  return cudaSuccess;
}

cudaError_t compensate(float* gradient, const float* model, const float* older, float* mean_square,
                       std::int64_t count, CompensationStep step, cudaStream_t stream) {
  if (mean_square == nullptr)
    return for_each_element(stream, count, CompensateFixed{step.lambda}, gradient, model, older);
  return for_each_element(stream, count, CompensateAdaptively{step}, gradient, model, older, mean_square);
}

cudaError_t find_non_finite(const float* values, std::int64_t count, FlawSearch* search, std::int64_t* first,
                            cudaStream_t stream) {
  const std::int64_t tiles = tiles_of(count, searched_by_block);
  return launch(stream, tiles > 0 ? tiles : 1, find_smallest, values, count, search, first);
}

cudaError_t narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format,
                   cudaStream_t stream) {
  return format == HalfFormat::fp16 ? launch_convert<Narrow<Fp16>>(values, halves, count, stream)
                                    : launch_convert<Narrow<Bf16>>(values, halves, count, stream);
}
cudaError_t widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format,
                  cudaStream_t stream) {
  return format == HalfFormat::fp16 ? launch_convert<Widen<Fp16>>(halves, values, count, stream)
                                    : launch_convert<Widen<Bf16>>(halves, values, count, stream);
}

}  // namespace tandem::kernels
