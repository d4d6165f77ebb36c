// The parts of libtorch's settings that need neither a learner nor a GPU.
#include "workloads/learner/torch_mode.hpp"

#include <ATen/Parallel.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <gtest/gtest.h>

#include "tests/workloads/learner/learner_probe.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// The library that a program loads, and one that it links, set libtorch's threads in turn: libtorch accepts
/// the number of its threads between operations once.
TEST(TorchMode, ThreadsMayBeSetByTheLoadedLibraryAndByTheProgram) {
  const auto dataset =
      load_dataset({.name = "synthetic", .directory = "", .train_samples = 8, .test_samples = 8, .seed = 5});
  const LearnerSetting setting{.model = "mlp", .dataset = dataset->info(), .bucket_bytes = Bytes(0)};
  make_learner(setting);
  EXPECT_EQ(torch_device(setting), at::Device(at::kCPU));
  EXPECT_EQ(at::get_num_interop_threads(), 1);
  EXPECT_EQ(at::get_num_threads(), 1);
}

using FakeGpus = c10::impl::FakeGuardImpl<c10::DeviceType::CUDA>;

/// Stands in for the GPUs of a libtorch that has none: remembers the current stream of each.
class FakeStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    if (at::hasCUDA()) GTEST_SKIP() << "this libtorch has streams of its own";
    registered().store(&gpus_);
  }
  void TearDown() override {
    if (!at::hasCUDA()) registered().store(nullptr);
  }
  static const void* stream_of(c10::DeviceIndex gpu) {
    return reinterpret_cast<const void*>(FakeGpus::getCurrentStreamIdFor(gpu));
  }

 private:
  static std::atomic<const c10::impl::DeviceGuardImplInterface*>& registered() {
    return c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::DeviceType::CUDA)];
  }
  FakeGpus gpus_;
};

TEST_F(FakeStreams, TheStreamOfADeviceIsInUseDuringTheLifetimeOfItsGuard) {
  int one = 0, other = 0;
  {
    const StreamInUse of_second({at::kCUDA, 1}, &one);
    EXPECT_EQ(stream_of(1), &one);
    EXPECT_EQ(stream_of(0), nullptr);
    {
      const StreamInUse inner({at::kCUDA, 1}, &other);
      EXPECT_EQ(stream_of(1), &other);
    }
    EXPECT_EQ(stream_of(1), &one);
  }
  EXPECT_EQ(stream_of(1), nullptr);
}

TEST_F(FakeStreams, NothingChangesWithoutAStreamOrAGpu) {
  int one = 0;
  const StreamInUse in_use({at::kCUDA, 0}, &one);
  const StreamInUse none({at::kCUDA, 0}, nullptr);
  const StreamInUse of_processor(at::kCPU, &one);
  EXPECT_EQ(stream_of(0), &one);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
