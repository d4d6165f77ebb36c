// CUDA on the host detects what it is meant to detect: missing and divergent barriers, unaligned packs, and
// indices that need 64 bits.
#include "tests/support/cuda_on_host/cuda_on_host.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "cuda_runtime.h"
#include "runtime/gpu/kernel_support.cuh"
#include "runtime/gpu/kernels.hpp"

namespace tandem {
namespace TANDEM_FILE {

using cuda_on_host::Settings;

template <class... Wanted, class... Given>
cudaError_t run(unsigned blocks, unsigned threads, void (*kernel)(Wanted...), Given... given) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  return cudaLaunchKernelEx(&config, kernel, given...);
}

__global__ void sum_neighbours(const int* values, int* sums, bool has_barrier) {
  __shared__ int space[128];
  space[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
  if (has_barrier) __syncthreads();
  sums[blockIdx.x * blockDim.x + threadIdx.x] = space[threadIdx.x] + space[(threadIdx.x + 1) % blockDim.x];
}

TEST(CudaOnHost, BarriersSynchroniseThreads) {
  std::vector<int> values(512);
  std::iota(values.begin(), values.end(), 1);
  std::vector<int> wanted(512);
  for (std::size_t at = 0; at < 512; ++at) wanted[at] = values[at] + values[at / 128 * 128 + (at + 1) % 128];
  std::vector<int> sums(512);
  EXPECT_EQ(run(4, 128, sum_neighbours, values.data(), sums.data(), true), cudaSuccess);
  EXPECT_EQ(sums, wanted);
  EXPECT_EQ(run(4, 128, sum_neighbours, values.data(), sums.data(), false), cudaSuccess);
  EXPECT_NE(sums, wanted) << "a missing barrier is not detected";
}

__global__ void vote(unsigned* votes) {
  const unsigned odd = __ballot_sync(0xffffffffU, threadIdx.x % 2);
  const unsigned first = __ballot_sync(0xffffffffU, threadIdx.x % 32 == 0 && threadIdx.x >= 32);
  votes[threadIdx.x] = odd ^ first;
}

TEST(CudaOnHost, WarpsVote) {
  std::vector<unsigned> votes(96);
  EXPECT_EQ(run(1, 96, vote, votes.data()), cudaSuccess);
  for (std::size_t thread = 0; thread < 96; ++thread)
    EXPECT_EQ(votes[thread], thread < 32 ? 0xaaaaaaaaU : 0xaaaaaaabU);
}

TEST(CudaOnHost, AnEventMayBeDestroyedBeforeItIsReached) {
  cuda_on_host::reset();
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  std::atomic<bool> goes_on = false;
  cuda_on_host::submit(stream, [&] {
    while (!goes_on) std::this_thread::yield();
  });
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cuda_on_host::remaining().events, 0);
  goes_on = true;
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cuda_on_host::remaining(), cuda_on_host::Remaining{});
}

TEST(CudaOnHost, EventsWithoutTimingHaveNoTime) {
  cuda_on_host::reset();
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  float milliseconds = 0.0F;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, event), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST(CudaOnHost, DevicesHaveIdentities) {
  cuda_on_host::reset({.devices = 2});
  cudaDeviceProp first{}, again{}, second{};
  ASSERT_EQ(cudaGetDeviceProperties(&first, 0), cudaSuccess);
  ASSERT_EQ(cudaGetDeviceProperties(&again, 0), cudaSuccess);
  ASSERT_EQ(cudaGetDeviceProperties(&second, 1), cudaSuccess);
  EXPECT_TRUE(std::ranges::equal(first.uuid.bytes, again.uuid.bytes));
  EXPECT_FALSE(std::ranges::equal(first.uuid.bytes, second.uuid.bytes));
  EXPECT_EQ(cudaGetDeviceProperties(&first, 2), cudaErrorInvalidDevice);
}

