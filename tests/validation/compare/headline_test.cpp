// The first sentence of a report: the best configuration, and what its speed-up does not say.
#include "validation/compare/headline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Contender bsp() {
  return {.name = "bsp", .throughput = 44.6, .exchanges = {1, 938, 0}, .baseline = "bsp", .speed_up = 1};
}
Contender esync() {
  return {
      .name = "esync", .throughput = 10'750, .exchanges = {243, 12, 0}, .baseline = "bsp", .speed_up = 241};
}
Contender at_target(Contender own, double seconds, double speed_up) {
  own.has_accuracy = true;
  own.target = 0.8;
  own.time_to_target = seconds;
  own.target_speed_up = speed_up;
  return own;
}

/// Seen: "ESync 241x" for a throughput with 243 local steps per exchange.
TEST(Headline, ASpeedUpInThroughputSaysWhatItLeavesOut) {
  const Headline headline = headline_of({bsp(), esync()});
  EXPECT_EQ(
      headline.text,
      "esync processes the most samples per second, 10,750 samples/s, 241x the throughput of bsp (esync: 243 "
      "local steps per exchange, 12 exchanges, mean staleness 0; bsp: 1 local step per exchange, 938 "
      "exchanges, "
      "mean staleness 0). This is no speed-up of training: samples are counted, whatever the different "
      "exchange costs in accuracy, which was not simulated.");
  EXPECT_THAT(headline.warnings, ElementsAre(HasSubstr("nothing here says what that costs in accuracy")));
}

TEST(Headline, WhereAccuracyWasSimulatedTheTimeToItDecides) {
  const Headline headline = headline_of({at_target(bsp(), 17, 1), at_target(esync(), 34, 0.5)});
  EXPECT_EQ(
      headline.text,
      "bsp reaches an accuracy of 0.8 first, after 17.0 s (bsp: 1 local step per exchange, 938 exchanges, "
      "mean staleness 0).");
  EXPECT_THAT(headline.warnings, IsEmpty());
  EXPECT_THAT(
      headline_of({at_target(bsp(), 17, 1), at_target(esync(), 3.2, 5.31)}).text,
      HasSubstr("esync reaches an accuracy of 0.8 first, after 3.20 s, 5.31x as fast as bsp (esync: 243 "));
}

TEST(Headline, ATargetThatNobodyReachedIsSaid) {
  auto all = std::vector{at_target(bsp(), 17, 1), at_target(esync(), 34, 0.5)};
  for (auto& one : all) one.time_to_target.reset();
  const Headline headline = headline_of(all);
  EXPECT_THAT(headline.text, HasSubstr("No configuration reaches an accuracy of 0.8. esync processes"));
  EXPECT_THAT(headline.text, HasSubstr("the curves of accuracy say"));
  EXPECT_THAT(headline.warnings, IsEmpty()) << "the curves say what it costs";
}

TEST(Headline, OneLearningRateOfDifferentlyManyUpdatesIsSaid) {
  const auto trained = [](const char* name, double updates, double rate) {
    return Contender{.name = name,
                     .throughput = 40,
                     .exchanges = {1, updates, 0},
                     .has_accuracy = true,
                     .learning_rate = rate};
  };
  EXPECT_THAT(
      headline_of({trained("bsp", 82, 0.05), trained("asgd", 472, 0.05)}).warnings,
      ElementsAre(AllOf(HasSubstr("one learning rate (0.05)"), HasSubstr("(asgd: 472 times, bsp: 82 times)"),
                        HasSubstr("set optimizer.learning_rate for each"))));
  EXPECT_THAT(headline_of({trained("bsp", 82, 0.05), trained("asgd", 472, 0.01)}).warnings, IsEmpty());
  EXPECT_THAT(headline_of({trained("bsp", 82, 0.05), trained("ring", 82, 0.05)}).warnings, IsEmpty());
}

TEST(Headline, EqualExchangesNeedNoWarning) {
  auto ring = bsp();
  ring.name = "ring";
  ring.throughput = 60;
  ring.speed_up = 1.3;
  const Headline headline = headline_of({bsp(), ring});
  EXPECT_THAT(headline.text, HasSubstr("Accuracy was not simulated."));
  EXPECT_THAT(headline.text, Not(HasSubstr("no speed-up")));
  EXPECT_THAT(headline.warnings, IsEmpty());
}

/// Four caches in front of a disk that nobody waits for.
TEST(Headline, ConfigurationsThatDoNotDifferHaveNoBest) {
  auto lru = bsp(), minio = bsp();
  lru.name = "lru";
  lru.throughput = 44.5;
  minio.name = "minio";
  minio.throughput = 44.3;
  EXPECT_THAT(headline_of({bsp(), lru, minio}).text,
              HasSubstr("All 3 configurations process about as many samples per second, 44.6"));
  minio.throughput = 40;
  EXPECT_THAT(headline_of({bsp(), lru, minio}).text, HasSubstr("bsp processes the most"));
}

TEST(Headline, StalenessIsADifferenceToo) {
  auto asp = bsp();
  asp.name = "asp";
  asp.exchanges.staleness = 3.2;
  EXPECT_EQ(headline_of({bsp(), asp}).warnings.size(), 1U);
}

TEST(Headline, CountsTheBestOfSeveralGroups) {
  std::vector<Contender> all;
  for (const char* group : {"a", "b", "c"})
    for (Contender own : {bsp(), esync()}) {
      own.algorithm = own.name;
      own.group = group;
      own.name = own.group + "/" + own.name;
      own.baseline = own.group + "/bsp";
      if (own.group == std::string("c")) own.throughput = own.algorithm == "bsp" ? 30 : 20;
      all.push_back(own);
    }
  const Headline headline = headline_of(all);
  EXPECT_THAT(headline.text,
              HasSubstr("Best of 3 groups: esync in 2, bsp in 1. The largest speed-up: a/esync processes"));
  EXPECT_THAT(headline.warnings, ElementsAre(HasSubstr("so in 3 groups")));
}

TEST(Headline, ConfigurationsThatShareNoGroupAreComparedTogether) {
  auto small = bsp(), large = esync();
  small.group = "a";
  large.group = "b";
  large.speed_up.reset();
  large.baseline = "";
  EXPECT_THAT(headline_of({small, large}).text, HasSubstr("esync processes the most samples per second"));
  EXPECT_THAT(headline_of({bsp()}).text, HasSubstr("bsp processes 44.60 samples/s ("));
  EXPECT_EQ(headline_of({}).text, "");
}

TEST(Exchanges, AreThoseOfASummary) {
  const Exchanges exchanges = exchanges_of(DistributionSummary{.mean = 242.75}, 12, std::nullopt);
  EXPECT_EQ(exchanges.text(), "243 local steps per exchange, 12 exchanges, mean staleness 0");
}

TEST(Question, OfSeveralJobsIsThatOfTheFirst) {
  EXPECT_EQ(question_line({{"lenet", "batch 4"}, {"lenet", "batch 4"}}), "lenet; batch 4");
  EXPECT_EQ(question_line({{"lenet", "batch 4"}, {"lenet", "batch 8"}}),
            "lenet; batch 4 (the first of 2 different jobs)");
  EXPECT_EQ(question_line({{}}), "");
}

Contender asp(double throughput, Interval interval) {
  return {.name = "asp", .throughput = throughput, .interval = interval, .exchanges = {1, 938, 0}};
}

TEST(Headline, OverlappingIntervalsAreNoRanking) {
  const Contender fast = asp(50, {44, 60});
  const Headline open = headline_of({bsp(), fast});
  ASSERT_EQ(open.warnings.size(), 1U);
  EXPECT_THAT(open.warnings.front(), HasSubstr("do not tell which configuration is the fastest"));
  EXPECT_THAT(open.warnings.front(),
              HasSubstr("asp 44.00 samples/s to 60.00 samples/s, bsp 44.60 samples/s"));
  EXPECT_THAT(headline_of({bsp(), asp(50, {45, 60})}).warnings, IsEmpty());
  Contender other = asp(40, {30, 47});
  other.name = "ssp";
  EXPECT_EQ(headline_of({other, asp(50, {45, 60})}).warnings.size(), 1U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
