// Conclusions from all variants: error, ranking, regret, verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/check.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/compare/summary.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::six_variants;
using testing::synthetic_variant;
using testing::SyntheticReality;

const CompareOptions quick{.resampling = {.resamples = 100}};

TEST(Rank, TheSameOrderHasNoRegret) {
  const auto ranking = rank({"a", "b", "c"}, {10, 30, 20}, {11, 33, 22});
  EXPECT_NEAR(*ranking.spearman, 1, 1e-12);
  EXPECT_TRUE(ranking.same_order);
  EXPECT_TRUE(ranking.same_best);
  EXPECT_EQ(ranking.regret, 0);
  EXPECT_EQ(ranking.largest_swapped_gap, 0);
  EXPECT_EQ(ranking.variants[0].name, "b");
  EXPECT_EQ(ranking.variants[2].name, "a");
}

TEST(Rank, RegretIsTheLossFromTheWrongChoice) {
  const auto ranking = rank({"a", "b"}, {30, 20}, {20, 25});
  EXPECT_NEAR(*ranking.spearman, -1, 1e-12);
  EXPECT_FALSE(ranking.same_best);
  EXPECT_DOUBLE_EQ(ranking.regret, 0.25);
  EXPECT_EQ(ranking.variants[0].simulated_place, 2);
}

TEST(Rank, SwappingWorseVariantsKeepsTheBest) {
  const auto ranking = rank({"a", "b", "c"}, {30, 20, 10}, {30, 10, 20});
  EXPECT_TRUE(ranking.same_best);
  EXPECT_FALSE(ranking.same_order);
  EXPECT_DOUBLE_EQ(ranking.largest_swapped_gap, 1.0);  // c is measured twice as fast as b
}

TEST(Rank, NearlyEqualVariantsTie) {
  EXPECT_TRUE(rank({"a", "b", "c"}, {30, 10.1, 10.2}, {30, 10.2, 10.1}).same_order);
  EXPECT_FALSE(rank({"a", "b", "c"}, {30, 10.1, 10.2}, {30, 10.9, 10.1}).same_order);
}

TEST(Rank, ASwapWithinATieIsStillReported) {
  const auto tied = rank({"a", "b", "c"}, {30, 20, 21}, {30, 20.2, 20});
  EXPECT_TRUE(tied.same_order);
  EXPECT_NEAR(tied.largest_swapped_gap, 0.01, 1e-12);
  EXPECT_LT(*tied.spearman, 1) << "ties do not improve the correlation";
}

// ---- Speed-ups ----

const RankedVariant& variant_of(const Ranking& ranking, const std::string& name) {
  for (const auto& variant : ranking.variants)
    if (variant.name == name) return variant;
  ADD_FAILURE() << "no variant " << name;
  return ranking.variants.front();
}

TEST(SpeedUp, IsThroughputOverThatOfBspInBothWorlds) {
  const auto validation = validate(six_variants(), 0.1, quick);
  const auto& group = validation.headline().groups.front();
  const auto throughput = [&](std::size_t i) {
    return validation.configurations[i].comparison->figure("throughput");
  };
  const auto& asp = variant_of(group, "asp");
  EXPECT_EQ(asp.baseline, "bsp") << "not a variant over an all-reduce";
  EXPECT_DOUBLE_EQ(*asp.speed_up.simulated, throughput(1).simulated / throughput(0).simulated);
  EXPECT_DOUBLE_EQ(*asp.speed_up.measured, throughput(1).measured / throughput(0).measured);
  EXPECT_GT(*asp.speed_up.measured, 1);
  EXPECT_EQ(variant_of(group, "bsp").speed_up.simulated, 1);
  EXPECT_FALSE(asp.target);
  EXPECT_EQ(validation.headline().speed_ups, 5);
  double sum = 0;
  for (const auto& variant : group.variants)
    sum += std::abs(relative_error(*variant.speed_up.simulated, *variant.speed_up.measured));
  EXPECT_NEAR(*validation.headline().speed_up_mape, sum / 5, 1e-12);
}

TEST(SpeedUp, WithoutAServerTheBaselineIsBspOverAllReduce) {
  const auto validation = validate({synthetic_variant({.name = "local-sgd", .algorithm = "local-sgd"}),
                                    synthetic_variant({.name = "ring", .over = sync::Route::all_reduce})},
                                   0.1, quick);
  EXPECT_EQ(variant_of(validation.headline().groups.front(), "local-sgd").baseline, "ring");
}

