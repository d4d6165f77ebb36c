// CUDA's conversions between floats and IEEE binary16, on the host: by double arithmetic from the definition
// of the format, independent of the bit operations in policies/compression/half.hpp.
#pragma once

#include "small_floats.hpp"

// NOLINTBEGIN: CUDA's names.
struct __half {
  unsigned short bits;
};
inline __half __float2half_rn(float value) {
  return {tandem::cuda_on_host::rounded(value, tandem::cuda_on_host::binary16)};
}
inline float __half2float(__half value) {
  return tandem::cuda_on_host::widened(value.bits, tandem::cuda_on_host::binary16);
}
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
// NOLINTEND
