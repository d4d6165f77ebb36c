// SVHN from valid and broken MATLAB files, written here byte by byte (MAT-File Format, version 5, MathWorks).
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>

#include "tests/workloads/data/dataset_folder.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::string words(const std::vector<std::int32_t>& numbers) {
  std::string bytes(numbers.size() * sizeof(std::int32_t), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// Type, length and content, filled up to eight bytes.
std::string element(std::int32_t type, const std::string& content) {
  std::string bytes = words({type, static_cast<std::int32_t>(content.size())}) + content;
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes;
}

constexpr std::int32_t of_doubles = 6, of_bytes = 9, of_words = 13;  // classes of arrays

/// An array whose numbers are stored as bytes.
std::string array(const std::string& name, std::int32_t kind, const std::vector<std::int32_t>& extents,
                  const std::string& content) {
  return element(
      14, element(6, words({kind, 0})) + element(5, words(extents)) + element(1, name) + element(2, content));
}

/// As MATLAB writes it.
std::string packed(const std::string& plain) {
  std::string bytes(compressBound(plain.size()), '\0');
  uLongf size = bytes.size();
  compress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(plain.data()),
           plain.size());
  bytes.resize(size);
  return words({15, static_cast<std::int32_t>(size)}) + bytes;
}

std::string file_of(const std::vector<std::string>& elements) {
  std::string bytes = "MATLAB 5.0 MAT-file";
  bytes.resize(116, ' ');
  bytes += std::string(8, '\0') + '\0' + '\1' + "IM";
  for (const std::string& each : elements) bytes += each;
  return bytes;
}

class SvhnDirectory : public testing::DatasetFolder {
 protected:
  void SetUp() override {
    folder_.write("train_32x32.mat", file_of({packed(images(5, 0)), packed(digits(5, 0))}));
    folder_.write("test_32x32.mat", file_of({images(3, 5), digits(3, 5)}));
  }

  static int pixel(std::size_t sample, std::size_t channel, std::size_t row, std::size_t column) {
    return static_cast<int>((sample * 31 + channel * 101 + row * 7 + column) % 256);
  }
  /// Rows change fastest, then columns, channels and images.
  static std::string images(std::size_t count, std::size_t first, std::int32_t side = 32,
                            std::int32_t kind = of_bytes) {
    std::string content;
    for (std::size_t sample = first; sample < first + count; ++sample)
      for (std::size_t channel = 0; channel < 3; ++channel)
        for (std::size_t column = 0; column < static_cast<std::size_t>(side); ++column)
          for (std::size_t row = 0; row < static_cast<std::size_t>(side); ++row)
            content += static_cast<char>(pixel(sample, channel, row, column));
    return array("X", kind, {side, side, 3, static_cast<std::int32_t>(count)}, content);
  }
  /// 1 to 10, of which 10 means 0.
  static std::string digits(std::size_t count, std::size_t first, std::int32_t kind = of_doubles) {
    std::string content;
    for (std::size_t sample = first; sample < first + count; ++sample)
      content += static_cast<char>(10 - sample);
    return array("y", kind, {static_cast<std::int32_t>(count), 1}, content);
  }
  DatasetSetting svhn(std::int64_t train = 0, std::int64_t test = 0) const {
    return setting_of("svhn", train, test);
  }
  void expect_sample(const Dataset& dataset, Dataset::Part part, SampleId id, std::size_t number) const {
    const auto record = dataset.record(part, id);
    ASSERT_EQ(record.size(), 1U + 3072U);
    EXPECT_EQ(std::to_integer<std::size_t>(record[0]), (10 - number) % 10);
    for (std::size_t at = 0; at < 3072; ++at)
      ASSERT_EQ(std::to_integer<int>(record[1 + at]), pixel(number, at / 1024, at / 32 % 32, at % 32)) << at;
  }
};

TEST_F(SvhnDirectory, ReadsImagesByRowsAndTenAsZero) {
  const auto dataset = load_dataset(svhn());
  EXPECT_EQ(dataset->info().train_samples, 5);
  EXPECT_EQ(dataset->info().test_samples, 3);
  EXPECT_EQ(describe_dataset(svhn()).train_samples, 5);
  for (SampleId id = 0; id < 5; ++id)
    expect_sample(*dataset, Dataset::Part::train, id, static_cast<std::size_t>(id));
  for (SampleId id = 0; id < 3; ++id)
    expect_sample(*dataset, Dataset::Part::test, id, 5 + static_cast<std::size_t>(id));
}

TEST_F(SvhnDirectory, TakesTheFirstSamples) {
  const auto dataset = load_dataset(svhn(2, 1));
  EXPECT_EQ(dataset->info().train_samples, 2);
  expect_sample(*dataset, Dataset::Part::train, 1, 1);
  expect_error({"'svhn'", "at least the 6 requested samples", "found 5"}, svhn(6));
}

TEST_F(SvhnDirectory, RefusesOtherFilesByName) {
  std::string cut = file_of({packed(images(5, 0)), packed(digits(5, 0))});
  cut.resize(cut.size() / 2);
  for (const auto& [content, part] : std::vector<std::pair<std::string, std::string>>{
           {"no matrices", "expected a MATLAB file"},
           {std::string(4096, '\0'), "expected"},
           {cut, "expected"},
           {file_of({packed(digits(5, 0))}), "expected an array 'X', found none"},
           {file_of({images(5, 0)}), "expected an array 'y', found none"},
           {file_of({images(5, 0, 16), digits(5, 0)}), "expected images X of 32 x 32 x 3 x n, found 16 x 16"},
           {file_of({images(5, 0, 32, of_words), digits(5, 0)}), "expected an array 'X' of bytes"},
           {file_of({images(5, 0), digits(5, 0, of_words)}), "expected an array 'y' of whole numbers"},
           {file_of({images(5, 0), digits(4, 0)}), "expected as many digits y as images X, found 4 and 5"},
           {file_of({images(5, 0), digits(5, 10)}), "expected digits y from 1 to 10, found 0 at item 0"}}) {
    folder_.write("train_32x32.mat", content);
    expect_error({"train_32x32.mat", part}, svhn());
  }
  std::filesystem::remove(path("train_32x32.mat"));
  expect_error({"'svhn'", "'train_32x32.mat'", "workload.dataset_directory"}, svhn());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
