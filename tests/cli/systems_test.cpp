// workloads/systems.md has a row for each flag, mode and figure of the published systems. Its rows with an
// experiment are simulated here, with the feature and without it: the figures are those of the page, so that
// a row fails when the base policy takes the place of the feature. Rows marked * run in ./check --long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/table_cells.hpp"
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
                           without_ticks(cells[5]), cells[6], is_long});
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

/// "266.8 / 328.5 s": both, in the units of summary.json.
std::pair<double, double> expected(const Row& row) {
  static const std::map<std::string, double> factors = {{"", 1},     {"s", 1},    {"ms", 1e-3},
                                                        {"%", 0.01}, {"kB", 1e3}, {"MB", 1e6},
                                                        {"GB", 1e9}, {"$", 1},    {"/s", 1}};
  std::istringstream stream(row.expected);
  double with = 0, without = 0;
  char slash = 0;
  std::string unit;
  stream >> with >> slash >> without;
  if (!stream || slash != '/') throw std::runtime_error(row.name + ": no two figures in " + row.expected);
  stream >> unit;
  return {with * factors.at(unit), without * factors.at(unit)};
}

class Systems : public ::testing::TestWithParam<Row> {
 protected:
  /// Of a job, in this process once.
  static double figure(const Row& row, const std::string& variant) {
    static std::map<std::string, Json> known;
    const bool is_setting = variant.starts_with("--");
    const std::string words = "simulate " + testing::source_folder() + "/workloads/" + row.experiment +
                              (is_setting ? " " : " --variant ") + variant +
                              " --set physics.ensemble=0 -q --out out";
    if (!known.contains(words)) {
      const CommandLine line;
      const CommandResult result = line.tandem(words);
      EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
      std::ifstream file(line.folder() / "out/summary.json");
      known[words] = result.exit_code == 0 ? Json::parse(file) : Json();
    }
    return number_at(known.at(words), row.figure);
  }

 private:
  /// "evaluations.last.accuracy"
  static double number_at(Json value, const std::string& place) {
    std::istringstream names(place);
    for (std::string name; std::getline(names, name, '.');)
      value = name == "last" ? Json(value.at(value.size() - 1)) : Json(value.at(name));
    return value.get<double>();
  }
};

TEST_P(Systems, TheFeatureChangesTheFigureAsThePageSays) {
  const Row& row = GetParam();
  const auto [with, without] = expected(row);
  ASSERT_NE(with, without) << row.expected;
  // Tighter than their difference, so that equal figures always fail.
  const double of_difference = std::abs(with - without) / 5;
  EXPECT_NEAR(figure(row, row.with), with, std::min(of_difference, std::abs(with) / 50)) << row.with;
  EXPECT_NEAR(figure(row, row.without), without, std::min(of_difference, std::abs(without) / 50))
      << row.without;
}

std::string name_of(const ::testing::TestParamInfo<Row>& info) {
  std::string name = info.param.name;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Each, Systems, ::testing::ValuesIn(rows_of(false)), name_of);
INSTANTIATE_TEST_SUITE_P(LongEach, Systems, ::testing::ValuesIn(rows_of(true)), name_of);

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
