// The estimated activations against what libtorch allocates: bytes that the forward pass leaves behind, as
// the C library counts them.
#include <gtest/gtest.h>
#include <malloc.h>

#include "tests/workloads/learner/learner_probe.hpp"

namespace tandem {
namespace TANDEM_FILE {

double allocated() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

struct Case {
  std::string model;
  std::string dataset;
  int image_size;
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.model << " on " << value.dataset; }

class Activations : public ::testing::TestWithParam<Case> {};

TEST_P(Activations, AreThoseThatLibtorchKeeps) {
  const auto& [model, name, image_size] = GetParam();
  const auto dataset =
      load_dataset({.name = name, .directory = "", .train_samples = 24, .test_samples = 1, .seed = 5});
  const auto records = dataset->records(Dataset::Part::train);
  const auto learner = make_learner(
      {.model = model, .dataset = dataset->info(), .image_size = image_size, .bucket_bytes = Bytes(0)});
  differentiate(*learner, records.first(records.size() / 24));  // what is allocated once
  const double before = allocated();
  if (before == 0.0) GTEST_SKIP() << "another allocator does not count";
  learner->load(records);
  learner->forward();
  const double kept = allocated() - before;
  const double estimate = 24.0 * 4.0 * static_cast<double>(learner->description().activations.value().kept);
  RecordProperty("measured_over_estimated", std::to_string(kept / estimate));
  EXPECT_GT(kept, 0.9 * estimate);
  EXPECT_LT(kept, 1.2 * estimate);
}

INSTANTIATE_TEST_SUITE_P(Models, Activations,
                         ::testing::Values(Case{"lenet", "synthetic", 0},
                                           Case{"mobilenet-v2", "synthetic-colour", 0}));
INSTANTIATE_TEST_SUITE_P(LongModels, Activations,
                         ::testing::Values(Case{"alexnet", "synthetic-colour", 64},
                                           Case{"vgg11-bn", "synthetic-colour", 0},
                                           Case{"resnet18", "synthetic-colour", 0},
                                           Case{"resnet50-v2", "synthetic-colour", 0}));

}  // namespace TANDEM_FILE
}  // namespace tandem
