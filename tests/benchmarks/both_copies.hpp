// Copies out of a GPU and into it at the same time, beside a computation that keeps the GPU busy.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>

#include "runtime/gpu/cuda_device.hpp"

namespace tandem {

/// Copies so many bytes each way at once, and the same with two plain cudaMemcpyAsync. `of_plain`: the time
/// of these / ours. `of_one`: the time of the slower direction alone / that of both. With `computes`, the GPU
/// convolves all the time (with a libtorch for processors, it adds vectors): `of_idle` is the time of both
/// copies on the GPU that is otherwise idle / beside the computation, and `computing` the time of the
/// computation alone / beside the copies.
void measure_both_copies(benchmark::State& state, CudaDevice& device, std::size_t bytes, bool computes);

}  // namespace tandem