TEST(CudaOnHost, StreamsRunKernelsInOrder) {
  cuda_on_host::reset();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  std::vector<float> values(1000, 1.0F);
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_EQ(kernels::add(values.data(), values.data(), 1000, 1.0F, stream), cudaSuccess);
    EXPECT_EQ(kernels::scale(values.data(), 1000, 0.25F, stream), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(values, std::vector<float>(1000, 1.0F / 1024.0F));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

__global__ void sum_again_and_again(int* sums) {
  __shared__ int space[kernels::block_threads];
  for (int turn = 0; turn < 3; ++turn)
    sums[turn * kernels::block_threads + kernels::thread()] = kernels::block_sum(turn, space);
}

TEST(CudaOnHost, BlocksReuseSharedMemoryForSums) {
  std::vector<int> sums(3 * kernels::block_threads);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    cuda_on_host::reset(Settings{.seed = seed});
    EXPECT_EQ(run(1, kernels::block_threads, sum_again_and_again, sums.data()), cudaSuccess);
    for (std::size_t at = 0; at < sums.size(); ++at)
      ASSERT_EQ(sums[at], static_cast<int>(at / kernels::block_threads) * kernels::block_threads);
  }
}

__global__ void leave_barrier_out(unsigned lazy) {
  if (threadIdx.x != lazy) __syncthreads();
}
__global__ void meet_elsewhere(unsigned other) {
  if (threadIdx.x == other)
    __syncthreads();
  else
    __syncthreads();
}
__global__ void leave_vote_out(unsigned lazy) {
  if (threadIdx.x != lazy) static_cast<void>(__ballot_sync(0xffffffffU, 1));
}

TEST(CudaOnHost, DivergenceIsAnError) {
  for (const unsigned thread : {0U, 17U, 63U}) {
    EXPECT_EQ(run(2, 64, leave_barrier_out, thread), cudaErrorLaunchFailure);
    EXPECT_NE(cuda_on_host::last_failure().find("while others wait"), std::string::npos);
    EXPECT_EQ(run(2, 64, meet_elsewhere, thread), cudaErrorLaunchFailure);
    EXPECT_NE(cuda_on_host::last_failure().find("at different places"), std::string::npos);
    EXPECT_EQ(run(2, 64, leave_vote_out, thread), cudaErrorLaunchFailure);
  }
  EXPECT_EQ(run(2, 64, leave_barrier_out, 64U), cudaSuccess) << "the next kernel runs";
}

TEST(CudaOnHost, UnalignedElementsAreDetected) {
  alignas(16) std::array<std::byte, 256> memory{};
  auto* const unaligned = reinterpret_cast<float*>(memory.data() + 2);
  EXPECT_DEATH(static_cast<void>(kernels::scale(unaligned, 20, 2.0F, nullptr)), "");
}

/// Device memory of zeros.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) {
    EXPECT_EQ(cudaMalloc(&data_, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data_, 0, bytes, nullptr), cudaSuccess);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { cudaFree(data_); }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

TEST(CudaOnHost, AMessageOfAnotherStretchIsDetected) {
  constexpr auto stored = kernels::Decoded::stored;
  const std::array<std::uint32_t, 2> message = {9, 0};
  const auto* const bytes = reinterpret_cast<const std::byte*>(message.data());
  const DeviceBytes memory(10 * sizeof(float));
  auto* const values = reinterpret_cast<float*>(memory.data());
  EXPECT_DEATH(static_cast<void>(kernels::decode_top_k(bytes, 1, values, 9, stored, nullptr)), "");
  EXPECT_EQ(kernels::decode_top_k(bytes, 1, values, 10, stored, nullptr), cudaSuccess);
}

// ---- More than 2^31 elements ----
// Address ranges without memory, which is allocated only for touched pages; and so many multiprocessors that
// each block has one tile, of which only the first and the last are run.

constexpr std::int64_t many = (std::int64_t{1} << 31U) + 4099;

template <class Element>
class Addresses {
 public:
  Addresses()
      : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0)) {}
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (is_there()) munmap(data_, bytes);
  }
  bool is_there() const { return data_ != MAP_FAILED; }
  Element* data() const { return static_cast<Element*>(data_); }
  Element& operator[](std::int64_t at) const { return data()[at]; }

 private:
  static constexpr std::size_t bytes = static_cast<std::size_t>(many) * sizeof(Element);
  void* data_;
};

