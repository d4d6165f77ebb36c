// Suite files: their configurations, and what is rejected.
#include "validation/campaign/suite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "policies/collectives/schedule.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/suite_file.hpp"
#include "validation/campaign/suite_file.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::source;
using ::testing::ThrowsMessage;

const std::string experiment_line = "experiments: " + source + "/workloads/experiments/quick.yaml\n";

class Suites : public testing::SuiteFile {
 protected:
  Suites() : SuiteFile("suite.yaml") {}
  static std::vector<std::string> names(const Suite& suite) {
    std::vector<std::string> all;
    for (const auto& configuration : suite.configurations) all.push_back(configuration.name);
    return all;
  }
};

TEST_F(Suites, AreDistinguishedFromExperiments) {
  EXPECT_TRUE(is_suite(folder_.write("a.yaml", experiment_line)));
  EXPECT_TRUE(is_suite(folder_.write("b.yaml", "grid: {seed: [1]}\n")));
  EXPECT_FALSE(is_suite(source + "/workloads/experiments/quick.yaml"));
  EXPECT_FALSE(is_suite(folder_.write("c.yaml", "a: [\n")));
  EXPECT_FALSE(is_suite(folder_.path("nothing.yaml")));
}

TEST_F(Suites, ContainEveryCombinationWithEveryVariant) {
  const auto suite = load(experiment_line +
                          "variants: [bsp, asp]\n"
                          "set: {workload.math: modelled}\n"
                          "grid:\n"
                          "  workload:\n"
                          "    model: [mlp, lenet]\n"
                          "  seed: [1, 2]\n"
                          "  workload.bucket_bytes: [64KiB]\n"
                          "calibration: {workload.model: [mlp]}\n"
                          "repetitions: 3\ntolerance: 0.2\ncluster: true\nseed: 7\n");
  EXPECT_THAT(names(suite),
              ElementsAre("mlp/seed=1/asp", "mlp/seed=1/bsp", "mlp/seed=2/asp", "mlp/seed=2/bsp",
                          "lenet/seed=1/asp", "lenet/seed=1/bsp", "lenet/seed=2/asp", "lenet/seed=2/bsp"));
  EXPECT_EQ(suite.tolerance, 0.2);
  EXPECT_TRUE(suite.on_cluster);
  EXPECT_EQ(suite.seed, 7U);
  for (const auto& configuration : suite.configurations) {
    EXPECT_EQ(configuration.calibration, configuration.name.starts_with("mlp"));
    EXPECT_EQ(configuration.experiment.repetitions, 3);
    EXPECT_EQ(configuration.experiment.workload.math, Experiment::Workload::Math::modelled);
    EXPECT_EQ(configuration.experiment.workload.bucket_bytes, Bytes(64 << 10));
    EXPECT_EQ(configuration.name, configuration.group + "/" + configuration.algorithm);
  }
  EXPECT_EQ(suite.configurations[5].experiment.workload.model, "lenet");
  EXPECT_EQ(suite.configurations[6].experiment.seed, 2U);
}

TEST_F(Suites, SyncKeysInTheGridDefineAlgorithms) {
  folder_.write("lab.yaml", "platform: " + source + "/platforms/mixed_lab.xml\nstop: {rounds: 3}\n" +
                                "placement: {servers: [server]}\n");
  const auto suite =
      load("experiments: lab.yaml\ngrid:\n  sync.algorithm: [bsp, asp]\n  workload.batch: [8, 16]\n");
  ASSERT_EQ(suite.configurations.size(), 4U);
  EXPECT_EQ(suite.configurations[1].name, "batch=16/bsp");
  EXPECT_EQ(suite.configurations[1].group, "batch=16");
  EXPECT_EQ(suite.configurations[1].algorithm, "bsp");
}

TEST_F(Suites, AnExperimentMayUsePartOfTheGrid) {
  folder_.write("other.yaml", "platform: " + source + "/platforms/mixed_lab.xml\nstop: {rounds: 3}\n" +
                                  "placement: {servers: [server]}\n");
  const std::string file = source + "/workloads/experiments/quick.yaml";
  const std::string grid = "grid:\n  workload.model: [mlp, lenet]\n  workload.batch: [8, 16]\n";
  const auto suite = load("experiments:\n- other.yaml\n- file: " + file +
                          "\n  grid: {workload: {model: lenet}}\nvariants: [bsp]\n" + grid);
  EXPECT_THAT(names(suite),
              ElementsAre("other/mlp/batch=8", "other/mlp/batch=16", "other/lenet/batch=8",
                          "other/lenet/batch=16", "quick/lenet/batch=8/bsp", "quick/lenet/batch=16/bsp"));
  const std::string narrowed = "experiments:\n- file: " + file + "\n  grid: ";
  refuses(narrowed + "{seed: [1]}\n" + grid, "suite.yaml:3",
          "expected a key of the suite's grid, found 'seed'");
  refuses(narrowed + "{workload.batch: [8, 32]}\n" + grid, "suite.yaml:3",
          "expected one of its values in the suite's grid, found '32'");
  refuses("experiments:\n- grid: {workload.batch: 8}\n" + grid, "suite.yaml:2",
          "expected an experiment file");
  refuses("experiments:\n- fiel: a.yaml\n" + grid, "suite.yaml:2", "did you mean 'file'?");
  refuses("experiments:\n- file: [a.yaml]\n" + grid, "suite.yaml:2",
          "expected an experiment file, found a list");
}

