// The k largest elements by magnitude, as policies/compression/top_k.cpp chooses them. Three passes of a
// radix select over the 31 bits of a magnitude find the smallest chosen one; the last of them also counts
// the larger ones tile by tile. A fourth pass writes the chosen elements. All sums are of whole numbers, so
// that their order does not matter.
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

constexpr int items = 16;  // of a thread in a tile, all in flight
constexpr std::int64_t tile_elements = block_threads * items;
constexpr int warps = block_threads / warp_threads;

constexpr int bins = 2048;
constexpr int bins_of_thread = bins / block_threads;
// Passes take bits 30 to 20, 19 to 9 and 8 to 0 of a magnitude.
constexpr unsigned last_bits = 9;
__host__ __device__ constexpr unsigned shift_of(int pass) { return pass == 0 ? 20U : (pass == 1 ? 9U : 0U); }
__host__ __device__ constexpr unsigned bits_of_pass(int pass) { return pass == 2 ? last_bits : 11U; }

struct Selection {
  std::uint32_t prefix;  ///< bits that are known of the smallest chosen magnitude
  std::uint32_t wanted;  ///< how many are chosen of those with that prefix
};
struct TileCounts {
  std::uint32_t larger;
  std::uint32_t equal;
};
struct Workspace {
  Selection* selection;
  std::uint32_t* histogram;
  TileCounts* tiles;
};
constexpr std::size_t selection_bytes = 16;
static_assert(sizeof(Selection) <= selection_bytes, "what follows is aligned");

Workspace parts_of(std::byte* memory) {
  std::byte* const histogram = memory + selection_bytes;
  return {reinterpret_cast<Selection*>(memory), reinterpret_cast<std::uint32_t*>(histogram),
          reinterpret_cast<TileCounts*>(histogram + bins * sizeof(std::uint32_t))};
}

/// Ordered as magnitudes. NaN counts as largest, so that it is sent and noticed.
__device__ inline std::uint32_t magnitude_of(float value) {
  constexpr std::uint32_t infinity = 0x7f800000U;
  const std::uint32_t magnitude = __float_as_uint(value) & 0x7fffffffU;
  return magnitude < infinity ? magnitude : infinity;
}

/// The sum of the lanes' numbers, each at most `items`, by a vote on each of their bits.
__device__ inline std::uint32_t warp_sum(std::uint32_t value) {
  static_assert(items < 32, "five bits");
  std::uint32_t sum = 0;
#pragma unroll
  for (unsigned bit = 0; bit < 5; ++bit)
    sum += static_cast<std::uint32_t>(__popc(__ballot_sync(all_lanes, ((value >> bit) & 1U) != 0 ? 1 : 0)))
           << bit;
  return sum;
}

/// Counts of a warp: elements whose magnitude, without the last `unknown` bits, is larger than the prefix,
/// and equal to it. A lane's elements have indices from `first` on, `step` apart.
template <unsigned unknown>
__device__ TileCounts count_of_warp(const float (&seen)[items], std::int64_t first, int step,
                                    std::int64_t count, std::uint32_t prefix) {
  TileCounts own = {0, 0};
#pragma unroll
  for (int turn = 0; turn < items; ++turn) {
    const bool is_element = first + turn * step < count;
    const std::uint32_t known = magnitude_of(seen[turn]) >> unknown;
    own.larger += is_element && known > prefix ? 1U : 0U;
    own.equal += is_element && known == prefix ? 1U : 0U;
  }
  return {warp_sum(own.larger), warp_sum(own.equal)};
}

/// The same of a block, for its tile that begins at `at`. `space`: in shared memory.
template <unsigned unknown>
__device__ void count_tile(const float (&seen)[items], std::int64_t at, std::int64_t count,
                           std::uint32_t prefix, TileCounts& space, TileCounts& tile) {
  const TileCounts own = count_of_warp<unknown>(seen, at + thread(), block_threads, count, prefix);
  if (thread() == 0) space = {0, 0};
  __syncthreads();
  if (lane() == 0) {
    atomicAdd(&space.larger, own.larger);
    atomicAdd(&space.equal, own.equal);
  }
  __syncthreads();
  if (thread() == 0) tile = space;
}

