// workloads/systems.md has a row for each flag, mode and figure of the published systems. Its rows with an
// experiment are simulated here, with the feature and without it: the figures are those of the page, so that
// a row fails when the base policy takes the place of the feature. Rows marked * run in ./check --long.
// Suites measure the rows, by smaller jobs; their figures on the page are those of
// validation/reports/systems.csv.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/table_cells.hpp"
#include "validation/campaign/suite.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A row with an experiment: it is simulated.
struct Row {
  std::string name;        ///< system and published name
  std::string experiment;  ///< the file, from workloads/, and settings of both simulations
  std::string with;        ///< the variant, and settings; or settings alone
  std::string without;
  std::string figure;    ///< place in summary.json: "cost.total"
  std::string expected;  ///< what the page says, with and without: "266.8 / 328.5 s"
  std::string measured;  ///< likewise, then the spread and more; "-": not measured
  bool is_long = false;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

/// Any row of the page.
struct Entry {
  std::string name;
  std::string here;                  ///< keys and commands
  std::optional<std::string> proof;  ///< of rows without an experiment
};

struct Page {
  std::vector<Row> rows;
  std::vector<Entry> entries;
};

std::string without_ticks(std::string text) {
  std::erase(text, '`');
  return text;
}

/// The page's two kinds of tables, by the cells of their heads.
const std::vector<std::string> simulated = {"published", "here",   "experiment", "with",
                                            "without",   "figure", "simulated",  "measured"};
const std::vector<std::string> proven = {"published", "here", "proof"};

Page read_page() {
  Page page;
  std::ifstream file(testing::source_folder() + "/workloads/systems.md");
  std::string system;
  std::vector<std::string> head;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) system = line.substr(3);
    if (!line.starts_with("|")) {
      head.clear();
      continue;
    }
    const std::vector<std::string> cells = cells_of(line.substr(1));
    if (head.empty()) head = cells;
    if (cells == head || cells.front().starts_with("---")) continue;
    const std::string name = system + ": " + without_ticks(cells.front());
    if (cells.size() != head.size()) throw std::runtime_error(name + ": cells missing");
    if (head == simulated) {
      const bool is_long = cells[2].ends_with('*');
      const std::string experiment =
          without_ticks(is_long ? cells[2].substr(0, cells[2].size() - 1) : cells[2]);
      page.rows.push_back({name, experiment, without_ticks(cells[3]), without_ticks(cells[4]),
                           without_ticks(cells[5]), cells[6], cells[7], is_long});
      page.entries.push_back({name, cells[1], std::nullopt});
    } else if (head == proven) {
      page.entries.push_back({name, cells[1], cells[2]});
    } else {
      throw std::runtime_error(name + ": a table of another kind");
    }
  }
  return page;
}

const Page& page() {
  static const Page read = read_page();
  return read;
}

std::vector<Row> rows_of(bool is_long) {
  std::vector<Row> own;
  std::ranges::copy_if(page().rows, std::back_inserter(own),
                       [&](const Row& row) { return row.is_long == is_long; });
  return own;
}

struct Both {
  double with, without;
};

/// "266.8 / 328.5 s": both, in the units of summary.json. `name`: of the row.
Both both_of(const std::string& name, const std::string& text) {
  static const std::map<std::string, double> factors = {{"", 1},     {"s", 1},    {"ms", 1e-3},
                                                        {"%", 0.01}, {"kB", 1e3}, {"MB", 1e6},
                                                        {"GB", 1e9}, {"$", 1},    {"/s", 1}};
  std::istringstream stream(text);
  double with = 0, without = 0;
  char slash = 0;
  std::string unit;
  stream >> with >> slash >> without;
  if (!stream || slash != '/') throw std::runtime_error(name + ": no two figures in " + text);
  stream >> unit;
  if (unit.ends_with(',')) unit.pop_back();
  return {with * factors.at(unit), without * factors.at(unit)};
}

/// "evaluations.last.accuracy"
double number_at(Json value, const std::string& place) {
  std::istringstream names(place);
  for (std::string name; std::getline(names, name, '.');)
    value = name == "last" ? Json(value.at(value.size() - 1)) : Json(value.at(name));
  return value.get<double>();
}

/// A figure of a simulated job: each job is simulated once in this process. `job`: file and options.
double simulated_figure(const std::string& job, const std::string& place) {
  static std::map<std::string, Json> known;
  const std::string words = "simulate " + job + " --set physics.ensemble=0 -q --out out";
  if (!known.contains(words)) {
    const CommandLine line;
    const CommandResult result = line.tandem(words);
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    std::ifstream file(line.folder() / "out/summary.json");
    known[words] = result.exit_code == 0 ? Json::parse(file) : Json();
  }
  return number_at(known.at(words), place);
}

