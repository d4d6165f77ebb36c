// Compressions that draw numbers: the messages of policies/compression/qsgd.cpp and random_k.cpp, made and
// read by a GPU, byte for byte.
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

// ---- QSGD ----

/// The twin of policies/vocabulary/indexed_random.hpp.
__device__ inline double indexed_uniform(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  mixed ^= mixed >> 31U;
  return static_cast<double>(mixed >> 11U) * 0x1.0p-53;
}

/// Squares are added in the processor's order, so one thread adds those of a bucket.
__global__ void __launch_bounds__(block_threads)
    find_norms(QsgdForm form, const float* values, std::uint8_t* norms) {
  const std::int64_t buckets = tiles_of(form.elements, form.bucket);
  const std::int64_t stride = tile_stride() * block_threads;
  for (std::int64_t bucket = first_tile() * block_threads + thread(); bucket < buckets; bucket += stride) {
    const std::int64_t begin = bucket * form.bucket;
    const std::int64_t end = begin + form.bucket < form.elements ? begin + form.bucket : form.elements;
    double square = 0.0;
    for (std::int64_t index = begin; index < end; ++index) {
      const auto value = static_cast<double>(values[index]);
      square += value * value;
    }
    store_word(norms + bucket * 4, __float_as_uint(static_cast<float>(sqrt(square))));
  }
}

/// An infinite or NaN norm is sent as it is, and so detected.
__device__ inline std::uint32_t code_of(float value, float norm, std::int64_t levels, double drawn) {
  std::int64_t level = 0;
  constexpr std::uint32_t infinity = 0x7f800000U;
  if (norm > 0.0F && __float_as_uint(norm) < infinity) {
    const double scaled =
        fabs(static_cast<double>(value)) / static_cast<double>(norm) * static_cast<double>(levels);
    level = static_cast<std::int64_t>(floor(scaled + drawn));
    level = level < levels ? level : levels;
  }
  const bool is_negative = (__float_as_uint(value) >> 31U) != 0;
  return static_cast<std::uint32_t>(levels + (is_negative ? -level : level));
}

/// Codes that one thread makes: they fill as many words as a code has bits.
constexpr int codes_of_thread = 32;

__global__ void __launch_bounds__(block_threads)
    pack_codes(QsgdForm form, const float* values, std::uint64_t seed, std::uint8_t* message) {
  const std::int64_t runs = tiles_of(form.elements, codes_of_thread);
  const std::int64_t stride = tile_stride() * block_threads;
  for (std::int64_t run = first_tile() * block_threads + thread(); run < runs; run += stride) {
    const std::int64_t begin = run * codes_of_thread;
    std::int64_t bucket = begin / form.bucket;
    std::int64_t end_of_bucket = (bucket + 1) * form.bucket;
    float norm = __uint_as_float(load_word(message + form.norms + bucket * 4));
    std::uint8_t* to = message + run * form.bits * 4;
    std::uint64_t pending = 0;
    int filled = 0;
    for (int code = 0; code < codes_of_thread && begin + code < form.elements; ++code) {
      const std::int64_t index = begin + code;
      if (index == end_of_bucket) {
        end_of_bucket += form.bucket;
        norm = __uint_as_float(load_word(message + form.norms + ++bucket * 4));
      }
      const double drawn = indexed_uniform(seed, static_cast<std::uint64_t>(index));
      pending |= static_cast<std::uint64_t>(code_of(values[index], norm, form.levels, drawn)) << filled;
      filled += form.bits;
      if (filled < 32) continue;
      store_word(to, static_cast<std::uint32_t>(pending));
      to += 4;
      pending >>= 32U;
      filled -= 32;
    }
    // Only the last thread has fewer codes.
    if (filled > 0) store_word(to, static_cast<std::uint32_t>(pending), (filled + 7) / 8);
  }
}

template <bool adds>
__global__ void __launch_bounds__(block_threads)
    unpack_codes(QsgdForm form, const std::uint8_t* message, float* values) {
  const std::int64_t stride = tile_stride() * block_threads;
  for (std::int64_t index = first_tile() * block_threads + thread(); index < form.elements; index += stride) {
    const std::int64_t first_bit = index * form.bits;
    const std::int64_t last_byte = (first_bit + form.bits - 1) / 8;
    std::uint32_t code = 0;
    unsigned shift = 0;
    for (std::int64_t byte = first_bit / 8; byte <= last_byte; ++byte, shift += 8)
      code |= static_cast<std::uint32_t>(message[byte]) << shift;
    code = (code >> static_cast<unsigned>(first_bit % 8)) & ((1U << static_cast<unsigned>(form.bits)) - 1U);
    const float norm = __uint_as_float(load_word(message + form.norms + index / form.bucket * 4));
    const float step = norm / static_cast<float>(form.levels);
    const float value = static_cast<float>(static_cast<std::int64_t>(code) - form.levels) * step;
    values[index] = adds ? values[index] + value : value;
  }
}

// ---- Random-k ----

__global__ void __launch_bounds__(block_threads)
    gather_chosen(const float* values, const std::uint32_t* indices, std::int64_t chosen, float factor,
                  std::uint8_t* message) {
  const std::int64_t stride = tile_stride() * block_threads;
  for (std::int64_t at = first_tile() * block_threads + thread(); at < chosen; at += stride)
    store_word(message + at * 4, __float_as_uint(values[indices[at]] * factor));
}

__global__ void __launch_bounds__(block_threads)
    scatter_chosen(const std::uint8_t* message, const std::uint32_t* indices, std::int64_t chosen,
                   float* values) {
  const std::int64_t stride = tile_stride() * block_threads;
  for (std::int64_t at = first_tile() * block_threads + thread(); at < chosen; at += stride)
    values[indices[at]] = __uint_as_float(load_word(message + at * 4));
}

}  // namespace

cudaError_t encode_qsgd(const QsgdForm& form, const float* values, std::uint64_t seed, std::byte* message,
                        cudaStream_t stream) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(message);
  const std::int64_t buckets = tiles_of(form.elements, form.bucket);
  const cudaError_t error =
      launch(stream, tiles_of(buckets, block_threads), find_norms, form, values, bytes + form.norms);
  if (error != cudaSuccess) return error;
  return launch(stream, tiles_of(form.elements, block_threads * codes_of_thread), pack_codes, form, values,
                seed, bytes);
}

cudaError_t decode_qsgd(const QsgdForm& form, const std::byte* message, float* values, Decoded decoded,
                        cudaStream_t stream) {
  return launch(stream, tiles_of(form.elements, block_threads),
                decoded == Decoded::added ? unpack_codes<true> : unpack_codes<false>, form,
                reinterpret_cast<const std::uint8_t*>(message), values);
}

cudaError_t gather(const float* values, const std::uint32_t* indices, std::int64_t chosen, float factor,
                   std::byte* message, cudaStream_t stream) {
  return launch(stream, tiles_of(chosen, block_threads), gather_chosen, values, indices, chosen, factor,
                reinterpret_cast<std::uint8_t*>(message));
}

cudaError_t scatter(const std::byte* message, const std::uint32_t* indices, std::int64_t chosen,
                    float* values, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const cudaError_t error =
      cudaMemsetAsync(values, 0, static_cast<std::size_t>(count) * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  return launch(stream, tiles_of(chosen, block_threads), scatter_chosen,
                reinterpret_cast<const std::uint8_t*>(message), indices, chosen, values);
}

}  // namespace tandem::kernels
