// CudaDevice when CUDA calls fail, and several devices in a process: on the emulation, which fails on
// request.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/gpu/cuda_codecs.hpp"
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/gpu/kernels.hpp"
#include "tests/policies/compression/stretches.hpp"
#include "tests/support/cuda_on_host/cuda_on_host.hpp"
#include "workloads/vectors/no_memory.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

using cuda_on_host::Settings;

class CudaErrors : public ::testing::Test {
 protected:
  void SetUp() override { cuda_on_host::reset(); }
};

/// The message of the exception that `action` throws; empty if it does not throw.
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const WorldError& error) {
    return error.what();
  }
  return "";
}

struct PinnedRelease {
  ComputeDevice* device;
  void operator()(std::byte* memory) const { device->release_pinned(memory); }
};
using Pinned = std::unique_ptr<std::byte, PinnedRelease>;
Pinned pinned_of(ComputeDevice& device, std::size_t bytes) {
  return Pinned(device.allocate_pinned(bytes), {&device});
}

void use_arithmetic(ComputeDevice& device, float* a, float* b, float* c, float* d, std::int64_t count) {
  auto* const halves = reinterpret_cast<std::uint16_t*>(c);
  device.fill(a, count, 1.0F);
  const FloatCopy copy{a, b, count};
  device.copy_all({&copy, 1});
  device.scale(a, count, 2.0F);
  device.add(a, b, count, 1.0F);
  device.narrow(a, halves, count, HalfFormat::fp16);
  device.widen(halves, b, count, HalfFormat::bf16);
  device.add_halves(halves, reinterpret_cast<std::uint16_t*>(d), count, HalfFormat::bf16);
  device.subtract(a, a, b, count);
  device.multiply(a, b, count, 2.0F);
  const Term term{b, 1.0F};
  device.add_terms(a, /*begins=*/false, {&term, 1}, count);
  device.approach(a, b, count, 0.5F);
  device.sgd(a, b, c, count, SgdStep{});
  device.adam(a, b, c, d, count, AdamStep{});
  device.compensate(a, b, c, d, count, CompensationStep{});
  device.move(a, b, c, d, count, MoveStep{});
}

void use_codec(ComputeDevice& device, const std::string& method, std::span<float> values,
               std::span<std::byte> message) {
  const auto elements = static_cast<std::int64_t>(values.size());
  const compression::Setting setting{.stretch = compression::stretch_with({{1, elements}}),
                                     .options = compression::options_of(method)};
  const auto codec = device.make_codec(compression::catalog().find(method), setting);
  const auto own = message.first(static_cast<std::size_t>(codec->message_bytes()));
  codec->encode(values, 0, own);
  codec->decode(own, 0, values);
}

/// Calls every function of a device. `calls`: number of calls of each CUDA function until the first release.
void use_everything(std::map<std::string, int>& calls) {
  CudaDevice device(0);
  constexpr std::int64_t count = 40;
  constexpr std::size_t bytes = count * sizeof(float);
  const FloatArray all(device, 4 * count);
  float* const a = all.data();
  const DeviceArray<std::byte> message(device, 4096);
  const Pinned pinned = pinned_of(device, bytes);
  use_arithmetic(device, a, a + count, a + 2 * count, a + 3 * count, count);
  device.find_non_finite(a, count, reinterpret_cast<std::int64_t*>(pinned.get()));
  const DeviceMark begin = device.mark();
  const DeviceMark out = device.copy_out(pinned.get(), reinterpret_cast<std::byte*>(a), bytes);
  device.finish();
  const DeviceMark in = device.copy_in(reinterpret_cast<std::byte*>(a), pinned.get(), bytes);
  device.copy(a, pinned.get(), bytes);
  device.finish();
  EXPECT_TRUE(device.has_reached(out));
  EXPECT_GE(device.between(begin, in), Seconds(0));
  for (const char* method : {"fp16", "bf16", "qsgd", "top-k"})
    use_codec(device, method, all.span().first(count), message.span());
  calls = cuda_on_host::calls();
  for (const char* method : {"sign", "one-bit", "random-k"})
    use_codec(device, method, all.span().first(count), message.span());
}

