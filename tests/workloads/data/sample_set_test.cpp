// Data sets whose samples are stored one by one: folders, shards, sizes.
#include "workloads/data/sample_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <regex>
#include <sstream>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/data/image_files.hpp"
#include "workloads/data/modelled_sizes.hpp"
#include "workloads/data/pack_shards.hpp"
#include "workloads/data/record_store.hpp"
#include "workloads/data/tar.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class SampleSets : public ::testing::Test {
 protected:
  DatasetSetting setting(const std::string& name, const std::string& directory, std::int64_t train = 0,
                         int image_size = 0) const {
    return {.name = name,
            .directory = directory.empty() ? folder_.path().string() : folder_.path(directory),
            .train_samples = train,
            .test_samples = 0,
            .seed = 1,
            .image_size = image_size};
  }
  static std::string error_of(const DatasetSetting& what) {
    try {
      load_dataset(what);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
  /// Packs the folder of write_image_folder.
  void pack_folder(Bytes shard_size = Bytes(64'000'000)) {
    write_image_folder(folder_);
    pack(*open_sample_set(setting("folder", "")), {.out = folder_.path("out"), .shard_size = shard_size});
  }
  std::string index() const {
    std::ifstream file(folder_.path("out/index.txt"));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  /// Replaces the first match in the index.
  void change_index(const std::string& pattern, const std::string& by) const {
    const std::string changed =
        std::regex_replace(index(), std::regex(pattern), by, std::regex_constants::format_first_only);
    ASSERT_NE(changed, index());
    folder_.write("out/index.txt", changed);
  }

  TemporaryFolder folder_;
};

TEST_F(SampleSets, FolderGoesRoundItsClasses) {
  write_image_folder(folder_);
  const auto set = open_sample_set(setting("folder", ""));
  EXPECT_THAT(set->classes, ElementsAre("ant", "bee"));
  EXPECT_THAT(set->train.manifest->labels, ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(set->test.manifest->labels, ElementsAre(0, 1));
  const auto name = [&](SampleId id) {
    return fs::relative(set->train.source->name(id), folder_.path()).string();
  };
  EXPECT_EQ(name(0), "train/ant/a.png");
  EXPECT_EQ(name(1), "train/bee/x.PNG");
  EXPECT_EQ(name(2), "train/ant/b.png");
  EXPECT_EQ(name(4), "train/ant/c.png");
  EXPECT_EQ(set->info.train_samples, 5);
  EXPECT_EQ(set->info.test_samples, 2);
  EXPECT_EQ(set->info.classes, 2);
  EXPECT_EQ(set->info.channels, 1);
  EXPECT_EQ(set->info.height, 6);
  EXPECT_EQ(set->info.width, 4);
  const auto view = set->train.manifest->view();
  EXPECT_EQ(view.samples, 5);
  EXPECT_EQ(view.size_of(1).count(),
            static_cast<std::int64_t>(fs::file_size(folder_.path("train/bee/x.PNG"))));
  EXPECT_THAT(open_sample_set(setting("folder", "", 3))->train.manifest->labels, ElementsAre(0, 1, 0));
}

TEST_F(SampleSets, FolderIsDecodedToRecords) {
  write_image_folder(folder_);
  const auto dataset = load_dataset(setting("folder", ""));
  const ImageShape shape{1, 6, 4};
  const int variants[] = {0, 2, 1, 3, 4};
  for (SampleId id = 0; id < 5; ++id) {
    const auto record = dataset->record(Dataset::Part::train, id);
    EXPECT_EQ(dataset->info().label_of(record), id % 2);
    EXPECT_THAT(std::vector(record.begin() + 1, record.end()),
                ::testing::ElementsAreArray(pattern(shape, variants[id])));
  }
  EXPECT_EQ(dataset->info().label_of(dataset->record(Dataset::Part::test, 1)), 1);
}

TEST_F(SampleSets, ImageSizeBringsAllImagesToOneSize) {
  write_image_folder(folder_);
  const ImageShape other{3, 9, 8};
  folder_.write("train/ant/d.png", text_of(encode_png(other, pattern(other))));
  EXPECT_THAT(error_of(setting("folder", "")),
              ::testing::AllOf(HasSubstr("ant/d.png"), HasSubstr("expected 6 x 4"), HasSubstr("found 9 x 8"),
                               HasSubstr("workload.image_size")));
  const auto dataset = load_dataset(setting("folder", "", 0, 5));
  EXPECT_EQ(dataset->info().height, 5);
  EXPECT_EQ(dataset->info().record_bytes(), Bytes(1 + 3 * 25)) << "one of the first ones is in colour";
  EXPECT_EQ(dataset->info().train_samples, 6);
}

/// Learners subtract the one and divide by the other (learner_test.cpp, AgainstAutograd).
TEST_F(SampleSets, AFolderHasTheMeanAndDeviationOfItsOptions) {
  write_image_folder(folder_);
  DatasetSetting own = setting("folder", "");
  own.options = Options::resolve("folder", dataset_catalog().find("folder").options,
                                 {{"mean", 0.25}, {"deviation", 0.125}});
  EXPECT_EQ(load_dataset(own)->info().mean, 0.25F);
  EXPECT_EQ(load_dataset(own)->info().deviation, 0.125F);
}

TEST_F(SampleSets, OnlyTestsAreLoadedWhereTrainingSamplesAreReadOneByOne) {
  write_image_folder(folder_);
  DatasetSetting some = setting("folder", "");
  some.loads_training = false;
  const auto dataset = load_dataset(some);
  EXPECT_FALSE(dataset->has_training());
  EXPECT_EQ(dataset->info().train_samples, 5);
  EXPECT_EQ(dataset->records(Dataset::Part::test).size(), 2 * 25U);
}

TEST_F(SampleSets, ManifestsDifferByNameSizeAndClass) {
  write_image_folder(folder_);
  const auto digest = [&] { return open_sample_set(setting("folder", ""))->digest(); };
  const std::string first = digest();
  EXPECT_EQ(digest(), first);
  fs::rename(folder_.path("train/ant/c.png"), folder_.path("train/ant/d.png"));
  const std::string renamed = digest();
  EXPECT_NE(renamed, first);
  fs::rename(folder_.path("train/ant/d.png"), folder_.path("train/ant/c.png"));
  EXPECT_EQ(digest(), first);
  std::ofstream(folder_.path("train/ant/c.png"), std::ios::app) << "x";
  EXPECT_NE(digest(), first);
}

TEST_F(SampleSets, FoldersThatAreNoDataSetAreRefused) {
  EXPECT_THAT(error_of(setting("folder", "nowhere")), HasSubstr("nowhere': expected a folder 'train'"));
  fs::create_directories(folder_.path("train"));
  EXPECT_THAT(error_of(setting("folder", "")),
              HasSubstr("at least two folders of images, one per class, found none"));
  fs::create_directories(folder_.path("train/ant"));
  EXPECT_THAT(error_of(setting("folder", "")), HasSubstr("found 1 such folder"));
  fs::create_directories(folder_.path("train/bee"));
  EXPECT_THAT(error_of(setting("folder", "")),
              HasSubstr("train/ant': expected images (.jpg, .jpeg or .png) of one class, found none"));
  write_image_folder(folder_);
  fs::rename(folder_.path("test"), folder_.path("tests"));
  EXPECT_THAT(error_of(setting("folder", "")), HasSubstr("expected a folder 'test' or 'val'"));
  fs::rename(folder_.path("tests"), folder_.path("val"));
  EXPECT_EQ(error_of(setting("folder", "")), "no error");
  fs::rename(folder_.path("val/bee"), folder_.path("val/wasp"));
  EXPECT_THAT(error_of(setting("folder", "")),
              HasSubstr("val/wasp': expected a class of the training images"));
  fs::rename(folder_.path("val/wasp"), folder_.path("val/bee"));
  EXPECT_THAT(error_of(setting("folder", "", 6)),
              HasSubstr("at least the 6 requested images, found 5 images"));
  folder_.write("train/bee/z.jpg", "no image");
  EXPECT_THAT(error_of(setting("folder", "")), HasSubstr("bee/z.jpg': expected a JPEG or PNG image"));
}

TEST_F(SampleSets, FolderWithoutRightsIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write_image_folder(folder_);
  fs::permissions(folder_.path("train/bee"), fs::perms::none);
  EXPECT_THAT(
      error_of(setting("folder", "")),
      HasSubstr("train/bee': expected images (.jpg, .jpeg or .png) of one class, found Permission denied"));
  fs::permissions(folder_.path("train/bee"), fs::perms::owner_all);
}

TEST_F(SampleSets, ShardsHaveTheImagesOfTheFolder) {
  pack_folder();
  const auto packed = load_dataset(setting("shards", "out"));
  const auto folder = load_dataset(setting("folder", ""));
  for (const auto part : {Dataset::Part::train, Dataset::Part::test})
    EXPECT_TRUE(std::ranges::equal(packed->records(part), folder->records(part)));
  EXPECT_EQ(packed->info().mean, folder->info().mean);
  EXPECT_EQ(packed->info().deviation, folder->info().deviation);
  EXPECT_THAT(open_sample_set(setting("shards", "out"))->classes, ElementsAre("ant", "bee"));
  EXPECT_EQ(load_dataset(setting("shards", "out", 2))->info().train_samples, 2);
  // Any tar program reads them.
  EXPECT_EQ(std::system(("cd '" + folder_.path("out") +
                         "' && tar xf train-00000.tar && cmp 00001/000000001.png ../train/bee/x.PNG")
                            .c_str()),
            0);
}

TEST_F(SampleSets, ANewShardBeginsBeforeTheLastOneIsTooLarge) {
  pack_folder(Bytes(2048));
  std::int64_t shards = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path("out")))
    if (entry.path().extension() == ".tar") {
      ++shards;
      EXPECT_LE(entry.file_size(), 2048U + 1024U) << "and the two blocks that end it";
    }
  EXPECT_EQ(shards, 4) << "3 of training, 1 of tests";
  EXPECT_EQ(error_of(setting("shards", "out")), "no error");
}

TEST_F(SampleSets, RecordsBecomePngWithTheSamePixels) {
  const DatasetSetting colours{"synthetic-colour", "", 20, 10, 3};
  const auto dataset = load_dataset(colours);
  const PackResult result = pack(*dataset, {.out = folder_.path("out")});
  EXPECT_EQ(result.samples, 30);
  EXPECT_EQ(result.shards, 2);
  const auto packed = load_dataset(setting("shards", "out"));
  for (const auto part : {Dataset::Part::train, Dataset::Part::test})
    EXPECT_TRUE(std::ranges::equal(packed->records(part), dataset->records(part)));
  EXPECT_EQ(packed->info().mean, dataset->info().mean);
  EXPECT_EQ(packed->info().classes, 10);
}

TEST_F(SampleSets, PackingLeavesNothingBehindWhenItFails) {
  write_image_folder(folder_);
  const std::string whole = text_of(encode_png({1, 6, 4}, pattern({1, 6, 4})));
  folder_.write("train/bee/z.png", whole.substr(0, whole.size() - 20));
  const auto set = open_sample_set(setting("folder", ""));
  EXPECT_THROW(pack(*set, {.out = folder_.path("out")}), ConfigError);
  const DatasetSetting few{"synthetic", "", 20, 10, 3};
  const auto stop = [](double share) {
    if (share > 0.5) throw WorldError("stopped");
  };
  EXPECT_THROW(pack(*load_dataset(few), {.out = folder_.path("out"), .progress = stop}), WorldError);
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), ::testing::AnyOf("train", "test"));
  folder_.write("out/mine", "");
  EXPECT_THROW(pack(*load_dataset(few), {.out = folder_.path("out")}), ConfigError);
  EXPECT_TRUE(fs::exists(folder_.path("out/mine")));
}

