// What jobs on rented machines cost, as the shipped experiment says in both worlds, against bills by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return rest_of(file);
}

class Rented : public ::testing::Test {
 protected:
  static std::string experiment() {
    return "'" + source_folder() + "/workloads/experiments/rented.yaml' --set stop.rounds=20";
  }
  CommandResult job(const std::string& words) const {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result;
  }
  json summary(const std::string& out) const {
    return json::parse(text_of(line_.folder() / out / "summary.json"));
  }
  /// The rows of cost.csv, by column.
  std::vector<std::map<std::string, std::string>> bills(const std::string& out) const {
    std::istringstream lines(text_of(line_.folder() / out / "cost.csv"));
    std::vector<std::string> names;
    std::vector<std::map<std::string, std::string>> rows;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      std::vector<std::string> values;
      for (std::string cell; std::getline(cells, cell, ',');) values.push_back(cell);
      if (names.empty()) {
        names = values;
        continue;
      }
      for (std::size_t i = 0; i < names.size(); ++i)
        (i == 0 ? rows.emplace_back() : rows.back())[names[i]] = values[i];
    }
    return rows;
  }
  /// In millionths of a dollar.
  static std::int64_t micros(const std::string& dollars) { return std::llround(std::stod(dollars) * 1e6); }

  /// Each stay is billed by begun minutes, at least one; the parts sum to the bill, and the bills to the
  /// total.
  double checked_total(const std::string& out) const {
    std::int64_t sum = 0, parts = 0;
    for (auto& row : bills(out)) {
      const double minutes = std::max(1.0, std::ceil(std::stod(row["stay_s"]) / 60.0 - 1e-7));
      EXPECT_DOUBLE_EQ(std::stod(row["billed_s"]), 60.0 * minutes);
      EXPECT_NEAR(std::stod(row["cost"]), std::stod(row["price_per_hour"]) * minutes / 60.0, 0.6e-6);
      sum += micros(row["cost"]);
      for (const char* use : {"useful", "wasted", "idle", "waiting"}) parts += micros(row[use]);
    }
    const json cost = summary(out).at("cost");
    EXPECT_EQ(micros(cost.at("total").dump()), sum);
    EXPECT_EQ(parts, sum);
    return cost.at("total").get<double>();
  }
  CommandLine line_;
};

// Machines that stay, by hand: four workers and a server from the first to the last moment, by begun minutes.
TEST_F(Rented, MachinesThatStayCostTheirTime) {
  const auto result = job("simulate " + experiment() + " --variant on-demand --out out");
  EXPECT_THAT(result.output, HasSubstr("prices of 2024-10-01"));
  const double minutes = std::ceil(summary("out").at("makespan_s").get<double>() * 60.0);
  EXPECT_NEAR(checked_total("out"), (4 * 0.526 + 0.192) * minutes / 60.0, 3e-6);
  EXPECT_EQ(summary("out").at("cost").at("wasted").get<double>() > 0.1, false) << "begun minutes only";
}

TEST_F(Rented, DoublePricesDoubleTheCost) {
  const auto cost_of = [&](double factor) {
    const auto price = [&](double dollars) { return std::to_string(factor * dollars); };
    std::string text = text_of(source_folder() + "/platforms/offers_lab.xml");
    text = std::regex_replace(
        text, std::regex("\"offer\" value=\"azure[^\"]* spot\""),
        "\"device\" value=\"t4\"/><prop id=\"price_per_hour\" value=\"" + price(0.0627) + '"');
    text = std::regex_replace(text, std::regex("value=\"0.192\""), "value=\"" + price(0.192) + '"');
    const std::string platform = line_.write("priced.xml", text);
    const auto result = job("simulate " + experiment() + " --variant spot --set 'platform=" + platform +
                            "' --out out --force");
    std::smatch printed;
    EXPECT_TRUE(std::regex_search(result.output, printed, std::regex("cost: \\$([0-9.]+) for")))
        << result.output;
    return std::pair(std::stod(printed[1]), summary("out").at("cost").at("total").get<double>());
  };
  const auto [printed, once] = cost_of(1);
  const auto [printed_twice, twice] = cost_of(2);
  EXPECT_NEAR(twice, 2 * once, 20e-6) << "each bill is rounded to a millionth";
  EXPECT_NEAR(printed_twice, 2 * printed, 0.011);
  EXPECT_GT(printed, 0.1);
}

/// The servers are on machines that all depart at one time, with every copy of their commits, or but for
/// those on the machine that stays, which is paid, too.
TEST_F(Rented, BackupsOnAMachineThatStaysKeepTheCommits) {
  const auto lost = job("simulate " + experiment() + " --variant bursts --out lost");
  const auto kept = job("simulate " + experiment() + " --variant backups --out kept");
  EXPECT_THAT(lost.output, HasSubstr("commits were lost with the last copy of one of their parts"));
  EXPECT_THAT(kept.output, HasSubstr("started again"));
  EXPECT_THAT(kept.output, Not(HasSubstr("commits were lost")));
  EXPECT_LT(summary("kept").at("makespan_s").get<double>(), summary("lost").at("makespan_s").get<double>());
  const auto roles = [&](const std::string& out) { return summary(out).at("cost").at("roles"); };
  EXPECT_TRUE(roles("kept").contains("keeper"));
  EXPECT_FALSE(roles("lost").contains("keeper"));
}

TEST_F(Rented, JobsWithoutPricesHaveNoBill) {
  const auto result = line_.tandem("simulate " + line_.experiment() + " --out out");
  EXPECT_THAT(result.output, Not(HasSubstr("cost:")));
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out" / "cost.csv"));
  EXPECT_FALSE(summary("out").contains("cost"));
}

TEST_F(Rented, AnUnknownOfferIsRefusedWithItsLine) {
  std::string text = text_of(source_folder() + "/platforms/offers_lab.xml");
  text = std::regex_replace(text, std::regex("eastus Standard_NC4as_T4_v3 spot"), "nowhere spot");
  const auto result = line_.tandem("show " + line_.write("lost.xml", text));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("lost.xml:"));
  EXPECT_THAT(result.output, HasSubstr("property 'offer': expected an offer of platforms/offers.csv"));
}

#ifdef TANDEM_TESTS_RUN
// The same machines depart in both worlds; devices are emulated, so a real run is not shorter.
TEST_F(Rented, ARealRunPaysForTheSameStays) {
  const auto simulated = job("simulate " + experiment() + " --variant spot --out simulated");
  const auto measured = job("run " + experiment() + " --variant spot --out measured");
  EXPECT_THAT(measured.output, HasSubstr("cost: $"));
  const double foretold = checked_total("simulated"), paid = checked_total("measured");
  EXPECT_GT(paid, 0.9 * foretold);
  const auto stays = [&](const std::string& out) {
    std::vector<std::string> found;
    for (auto& row : bills(out))
      if (row["ended"] == "revoked") found.push_back(row["machine"] + ' ' + row["incarnation"]);
    return found;
  };
  EXPECT_THAT(stays("simulated"), Not(::testing::IsEmpty()));
  EXPECT_THAT(stays("measured"), ::testing::IsSupersetOf(stays("simulated")));
  for (const char* out : {"simulated", "measured"})
    EXPECT_GT(summary(out).at("cost").at("wasted").get<double>(), 0.0) << out;
}
#endif

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
