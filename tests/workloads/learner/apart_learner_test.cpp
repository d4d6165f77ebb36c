// A learner on a device other than the host: bitwise equal results, backward queued one bucket ahead, losses
// fetched on request, loads concurrent with the queue, and every mark released once.
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "tests/support/apart_device.hpp"
#include "tests/workloads/learner/learner_probe.hpp"
#include "workloads/model/optimizer.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ApartDevice;

std::shared_ptr<const Dataset> images(std::int64_t train, const std::string& name = "synthetic") {
  return load_dataset({.name = name, .directory = "", .train_samples = train, .test_samples = 8, .seed = 5});
}

LearnerSetting setting(const std::string& model, const DatasetInfo& info, std::int64_t bucket_bytes) {
  return {.model = model, .dataset = info, .bucket_bytes = Bytes(bucket_bytes)};
}

int buckets_of(const Learner& learner) { return static_cast<int>(learner.description().buckets.size()); }

/// Runs one bucket like a context: the caller of the kernel releases the mark of its end.
void backward(Learner& learner, ApartDevice& device, int bucket) {
  learner.backward(bucket);
  const DeviceMark end = device.kernel_end();
  device.has_reached(end);
  device.forget(end);
}

double step(Learner& learner, ApartDevice& device, std::span<const std::byte> records) {
  learner.load(records);
  const double loss = loss_of_forward(learner);
  for (int bucket = 0; bucket < buckets_of(learner); ++bucket) backward(learner, device, bucket);
  device.finish();
  return loss;
}

/// The part of a flat vector in one bucket.
std::vector<float> part_of(Learner& learner, std::span<const float> flat, int bucket) {
  const auto& extent = learner.description().buckets[static_cast<std::size_t>(bucket)];
  return copy_of(
      flat.subspan(static_cast<std::size_t>(extent.offset), static_cast<std::size_t>(extent.elements())));
}

TEST(LearnerApart, SameBitsAsOnTheHost) {
  const auto dataset = images(4, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  const auto wanted = setting("resnet18", dataset->info(), 1 << 20);
  ApartDevice device;
  {
    const auto here = make_learner(wanted);
    const auto apart = make_learner(wanted, device);
    EXPECT_EQ(copy_of(here->model()), copy_of(apart->model()));
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(differentiate(*here, records), step(*apart, device, records));
      EXPECT_EQ(copy_of(here->gradient()), copy_of(apart->gradient())) << "including statistics";
      for (auto* learner : {here.get(), apart.get()}) {
        Sgd sgd(0.05, 0.0, 0.0, learner->description().elements());
        apply_update(sgd, learner->description(), 0, learner->model(), learner->gradient(), 1.0);
      }
      EXPECT_EQ(copy_of(here->model()), copy_of(apart->model()));
    }
    const auto expected = here->evaluate(records);
    const auto found = apart->evaluate(records);
    EXPECT_EQ(expected.loss, found.loss);
    EXPECT_EQ(expected.accuracy, found.accuracy);
  }
  EXPECT_EQ(device.marks(), 0U);
  EXPECT_EQ(device.memories(), 0U);
  EXPECT_EQ(device.pinned_memories(), 0);
  EXPECT_EQ(device.wrong_forgets, 0);
}

/// Lacks memory in one call of copy, which fetches the loss of a pass when all layers have computed.
class ShortDevice final : public ApartDevice {
 public:
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (lacks && !std::exchange(has_lacked_, true)) throw std::runtime_error(complaint);
    ApartDevice::copy(to, from, bytes);
  }
  void lack(const char* words) {
    complaint = words;
    lacks = true;
    has_lacked_ = false;
  }

  bool lacks = false;
  const char* complaint = "";

 private:
  bool has_lacked_ = false;
};

