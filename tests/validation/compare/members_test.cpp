// Machines that depart and arrive, compared: the same in both, changed records, lags, lost samples.
#include "validation/compare/members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "tests/support/member_results.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/compare/summary.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemberRows;
using testing::set_members;
using testing::two_departures;

const CompareOptions quick{.resampling = {.resamples = 200}};

/// One measured run that is the simulation again.
VariantResults twins(int repetitions = 1) {
  VariantResults variant{
      "asp", testing::synthetic_run({.algorithm = "asp", .rounds = 200}, "simulated", {}, 1), {}};
  set_members(variant.simulated, two_departures());
  for (int i = 0; i < repetitions; ++i) {
    variant.measured.push_back(variant.simulated);
    variant.measured.back().info.world = "measured";
    variant.measured.back().path = "run-" + std::to_string(i);
  }
  return variant;
}

Members members_of(const VariantResults& variant) {
  auto members = compare_members(variant.simulated, variant.measured);
  EXPECT_TRUE(members);
  return members.value_or(Members());
}

TEST(CompareMembers, AJobHasNoDifferenceToItself) {
  const auto variant = twins();
  const Members members = members_of(variant);
  EXPECT_THAT(members.differences, IsEmpty());
  EXPECT_EQ(members.after_the_end, 0);
  EXPECT_EQ(members.occupants.size(), 5U);
  EXPECT_EQ(members.departures.simulated, 2);
  EXPECT_EQ(members.arrivals.measured, 1);
  EXPECT_EQ(members.largest_shift(), 0.0);
  EXPECT_EQ(members.lost_per_departure(), 0.0);
  const auto validation = validate({variant}, 0.1, quick);
  EXPECT_TRUE(validation.passed()) << validation.verdict;
  for (const auto& figure : validation.configurations[0].comparison->figures)
    EXPECT_EQ(figure.error, 0.0) << figure.key;
  EXPECT_EQ(validation.configurations[0].comparison->figure("departures").simulated, 2);
}

TEST(CompareMembers, AreNotComparedWhereNoMachineDeparts) {
  const auto variant = testing::synthetic_variant({});
  EXPECT_FALSE(compare_members(variant.simulated, variant.measured));
}

/// Changes the rows of the measured run, and expects this difference and an inconclusive verdict.
void expect_found(const std::function<void(MemberRows&)>& change, const std::string& difference) {
  auto variant = twins();
  MemberRows rows = two_departures();
  change(rows);
  set_members(variant.measured[0], rows);
  const Members members = members_of(variant);
  EXPECT_THAT(members.differences, Contains(HasSubstr(difference)));
  const auto validation = validate({variant}, 0.1, quick);
  EXPECT_EQ(validation.judgement.verdict, Verdict::inconclusive) << difference;
  EXPECT_THAT(validation.verdict, HasSubstr("simulation and measurement: " + members.differences.front()));
  ASSERT_FALSE(validation.judgement.reasons.empty());
  EXPECT_THAT(validation.judgement.reasons.front(), HasSubstr(members.differences.front()));
  EXPECT_FALSE(validation.judgement.advice.empty());
}

MembershipRecord& row_of(MemberRows& rows, const std::string& event, int slot) {
  return *std::ranges::find_if(rows, [&](const auto& row) { return row.event == event && row.slot == slot; });
}

TEST(CompareMembers, ChangedRecordsAreFound) {
  expect_found([](MemberRows& rows) { std::erase_if(rows, [](const auto& row) { return row.slot == 3; }); },
               "machine 1 of slot 3 (lab-4) joined at 0 s in the simulation and not in run-0");
  expect_found(
      [](MemberRows& rows) {
        std::erase_if(rows, [](const auto& row) { return row.slot == 3 && row.event != "joined"; });
      },
      "machine 1 of slot 3 (lab-4) departed at 2 s in the simulation and not in run-0");
  expect_found([](MemberRows& rows) { row_of(rows, "departed", 2).cause = "revoked"; },
               "machine 1 of slot 2 (lab-3) was lost in the simulation and revoked in run-0");
  expect_found([](MemberRows& rows) { row_of(rows, "departed", 3).time = Seconds(1.2); },
               "machine 1 of slot 3 (lab-4) lived for 2 s in the simulation and for 1.2 s in run-0");
  expect_found([](MemberRows& rows) { rows.push_back(testing::member_row(0.5, 1, 1, "departed", "lost")); },
               "machine 1 of slot 1 (lab-2) departed at 0.5 s in run-0 and not in the simulation");
  expect_found(
      [](MemberRows& rows) {
        for (auto& row : rows)
          if (row.incarnation == 2) row.incarnation = 3;
      },
      "machine 2 of slot 2 (lab-3) joined at 1.5 s in the simulation and not in run-0");
}

/// When a newcomer comes up depends on the job, its lifetime does not.
TEST(CompareMembers, OnlyTheLifetimeOfALaterMachineCounts) {
  auto variant = twins();
  const auto rows_with = [](double shift_s) {
    MemberRows rows = two_departures();
    row_of(rows, "ready", 2).time = Seconds(1.5 + shift_s);
    rows.push_back(testing::member_row(2.4 + shift_s, 2, 2, "departed", "lost"));
    return rows;
  };
  set_members(variant.simulated, rows_with(0));
  set_members(variant.measured[0], rows_with(0.4));
  const Members members = members_of(variant);
  EXPECT_THAT(members.differences, IsEmpty());
  EXPECT_NEAR(members.largest_shift().value(), 0.4, 1e-12);
}

TEST(CompareMembers, WhatHappensAfterTheEndOfOneIsNoDifference) {
  auto variant = twins(2);
  const double end = variant.simulated.summary.makespan_s;
  MemberRows rows = two_departures();
  rows.push_back(testing::member_row(end + 0.5, 0, 1, "departed", "lost"));
  set_members(variant.measured[1], rows);
  const Members members = members_of(variant);
  EXPECT_THAT(members.differences, IsEmpty());
  EXPECT_EQ(members.after_the_end, 1);
  EXPECT_EQ(members.departures.measured, 2.5);
}

TEST(CompareMembers, LagsAreThoseAfterDepartures) {
  auto variant = twins();
  set_members(variant.measured[0], two_departures(0.02));
  const Members members = members_of(variant);
  EXPECT_THAT(members.differences, IsEmpty());
  const auto noticed = members.mean(&ComparedOccupant::noticed_after);
  EXPECT_NEAR(noticed.simulated.value(), 0.05, 1e-12);
  EXPECT_NEAR(noticed.measured.value(), 0.07, 1e-12);
  const auto gone = members.mean(&ComparedOccupant::gone_after);
  EXPECT_NEAR(gone.simulated.value(), 0.035, 1e-12);
  EXPECT_NEAR(gone.measured.value(), 0.055, 1e-12);
}

TEST(CompareMembers, LostSamplesAreComparedPerDeparture) {
  auto variant = twins();
  // In the measured run, 128 more were accepted for an update that never came.
  const auto lost = variant.simulated.summary.membership.value().lost_samples.value();
  set_members(variant.measured[0], two_departures(), 128);
  const Members members = members_of(variant);
  EXPECT_EQ(members.lost_samples.simulated, static_cast<double>(lost));
  EXPECT_EQ(members.lost_samples.measured, static_cast<double>(lost - 128));
  EXPECT_EQ(members.lost_per_departure(), 64.0);
  EXPECT_EQ(members.batch, 64);
  EXPECT_EQ(members.lost_steps_per_departure(), 1.0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
