// CUDA's conversion from floats to bfloat16, on the host: see cuda_fp16.h.
#pragma once

#include "small_floats.hpp"

// NOLINTBEGIN: CUDA's names.
struct __nv_bfloat16 {
  unsigned short bits;
};
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return {tandem::cuda_on_host::rounded(value, tandem::cuda_on_host::bfloat16)};
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
// NOLINTEND
