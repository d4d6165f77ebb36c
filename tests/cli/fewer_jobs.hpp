// Jobs that start again with fewer workers when machines depart, and with more when they come up, compared
// with the same done by hand with --resume.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/restart_jobs.hpp"

namespace tandem::testing {

using Slots = std::vector<int>;

inline const std::vector<std::string> hosts = {"node-1", "node-2", "node-3", "node-6"};
inline const std::string commits = every_third_round + "--set checkpoint.keep=0 ";

class FewerWorkers : public RestartJobs {
 protected:
  /// Lifetimes by slot: the machines of the others stay.
  static std::string departs(const std::map<int, double>& times) {
    std::string text;
    for (int slot = 0; slot < 4; ++slot) {
      const auto own = times.find(slot);
      text += (slot > 0 ? ";" : "") + (own == times.end() ? "" : fmt::format("{},", own->second)) + "1e9";
    }
    return "--set recovery.mode=restart " + lifetimes(text);
  }
  static std::vector<Slots> slots_of_generations(const Results& results) {
    std::vector<Slots> all;
    for (const auto& generation : results.info.generations) {
      all.push_back(generation.slots);
      EXPECT_EQ(generation.workers, std::ssize(all.back()));
    }
    return all;
  }
  /// The job `whole`, which had all workers, taken through the generations of `directory` by hand. Returns
  /// the directory of the last part.
  std::string by_hand(const std::string& whole, const std::string& directory, int rounds) const {
    const Results changed = results(directory);
    const auto slots = slots_of_generations(changed);
    const auto from = rounds_of_generations(changed);
    std::string last = whole;
    for (std::size_t number = 1; number < slots.size(); ++number) {
      // It ended before its first commit.
      if (number + 1 < slots.size() && from[number + 1] == from[number]) continue;
      if (from[number] <= 0) {
        ADD_FAILURE() << "generation " << number << " has no commit to start from";
        return last;
      }
      std::string workers;
      for (const int slot : slots[number])
        workers += (workers.empty() ? "" : ",") + hosts.at(static_cast<std::size_t>(slot));
      const std::string next = fmt::format("hand-{}", number);
      succeeds(
          fmt::format("simulate --resume {} --resume-from {} --set 'placement.workers=[{}]' --set "
                      "stop.rounds={} --out {}",
                      last, from[number], workers, rounds, next));
      last = next;
    }
    return last;
  }
  /// The model of the end is that of the same done by hand, to the byte, and so are the last generation's
  /// steps.
  void expect_as_by_hand(const std::string& whole, const std::string& directory, int rounds) const {
    const std::string hand = by_hand(whole, directory, rounds);
    expect_same_model(hand, directory);
    const Results changed = results(directory), expected = results(hand);
    const auto slots = slots_of_generations(changed).back();
    const std::int64_t from = rounds_of_generations(changed).back();
    for (std::size_t index = 0; index < slots.size(); ++index)
      EXPECT_EQ(losses(changed, slots[index], from), losses(expected, static_cast<Rank>(index), from))
          << "slot " << slots[index];
  }
  static std::vector<double> losses(const Results& results, Rank rank, std::int64_t from) {
    std::vector<double> all;
    for (const auto& step : results.journal.steps)
      if (step.rank == rank && step.round >= from) all.push_back(step.loss);
    EXPECT_FALSE(all.empty());
    return all;
  }
  static std::set<Rank> ranks_in(const Results& results, std::int64_t round) {
    std::set<Rank> ranks;
    for (const auto& step : results.journal.steps)
      if (step.round == round) ranks.insert(step.rank);
    return ranks;
  }
};

class RevokedFewer : public FewerWorkers {
 protected:
  static constexpr int rounds = 100;
  /// Both worlds take the same decisions, and each ends as by hand. `scaling`: settings of the uninterrupted
  /// job, too. `length`: in rounds.
  void expect_alike(const std::string& settings, const std::vector<Slots>& expected,
                    const std::string& scaling = "", int length = rounds) const {
    const std::string words = lasting_job(length, "--decisions " + scaling);
    succeeds("simulate " + words + " --out whole");
    succeeds("simulate " + words + settings + " --set run.revoke=kill --out simulated");
    succeeds("run " + words + settings + " --set run.revoke=kill --out measured");
    const Results simulated = results("simulated"), measured = results("measured");
    EXPECT_EQ(slots_of_generations(simulated), expected);
    EXPECT_EQ(slots_of_generations(measured), expected);
    expect_same_changes(simulated, measured);
    expect_each_step_once("measured");
    expect_replayed(simulated, measured);
    expect_as_by_hand("whole", "measured", length);
    line_.shell("rm -rf hand-*");
    expect_as_by_hand("whole", "simulated", length);
  }
};

}  // namespace tandem::testing
