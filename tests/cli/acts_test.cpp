// Every key of an experiment and every option of a catalogue acts: two of its values give different figures
// in a job of acts/jobs.yaml. The rows are in acts/acts.txt, which lists all keys and options there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/table_cells.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/job/check/catalogues.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

namespace fs = std::filesystem;

/// A line of acts.txt: "sync.pull | plain | | | sync.pull=requested | steps".
struct Row {
  std::string what;    ///< a key, or KIND/NAME.OPTION
  std::string job;     ///< a variant of jobs.yaml
  std::string common;  ///< settings of both simulations
  std::string one;     ///< of the first; empty: defaults
  std::string other;   ///< of the second
  std::string figure;  ///< makespan, summary, steps, records, files or model: what differs
  /// Instead of all these: "FILE: SUITE.TEST" or "FILE" of the test that shows it, or "none: WHY".
  std::string elsewhere;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.what; }

std::string folder() { return source_folder() + "/tests/cli/acts"; }

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> rows;
    std::ifstream file(folder() + "/acts.txt");
    for (std::string line; std::getline(file, line);) {
      if (trimmed(line).empty() || line.front() == '#') continue;
      std::vector<std::string> cells = cells_of(line);
      if (cells.size() == 2) {
        rows.push_back({cells[0], "", "", "", "", "", cells[1]});
      } else {
        cells.resize(6);
        rows.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], ""});
      }
    }
    return rows;
  }();
  return all;
}

/// Of quick jobs, or of long ones and those with real mathematics.
std::vector<Row> rows_of(bool is_long) {
  std::vector<Row> own;
  std::ranges::copy_if(rows(), std::back_inserter(own), [&](const Row& row) {
    return row.elsewhere.empty() && (row.job.starts_with("real") || row.job.starts_with("long")) == is_long;
  });
  return own;
}

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return rest_of(stream);
}

/// What a simulation says, by kind.
using Figures = std::map<std::string, std::string>;

class ActsOfJobs : public ::testing::Test {
 protected:
  static void expect_change(const Row& row) {
    const Figures one = figures(row.job, row.common + ' ' + row.one);
    const Figures& other = figures(row.job, row.common + ' ' + row.other);
    ASSERT_TRUE(one.contains(row.figure)) << row.figure;
    EXPECT_TRUE(one.at(row.figure) != other.at(row.figure))
        << row.one << " and " << row.other << " are alike";
  }
  /// Of a job with settings. Simulations of this process are done once.
  static const Figures& figures(const std::string& job, const std::string& settings) {
    static std::map<std::string, Figures> known;
    const std::string words =
        "simulate " + folder() + "/jobs.yaml --variant " + job + in_words(settings) + " -q --out out";
    const auto found = known.find(words);
    if (found != known.end()) return found->second;
    const CommandLine line;
    const CommandResult result = line.tandem(words);
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return known[words] = figures_in(line.folder() / "out");
  }
  /// "a=1 b='x y'": one --set for each word.
  static std::string in_words(const std::string& settings) {
    std::string words;
    std::string word;
    bool is_quoted = false;
    for (const char c : settings + ' ') {
      if (c == '\'') is_quoted = !is_quoted;
      if (c != ' ' || is_quoted) {
        word += c;
        continue;
      }
      if (!word.empty()) words += " --set " + word;
      word.clear();
    }
    return words;
  }
  static Figures figures_in(const fs::path& out) {
    if (!fs::exists(out / "summary.json")) return {};
    const auto summary = nlohmann::json::parse(contents(out / "summary.json"));
    Figures figures = {{"makespan", summary.at("makespan_s").dump()},
                       {"summary", summary.dump()},
                       {"steps", contents(out / "steps.csv")},
                       {"model", contents(out / "model.pt")}};
    for (const char* file : {"commits.csv", "membership.csv", "evaluations.csv"})
      figures["records"] += contents(out / file);
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(out)) names.insert(file.path().filename());
    if (fs::exists(out / "checkpoints"))
      for (const auto& file : fs::directory_iterator(out / "checkpoints"))
        names.insert(file.path().filename());
    for (const std::string& name : names) figures["files"] += name + '\n';
    return figures;
  }
};

class Acts : public ActsOfJobs, public ::testing::WithParamInterface<Row> {};

TEST_P(Acts, ChangesItsFigure) { expect_change(GetParam()); }

