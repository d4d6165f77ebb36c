// Many copies within a GPU's memory by one launch, from a table among the kernel's arguments.
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

constexpr int packs_in_flight = 4;
constexpr std::int64_t tile_packs = block_threads * packs_in_flight;

/// As many copies as the arguments of a kernel, 4 KB, have room for.
constexpr int most_copies = 120;
struct Copies {
  FloatCopy copies[most_copies];
  std::int64_t tiles[most_copies];  ///< of the copies before this one and of this one
  int count;
};

/// Elements before the first pack that is aligned on both sides; all, if there is none.
__host__ __device__ inline std::int64_t head_of(const FloatCopy& copy) {
  const int head = before_packs<float, 4>(copy.to);
  return head == before_packs<float, 4>(copy.from) && head < copy.count ? head : copy.count;
}

template <int width>
__device__ void copy_packs(float* to, const float* from, std::int64_t packs, std::int64_t tile) {
  using Piece = Pack<float, width>;
  const std::int64_t first = tile * tile_packs + thread();
  Piece pieces[packs_in_flight] = {};
#pragma unroll
  for (int turn = 0; turn < packs_in_flight; ++turn) {
    const std::int64_t pack = first + turn * block_threads;
    if (pack < packs) pieces[turn] = reinterpret_cast<const Piece*>(from)[pack];
  }
#pragma unroll
  for (int turn = 0; turn < packs_in_flight; ++turn) {
    const std::int64_t pack = first + turn * block_threads;
    if (pack < packs) reinterpret_cast<Piece*>(to)[pack] = pieces[turn];
  }
}

__global__ void __launch_bounds__(block_threads) copy_floats(const __grid_constant__ Copies table) {
  const std::int64_t tiles = table.tiles[table.count - 1];
  for (std::int64_t tile = first_tile(); tile < tiles; tile += tile_stride()) {
    const int number = part_of(table, tile);
    const FloatCopy copy = table.copies[number];
    const std::int64_t own = tile_of_part(table, number, tile);
    const std::int64_t head = head_of(copy);
    if (head == copy.count) {
      copy_packs<1>(copy.to, copy.from, copy.count, own);
      continue;
    }
    const std::int64_t packs = (copy.count - head) / 4;
    copy_packs<4>(copy.to + head, copy.from + head, packs, own);
    if (own != 0 || thread() >= copy.count - packs * 4) continue;
    const std::int64_t index = loose_element(thread(), static_cast<int>(head), packs * 4);
    copy.to[index] = copy.from[index];
  }
}

}  // namespace

cudaError_t copy_all(const FloatCopy* copies, std::size_t count, cudaStream_t stream) {
  Copies table = {};
  for (std::size_t at = 0; at < count; ++at) {
    if (copies[at].count > 0) {
      const std::int64_t head = head_of(copies[at]);
      const std::int64_t packs = head == copies[at].count ? head : (copies[at].count - head) / 4;
      table.copies[table.count] = copies[at];
      add_tiles(table, tiles_of(packs, tile_packs));
    }
    if (table.count == 0 || (table.count < most_copies && at + 1 < count)) continue;
    const cudaError_t error = launch(stream, table.tiles[table.count - 1], copy_floats, table);
    if (error != cudaSuccess) return error;
    table.count = 0;
  }
  return cudaSuccess;
}

}  // namespace tandem::kernels
