// The key `study` of suite files: what is accepted and what is rejected; and the shipped studies, on their
// platforms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "platforms/load.hpp"
#include "tests/support/suite_file.hpp"
#include "validation/campaign/suite.hpp"
#include "validation/campaign/suite_file.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using testing::source;

class Studies : public testing::SuiteFile {
 protected:
  Studies() : SuiteFile("study.yaml", "experiments: lab.yaml\ngrid: {placement.worker_count: [2, 4]}\n") {
    folder_.write("lab.yaml",
                  "platform: " + source + "/platforms/quad.xml\nstop: {rounds: 3}\n" +
                      "placement: {servers: [server]}\nvariants: {bsp: {}, asp: {sync.algorithm: asp}}\n");
  }
};

TEST_F(Studies, ExtendTheirSuite) {
  const Suite suite = load(
      "study:\n  about: what is\n    asked\n  baseline: asp\n  decides: cost\n  knee: 0.25\n  stall: 0.05\n  "
      "operations: "
      "false\n  notes: "
      "[one, two]\n"
      "  reading: {every: 5, mean: 10, start: 0.1}\n"
      "  published:\n  - {configuration: worker_count=2/asp, figure: speed_up, value: 7, what: w, source: "
      "s}\n");
  const StudySection& study = suite.study;
  EXPECT_EQ(study.about, "what is asked");
  EXPECT_EQ(study.baseline, "asp");
  EXPECT_EQ(study.decides, "cost");
  EXPECT_EQ(study.knee, 0.25);
  EXPECT_EQ(study.stall, 0.05);
  EXPECT_FALSE(study.operations);
  EXPECT_THAT(study.notes, ElementsAre("one", "two"));
  ASSERT_TRUE(study.reading.has_value());
  EXPECT_EQ(study.reading->every, 5);
  EXPECT_EQ(study.reading->mean, 10);
  EXPECT_EQ(study.reading->start, 0.1);
  ASSERT_EQ(study.published.size(), 1U);
  EXPECT_EQ(study.published[0].configuration, "worker_count=2/asp");
  EXPECT_EQ(study.published[0].figure, "speed_up");
  EXPECT_EQ(study.published[0].value, 7);
  EXPECT_EQ(study.published[0].what, "w");
  EXPECT_EQ(study.published[0].source, "s");
}

TEST_F(Studies, AStallIsAShareOfTheTime) {
  refuses("study: {stall: 1}\n", "study.yaml:3", "expected a number > 0 and < 1, like 0.05");
  refuses("study: {stall: 0}\n", "study.yaml:3", "expected a number > 0 and < 1, like 0.05");
}

TEST_F(Studies, AnySuiteIsAStudy) {
  const Suite suite = load("");
  EXPECT_EQ(suite.study.baseline, "");
  EXPECT_EQ(suite.study.knee, 0.5);
  EXPECT_TRUE(suite.study.operations);
  EXPECT_FALSE(suite.study.reading.has_value());
  EXPECT_TRUE(suite.study.published.empty());
}

TEST_F(Studies, ConfigurationsHaveTheirPlaceInTheGrid) {
  for (const auto& configuration : load("").configurations) {
    ASSERT_EQ(configuration.coordinates.size(), 1U);
    EXPECT_EQ(configuration.coordinates[0].first, "placement.worker_count");
    EXPECT_EQ(configuration.name,
              "worker_count=" + configuration.coordinates[0].second + "/" + configuration.algorithm);
  }
}

TEST_F(Studies, ErrorsNameTheirLine) {
  refuses("study: [1]\n", "study.yaml:3", "key 'study': expected a map of keys, found a list");
  refuses("study: {baselin: bsp}\n", "study.yaml:3", "did you mean 'baseline'?");
  refuses("study:\n  knee: 0.5\n  knee: 0.4\n", "study.yaml:5", "key 'study.knee': expected once");
  refuses("study: {knee: 0}\n", "study.yaml:3", "expected a number > 0 and <= 1");
  refuses("study: {knee: 1.5}\n", "study.yaml:3", "expected a number > 0 and <= 1, like 0.5, found '1.5'");
  refuses("study: {decides: costs}\n", "study.yaml:3", "did you mean 'cost'?");
  refuses("study: {operations: perhaps}\n", "study.yaml:3", "expected true or false");
  refuses("study: {notes: text}\n", "study.yaml:3", "expected a list of texts");
  refuses("study: {reading: {every: 0}}\n", "study.yaml:3", "expected an integer >= 1, found '0'");
  refuses("study: {about: [a]}\n", "study.yaml:3", "expected a text, found a list");
  refuses("study: {baseline: bps}\n", "study.yaml:3", "did you mean 'bsp'?");
}