/// Rows of long jobs, by job: they share simulations.
class LongActs : public ActsOfJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(LongActs, ChangeTheirFigures) {
  for (const Row& row : rows_of(true)) {
    if (row.job != GetParam()) continue;
    SCOPED_TRACE(row.what);
    expect_change(row);
  }
}

std::set<std::string> long_jobs() {
  std::set<std::string> jobs;
  for (const Row& row : rows_of(true)) jobs.insert(row.job);
  return jobs;
}

std::string name_of(const ::testing::TestParamInfo<Row>& info) {
  std::string name = info.param.what;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Each, Acts, ::testing::ValuesIn(rows_of(false)), name_of);
INSTANTIATE_TEST_SUITE_P(LongEach, LongActs, ::testing::ValuesIn(long_jobs()));

/// Otherwise any two simulations would differ.
TEST(ActsTable, TheSameSettingsGiveTheSameFigures) {
  const CommandLine line;
  for (const char* out : {"one", "other"}) {
    const auto result = line.tandem("simulate " + folder() + "/jobs.yaml --variant living -q --out " + out);
    ASSERT_EQ(result.exit_code, 0) << result.output;
  }
  EXPECT_EQ(contents(line.folder() / "one/summary.json"), contents(line.folder() / "other/summary.json"));
  EXPECT_EQ(contents(line.folder() / "one/steps.csv"), contents(line.folder() / "other/steps.csv"));
}

/// Options of each kind of name, as in acts.txt. One that all entries of a kind have stands there once, as of
/// "*".
std::set<std::string> all_options() {
  std::set<std::string> all;
  for (const auto& [kind, names] :
       std::array{std::pair("sync", Names::sync), std::pair("compression", Names::compression),
                  std::pair("sharding", Names::sharding), std::pair("cache", Names::cache),
                  std::pair("sampling", Names::sampling), std::pair("split", Names::split),
                  std::pair("lifetime", Names::lifetime), std::pair("checkpointing", Names::checkpointing),
                  std::pair("recovery", Names::recovery), std::pair("provisioning", Names::provisioning),
                  std::pair("dataset", Names::dataset), std::pair("model", Names::model),
                  std::pair("trace-cache", Names::trace_cache)})
    for (const NameCatalog catalogue = catalogue_of(names); const auto& entry : catalogue.entries())
      for (const auto& option : entry.options)
        all.insert(std::string(kind) + '/' + entry.name + '.' + option.name);
  // Orders of requests are the same in cache nodes and with traces.
  for (const NameCatalog caches = catalogue_of(Names::cache); const auto& entry : caches.entries())
    for (const auto& option : entry.options) all.erase("trace-cache/" + entry.name + '.' + option.name);
  return all;
}

TEST(ActsTable, HasEveryKeyAndOption) {
  std::set<std::string> missing = all_options();
  for (const auto& key : experiment_keys()) missing.insert(key.path);
  std::set<std::string> seen;
  for (const Row& row : rows()) {
    EXPECT_TRUE(seen.insert(row.what).second) << row.what << " twice";
    const auto star = row.what.find("/*.");
    if (star == std::string::npos) {
      EXPECT_EQ(missing.erase(row.what), 1U) << row.what << " is neither a key nor an option";
      continue;
    }
    const std::string begin = row.what.substr(0, star + 1), end = row.what.substr(star + 2);
    EXPECT_GT(
        std::erase_if(
            missing, [&](const std::string& what) { return what.starts_with(begin) && what.ends_with(end); }),
        1U)
        << row.what;
  }
  for (const std::string& what : missing) ADD_FAILURE() << "no row for " << what;
}

/// A cell that names a test says where it is, and it is there.
TEST(ActsTable, NamesTestsThatExist) {
  for (const Row& row : rows()) {
    if (row.elsewhere.empty() || row.elsewhere.starts_with("none: ")) continue;
    SCOPED_TRACE(row.what);
    const auto colon = row.elsewhere.find(": ");
    const fs::path file = source_folder() + "/tests/" + row.elsewhere.substr(0, colon);
    ASSERT_TRUE(fs::is_regular_file(file)) << file;
    if (colon == std::string::npos) {
      EXPECT_EQ(file.extension(), ".script") << "expected FILE: SUITE.TEST";
      continue;
    }
    std::string test = row.elsewhere.substr(colon + 2);
    const auto point = test.find('.');
    ASSERT_NE(point, std::string::npos) << test;
    test.replace(point, 1, ", ");
    EXPECT_NE(contents(file).find('(' + test + ')'), std::string::npos)
        << "no TEST(" << test << ") in " << file;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
