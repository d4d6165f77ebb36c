// Data sets of images in files: folders and shards train as the data set does that they were made from, in
// both worlds, and bad ones end with exit code 2.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class ImageData : public ::testing::Test {
 protected:
  std::string model(const std::string& directory) const {
    std::ifstream stream(line_.folder() / directory / "model.pt", std::ios::binary);
    std::string text = rest_of(stream);
    EXPECT_GT(text.size(), 1000U) << directory;
    return text;
  }
  std::string succeeds(const std::string& words) const {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return result.output;
  }
  /// The command fails, and its message contains every one of `words`.
  void refuses(const std::string& arguments, const std::vector<std::string>& words) const {
    const CommandResult result = line_.tandem(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    for (const auto& word : words)
      EXPECT_NE(result.output.find(word), std::string::npos) << word << "\n" << result.output;
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
  }
  std::string job(const std::string& settings) const {
    return line_.experiment() + " --set workload.train_samples=200 --set workload.test_samples=50 " +
           settings;
  }
  static constexpr const char* of_shards =
      "--set workload.dataset=shards --set workload.dataset_directory=shards ";
  /// Normalised as the published data set.
  static constexpr const char* of_folder =
      "--set workload.dataset=folder --set workload.dataset_directory=images --set "
      "workload.dataset_options.mean=0.286 --set workload.dataset_options.deviation=0.353 ";
  void make_shards() const {
    succeeds("data pack fashion-mnist shards --train-samples 200 --test-samples 50 --shard-size 1MB");
  }
  void make_folder() const {
    make_shards();
    const auto result = line_.shell(
        "for part in train test; do mkdir -p images/$part; for file in shards/$part-*.tar; do tar xf $file "
        "-C "
        "images/$part; done; done");
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }

  CommandLine line_{"real"};
};
using LongImageData = ImageData;

TEST_F(LongImageData, ShardsTrainLikeTheDataSetThatWasPacked) {
  make_shards();
  succeeds("simulate " + job("--set workload.dataset=fashion-mnist") + " --out records");
  succeeds("simulate " + job(of_shards) + " --out simulated");
  EXPECT_TRUE(model("simulated") == model("records"));
  succeeds("run " + job(of_shards) + " --out measured");
  EXPECT_TRUE(model("measured") == model("records"));
}

TEST_F(LongImageData, FolderTrainsAlikeInBothWorlds) {
  make_folder();
  succeeds("simulate " + job(of_folder) + " --out simulated");
  succeeds("run " + job(of_folder) + " --out measured");
  EXPECT_TRUE(model("measured") == model("simulated"));
  const std::string shown =
      succeeds("simulate " + job(of_folder) + " --set workload.image_size=20 --out scaled");
  EXPECT_NE(shown.find("200 images of folder (20 x 20"), std::string::npos) << shown;
}

TEST_F(LongImageData, AugmentationIsTheSameInBothWorlds) {
  make_shards();
  const std::string changed = "--set data.augment.crop=3 --set data.augment.flip=true --set stop.rounds=15 ";
  succeeds("simulate " + job(of_shards) + " --set stop.rounds=15 --out plain");
  succeeds("simulate " + job(of_shards + changed) + " --out simulated");
  succeeds("run " + job(of_shards + changed) + " --out measured");
  EXPECT_TRUE(model("measured") == model("simulated"));
  EXPECT_FALSE(model("plain") == model("simulated"));
}

/// From the files themselves, in the sizes that they have.
TEST_F(LongImageData, StorageTrainsLikeMemory) {
  make_folder();
  const std::string storage =
      "--set data.source=storage --set placement.cache_nodes=[server] --set data.cache_capacity=20kB ";
  succeeds("simulate " + job(of_shards) + " --out memory");
  for (const char* world : {"simulate", "run"}) {
    const std::string name = world;
    succeeds(name + " " + job(of_shards + storage) + " --out " + name + "_shards");
    EXPECT_TRUE(model(name + "_shards") == model("memory"));
    succeeds(name + " " + job(of_folder + storage) + " --out " + name + "_folder");
  }
  EXPECT_TRUE(model("simulate_folder") == model("run_folder"));
}

TEST_F(LongImageData, ABrokenImageInStorageIsNamedWhenItIsRead) {
  make_folder();
  line_.shell(
      "for file in images/train/*/*; do tail -c +60 $file > t; head -c 59 $file > $file.new; "
      "head -c 20 t >> $file.new; mv $file.new $file; done");
  for (const char* world : {"simulate ", "run "}) {
    const auto result =
        line_.tandem(world + job(of_folder) +
                     " --set data.source=storage --set placement.cache_nodes=[server] --out broken --force");
    EXPECT_EQ(result.exit_code, 2) << result.output;
    for (const char* word : {"sample ", "/images/train/0", "expected a whole PNG image",
                             "data.bad_sample: replace trains on another sample"})
      EXPECT_NE(result.output.find(word), std::string::npos) << word << '\n' << result.output;
  }
}

TEST_F(LongImageData, AResumedJobNeedsTheSameSamples) {
  make_folder();
  succeeds("simulate " + job(of_folder) + " --set evaluate_every=2 --set stop.rounds=4 --out first");
  succeeds("simulate --resume first --set stop.rounds=6 --out second");
  succeeds("run --resume first --set stop.rounds=6 --out third");
  EXPECT_TRUE(model("second") == model("third"));
  line_.shell("cd images/train/00001 && mv $(ls | head -1) new.png");
  for (const char* world : {"simulate", "run"})
    refuses(std::string(world) + " --resume first --set stop.rounds=6 --out out",
            {"--resume ", "found manifest", "expected the same job"});
}