TEST(SpeedUp, RequiresBspOnTheSameTask) {
  auto variants = std::vector{synthetic_variant({}), synthetic_variant({.name = "asp", .algorithm = "asp"}),
                              synthetic_variant({.name = "esync", .algorithm = "esync"})};
  const auto rename = [](Results& results) { results.info.experiment.workload.model = "resnet18"; };
  rename(variants[1].simulated);
  for (auto& run : variants[1].measured) rename(run);
  const auto validation = validate(variants, 0.1, quick);
  const auto& group = validation.headline().groups.front();
  EXPECT_EQ(variant_of(group, "asp").baseline, "");
  EXPECT_FALSE(variant_of(group, "asp").speed_up.simulated);
  EXPECT_EQ(variant_of(group, "esync").baseline, "bsp");
  EXPECT_EQ(validation.headline().speed_ups, 1);
}

TEST(SpeedUp, ToATargetIsTheRatioOfTimes) {
  const SyntheticReality exact{.compute_bias = 0, .exchange_bias = 0, .noise = 0};
  auto variants = std::vector{
      synthetic_variant({.target_accuracy = 0.7}, exact),
      synthetic_variant({.name = "asp", .algorithm = "asp", .exchange_s = 0.009, .target_accuracy = 0.7},
                        exact)};
  auto validation = validate(variants, 0.1, quick);
  const auto time = [&](std::size_t i) {
    return *validation.configurations[i].comparison->target->simulated;
  };
  const RankedVariant asp = variant_of(validation.headline().groups.front(), "asp");
  EXPECT_EQ(asp.target, 0.7);
  EXPECT_DOUBLE_EQ(*asp.target_speed_up.simulated, time(0) / time(1));
  EXPECT_NEAR(*asp.target_speed_up.measured, *asp.target_speed_up.simulated, 1e-9);
  // If one repetition misses the target, there is no mean time.
  for (auto& evaluation : variants[1].measured.back().journal.evaluations) evaluation.accuracy = 0.1;
  validation = validate(variants, 0.1, quick);
  const RankedVariant& missed = variant_of(validation.headline().groups.front(), "asp");
  EXPECT_TRUE(missed.target_speed_up.simulated);
  EXPECT_FALSE(missed.time_to_target.measured);
  EXPECT_FALSE(missed.target_speed_up.measured);
}

TEST(Validate, SmallErrorsPass) {
  const auto validation = validate(six_variants({.compute_bias = 0.02, .exchange_bias = 0.05}), 0.1, quick);
  EXPECT_TRUE(validation.passed()) << validation.verdict;
  EXPECT_LT(validation.mape, 0.1);
  EXPECT_LT(validation.bias, 0);
  EXPECT_LE(std::abs(validation.bias), validation.mape);
  EXPECT_LE(validation.mape, std::abs(validation.worst));
  EXPECT_THAT(validation.verdict,
              HasSubstr("The simulation predicts step time within 10 %: mean absolute error"));
  EXPECT_THAT(validation.verdict, HasSubstr("over 6 variants"));
  EXPECT_EQ(validation.configurations.size(), 6U);
}

TEST(Validate, LargeErrorsFail) {
  const auto validation = validate(six_variants({.compute_bias = 0.4, .exchange_bias = 0.4}), 0.1, quick);
  EXPECT_FALSE(validation.passed());
  EXPECT_TRUE(validation.gates_hold);
  EXPECT_NEAR(validation.mape, 1 - 1 / 1.4, 0.03);
  EXPECT_THAT(validation.verdict, HasSubstr("does not predict step time within 10 %"));
}

TEST(Validate, TheToleranceDecides) {
  const auto variants = std::vector{synthetic_variant({})};
  const auto validation = validate(variants, 0.1, quick);
  double error = 0;
  for (const char* key : {"step_time", "throughput", "makespan"})
    error = std::max(error, validation.headline().find(key)->mape);
  EXPECT_TRUE(validate(variants, error * 1.01, quick).passed());
  EXPECT_FALSE(validate(variants, error * 0.99, quick).passed());
}

/// Otherwise, a phase that only one of five variants has would count with a fifth of its error.
TEST(Validate, VariantsWithoutAPhaseDoNotCountForIt) {
  auto variants = std::vector{synthetic_variant({}), synthetic_variant({.name = "silent"})};
  const auto with = validate({variants.front()}, 0.1, quick);
  const auto silence = [](Results& results) {
    for (auto& step : results.journal.steps)
      step.phases[static_cast<std::size_t>(Phase::exchange)] = Seconds(0);
  };
  silence(variants.back().simulated);
  for (auto& run : variants.back().measured) silence(run);
  const auto both = validate(variants, 0.1, quick);
  const auto* errors = both.headline().find("phase.exchange");
  ASSERT_NE(errors, nullptr);
  EXPECT_EQ(errors->count, 1);
  EXPECT_EQ(errors->mape, with.headline().find("phase.exchange")->mape);
}

