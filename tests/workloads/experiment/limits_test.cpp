// Every limit is met by its example, is the first that is, and tells where, what would do and why.
#include "workloads/job/check/limits.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "platforms/load.hpp"
#include "tests/support/paths.hpp"
#include "tests/workloads/experiment/experiment_text.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

struct Row {
  const Limit* limit;
  const Limit::Case* at;
  std::string title;
  int number;
};
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.at->key << ": " << row.at->example;
}

void add_rows(const LimitGroup& group, std::vector<Row>& all) {
  for (const Limit& limit : group.limits())
    for (const Limit::Case& at : limit.cases)
      all.push_back({&limit, &at, group.title, static_cast<int>(all.size())});
}

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const LimitGroup& group : limit_groups()) add_rows(group, all);
  return all;
}

/// "a=1 'b=two words'": the settings, one for each word.
Overrides settings_of(const std::string& text) {
  Overrides settings;
  std::string word;
  bool is_quoted = false;
  for (const char c : text + ' ') {
    if (c == '\'') is_quoted = !is_quoted;
    if (c == '\'' || (c != ' ' || is_quoted)) {
      if (c != '\'') word += c;
      continue;
    }
    if (!word.empty()) settings.push_back(parse_override(word));
    word.clear();
  }
  return settings;
}

/// The words of a text between names in braces.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  std::string piece;
  bool is_name = false;
  for (const char c : text) {
    if (c == '{') {
      if (!piece.empty()) pieces.push_back(std::exchange(piece, ""));
      is_name = true;
    } else if (c == '}') {
      is_name = false;
    } else if (!is_name) {
      piece += c;
    }
  }
  if (!piece.empty()) pieces.push_back(piece);
  return pieces;
}

class EachLimit : public ExperimentFile, public ::testing::WithParamInterface<Row> {
 protected:
  static constexpr const char* four_workers =
      "stop: {rounds: 10}\nplacement: {workers: [node-1, node-2, node-3, node-6], servers: [server]}\n";

  std::string lab() const { return "platform: " + source_folder() + "/platforms/mixed_lab.xml\n"; }

  /// As users meet it.
  std::string refusal(const std::string& title, const Overrides& settings) {
    std::string text = lab() + four_workers;
    if (title == "Several jobs" || title == "Jobs that share their caches")
      text += "jobs: {one: {}, other: {}}\n";
    try {
      LocatedExperiment located = load_located(folder_.write("lab.yaml", text), settings, "");
      if (!located.jobs.empty()) return "no error";
      resolve_placement(located.experiment, platforms::load_platform(located.experiment.platform),
                        located.locate);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_P(EachLimit, IsMetByItsExampleAndSaysWhy) {
  const auto& [limit, at, title, number] = GetParam();
  const std::string message = refusal(title, settings_of(at->example));
  EXPECT_THAT(message, ::testing::HasSubstr("key '"));
  EXPECT_THAT(message, ::testing::HasSubstr(at->key + "': expected "));
  for (const std::string& text : {at->expected, limit->because})
    for (const std::string& piece : pieces_of(text)) EXPECT_THAT(message, ::testing::HasSubstr(piece));
  EXPECT_THAT(message, ::testing::HasSubstr(", found "));
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("{")));
}

INSTANTIATE_TEST_SUITE_P(All, EachLimit, ::testing::ValuesIn(rows()), [](const auto& info) {
  std::string name = info.param.at->key + '_' + std::to_string(info.param.number);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

using EachWarning = EachLimit;

TEST_P(EachWarning, IsMetByItsExampleAndRefusesNothing) {
  const auto& [warning, at, title, number] = GetParam();
  const Overrides settings = settings_of(at->example);
  EXPECT_EQ(refusal("", settings), "no error");
  const LocatedExperiment located =
      load_located(folder_.write("lab.yaml", lab() + four_workers), settings, "");
  const Experiment& experiment = located.experiment;
  const ResolvedExperiment chosen(experiment);
  const Combination all{experiment, chosen};
  EXPECT_THAT(met_warnings({*warning}, all, located.locate),
              ::testing::ElementsAre(::testing::StartsWith("--set: " + at->key + ": expected ")));
  const auto texts = met_warnings({*warning}, all);
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_THAT(texts.front(), ::testing::StartsWith(at->key + ": expected "));
  for (const std::string& text : {at->expected, warning->because})
    for (const std::string& piece : pieces_of(text)) EXPECT_THAT(texts.front(), ::testing::HasSubstr(piece));
  EXPECT_THAT(texts.front(), ::testing::Not(::testing::HasSubstr("{")));
}

std::vector<Row> warnings() {
  std::vector<Row> all;
  add_rows(warning_group(), all);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EachWarning, ::testing::ValuesIn(warnings()),
                         [](const auto& info) { return "Row" + std::to_string(info.param.number); });

TEST(Limits, AreListedWithoutValues) {
  for (const Row& row : rows()) {
    const std::string text = describe(*row.limit, *row.at);
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("{"))) << row;
    EXPECT_FALSE(row.at->key.empty());
  }
}

/// Everything else works together, in simulations and in real runs.
TEST(Limits, RefuseFewCombinations) {
  std::set<const Limit*> combinations;
  for (const Row& row : rows())
    if (row.limit->kind == Limit::Kind::unsupported) combinations.insert(row.limit);
  EXPECT_LE(combinations.size(), 35U);
  for (const Limit* limit : combinations) EXPECT_FALSE(limit->because.empty());
}

TEST(Limits, AreNotMetByAnOrdinaryExperiment) {
  Experiment experiment;
  experiment.stop.rounds = 10;
  experiment.placement.workers = {"a", "b"};
  const ResolvedExperiment chosen(experiment);
  for (const Row& row : rows()) {
    if (row.title == "Jobs that share their caches" || row.title == "Numbers of workers and servers")
      continue;
    EXPECT_FALSE(row.at->is_met({experiment, chosen})) << row;
  }
  EXPECT_TRUE(met_warnings(warning_group().limits(), {experiment, chosen}).empty());
}

TEST(Limits, TwoMomentaAreThoseOfGradientsWithErrorFeedback) {
  Experiment experiment;
  experiment.stop.rounds = 10;
  experiment.placement.workers = {"a", "b"};
  experiment.optimizer.momentum = 0.9;
  experiment.sync.compression = "dgc";
  const auto warnings = [&] {
    return met_warnings(warning_group().limits(), {experiment, ResolvedExperiment(experiment)}).size();
  };
  EXPECT_EQ(warnings(), 1U);
  experiment.sync.algorithm = "local-sgd";
  EXPECT_EQ(warnings(), 0U);
  experiment.sync.algorithm = "bsp";
  experiment.sync.compression_options = {{"error_feedback", false}};
  EXPECT_EQ(warnings(), 0U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