TEST_F(SampleSets, IndexAndArchivesThatDisagreeAreRefused) {
  pack_folder();
  const std::string good = index();
  const auto expect = [&](const std::string& pattern, const std::string& by, const std::string& message) {
    change_index(pattern, by);
    EXPECT_THAT(error_of(setting("shards", "out")), HasSubstr(message)) << pattern;
    folder_.write("out/index.txt", good);
  };
  expect("tandem-shards 1", "tandem-shards 2", "index.txt:1: expected 'tandem-shards 1'");
  expect("end 7", "end 8", "expected the number of its samples, 7, found 'end 8'");
  expect("end 7\n", "", "a whole index, found nothing");
  expect("\n512 ", "\n513 ", "index.txt:7: expected a sample at a multiple of 512 bytes");
  expect("\n512 ", "\n51200000 ", "ends within the");
  expect("\n512 [0-9]+", "\n512 11",
         "train-00000.tar': expected a file of 11 bytes at byte 512, as index.txt says, found one of");
  expect("\n512 ", "\n1024 ", "index.txt:8: expected a sample");
  expect("([0-9a-f]{8}) 1\n", "$1 2\n", "expected a class below 2");
  expect("train-00000.tar [0-9]+", "train-00000.tar 8192",
         "train-00000.tar': expected 8192 bytes, as index.txt says, found");
  expect("train-00000.tar", "train-00007.tar", "train-00007.tar': expected");
  expect("shard train", "shard trial", "a shard of 'train' or 'test'");
  expect("deviation [0-9.]+", "deviation 0", "a positive number");
  expect("\n512 ([0-9]+) [0-9a-f]+ ", "\n512 $1 00000000 ",
         "train-00000.tar, byte 512': expected the checksum 00000000");
  fs::remove(folder_.path("out/test-00000.tar"));
  EXPECT_THAT(error_of(setting("shards", "out")), HasSubstr("test-00000.tar': expected"));
  EXPECT_THAT(error_of(setting("shards", "nowhere")),
              HasSubstr("nowhere/index.txt', which `tandem data pack` writes"));
}