double figure_of(const Row& row, const std::string& variant) {
  const bool is_setting = variant.starts_with("--");
  return simulated_figure(testing::source_folder() + "/workloads/" + row.experiment +
                              (is_setting ? " " : " --variant ") + variant,
                          row.figure);
}

void expect_as_the_page_says(const Row& row) {
  const auto [with, without] = both_of(row.name, row.expected);
  ASSERT_NE(with, without) << row.expected;
  // Tighter than their difference, so that equal figures always fail.
  const double of_difference = std::abs(with - without) / 5;
  EXPECT_NEAR(figure_of(row, row.with), with, std::min(of_difference, std::abs(with) / 50)) << row.with;
  EXPECT_NEAR(figure_of(row, row.without), without, std::min(of_difference, std::abs(without) / 50))
      << row.without;
}

class Systems : public ::testing::TestWithParam<Row> {};

TEST_P(Systems, TheFeatureChangesTheFigureAsThePageSays) { expect_as_the_page_says(GetParam()); }

/// Rows that take longer, by the file of their experiment: they share simulations.
class LongSystems : public ::testing::TestWithParam<std::string> {};

std::string file_of(const Row& row) { return row.experiment.substr(0, row.experiment.find(' ')); }

TEST_P(LongSystems, FeaturesChangeFiguresAsThePageSays) {
  for (const Row& row : rows_of(true)) {
    if (file_of(row) != GetParam()) continue;
    SCOPED_TRACE(row.name);
    expect_as_the_page_says(row);
  }
}

std::set<std::string> files_of_long_rows() {
  std::set<std::string> files;
  for (const Row& row : rows_of(true)) files.insert(file_of(row));
  return files;
}

template <class Param>
std::string name_of(const ::testing::TestParamInfo<Param>& info) {
  std::string name = info.param.name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Each, Systems, ::testing::ValuesIn(rows_of(false)), name_of<Row>);
INSTANTIATE_TEST_SUITE_P(LongEach, LongSystems, ::testing::ValuesIn(files_of_long_rows()));

// ---- Measured rows ----

/// A line of validation/suites/systems.txt: a row, and the configurations of a suite that measure it.
struct MeasuredRow {
  std::string name;
  std::string suite;
  std::string with;
  std::string without;
};
std::ostream& operator<<(std::ostream& out, const MeasuredRow& row) { return out << row.name; }

const std::vector<MeasuredRow>& measured_rows() {
  static const std::vector<MeasuredRow> all = [] {
    std::vector<MeasuredRow> rows;
    std::ifstream file(testing::source_folder() + "/validation/suites/systems.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("#")) continue;
      const std::vector<std::string> cells = cells_of(line);
      if (cells.size() != 4) throw std::runtime_error("systems.txt: not four cells: " + line);
      rows.push_back({cells[0], cells[1], cells[2], cells[3]});
    }
    return rows;
  }();
  return all;
}

const Row& row_of(const MeasuredRow& measured) {
  const auto found = std::ranges::find(page().rows, measured.name, &Row::name);
  if (found == page().rows.end()) throw std::runtime_error(measured.name + ": no row of the page");
  return *found;
}

const validation::SuiteConfiguration& configuration_of(const std::string& suite, const std::string& name) {
  static std::map<std::string, validation::Suite> known;
  if (!known.contains(suite))
    known[suite] = validation::load_suite(testing::source_folder() + "/validation/suites/" + suite + ".yaml");
  const auto& all = known.at(suite).configurations;
  const auto found = std::ranges::find(all, name, &validation::SuiteConfiguration::name);
  if (found == all.end()) throw std::runtime_error(suite + ": no configuration " + name);
  return *found;
}

