// CUDA on the host, for machines without a GPU: compiles the sources of kernels and of CudaDevice as host C++
// against the headers of this folder, and executes them. The threads of a block are fibers that take turns in
// a seeded order, so that a missing barrier is detected; a barrier that not all threads reach is an error,
// and so is an unaligned load of a pack (checked by the compiler, see CMakeLists.txt). The default stream
// works synchronously; each other stream has a thread and random delays, and only copies of pageable memory
// wait for their stream.
//
// Not covered: speed, and the priorities of streams; the memory model of a GPU (threads switch only at
// barriers and votes, and atomics are never torn); nvcc's code generation, including registers and rounding
// by fused multiplications; accesses from the wrong side, since both sides are host memory; errors that a
// real kernel reports only later; the order of the legacy stream relative to other blocking streams, which
// the emulation does not have. Therefore the same tests run on a GPU if there is one
// (tests/runtime/gpu/compute_device_test.cpp).
//
// Like CUDA's, its state belongs to the process. The environment variables CUDA_ON_HOST_DEVICES (their
// number), CUDA_ON_HOST_MEMORY and CUDA_ON_HOST_PINNED (bytes), CUDA_ON_HOST_COUNT_ERROR (the number of a
// cudaError_t) and CUDA_ON_HOST_DRIVER (its version) configure a program that does not configure the
// emulation itself; with CUDA_ON_HOST_SHARES=0 no process opens the device memory of another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "cuda_runtime_api.h"

namespace tandem::cuda_on_host {

struct Settings {
  int devices = 2;
  int driver_version = 13000;                        ///< 0: no driver
  cudaError_t count_error = cudaSuccess;             ///< the error of counting the devices, if any
  std::size_t memory_bytes = std::size_t{1} << 30U;  ///< of each device
  std::size_t pinned_bytes = std::size_t{1} << 30U;
  int multiprocessors = 1;
  std::uint64_t seed = 1;
  int longest_delay_us = 200;      ///< the maximum before a stream's next operation
  bool only_outer_blocks = false;  ///< run only the first and the last block of each grid
  bool is_shareable = true;        ///< other processes can open device memory
};

/// Restores the initial settings and counts of calls; no call fails. Pre: no memory or stream is allocated.
void reset(const Settings& settings = {});
/// The `number`-th call (from 1) of the function from now on returns `error` and has no other effect.
void fail_call(const std::string& name, int number, cudaError_t error);
/// Calls of each function since `reset`.
std::map<std::string, int> calls();
/// Kernels that were launched while each device was the current one, since `reset`.
std::map<int, int> launches();
/// Device memory, also that which was opened of other processes, pinned memory, streams and events that have
/// not been released.
struct Remaining {
  std::size_t device_bytes = 0;
  std::size_t pinned_bytes = 0;
  int streams = 0;
  int events = 0;
  bool operator==(const Remaining&) const = default;
};
Remaining remaining();
/// The number of streams with each priority, which are 0 to -5, the most urgent. They change nothing here.
std::map<int, int> streams_by_priority();
/// The reason of the last kernel failure.
std::string last_failure();

/// For the emulation itself: runs the operation at once on the default stream, or in order on another stream,
/// which has to belong to the current device, as CUDA requires of kernels and events.
cudaError_t submit(cudaStream_t stream, std::function<void()> operation);
/// For the emulation itself: counts a call. Returns an error to return at once, or success.
cudaError_t begin_call(const char* name);
void note_launch();
/// Whether the whole range is part of one allocation on a device.
bool is_device_memory(const void* memory, std::size_t bytes);
/// The number of the allocation on a device that contains this byte, which no other one ever has; 0: none.
std::uint64_t allocation_number(const void* memory);
Settings settings();
Settings settings_of_environment();
bool is_default(cudaStream_t stream);

}  // namespace tandem::cuda_on_host
