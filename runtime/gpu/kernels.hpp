// Launchers of the CUDA kernels: arithmetic and compression over flat vectors in a GPU's memory. C++17, since
// CUDA sources include it; owns no memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "workloads/vectors/vector_steps.hpp"

/// Each function queues work on `stream` of the current device and returns the launch's result. Any count is
/// allowed, also zero. Vectors start at any element, and are processed in pieces of 16 bytes where all of
/// one call have the same alignment. Results are the same in every run and on every GPU. They are bit by bit
/// those of the processor's loops (workloads/vectors/host_device.cpp), except for the payload and sign of a
/// NaN.
namespace tandem::kernels {

/// Success if these kernels were built for the current device, otherwise CUDA's error for the first of them.
cudaError_t find_code();

/// Makes one launch for each 100 copies. Pre: sides of matrices fit 32 bits.
cudaError_t copy_all(const FloatCopy* copies, std::size_t count, cudaStream_t stream);

// ---- Arithmetic: see ComputeDevice ----
cudaError_t fill(float* values, std::int64_t count, float value, cudaStream_t stream);
cudaError_t scale(float* values, std::int64_t count, float factor, cudaStream_t stream);
cudaError_t add(float* sum, const float* values, std::int64_t count, float factor, cudaStream_t stream);
cudaError_t add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count, HalfFormat format,
                       cudaStream_t stream);
cudaError_t subtract(float* difference, const float* left, const float* right, std::int64_t count,
                     cudaStream_t stream);
cudaError_t approach(float* values, const float* target, std::int64_t count, float share,
                     cudaStream_t stream);
cudaError_t multiply(float* product, const float* values, std::int64_t count, float factor,
                     cudaStream_t stream);
cudaError_t add_terms(float* sum, bool begins, const Term* terms, int count_of_terms, std::int64_t count,
                      cudaStream_t stream);
cudaError_t compensate(float* gradient, const float* model, const float* older, float* mean_square,
                       std::int64_t count, CompensationStep step, cudaStream_t stream);

// Makes one launch for each fifty stretches or so; one for all, if there are no statistics between them.
cudaError_t sgd(float* model, const float* gradient, float* velocity, const UpdateStretch* stretches,
                std::size_t count, SgdStep step, cudaStream_t stream);
cudaError_t adam(float* model, const float* gradient, float* mean, float* square,
                 const UpdateStretch* stretches, std::size_t count, AdamStep step, cudaStream_t stream);
cudaError_t move(float* model, const float* base, const float* sum, float* velocity,
                 const UpdateStretch* stretches, std::size_t count, MoveStep step, cudaStream_t stream);

constexpr unsigned long long no_flaw = ~0ULL;
/// State of a search, in device memory. A search starts from this initial state, and restores it at its end.
struct FlawSearch {
  unsigned long long smallest = no_flaw;  ///< index that was found
  unsigned ended = 0;                     ///< number of blocks
};
/// Elements that one block searches, if there are enough blocks.
constexpr std::int64_t searched_by_block = 4096;
/// `first` is pinned memory.
cudaError_t find_non_finite(const float* values, std::int64_t count, FlawSearch* search, std::int64_t* first,
                            cudaStream_t stream);

cudaError_t narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format,
                   cudaStream_t stream);
cudaError_t widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format,
                  cudaStream_t stream);

// ---- Messages of policies/compression, at any byte ----
/// What happens to the values of a message.
enum class Decoded : std::uint8_t { stored, added };

// ---- One bit per element ----
/// Elements of one part that a block sums, at most.
constexpr std::int64_t chunk_elements = 16384;
struct Chunk {
  std::int64_t begin;  ///< in the stretch
  std::int32_t count;
  std::int32_t part;
};
/// Consecutive chunks that make up a part.
struct ChunkRange {
  std::int64_t first;
  std::int64_t chunks;
  std::int64_t elements;
};
struct ChunkSum {
  double sums[2];
  std::int64_t negative;  ///< number of elements
};
enum class SignMethod : std::uint8_t {
  sign,    ///< one mean magnitude per part
  one_bit  ///< two means per part, one of each sign
};
/// A stretch and its parts. In device memory: chunks, ranges, and one sum per chunk, which encoding writes.
struct SignStretch {
  SignMethod method;
  std::int64_t elements;
  const Chunk* chunks;
  std::int64_t chunk_count;
  const ChunkRange* parts;
  std::int64_t part_count;
  ChunkSum* sums;
};
/// Sums are in double precision, in a fixed order that is not the processor's: before a mean is rounded to a
/// float, the two differ in the last of 53 bits or so.
cudaError_t encode_signs(const SignStretch& stretch, const float* values, std::byte* message,
                         cudaStream_t stream);
