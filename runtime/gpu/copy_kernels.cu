// Many copies within a GPU's memory by one launch, from a table among the kernel's arguments; some transpose
// matrices on the way.
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

constexpr int packs_in_flight = 4;
constexpr std::int64_t tile_packs = block_threads * packs_in_flight;

/// FloatCopy, with sides of matrices in 32 bits.
struct TableCopy {
  float* to;
  const float* from;
  std::int64_t count;
  std::int32_t rows;
  std::int32_t columns;
};
TableCopy in_table(const FloatCopy& copy) {
  return {copy.to, copy.from, copy.count, static_cast<std::int32_t>(copy.rows),
          static_cast<std::int32_t>(copy.columns)};
}

/// As many copies as the arguments of a kernel, 4 KB, have room for.
constexpr int most_copies = 100;
struct Copies {
  TableCopy copies[most_copies];
  std::int64_t tiles[most_copies];  ///< of the copies before this one and of this one
  int count;
};
static_assert(sizeof(Copies) <= 4096, "the arguments of a kernel");

/// Elements before the first pack that is aligned on both sides; all, if there is none.
__host__ __device__ inline std::int64_t head_of(const TableCopy& copy) {
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

// ---- Transposed matrices ----
// A tile has the shorter side of a matrix whole, and so much of the longer one that it is one stretch on one
// side of the copy: what its threads read or write apart is soon used by their neighbours.

constexpr std::int64_t tile_elements = tile_packs;

__host__ __device__ inline bool is_high(const TableCopy& copy) { return copy.rows >= copy.columns; }
__host__ __device__ inline std::int64_t longer_side(const TableCopy& copy) {
  return is_high(copy) ? copy.rows : copy.columns;
}
/// Elements of the longer side in one tile.
__host__ __device__ inline std::int64_t part_of_tile(const TableCopy& copy) {
  const std::int64_t shorter = is_high(copy) ? copy.columns : copy.rows;
  return shorter >= tile_elements ? 1 : tile_elements / shorter;
}

__device__ void transpose_tile(const TableCopy& copy, std::int64_t tile) {
  const std::int64_t part = part_of_tile(copy);
  const std::int64_t tiles = tiles_of(longer_side(copy), part);
  const std::int64_t begin = tile / tiles * copy.rows * copy.columns;
  const std::int64_t first = tile % tiles * part;
  const std::int64_t left = longer_side(copy) - first;
  const std::int64_t own = left < part ? left : part;
  const std::int64_t height = is_high(copy) ? own : copy.rows;
  const std::int64_t width = is_high(copy) ? copy.columns : own;
  const std::int64_t top = is_high(copy) ? first : 0;
  const std::int64_t side = is_high(copy) ? 0 : first;
  // Neighbouring threads write neighbouring elements.
  const auto stretch = static_cast<std::uint32_t>(height);
  const auto elements = static_cast<std::uint32_t>(height * width);
  for (auto at = static_cast<std::uint32_t>(thread()); at < elements; at += block_threads) {
    const std::int64_t row = top + at % stretch;
    const std::int64_t column = side + at / stretch;
    copy.to[begin + column * copy.rows + row] = copy.from[begin + row * copy.columns + column];
  }
}

/// A kernel's work on one copy, at least one tile.
std::int64_t tiles_of_copy(const TableCopy& copy) {
  if (copy.rows > 0)
    return copy.count / copy.rows / copy.columns * tiles_of(longer_side(copy), part_of_tile(copy));
  const std::int64_t head = head_of(copy);
  return tiles_of(head == copy.count ? head : (copy.count - head) / 4, tile_packs);
}

__global__ void __launch_bounds__(block_threads) copy_floats(const __grid_constant__ Copies table) {
  const std::int64_t tiles = table.tiles[table.count - 1];
  for (std::int64_t tile = first_tile(); tile < tiles; tile += tile_stride()) {
    const int number = part_of(table, tile);
    const TableCopy copy = table.copies[number];
    const std::int64_t own = tile_of_part(table, number, tile);
    if (copy.rows > 0) {
      transpose_tile(copy, own);
      continue;
    }
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
      table.copies[table.count] = in_table(copies[at]);
      add_tiles(table, tiles_of_copy(table.copies[table.count]));
    }
    if (table.count == 0 || (table.count < most_copies && at + 1 < count)) continue;
    const cudaError_t error = launch(stream, table.tiles[table.count - 1], copy_floats, table);
    if (error != cudaSuccess) return error;
    table.count = 0;
  }
  return cudaSuccess;
}

}  // namespace tandem::kernels