TEST_F(CudaErrors, EveryFailingCallThrowsAWorldError) {
  std::map<std::string, int> calls;
  use_everything(calls);
  EXPECT_EQ(cuda_on_host::remaining(), cuda_on_host::Remaining{});
  // Releasing never throws: the top-k codec's memory is released before the count is taken.
  for (const char* name : {"cudaFree", "cudaFreeHost"}) calls.erase(name);
  EXPECT_GE(calls.size(), 14U);
  for (const auto& [name, number] : calls) {
    // The last call that makes a device current belongs to a release.
    const int failing = name == "cudaSetDevice" ? number - 1 : number;
    for (int call = 1; call <= failing; ++call) {
      cuda_on_host::reset();
      cuda_on_host::fail_call(name, call, cudaErrorUnknown);
      std::map<std::string, int> ignored;
      const std::string error = error_of([&] { use_everything(ignored); });
      EXPECT_NE(error.find("on cuda:0: cudaErrorUnknown"), std::string::npos)
          << name << ", call " << call << ": " << error;
      EXPECT_EQ(cudaGetLastError(), cudaSuccess);
      ASSERT_EQ(cuda_on_host::remaining(), cuda_on_host::Remaining{}) << name << ", call " << call;
    }
  }
}

TEST_F(CudaErrors, ReportsTheAvailableMemory) {
  cuda_on_host::reset(Settings{.memory_bytes = 10000, .pinned_bytes = 500});
  CudaDevice device(0);
  const DeviceArray<std::byte> held(device, 6000);
  const std::string error = error_of([&] { device.allocate(4096); });
  EXPECT_EQ(error,
            "cudaMalloc on cuda:0: out of memory (cudaErrorMemoryAllocation); requested 4096 bytes, 3984 of "
            "10000 are free");
  // The error is cleared, and the device remains usable.
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const DeviceArray<std::byte> smaller(device, 3000);
  EXPECT_TRUE(device.owns(smaller.data()));
  EXPECT_EQ(error_of([&] { device.allocate_pinned(501); }),
            "cudaHostAlloc on cuda:0: out of memory (cudaErrorMemoryAllocation); requested 501 bytes of host "
            "memory");
}

// CUDA frees memory only when all work of the GPU has ended, and that may wait for a rank that waits for this
// one.
TEST_F(CudaErrors, MemoryReleasedByAnErrorIsFreedLater) {
  CudaDevice device(0);
  const DeviceArray<std::byte> held(device, 100);
  const auto before = cuda_on_host::remaining();
  const std::byte* lost = nullptr;
  EXPECT_EQ(error_of([&] {
              const DeviceArray<std::byte> own(device, 200);
              const PinnedArray<std::byte> pinned(device, 300);
              lost = own.data();
              throw WorldError("no file");
            }),
            "no file");
  EXPECT_FALSE(device.owns(lost));
  EXPECT_EQ(cuda_on_host::calls()["cudaFree"] + cuda_on_host::calls()["cudaFreeHost"], 0);
  EXPECT_EQ(cuda_on_host::remaining().device_bytes, before.device_bytes + 200);
  EXPECT_EQ(cuda_on_host::remaining().pinned_bytes, before.pinned_bytes + 300);
  const DeviceArray<std::byte> next(device, 1);
  EXPECT_EQ(cuda_on_host::remaining().device_bytes, before.device_bytes + 1);
  EXPECT_EQ(cuda_on_host::remaining().pinned_bytes, before.pinned_bytes);
}

TEST_F(CudaErrors, WaitingLeavesNoError) {
  cuda_on_host::reset(Settings{.longest_delay_us = 100000});
  CudaDevice device(0);
  const DeviceArray<std::byte> own(device, 64);
  const Pinned pinned = pinned_of(device, 64);
  int waited = 0;
  for (int copy = 0; copy < 3; ++copy) {
    const DeviceMark mark = device.copy_out(pinned.get(), own.data(), 64);
    while (!device.has_reached(mark)) {
      ++waited;
      ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    }
    device.forget(mark);
  }
  EXPECT_GT(waited, 0);
}

TEST_F(CudaErrors, MemoryOfAGpuIsThatInUseAndTheRest) {
  cuda_on_host::reset(Settings{.memory_bytes = 10000});
  CudaDevice device(1);
  const DeviceArray<std::byte> held(device, 6000);
  EXPECT_EQ(gpu_memory(1), Bytes(10000));
  EXPECT_EQ(error_of([] { gpu_memory(2); }),
            "cudaSetDevice on cuda:2: cudaErrorInvalidDevice (cudaErrorInvalidDevice)");
}

// libtorch keeps the memory of tensors that it has released for later ones.
TEST_F(CudaErrors, AShortageFreesWhatAnotherLibraryKeepsAndTriesOnceMore) {
  cuda_on_host::reset(Settings{.memory_bytes = 10000});
  CudaDevice device(0);
  void* kept = nullptr;
  ASSERT_EQ(cudaMalloc(&kept, 6000), cudaSuccess);
  int shortages = 0;
  device.on_shortage([&] {
    ++shortages;
    cudaFree(std::exchange(kept, nullptr));
  });
  { const DeviceArray<std::byte> fits(device, 1000); }
  EXPECT_EQ(shortages, 0);
  { const DeviceArray<std::byte> fits_without_them(device, 5000); }
  EXPECT_EQ(shortages, 1);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(error_of([&] { device.allocate(10000); }),
            "cudaMalloc on cuda:0: out of memory (cudaErrorMemoryAllocation); requested 10000 bytes, 9984 of "
            "10000 are free");
  EXPECT_EQ(shortages, 2);
}