TEST_F(Suites, PathsAreRelativeToTheSuitesFolder) {
  std::filesystem::copy(source + "/platforms/mixed_lab.xml", folder_.path("mine.xml"));
  const auto suite =
      load(experiment_line + "grid: {platform: [mine.xml, " + source + "/platforms/mixed_lab.xml]}\n");
  EXPECT_THAT(suite.configurations.front().experiment.platform, EndsWith("/mine.xml"));
  EXPECT_THAT(suite.configurations.front().name, HasSubstr("mine/"));
}

TEST_F(Suites, ErrorsNameTheirLine) {
  refuses("grid: {seed: [1]}\n", "suite.yaml", "key 'experiments': expected an experiment file");
  refuses(experiment_line + "gird: {seed: [1]}\n", "suite.yaml:2", "did you mean 'grid'?");
  refuses(experiment_line + "grid:\n  workload.modle: [mlp]\n", "suite.yaml:3",
          "did you mean 'workload.model'?");
  refuses(experiment_line + "grid:\n  workload.model: [mlp, lenett]\n", "suite.yaml:3", "found 'lenett'");
  refuses(experiment_line + "grid:\n  workload.batch:\n  - 8\n  - many\n", "suite.yaml:5", "'many'");
  refuses(experiment_line + "grid:\n  seed: []\n", "suite.yaml:3", "expected a value or a list of values");
  refuses(experiment_line + "grid:\n  name: [a]\n", "suite.yaml:3", "expected a key of what is simulated");
  refuses(experiment_line + "grid: [1]\n", "suite.yaml:2", "expected a map of experiment keys, found a list");
  refuses(experiment_line + "set: {seed: 1}\nset: {seed: 2}\n", "suite.yaml:3", "expected once");
  refuses(experiment_line + "repetitions: 0\n", "suite.yaml:2", "expected an integer >= 1");
  refuses(experiment_line + "tolerance: -1\n", "suite.yaml:2", "expected a number > 0");
  refuses(experiment_line + "cluster: maybe\n", "suite.yaml:2", "expected true or false");
  refuses(experiment_line + "variants: [bsp, bspp]\n", "suite.yaml:2", "found 'bspp'");
  refuses("experiments: " + source + "/workloads/experiments/scale.yaml\nvariants: [rign]\n", "suite.yaml:2",
          "found 'rign'");
  refuses(experiment_line + "grid: {seed: [1\n", "suite.yaml:", "malformed YAML");
  refuses("experiments: nothing.yaml\n", "nothing.yaml", "cannot read the experiment file");
}

TEST_F(Suites, AVariantMustNotHideAKeyOfTheGrid) {
  refuses(experiment_line + "grid:\n  sync.algorithm: [bsp, asp]\n", "suite.yaml:3",
          "one that variant 'asp'");
}

TEST_F(Suites, SplitsMustLeaveTwoSidesAndNotOverlap) {
  const std::string grid = experiment_line + "variants: bsp\ngrid:\n  seed: [1, 2]\ncalibration:\n";
  EXPECT_TRUE(load(grid + "  seed: [2]\n").configurations[1].calibration);
  EXPECT_FALSE(load(grid + "  seed: [2]\n").configurations[0].calibration);
  refuses(grid + "  seed: [1, 2]\n", "suite.yaml:6", "leave a hold-out set");
  refuses(grid + "  seed: [3]\n", "suite.yaml:6", "expected one of its values in the grid: 1 | 2, found '3'");
  refuses(grid + "  workload.batch: [8]\n", "suite.yaml:6", "expected a key of the grid");
  refuses(grid + "  variant: [asp]\n", "suite.yaml:6", "found none that has them");
  refuses(experiment_line + "grid:\n  workload.batch: [8, 08]\n", "suite.yaml", "are the same experiment");
}

