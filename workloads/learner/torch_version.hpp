// The version of this libtorch, and whether it was built with CUDA.
#pragma once

#include <torch/version.h>

#define TANDEM_TORCH_SINCE(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// Made by the build of a libtorch with CUDA; Debian's package has the other headers as well.
#if __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)
#define TANDEM_TORCH_HAS_CUDA
#endif