/// Counts magnitudes with the known prefix by their next bits. With `feedback`, the first pass adds the
/// values to the unsent part, and later passes read the sum there. The last pass counts each tile, except for
/// magnitudes that the prefix does not decide.
template <int pass, bool feedback>
__global__ void __launch_bounds__(block_threads)
    count_bins(const float* values, float* unsent, std::int64_t count, Workspace space) {
  __shared__ std::uint32_t own[bins];
  __shared__ TileCounts tile_space;
  for (int bin = thread(); bin < bins; bin += block_threads) own[bin] = 0;
  __syncthreads();
  const std::uint32_t prefix = pass == 0 ? 0U : space.selection->prefix;
  // The count of bin 0, in a register: many gradients are zero, and additions to one bin wait for each other.
  std::uint32_t first_bin = 0;
  for (std::int64_t tile = first_tile(); tile * tile_elements < count; tile += tile_stride()) {
    const std::int64_t at = tile * tile_elements;
    float seen[items];
#pragma unroll
    for (int turn = 0; turn < items; ++turn) {
      const std::int64_t index = at + turn * block_threads + thread();
      seen[turn] = index < count ? values[index] : 0.0F;
      if (feedback && index < count) seen[turn] = unsent[index] + seen[turn];
    }
#pragma unroll
    for (int turn = 0; turn < items; ++turn) {
      const std::int64_t index = at + turn * block_threads + thread();
      if (index >= count) continue;
      if (feedback) unsent[index] = seen[turn];
      const std::uint32_t magnitude = magnitude_of(seen[turn]);
      const std::uint32_t bin = (magnitude >> shift_of(pass)) & ((1U << bits_of_pass(pass)) - 1U);
      // By 64 bits, because the first pass knows none of 31.
      const auto known = static_cast<std::uint64_t>(magnitude) >> (shift_of(pass) + bits_of_pass(pass));
      if (known != prefix) continue;
      if (bin == 0)
        ++first_bin;
      else
        atomicAdd(&own[bin], 1U);
    }
    if (pass == 2) count_tile<last_bits>(seen, at, count, prefix, tile_space, space.tiles[tile]);
  }
  if (first_bin != 0) atomicAdd(&own[0], first_bin);
  __syncthreads();
  for (int bin = thread(); bin < bins; bin += block_threads)
    if (own[bin] != 0) atomicAdd(&space.histogram[bin], own[bin]);
}

/// Sums of all threads before each one. `space`: as many in shared memory.
__device__ std::uint32_t sum_before(std::uint32_t value, std::uint32_t* space, std::uint32_t& total) {
  space[thread()] = value;
  __syncthreads();
  for (int distance = 1; distance < block_threads; distance *= 2) {
    const std::uint32_t more = thread() >= distance ? space[thread() - distance] : 0U;
    __syncthreads();
    space[thread()] += more;
    __syncthreads();
  }
  total = space[block_threads - 1];
  const std::uint32_t before = space[thread()] - value;
  __syncthreads();
  return before;
}

/// Runs on one block: finds the bin of the smallest chosen magnitude, from the largest bin down, and empties
/// the histogram for the next pass.
template <int pass>
__global__ void __launch_bounds__(block_threads) pick_bin(Workspace space, std::uint32_t chosen) {
  __shared__ std::uint32_t scan[block_threads];
  const Selection known = pass == 0 ? Selection{0U, chosen} : *space.selection;
  std::uint32_t counts[bins_of_thread];
  std::uint32_t own = 0;
  const int largest = bins - 1 - thread() * bins_of_thread;
  for (int item = 0; item < bins_of_thread; ++item) {
    counts[item] = space.histogram[largest - item];
    space.histogram[largest - item] = 0;
    own += counts[item];
  }
  std::uint32_t total = 0;
  std::uint32_t before = sum_before(own, scan, total);
  if (before >= known.wanted || known.wanted - before > own) return;
  for (int item = 0; item < bins_of_thread; ++item) {
    if (known.wanted - before <= counts[item]) {
      const auto bin = static_cast<std::uint32_t>(largest - item);
      *space.selection = {(known.prefix << bits_of_pass(pass)) | bin, known.wanted - before};
      return;
    }
    before += counts[item];
  }
}