TEST_F(ImageData, ModelledSizesNeedNoFiles) {
  const std::string modelled = "--set workload.dataset=sizes --set workload.model=resnet18 ";
  const std::string shown =
      succeeds("simulate " + job(modelled + "--set workload.math=modelled") + " --out first");
  EXPECT_NE(shown.find("200 images of sizes (224 x 224, colour, 1000 classes)"), std::string::npos) << shown;
  refuses("simulate " + job(modelled) + " --out out", {"'sizes'", "workload.math: modelled"});
  refuses("simulate " + job(modelled + "--set workload.dataset_options.mean=3") + " --out out",
          {"workload.dataset_options", "unknown option 'mean'"});
}

TEST_F(LongImageData, BadInputIsNamed) {
  make_folder();
  refuses("simulate " + job("--set workload.dataset=folder") + " --out out",
          {"'folder'", "workload.dataset_directory"});
  refuses("simulate " + job("--set workload.dataset=folder --set workload.dataset_directory=shards") +
              " --out out",
          {"shards': expected a folder 'train'"});
  refuses("simulate " + job("--set workload.dataset=shards --set workload.dataset_directory=images") +
              " --out out",
          {"images/index.txt", "tandem data pack"});
  refuses("simulate " + job("--set data.augment.turn=3") + " --out out", {"data.augment", "turn"});
  refuses("simulate " + job("--set data.augment.crop=-1") + " --out out", {"data.augment", "crop", "-1"});
  line_.shell("echo x > images/train/00002/a.png");
  for (const char* world : {"simulate ", "run "})
    refuses(world + job(of_folder) + " --set workload.train_samples=0 --out out",
            {"images/train/00002/a.png': expected a JPEG or PNG image"});
  line_.shell("rm images/train/00002/a.png && truncate -s 100000 shards/train-00000.tar");
  refuses("simulate " + job(of_shards) + " --out out",
          {"train-00000.tar': expected", "index.txt", "found 100000"});
}

TEST_F(LongImageData, FoldersThatAreNoDataSetAreNamed) {
  make_folder();
  const auto is_refused = [&](const std::vector<std::string>& words) {
    for (const char* world : {"simulate ", "run "}) refuses(world + job(of_folder) + " --out out", words);
  };
  line_.shell("mv images/train kept && mkdir images/train");
  is_refused(
      {"images/train': expected a folder with at least two folders of images, one per class", "found none"});
  line_.shell("mkdir images/train/00000");
  is_refused({"images/train': expected a folder with at least two folders", "found 1 such folder"});
  line_.shell("mkdir images/train/00001");
  is_refused({"images/train/00000': expected images (.jpg, .jpeg or .png) of one class, found none"});
  line_.shell("rm -r images/train && mv kept images/train && rm -r images/test");
  is_refused({"images': expected a folder 'test' or 'val'"});
}

TEST_F(LongImageData, AFolderWithoutRightsIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  make_folder();
  line_.shell("chmod 000 images/train/00002");
  for (const char* world : {"simulate ", "run "})
    refuses(world + job(of_folder) + " --out out",
            {"images/train/00002': expected images", "Permission denied"});
  line_.shell("chmod 755 images/train/00002");
}

/// The index is of other archives.
TEST_F(LongImageData, AnIndexThatDisagreesWithAnArchiveIsNamed) {
  make_shards();
  const auto is_refused = [&](const std::vector<std::string>& words) {
    for (const char* world : {"simulate ", "run "}) refuses(world + job(of_shards) + " --out out", words);
  };
  // The second line after that of the first archive: its checksum, and then the size of the first sample.
  line_.shell(
      "cp shards/index.txt kept; awk '/^shard train/ {at = NR + 2} NR == at {$3 = \"0000beef\"} 1' kept > "
      "shards/index.txt");
  is_refused({"shards/train-00000.tar, byte ", "expected the checksum 0000beef of its index", "found "});
  line_.shell("awk '/^shard train/ {at = NR + 1} NR == at {--$2} 1' kept > shards/index.txt");
  is_refused({"shards/train-00000.tar': expected a file of ", "as index.txt says", "found one of "});
  line_.shell("cp kept shards/index.txt; rm shards/train-00000.tar");
  is_refused({"shards/train-00000.tar': expected ", "No such file"});
}

/// A rank that finds other samples than those with which the job was prepared.
TEST_F(LongImageData, UnlikeManifestsAreNamed) {
  make_folder();
  const auto result =
      line_.shell("\"$TANDEM\" run " + job(of_folder) +
                  " --print-command --out printed > command && cd images/train/00001 && mv $(ls | "
                  "head -1) new.png && cd - > /dev/null && sh ./command");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  for (const char* word :
       {"data set 'folder': expected the manifest ", ", found ", "this machine has others"})
    EXPECT_NE(result.output.find(word), std::string::npos) << result.output;
}

TEST_F(ImageData, PackRefusesWhatItCannotPack) {
  refuses("data pack nowhere out", {"'nowhere'", "tandem list dataset"});
  refuses("data pack synthetic-imagenet out --train-samples 2 --test-samples 2", {"pixels of 8 bits"});
  refuses("data pack sizes out", {"'sizes'"});
  refuses("data pack synthetic out --shard-size much", {"--shard-size", "64MB", "much"});
  line_.write("mine/file", "x");
  refuses("data pack synthetic mine --train-samples 20 --test-samples 10", {"does not exist yet", "'mine'"});
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