TEST_F(SampleSets, ASampleThatChangedInAnArchiveIsNeverUsed) {
  pack_folder();
  std::fstream archive(folder_.path("out/train-00000.tar"), std::ios::in | std::ios::out | std::ios::binary);
  archive.seekp(512 + 40);
  archive.put('x');
  archive.close();
  EXPECT_THAT(error_of(setting("shards", "out")),
              HasSubstr("train-00000.tar, byte 512': expected the checksum"));
}

TEST_F(SampleSets, ChangedFilesOfAFolderEndWithAnError) {
  write_image_folder(folder_);
  const auto set = open_sample_set(setting("folder", ""));
  std::vector<std::byte> bytes(static_cast<std::size_t>(set->train.source->size(0).count()));
  set->train.source->read(0, bytes);
  EXPECT_EQ(image_shape(bytes, ""), (ImageShape{1, 6, 4}));
  std::ofstream(folder_.path("train/ant/a.png"), std::ios::app) << "x";
  EXPECT_THROW(set->train.source->read(0, bytes), WorldError);
  fs::remove(folder_.path("train/ant/a.png"));
  EXPECT_THROW(set->train.source->read(0, bytes), WorldError);
}

/// While a job is prepared, a file that cannot be read is bad input. Root may read every file, so the file is
/// removed.
TEST_F(SampleSets, AnImageThatCannotBeReadIsAnErrorOfTheInput) {
  write_image_folder(folder_);
  const DatasetSetting images = setting("folder", "");
  const auto set = open_sample_set(images);
  fs::remove(folder_.path("train/ant/c.png"));
  const auto names_the_file = ::testing::ThrowsMessage<ConfigError>(HasSubstr("train/ant/c.png'"));
  EXPECT_THAT([&] { load_dataset(images, set.get()); }, names_the_file);
  EXPECT_THAT([&] { pack(*set, {.out = folder_.path("out")}); }, names_the_file);
  SampleSet again = *set;
  EXPECT_THAT([&] { describe_images(images, again); }, names_the_file);
}

