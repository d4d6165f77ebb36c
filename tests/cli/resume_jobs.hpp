// Jobs that are interrupted and resumed, compared with uninterrupted jobs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/lab.hpp"
#include "tests/support/membership_checks.hpp"
#include "validation/compare/compare.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {

/// Respects the algorithm's maximum number of workers, and shortens rounds of hundreds of steps or seconds.
inline std::string settings_for(const Catalog<sync::Factory>::Entry& algorithm, sync::Route route) {
  std::string settings = "--set sync.algorithm=" + algorithm.name + " --set sync.over=" + to_text(route);
  if (algorithm.make.most_workers == 1) settings += " --set placement.workers=[node-1]";
  if (algorithm.name == "adsp") settings += " --set sync.options.period_s=0.5";
  if (algorithm.make.steps_per_round(Options::resolve(algorithm.name, algorithm.options, {})) > 10)
    settings += " --set sync.options.h=5";
  return settings;
}

class ResumeJobs : public ::testing::Test {
 protected:
  std::string contents(const std::string& file) const { return text_of(line_.folder() / file); }
  Results results(const std::string& directory) const {
    return read_results((line_.folder() / directory).string());
  }
  std::string succeeds(const std::string& words) const {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
    return result.output;
  }
  Results simulate(const std::string& words, const std::string& out) const {
    succeeds("simulate " + words + " --out " + out);
    return results(out);
  }
  /// Expects that the command fails, and says why. Returns all that it has printed.
  std::string refuses(const std::string& words, const std::string& why, int exit_code = 2) const {
    const auto told = line_.tandem(words);
    EXPECT_EQ(told.exit_code, exit_code) << words << '\n' << told.output;
    EXPECT_NE(told.output.find(why), std::string::npos) << words << '\n' << told.output;
    return told.output;
  }
  static void expect_in(const std::string& text, const std::string& output) {
    EXPECT_NE(output.find(text), std::string::npos) << text << "\nis not in\n" << output;
  }
  static void expect_not_in(const std::string& text, const std::string& output) {
    EXPECT_EQ(output.find(text), std::string::npos) << text << "\nis in\n" << output;
  }
  /// The last round of which the result directory has a model.
  int newest_commit(const std::string& directory) const {
    int newest = 0;
    for (const auto& file : std::filesystem::directory_iterator(line_.folder() / directory / "checkpoints")) {
      const std::string name = file.path().filename().string();
      if (!name.starts_with("round_") || !name.ends_with(".pt")) continue;
      int round = 0;
      std::from_chars(name.data() + 6, name.data() + name.size(), round);
      newest = std::max(newest, round);
    }
    return newest;
  }
  /// A job with a checkpoint every second round.
  std::string experiment(int rounds, const std::string& settings = "") const {
    return line_.experiment("evaluate_every: 2\n") + " --set stop.rounds=" + std::to_string(rounds) + " " +
           settings;
  }