// Callers that know the job add advice to an out-of-memory error, and only to that.
TEST_F(CudaErrors, OutOfMemoryHasItsOwnErrorType) {
  cuda_on_host::reset(Settings{.memory_bytes = 10000, .pinned_bytes = 500});
  CudaDevice device(0);
  const auto of_host = [](const std::function<void()>& action) -> std::optional<bool> {
    try {
      action();
    } catch (const NoMemoryError& error) {
      return error.of_host();
    } catch (const WorldError&) {
    }
    return std::nullopt;
  };
  EXPECT_EQ(of_host([&] { device.allocate(20000); }), false);
  EXPECT_EQ(of_host([&] { device.allocate_pinned(20000); }), true);
  cuda_on_host::fail_call("cudaEventCreate", 1, cudaErrorMemoryAllocation);
  EXPECT_EQ(of_host([&] { device.mark(); }), false);
  cuda_on_host::fail_call("cudaMalloc", 1, cudaErrorUnknown);
  EXPECT_EQ(of_host([&] { device.allocate(20); }), std::nullopt);
}

TEST_F(CudaErrors, CountsDevices) {
  EXPECT_EQ(visible_gpus().count, 2);
  EXPECT_EQ(visible_gpus().why_none, "");
  cuda_on_host::reset(Settings{.count_error = cudaErrorUnknown});
  EXPECT_EQ(error_of([] { visible_gpus(); }), "cudaGetDeviceCount: cudaErrorUnknown (cudaErrorUnknown)");
}

