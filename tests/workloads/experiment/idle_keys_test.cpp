// Keys that act in some jobs alone: each row is met by its example, and one warning names the keys that a
// user has set in vain.
#include "workloads/job/check/idle_keys.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/support/paths.hpp"
#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class IdleKeys : public ExperimentFile {
 protected:
  static constexpr const char* four_workers =
      "platform: lab.xml\nstop: {rounds: 10}\nplacement: {workers: [n1, n2, n3, n4], servers: [server]}\n";

  static std::string warning_of(const LocatedExperiment& located) {
    return warning_of_idle_keys({located.experiment, ResolvedExperiment(located.experiment)}, located.locate);
  }
  /// Without the folder's name.
  std::string warning(const std::string& text, const Overrides& overrides = {},
                      const std::string& variant = "") {
    std::string found = warning_of(load_located(folder_.write("lab.yaml", text), overrides, variant));
    const std::string folder = folder_.path("");
    for (auto at = found.find(folder); at != std::string::npos; at = found.find(folder))
      found.erase(at, folder.size());
    return found;
  }
};

TEST_F(IdleKeys, ActWithTheExampleOfTheirRowAndNotWithoutIt) {
  std::set<std::string> known;
  for (const ConditionalKeys& row : conditional_keys()) {
    for (const std::string& key : row.keys) {
      EXPECT_TRUE(known.insert(key).second) << key << " has two conditions";
      const ExperimentKey* found = find_experiment_key(key);
      ASSERT_NE(found, nullptr) << key;
      EXPECT_EQ(found->path, key);
    }
    Overrides settings;
    std::istringstream words(row.example);
    for (std::string word; words >> word;) settings.push_back(parse_override(word));
    const Experiment with = load(four_workers, settings);
    EXPECT_TRUE(row.act({with, ResolvedExperiment(with)})) << row.example;
    // That of image_size acts in an ordinary job.
    const Experiment without = load(four_workers, {{"workload.model", "synthetic"}});
    const bool is_on_warning = row.keys.front() == "checkpoint.policy";
    EXPECT_EQ(row.act({without, ResolvedExperiment(without)}), is_on_warning) << row.needs;
  }
}

TEST_F(IdleKeys, AreNamedInOneWarningWithTheirPlaces) {
  const std::string file =
      std::string(four_workers) + "data: {cache: minio}\ncheckpoint: {mode: background}\n";
  EXPECT_EQ(
      warning(file, {{"data.disk_capacity", "1MB"}}),
      "no effect in this job: data.cache (lab.yaml:4), data.disk_capacity (--set) act with data.source: "
      "storage; checkpoint.mode (lab.yaml:5) acts with checkpoint.policy");
}

TEST_F(IdleKeys, ThatActInAnotherVariantAreNoMistake) {
  const std::string file = std::string(four_workers) +
                           "data: {cache_capacity: 1MB}\nrecovery: {least: 2}\nvariants:\n  memory: {}\n"
                           "  idle: {checkpoint.mode: background}\n"
                           "  stored: {data.source: storage, placement.cache_nodes: [server]}\n";
  const std::string least =
      "recovery.least (lab.yaml:5: variant 'memory') acts with transience.lifetime other than never, or "
      "recovery.mode: restart";
  EXPECT_EQ(warning(file, {}, "memory"), "no effect in this job: " + least);
  EXPECT_EQ(warning(file, {{"stop.rounds", "5"}}, "memory"), "no effect in this job: " + least);
  EXPECT_THAT(warning(file, {}, "idle"), ::testing::HasSubstr("checkpoint.mode (lab.yaml:8) acts with"));
  EXPECT_THAT(warning(file, {{"data.prefetch", "2"}, {"run.slowdown_factor", "2"}}, "stored"),
              ::testing::HasSubstr(
                  "run.slowdown_factor (--set: variant 'stored') acts with run.slowdown_probability over 0"));
}

TEST_F(IdleKeys, DefaultsAndKeysOfAPresetAreNoMistake) {
  EXPECT_EQ(warning(four_workers, {{"data.cache", "lru"}, {"checkpoint.keep", "2"}}), "");
  EXPECT_EQ(warning(four_workers, {{"sync.preset", "ddp"}, {"sync.over", "server"}}), "");
}

TEST_F(IdleKeys, NoShippedExperimentHasSome) {
  namespace fs = std::filesystem;
  int count = 0;
  for (const char* folder : {"experiments", "studies"})
    for (const auto& entry : fs::directory_iterator(source_folder() + "/workloads/" + folder)) {
      const std::string name = entry.path().filename();
      if (!name.ends_with(folder == std::string("studies") ? "_job.yaml" : ".yaml")) continue;
      ++count;
      const LocatedExperiment located = load_located(entry.path(), {}, "");
      std::vector<std::string> variants = {""};
      for (const auto& [variant, keys] : located.experiment.variants) variants.push_back(variant);
      for (const std::string& variant : variants) {
        const LocatedExperiment own = load_located(entry.path(), {}, variant);
        if (own.jobs.empty()) {
          EXPECT_EQ(warning_of(own), "") << name << ' ' << variant;
        }
        for (const LocatedJob& job : own.jobs)
          EXPECT_EQ(warning_of_idle_keys({job.experiment, ResolvedExperiment(job.experiment)}, job.locate),
                    "")
              << name << ' ' << variant << ' ' << job.name;
      }
    }
  EXPECT_GE(count, 25);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
