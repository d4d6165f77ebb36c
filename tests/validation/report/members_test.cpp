// Machines that depart, in the documents and pages of reports.
#include "validation/report/members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/member_results.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_page.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::member_row;
using ::testing::Not;
using testing::set_members;
using testing::two_departures;

VariantResults with_departures() {
  auto variant = testing::synthetic_variant({.name = "asp", .algorithm = "asp", .rounds = 200});
  set_members(variant.simulated, two_departures());
  variant.simulated.info.places = {{"lab-3", {.region = "east", .zone = "east-b"}}};
  for (auto& run : variant.measured) set_members(run, two_departures(0.02), 64);
  return variant;
}

Report report_of(const VariantResults& variant) {
  const CompareOptions quick{.resampling = {.resamples = 100}};
  return make_report(std::vector{variant}, validate({variant}, 0.1, quick), {.title = "lab", .commands = {}});
}

TEST(MembersDocument, HasBothWorlds) {
  const json document = to_json(report_of(with_departures()));
  const json& configuration = document["configurations"][0];
  const json& members = configuration["members"];
  EXPECT_EQ(members["departures"], json({{"simulated", 2.0}, {"measured", 2.0}}));
  EXPECT_EQ(members["differences"], json::array());
  EXPECT_EQ(members["batch"], 64);
  const json& detail = configuration["detail"]["members"];
  ASSERT_EQ(detail["occupants"].size(), 5U);
  EXPECT_EQ(detail["occupants"][2]["cause"], "lost");
  EXPECT_EQ(detail["occupants"][2]["region"], "east");
  EXPECT_EQ(detail["occupants"][2]["zone"], "east-b");
  EXPECT_FALSE(detail["occupants"][0].contains("region"));
  EXPECT_EQ(detail["occupants"][2]["departed_s"]["measured"], 1.0);
  const json& run = detail["simulated"];
  EXPECT_EQ(run["live"], json::parse("[[0.0, 4], [1.0, 3], [1.5, 4], [2.0, 3]]"));
  ASSERT_EQ(run["slots"].size(), 4U);
  EXPECT_EQ(run["slots"][2]["label"], "slot 2 on lab-3");
  EXPECT_EQ(run["slots"][2]["stays"][1]["joined_s"], 1.5);
  EXPECT_EQ(run["slots"][2]["stays"][1]["departed_s"], nullptr);
  EXPECT_EQ(configuration["metrics"]["simulated"]["membership"]["joined"], 5);
  EXPECT_EQ(to_json(report_from_json(json::parse(document.dump()), "report.json")), document);
}

TEST(MembersDocument, JobsWithoutDeparturesHaveNone) {
  const Report report = report_of(testing::synthetic_variant({}));
  const json document = to_json(report);
  const json& configuration = document["configurations"][0];
  EXPECT_EQ(configuration["members"], nullptr);
  EXPECT_EQ(configuration["detail"]["members"], nullptr);
  EXPECT_EQ(configuration["detail"]["timeline"]["ranks"][0]["members"]["simulated"], nullptr);
  EXPECT_THAT(report_markdown(report), Not(HasSubstr("Departures and arrivals")));
}

TEST(MembersDocument, OfManySlotsThoseWithMostMachinesAreShown) {
  Results results =
      testing::synthetic_run({.step_s = std::vector<double>(40, 0.02), .rounds = 8}, "simulated", {}, 1);
  testing::MemberRows rows;
  for (int slot = 0; slot < 40; ++slot) rows.push_back(member_row(0, slot, 1, "joined"));
  rows.push_back(member_row(0.1, 33, 1, "departed", "lost"));
  rows.push_back(member_row(0.2, 33, 2, "joined"));
  rows.push_back(member_row(0.2, -1, 0, "paused"));
  rows.push_back(member_row(0.25, -1, 0, "resumed"));
  set_members(results, rows);
  const auto slots = shown_slots({&results});
  ASSERT_EQ(slots.size(), most_slots);
  EXPECT_EQ(slots.back(), 33);
  const MembersOfRun run = members_of_run(results, slots);
  EXPECT_EQ(run.slots_left_out, 24U);
  EXPECT_EQ(run.pauses, (std::vector<std::pair<double, double>>{{0.2, 0.25}}));
}

