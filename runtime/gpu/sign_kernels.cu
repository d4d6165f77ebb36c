// One bit per element: the messages of policies/compression/sign.cpp and one_bit.cpp, made and read by a GPU.
// A block takes one chunk of a part at a time; sums go over chunks and then over their sums, in a fixed
// order.
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

constexpr int warps = block_threads / warp_threads;
constexpr int rows_in_flight = 8;  // of a warp: a row has one element per lane and is one word of the message
constexpr int elements_in_flight = 8;

__device__ inline bool is_negative(float value) { return (__float_as_uint(value) >> 31U) != 0; }

/// A thread's share of a chunk's sum.
template <SignMethod method>
struct Summand {
  double sums[2] = {0.0, 0.0};
  int negative = 0;
  __device__ void add(float value) {
    if (method == SignMethod::sign) {
      sums[0] += static_cast<double>(fabsf(value));
    } else {
      sums[is_negative(value) ? 1 : 0] += static_cast<double>(value);
      negative += is_negative(value) ? 1 : 0;
    }
  }
};

/// A row of bits may span two chunks. It belongs to the chunk in which it begins, which reads beyond its end
/// for it. Sums contain only the chunk's own elements.
template <SignMethod method>
__global__ void __launch_bounds__(block_threads)
    pack_signs(SignStretch stretch, const float* values, std::uint8_t* message) {
  __shared__ double sum_space[block_threads];
  __shared__ int count_space[block_threads];
  const std::int64_t message_bytes = (stretch.elements + 7) / 8;
  for (std::int64_t number = first_tile(); number < stretch.chunk_count; number += tile_stride()) {
    const Chunk chunk = stretch.chunks[number];
    const std::int64_t end = chunk.begin + chunk.count;
    const std::int64_t rows = (end + warp_threads - 1) / warp_threads;
    Summand<method> own;
    for (std::int64_t row = chunk.begin / warp_threads + warp() * rows_in_flight; row < rows;
         row += warps * rows_in_flight) {
      float seen[rows_in_flight];
#pragma unroll
      for (int turn = 0; turn < rows_in_flight; ++turn) {
        const std::int64_t index = (row + turn) * warp_threads + lane();
        const bool wanted = row + turn < rows && index >= chunk.begin && index < stretch.elements;
        seen[turn] = wanted ? values[index] : 0.0F;
      }
      std::uint32_t word = 0;
#pragma unroll
      for (int turn = 0; turn < rows_in_flight; ++turn) {
        const std::int64_t index = (row + turn) * warp_threads + lane();
        if (index >= chunk.begin && index < end) own.add(seen[turn]);
        const unsigned bits = __ballot_sync(all_lanes, is_negative(seen[turn]) ? 1 : 0);
        if (lane() == turn) word = bits;
      }
      // Lane r writes row r, so that neighbours write neighbours.
      const std::int64_t own_row = row + lane();
      if (lane() < rows_in_flight && own_row < rows && own_row * warp_threads >= chunk.begin)
        store_word(message + own_row * 4, word, message_bytes - own_row * 4);
    }
    ChunkSum sum = {};
    sum.sums[0] = block_sum(own.sums[0], sum_space);
    if (method == SignMethod::one_bit) {
      sum.sums[1] = block_sum(own.sums[1], sum_space);
      sum.negative = block_sum(own.negative, count_space);
    }
    if (thread() == 0) stretch.sums[number] = sum;
  }
}

/// A block finds the means of a part. `means`: behind the bits.
template <SignMethod method>
__global__ void __launch_bounds__(block_threads) find_means(SignStretch stretch, std::uint8_t* means) {
  __shared__ double sum_space[block_threads];
  __shared__ long long count_space[block_threads];
  for (std::int64_t part = first_tile(); part < stretch.part_count; part += tile_stride()) {
    const ChunkRange range = stretch.parts[part];
    double sums[2] = {0.0, 0.0};
    long long negative = 0;
    for (std::int64_t chunk = thread(); chunk < range.chunks; chunk += block_threads) {
      const ChunkSum sum = stretch.sums[range.first + chunk];
      sums[0] += sum.sums[0];
      sums[1] += sum.sums[1];
      negative += sum.negative;
    }
    sums[0] = block_sum(sums[0], sum_space);
    if (method == SignMethod::sign) {
      const float mean = static_cast<float>(sums[0] / static_cast<double>(range.elements));
      if (thread() == 0) store_word(means + part * 4, __float_as_uint(mean));
      continue;
    }
    sums[1] = block_sum(sums[1], sum_space);
    negative = block_sum(negative, count_space);
    if (thread() >= 2) continue;
    const long long counted = thread() == 0 ? range.elements - negative : negative;
    const float mean = static_cast<float>(sums[thread()] / static_cast<double>(counted > 1 ? counted : 1));
    store_word(means + (2 * part + thread()) * 4, __float_as_uint(mean));
  }
}

template <SignMethod method>
__global__ void __launch_bounds__(block_threads)
    unpack_signs(SignStretch stretch, const std::uint8_t* message, float* values) {
  const std::uint8_t* const means = message + (stretch.elements + 7) / 8;
  for (std::int64_t number = first_tile(); number < stretch.chunk_count; number += tile_stride()) {
    const Chunk chunk = stretch.chunks[number];
    const int means_of_part = method == SignMethod::sign ? 1 : 2;
    const std::uint8_t* const own = means + static_cast<std::int64_t>(chunk.part) * means_of_part * 4;
    const float positive = __uint_as_float(load_word(own));
    const float negative = method == SignMethod::sign ? -positive : __uint_as_float(load_word(own + 4));
    for (int at = thread(); at < chunk.count; at += block_threads * elements_in_flight) {
      std::uint8_t bits[elements_in_flight];
#pragma unroll
      for (int turn = 0; turn < elements_in_flight; ++turn) {
        const int item = at + turn * block_threads;
        bits[turn] = item < chunk.count ? message[(chunk.begin + item) / 8] : std::uint8_t{0};
      }
#pragma unroll
      for (int turn = 0; turn < elements_in_flight; ++turn) {
        const std::int64_t index = chunk.begin + at + turn * block_threads;
        const bool is_set = ((bits[turn] >> (index % 8)) & 1) != 0;
        if (at + turn * block_threads < chunk.count) values[index] = is_set ? negative : positive;
      }
    }
  }
}

template <SignMethod method>
cudaError_t encode(const SignStretch& stretch, const float* values, std::uint8_t* message,
                   cudaStream_t stream) {
  const cudaError_t error = launch(stream, stretch.chunk_count, pack_signs<method>, stretch, values, message);
  if (error != cudaSuccess) return error;
  return launch(stream, stretch.part_count, find_means<method>, stretch,
                message + (stretch.elements + 7) / 8);
}

}  // namespace

cudaError_t encode_signs(const SignStretch& stretch, const float* values, std::byte* message,
                         cudaStream_t stream) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(message);
  return stretch.method == SignMethod::sign ? encode<SignMethod::sign>(stretch, values, bytes, stream)
                                            : encode<SignMethod::one_bit>(stretch, values, bytes, stream);
}

cudaError_t decode_signs(const SignStretch& stretch, const std::byte* message, float* values,
                         cudaStream_t stream) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(message);
  return stretch.method == SignMethod::sign
             ? launch(stream, stretch.chunk_count, unpack_signs<SignMethod::sign>, stretch, bytes, values)
             : launch(stream, stretch.chunk_count, unpack_signs<SignMethod::one_bit>, stretch, bytes, values);
}

}  // namespace tandem::kernels
