// The parts of libtorch's settings that need neither a learner nor a GPU.
#include "workloads/learner/torch_mode.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/workloads/learner/learner_probe.hpp"

namespace tandem {
namespace {

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

}  // namespace
}  // namespace tandem
