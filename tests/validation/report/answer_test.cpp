// The answer of a study: which variant is said to be the best, what is equal, how a grid becomes panels with
// one axis across, and study.csv.
#include "validation/report/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_study.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::made_configuration;
using testing::made_study;
using ::testing::Not;
using testing::placed;
using Coordinates = std::vector<std::pair<std::string, std::string>>;

StudyResult fast(const std::string& algorithm, double throughput, const Coordinates& place = {}) {
  return placed(made_configuration({.algorithm = algorithm, .throughput = throughput, .reached_s = 0}),
                place);
}

Study study_of(std::vector<StudyResult> configurations, const StudySection& section = {}) {
  return make_study(std::move(configurations), "made", section, {});
}

Answer answer_to(std::vector<StudyResult> configurations, const StudySection& section = {}) {
  return answer_of(study_of(std::move(configurations), section));
}

/// Below 0: it does not reach accuracy 0.8.
StudyResult reaching(const std::string& algorithm, double time_s) {
  return placed(made_configuration({.algorithm = algorithm, .reached_s = time_s}), {});
}

/// On machines with prices, for a job whose machines may depart.
StudyResult rented(const std::string& algorithm, double dollars, double time_s,
                   const Coordinates& place = {}) {
  StudyResult own = fast(algorithm, 100, place);
  own.makespan_s = time_s;
  own.membership = MembershipSummary{};
  own.cost = CostSummary{.total = Money(static_cast<std::int64_t>(dollars * 1e6))};
  return own;
}

/// Three repetitions.
std::vector<StudyResult> seeds_of(const std::string& algorithm, const std::vector<double>& throughputs) {
  std::vector<StudyResult> all;
  for (std::size_t i = 0; i < throughputs.size(); ++i)
    all.push_back(fast(algorithm, throughputs[i], {{"seed", std::to_string(i + 1)}}));
  return all;
}