/// Three measured runs of a configuration.
struct Runs {
  std::vector<double> values;
  double mean() const {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  double spread() const { return std::ranges::max(values) - std::ranges::min(values); }
};

/// Of validation/reports/systems.csv, by "SUITE,CONFIGURATION,FIGURE".
std::map<std::string, Runs> read_runs() {
  std::map<std::string, Runs> all;
  std::ifstream file(testing::source_folder() + "/validation/reports/systems.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream stream(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (cells.size() != 8) throw std::runtime_error("systems.csv: not eight cells: " + line);
    Runs& runs = all[cells[0] + ',' + cells[1] + ',' + cells[2]];
    for (std::size_t i = 4; i < 7; ++i) runs.values.push_back(std::stod(cells[i]));
  }
  return all;
}

/// Every row with an experiment, by three runs of two configurations.
TEST(SystemsMeasured, SuitesMeasureEveryRow) {
  std::set<std::string> measured;
  for (const MeasuredRow& row : measured_rows()) {
    EXPECT_TRUE(measured.insert(row.name).second) << row;
    EXPECT_NE(row.with, row.without) << row;
    row_of(row);
    for (const std::string& name : {row.with, row.without}) {
      const auto& configuration = configuration_of(row.suite, name);
      for (const Experiment* experiment : configuration.experiments())
        EXPECT_EQ(experiment->repetitions, 3) << row;
    }
  }
  for (const Row& row : page().rows) EXPECT_TRUE(measured.contains(row.name)) << row;
}

/// As `validation/measured_systems` wrote them.
TEST(SystemsMeasured, DifferencesExceedTheSpreadOfThreeRuns) {
  const std::map<std::string, Runs> records = read_runs();
  for (const MeasuredRow& measured : measured_rows()) {
    const Row& row = row_of(measured);
    const auto find = [&](const std::string& configuration) {
      return records.find(measured.suite + ',' + configuration + ',' + row.figure);
    };
    const auto with = find(measured.with), without = find(measured.without);
    const bool is_measured = with != records.end() && without != records.end();
    EXPECT_EQ(is_measured, row.measured.find(", spread ") != std::string::npos)
        << row << ": " << row.measured;
    if (!is_measured) continue;
    const double difference = with->second.mean() - without->second.mean();
    EXPECT_GT(std::abs(difference), std::max(with->second.spread(), without->second.spread())) << row;
    const Both simulated = both_of(row.name, row.expected);
    EXPECT_GT(difference * (simulated.with - simulated.without), 0) << row << ": the other way round";
    const Both shown = both_of(row.name, row.measured);
    EXPECT_NEAR(shown.with, with->second.mean(), std::abs(shown.with) / 1000) << row;
    EXPECT_NEAR(shown.without, without->second.mean(), std::abs(shown.without) / 1000) << row;
  }
}

/// Rows by their suite: they share simulations.
class SystemsSuites : public ::testing::TestWithParam<std::string> {
 protected:
  static double figure(const MeasuredRow& row, const std::string& name) {
    const auto& configuration = configuration_of(row.suite, name);
    std::string job = fs::absolute(configuration.experiment_file).string();
    if (!configuration.variant.empty()) job += " --variant " + configuration.variant;
    for (const std::string& setting : configuration.settings) job += " --set " + setting;
    if (!configuration.jobs.empty()) job += " --together-only";
    return simulated_figure(job, row_of(row).figure);
  }
};

/// The smaller job shows what the row's job shows.
TEST_P(SystemsSuites, FeaturesChangeFiguresInTheSameDirection) {
  for (const MeasuredRow& measured : measured_rows()) {
    if (measured.suite != GetParam()) continue;
    SCOPED_TRACE(measured.name);
    const Row& row = row_of(measured);
    const Both expected = both_of(row.name, row.expected);
    const double with = figure(measured, measured.with), without = figure(measured, measured.without);
    EXPECT_GT((with - without) * (expected.with - expected.without), 0) << with << " / " << without;
  }
}

std::set<std::string> suites() {
  std::set<std::string> names;
  for (const MeasuredRow& row : measured_rows()) names.insert(row.suite);
  return names;
}

INSTANTIATE_TEST_SUITE_P(LongEach, SystemsSuites, ::testing::ValuesIn(suites()));

// ---- Rows of both kinds ----

/// What stands between backticks.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  bool is_word = false;
  for (std::string part; std::getline(stream, part, '`'); is_word = !is_word)
    if (is_word) words.push_back(part);
  return words;
}

TEST(SystemsPage, NamesKeysThatExist) {
  int found = 0;
  for (const Entry& entry : page().entries)
    for (const std::string& word : words_of(entry.here)) {
      const std::string path = word.substr(0, word.find_first_of(":= "));
      if (path.find('.') == std::string::npos || !is_experiment_section(path.substr(0, path.find('.'))))
        continue;
      ++found;
      EXPECT_NE(find_experiment_key(path), nullptr) << entry.name << ": " << word;
    }
  EXPECT_GT(found, 50);
}

/// Rows without an experiment name a test file, or say why the row is not there.
TEST(SystemsPage, ProvesOrGivesAReason) {
  std::set<std::string> files;
  for (const auto& file : fs::recursive_directory_iterator(testing::source_folder() + "/tests"))
    files.insert(file.path().filename());
  for (const Entry& entry : page().entries) {
    if (!entry.proof || entry.proof->starts_with("not there: ")) continue;
    const std::vector<std::string> proofs = words_of(*entry.proof);
    EXPECT_FALSE(proofs.empty()) << entry.name;
    for (const std::string& proof : proofs) EXPECT_TRUE(files.contains(proof)) << entry.name << ": " << proof;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
