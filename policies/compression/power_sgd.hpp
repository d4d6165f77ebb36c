// The layout of PowerSGD's messages, and its initial factors, for the codecs of every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/compression/codec.hpp"

namespace tandem::compression {

/// The left factors of all matrices, then the parts that are sent uncompressed; and the right factors.
struct FactorForm {
  /// A part that is factored, and the positions of its factors, rows x rank and columns x rank.
  struct Matrix {
    Part part;
    std::size_t left = 0;
    std::size_t right = 0;
  };
  /// A part that is sent uncompressed: a vector, or a matrix that would not get smaller.
  struct Plain {
    Part part;
    std::size_t at = 0;  ///< among the left factors
  };

  explicit FactorForm(const Setting& setting);
  /// The right factors from which the first exchange starts, the same for every worker.
  std::vector<float> start(const Setting& setting) const;

  std::size_t rank;
  std::vector<Matrix> matrices = {};
  std::vector<Plain> plain = {};
  std::size_t left_size = 0;
  std::size_t right_size = 0;
};

/// The product of two columns has this many partial sums in double precision: sum s has the products of rows
/// s, s + sums_of_dot, ... Then the upper half of the sums is added to the lower half until one remains. So
/// a GPU can compute them concurrently and get the same bits.
constexpr std::size_t sums_of_dot = 256;
/// A column is zero if its rest, relative to its length before, consists of rounding errors.
constexpr double negligible_column = 1e-6;

}  // namespace tandem::compression
