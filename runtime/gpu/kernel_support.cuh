// The common part of the kernels: launching, loops over vectors in pieces of 16 bytes, sums of a block,
// messages at any byte. Valid host C++ too where <cuda_runtime.h> is an emulation
// (tests/support/cuda_on_host).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tandem::kernels {

constexpr int block_threads = 256;
constexpr int warp_threads = 32;
constexpr unsigned all_lanes = 0xffffffffU;
// Four to eight times as many as a multiprocessor holds: while the last blocks end, few wait.
constexpr std::int64_t blocks_per_multiprocessor = 32;

/// Starts a kernel whose blocks stride over this number of tiles.
template <class... Wanted, class... Given>
cudaError_t launch(cudaStream_t stream, std::int64_t tiles, void (*kernel)(Wanted...), Given... given) {
  if (tiles == 0) return cudaSuccess;
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  int multiprocessors = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return error;
  const std::int64_t most = multiprocessors * blocks_per_multiprocessor;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(tiles < most ? tiles : most));
  config.blockDim = dim3(block_threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, given...);
}

__host__ __device__ constexpr std::int64_t tiles_of(std::int64_t items, std::int64_t tile) {
  return (items + tile - 1) / tile;
}

/// First tile of a block, and how far it strides.
__device__ inline std::int64_t first_tile() { return static_cast<std::int64_t>(blockIdx.x); }
__device__ inline std::int64_t tile_stride() { return static_cast<std::int64_t>(gridDim.x); }
__device__ inline int thread() { return static_cast<int>(threadIdx.x); }
__device__ inline int lane() { return thread() % warp_threads; }
__device__ inline int warp() { return thread() / warp_threads; }

// ---- Vectors in pieces ----

template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T at[width];
};

/// Elements before the first whole, aligned pack.
template <class T, int width>
__host__ __device__ inline int before_packs(const T* values) {
  const auto past = reinterpret_cast<std::uintptr_t>(values) % (sizeof(T) * width);
  return past == 0 ? 0 : static_cast<int>(width - past / sizeof(T));
}

/// The position of element number `index` of those outside of packs: `head` of them are before the packs,
/// the others after them.
__device__ inline std::int64_t loose_element(int index, int head, std::int64_t packed) {
  return index < head ? index : packed + index;
}

template <class T, int arrays>
struct ArraysOf {
  T* at[arrays];
};
/// The arrays of one call, of the same type. Op says with bits which it reads and writes.
template <class Op>
using Arrays = ArraysOf<typename Op::Element, Op::arrays>;

__host__ __device__ constexpr bool has_bit(unsigned bits, int index) { return ((bits >> index) & 1U) != 0; }
__host__ __device__ constexpr int bits_of(unsigned bits) {
  return bits == 0 ? 0 : static_cast<int>(bits & 1U) + bits_of(bits >> 1U);
}

/// Packs that a thread has in flight, at least 64 bytes: a GPU has 2048 threads per multiprocessor, and the
/// memory of an H200 needs some 40 KB in flight per multiprocessor.
template <class Op, int width>
__host__ __device__ constexpr int unroll_of() {
  constexpr int bytes = static_cast<int>(sizeof(typename Op::Element)) * width;
  constexpr int reads = bits_of(Op::reads) < 1 ? 1 : bits_of(Op::reads);
  constexpr int wanted = 64 / (bytes * reads);
  return wanted < 2 ? 2 : (wanted > 8 ? 8 : wanted);
}

/// A thread's packs of one tile; all are read before any is written, so that arrays may be the same.
/// `whole`: the tile has all its packs.
template <bool whole, int width, class Op>
__device__ void run_tile(const Op& op, const Arrays<Op>& arrays, int head, std::int64_t first,
                         std::int64_t packs) {
  using Piece = Pack<typename Op::Element, width>;
  constexpr int unroll = unroll_of<Op, width>();
  Piece pieces[unroll][Op::arrays] = {};
#pragma unroll
  for (int turn = 0; turn < unroll; ++turn) {
    const std::int64_t pack = first + turn * block_threads;
#pragma unroll
    for (int array = 0; array < Op::arrays; ++array)
      if (has_bit(Op::reads, array) && (whole || pack < packs))
        pieces[turn][array] = reinterpret_cast<const Piece*>(arrays.at[array] + head)[pack];
  }
#pragma unroll
  for (int turn = 0; turn < unroll; ++turn) {
    const std::int64_t pack = first + turn * block_threads;
#pragma unroll
    for (int item = 0; item < width; ++item) {
      typename Op::Element values[Op::arrays];
#pragma unroll
      for (int array = 0; array < Op::arrays; ++array) values[array] = pieces[turn][array].at[item];
      op(values);
#pragma unroll
      for (int array = 0; array < Op::arrays; ++array) pieces[turn][array].at[item] = values[array];
    }
#pragma unroll
    for (int array = 0; array < Op::arrays; ++array)
      if (has_bit(Op::writes, array) && (whole || pack < packs))
        reinterpret_cast<Piece*>(arrays.at[array] + head)[pack] = pieces[turn][array];
  }
}

template <class Op, int width>
__host__ __device__ constexpr std::int64_t packs_of_tile() {
  return std::int64_t{block_threads} * unroll_of<Op, width>();
}