TEST(MembersDocument, AWindowHasWhatFallsIntoIt) {
  Results results = testing::synthetic_run({.algorithm = "asp", .rounds = 200}, "simulated", {}, 1);
  set_members(results, two_departures());
  const WindowMembers window = members_in_window(results, 2, 0.75, 0.5).value();
  EXPECT_EQ(window.absent, (std::vector<std::pair<double, double>>{{0.25, 0.25}}));
  ASSERT_EQ(window.marks.size(), 1U);
  EXPECT_EQ(window.marks[0].time_s, 0.25);
  EXPECT_EQ(window.marks[0].kind, "departed");
  EXPECT_EQ(window.marks[0].text, "machine 1 departed (lost)");
  EXPECT_TRUE(members_in_window(results, 1, 0.75, 0.5).value().absent.empty());
}

TEST(MembersText, IsInEveryForm) {
  const Report report = report_of(with_departures());
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)}) {
    EXPECT_THAT(text, HasSubstr("Departures and arrivals of machines"));
    EXPECT_THAT(text, HasSubstr("Difference per departure"));
    EXPECT_THAT(text, HasSubstr("50.0 ms / 70.0 ms"));
    EXPECT_THAT(text, HasSubstr("the same in simulation and measurement in 1 of 1 configuration."));
    EXPECT_THAT(text, HasSubstr("steps of a worker per departure on average, and by at most "));
  }
  EXPECT_THAT(report_markdown(report), HasSubstr("| lost |"));
  EXPECT_THAT(report_html(report), HasSubstr("Factor on the learning rate"));
  EXPECT_THAT(report_html(report), HasSubstr("east-b"));
}

TEST(MembersText, DifferencesAreInEveryForm) {
  auto variant = with_departures();
  auto& rows = variant.measured[0].journal.membership;
  std::ranges::find(rows, "revoked", &MembershipRecord::cause)->cause = "lost";
  const Report report = report_of(variant);
  EXPECT_EQ(report.state, "INCONCLUSIVE");
  for (const auto& text : {summary_table(report), report_markdown(report), report_html(report)})
    EXPECT_THAT(text, HasSubstr("machine 1 of slot 3 (lab-4) was revoked in the simulation and lost in "));
}

TEST(MembersOfAResult, SamplesAddUpInWords) {
  Results results = testing::synthetic_run({.algorithm = "asp", .rounds = 200}, "simulated", {}, 1);
  EXPECT_FALSE(members_of_result(results));
  set_members(results, two_departures());
  const MembersOfResult members = members_of_result(results).value();
  EXPECT_THAT(members.summary, HasSubstr("2 departures, 1 arrival. Samples: "));
  EXPECT_THAT(members.summary, HasSubstr(" pending + "));
  EXPECT_EQ(members.events.size(), results.journal.membership.size());
  const Table table = events_table(members);
  ASSERT_EQ(table.rows.size(), members.events.size());
  EXPECT_EQ(table.rows[4].cells[4].text, "departed");
  EXPECT_EQ(table.rows[4].cells[5].text, "lost");
}

TEST(MembersOfAResult, SamplesThatAreDoneAgainAreNotAmongTheProcessedOnes) {
  Results results = testing::synthetic_run({.algorithm = "asp", .rounds = 200}, "simulated", {}, 1);
  results.info.experiment.recovery.mode = RecoveryMode::restart;
  results.info.generations = {{.ended = "departed", .lost_samples = 128}, {}};
  set_members(results, two_departures());
  EXPECT_THAT(members_of_result(results).value().summary,
              HasSubstr(" pending; 128 more were lost and done again."));
  results.info.generations[0].lost_samples.reset();
  EXPECT_THAT(members_of_result(results).value().summary,
              HasSubstr(" pending; more were lost and done again, their number is not known."));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