std::vector<StudyResult> joined(std::vector<StudyResult> all, const std::vector<StudyResult>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct Case {
  const char* what;
  std::vector<StudyResult> configurations;
  const char* text;
};

TEST(Answer, SaysWhichVariantIsBestAndWhichAreEqual) {
  const auto at = [](const char* workers) { return Coordinates{{"placement.worker_count", workers}}; };
  const std::vector<Case> cases = {
      {"one best",
       {fast("bsp", 100), fast("asp", 150), fast("esync", 120)},
       "asp is the fastest: throughput 150.0 samples/s, 1.50x the throughput of bsp. Next is esync with "
       "120.0 samples/s."},
      {"the baseline is best",
       {fast("bsp", 200), fast("asp", 100)},
       "bsp is the fastest: throughput 200.0 samples/s. Next is asp with 100.0 samples/s."},
      {"less than 1 %",
       {fast("bsp", 50), fast("asp", 100), fast("esync", 99.5)},
       "asp and esync are equal, and the fastest: throughput 100.0 samples/s, 2.00x the throughput of bsp."},
      {"all of them",
       {fast("bsp", 100), fast("asp", 100.4)},
       "Both variants are equal: throughput about 100.4 samples/s."},
      // Differences of the common seeds: 4, -2, 6, whose mean 2.67 is less than twice its standard
      // error 2.40.
      {"the spread of seeds", joined(seeds_of("bsp", {100, 106, 104}), seeds_of("asp", {104, 104, 110})),
       "Both variants are equal: throughput about 106.0 ± 3.5 samples/s."},
      // Differences: 10, 11, 9.
      {"beyond the spread", joined(seeds_of("bsp", {100, 120, 140}), seeds_of("asp", {110, 131, 149})),
       "asp is the fastest: throughput 130.0 ± 20 samples/s, 1.08x the throughput of bsp. Next is "
       "bsp with 120.0 ± 20 samples/s."},
      {"along an axis",
       {fast("bsp", 100, at("8")), fast("asp", 90, at("8")), fast("bsp", 200, at("16")),
        fast("asp", 150, at("16")), fast("bsp", 210, at("32")), fast("asp", 300, at("32"))},
       "By throughput, the best is bsp at 8 to 16 workers; asp at 32 workers."},
      {"everywhere",
       {fast("bsp", 100, at("8")), fast("asp", 200, at("8")), fast("bsp", 200, at("16")),
        fast("asp", 300, at("16"))},
       "In both cases asp is the fastest: 1.50x to 2.00x the throughput of bsp."},
      {"equal with others everywhere",
       {fast("bsp", 100, {{"platform", "quad"}}), fast("asp", 100, {{"platform", "quad"}}),
        fast("esync", 50, {{"platform", "quad"}}), fast("bsp", 100, {{"platform", "lab"}}),
        fast("asp", 50, {{"platform", "lab"}}), fast("esync", 100, {{"platform", "lab"}})},
       "By throughput, several variants are equal in each of 2 cases."},
      {"one does not reach the target",
       {reaching("bsp", 10), reaching("asp", 4), reaching("esync", -1)},
       "asp is the first to reach accuracy 0.8: time to accuracy 0.8 4.00 s, 2.50x as fast as bsp. Next is "
       "bsp with 10.0 s. esync does not reach it."},
      {"all that reach the target are equal",
       {reaching("bsp", 10), reaching("asp", 10), reaching("esync", -1)},
       "bsp and asp are equal, and the first to reach accuracy 0.8: time to accuracy 0.8 10.0 s. esync does "
       "not reach it."},
      {"one variant",
       {fast("bsp", 100, at("8")), fast("bsp", 200, at("16"))},
       "bsp: throughput 100.0 samples/s at 8 workers and 200.0 samples/s at 16 workers."},
      {"another axis in place of variants",
       {fast("bsp", 100, {{"platform", "quad"}}), fast("bsp", 50, {{"platform", "lab"}})},
       "quad is the fastest: throughput 100.0 samples/s. Next is lab with 50.00 samples/s."}};
  for (const auto& [what, configurations, text] : cases)
    EXPECT_EQ(answer_to(configurations).text, text) << what;
}

/// Cost decides where the study's file says so. Without it, cost is compared if a second of the job does not
/// cost the same for all.
TEST(Answer, ComparesCosts) {
  const auto at = [](const char* workers) { return Coordinates{{"placement.worker_count", workers}}; };
  const std::vector<Case> cases = {
      {"one place",
       {rented("on-demand", 80, 600), rented("spot", 22, 620), rented("restart", 27.5, 900)},
       "spot is the cheapest: cost $22.00, 27.5 % of the cost of on-demand. Next is restart with $27.50."},
      {"everywhere",
       {rented("on-demand", 80, 600, at("4")), rented("spot", 20, 620, at("4")),
        rented("on-demand", 90, 300, at("8")), rented("spot", 45, 310, at("8"))},
       "In both cases spot is the cheapest: 25.0 % to 50.0 % of the cost of on-demand."},
      {"the baseline is the cheapest everywhere",
       {rented("on-demand", 10, 600, at("4")), rented("spot", 20, 620, at("4")),
        rented("on-demand", 10, 300, at("8")), rented("spot", 15, 310, at("8"))},
       "In both cases on-demand is the cheapest: the others cost 150 % to 200 % as much."},
      {"no prices",
       {fast("on-demand", 100), fast("spot", 50)},
       "on-demand is the fastest: throughput 100.0 samples/s. Next is spot with 50.00 samples/s."}};
  StudySection by_cost;
  by_cost.baseline = "on-demand";
  by_cost.decides = "cost";
  for (const auto& [what, configurations, text] : cases)
    EXPECT_EQ(answer_to(configurations, by_cost).text, text) << what;
  EXPECT_THAT(answer_to(cases[1].configurations, by_cost).points,
              ::testing::Contains("Of all places, spot is the cheapest at 4 workers: cost $20.00."));
  EXPECT_THAT(answer_to(cases[3].configurations, by_cost).points.front(), HasSubstr("Not by cost"));
  const auto measures = [&](const std::vector<StudyResult>& all) {
    std::vector<std::string> keys;
    for (const auto& measure : answer_to(all).measures) keys.push_back(measure.key);
    return keys;
  };
  EXPECT_THAT(measures(cases[0].configurations), ElementsAre("makespan_s", "cost"));
  EXPECT_THAT(measures({rented("bsp", 60, 600), rented("asp", 30, 300)}), ElementsAre("makespan_s"));
}

/// A what-if study compares steps. Samples per second say more where more workers make steps longer.
TEST(Answer, ComparesStepsWhereTheFileAsksForThem) {
  StudySection by_step;
  by_step.decides = "step_time_s";
  const auto at = [](const char* bandwidth, double step_s, std::size_t workers) {
    StudyResult own = fast("bsp", 100, {{"bandwidth", bandwidth}});
    own.step_time_s = step_s;
    own.workers = workers;
    return own;
  };
  const auto keys = [&](std::size_t workers) {
    std::vector<std::string> found;
    for (const auto& measure : answer_to({at("1Gbps", 1.6, 8), at("10Gbps", 0.2, workers)}, by_step).measures)
      found.push_back(measure.key);
    return found;
  };
  EXPECT_THAT(keys(8), ElementsAre("step_time_s"));
  EXPECT_THAT(keys(16), ElementsAre("step_time_s", "throughput"));
  EXPECT_EQ(answer_to({at("10Gbps", 0.2, 8), at("1Gbps", 1.6, 8)}, by_step).text,
            "bsp: step time 1.60 s at bandwidth 1Gbps and 200 ms at bandwidth 10Gbps.");
}

/// Seen: a cache with importance sampling called 2.1 times as fast, with a quarter of the samples left out.
TEST(Answer, SaysWhoTrainsOnFewerSamples) {
  const auto time_of = [](const char* variant, double time_s, std::int64_t samples) {
    StudyResult own = rented(variant, 1, time_s);
    own.samples = samples;
    return own;
  };
  EXPECT_EQ(
      answer_to({time_of("bsp", 10, 1000), time_of("importance", 5, 760)}).text,
      "importance is the first to finish: time of the job 5.00 s, 2.00x as fast as bsp. Next is bsp with "
      "10.0 s. Variants do not train on equally many samples: importance on 760, bsp on 1,000.");
  EXPECT_THAT(answer_to({time_of("bsp", 10, 1000), time_of("asp", 5, 990)}).text, Not(HasSubstr("samples")));
}

TEST(Answer, DeviationsHaveNoDigitsThatTheirMeansLack) {
  EXPECT_EQ(with_deviation("2.26", "0.000393"), "2.26 ± 0.00");
  EXPECT_EQ(with_deviation("2.26", "9.3e-05"), "2.26 ± 0.00");
  EXPECT_EQ(with_deviation("12.3", "0.0456"), "12.3 ± 0.0");
  EXPECT_EQ(with_deviation("0.8677", "0.0055"), "0.8677 ± 0.0055");
  EXPECT_EQ(with_deviation("1,010", "55"), "1,010 ± 55");
}

TEST(Answer, SaysWhichMeansAreOverFewerSeeds) {
  const auto points = [](const std::vector<double>& asp) {
    return answer_to(joined(seeds_of("bsp", {100, 120, 140}), seeds_of("asp", asp))).points;
  };
  EXPECT_EQ(points({110, 131}).front(),
            "Not quite comparable: means of asp are over fewer seeds than those of other variants.");
  EXPECT_THAT(points({110, 131, 149}).front(), HasSubstr("Speed-ups are over bsp"));
}

TEST(Answer, IntervalsOfEnsemblesThatOverlapAreEqual) {
  const StudyResult bsp = fast("bsp", 100);
  StudyResult asp = fast("asp", 110);
  asp.intervals.throughput = Interval{99, 121};
  EXPECT_THAT(answer_to({bsp, asp}).text, HasSubstr("Both variants are equal"));
  asp.intervals.throughput = Interval{105, 121};
  EXPECT_THAT(answer_to({bsp, asp}).text, HasSubstr("asp is the fastest"));
}

TEST(Answer, ComparesByTheTimeToTheTargetThenByAccuracyThenByTheTimeOfTheJob) {
  const auto measures = [](const Answer& answer) {
    std::vector<std::string> keys;
    for (const auto& measure : answer.measures) keys.push_back(measure.key);
    return keys;
  };
  EXPECT_THAT(measures(answer_of(made_study())), ElementsAre("time_to_target_s", "throughput"));
  EXPECT_THAT(answer_of(made_study()).text,
              HasSubstr("By time to accuracy 0.8, the best is asp at 8 to 16 workers; bsp at 32 workers."));
  const Answer missed = answer_to({made_configuration({.reached_s = -1})});
  EXPECT_THAT(measures(missed), ElementsAre("last_accuracy", "throughput"));
  EXPECT_THAT(missed.text, HasSubstr("No variant reaches accuracy 0.8."));
  StudyResult restarted = fast("bsp", 100);
  restarted.membership = MembershipSummary{.departures = 1};
  EXPECT_THAT(measures(answer_to({restarted})), ElementsAre("makespan_s"));
  // Of other samplers, an epoch may have fewer samples.
  StudyResult all = fast("lru", 100), some = fast("icache", 100);
  for (StudyResult* own : {&all, &some}) own->experiment.stop = {.epochs = 3.0};
  some.experiment.data.sampling = "importance";
  EXPECT_THAT(measures(answer_to({all, some})), ElementsAre("makespan_s"));
  some.experiment.data.sampling = all.experiment.data.sampling;
  EXPECT_THAT(measures(answer_to({all, some})), ElementsAre("throughput"));
}

TEST(Answer, AGridBecomesPanelsWithOneAxisAcross) {
  std::vector<StudyResult> configurations;
  for (const char* network : {"net1", "net10"})
    for (const char* workers : {"8", "16", "32"})
      for (const char* seed : {"1", "2"})
        for (const char* variant : {"ring", "tree"})
          configurations.push_back(fast(variant, 100,
                                        {{"platform", network},
                                         {"workload.image_size", network == std::string("net1") ? "0" : "64"},
                                         {"placement.worker_count", workers},
                                         {"seed", seed}}));
  const Answer answer = answer_to(configurations);
  ASSERT_TRUE(answer.across.has_value());
  EXPECT_EQ(answer.across->name, "workers");
  EXPECT_THAT(answer.across->numbers, ElementsAre(8, 16, 32));
  ASSERT_EQ(answer.others.size(), 1U) << "the image size follows from the platform";
  ASSERT_EQ(answer.panels.size(), 2U);
  EXPECT_EQ(answer.panels[1].title, "net10");
  ASSERT_EQ(answer.panels[1].rows.size(), 2U);
  EXPECT_EQ(answer.panels[1].rows[0].cells[2]->configurations.size(), 2U) << "seeds are repetitions";
  EXPECT_EQ(answer.text, "The variants are equal in throughput in all 6 cases.");
}

TEST(Answer, TakesExperimentsOfOneJobAndOfSeveral) {
  std::vector<StudyResult> configurations;
  for (const char* variant : {"ring", "tree"}) {
    configurations.push_back(fast(variant, 100, {{"experiment", "alone"}}));
    for (const char* job : {"early", "late"})
      configurations.push_back(fast(variant, 100, {{"experiment", "both"}, {"job", job}}));
  }
  const Answer answer = answer_to(configurations);
  ASSERT_EQ(answer.panels.size(), 1U) << "the experiment follows from the job";
  std::vector<std::string> columns;
  for (const std::size_t column : answer.panels[0].columns) columns.push_back(answer.column_name(column));
  EXPECT_THAT(columns, ElementsAre("-", "early", "late"));
}

TEST(Answer, NamesValuesThatDoNotSpeakForThemselves) {
  std::vector<StudyResult> configurations;
  for (const char* workers : {"8", "16"})
    for (const char* overlap : {"true", "false"})
      for (const char* bucket : {"64KiB", "1MiB"})
        configurations.push_back(fast(
            "bsp", 100,
            {{"placement.worker_count", workers}, {"sync.overlap", overlap}, {"sync.bucket_bytes", bucket}}));
  const Answer answer = answer_to(configurations);
  ASSERT_EQ(answer.panels.size(), 2U);
  EXPECT_EQ(answer.panels[0].title, "overlap true");
  EXPECT_EQ(answer.panels[0].rows[0].variant, "bucket bytes 64KiB");
}

TEST(Answer, NamesTheBaselineWithItsReasonAndTheBottlenecks) {
  StudySection section;
  EXPECT_THAT(
      answer_to({fast("bsp", 100), fast("asp", 200)}, section).points,
      ElementsAre(
          "Speed-ups are over bsp, because it is synchronous SGD (bsp).",
          "Bottlenecks (the longest part of the workers' time): bsp: computing 57 %; asp: computing 57 %."));
  section.baseline = "asp";
  const auto bound = [](const char* variant, double outside, const Binding& binding) {
    StudyResult own = fast(variant, 100);
    own.shares->other = outside;
    own.binding = binding;
    return own;
  };
  const Answer answer =
      answer_to({bound("bsp", 0.0, {.computing = 0.2, .data = 0.1, .exchange = 0.7}),
                 bound("esync", 0.2, {.computing = 0.1, .data = 0.6, .exchange = 0.3}),
                 bound("ssp", 0.0, {.computing = 0.3, .data = 0.1, .decoding = 0.6, .exchange = 0.3}),
                 bound("local-sgd", 0.55, {.computing = 1.0, .data = 0.1, .exchange = 0.3}),
                 bound("diloco", 0.1, {.computing = 0.3, .exchange = 0.1, .commits = 0.6}), fast("asp", 200)},
                section);
  EXPECT_EQ(answer.points.front(),
            "Speed-ups are over asp, because the study's file names it (study.baseline).");
  std::vector<std::string> found;
  for (const auto& row : answer.panels[0].rows) found.push_back(row.bottlenecks);
  EXPECT_THAT(found, ElementsAre("exchange 70 %", "data 48 %", "decoding samples 60 %",
                                 "time outside steps 55 %", "waiting for commits 54 %", "computing 57 %"));
}

/// Workers that have their samples wait in the exchange for those that wait for the disk.
TEST(Answer, AStoreBindsWhoseDiskIsAlwaysBusy) {
  const std::vector<Bottleneck> parts = {{"computing", 0.13}, {"exchange", 0.6}, {"data", 0.27}};
  struct Row {
    std::optional<double> busy;
    const char* part;
    double share;
  };
  for (const Row& row :
       {Row{std::nullopt, "exchange", 0.6}, Row{0.0, "exchange", 0.6}, Row{0.94, "exchange", 0.6},
        Row{0.95, "the store", 0.95}, Row{1.002, "the store", 1.0}}) {
    const Bottleneck found = bottleneck_among(parts, row.busy);
    EXPECT_EQ(found.part, row.part) << row.busy.value_or(-1);
    EXPECT_DOUBLE_EQ(found.share, row.share) << row.busy.value_or(-1);
  }
  StudyResult uncached = fast("no-cache", 100), cached = fast("minio", 200);
  for (StudyResult* own : {&uncached, &cached}) {
    own->shares = TimeShares{.computing = 0.13, .data = 0.27, .exchange = 0.6, .other = 0.0};
    own->binding = Binding{.computing = 0.13, .data = 0.27, .exchange = 0.6};
  }
  uncached.storage_busy = 0.998;
  cached.storage_busy = 0.4;
  const Answer answer = answer_to({uncached, cached});
  std::vector<std::string> found;
  for (const auto& row : answer.panels[0].rows) found.push_back(row.bottlenecks);
  EXPECT_THAT(found, ElementsAre("the store 100 %", "exchange 60 %"));
  EXPECT_THAT(answer.points, ::testing::Contains(HasSubstr("the store where its disk reads for almost all")));
}

TEST(Answer, IsACsvWithARowPerConfiguration) {
  std::vector<StudyResult> configurations = {fast("bsp", 100, {{"platform", "quad, old"}}),
                                             fast("asp", 150, {{"platform", "quad, old"}})};
  configurations.push_back(failed_study_result(
      {.name = "x", .group = "", .algorithm = "esync", .coordinates = {{"platform", "lab"}}}, "dead\nlock"));
  const Study study = study_of(configurations);
  const std::string csv = study_csv(study, answer_of(study));
  EXPECT_THAT(csv, ::testing::StartsWith("configuration,variant,platform,workers,throughput,"));
  EXPECT_THAT(csv, HasSubstr("\"platform=quad, old/asp\",asp,\"quad, old\",8,150,"));
  EXPECT_THAT(csv, HasSubstr(",best,computing,\n"));
  EXPECT_THAT(csv, HasSubstr(",behind,computing,\n"));
  EXPECT_THAT(csv, HasSubstr("\nx,esync,lab,,"));
  EXPECT_THAT(csv, HasSubstr(",,,\"dead\nlock\"\n"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
