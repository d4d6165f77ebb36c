// The verdict of a validation, as a table: what was found, and what it says.
#include "validation/compare/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  std::function<void(Evidence&)> change;
  Verdict verdict;
  std::string reason = {};  ///< part of one of the reasons; empty: there is none
  std::string advice = {};
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

/// Small errors, measured three times on a quiet machine.
Evidence good() {
  return {.tolerance = 0.1,
          .errors = {{"step time", 0.02, 0.01, 0.01},
                     {"throughput", 0.03, 0.01, 0.01},
                     {"makespan", 0.03, 0.01, 0.01}},
          .configurations = 6};
}

class Verdicts : public ::testing::TestWithParam<Case> {};

TEST_P(Verdicts, FollowFromTheEvidence) {
  Evidence evidence = good();
  GetParam().change(evidence);
  const Judgement judgement = judge(evidence);
  EXPECT_EQ(name_of(judgement.verdict), std::string(name_of(GetParam().verdict)));
  if (GetParam().advice.empty())
    EXPECT_TRUE(judgement.advice.empty()) << judgement.advice.front();
  else
    EXPECT_THAT(judgement.advice, ::testing::Contains(HasSubstr(GetParam().advice)));
  if (GetParam().reason.empty())
    EXPECT_TRUE(judgement.reasons.empty()) << judgement.reasons.front();
  else
    EXPECT_THAT(judgement.reasons, ::testing::Contains(HasSubstr(GetParam().reason)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, Verdicts,
    ::testing::Values(
        Case{"SmallErrors", [](Evidence&) {}, Verdict::passed},
        Case{"Exactly the tolerance", [](Evidence& e) { e.errors[0].error = 0.1; }, Verdict::passed},
        Case{"Intervals that hold nine of ten runs",
             [](Evidence& e) {
               e.interval_runs = 40;
               e.interval_inside = 36;
             },
             Verdict::passed},
        Case{"Intervals that hold too few runs",
             [](Evidence& e) {
               e.interval_runs = 40;
               e.interval_inside = 28;
             },
             Verdict::failed, "the simulated 90 % intervals of step time hold 28 of 40 measured runs"},
        Case{"Too few runs to doubt the intervals",
             [](Evidence& e) {
               e.interval_runs = 2;
               e.interval_inside = 1;
             },
             Verdict::passed},
        Case{"A warning", [](Evidence& e) { e.warnings = {"measured once"}; }, Verdict::passed_with_warnings,
             "measured once"},
        Case{"Step time beyond", [](Evidence& e) { e.errors[0].error = 0.12; }, Verdict::failed,
             "the error of step time is 12 %, the tolerance 10 %"},
        Case{"Throughput beyond, as seen with a step time of 2 %",
             [](Evidence& e) { e.errors[1].error = 0.47; }, Verdict::failed,
             "the error of throughput is 47 %"},
        Case{"Makespan beyond", [](Evidence& e) { e.errors[2].error = 0.2; }, Verdict::failed, "makespan"},
        Case{"Not a number",
             [](Evidence& e) { e.errors[2].error = std::numeric_limits<double>::quiet_NaN(); },
             Verdict::failed, "makespan"},
        Case{"Another order", [](Evidence& e) { e.swapped = "'bsp' and 'asp'", e.swapped_gap = 0.08; },
             Verdict::failed, "order 'bsp' and 'asp' differently, though 8 % apart"},
        Case{"Another order weighs more than a warning",
             [](Evidence& e) { e.swapped = "'a' and 'b'", e.warnings = {"measured once"}; }, Verdict::failed,
             "order"},
        Case{"Noise floor above the tolerance", [](Evidence& e) { e.errors[1].noise_floor = 0.14; },
             Verdict::inconclusive, "two measured runs differ by 14 % in throughput", "repetitions"},
        Case{"Noise explains a large error",
             [](Evidence& e) { e.errors[1].error = e.errors[1].noise_floor.emplace(0.3); },
             Verdict::inconclusive, "the error of throughput is 30 %", "repetitions"},
        Case{"Interval wider than the tolerance", [](Evidence& e) { e.errors[0].half_width = 0.11; },
             Verdict::inconclusive, "known to +-11 % only", "repetitions"},
        Case{"Disturbed", [](Evidence& e) { e.disturbed = 1; }, Verdict::inconclusive,
             "1 of 6 configurations", "end other programs"},
        Case{"A few of many are disturbed", [](Evidence& e) { e.configurations = 100, e.disturbed = 10; },
             Verdict::passed},
        Case{"The calibration was disturbed",
             [](Evidence& e) { e.disturbed_calibration = e.configurations, e.calibration_load = 0.85; },
             Verdict::inconclusive, "used 85 % of the machine during the calibration", "calibrate again"},
        Case{"The only one is disturbed", [](Evidence& e) { e.configurations = 1, e.disturbed = 1; },
             Verdict::inconclusive, "other programs used the processor", "end other programs"},
        Case{"Another network, at any error",
             [](Evidence& e) { e.errors[1].error = 5, e.other_origin = "this machine's own network"; },
             Verdict::inconclusive, "no errors of a prediction: this machine's own network", "--cluster"},
        Case{"Another network, and different work",
             [](Evidence& e) { e.other_origin = "own", e.failed_gate = "different operations in 'bsp'"; },
             Verdict::failed, "did not do the same work"},
        Case{"Different machines", [](Evidence& e) { e.other_members = "machine 1 of slot 2"; },
             Verdict::inconclusive, "different machines departed or arrived", "make both again"},
        Case{"Nothing is revoked",
             [](Evidence& e) { e.other_members = "machine 1 of slot 2", e.revokes_nothing = true; },
             Verdict::inconclusive, "different machines departed or arrived", "run.revoke=kill"},
        Case{"A failed configuration", [](Evidence& e) { e.failed = 1, e.disturbed = 6; }, Verdict::failed,
             "1 of 6 configurations failed"},
        Case{"Different work", [](Evidence& e) { e.failed_gate = "different operations in 'bsp'"; },
             Verdict::failed, "did not do the same work: different operations in 'bsp'"},
        Case{"Nothing to compare", [](Evidence& e) { e.errors.clear(); }, Verdict::failed,
             "nothing could be compared"}));

TEST(Verdicts, OnlyTwoOfThemPass) {
  EXPECT_TRUE(is_pass(Verdict::passed));
  EXPECT_TRUE(is_pass(Verdict::passed_with_warnings));
  EXPECT_FALSE(is_pass(Verdict::inconclusive));
  EXPECT_FALSE(is_pass(Verdict::failed));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