  /// The final models are identical to the byte, and so are the steps and evaluations after `round`, except
  /// for their times.
  void expect_same_end(const std::string& whole, const std::string& resumed, int round) const {
    expect_same_records(whole, resumed, round);
    EXPECT_EQ(results(resumed).info.resumed.value().round, round);
  }
  void expect_same_model(const std::string& one, const std::string& other) const {
    const std::string model = contents(one + "/model.pt");
    EXPECT_GT(model.size(), 1000U);
    EXPECT_TRUE(model == contents(other + "/model.pt")) << "the models differ";
  }
  /// The same, of a result that need not be of a resumed job.
  void expect_same_records(const std::string& whole, const std::string& resumed, int round) const {
    expect_same_model(whole, resumed);
    const Results before = results(whole), after = results(resumed);
    std::map<std::pair<Rank, int>, StepRecord> steps;
    for (const auto& step : before.journal.steps)
      if (step.round >= round) steps[{step.rank, step.step}] = step;
    EXPECT_FALSE(steps.empty());
    EXPECT_EQ(after.journal.steps.size(), steps.size());
    for (const auto& step : after.journal.steps) {
      const auto found = steps.find({step.rank, step.step});
      ASSERT_NE(found, steps.end()) << "rank " << step.rank << " step " << step.step;
      EXPECT_EQ(step.loss, found->second.loss) << "rank " << step.rank << " step " << step.step;
      EXPECT_EQ(step.samples, found->second.samples);
      EXPECT_EQ(step.round, found->second.round);
      EXPECT_EQ(step.version, found->second.version);
      EXPECT_EQ(step.bytes_sent, found->second.bytes_sent);
    }
    std::map<std::int64_t, EvaluationRecord> evaluations;
    for (const auto& evaluation : before.journal.evaluations)
      if (evaluation.round > round) evaluations[evaluation.round] = evaluation;
    EXPECT_EQ(after.journal.evaluations.size(), evaluations.size());
    for (const auto& evaluation : after.journal.evaluations) {
      EXPECT_EQ(evaluation.samples, evaluations[evaluation.round].samples);
      EXPECT_EQ(evaluation.accuracy, evaluations[evaluation.round].accuracy);
      EXPECT_EQ(evaluation.loss, evaluations[evaluation.round].loss);
    }
  }

  /// Every step of every rank is there once, and its times increase.
  static void expect_each_step_once(const Results& results) {
    std::map<Rank, std::pair<int, Seconds>> last;
    for (const auto& step : results.journal.steps) {
      const auto [place, is_first] = last.try_emplace(step.rank, -1, Seconds(0.0));
      auto& [number, start] = place->second;
      EXPECT_EQ(step.step, number + 1) << "rank " << step.rank;
      EXPECT_GE(step.start, start) << "rank " << step.rank << " step " << step.step;
      number = step.step;
      start = step.start;
    }
  }
  void expect_each_step_once(const std::string& directory) const {
    expect_each_step_once(results(directory));
  }

  static double makespan(const Results& results) { return results.summary.makespan_s; }
  double makespan(const std::string& directory) const { return makespan(results(directory)); }
  /// From which each generation of the job started.
  static std::vector<std::int64_t> rounds_of_generations(const Results& results) {
    std::vector<std::int64_t> rounds;
    for (const auto& generation : results.info.generations) rounds.push_back(generation.round);
    return rounds;
  }

  static std::vector<std::int64_t> rounds_of_evaluations(const Results& results) {
    std::vector<std::int64_t> rounds;
    for (const auto& evaluation : results.journal.evaluations) rounds.push_back(evaluation.round);
    return rounds;
  }

  static Results as_measured(Results simulated) {
    simulated.info.world = "measured";
    return simulated;
  }
  /// Fresh policies decide on the recorded events of both as the recorded ones did.
  static void expect_replayed(const Results& simulated, const Results& measured) {
    expect_passed(validation::replay(simulated, {measured}));
  }

  static void expect_passed(const validation::Gate& gate) {
    EXPECT_EQ(gate.state, validation::Gate::State::passed) << gate.detail;
  }
  /// The measurement took the decisions of the simulation, and policies reproduce both.
  void expect_same_decisions(const std::string& simulated, const std::string& measured) const {
    const auto comparison = validation::compare(results(simulated), {results(measured)});
    expect_passed(comparison.decisions);
    expect_passed(comparison.replay);
  }

  CommandLine line_{"real"};
};

/// A commit after every third round, which is not one of an evaluation. Not at the end: a job of fewer rounds
/// stands for one that was interrupted.
inline const std::string every_third_round =
    "--set checkpoint.policy=fixed --set checkpoint.options.interval=3 --set checkpoint.at_end=false ";

class CommittingJobs : public ResumeJobs {
 protected:
  /// With evaluations after every fourth round.
  std::string committing(int rounds, const std::string& settings) const {
    return experiment(rounds, every_third_round + "--set evaluate_every=4 " + settings);
  }
};

}  // namespace tandem::testing
