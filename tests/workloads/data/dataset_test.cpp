// Data sets: the real Fashion-MNIST, valid and broken IDX files generated here, and synthetic images.
#include "workloads/data/dataset.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "policies/vocabulary/check.hpp"
#include "tests/workloads/data/dataset_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Bytes8 = std::vector<std::uint8_t>;

/// An IDX file's bytes: header, then `body`.
Bytes8 idx(std::uint8_t type, const std::vector<std::uint32_t>& extents, const Bytes8& body) {
  Bytes8 bytes = {0, 0, type, static_cast<std::uint8_t>(extents.size())};
  for (const auto extent : extents)
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(extent >> shift & 255U));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

Bytes8 images(std::uint32_t count, std::uint32_t side = 28) {
  Bytes8 body;
  for (std::size_t index = 0; index < std::size_t{count} * side * side; ++index)
    body.push_back(static_cast<std::uint8_t>(index * 7));
  return idx(8, {count, side, side}, body);
}

Bytes8 labels(std::uint32_t count) {
  Bytes8 body;
  for (std::size_t index = 0; index < count; ++index) body.push_back(static_cast<std::uint8_t>(index % 10));
  return idx(8, {count}, body);
}

/// Contains a valid data set.
class IdxDirectory : public testing::DatasetFolder {
 protected:
  void SetUp() override {
    write("train-images-idx3-ubyte.gz", images(30));
    write("train-labels-idx1-ubyte.gz", labels(30));
    write("t10k-images-idx3-ubyte.gz", images(20));
    write("t10k-labels-idx1-ubyte.gz", labels(20));
  }

  void write(const std::string& name, const Bytes8& bytes, bool compressed = true) const {
    gzFile file = gzopen(path(name).c_str(), compressed ? "wb" : "wbT");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    ASSERT_EQ(gzclose(file), Z_OK);
  }
  DatasetSetting setting(std::int64_t train = 0, std::int64_t test = 0) const {
    return setting_of("fashion-mnist", train, test);
  }
};

TEST_F(IdxDirectory, ReadsLabelsAndPixels) {
  const auto dataset = load_dataset(setting());
  EXPECT_EQ(dataset->info().train_samples, 30);
  EXPECT_EQ(dataset->info().test_samples, 20);
  EXPECT_EQ(dataset->info().record_bytes(), Bytes(785));
  const auto record = dataset->record(Dataset::Part::train, 13);
  ASSERT_EQ(record.size(), 785U);
  EXPECT_EQ(std::to_integer<int>(record[0]), 3);
  for (std::size_t pixel = 0; pixel < 784; ++pixel)
    ASSERT_EQ(std::to_integer<std::size_t>(record[1 + pixel]), (13 * 784 + pixel) * 7 % 256);
}

TEST_F(IdxDirectory, ReadsPlainFiles) {
  const auto compressed = load_dataset(setting());
  std::filesystem::remove(path("train-images-idx3-ubyte.gz"));
  write("train-images-idx3-ubyte", images(30), /*compressed=*/false);
  EXPECT_EQ(std::filesystem::file_size(path("train-images-idx3-ubyte")), 16U + 30 * 784);
  EXPECT_TRUE(std::ranges::equal(load_dataset(setting())->records(Dataset::Part::train),
                                 compressed->records(Dataset::Part::train)));
}

TEST_F(IdxDirectory, LimitsSamples) {
  const auto all = load_dataset(setting());
  const auto some = load_dataset(setting(7, 5));
  EXPECT_EQ(some->info().train_samples, 7);
  EXPECT_EQ(some->info().test_samples, 5);
  EXPECT_TRUE(std::ranges::equal(some->records(Dataset::Part::train),
                                 all->records(Dataset::Part::train).first(7 * 785)));
  EXPECT_EQ(describe_dataset(setting(7, 5)).train_samples, 7);
  expect_error({"train-images", "at least the 31 requested samples", "found 30"}, setting(31));
}

TEST_F(IdxDirectory, MissingFileSaysHowToInstall) {
  std::filesystem::remove(path("t10k-labels-idx1-ubyte.gz"));
  expect_error({"t10k-labels-idx1-ubyte", "apt-get install dataset-fashion-mnist", folder_.path().string()},
               setting());
  EXPECT_THROW(describe_dataset(setting()), ConfigError);
}

