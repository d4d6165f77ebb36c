// Runs whose ranks are killed while `tandem run` starts them again (recovery.mode: restart).
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cli/resume_jobs.hpp"

namespace tandem::testing {

/// A shell command that succeeds when ranks are to be killed, and which.
struct Death {
  std::string when;
  std::string ranks;     ///< "0 3"
  double delay_s = 0.0;  ///< after that
  std::string signal = "-KILL";
};

class RestartJobs : public ResumeJobs {
 protected:
  /// A job that saves its state every tenth round.
  std::string job(int rounds, const std::string& settings = "") const {
    return line_.experiment("evaluate_every: 10\nrecovery: {mode: restart}\n") +
           " --set stop.rounds=" + std::to_string(rounds) + " " + settings;
  }
  static std::string has_checkpoint(int round) {
    return fmt::format("[ -e out/checkpoints/round_{:08}.pt ]", round);
  }
  /// All ranks of the generation are ready.
  static std::string has_begun(int generation) {
    return fmt::format("[ -e out/checkpoints/round_00000000.generation_{}.start ]", generation);
  }
  /// A later death of a job. Without waiting for the generation, ranks of the one before could be killed
  /// twice: on a busy machine the last of them end after a checkpoint that is waited for.
  static std::string after_begin(int generation, const std::string& condition) {
    return has_begun(generation) + " && " + condition;
  }

  /// `tandem run WORDS --out out` with ranks killed while it runs. Expects that no process is left two
  /// seconds after its end. `more`: shell commands at the end, before the command ends.
  CommandResult killed(const std::string& words, const std::vector<Death>& deaths,
                       const std::string& more = "") const {
    std::string script =
        "rank() { for p in $(" + list_processes("tandem-rank") +
        "); do tr '\\0' '\\n' < /proc/$p/environ 2> /dev/null | grep -qx OMPI_COMM_WORLD_RANK=$1 && echo $p; "
        "done; }; "
        "\"$TANDEM\" run " +
        words + " --out out > told.txt 2>&1 & run=$!; ";
    for (const Death& death : deaths)
      script += "until " + death.when + "; do kill -0 $run || break; sleep 0.01; done; " +
                fmt::format("sleep {:.2f}; ", death.delay_s) + "for r in " + death.ranks + "; do kill " +
                death.signal + " $(rank $r); done; ";
    script += more + " wait $run; code=$?; cat told.txt; for i in $(seq 50); do left=$(" +
              list_processes("tandem|tandem-rank|tandem-guard|mpirun") +
              "); [ -z \"$left\" ] && exit $code; sleep 0.1; done; echo ORPHAN; exit $code";
    const auto result = line_.shell(script);
    EXPECT_EQ(result.output.find("ORPHAN"), std::string::npos) << result.output;
    return result;
  }

  /// Every step of every rank is there once, and time goes on.
  void expect_each_step_once(const std::string& directory) const {
    std::map<Rank, std::pair<int, Seconds>> last;
    for (const auto& step : results(directory).journal.steps) {
      const auto [place, is_first] = last.try_emplace(step.rank, -1, Seconds(0.0));
      auto& [number, start] = place->second;
      EXPECT_EQ(step.step, number + 1) << "rank " << step.rank;
      EXPECT_GE(step.start, start) << "rank " << step.rank << " step " << step.step;
      number = step.step;
      start = step.start;
    }
  }
  void expect_each_evaluation_once(const std::string& directory, int rounds, int every = 10) const {
    std::vector<std::int64_t> found, expected;
    for (const auto& evaluation : results(directory).journal.evaluations) found.push_back(evaluation.round);
    for (int round = every; round <= rounds; round += every) expected.push_back(round);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
  }
  using Change = std::tuple<double, int, std::int64_t, std::string, std::string>;
  static std::vector<Change> changes(const Results& results) {
    std::vector<Change> all;
    for (const auto& change : results.journal.membership)
      all.emplace_back(change.time.count(), change.slot, change.incarnation, change.event, change.cause);
    return all;
  }
  static std::vector<std::string> ends_of_generations(const Results& results) {
    std::vector<std::string> ends;
    for (const auto& generation : results.info.generations) ends.push_back(generation.at("ended").dump());
    return ends;
  }
  /// Machines came and went alike, recovery decided alike, and generations ended for the same reasons.
  static void expect_same_changes(const Results& simulated, const Results& measured) {
    EXPECT_EQ(ends_of_generations(measured), ends_of_generations(simulated));
    EXPECT_EQ(changes(measured), changes(simulated));
    EXPECT_EQ(recovery_decisions(measured), recovery_decisions(simulated));
    EXPECT_FALSE(recovery_decisions(measured).empty());
  }
  std::size_t restarts(const std::string& directory) const {
    const auto generations = results(directory).info.generations;
    return generations.is_array() ? generations.size() - 1 : 0;
  }

 private:
  static std::vector<std::pair<std::string, std::string>> recovery_decisions(const Results& results) {
    std::vector<std::pair<std::string, std::string>> decisions;
    for (const auto& decision : results.journal.decisions)
      if (decision.side == "recovery") decisions.emplace_back(decision.event, decision.decisions);
    return decisions;
  }
};

}  // namespace tandem::testing