/// Counts again the tiles with a magnitude that differs from the smallest chosen one only in the last bits;
/// there are few such tiles unless many elements are equal.
__global__ void __launch_bounds__(block_threads)
    recount_tiles(const float* values, std::int64_t count, Workspace space) {
  __shared__ TileCounts tile_space;
  const std::uint32_t threshold = space.selection->prefix;
  for (std::int64_t tile = first_tile(); tile * tile_elements < count; tile += tile_stride()) {
    if (space.tiles[tile].equal == 0) continue;
    float seen[items];
#pragma unroll
    for (int turn = 0; turn < items; ++turn) {
      const std::int64_t index = tile * tile_elements + turn * block_threads + thread();
      seen[turn] = index < count ? values[index] : 0.0F;
    }
    count_tile<0>(seen, tile * tile_elements, count, threshold, tile_space, space.tiles[tile]);
  }
}

/// Runs on one block: replaces the counts of tiles by the sums of the counts of all tiles before them.
__global__ void __launch_bounds__(block_threads) scan_tiles(std::int64_t tiles, Workspace space) {
  __shared__ std::uint32_t scan[block_threads];
  TileCounts carried = {0, 0};
  for (std::int64_t at = 0; at < tiles; at += tile_elements) {
    const std::int64_t begin = at + static_cast<std::int64_t>(thread()) * items;
    TileCounts counts[items];
    TileCounts own = {0, 0};
#pragma unroll
    for (int item = 0; item < items; ++item) {
      counts[item] = begin + item < tiles ? space.tiles[begin + item] : TileCounts{0, 0};
      own.larger += counts[item].larger;
      own.equal += counts[item].equal;
    }
    TileCounts total = {0, 0};
    TileCounts before = {sum_before(own.larger, scan, total.larger),
                         sum_before(own.equal, scan, total.equal)};
    before.larger += carried.larger;
    before.equal += carried.equal;
#pragma unroll
    for (int item = 0; item < items; ++item) {
      if (begin + item < tiles) space.tiles[begin + item] = before;
      before.larger += counts[item].larger;
      before.equal += counts[item].equal;
    }
    carried.larger += total.larger;
    carried.equal += total.equal;
  }
}

struct Written {
  std::uint8_t* indices;
  std::uint8_t* numbers;
  float* unsent;  ///< or null
};

/// A warp's lanes before this one among those in a mask.
__device__ inline std::uint32_t ranked(unsigned mask) {
  return static_cast<std::uint32_t>(__popc(mask & ((1U << lane()) - 1U)));
}
__device__ inline std::uint32_t counted(unsigned mask) { return static_cast<std::uint32_t>(__popc(mask)); }

/// A warp writes the chosen elements of its part of a tile, row by row. `before`: the count of the elements
/// before it.
__device__ void write_rows(const float (&seen)[items], std::int64_t begin, std::int64_t count,
                           Selection selection, TileCounts before, const Written& to) {
#pragma unroll
  for (int row = 0; row < items; ++row) {
    const std::int64_t index = begin + row * warp_threads + lane();
    const std::uint32_t magnitude = magnitude_of(seen[row]);
    const bool is_larger = index < count && magnitude > selection.prefix;
    const bool is_equal = index < count && magnitude == selection.prefix;
    const unsigned larger = __ballot_sync(all_lanes, is_larger ? 1 : 0);
    const unsigned equal = __ballot_sync(all_lanes, is_equal ? 1 : 0);
    if ((larger | equal) == 0) continue;
    const std::uint32_t equal_before = before.equal + ranked(equal);
    if (is_larger || (is_equal && equal_before < selection.wanted)) {
      const std::int64_t place = static_cast<std::int64_t>(before.larger + ranked(larger)) +
                                 (equal_before < selection.wanted ? equal_before : selection.wanted);
      store_word(to.indices + place * 4, static_cast<std::uint32_t>(index));
      store_word(to.numbers + place * 4, __float_as_uint(seen[row]));
      if (to.unsent != nullptr) to.unsent[index] = seen[row] - seen[row];
    }
    before.larger += counted(larger);
    before.equal += counted(equal);
  }
}

// Blocks of a multiprocessor. With four, some of a thread's values do not fit into the registers of a B200.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int least_blocks = 3;
#else
constexpr int least_blocks = 4;
#endif