/// The reason given when there is no GPU; the error of counting the devices is cleared.
std::string why_none(const Settings& settings) {
  cuda_on_host::reset(settings);
  const Gpus there = visible_gpus();
  EXPECT_EQ(there.count, 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return there.why_none;
}

TEST_F(CudaErrors, SaysWhyThereIsNoGpu) {
  const char* const was = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::optional<std::string> visible = was == nullptr ? std::nullopt : std::optional<std::string>(was);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(why_none({.count_error = cudaErrorNoDevice}), "CUDA finds no GPU");
  ::setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  EXPECT_EQ(why_none({.count_error = cudaErrorNoDevice}), "no GPU is visible (CUDA_VISIBLE_DEVICES is '7')");
  EXPECT_EQ(why_none({.devices = 0}), "no GPU is visible (CUDA_VISIBLE_DEVICES is '7')");
  EXPECT_EQ(why_none({.driver_version = 12040, .count_error = cudaErrorInsufficientDriver}),
            "the NVIDIA driver is too old, it knows CUDA 12.4 and this tandem-rank needs 13.0");
  EXPECT_EQ(why_none({.driver_version = 0, .count_error = cudaErrorInsufficientDriver}),
            "there is no NVIDIA driver");
  if (visible)
    ::setenv("CUDA_VISIBLE_DEVICES", visible->c_str(), 1);
  else
    ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(CudaErrors, AGpuWithoutKernelsNamesTheBuildOption) {
  for (const cudaError_t error :
       {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction, cudaErrorUnsupportedPtxVersion}) {
    cuda_on_host::reset();
    cuda_on_host::fail_call("cudaFuncGetAttributes", 1, error);
    EXPECT_EQ(error_of([] { CudaDevice(0); }),
              std::string("cuda:0 (CUDA on the host) is of compute capability 9.0, for which tandem-rank has "
                          "no kernels (") +
                  cudaGetErrorName(error) +
                  "); build it with -DCMAKE_CUDA_ARCHITECTURES=90, or with a list that contains 90");
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cuda_on_host::remaining(), cuda_on_host::Remaining{});
  }
}

TEST_F(CudaErrors, AMissingDevice) {
  EXPECT_EQ(error_of([] { CudaDevice(2); }),
            "cudaSetDevice on cuda:2: cudaErrorInvalidDevice (cudaErrorInvalidDevice)");
}

// Events and streams belong to a device, and CUDA rejects them while another is current.
TEST_F(CudaErrors, DevicesCoexist) {
  CudaDevice first(0);
  CudaDevice second(1);
  CudaDevice again(0);
  EXPECT_EQ(first.name(), "cuda:0 (CUDA on the host)");
  EXPECT_EQ(second.name(), "cuda:1 (CUDA on the host)");
  const FloatArray one(first, 10);
  const FloatArray two(second, 10);
  EXPECT_FALSE(first.owns(two.data()));
  EXPECT_FALSE(again.owns(one.data()));
  const Pinned pinned = pinned_of(first, 40);
  first.forget(first.mark());
  for (int round = 1; round <= 3; ++round) {
    first.fill(one.data(), 10, 1.0F);
    EXPECT_EQ(cuda_on_host::launches(), (std::map<int, int>{{0, round}}));
    const DeviceMark of_second = second.copy_out(pinned.get(), reinterpret_cast<std::byte*>(two.data()), 40);
    const DeviceMark of_first = first.mark();
    first.finish();
    second.finish();
    EXPECT_TRUE(first.has_reached(of_first));
    EXPECT_TRUE(second.has_reached(of_second));
    first.forget(of_first);
    second.forget(of_second);
  }
  second.copy(two.data(), one.data(), 40);
  std::vector<float> found(10);
  second.copy(found.data(), two.data(), 40);
  second.finish();
  EXPECT_EQ(found, std::vector<float>(10, 1.0F));
}

TEST_F(CudaErrors, MarksAreReused) {
  CudaDevice device(0);
  for (int mark = 0; mark < 100; ++mark) device.forget(device.mark());
  EXPECT_EQ(cuda_on_host::remaining().events, 1);
}

TEST_F(CudaErrors, TheSecondQueueAndCopiesPrecedeComputing) {
  const CudaDevice device(0);
  EXPECT_EQ(cuda_on_host::streams_by_priority(), (std::map<int, int>{{0, 1}, {-5, 3}}));
}

TEST_F(CudaErrors, CopiesOutsideTheQueueArePinned) {
  CudaDevice device(0);
  const DeviceArray<std::byte> own(device, 64);
  std::vector<std::byte> pageable(64);
  EXPECT_NE(error_of([&] { device.copy_out(pageable.data(), own.data(), 64); }), "");
  const Pinned pinned = pinned_of(device, 64);
  EXPECT_NE(error_of([&] { device.copy_in(own.data() + 1, pinned.get(), 64); }), "") << "beyond the end";
}

// Other processes may have it open.
TEST_F(CudaErrors, SharedMemoryIsKeptForTheNextAllocationOfItsSize) {
  constexpr std::size_t size = 1 << 20;
  {
    CudaDevice device(0);
    std::byte* const first = device.allocate(size);
    const auto allocation = device.allocation_of(first);
    ASSERT_TRUE(device.share(*allocation));
    device.fill(reinterpret_cast<float*>(first), size / sizeof(float), 1.0F);
    device.release(first);
    EXPECT_FALSE(device.owns(first));
    std::byte* const larger = device.allocate(2 * size);
    EXPECT_NE(larger, first);
    std::byte* const again = device.allocate(size);
    EXPECT_EQ(again, first);
    EXPECT_EQ(device.allocation_of(again)->number, allocation->number);
    std::vector<float> values(size / sizeof(float), 2.0F);
    copy_and_await(device, values.data(), again, size);
    EXPECT_EQ(values, std::vector<float>(values.size())) << "like new memory";
    std::byte* const another = device.allocate(size);
    EXPECT_NE(another, first);
    for (std::byte* const memory : {larger, again, another}) device.release(memory);
    EXPECT_EQ(cuda_on_host::remaining().device_bytes, size + sizeof(kernels::FlawSearch));
  }
  EXPECT_EQ(cuda_on_host::remaining().device_bytes, 0U);
}

TEST_F(CudaErrors, MemoryThatTheDriverDoesNotShareIsFreedAsUsual) {
  CudaDevice device(0);
  const std::size_t before = cuda_on_host::remaining().device_bytes;
  std::byte* const memory = device.allocate(1 << 20);
  cuda_on_host::fail_call("cudaIpcGetMemHandle", 1, cudaErrorNotSupported);
  EXPECT_FALSE(device.share(*device.allocation_of(memory)));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "others would take it for theirs";
  device.release(memory);
  EXPECT_EQ(cuda_on_host::remaining().device_bytes, before);
}

TEST_F(CudaErrors, MemoryThatCannotBeOpenedIsNull) {
  CudaDevice device(0);
  std::byte* const memory = device.allocate(1 << 20);
  EXPECT_EQ(device.open(*device.share(*device.allocation_of(memory))), nullptr) << "its own";
  EXPECT_EQ(device.open(SharedDeviceMemory::Handle{}), nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  device.release(memory);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