TEST_F(IdxDirectory, ModelledMathematicsNeedsNoFiles) {
  EXPECT_EQ(describe_modelled_dataset(setting()).train_samples, 30) << "of the files that are there";
  EXPECT_EQ(modelled_train_labels(setting()), load_train_labels(setting()));
  std::filesystem::remove(path("t10k-labels-idx1-ubyte.gz"));
  EXPECT_THROW(describe_modelled_dataset(setting()), ConfigError) << "some files are there";
  const DatasetSetting absent{"fashion-mnist", folder_.path().string() + "/absent", 0, 0, 1};
  EXPECT_EQ(describe_modelled_dataset(absent).train_samples, 60'000);
  EXPECT_EQ(describe_modelled_dataset(absent).test_samples, 10'000);
  EXPECT_EQ(describe_modelled_dataset({"cifar-100", absent.directory, 100, 0, 1}).train_samples, 100);
  EXPECT_EQ(describe_modelled_dataset({"cifar-10", absent.directory, 0, 0, 1}).train_samples, 50'000);
  EXPECT_THROW(describe_modelled_dataset({"mnist", absent.directory, 60'001, 0, 1}), ConfigError);
  EXPECT_THROW(describe_dataset(absent), ConfigError) << "real mathematics needs them";
  const auto labels = modelled_train_labels(absent);
  ASSERT_EQ(labels.size(), 60'000U);
  for (std::uint16_t label = 0; label < 10; ++label)
    EXPECT_NEAR(static_cast<double>(std::ranges::count(labels, label)), 6'000, 400) << label;
}

/// The same file names, with images of digits.
TEST_F(IdxDirectory, MnistIsReadAsFashionMnistIs) {
  const auto fashion = load_dataset(setting());
  const auto digits = load_dataset(setting_of("mnist", 0, 0));
  EXPECT_EQ(digits->info().name, "mnist");
  EXPECT_EQ(digits->info().train_samples, 30);
  EXPECT_EQ(digits->info().test_samples, 20);
  EXPECT_FLOAT_EQ(digits->info().mean, 0.1307F);
  EXPECT_TRUE(
      std::ranges::equal(digits->records(Dataset::Part::train), fashion->records(Dataset::Part::train)));
  std::filesystem::remove(path("train-labels-idx1-ubyte.gz"));
  expect_error({"'mnist'", "'train-labels-idx1-ubyte' or 'train-labels-idx1-ubyte.gz'",
                "in '" + folder_.path().string() + "'", "workload.dataset_directory"},
               setting_of("mnist", 0, 0));
}

TEST_F(IdxDirectory, BadMagicNumber) {
  write("train-images-idx3-ubyte.gz", idx(13, {30, 28, 28}, Bytes8(30 * 784)));
  expect_error({"train-images-idx3-ubyte.gz", "expected magic number 0x00000803", "found 0x00000d03"},
               setting());
  write("train-images-idx3-ubyte.gz", labels(30));
  expect_error({"expected magic number 0x00000803", "found 0x00000801"}, setting());
}

TEST_F(IdxDirectory, TruncatedHeader) {
  write("train-labels-idx1-ubyte.gz", {0, 0, 8, 1, 0});
  expect_error({"train-labels-idx1-ubyte.gz", "header of 8 bytes", "found 5"}, setting());
}

TEST_F(IdxDirectory, TruncatedBody) {
  auto bytes = images(30);
  bytes.erase(bytes.end() - 100, bytes.end());
  write("train-images-idx3-ubyte.gz", bytes);
  expect_error({"train-images-idx3-ubyte.gz", "truncated", "expected 23520 bytes", "found 23420"}, setting());
  EXPECT_EQ(describe_dataset(setting()).train_samples, 30) << "headers only";
}

TEST_F(IdxDirectory, TruncatedCompression) {
  std::filesystem::resize_file(path("train-images-idx3-ubyte.gz"),
                               std::filesystem::file_size(path("train-images-idx3-ubyte.gz")) / 2);
  expect_error({"train-images-idx3-ubyte.gz", "truncated"}, setting());
}

TEST_F(IdxDirectory, CorruptCompression) {
  const auto file = path("train-labels-idx1-ubyte.gz");
  // The last eight bytes of a gzip file are its checksum and length.
  FILE* raw = std::fopen(file.c_str(), "r+b");
  ASSERT_NE(raw, nullptr);
  std::fseek(raw, -8, SEEK_END);
  std::fputs("bad!", raw);
  std::fclose(raw);
  expect_error({"train-labels-idx1-ubyte.gz", "corrupt"}, setting());
}

TEST_F(IdxDirectory, TooLong) {
  auto bytes = labels(30);
  bytes.push_back(1);
  write("train-labels-idx1-ubyte.gz", bytes);
  expect_error({"train-labels-idx1-ubyte.gz", "expected the end after 30 items"}, setting());
}

TEST_F(IdxDirectory, CorruptHeaderDoesNotExhaustMemory) {
  write("train-images-idx3-ubyte.gz", idx(8, {0xfffffff0U, 28, 28}, Bytes8(784)));
  write("train-labels-idx1-ubyte.gz", idx(8, {0xfffffff0U}, Bytes8(3)));
  expect_error({"truncated", "found 3"}, setting());
}

TEST_F(IdxDirectory, CountsDiffer) {
  write("train-labels-idx1-ubyte.gz", labels(29));
  expect_error({"29 labels", "30 images", "train-labels-idx1-ubyte.gz", "train-images-idx3-ubyte.gz"},
               setting());
  EXPECT_THROW(describe_dataset(setting()), ConfigError);
}

TEST_F(IdxDirectory, WrongImageSize) {
  write("t10k-images-idx3-ubyte.gz", images(20, 27));
  expect_error({"t10k-images-idx3-ubyte.gz", "expected images of 28x28", "found 27x27"}, setting());
}

TEST_F(IdxDirectory, LabelOutOfRange) {
  auto bytes = labels(30);
  bytes[8 + 17] = 10;
  write("train-labels-idx1-ubyte.gz", bytes);
  expect_error({"train-labels-idx1-ubyte.gz", "below 10", "found 10 at item 17"}, setting());
}

TEST(FashionMnist, HasThePublishedCounts) {
  const DatasetSetting setting{
      .name = "fashion-mnist", .directory = "", .train_samples = 0, .test_samples = 0, .seed = 0};
  const auto dataset = load_dataset(setting);
  EXPECT_EQ(describe_dataset(setting).train_samples, 60'000);
  EXPECT_EQ(describe_dataset(setting).test_samples, 10'000);
  std::array<int, 10> of_class{};
  for (const auto label : dataset->train_labels()) ++of_class.at(label);
  for (const int count : of_class) EXPECT_EQ(count, 6'000);

  double sum = 0.0;
  double squares = 0.0;
  for (SampleId id = 0; id < 60'000; ++id)
    for (const auto pixel : dataset->record(Dataset::Part::train, id).subspan(1)) {
      const double value = std::to_integer<int>(pixel) / 255.0;
      sum += value;
      squares += value * value;
    }
  const double mean = sum / (60'000.0 * 784);
  EXPECT_NEAR(mean, static_cast<double>(dataset->info().mean), 1e-3);
  EXPECT_NEAR(std::sqrt(squares / (60'000.0 * 784) - mean * mean),
              static_cast<double>(dataset->info().deviation), 1e-3);
}

DatasetSetting synthetic(std::int64_t train, std::uint64_t seed, const std::string& name = "synthetic") {
  return {.name = name, .directory = "", .train_samples = train, .test_samples = 50, .seed = seed};
}

TEST(Synthetic, SameSeedSameBytes) {
  const auto one = load_dataset(synthetic(200, 7));
  const auto again = load_dataset(synthetic(200, 7));
  const auto other = load_dataset(synthetic(200, 8));
  const auto longer = load_dataset(synthetic(300, 7));
  const auto bytes = one->records(Dataset::Part::train);
  EXPECT_TRUE(std::ranges::equal(bytes, again->records(Dataset::Part::train)));
  EXPECT_FALSE(std::ranges::equal(bytes, other->records(Dataset::Part::train)));
  EXPECT_TRUE(std::ranges::equal(bytes, longer->records(Dataset::Part::train).first(bytes.size())));
  EXPECT_FALSE(std::ranges::equal(bytes.first(50 * 785), one->records(Dataset::Part::test)));
}

TEST(Synthetic, HasTheSizesItDescribes) {
  for (const auto* name : {"synthetic", "synthetic-colour"}) {
    const auto info = describe_dataset(synthetic(123, 1, name));
    const auto dataset = load_dataset(synthetic(123, 1, name));
    EXPECT_EQ(info.train_samples, 123);
    EXPECT_EQ(static_cast<std::int64_t>(dataset->records(Dataset::Part::train).size()),
              123 * info.record_bytes().count());
    EXPECT_EQ(static_cast<std::int64_t>(dataset->records(Dataset::Part::test).size()),
              50 * info.record_bytes().count());
    for (const auto label : dataset->train_labels()) EXPECT_LT(label, info.classes);
  }
}

TEST(Synthetic, PixelsAreSpreadAsDescribed) {
  for (const auto* name : {"synthetic", "synthetic-colour"})
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto dataset = load_dataset(synthetic(500, seed, name));
      double sum = 0.0;
      double squares = 0.0;
      double count = 0.0;
      for (SampleId id = 0; id < 500; ++id)
        for (const auto pixel : dataset->record(Dataset::Part::train, id).subspan(1)) {
          const double value = std::to_integer<int>(pixel) / 255.0;
          sum += value;
          squares += value * value;
          count += 1.0;
        }
      const double mean = sum / count;
      EXPECT_NEAR(mean, static_cast<double>(dataset->info().mean), 0.1) << name << " seed " << seed;
      EXPECT_NEAR(std::sqrt(squares / count - mean * mean), static_cast<double>(dataset->info().deviation),
                  0.1)
          << name << " seed " << seed;
    }
}

DatasetSetting imagenet(std::int64_t train, std::int64_t test = 3) {
  return {
      .name = "synthetic-imagenet", .directory = "", .train_samples = train, .test_samples = test, .seed = 4};
}

TEST(SyntheticImagenet, HasTheSizesOfImagenet) {
  const auto info = describe_dataset(imagenet(0, 0));
  EXPECT_EQ(info.train_samples, 1'281'167);
  EXPECT_EQ(info.test_samples, 50'000);
  EXPECT_EQ(info.classes, 1000);
  EXPECT_EQ(info.pixels(), 224 * 224 * 3);
  EXPECT_EQ(info.record_bytes(), Bytes(2 + 224 * 224 * 3 * 6 / 8));
  // The bytes of the training archive, per image.
  EXPECT_NEAR(static_cast<double>(info.record_bytes().count()), 147'897'477'120.0 / 1'281'167, 3000);
}

TEST(SyntheticImagenet, ASmallPartHasLabelsAboveAByteAndPixelsOfSixBits) {
  const auto dataset = load_dataset(imagenet(12));
  const DatasetInfo& info = dataset->info();
  const auto labels = dataset->train_labels();
  EXPECT_EQ(labels, load_train_labels(imagenet(12)));
  EXPECT_GT(*std::ranges::max_element(labels), 256);
  double sum = 0.0;
  std::int64_t count = 0;
  for (SampleId id = 0; id < 12; ++id) {
    EXPECT_EQ(labels[static_cast<std::size_t>(id)], info.label_of(dataset->record(Dataset::Part::train, id)));
    visit_pixels(info, dataset->record(Dataset::Part::train, id), [&](std::uint32_t value) {
      sum += static_cast<double>(value) / 63.0;
      ++count;
    });
  }
  EXPECT_EQ(count, 12 * info.pixels());
  EXPECT_NEAR(sum / static_cast<double>(count), static_cast<double>(info.mean), 0.1);
}

TEST(SyntheticImagenet, AllLabelsAreKnownWithoutItsPixels) {
  const auto labels = load_train_labels(imagenet(0));
  EXPECT_EQ(labels.size(), 1'281'167U);
  EXPECT_EQ(*std::ranges::max_element(labels), 999);
}

TEST(SyntheticImagenet, TheWholeSetIsRefusedWithTheKeysToSet) {
  try {
    load_dataset(imagenet(0));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    for (const char* word :
         {"synthetic-imagenet", "at most 16 GiB", "found 134 GiB", "workload.train_samples"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(Records, PixelsOfSixBitsAreReadLowestFirst) {
  DatasetInfo info{.name = "", .channels = 1, .height = 1, .width = 4, .classes = 300};
  info.pixel_bits = 6;
  // 1, 2, 3 and 63 in three bytes, after the label 258.
  const std::array<std::byte, 5> record = {std::byte{2}, std::byte{1}, std::byte{0x81}, std::byte{0x30},
                                           std::byte{0xfc}};
  EXPECT_EQ(info.record_bytes(), Bytes(5));
  EXPECT_EQ(info.label_of(record), 258);
  std::vector<std::uint32_t> values;
  visit_pixels(info, record, [&](std::uint32_t value) { values.push_back(value); });
  EXPECT_EQ(values, (std::vector<std::uint32_t>{1, 2, 3, 63}));
}

TEST(DatasetCatalog, UnknownNameSuggestsTheNearest) {
  try {
    describe_dataset(synthetic(1, 1, "fashion-minst"));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'fashion-mnist'"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(describe_dataset(synthetic(-1, 1)), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
