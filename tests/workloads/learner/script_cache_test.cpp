// The cache of TorchScript models' descriptions: found for the same file and settings only, and never trusted
// when damaged.
#include "workloads/learner/script_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

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
  static std::optional<ModelDescription> cached(const LearnerSetting& setting) {
    return cached_description(setting, description_key(setting));
  }
  void keep(const LearnerSetting& setting) const {
    keep_description(setting, description_key(setting), model_);
  }
  nlohmann::json entries() const {
    std::ifstream file(cache_);
    return nlohmann::json::parse(file);
  }
  /// Changes the only entry.
  void change(const std::function<void(nlohmann::json&)>& make) const {
    nlohmann::json all = entries();
    ASSERT_EQ(all.size(), 1U);
    make(all.begin().value());
    write(cache_, all.dump());
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
  EXPECT_FALSE(cached(setting()));
  keep(setting());
  const auto found = cached(setting());
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
  keep(setting());
  EXPECT_FALSE(cached(setting(1024))) << "other buckets";
  keep(setting(1024));
  EXPECT_TRUE(cached(setting())) << "both are kept";
  LearnerSetting colour = setting();
  colour.dataset.channels = 3;
  EXPECT_FALSE(cached(colour)) << "other images";
  write(path_, "another module");
  EXPECT_FALSE(cached(setting())) << "another file of that name";
}

TEST_F(ScriptCache, IsIgnoredAndReplacedWhenDamaged) {
  keep(setting());
  for (const std::string damaged : {"", "{", "[]", "{\"x\": 1}"}) {
    write(cache_, damaged);
    EXPECT_FALSE(cached(setting())) << damaged;
    keep(setting());
    EXPECT_TRUE(cached(setting())) << damaged;
  }
  const std::vector<std::function<void(nlohmann::json&)>> damages = {
      [](auto& entry) { entry.erase("tensors"); },
      [](auto& entry) { entry = 7; },
      [](auto& entry) { entry["buckets"][0]["forward"] = nullptr; },
      [](auto& entry) { entry["buckets"][0]["parameters"] = 13; },
      [](auto& entry) { entry["buckets"][0]["offset"] = 1; },
      [](auto& entry) { entry["tensors"][1]["offset"] = 13; },
      [](auto& entry) {
        entry["tensors"][0]["shape"] = {3, -4};
      },
      [](auto& entry) { entry["buckets"] = nlohmann::json::array(); }};
  for (std::size_t i = 0; i < damages.size(); ++i) {
    std::filesystem::remove(cache_);
    keep(setting());
    ASSERT_TRUE(cached(setting()));
    change(damages[i]);
    EXPECT_FALSE(cached(setting())) << i;
  }
}

TEST_F(ScriptCache, IsOfTheLibtorchThatFoundIt) {
  keep(setting());
  const std::string own = entries().begin().value().at("libtorch");
  change([](auto& entry) { entry["libtorch"] = "0.1"; });
  EXPECT_EQ(cached(setting()).has_value(), own.empty()) << "without libtorch, that of any";
}

/// Somebody saves another model while libtorch traces this one.
TEST_F(ScriptCache, KeepsNothingOfAFileThatWasReplacedMeanwhile) {
  const std::string before = description_key(setting());
  write(path_, "another module");
  keep_description(setting(), before, model_);
  EXPECT_FALSE(std::filesystem::exists(cache_));
  EXPECT_FALSE(cached(setting()));
}

TEST_F(ScriptCache, MovesWithTheModel) {
  keep(setting());
  std::filesystem::create_directory(folder_.path("elsewhere"));
  LearnerSetting moved = setting();
  moved.model = folder_.path("elsewhere/net.pt");
  std::filesystem::copy(path_, moved.model);
  std::filesystem::copy(cache_, moved.model + ".description.json");
  EXPECT_TRUE(cached(moved));
  LearnerSetting renamed = setting();
  renamed.model = folder_.path("other.pt");
  std::filesystem::copy(path_, renamed.model);
  std::filesystem::copy(cache_, renamed.model + ".description.json");
  EXPECT_FALSE(cached(renamed)) << "descriptions have the file's name";
}

/// Each reads a whole cache at any time, and no temporary file remains.
TEST_F(ScriptCache, MayBeWrittenByManyAtOnce) {
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 4; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      bool whole = true;
      for (int i = 0; i < 50; ++i) {
        keep(setting(4 * (writer + 1)));
        if (std::filesystem::exists(cache_)) {
          std::ifstream file(cache_);
          whole = whole && nlohmann::json::parse(file, nullptr, false).is_object();
        }
      }
      _exit(whole ? 0 : 1);
    }
    writers.push_back(child);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  EXPECT_FALSE(entries().empty());
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_TRUE(entry.path() == path_ || entry.path() == cache_) << entry.path();
}

TEST_F(ScriptCache, KeepsNothingWhoseNameIsNotUtf8) {
  model_.name = "net\xff.pt";
  keep(setting());
  EXPECT_FALSE(cached(setting()));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path(), path_);
}

TEST_F(ScriptCache, HasALimitedNumberOfSettings) {
  for (int i = 1; i <= 40; ++i) {
    keep(setting(4 * i));
    EXPECT_TRUE(cached(setting(4 * i)));
    EXPECT_LE(entries().size(), 32U);
  }
}

TEST_F(ScriptCache, IsTheUsersWhereTheModelsFolderCannotBeWritten) {
  std::filesystem::create_directory(cache_);  // a file cannot replace it
  keep(setting());
  EXPECT_TRUE(cached(setting()));
  EXPECT_FALSE(std::filesystem::is_empty(folder_.path("user") + "/tandem"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_TRUE(entry.path() == path_ || entry.path() == cache_ || entry.path().filename() == "user")
        << entry.path();
}

TEST_F(ScriptCache, OfAModelThatIsNotThereIsEmpty) {
  std::filesystem::remove(path_);
  EXPECT_EQ(description_key(setting()), "");
  EXPECT_FALSE(cached(setting()));
  keep(setting());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
