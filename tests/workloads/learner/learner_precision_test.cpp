// Precisions of the learner, and errors without memory or without the requested GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tests/support/apart_device.hpp"
#include "tests/workloads/learner/learner_probe.hpp"
#include "workloads/learner/out_of_memory.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/vectors/no_memory.hpp"

// Read by AddressSanitizer: a request for too much memory fails as it does without it.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace tandem {
namespace TANDEM_FILE {

std::shared_ptr<const Dataset> images(std::int64_t train, const std::string& name = "synthetic") {
  return load_dataset({.name = name, .directory = "", .train_samples = train, .test_samples = 8, .seed = 5});
}

LearnerSetting setting(const std::string& model, const DatasetInfo& info, Precision precision) {
  return {.model = model, .dataset = info, .bucket_bytes = Bytes(1 << 20), .precision = precision};
}

/// Cosine of the angle between two gradients, without statistics.
double cosine(Learner& one, Learner& other) {
  double product = 0.0, first = 0.0, second = 0.0;
  for (const auto& tensor : one.description().tensors) {
    if (tensor.statistic) continue;
    const auto a = window(one.gradient(), tensor).to(at::kDouble);
    const auto b = window(other.gradient(), tensor).to(at::kDouble);
    product += (a * b).sum().item<double>();
    first += (a * a).sum().item<double>();
    second += (b * b).sum().item<double>();
  }
  return product / std::sqrt(first * second);
}

class InBf16 : public ::testing::TestWithParam<std::string> {};

TEST_P(InBf16, IsCloseToFp32) {
  const auto dataset = images(16, "synthetic-colour");
  const DatasetInfo& info = dataset->info();
  const auto records = dataset->records(Dataset::Part::train);
  const auto exact = make_learner(setting(GetParam(), info, Precision::fp32));
  const auto rough = make_learner(setting(GetParam(), info, Precision::bf16));
  const double expected = differentiate(*exact, records);
  const double found = differentiate(*rough, records);
  EXPECT_NE(found, expected);
  EXPECT_NEAR(found, expected, 0.05 * expected);
  EXPECT_GT(cosine(*exact, *rough), 0.8);
  EXPECT_NEAR(rough->evaluate(records).loss, exact->evaluate(records).loss, 0.1 * expected);
}

INSTANTIATE_TEST_SUITE_P(Models, InBf16, ::testing::Values("resnet32"));
INSTANTIATE_TEST_SUITE_P(LongModels, InBf16, ::testing::Values("lenet"));

TEST(LongLearnerPrecision, TrainsInBf16) {
  const auto dataset = images(32);
  const auto records = dataset->records(Dataset::Part::train);
  const auto learner = make_learner(setting("lenet", dataset->info(), Precision::bf16));
  Sgd sgd(0.05, 0.9, 0.0, learner->description().elements());
  const double first = differentiate(*learner, records);
  double loss = first;
  for (int step = 0; step < 60; ++step) {
    loss = differentiate(*learner, records);
    apply_update(sgd, learner->description(), 0, learner->model(), learner->gradient(), 1.0);
  }
  EXPECT_LT(loss, 0.5 * first) << "cached bf16 parameters would not change";
}

TEST(LongLearnerPrecision, EveryKindOfModelHasBf16) {
  for (const char* model : {"mlp", "alexnet", "mobilenet-v1", "mobilenet-v2", "inception-v3"}) {
    const int side = std::string(model) == "inception-v3" ? 75 : 63;
    LearnerSetting wanted = setting(model, {}, Precision::bf16);
    wanted.dataset = {.name = "test", .channels = 1, .height = side, .width = side, .classes = 2};
    std::vector<std::byte> records(2 * static_cast<std::size_t>(wanted.dataset.record_bytes().count()));
    for (std::size_t i = 1; i < records.size(); ++i) records[i] = static_cast<std::byte>(i * 37);
    records[records.size() / 2] = std::byte{1};
    EXPECT_TRUE(std::isfinite(differentiate(*make_learner(wanted), records))) << model;
  }
}

TEST(LearnerPrecision, Tf32IsFp32OnProcessorsAndLearnersAreIndependent) {
  const auto dataset = images(8);
  const auto records = dataset->records(Dataset::Part::train);
  const auto alone = make_learner(setting("lenet", dataset->info(), Precision::fp32));
  const double loss = differentiate(*alone, records);
  const auto rough = make_learner(setting("lenet", dataset->info(), Precision::bf16));
  const auto tf32 = make_learner(setting("lenet", dataset->info(), Precision::tf32));
  LearnerSetting fast = setting("lenet", dataset->info(), Precision::fp32);
  fast.deterministic = false;
  const auto other = make_learner(fast);
  differentiate(*rough, records);
  EXPECT_EQ(differentiate(*tf32, records), loss);
  differentiate(*rough, records);
  EXPECT_EQ(differentiate(*other, records), loss);
  EXPECT_EQ(copy_of(alone->gradient()), copy_of(tf32->gradient()));
  EXPECT_EQ(copy_of(alone->gradient()), copy_of(other->gradient()));
}

TEST(LearnerOnAMissingGpu, ThrowsAWorldError) {
  LearnerSetting wanted = setting("mlp", images(4)->info(), Precision::fp32);
  wanted.gpu = 1000;
  testing::ApartDevice device;
  try {
    make_learner(wanted, device);
    FAIL();
  } catch (const WorldError& error) {
    EXPECT_NE(std::string(error.what()).find("cuda:1000"), std::string::npos) << error.what();
  }
}

struct Complaint {
  const char* words;
  const char* requested_and_free;
};

TEST(OutOfMemory, ReportsTheRequestAndAdvice) {
  LearnerSetting wanted;
  wanted.model = "resnet50";
  const Complaint complaints[] = {
      {"CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.71 GiB already "
       "allocated; 6.56 MiB free; 9.84 GiB reserved in total by PyTorch)\nframe #0: 1 free",
       ", requested 20.00 MiB with 6.56 MiB free"},
      {"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which "
       "1.50 GiB is free. Including non-PyTorch memory, this process has 138 GiB memory in use.",
       ", requested 2.00 GiB with 1.50 GiB free"},
      {"cuda:0: cudaMalloc: out of memory (cudaErrorMemoryAllocation); requested 4096 bytes, 1024 of 8192 "
       "are "
       "free",
       ", requested 4096 bytes with 1024 bytes free"},
      {"[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
       "to "
       "allocate 281474976710656 bytes. Error code 12 (Cannot allocate memory)",
       ", requested 281474976710656 bytes"},
      {"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", ""},
      {"cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", ""},
      {"std::bad_alloc", ""}};
  for (const auto& [words, requested_and_free] : complaints) {
    ASSERT_TRUE(is_no_memory_message(words)) << words;
    EXPECT_EQ(no_memory_message(words, wanted, 256, "cuda:0 (NVIDIA H200)"),
              std::string("'resnet50' with batches of 256 images: cuda:0 (NVIDIA H200) is out of memory") +
                  requested_and_free + "; reduce workload.batch or set workload.precision to bf16");
  }
  wanted.precision = Precision::bf16;
  EXPECT_TRUE(no_memory_message("std::bad_alloc", wanted, 1, "host").ends_with("reduce workload.batch"));
  const char* const ambiguous[] = {
      "GET was unable to find an engine to execute this computation",
      "Unable to find a valid cuDNN algorithm to run convolution",
      "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a "
      "non-contiguous input."};
  for (const char* words : ambiguous) {
    EXPECT_TRUE(may_be_no_memory_message(words)) << words;
    EXPECT_FALSE(is_no_memory_message(words)) << words;
  }
  EXPECT_FALSE(may_be_no_memory_message("mat1 and mat2 shapes cannot be multiplied (4x784 and 800x500)"));
  EXPECT_FALSE(is_no_memory_message("mat1 and mat2 shapes cannot be multiplied (4x784 and 800x500)"));
}

/// Its memory is used up; the error is worded like libtorch's.
class FullDevice final : public testing::ApartDevice {
 public:
  std::byte* allocate(std::size_t) override {
    throw std::runtime_error("CUDA out of memory. Tried to allocate 2.00 GiB.\nframe #0: c10::Error");
  }
};

TEST(OutOfMemory, WhileMakingALearnerIsReportedInOneLine) {
  FullDevice device;
  try {
    make_learner(setting("mlp", images(4)->info(), Precision::fp32), device);
    FAIL() << "allocations on the device fail";
  } catch (const NoMemoryError& error) {
    EXPECT_STREQ(error.what(), "CUDA out of memory. Tried to allocate 2.00 GiB.");
  }
}

TEST(OutOfMemory, IsAWorldErrorOfOneLine) {
  LearnerSetting wanted = setting("mlp", images(4)->info(), Precision::fp32);
  wanted.model = "resnet18";    // its size does not depend on that of the images
  wanted.image_size = 1 << 23;  // exceeds the address space
  EXPECT_THROW(
      {
        try {
          const auto learner = make_learner(wanted);
          learner->load(images(1)->records(Dataset::Part::train));
          learner->forward();
        } catch (const WorldError& error) {
          const std::string message = error.what();
          EXPECT_EQ(message.find('\n'), std::string::npos) << message;
          EXPECT_NE(message.find("'resnet18' with batches of 1 images"), std::string::npos) << message;
          throw;
        }
      },
      WorldError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
