// Simulated times do not change, to the last digit: `tandem simulate` of every shipped experiment and of each
// algorithm, compression, collective and sharding, against the summaries in tests/golden/. Mathematics is
// modelled, so the figures do not depend on the machine. After an intended change, rewrite the files with
// `TANDEM_WRITE_GOLDEN=1 build/release/bin/command_test --gtest_filter='*Golden*'` and explain the
// differences in the commit.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using Json = nlohmann::json;

const std::string golden_folder = testing::source_folder() + "/tests/golden/";

struct Case {
  std::string name;
  std::string arguments;
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

/// The case whose simulation takes seconds: 1,024 workers.
bool is_slow(const Case& value) { return value.name == "scale"; }

std::vector<Case> cases(bool slow) {
  std::vector<Case> all;
  std::ifstream file(golden_folder + "cases.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    Case read;
    std::istringstream words(line);
    words >> read.name >> std::ws;
    std::getline(words, read.arguments);
    if (is_slow(read) == slow) all.push_back(read);
  }
  return all;
}

/// Long lists (one entry per rank) are cut to their ends; the version is left out.
Json shortened(const Json& value) {
  constexpr std::size_t longest = 12;
  constexpr std::ptrdiff_t kept = 4;
  Json copy = value;
  if (value.is_array() && value.size() > longest) {
    copy = Json(value.begin(), value.begin() + kept);
    copy.push_back(std::to_string(value.size() - 2 * kept) + " more");
    for (auto item = value.end() - kept; item != value.end(); ++item) copy.push_back(*item);
  }
  if (value.is_object()) copy.erase("schema_version");
  if (copy.is_structured())
    for (auto& item : copy) item = shortened(item);
  return copy;
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(rest_of(file));
}

class Golden : public ::testing::TestWithParam<Case> {};

TEST_P(Golden, TheSummaryIsUnchanged) {
  const CommandLine line;
  for (const char* folder : {"platforms", "tests", "workloads"})
    std::filesystem::create_directory_symlink(testing::source_folder() + "/" + folder,
                                              line.folder() / folder);
  const auto run = line.tandem("simulate " + GetParam().arguments +
                               " --set workload.math=modelled --set physics.ensemble=0 --out out");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const Json found = shortened(read_json(line.folder().string() + "/out/summary.json"));
  const std::string path = golden_folder + GetParam().name + ".json";
  if (std::getenv("TANDEM_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << found.dump(1) << '\n';
    return;
  }
  EXPECT_EQ(Json::diff(read_json(path), found).dump(1), "[]");
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Summaries, Golden, ::testing::ValuesIn(cases(false)), name_of);
INSTANTIATE_TEST_SUITE_P(LongSummaries, Golden, ::testing::ValuesIn(cases(true)), name_of);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