/// icache has four loaders unless the key is given.
TEST_F(Suites, AGivenValueIsNotTheDefaultOfAPolicy) {
  const std::string job = "experiments: " + source + "/workloads/studies/icache_parts_job.yaml\n";
  EXPECT_EQ(load(job + "variants: [whole, when-idle]\n").configurations.size(), 2U);
}

TEST_F(Suites, TheCommandLineOverridesKeysOutsideTheGrid) {
  const std::string text = experiment_line + "set: {workload.batch: 8}\ngrid: {seed: [1, 2]}\n";
  EXPECT_EQ(load(text, {"workload.batch=16"}).configurations.front().experiment.workload.batch, 16);
  EXPECT_EQ(load(text + "repetitions: 3\n", {"repetitions=2"}).configurations.front().experiment.repetitions,
            2);
  EXPECT_THROW(load(text, {"seed=3"}), ConfigError);
}

TEST_F(Suites, OnlyKeepsMatchingNamesAndGroups) {
  const std::string text = experiment_line + "variants: [bsp, asp]\ngrid: {seed: [1, 2]}\n";
  auto suite = load(text);
  keep_only(suite, {"seed=2"});
  EXPECT_THAT(names(suite), ElementsAre("seed=2/asp", "seed=2/bsp"));
  suite = load(text);
  keep_only(suite, {"seed=1/bsp"});
  EXPECT_THAT(names(suite), ElementsAre("seed=1/bsp"));
  EXPECT_THAT([&] { keep_only(suite, {"seed=1/bps"}); },
              ThrowsMessage<ConfigError>(HasSubstr("did you mean 'seed=1/bsp'?")));
}

TEST_F(Suites, APlainExperimentIsASuiteOfItsVariants) {
  const std::string quick = source + "/workloads/experiments/quick.yaml";
  EXPECT_GE(suite_of_experiment(quick, {}, "").configurations.size(), 5U);
  const auto one = suite_of_experiment(quick, {"seed=9"}, "asp");
  ASSERT_EQ(one.configurations.size(), 1U);
  EXPECT_EQ(one.configurations.front().experiment.sync.algorithm, "asp");
  EXPECT_EQ(one.configurations.front().experiment.seed, 9U);
}

TEST(ShippedSuites, Expand) {
  const auto small = load_suite(source + "/validation/suites/lab_small.yaml");
  EXPECT_GE(small.configurations.size(), 12U);
  const auto lab = load_suite(source + "/validation/suites/lab.yaml");
  EXPECT_GE(lab.configurations.size(), 40U);
  for (const auto* suite : {&small, &lab}) {
    const auto count = std::count_if(suite->configurations.begin(), suite->configurations.end(),
                                     [](const auto& configuration) { return configuration.calibration; });
    EXPECT_GT(count, 0);
    EXPECT_GE(2 * static_cast<std::size_t>(count), suite->configurations.size() / 4);
  }
}

/// Each file with experiments of its own.
TEST(ShippedSuites, AreRead) {
  int suites = 0;
  for (const auto& file : std::filesystem::directory_iterator(source + "/validation/suites")) {
    SCOPED_TRACE(file.path());
    std::ifstream text(file.path());
    const std::string all = rest_of(text);
    if (all.find("\nexperiments:") == std::string::npos) continue;
    ++suites;
    EXPECT_GE(load_suite(file.path()).configurations.size(), 4U);
  }
  EXPECT_GE(suites, 5);
}

TEST(ShippedSuites, DeparturesHaveAHoldOut) {
  const auto departures = load_suite(source + "/validation/suites/departures.yaml");
  const auto departing = std::ranges::count_if(departures.configurations, [](const auto& configuration) {
    return !configuration.calibration && configuration.experiment.transience.time_scale == 1.0;
  });
  EXPECT_GE(departing, 40);
}

/// Additions to a catalogue must be validated too.
TEST(ShippedSuites, HaveRowsOfEveryAlgorithmAndCollective) {
  std::set<std::string> algorithms, all_reduces;
  for (const auto& configuration : load_suite(source + "/validation/suites/lab.yaml").configurations) {
    const auto& sync = configuration.experiment.sync;
    algorithms.insert(sync.algorithm);
    if (sync.over == sync::Route::all_reduce) all_reduces.insert(sync.collective);
  }
  for (const auto& name : sync::catalog().names()) EXPECT_TRUE(algorithms.contains(name)) << name;
  for (const auto& name : collectives::catalog().names()) EXPECT_TRUE(all_reduces.contains(name)) << name;
  for (const char* name : {"native", "auto"}) EXPECT_TRUE(all_reduces.contains(name)) << name;
}

