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

/// A thread's share of a chunk's sum. By name, not by index: an array that is indexed at run time would be in
/// the thread's memory instead of registers.
template <SignMethod method>
struct Summand {
  double first = 0.0;   ///< of magnitudes, or of positive values
  double second = 0.0;  ///< of negative values
  int negative = 0;
  __device__ void add(float value) {
    if (method == SignMethod::sign) {
      first += static_cast<double>(fabsf(value));
    } else if (is_negative(value)) {
      second += static_cast<double>(value);
      ++negative;
    } else {
      first += static_cast<double>(value);
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
    sum.sums[0] = block_sum(own.first, sum_space);
    if (method == SignMethod::one_bit) {
      sum.sums[1] = block_sum(own.second, sum_space);
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
    double first = 0.0;
    double second = 0.0;
    long long negative = 0;
    for (std::int64_t chunk = thread(); chunk < range.chunks; chunk += block_threads) {
      const ChunkSum sum = stretch.sums[range.first + chunk];
      first += sum.sums[0];
      second += sum.sums[1];
      negative += sum.negative;
    }
    first = block_sum(first, sum_space);
    if (method == SignMethod::sign) {
      const float mean = static_cast<float>(first / static_cast<double>(range.elements));
      if (thread() == 0) store_word(means + part * 4, __float_as_uint(mean));
      continue;
    }
    second = block_sum(second, sum_space);
    negative = block_sum(negative, count_space);
    if (thread() >= 2) continue;
    const long long counted = thread() == 0 ? range.elements - negative : negative;
    const double total = thread() == 0 ? first : second;
    const float mean = static_cast<float>(total / static_cast<double>(counted > 1 ? counted : 1));
    store_word(means + (2 * part + thread()) * 4, __float_as_uint(mean));
  }
}

/// `adds`: to the values, instead of replacing them.
template <SignMethod method, bool adds>
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
        if (at + turn * block_threads >= chunk.count) continue;
        const float value = is_set ? negative : positive;
        values[index] = adds ? values[index] + value : value;
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

cudaError_t decode_signs(const SignStretch& stretch, const std::byte* message, float* values, Decoded decoded,
                         cudaStream_t stream) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(message);
  const bool adds = decoded == Decoded::added;
  if (stretch.method == SignMethod::sign)
    return launch(stream, stretch.chunk_count,
                  adds ? unpack_signs<SignMethod::sign, true> : unpack_signs<SignMethod::sign, false>,
                  stretch, bytes, values);
  return launch(stream, stretch.chunk_count,
                adds ? unpack_signs<SignMethod::one_bit, true> : unpack_signs<SignMethod::one_bit, false>,
                stretch, bytes, values);
}

}  // namespace tandem::kernels