// Running statistics, random numbers and the number of the step are as if the first attempt had not been.
TEST(LearnerApart, APassThatALibraryHadNoMemoryForIsComputedOnceMore) {
  const auto dataset = images(4, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  for (const char* model : {"resnet18", "lenet"}) {
    const auto wanted = setting(model, dataset->info(), 1 << 20);
    ShortDevice device;
    const auto here = make_learner(wanted);
    const auto apart = make_learner(wanted, device);
    int frees = 0;
    device.on_shortage([&] { ++frees; });
    for (const char* words : {"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                              "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
                              "FIND was unable to find an engine to execute this computation"}) {
      const double loss = differentiate(*here, records);
      device.lack(words);
      EXPECT_EQ(step(*apart, device, records), loss) << model << ": " << words;
      EXPECT_EQ(copy_of(here->gradient()), copy_of(apart->gradient())) << "including statistics";
      EXPECT_EQ(copy_of(here->model()), copy_of(apart->model()));
    }
    EXPECT_EQ(frees, 3);
    device.lack("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED");
    apart->load(records);
    EXPECT_THROW(apart->forward(), std::runtime_error);
    EXPECT_EQ(frees, 3) << "not for other errors";
    device.on_shortage({});
    device.lack("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`");
    EXPECT_THROW(apart->forward(), WorldError) << "nobody keeps memory";
  }
}

TEST(LearnerApart, QueuesTheNextBucketAheadAndComputesEachOnce) {
  const auto dataset = images(8);
  const auto records = dataset->records(Dataset::Part::train);
  const auto here = make_learner(setting("lenet", dataset->info(), 1));
  differentiate(*here, records);
  ApartDevice device;
  const auto apart = make_learner(setting("lenet", dataset->info(), 1), device);
  apart->load(records);
  apart->forward();
  const int buckets = buckets_of(*apart);
  ASSERT_GT(buckets, 2);
  for (int bucket = 0; bucket < buckets; ++bucket) {
    backward(*apart, device, bucket);
    const int last = std::min(bucket + 1, buckets - 1);
    for (int done = 0; done <= last; ++done)
      EXPECT_EQ(part_of(*apart, apart->gradient(), done), part_of(*here, here->gradient(), done))
          << "bucket " << done << " after backward of " << bucket;
    for (int later = last + 1; later < buckets; ++later)
      for (const float value : part_of(*apart, apart->gradient(), later)) ASSERT_EQ(value, 0.0F);
  }
  apart->forward();
  backward(*apart, device, 0);
  const auto& second = apart->description().buckets[1];
  const float mark = 12345.0F;
  apart->gradient()[static_cast<std::size_t>(second.offset)] = mark;
  backward(*apart, device, 1);
  EXPECT_EQ(apart->gradient()[static_cast<std::size_t>(second.offset)], mark) << "computed again";
}

TEST(LearnerApart, ReportsTheEndOfABucketAndNotOfTheNextOne) {
  const auto dataset = images(8);
  ApartDevice device;
  {
    const auto learner = make_learner(setting("lenet", dataset->info(), 1), device);
    learner->load(dataset->records(Dataset::Part::train));
    learner->forward();
    const std::size_t before = device.marks();
    DeviceMark last = 0;
    for (int bucket = 0; bucket < buckets_of(*learner); ++bucket) {
      learner->backward(bucket);
      const bool is_last = bucket + 1 == buckets_of(*learner);
      EXPECT_EQ(device.marks(), before + (is_last ? 1 : 2)) << "its own end, and the next one's";
      const std::size_t marks = device.marks();
      const DeviceMark end = device.kernel_end();
      EXPECT_EQ(device.marks(), marks) << "the mark already exists";
      EXPECT_GT(end, last) << "in the order of buckets";
      last = end;
      device.forget(end);
    }
    EXPECT_EQ(device.marks(), before);
  }
  EXPECT_EQ(device.marks(), 0U);
  EXPECT_EQ(device.wrong_forgets, 0);
}

TEST(LearnerApart, AnAbandonedStepIsCleanedUp) {
  const auto dataset = images(8);
  const auto records = dataset->records(Dataset::Part::train);
  const auto here = make_learner(setting("lenet", dataset->info(), 1));
  const double expected = differentiate(*here, records);
  ApartDevice device;
  {
    const auto apart = make_learner(setting("lenet", dataset->info(), 1), device);
    apart->load(records);
    apart->forward();
    backward(*apart, device, 0);
    EXPECT_EQ(step(*apart, device, records), expected);
    EXPECT_EQ(copy_of(apart->gradient()), copy_of(here->gradient()));
    apart->forward();
    backward(*apart, device, 0);
  }
  EXPECT_EQ(device.marks(), 0U);
  EXPECT_EQ(device.wrong_forgets, 0);
}

TEST(LearnerApart, TheLossIsFetchedOnRequestAndKept) {
  const auto dataset = images(8);
  const auto records = dataset->records(Dataset::Part::train);
  const auto here = make_learner(setting("lenet", dataset->info(), 1));
  const double expected = differentiate(*here, records);
  ApartDevice device;
  const auto apart = make_learner(setting("lenet", dataset->info(), 1), device);
  apart->load(records);
  apart->forward();
  for (int bucket = 0; bucket < buckets_of(*apart); ++bucket) backward(*apart, device, bucket);
  const int finishes = device.finishes;
  EXPECT_EQ(apart->loss(), expected);
  EXPECT_EQ(apart->loss(), expected);
  EXPECT_EQ(device.finishes, finishes) << "waits only for its own mark";
}

TEST(LearnerApart, LoadsAreConcurrentWithTheQueue) {
  const auto dataset = images(48);
  const auto records = dataset->records(Dataset::Part::train);
  const auto third = records.size() / 3;
  const auto here = make_learner(setting("lenet", dataset->info(), 1));
  ApartDevice device;
  const auto apart = make_learner(setting("lenet", dataset->info(), 1), device);
  std::vector<std::byte> buffer;
  for (std::size_t batch = 0; batch < 6; ++batch) {
    const auto part = records.subspan(batch % 3 * third, third);
    // Overwritten after load(), which must have copied it.
    buffer.assign(part.begin(), part.end());
    apart->load(buffer);
    std::ranges::fill(buffer, std::byte{0});
    EXPECT_EQ(loss_of_forward(*apart), differentiate(*here, part)) << "batch " << batch;
    for (int bucket = 0; bucket < buckets_of(*apart); ++bucket) backward(*apart, device, bucket);
    EXPECT_EQ(copy_of(apart->gradient()), copy_of(here->gradient())) << "batch " << batch;
  }
  EXPECT_EQ(device.concurrent_copies, 6);
  EXPECT_EQ(device.pinned_memories(), 3) << "two blocks, and the loss";
}

TEST(LearnerApart, NextBatchMayBeLoadedBeforeBackwardEnds) {
  const auto dataset = images(32);
  const auto records = dataset->records(Dataset::Part::train);
  const auto half = records.size() / 2;
  const auto here = make_learner(setting("lenet", dataset->info(), 1));
  ApartDevice device;
  const auto apart = make_learner(setting("lenet", dataset->info(), 1), device);
  differentiate(*here, records.first(half));
  apart->load(records.first(half));
  apart->forward();
  backward(*apart, device, 0);
  apart->load(records.last(half));
  apart->load(records.first(half));  // replaced before it is used
  apart->load(records.last(half));
  for (int bucket = 1; bucket < buckets_of(*apart); ++bucket) backward(*apart, device, bucket);
  EXPECT_EQ(copy_of(apart->gradient()), copy_of(here->gradient()));
  here->load(records.last(half));
  EXPECT_EQ(loss_of_forward(*apart), loss_of_forward(*here));
  EXPECT_EQ(loss_of_forward(*apart), loss_of_forward(*here)) << "the same batch again";
  // An evaluation uses separate blocks.
  apart->load(records.first(half));
  EXPECT_EQ(apart->evaluate(records).loss, here->evaluate(records).loss);
  here->load(records.first(half));
  EXPECT_EQ(loss_of_forward(*apart), loss_of_forward(*here));
}

/// Two decoders of six-bit pixels and of labels of two bytes.
TEST(LongLearnerApart, PhotographsAreDecodedAsOnTheHost) {
  const auto dataset = images(3, "synthetic-imagenet");
  const auto records = dataset->records(Dataset::Part::train);
  const auto here = make_learner(setting("mlp", dataset->info(), 0));
  ApartDevice device;
  const auto apart = make_learner(setting("mlp", dataset->info(), 0), device);
  EXPECT_EQ(step(*apart, device, records), differentiate(*here, records));
  EXPECT_EQ(copy_of(apart->gradient()), copy_of(here->gradient()));
  EXPECT_EQ(here->description().parameters(), (224 * 224 * 3 + 1) * 200 + 201 * 200 + 201 * 1000);
}

TEST(LearnerApart, ComputesAfterEarlierWorkInTheQueue) {
  const auto dataset = images(8);
  const auto records = dataset->records(Dataset::Part::train);
  const auto here = make_learner(setting("mlp", dataset->info(), 0));
  ApartDevice device;
  const auto apart = make_learner(setting("mlp", dataset->info(), 0), device);
  here->load(records);
  apart->load(records);
  for (float& value : here->model()) value *= 0.5F;
  device.scale(apart->model().data(), std::ssize(apart->model()), 0.5F);
  EXPECT_EQ(loss_of_forward(*apart), loss_of_forward(*here));
}

TEST(LearnerApartDeathTest, LabelsAreChecked) {
  const auto dataset = images(4);
  const auto records = dataset->records(Dataset::Part::train);
  std::vector<std::byte> wrong(records.begin(), records.end());
  wrong[static_cast<std::size_t>(dataset->info().record_bytes().count())] = std::byte{77};
  ApartDevice device;
  const auto learner = make_learner(setting("mlp", dataset->info(), 0), device);
  EXPECT_DEATH(learner->load(wrong), "label 77 classes 10");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
