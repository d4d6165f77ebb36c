// PowerSGD's products of matrices with narrow factors, and their orthonormal columns, on a GPU: the twins of
// policies/compression/power_sgd.cpp, bit for bit. One launch has all matrices of a stretch. Each sum is one
// thread's, in the processor's order; a block reads its part of a matrix into shared memory first, row after
// row, since the memory of a GPU is what limits these products.
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem::kernels {
namespace {

constexpr int warps = block_threads / warp_threads;
/// Rows or columns of a matrix that a block has in shared memory for each of its 32 sums per warp.
constexpr int staged = 128;

static_assert(factor_tile == warp_threads, "a lane has a row or column");
static_assert(sums_of_columns == block_threads, "a thread has a sum");

/// A row per lane, a column of the factors per warp.
__global__ void __launch_bounds__(block_threads)
    multiply_rows(FactorStretch stretch, const float* values, const float* right, float* left) {
  __shared__ float part[factor_tile * (staged + 1)];
  for (std::int64_t number = first_tile(); number < stretch.row_tiles; number += tile_stride()) {
    const FactorTile tile = stretch.by_rows[number];
    const FactorMatrix matrix = stretch.matrices[tile.matrix];
    const std::int64_t left_over = matrix.rows - tile.first;
    const int rows = left_over < factor_tile ? static_cast<int>(left_over) : factor_tile;
    const float* const own = values + matrix.begin + tile.first * matrix.columns;
    for (int first = 0; first < stretch.rank; first += warps) {
      const int column = first + warp();
      const bool sums = column < stretch.rank && lane() < rows;
      float sum = 0.0F;
      for (std::int64_t begin = 0; begin < matrix.columns; begin += staged) {
        const std::int64_t ahead = matrix.columns - begin;
        const int count = ahead < staged ? static_cast<int>(ahead) : staged;
        for (int at = thread(); at < rows * staged; at += block_threads) {
          const int row = at / staged;
          const int item = at % staged;
          if (item < count) part[row * (staged + 1) + item] = own[row * matrix.columns + begin + item];
        }
        __syncthreads();
        const float* const factor = right + matrix.right + begin * stretch.rank + column;
        if (sums)
          for (int item = 0; item < count; ++item)
            sum +=
                part[lane() * (staged + 1) + item] * factor[static_cast<std::int64_t>(item) * stretch.rank];
        __syncthreads();
      }
      if (sums) left[matrix.left + (tile.first + lane()) * stretch.rank + column] = sum;
    }
  }
}

/// A column of the matrix per lane, a column of the factors per warp.
__global__ void __launch_bounds__(block_threads)
    multiply_columns(FactorStretch stretch, const float* values, const float* left, float* right) {
  __shared__ float part[staged * (factor_tile + 1)];
  for (std::int64_t number = first_tile(); number < stretch.column_tiles; number += tile_stride()) {
    const FactorTile tile = stretch.by_columns[number];
    const FactorMatrix matrix = stretch.matrices[tile.matrix];
    const std::int64_t left_over = matrix.columns - tile.first;
    const int columns = left_over < factor_tile ? static_cast<int>(left_over) : factor_tile;
    const float* const own = values + matrix.begin + tile.first;
    for (int first = 0; first < stretch.rank; first += warps) {
      const int column = first + warp();
      const bool sums = column < stretch.rank && lane() < columns;
      float sum = 0.0F;
      for (std::int64_t begin = 0; begin < matrix.rows; begin += staged) {
        const std::int64_t ahead = matrix.rows - begin;
        const int count = ahead < staged ? static_cast<int>(ahead) : staged;
        for (int at = thread(); at < count * factor_tile; at += block_threads) {
          const int row = at / factor_tile;
          const int item = at % factor_tile;
          if (item < columns)
            part[row * (factor_tile + 1) + item] = own[(begin + row) * matrix.columns + item];
        }
        __syncthreads();
        const float* const factor = left + matrix.left + begin * stretch.rank + column;
        if (sums)
          for (int row = 0; row < count; ++row)
            sum += part[row * (factor_tile + 1) + lane()] *
                   factor[static_cast<std::int64_t>(row) * stretch.rank];
        __syncthreads();
      }
      if (sums) right[matrix.right + (tile.first + lane()) * stretch.rank + column] = sum;
    }
  }
}

/// The elements of some rows of a matrix, from both factors.
__global__ void __launch_bounds__(block_threads)
    multiply_factors(FactorStretch stretch, const float* left, const float* right, float* values) {
  for (std::int64_t number = first_tile(); number < stretch.row_tiles; number += tile_stride()) {
    const FactorTile tile = stretch.by_rows[number];
    const FactorMatrix matrix = stretch.matrices[tile.matrix];
    const std::int64_t left_over = matrix.rows - tile.first;
    const int rows = left_over < factor_tile ? static_cast<int>(left_over) : factor_tile;
    for (int row = 0; row < rows; ++row) {
      const float* const of_row = left + matrix.left + (tile.first + row) * stretch.rank;
      float* const own = values + matrix.begin + (tile.first + row) * matrix.columns;
      for (std::int64_t at = thread(); at < matrix.columns; at += block_threads) {
        const float* const of_column = right + matrix.right + at * stretch.rank;
        float sum = 0.0F;
        for (int k = 0; k < stretch.rank; ++k) sum += of_row[k] * of_column[k];
        own[at] = sum;
      }
    }
  }
}

/// The product of two columns; all threads get it. A thread reads only rows that it writes itself.
__device__ double dot(const float* factor, std::int64_t rows, int rank, int a, int b, double* space) {
  double sum = 0.0;
  for (std::int64_t row = thread(); row < rows; row += block_threads)
    sum += static_cast<double>(factor[row * rank + a]) * static_cast<double>(factor[row * rank + b]);
  return block_sum(sum, space);
}

/// A block takes one matrix at a time.
__global__ void __launch_bounds__(block_threads)
    make_orthonormal(FactorStretch stretch, double negligible, float* left) {
  __shared__ double space[block_threads];
  for (std::int64_t number = first_tile(); number < stretch.matrix_count; number += tile_stride()) {
    const FactorMatrix matrix = stretch.matrices[number];
    float* const factor = left + matrix.left;
    const int rank = stretch.rank;
    for (int k = 0; k < rank; ++k) {
      const double before = sqrt(dot(factor, matrix.rows, rank, k, k, space));
      for (int pass = 0; pass < 2; ++pass)
        for (int earlier = 0; earlier < k; ++earlier) {
          const auto overlap = static_cast<float>(dot(factor, matrix.rows, rank, earlier, k, space));
          for (std::int64_t row = thread(); row < matrix.rows; row += block_threads)
            factor[row * rank + k] -= overlap * factor[row * rank + earlier];
        }
      const double length = sqrt(dot(factor, matrix.rows, rank, k, k, space));
      const auto scale = static_cast<float>(length <= negligible * before ? 0.0 : 1.0 / length);
      for (std::int64_t row = thread(); row < matrix.rows; row += block_threads)
        factor[row * rank + k] *= scale;
    }
  }
}

/// A column that has become zero keeps its old value.
__global__ void __launch_bounds__(block_threads)
    keep_columns(FactorStretch stretch, const float* right, float* start) {
  __shared__ int space[block_threads];
  for (std::int64_t number = first_tile(); number < stretch.matrix_count; number += tile_stride()) {
    const FactorMatrix matrix = stretch.matrices[number];
    for (int k = 0; k < stretch.rank; ++k) {
      int filled = 0;
      for (std::int64_t at = thread(); at < matrix.columns; at += block_threads)
        if (right[matrix.right + at * stretch.rank + k] != 0.0F) filled = 1;
      if (block_sum(filled, space) == 0) continue;
      for (std::int64_t at = thread(); at < matrix.columns; at += block_threads) {
        const std::int64_t place = matrix.right + at * stretch.rank + k;
        start[place] = right[place];
      }
    }
  }
}

}  // namespace

cudaError_t project_on_right(const FactorStretch& stretch, const float* values, const float* right,
                             float* left, cudaStream_t stream) {
  return launch(stream, stretch.row_tiles, multiply_rows, stretch, values, right, left);
}

cudaError_t project_on_left(const FactorStretch& stretch, const float* values, const float* left,
                            float* right, cudaStream_t stream) {
  return launch(stream, stretch.column_tiles, multiply_columns, stretch, values, left, right);
}

cudaError_t expand_factors(const FactorStretch& stretch, const float* left, const float* right, float* values,
                           cudaStream_t stream) {
  return launch(stream, stretch.row_tiles, multiply_factors, stretch, left, right, values);
}

cudaError_t orthonormalise(const FactorStretch& stretch, double negligible, float* left,
                           cudaStream_t stream) {
  return launch(stream, stretch.matrix_count, make_orthonormal, stretch, negligible, left);
}

cudaError_t keep_factors(const FactorStretch& stretch, const float* right, float* start,
                         cudaStream_t stream) {
  return launch(stream, stretch.matrix_count, keep_columns, stretch, right, start);
}

}  // namespace tandem::kernels