TEST_F(Studies, OneFigureMayReferToSeveralConfigurations) {
  const std::string head = "study:\n  published:\n  - figure: speed_up\n    value: 7\n    source: s\n";
  const auto published =
      load(head + "    configuration: [worker_count=2/asp, worker_count=4/asp]\n" +
           "  - {configuration: worker_count=2/bsp, figure: speed_up, value: 1, source: t}\n")
          .study.published;
  ASSERT_EQ(published.size(), 3U);
  EXPECT_EQ(published[0].configuration, "worker_count=2/asp");
  EXPECT_EQ(published[1].configuration, "worker_count=4/asp");
  EXPECT_EQ(published[2].configuration, "worker_count=2/bsp");
  for (const std::size_t place : {0U, 1U}) {
    EXPECT_EQ(published[place].figure, "speed_up");
    EXPECT_EQ(published[place].value, 7);
    EXPECT_EQ(published[place].source, "s");
  }
  refuses(head + "    configuration:\n    - worker_count=2/asp\n    - worker_count=4/aps\n", "study.yaml:10",
          "did you mean 'worker_count=4/asp'?");
  refuses(head + "    configuration: []\n", "study.yaml:8", "expected a name or a list of names");
  refuses(head + "    configuration: [{}]\n", "study.yaml:8", "expected a text");
}

TEST_F(Studies, PublishedFiguresMustBeComplete) {
  const std::string head = "study:\n  published:\n  - ";
  refuses("study: {published: 7}\n", "study.yaml:3", "expected a list of figures");
  refuses(head + "{configuration: worker_count=2/asp, figure: speed_up, value: 7}\n", "study.yaml:5",
          "key 'study.published.source': expected a value, found nothing");
  refuses(head + "{figure: speed_up, value: 7, source: s}\n", "study.yaml:5",
          "key 'study.published.configuration': expected a value, found nothing");
  refuses(head + "{configuration: worker_count=2/asp, figure: sped_up, value: 7, source: s}\n",
          "study.yaml:5", "did you mean 'speed_up'?");
  refuses(head + "{configuration: worker_count=2/asp, figure: speed_up, value: -7, source: s}\n",
          "study.yaml:5", "expected a number > 0");
  refuses(head + "{configuration: worker_count=2/aps, figure: speed_up, value: 7, source: s}\n",
          "study.yaml:5", "did you mean 'worker_count=2/asp'?");
  refuses(head + "{configuration: worker_count=2/asp, figure: speed_up, vale: 7, source: s}\n",
          "study.yaml:5", "did you mean 'value'?");
}

class ShippedStudies : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedStudies, LoadAndResolve) {
  const Suite suite = load_suite(source + "/workloads/studies/" + GetParam());
  EXPECT_GE(suite.configurations.size(), 12U);
  EXPECT_FALSE(suite.study.about.empty());
  std::map<std::string, platforms::Description> known;
  for (const auto& configuration : suite.configurations) {
    SCOPED_TRACE(configuration.name);
    Experiment experiment = configuration.experiment;
    auto& platform = known[experiment.platform];
    if (platform.hosts.empty()) platform = platforms::load_platform(experiment.platform);
    resolve_placement(experiment, platform);
    EXPECT_FALSE(experiment.placement.workers.empty());
    for (const auto& worker : experiment.placement.workers)
      for (const auto& server : experiment.placement.servers) EXPECT_NE(worker, server);
  }
}
INSTANTIATE_TEST_SUITE_P(All, ShippedStudies,
                         ::testing::Values("esync_paper.yaml", "stragglers.yaml", "scale.yaml",
                                           "checkpoint.yaml", "recovery.yaml", "sharding.yaml",
                                           "icache_lab_accuracy.yaml", "spot.yaml", "cm_dare.yaml", "first_server.yaml"));

/// The file contains only published figures: Table 1 of ESync, one speed-up per network.
TEST(EsyncStudy, HasTheSixPublishedSpeedUps) {
  const Suite suite = load_suite(source + "/workloads/studies/esync_paper.yaml");
  std::map<std::string, double> table;
  for (const auto& published : suite.study.published) table[published.what] = published.value;
  std::vector<double> values;
  for (const auto& [what, value] : table) values.push_back(value);
  EXPECT_THAT(values, ::testing::UnorderedElementsAre(27, 7, 7, 4, 6, 2));
}

TEST(StudiesFolder, OtherFilesAreTheirExperiments) {
  for (const auto& entry : std::filesystem::directory_iterator(source + "/workloads/studies"))
    if (entry.path().extension() == ".yaml" && !is_suite(entry.path().string())) {
      SCOPED_TRACE(entry.path());
      EXPECT_FALSE(load_experiment(entry.path().string()).variants.empty());
    }
}

/// The published step times of ResNet-18: 0.03 s and 3.5 s.
TEST(EsyncStudy, HasThePublishedStepTimes) {
  const auto paper = platforms::load_platform(source + "/platforms/esync_1g.xml");
  const auto small = platforms::load_platform(source + "/platforms/esync_mlp.xml");
  constexpr double resnet_step = 175.460155392e9, mlp_step = 56.3456e6;  // operations of 64 images
  for (const auto& [host, seconds] : {std::pair("host-1-gpu-1", 0.03), std::pair("host-2-cpu", 3.5)}) {
    EXPECT_NEAR(resnet_step / paper.host(host).device.speed.count(), seconds, 1e-4 * seconds);
    EXPECT_NEAR(mlp_step / small.host(host).device.speed.count(), seconds, 1e-4 * seconds);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