class ManyElements : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_on_host::reset(Settings{.multiprocessors = 1 << 25, .only_outer_blocks = true});
    if (!a_.is_there() || !b_.is_there() || !halves_.is_there()) GTEST_SKIP() << "not enough address space";
  }
  void TearDown() override { cuda_on_host::reset(); }
  Addresses<float> a_;
  Addresses<float> b_;
  Addresses<std::uint16_t> halves_;
};

TEST_F(ManyElements, OperationsReachTheLastElement) {
  // With equal and with different alignment.
  for (const std::int64_t start : {0, 1}) {
    const std::int64_t count = many - start;
    float* const b = b_.data() + start;
    EXPECT_EQ(kernels::fill(b, count, 3.0F, nullptr), cudaSuccess);
    EXPECT_EQ(b_[many - 1], 3.0F);
    EXPECT_EQ(b_[many / 2], 0.0F) << "the emulation ran a block in the middle";
    a_[count - 1] = 1.0F;
    EXPECT_EQ(kernels::add(a_.data(), b, count, 2.0F, nullptr), cudaSuccess);
    EXPECT_EQ(a_[count - 1], 7.0F);
    EXPECT_EQ(kernels::narrow(b, halves_.data(), count, HalfFormat::fp16, nullptr), cudaSuccess);
    EXPECT_EQ(halves_[count - 1], 0x4200U);
    halves_[count - 1] = 0x3c00U;
    EXPECT_EQ(kernels::widen(halves_.data(), b, count, HalfFormat::fp16, nullptr), cudaSuccess);
    EXPECT_EQ(b_[many - 1], 1.0F);
  }
}

TEST_F(ManyElements, ANonFiniteLastElementIsFound) {
  // All blocks but the two that are run count as ended.
  constexpr std::int64_t blocks = (many + kernels::searched_by_block - 1) / kernels::searched_by_block;
  kernels::FlawSearch search{.ended = static_cast<unsigned>(blocks - 2)};
  std::int64_t first = 0;
  a_[many - 2] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(kernels::find_non_finite(a_.data(), many, &search, &first, nullptr), cudaSuccess);
  EXPECT_EQ(first, many - 2);
}

TEST_F(ManyElements, SignsOfTheLastPartAreEncoded) {
  const kernels::Chunk chunk{many - 100, 100, 0};
  const kernels::ChunkRange part{0, 1, 100};
  kernels::ChunkSum sum{};
  const kernels::SignStretch stretch{kernels::SignMethod::sign, many, &chunk, 1, &part, 1, &sum};
  a_[many - 1] = -50.0F;
  auto* const message = reinterpret_cast<std::byte*>(halves_.data());
  EXPECT_EQ(kernels::encode_signs(stretch, a_.data(), message, nullptr), cudaSuccess);
  EXPECT_EQ(std::to_integer<unsigned>(message[(many - 1) / 8]), 1U << ((many - 1) % 8));
  EXPECT_EQ(kernels::decode_signs(stretch, message, b_.data(), kernels::Decoded::stored, nullptr),
            cudaSuccess);
  EXPECT_EQ(b_[many - 1], -0.5F);
  EXPECT_EQ(b_[many - 2], 0.5F);
}

TEST_F(ManyElements, TheLargestElementIsSelected) {
  const DeviceBytes workspace(kernels::top_k_workspace_bytes(many));
  std::array<std::uint32_t, 6> message{};
  auto* const bytes = reinterpret_cast<std::byte*>(message.data());
  a_[0] = 8.0F;
  a_[1] = 4.0F;
  a_[many - 3] = -4.0F;
  EXPECT_EQ(kernels::encode_top_k(a_.data(), nullptr, many, 3, bytes, workspace.data(), nullptr),
            cudaSuccess);
  EXPECT_EQ(message, (std::array<std::uint32_t, 6>{0, 1, static_cast<std::uint32_t>(many - 3), 0x41000000U,
                                                   0x40800000U, 0xc0800000U}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
