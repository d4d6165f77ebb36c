// CUDA on the processor, for machines without a GPU: the sources of kernels and of CudaDevice, compiled as
// host C++ against the headers of this folder, run for real. The threads of a block are fibers that take
// turns in a seeded order, so that a missing barrier shows; a barrier that not all threads reach is an error,
// and so is an unaligned load of a pack (the compiler checks these, see CMakeLists.txt). The default stream
// does its work when it is called; other streams have a thread each and take their time.
//
// What it cannot show: speed; the memory model of a GPU (turns are exchanged at barriers and votes only, and
// atomics are never torn); what nvcc makes of the source, registers and rounding by fused multiplications
// included; memory that is touched on the wrong side, since both sides are the processor's; errors that a
// real kernel reports only later; the legacy stream's order against other blocking streams, of which it has
// none. That is why the same tests run on a GPU where there is one
// (tests/runtime/gpu/compute_device_test.cpp).
//
// As CUDA's own, its state is the process's. A program that sets nothing itself can be told by the variables
// CUDA_ON_HOST_MEMORY and CUDA_ON_HOST_PINNED (bytes), CUDA_ON_HOST_COUNT_ERROR (a cudaError_t's number) and
// CUDA_ON_HOST_DRIVER (its version) of its environment.
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
  int driver_version = 13000;                        ///< 0: there is none
  cudaError_t count_error = cudaSuccess;             ///< what counting the devices says, where not success
  std::size_t memory_bytes = std::size_t{1} << 30U;  ///< of each device
  std::size_t pinned_bytes = std::size_t{1} << 30U;
  int multiprocessors = 1;
  std::uint64_t seed = 1;
  int longest_delay_us = 200;      ///< before a stream's next operation
  bool only_outer_blocks = false;  ///< of each grid the first and the last are run
};

/// Settings and counts of calls as they were at first, and no call fails. Pre: nothing is allocated, no
/// stream.
void reset(const Settings& settings = {});
/// The `number`-th call from now, 1 at least, of the function of that name says `error` and does nothing.
void fail_call(const std::string& name, int number, cudaError_t error);
/// Calls of each function since `reset`.
std::map<std::string, int> calls();
/// Kernels that were started while each device was the current one, since `reset`.
std::map<int, int> launches();
/// Device memory, pinned memory, streams and events that were made and are still there.
struct Remaining {
  std::size_t device_bytes = 0;
  std::size_t pinned_bytes = 0;
  int streams = 0;
  int events = 0;
  bool operator==(const Remaining&) const = default;
};
Remaining remaining();
/// Why the last kernel that failed did.
std::string last_failure();

/// For the emulation itself: does it at once on the default stream, or when it is its turn on another, which
/// has to be of the current device, as CUDA wants it of kernels and events.
cudaError_t submit(cudaStream_t stream, std::function<void()> operation);
/// For the emulation itself: notes a call. An error to return at once, or success.
cudaError_t begin_call(const char* name);
void note_launch();
/// The stream does it in its turn; the default stream does it at once.
cudaError_t submit(cudaStream_t stream, std::function<void()> operation);
/// Whether all of it is memory of one allocation on a device.
bool is_device_memory(const void* memory, std::size_t bytes);
Settings settings();
Settings settings_of_environment();
bool is_default(cudaStream_t stream);
/// Does it at once on the default stream, else in the stream's turn. Another stream has to be of the current
/// device, as CUDA wants it of kernels and events.
cudaError_t submit(cudaStream_t stream, std::function<void()> operation);

}  // namespace tandem::cuda_on_host
