// How many kernels a GPU has to launch for what a step does once for all buckets.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/gpu/cuda_device.hpp"
#include "tests/support/cuda_on_host/cuda_on_host.hpp"
#include "workloads/model/optimizer.hpp"

namespace tandem {
namespace TANDEM_FILE {

class Launches : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_on_host::reset();
    device_ = std::make_unique<CudaDevice>(0);
  }
  /// Kernels that `work` launches.
  template <class Work>
  int of(const Work& work) {
    const auto count = [] {
      const auto by_device = cuda_on_host::launches();
      const auto found = by_device.find(0);
      return found == by_device.end() ? 0 : found->second;
    };
    const int before = count();
    work();
    device_->finish();
    return count() - before;
  }
  CudaDevice& device() { return *device_; }

 private:
  std::unique_ptr<CudaDevice> device_;
};

/// As of ResNet-50 in buckets of 4 MiB, though smaller.
ModelDescription description_of(int buckets) {
  ModelDescription model;
  for (int bucket = 0; bucket < buckets; ++bucket)
    model.buckets.push_back(
        {.offset = bucket * 110, .parameters = 100, .statistics = 10, .forward = {}, .backward = {}});
  model.tensors.push_back({.name = "all", .shape = {buckets * 110}});
  return model;
}

TEST_F(Launches, AnUpdateOfAllBucketsIsOneKernel) {
  const ModelDescription model = description_of(25);
  const auto elements = static_cast<std::size_t>(model.elements());
  const FloatArray values(device(), elements), gradient(device(), elements);
  for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam}) {
    Optimizer optimizer({.kind = kind, .momentum = 0.9}, model.elements(), 0, device());
    optimizer.begin_update({});
    EXPECT_EQ(of([&] { apply_update(optimizer, model, 0, values.span(), gradient.span(), 0.5); }), 1);
  }
}

TEST_F(Launches, ACopyOfTheGradientsOfASegmentIsOneKernel) {
  const FloatArray gradient(device(), 1000), window(device(), 1000);
  std::vector<FloatCopy> copies;
  for (int tensor = 0; tensor < 100; ++tensor)
    copies.push_back({window.data() + 10 * tensor, gradient.data() + 10 * tensor, 10});
  EXPECT_EQ(of([&] { device().copy_all(copies); }), 1);
}

TEST_F(Launches, ASearchIsOneKernel) {
  const FloatArray values(device(), 100000);
  const PinnedArray<std::int64_t> first(device(), 1);
  EXPECT_EQ(of([&] { device().find_non_finite(values.data(), 100000, first.data()); }), 1);
}

TEST_F(Launches, ASumOfPushesIsOneKernel) {
  const FloatArray sum(device(), 1000), pushes(device(), 8000);
  std::vector<Term> terms;
  for (int push = 0; push < 8; ++push) terms.push_back({pushes.data() + 1000 * push, 0.5F});
  EXPECT_EQ(of([&] { device().add_terms(sum.data(), /*begins=*/true, terms, 1000); }), 1);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