TEST(Validate, AFailedGateFailsAtAnyError) {
  auto variants = std::vector{synthetic_variant({}, {.compute_bias = 0, .exchange_bias = 0, .noise = 0})};
  EXPECT_TRUE(validate(variants, 0.1, quick).passed());
  variants[0].measured[0].journal.operations.pop_back();
  const auto validation = validate(variants, 0.1, quick);
  EXPECT_FALSE(validation.passed());
  EXPECT_EQ(validation.mape, 0);
  EXPECT_THAT(validation.verdict, HasSubstr("did not do the same work: different operations in 'bsp'"));
}

/// Results of this machine's own network say nothing about a simulation of the platform's links.
TEST(Validate, AnotherNetworkIsNoErrorOfPrediction) {
  auto variants = std::vector{synthetic_variant({})};
  variants[0].simulated.info.network = NetworkOrigin{.kind = "simulated", .of = "platform"};
  const auto validation = validate(variants, 0.1, quick);
  EXPECT_EQ(validation.judgement.verdict, Verdict::inconclusive);
  for (const std::string& text : {validation.verdict, validation.judgement.reasons.front()})
    EXPECT_THAT(text, HasSubstr("errors of a prediction: the simulation used the links of mixed_lab.xml, the "
                                "measurement this machine's own network"));
  EXPECT_THAT(validation.judgement.advice.front(), HasSubstr("--cluster"));
}

TEST(Validate, OtherDevicesAreNoErrorOfPrediction) {
  auto variants = std::vector{synthetic_variant({})};
  for (auto& run : variants[0].measured) run.info.devices = "cpu";
  EXPECT_THAT(validate(variants, 0.1, quick).verdict, HasSubstr("this machine's own processors computed"));
  variants[0].simulated.info.devices = "calibrated";
  EXPECT_EQ(validate(variants, 0.1, quick).configurations[0].comparison->origin.difference, "");
}

TEST(Validate, AnUnknownNetworkIsAWarning) {
  auto variants = std::vector{synthetic_variant({}, {.compute_bias = 0, .exchange_bias = 0, .noise = 0.001})};
  EXPECT_EQ(validate(variants, 0.1, quick).judgement.verdict, Verdict::passed);
  for (auto& run : variants[0].measured) {
    run.info.network.reset();
    run.info.devices = "";
  }
  const auto validation = validate(variants, 0.1, quick);
  EXPECT_EQ(validation.judgement.verdict, Verdict::passed_with_warnings);
  EXPECT_THAT(validation.judgement.reasons, ElementsAre(HasSubstr("do not say whose network and devices")));
}

TEST(Validate, WorkThatWasNotComparedIsAWarningWithItsReason) {
  const SyntheticReality small{.compute_bias = 0, .exchange_bias = 0, .noise = 0.001};
  auto unrecorded = synthetic_variant({}, small);
  unrecorded.simulated.journal.operations.clear();
  const auto validation =
      validate({unrecorded, synthetic_variant({.name = "asp", .algorithm = "asp"}, small)}, 0.1, quick);
  EXPECT_THAT(validation.judgement.reasons,
              ElementsAre(AllOf(HasSubstr("1 of 2"), HasSubstr("asp decides by durations")),
                          AllOf(HasSubstr("1 of 2"), HasSubstr("not recorded in both"))));
}

TEST(Validate, AProfileOfABusyMachineProvesNothing) {
  auto variants = six_variants();
  for (auto& variant : variants) variant.simulated.info.network.value().calibration_load = 0.5;
  const auto validation = validate(variants, 0.1, quick);
  EXPECT_EQ(validation.judgement.verdict, Verdict::inconclusive);
  EXPECT_THAT(validation.judgement.reasons, ElementsAre(HasSubstr("50 % of the machine")));
}

TEST(Validate, TheBestIsSaidInWordsWithTheQuestionAndWarnings) {
  auto variants = six_variants();
  variants[0].simulated.info.warnings = variants[1].simulated.info.warnings = {"nobody reads the disk"};
  const auto validation = validate(variants, 0.1, quick);
  EXPECT_THAT(validation.best, HasSubstr("processes the most samples per second"));
  EXPECT_THAT(validation.best, HasSubstr("x the throughput of bsp ("));
  EXPECT_EQ(validation.question,
            "model lenet (61,706 parameters) on 60,000 images; batch 64 on each of 4 workers");
  // Accuracies are compared, and the algorithms update the model differently often.
  EXPECT_THAT(validation.warnings, ElementsAre(HasSubstr("Configurations have one learning rate (0.01)"),
                                               "nobody reads the disk"));
}

TEST(Validate, OneVariantHasNoRanking) {
  const auto validation = validate({synthetic_variant({})}, 0.1, quick);
  EXPECT_TRUE(validation.headline().groups.empty());
  EXPECT_THAT(validation.verdict, HasSubstr("within 10 %: error "));
  EXPECT_THROW(validate({}, 0.1, quick), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
