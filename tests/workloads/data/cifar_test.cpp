// CIFAR-10 and CIFAR-100 from valid and broken files in the binary version, generated here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/workloads/data/dataset_folder.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// Files in CIFAR's binary version: five of CIFAR-10 for training, one of CIFAR-100.
class CifarDirectory : public testing::DatasetFolder {
 protected:
  static constexpr std::size_t pixels = 3072;

  void SetUp() override {
    for (std::size_t batch = 0; batch < 5; ++batch) write(batch_name(batch), samples(4, 4 * batch, 1));
    write("test_batch.bin", samples(3, 100, 1));
    write("train.bin", samples(8, 0, 2));
    write("test.bin", samples(5, 50, 2));
  }

  static std::string batch_name(std::size_t batch) {
    return "data_batch_" + std::to_string(batch + 1) + ".bin";
  }
  static int pixel(std::size_t sample, std::size_t at) {
    return static_cast<int>((sample * 31 + at * 7) % 256);
  }
  /// `count` samples from number `first`: labels, then pixels. The last label is 3 times the number, modulo
  /// 10.
  static std::string samples(std::size_t count, std::size_t first, std::size_t labels) {
    std::string bytes;
    for (std::size_t sample = first; sample < first + count; ++sample) {
      if (labels == 2) bytes += static_cast<char>(sample % 20);
      bytes += static_cast<char>(sample * 3 % 10);
      for (std::size_t at = 0; at < pixels; ++at) bytes += static_cast<char>(pixel(sample, at));
    }
    return bytes;
  }
  void write(const std::string& name, const std::string& bytes) const { folder_.write(name, bytes); }
  void expect_sample(const Dataset& dataset, Dataset::Part part, SampleId id, std::size_t number) const {
    const auto record = dataset.record(part, id);
    ASSERT_EQ(record.size(), 1 + pixels);
    EXPECT_EQ(std::to_integer<std::size_t>(record[0]), number * 3 % 10) << id;
    for (std::size_t at = 0; at < pixels; ++at)
      ASSERT_EQ(std::to_integer<int>(record[1 + at]), pixel(number, at)) << id << ' ' << at;
  }
  DatasetSetting ten(std::int64_t train = 0, std::int64_t test = 0) const {
    return setting_of("cifar-10", train, test);
  }
  DatasetSetting hundred(std::int64_t train = 0, std::int64_t test = 0) const {
    return setting_of("cifar-100", train, test);
  }
};

TEST_F(CifarDirectory, ReadsTheBatchesOneAfterAnother) {
  const auto dataset = load_dataset(ten());
  EXPECT_EQ(dataset->info().train_samples, 20);
  EXPECT_EQ(dataset->info().test_samples, 3);
  EXPECT_EQ(dataset->info().classes, 10);
  EXPECT_EQ(dataset->info().channels, 3);
  EXPECT_EQ(describe_dataset(ten()).train_samples, 20);
  for (SampleId id = 0; id < 20; ++id)
    expect_sample(*dataset, Dataset::Part::train, id, static_cast<std::size_t>(id));
  for (SampleId id = 0; id < 3; ++id)
    expect_sample(*dataset, Dataset::Part::test, id, 100 + static_cast<std::size_t>(id));
}

TEST_F(CifarDirectory, UsesTheFineLabels) {
  const auto dataset = load_dataset(hundred());
  EXPECT_EQ(dataset->info().train_samples, 8);
  EXPECT_EQ(dataset->info().classes, 100);
  for (SampleId id = 0; id < 8; ++id)
    expect_sample(*dataset, Dataset::Part::train, id, static_cast<std::size_t>(id));
  expect_sample(*dataset, Dataset::Part::test, 4, 54);
}

TEST_F(CifarDirectory, LimitsSamplesAcrossFiles) {
  const auto all = load_dataset(ten());
  const auto some = load_dataset(ten(6, 2));
  EXPECT_EQ(some->info().train_samples, 6);
  EXPECT_EQ(some->info().test_samples, 2);
  EXPECT_TRUE(std::ranges::equal(some->records(Dataset::Part::train),
                                 all->records(Dataset::Part::train).first(6 * (1 + pixels))));
  expect_error({"cifar-10", "at least the 21 requested samples", "found 20"}, ten(21));
  expect_error({"cifar-100", "at least the 6 requested samples", "found 5"}, hundred(0, 6));
}

TEST_F(CifarDirectory, MissingFilesAreNamedWithTheirFolder) {
  std::filesystem::remove(path("data_batch_3.bin"));
  expect_error({"'cifar-10'", "'data_batch_3.bin'", "in '" + folder_.path().string() + "'",
                "cifar-10-binary.tar.gz", "workload.dataset_directory"},
               ten());
  std::filesystem::remove(path("test.bin"));
  expect_error({"'cifar-100'", "'test.bin'", "cifar-100-binary.tar.gz"}, hundred());
  EXPECT_THROW(describe_dataset(hundred()), ConfigError);
  try {
    describe_dataset({"cifar-10", "", 0, 0, 0});
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("in '/usr/share/datasets/cifar-10'"), std::string::npos)
        << error.what();
  }
}

TEST_F(CifarDirectory, RefusesFilesWithIncompleteSamples) {
  auto bytes = samples(4, 4, 1);
  bytes.resize(bytes.size() - 100);
  write("data_batch_2.bin", bytes);
  expect_error({"data_batch_2.bin", "truncated or corrupt", "3073 bytes", "found 12192 bytes"}, ten());
  EXPECT_THROW(describe_dataset(ten()), ConfigError);
  write("data_batch_2.bin", "");
  expect_error({"data_batch_2.bin", "found 0 bytes"}, ten());
  write("train.bin", samples(4, 0, 1));  // CIFAR-10's format
  expect_error({"train.bin", "3074 bytes (2 of labels, 3072 of pixels)"}, hundred());
}

TEST_F(CifarDirectory, RefusesInvalidLabels) {
  auto bytes = samples(4, 0, 1);
  bytes[2 * 3073] = 10;
  write("data_batch_1.bin", bytes);
  expect_error({"data_batch_1.bin", "labels below 10", "found 10 at item 2"}, ten());
  bytes = samples(8, 0, 2);
  bytes[3 * 3074] = 20;
  write("train.bin", bytes);
  expect_error({"train.bin", "labels below 20", "found 20 at item 3"}, hundred());
  bytes = samples(8, 0, 2);
  bytes[3 * 3074 + 1] = 100;
  write("train.bin", bytes);
  expect_error({"train.bin", "labels below 100", "found 100 at item 3"}, hundred());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