class SuitesOfJobs : public Suites {
 protected:
  SuitesOfJobs() {
    folder_.write("jobs.yaml",
                  "platform: " + source +
                      "/platforms/mixed_lab.xml\nstop: {rounds: 3}\nplacement: {servers: [server]}\n"
                      "jobs:\n  vision: {placement.workers: [node-1]}\n"
                      "  late: {placement.workers: [node-2], start: 1s, seed: 5}\n"
                      "variants:\n  bsp: {}\n  big: {workload.batch: 99}\n");
  }
  const std::string head_ = "experiments: jobs.yaml\n";
};

TEST_F(SuitesOfJobs, HaveEntriesForEachJob) {
  const auto suite = load(head_ + "grid:\n  jobs: {late: {start: [1s, 2s]}}\nalone: true\n");
  EXPECT_THAT(names(suite), ElementsAre("late.start=1s/big", "late.start=1s/bsp", "late.start=2s/big",
                                        "late.start=2s/bsp"));
  EXPECT_TRUE(suite.with_alone);
  EXPECT_TRUE(has_several_jobs(suite));
  const auto& last = suite.configurations[2];
  ASSERT_EQ(last.jobs.size(), 2U);
  EXPECT_EQ(last.jobs[1].name, "late");
  EXPECT_EQ(last.jobs[1].start, Seconds(2));
  EXPECT_EQ(last.jobs[1].experiment.seed, 5U);
  EXPECT_EQ(last.jobs[0].experiment.workload.batch, 99);
  EXPECT_EQ(last.experiments().size(), 2U);
  const auto entries = last.entries();
  EXPECT_EQ(entries[1].name, "late.start=2s/big/late");
  EXPECT_EQ(entries[1].group, "late.start=2s/late");
  EXPECT_EQ(entries[1].algorithm, "big");
  EXPECT_EQ(entries[1].job, "late");
  // Configurations that differ in the start of a job alone are not the same.
  EXPECT_NE(suite.configurations[0].keys(), last.keys());
}

TEST_F(SuitesOfJobs, KeysOfJobsHoldForOneOrForAll) {
  const auto suite =
      load(head_ + "variants: [bsp]\nset: {seed: 7}\ngrid: {jobs.vision.workload.batch: [4, 8]}\n");
  EXPECT_THAT(names(suite), ElementsAre("vision.batch=4/bsp", "vision.batch=8/bsp"));
  const auto& jobs = suite.configurations[1].jobs;
  EXPECT_EQ(jobs[0].experiment.workload.batch, 8);
  EXPECT_NE(jobs[1].experiment.workload.batch, 8);
  for (const auto& job : jobs) EXPECT_EQ(job.experiment.seed, 7U);
}

TEST_F(SuitesOfJobs, OfAnExperimentAreThoseOfItsVariants) {
  const auto suite = suite_of_experiment(folder_.path("jobs.yaml"), {"jobs.late.seed=9"}, "");
  EXPECT_THAT(names(suite), ElementsAre("big", "bsp"));
  EXPECT_EQ(suite.configurations[0].jobs[0].experiment.workload.batch, 99);
  EXPECT_EQ(suite.configurations[1].jobs[1].experiment.seed, 9U);
}

TEST_F(SuitesOfJobs, RefuseKeysOfJobsThatDoNotExist) {
  refuses(head_ + "grid:\n  jobs.lte.start: [1s]\n", "suite.yaml:3: key 'jobs.lte.start'",
          "(vision | late), found 'lte'; did you mean 'late'?");
  refuses(head_ + "set: {jobs.nobody.seed: 3}\n", "suite.yaml:2: key 'jobs.nobody.seed'",
          "(vision | late), found 'nobody'");
  refuses(head_ + "grid: {jobs.late.workload.bach: [1]}\n", "suite.yaml:2",
          "unknown key 'jobs.late.workload.bach'; did you mean");
  refuses(head_ + "grid: {jobs.late.start: [soon]}\n", "suite.yaml:2: key 'jobs.late.start'",
          "expected time >= 0 (like 10s; ns us ms s min h d), found 'soon'");
  refuses(head_ + "grid: {jobs.late: [1]}\n", "suite.yaml:2: key 'grid.jobs.late'",
          "expected a key of a job, like jobs.NAME.seed");
  refuses(experiment_line + "grid: {jobs.late.seed: [1]}\n", "suite.yaml:2: key 'jobs.late.seed'",
          "is one job, found one of job 'late'");
  refuses(experiment_line + "alone: true\n", "suite.yaml:2: key 'alone'",
          "expected an experiment of several jobs (key jobs)");
  refuses(head_ + "alone: often\n", "suite.yaml:2: key 'alone'", "expected true or false");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