TEST_F(SampleSets, AnArchiveWithoutRightsIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  pack_folder();
  fs::permissions(folder_.path("out/train-00000.tar"), fs::perms::none);
  EXPECT_THAT(error_of(setting("shards", "out")), HasSubstr("train-00000.tar'"));
  fs::permissions(folder_.path("out/train-00000.tar"), fs::perms::owner_all);
}

TEST_F(SampleSets, RecordStoreIsASourceToo) {
  const auto dataset = load_dataset({"synthetic", "", 20, 10, 3});
  const RecordStore store(folder_.path("records"), *dataset);
  const SampleSource& source = store;
  EXPECT_EQ(source.size(3), dataset->info().record_bytes());
  std::vector<std::byte> record(785);
  source.read(7, record);
  EXPECT_TRUE(std::ranges::equal(record, dataset->record(Dataset::Part::train, 7)));
}

TEST(TarHeader, IsRecognisedByItsChecksum) {
  tar::Block block = tar::header_of("00001/000000007.png", Bytes(12345));
  EXPECT_EQ(tar::size_in(block), Bytes(12345));
  block[130] ^= std::byte{1};
  EXPECT_EQ(tar::size_in(block), std::nullopt);
  EXPECT_EQ(tar::size_in(tar::Block{}), std::nullopt);
}