cudaError_t decode_signs(const SignStretch& stretch, const std::byte* message, float* values, Decoded decoded,
                         cudaStream_t stream);

// ---- Top-k: indices, then values ----
/// Device memory that `encode_top_k` works in: 8 bytes for every 4096 elements, and a histogram.
std::size_t top_k_workspace_bytes(std::int64_t count);
/// Encodes the `chosen` largest elements by magnitude, of equal ones the first, in order of their indices.
/// With `unsent` (null: without) it encodes values + unsent, and elements that were not chosen are stored in
/// `unsent`. Pre: count < 2^32, chosen <= count.
cudaError_t encode_top_k(const float* values, float* unsent, std::int64_t count, std::int64_t chosen,
                         std::byte* message, std::byte* workspace, cudaStream_t stream);
/// An index beyond `count` breaks the device: the message is of another stretch.
cudaError_t decode_top_k(const std::byte* message, std::int64_t chosen, float* values, std::int64_t count,
                         Decoded decoded, cudaStream_t stream);

// ---- Random-k: values at given indices, which are in device memory ----
/// message[i] = factor * values[indices[i]].
cudaError_t gather(const float* values, const std::uint32_t* indices, std::int64_t chosen, float factor,
                   std::byte* message, cudaStream_t stream);
/// values[indices[i]] = message[i]; the other values become zero.
cudaError_t scatter(const std::byte* message, const std::uint32_t* indices, std::int64_t chosen,
                    float* values, std::int64_t count, cudaStream_t stream);

// ---- QSGD: codes of a few bits, then a norm per bucket ----
struct QsgdForm {
  std::int64_t elements;
  std::int64_t levels;
  std::int64_t bucket;  ///< elements that share a norm, which one thread sums
  int bits;             ///< of a code
  std::int64_t norms;   ///< first byte of the norms in a message
};
/// `seed`: of the exchange's numbers (indexed_uniform).
cudaError_t encode_qsgd(const QsgdForm& form, const float* values, std::uint64_t seed, std::byte* message,
                        cudaStream_t stream);
cudaError_t decode_qsgd(const QsgdForm& form, const std::byte* message, float* values, Decoded decoded,
                        cudaStream_t stream);

// ---- PowerSGD: see SharedFactors, of all matrices of a stretch; the rest of the stretch stays as it is ----
/// A matrix in the stretch, and its factors among all left and all right ones.
struct FactorMatrix {
  std::int64_t begin;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t left;
  std::int64_t right;
};
/// Limit of rows or columns of a matrix that a block processes together.
constexpr int factor_tile = 32;
struct FactorTile {
  std::int64_t matrix;
  std::int64_t first;  ///< row or column
};
/// Tables in device memory.
struct FactorStretch {
  int rank;
  const FactorMatrix* matrices;
  std::int64_t matrix_count;
  const FactorTile* by_rows;
  std::int64_t row_tiles;
  const FactorTile* by_columns;
  std::int64_t column_tiles;
};
/// Sums of a product of two columns (compression::sums_of_dot).
constexpr int sums_of_columns = 256;
cudaError_t project_on_right(const FactorStretch& stretch, const float* values, const float* right,
                             float* left, cudaStream_t stream);
cudaError_t project_on_left(const FactorStretch& stretch, const float* values, const float* left,
                            float* right, cudaStream_t stream);
cudaError_t expand_factors(const FactorStretch& stretch, const float* left, const float* right, float* values,
                           cudaStream_t stream);
/// `negligible`: see compression::negligible_column.
cudaError_t orthonormalise(const FactorStretch& stretch, double negligible, float* left, cudaStream_t stream);
cudaError_t keep_factors(const FactorStretch& stretch, const float* right, float* start, cudaStream_t stream);

}  // namespace tandem::kernels
