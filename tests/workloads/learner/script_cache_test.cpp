// The cache of TorchScript models' descriptions: found for the same file and settings only, and never trusted
// when damaged.
#include "workloads/learner/script_cache.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {
namespace {

class ScriptCache : public ::testing::Test {
 protected:
  ScriptCache() {
    write(path_, "a module");
    setenv("XDG_CACHE_HOME", folder_.path("user").c_str(), 1);
  }
  ~ScriptCache() override { unsetenv("XDG_CACHE_HOME"); }

  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  LearnerSetting setting(std::int64_t bucket_bytes = 0) const {
    return {.model = path_,
            .dataset = {.name = "made", .channels = 1, .height = 28, .width = 28, .classes = 10},
            .bucket_bytes = Bytes(bucket_bytes)};
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path("net.pt");
  std::string cache_ = path_ + ".description.json";
  ModelDescription model_{
      .name = "net.pt",
      .tensors = {{.name = "weight", .shape = {3, 4}, .offset = 0},
                  {.name = "mean", .shape = {3}, .statistic = true, .offset = 12}},
      .buckets =
          {{.offset = 0, .parameters = 12, .statistics = 3, .forward = Flops(24), .backward = Flops(48)}},
      .activations = ModelDescription::Activations{7, 5}};
};

TEST_F(ScriptCache, GivesBackWhatWasKept) {
  EXPECT_FALSE(cached_description(setting()));
  keep_description(setting(), model_);
  const auto found = cached_description(setting());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, model_.name);
  ASSERT_EQ(found->tensors.size(), 2U);
  EXPECT_EQ(found->tensors[0].shape, model_.tensors[0].shape);
  EXPECT_TRUE(found->tensors[1].statistic);
  EXPECT_EQ(found->tensors[1].offset, 12);
  ASSERT_EQ(found->buckets.size(), 1U);
  EXPECT_EQ(found->buckets[0].exchanged(), 15);
  EXPECT_EQ(found->backward().count(), 48);
  EXPECT_EQ(found->activations->widest, 5);
}

TEST_F(ScriptCache, IsOfOneFileAndSetting) {
  keep_description(setting(), model_);
  EXPECT_FALSE(cached_description(setting(1024))) << "other buckets";
  keep_description(setting(1024), model_);
  EXPECT_TRUE(cached_description(setting())) << "both are kept";
  LearnerSetting colour = setting();
  colour.dataset.channels = 3;
  EXPECT_FALSE(cached_description(colour)) << "other images";
  write(path_, "another module");
  EXPECT_FALSE(cached_description(setting())) << "another file of that name";
}

TEST_F(ScriptCache, IsIgnoredAndReplacedWhenDamaged) {
  keep_description(setting(), model_);
  for (const std::string damaged : {"", "{", "[]", "{\"x\": 1}"}) {
    write(cache_, damaged);
    EXPECT_FALSE(cached_description(setting())) << damaged;
    keep_description(setting(), model_);
    EXPECT_TRUE(cached_description(setting())) << damaged;
  }
  std::ifstream file(cache_);
  std::string text(std::istreambuf_iterator<char>(file), {});
  text.replace(text.find("\"tensors\""), 9, "\"other\"  ");
  write(cache_, text);
  EXPECT_FALSE(cached_description(setting())) << "an entry without its tensors";
}

TEST_F(ScriptCache, IsTheUsersWhereTheModelsFolderCannotBeWritten) {
  std::filesystem::create_directory(cache_);  // a file cannot replace it
  keep_description(setting(), model_);
  EXPECT_TRUE(cached_description(setting()));
  EXPECT_FALSE(std::filesystem::is_empty(folder_.path("user") + "/tandem"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_TRUE(entry.path() == path_ || entry.path() == cache_ || entry.path().filename() == "user")
        << entry.path();
}

TEST_F(ScriptCache, OfAModelThatIsNotThereIsEmpty) {
  std::filesystem::remove(path_);
  EXPECT_FALSE(cached_description(setting()));
}

}  // namespace
}  // namespace tandem::testing