// ---- sizes ----

DatasetSetting sizes(std::int64_t train, const std::map<std::string, OptionValue>& options) {
  return {.name = "sizes",
          .directory = "",
          .train_samples = train,
          .test_samples = 0,
          .seed = 5,
          .options = Options::resolve("sizes", modelled_sizes_options(), options)};
}

std::pair<double, double> mean_and_deviation(const DatasetSetting& setting) {
  const auto set = open_sample_set(setting);
  double sum = 0, squares = 0;
  for (const Bytes size : set->train.manifest->sizes) {
    const auto value = static_cast<double>(size.count());
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(set->info.train_samples);
  return {sum / count, std::sqrt(squares / count - sum / count * sum / count)};
}

TEST(ModelledSizes, AreThoseOfImageNetByDefault) {
  const auto set = open_sample_set(sizes(0, {}));
  EXPECT_EQ(set->info.train_samples, 1'281'167);
  EXPECT_EQ(set->info.test_samples, 50'000);
  EXPECT_EQ(set->info.classes, 1000);
  EXPECT_EQ(set->info.height, 224);
  const auto [mean, deviation] = mean_and_deviation(sizes(0, {}));
  EXPECT_NEAR(mean, 114'620, 300);
  EXPECT_NEAR(deviation, 100'000, 1500);
}

TEST(ModelledSizes, HaveTheDistributionThatIsAskedFor) {
  for (const char* name : {"lognormal", "uniform"}) {
    const auto [mean, deviation] = mean_and_deviation(sizes(
        200'000, {{"distribution", std::string(name)}, {"mean_bytes", 5000.0}, {"deviation_bytes", 1000.0}}));
    EXPECT_NEAR(mean, 5000, 20) << name;
    EXPECT_NEAR(deviation, 1000, 20) << name;
  }
  const auto fixed =
      open_sample_set(sizes(10, {{"distribution", std::string("fixed")}, {"mean_bytes", 300.0}}));
  EXPECT_THAT(fixed->train.manifest->sizes, ::testing::Each(Bytes(300)));
  EXPECT_THROW(
      open_sample_set(sizes(
          1, {{"distribution", std::string("uniform")}, {"mean_bytes", 100.0}, {"deviation_bytes", 60.0}})),
      ConfigError);
}

TEST(ModelledSizes, DoNotDependOnTheNumberOfSamples) {
  const auto few = open_sample_set(sizes(10, {}));
  const auto many = open_sample_set(sizes(1000, {}));
  for (std::size_t id = 0; id < 10; ++id) {
    EXPECT_EQ(few->train.manifest->sizes[id], many->train.manifest->sizes[id]);
    EXPECT_EQ(few->train.manifest->labels[id], many->train.manifest->labels[id]);
  }
}

TEST(ModelledSizes, ComeFromAFile) {
  const TemporaryFolder folder;
  const auto from = [&](std::int64_t count, const std::string& text) {
    return open_sample_set(
        sizes(count, {{"distribution", std::string("file")}, {"file", folder.write("s.txt", text)}}));
  };
  EXPECT_THAT(from(0, "10\n20\n30\n")->train.manifest->sizes, ElementsAre(Bytes(10), Bytes(20), Bytes(30)));
  EXPECT_THAT(from(2, "10\n20\n30\n")->train.manifest->sizes, ElementsAre(Bytes(10), Bytes(20)));
  const auto error = [&](std::int64_t count, const std::string& text) {
    try {
      from(count, text);
    } catch (const ConfigError& found) {
      return std::string(found.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error(0, "10\nx\n"), HasSubstr("s.txt:2: expected the size of a sample in bytes, found 'x'"));
  EXPECT_THAT(error(3, "10\n20\n"), HasSubstr("at least 3 samples, a line each, found 2"));
  EXPECT_THAT(error(0, ""), HasSubstr("found 0"));
}

TEST(ModelledSizes, HaveNoContent) {
  EXPECT_THROW(load_dataset(sizes(10, {})), ConfigError);
  EXPECT_EQ(describe_modelled_dataset(sizes(10, {})).train_samples, 10);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
