// Runs whose ranks are killed while `tandem run` starts them again, from nothing or in place.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
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
  /// The same during which machines depart or ranks die: a step takes `step_ms` on node-1 and 3.75 times that
  /// on node-6, so that few rounds last long and need little of the machine that runs the test.
  std::string lasting_job(int rounds, const std::string& settings = "", int step_ms = 10) const {
    return job(rounds, lasting_steps(step_ms) + settings);
  }
  static std::string lasting_steps(int step_ms) {
    return fmt::format("--set workload.measured_step={}ms --set workload.measured_on=raspberry-pi-4 ",
                       step_ms);
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
    expect_not_in("ORPHAN", result.output);
    return result;
  }
  /// The same of a job that ends in spite of the deaths. Returns what the command has printed.
  std::string survives(const std::string& words, const std::vector<Death>& deaths,
                       const std::string& more = "") const {
    const auto told = killed(words, deaths, more);
    EXPECT_EQ(told.exit_code, 0) << told.output;
    return told.output;
  }
  /// The same of a job that gives up.
  std::string gives_up(const std::string& words, const std::vector<Death>& deaths) const {
    const auto told = killed(words, deaths);
    EXPECT_EQ(told.exit_code, 70) << told.output;
    EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
    return told.output;
  }

  void expect_each_evaluation_once(const std::string& directory, int rounds, int every = 10) const {
    std::vector<std::int64_t> found = rounds_of_evaluations(results(directory)), expected;
    for (int round = every; round <= rounds; round += every) expected.push_back(round);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
  }
  static std::vector<std::string> ends_of_generations(const Results& results) {
    std::vector<std::string> ends;
    for (const auto& generation : results.info.generations) ends.push_back(generation.ended.value_or("null"));
    return ends;
  }
  /// Machines came and went alike, recovery decided alike, and generations ended for the same reasons.
  static void expect_same_changes(const Results& simulated, const Results& measured) {
    EXPECT_EQ(ends_of_generations(measured), ends_of_generations(simulated));
    EXPECT_EQ(timed_fates(measured.journal), timed_fates(simulated.journal));
    EXPECT_EQ(recovery_decisions(measured), recovery_decisions(simulated));
    EXPECT_FALSE(recovery_decisions(measured).empty());
  }
  std::size_t restarts(const std::string& directory) const {
    const auto generations = results(directory).info.generations;
    return generations.empty() ? 0 : generations.size() - 1;
  }

 private:
  static std::vector<std::pair<std::string, std::string>> recovery_decisions(const Results& results) {
    std::vector<std::pair<std::string, std::string>> decisions;
    for (const auto& decision : results.journal.decisions)
      if (decision.side == "recovery") decisions.emplace_back(decision.event, decision.decisions);
    return decisions;
  }
};

/// A commit after every fifth round; servers of rounds continue without the machines that depart.
class InPlaceJobs : public RestartJobs {
 protected:
  static std::string in_place_settings(const std::string& machines = lifetimes("1e9;1e9")) {
    return "--set recovery.mode=in-place --set checkpoint.policy=fixed --set checkpoint.options.interval=5 "
           "--set physics.ensemble=0 " +
           machines;
  }
  std::string in_place(int rounds, const std::string& settings = "",
                       const std::string& machines = lifetimes("1e9;1e9")) const {
    return job(rounds, in_place_settings(machines) + settings);
  }
  static std::int64_t last_restart(const Results& results) { return rounds_of_generations(results).back(); }
  /// When the last generation began.
  static Seconds last_begin(const Results& results) { return results.info.generations.back().began.value(); }
  /// With steps in the last generation.
  static std::set<Rank> last_workers(const Results& results) {
    std::set<Rank> workers;
    for (const auto& step : results.journal.steps)
      if (step.start >= last_begin(results)) workers.insert(step.rank);
    return workers;
  }
  /// Each commit is there once, and samples add up.
  static void expect_sound(const Results& results) {
    const auto rounds = rounds_of_commits(results.journal);
    EXPECT_TRUE(std::ranges::is_sorted(rounds));
    EXPECT_EQ(std::set(rounds.begin(), rounds.end()).size(), rounds.size());
    // With a model of its own each, no worker knows what the others have applied.
    if (sample_counts(results.info, results.journal).applied)
      expect_samples_add_up(results.info, results.journal);
  }
  void expect_nothing_left_of_generations() const {
    EXPECT_EQ(line_.shell("ls out/checkpoints | grep -c 'records\\|start\\|announced'").output, "0\n");
  }
};

}  // namespace tandem::testing