__global__ void __launch_bounds__(block_threads, least_blocks)
    write_chosen(const float* values, std::int64_t count, Workspace space, Written to) {
  __shared__ TileCounts of_warps[warps];
  const Selection selection = *space.selection;
  for (std::int64_t tile = first_tile(); tile * tile_elements < count; tile += tile_stride()) {
    const std::int64_t begin = tile * tile_elements + warp() * items * warp_threads;
    float seen[items];
#pragma unroll
    for (int row = 0; row < items; ++row) {
      const std::int64_t index = begin + row * warp_threads + lane();
      seen[row] = index < count ? values[index] : 0.0F;
    }
    const TileCounts own = count_of_warp<0>(seen, begin + lane(), warp_threads, count, selection.prefix);
    if (lane() == 0) of_warps[warp()] = own;
    __syncthreads();
    TileCounts before = space.tiles[tile];
    for (int other = 0; other < warp(); ++other) {
      before.larger += of_warps[other].larger;
      before.equal += of_warps[other].equal;
    }
    write_rows(seen, begin, count, selection, before, to);
    __syncthreads();
  }
}

/// `adds`: to the values, instead of replacing them; no index occurs twice.
template <bool adds>
__global__ void __launch_bounds__(block_threads)
    scatter(const std::uint8_t* message, std::int64_t chosen, float* values, std::int64_t count) {
  const std::int64_t stride = tile_stride() * block_threads;
  for (std::int64_t at = first_tile() * block_threads + thread(); at < chosen; at += stride) {
    const std::int64_t index = load_word(message + at * 4);
    if (index >= count) __trap();
    const float value = __uint_as_float(load_word(message + (chosen + at) * 4));
    values[index] = adds ? values[index] + value : value;
  }
}

template <int pass>
cudaError_t select_bits(const float* values, float* unsent, std::int64_t count, std::int64_t chosen,
                        Workspace space, cudaStream_t stream) {
  const std::int64_t tiles = tiles_of(count, tile_elements);
  const cudaError_t error = unsent == nullptr
                                ? launch(stream, tiles, count_bins<pass, false>, values, unsent, count, space)
                                : launch(stream, tiles, count_bins<pass, true>, values, unsent, count, space);
  if (error != cudaSuccess) return error;
  return launch(stream, 1, pick_bin<pass>, space, static_cast<std::uint32_t>(chosen));
}

}  // namespace

std::size_t top_k_workspace_bytes(std::int64_t count) {
  const auto tiles = static_cast<std::size_t>(tiles_of(count, tile_elements));
  return selection_bytes + bins * sizeof(std::uint32_t) + tiles * sizeof(TileCounts);
}

cudaError_t encode_top_k(const float* values, float* unsent, std::int64_t count, std::int64_t chosen,
                         std::byte* message, std::byte* workspace, cudaStream_t stream) {
  if (chosen == 0) return unsent == nullptr ? cudaSuccess : add(unsent, values, count, 1.0F, stream);
  const Workspace space = parts_of(workspace);
  cudaError_t error = cudaMemsetAsync(space.histogram, 0, bins * sizeof(std::uint32_t), stream);
  if (error == cudaSuccess) error = select_bits<0>(values, unsent, count, chosen, space, stream);
  const float* const summed = unsent == nullptr ? values : unsent;
  if (error == cudaSuccess) error = select_bits<1>(summed, nullptr, count, chosen, space, stream);
  if (error == cudaSuccess) error = select_bits<2>(summed, nullptr, count, chosen, space, stream);
  const std::int64_t tiles = tiles_of(count, tile_elements);
  if (error == cudaSuccess) error = launch(stream, tiles, recount_tiles, summed, count, space);
  if (error == cudaSuccess) error = launch(stream, 1, scan_tiles, tiles, space);
  if (error != cudaSuccess) return error;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(message);
  return launch(stream, tiles, write_chosen, summed, count, space,
                Written{bytes, bytes + chosen * 4, unsent});
}

cudaError_t decode_top_k(const std::byte* message, std::int64_t chosen, float* values, std::int64_t count,
                         Decoded decoded, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::int64_t tiles = tiles_of(chosen, block_threads);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(message);
  if (decoded == Decoded::added) return launch(stream, tiles, scatter<true>, bytes, chosen, values, count);
  const cudaError_t error =
      cudaMemsetAsync(values, 0, static_cast<std::size_t>(count) * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  return launch(stream, tiles, scatter<false>, bytes, chosen, values, count);
}

}  // namespace tandem::kernels