/// A block's share of the tile that begins at pack `at`.
template <int width, class Op>
__device__ void run_block(const Op& op, const Arrays<Op>& arrays, int head, std::int64_t at,
                          std::int64_t packs) {
  if (at + packs_of_tile<Op, width>() <= packs)
    run_tile<true, width>(op, arrays, head, at + thread(), packs);
  else
    run_tile<false, width>(op, arrays, head, at + thread(), packs);
}

/// A thread's element among those that packs leave, fewer than a block has threads.
template <int width, class Op>
__device__ void run_loose(const Op& op, const Arrays<Op>& arrays, int head, std::int64_t packs,
                          std::int64_t count) {
  if (thread() >= count - packs * width) return;
  const std::int64_t index = loose_element(thread(), head, packs * width);
  typename Op::Element values[Op::arrays] = {};
#pragma unroll
  for (int array = 0; array < Op::arrays; ++array)
    if (has_bit(Op::reads, array)) values[array] = arrays.at[array][index];
  op(values);
#pragma unroll
  for (int array = 0; array < Op::arrays; ++array)
    if (has_bit(Op::writes, array)) arrays.at[array][index] = values[array];
}

/// op(values of element i in every array) for all i.
template <class Op, int width>
__global__ void __launch_bounds__(block_threads)
    each(Op op, Arrays<Op> arrays, int head, std::int64_t count) {
  const std::int64_t packs = (count - head) / width;
  constexpr std::int64_t tile = packs_of_tile<Op, width>();
  for (std::int64_t at = first_tile() * tile; at < packs; at += tile_stride() * tile)
    run_block<width>(op, arrays, head, at, packs);
  if (blockIdx.x == 0) run_loose<width>(op, arrays, head, packs, count);
}

template <int width, class Op>
cudaError_t launch_each(cudaStream_t stream, const Op& op, const Arrays<Op>& arrays, int head,
                        std::int64_t count) {
  const std::int64_t tiles = tiles_of((count - head) / width, packs_of_tile<Op, width>());
  return launch(stream, tiles > 0 ? tiles : 1, each<Op, width>, op, arrays, head, count);
}

/// In packs of 16 bytes if all arrays are aligned alike. Arrays that Op does not write stay as they are.
template <class Op, class... Pointers>
cudaError_t for_each_element(cudaStream_t stream, std::int64_t count, const Op& op, Pointers... pointers) {
  using Element = typename Op::Element;
  constexpr int width = 16 / static_cast<int>(sizeof(Element));
  static_assert(sizeof...(pointers) == Op::arrays, "an array for each value of the operation");
  if (count == 0) return cudaSuccess;
  const Arrays<Op> arrays = {{const_cast<Element*>(pointers)...}};
  const int head = before_packs<Element, width>(arrays.at[0]);
  bool alike = head <= count;
  for (const Element* array : arrays.at) alike = alike && before_packs<Element, width>(array) == head;
  return alike ? launch_each<width>(stream, op, arrays, head, count)
               : launch_each<1>(stream, op, arrays, 0, count);
}

// ---- Tables ----

/// The part of a tile. `tiles` of the table: of each part and those before it.
template <class Table>
__device__ int part_of(const Table& table, std::int64_t tile) {
  int part = 0;
  for (int end = table.count - 1; part < end;) {
    const int middle = (part + end) / 2;
    if (table.tiles[middle] <= tile)
      part = middle + 1;
    else
      end = middle;
  }
  return part;
}

/// The tile's number within its part.
template <class Table>
__device__ std::int64_t tile_of_part(const Table& table, int part, std::int64_t tile) {
  return part == 0 ? tile : tile - table.tiles[part - 1];
}

/// Counts the tiles of one more part of a table, at least one. Pre: there is room.
template <class Table>
void add_tiles(Table& table, std::int64_t tiles) {
  const std::int64_t before = table.count == 0 ? 0 : table.tiles[table.count - 1];
  table.tiles[table.count++] = before + (tiles == 0 ? 1 : tiles);
}

// ---- Sums ----

/// The sum of one value per thread, in a fixed order; all threads get it. `space`: one element per thread in
/// shared memory.
template <class T>
__device__ T block_sum(T value, T* space) {
  space[thread()] = value;
  __syncthreads();
  for (int half = block_threads / 2; half > 0; half /= 2) {
    if (thread() < half) space[thread()] += space[thread() + half];
    __syncthreads();
  }
  const T sum = space[0];
  __syncthreads();
  return sum;
}

// ---- Messages, which start at any byte ----

/// The first `bytes` of a word, at most 4 of them.
__device__ inline void store_word(std::uint8_t* to, std::uint32_t word, std::int64_t bytes = 4) {
  if (bytes >= 4 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<std::uint32_t*>(to) = word;
    return;
  }
  for (int byte = 0; byte < 4 && byte < bytes; ++byte)
    to[byte] = static_cast<std::uint8_t>(word >> (8U * static_cast<unsigned>(byte)));
}
__device__ inline std::uint32_t load_word(const std::uint8_t* from) {
  if (reinterpret_cast<std::uintptr_t>(from) % 4 == 0) return *reinterpret_cast<const std::uint32_t*>(from);
  std::uint32_t word = 0;
  for (unsigned byte = 0; byte < 4; ++byte) word |= static_cast<std::uint32_t>(from[byte]) << (8U * byte);
  return word;
}

}  // namespace tandem::kernels
