// `tandem study` as a user sees it: a small grid simulated end to end, its report, and the ways in which it
// ends early.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;

json read(const std::filesystem::path& path) { return json::parse(std::ifstream(path)); }

class Study : public ::testing::Test {
 protected:
  Study() {
    line_.experiment("variants:\n  bsp: {}\n  asp: {sync.algorithm: asp}\n");
    line_.write(
        "study.yaml",
        "experiments: experiment.yaml\n"
        "grid: {placement.worker_count: [2, 4]}\n"
        "study: {about: two or four, published: [{configuration: worker_count=4/asp, figure: speed_up, "
        "value: 2, source: nobody}]}\n");
  }
  /// The files of configurations in a folder, with their times.
  std::map<std::string, std::filesystem::file_time_type> entries_in(const std::string& folder) const {
    std::map<std::string, std::filesystem::file_time_type> entries;
    for (const auto& group : std::filesystem::directory_iterator(line_.folder() / folder))
      if (group.is_directory())
        for (const auto& entry : std::filesystem::recursive_directory_iterator(group))
          if (entry.path().extension() == ".json") entries[entry.path()] = entry.last_write_time();
    return entries;
  }
  CommandLine line_;
};
using LongStudy = Study;

/// Of a cache that keeps its first samples, the time that a worker waits falls linearly with the capacity:
/// the odds stall / (1 - stall) do, from those without a cache to those with all samples in it.
TEST_F(LongStudy, FindsTheLeastCacheForAStall) {
  line_.write("cached.yaml", "platform: " + testing::source_folder() +
                                 "/platforms/quad.xml\n"
                                 "workload: {math: modelled, model: lenet, dataset: synthetic-colour, "
                                 "train_samples: 960, batch: 16}\n"
                                 "sync: {over: all-reduce}\n"
                                 "data: {source: storage, cache: minio, prefetch: 0}\n"
                                 "placement: {cache_nodes: [server], worker_count: 1}\n"
                                 "stop: {epochs: 3}\nwarmup_steps: 0\n");
  line_.write("least.yaml", "experiments: cached.yaml\nstudy: {stall: 0.999}\n");
  ASSERT_EQ(line_.tandem("study least.yaml --out easy").exit_code, 0);
  const auto least_in = [&](const std::string& folder) {
    return read(line_.folder() / folder / "report.json").at("configurations").at(0).at("least_capacity");
  };
  const json easy = least_in("easy");
  EXPECT_EQ(easy.at("capacity_bytes"), 0);
  const double without = easy.at("tried").at(0).at(1);
  ASSERT_GT(without, 0.0);
  line_.write("least.yaml", "experiments: cached.yaml\nstudy: {stall: 1e-6}\n");
  const auto none = line_.tandem("study least.yaml --out none");
  ASSERT_EQ(none.exit_code, 0) << none.output;
  EXPECT_NE(none.output.find("none suffices"), std::string::npos) << none.output;
  const double with_all = least_in("none").at("tried").back().at(1);
  ASSERT_LT(with_all, without);
  const double wanted = (without + 2 * with_all) / 3;
  line_.write("least.yaml", "experiments: cached.yaml\nstudy: {stall: " + std::to_string(wanted) + "}\n");
  ASSERT_EQ(line_.tandem("study least.yaml --out found").exit_code, 0);
  const json found = least_in("found");
  const auto odds = [](double stall) { return stall / (1 - stall); };
  const double share = (odds(without) - odds(wanted)) / (odds(without) - odds(with_all));
  const double expected = share * found.at("data_set_bytes").get<double>();
  EXPECT_NEAR(found.at("capacity_bytes").get<double>(), expected, 2 * found.at("step_bytes").get<double>());
  EXPECT_LE(found.at("tried").size(), 11U);
}

TEST_F(Study, WithoutWarmEpochsKeepsTheResultAndSaysWhyThereIsNoLeastCache) {
  line_.write("cold.yaml", "platform: " + testing::source_folder() +
                               "/platforms/quad.xml\n"
                               "workload: {math: modelled, model: lenet, dataset: synthetic-colour, "
                               "train_samples: 320, batch: 16}\n"
                               "sync: {over: all-reduce}\n"
                               "data: {source: storage, cache: minio, prefetch: 0}\n"
                               "placement: {cache_nodes: [server], worker_count: 1}\n"
                               "stop: {epochs: 1}\nwarmup_steps: 0\n");
  line_.write("cold_study.yaml", "experiments: cold.yaml\nstudy: {stall: 0.1}\n");
  const auto result = line_.tandem("study cold_study.yaml --out cold");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json own = read(line_.folder() / "cold/report.json").at("configurations").at(0);
  EXPECT_TRUE(own.at("least_capacity").is_null());
  EXPECT_GT(own.at("throughput").get<double>(), 0.0);
  EXPECT_NE(own.at("warnings").dump().find("stop.epochs of 2 or more"), std::string::npos)
      << own.at("warnings");
}

TEST_F(Study, SimulatesEveryConfigurationAndReportsThem) {
  const auto result = line_.tandem("study study.yaml --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const char* part :
       {"Question: two or four", "by workers", "out/report.html", "More workers pay up to"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part << "\n" << result.output;
  const json report = read(line_.folder() / "out" / "report.json");
  EXPECT_EQ(report.at("kind"), "study");
  ASSERT_EQ(report.at("configurations").size(), 4U);
  for (const auto& own : report.at("configurations")) {
    EXPECT_EQ(own.at("failure"), "");
    EXPECT_TRUE(own.at("exchange_shares").is_object());
    EXPECT_EQ(own.at("workers"), own.at("group") == "worker_count=2" ? 2 : 4);
    EXPECT_TRUE(own.at("speed_up").is_number());
  }
  EXPECT_EQ(report.at("answer").at("panels").at(0).at("rows").size(), 2U);
  EXPECT_TRUE(report.at("published")[0].at("ratio").is_number());
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "report.md"));
}

TEST_F(Study, FiguresAreThoseOfTheSimulationAlone) {
  ASSERT_EQ(line_.tandem("study study.yaml --out out --only worker_count=2/asp").exit_code, 0);
  ASSERT_EQ(line_
                .tandem("simulate experiment.yaml --variant asp --set "
                        "placement.worker_count=2 --out alone")
                .exit_code,
            0);
  const json report = read(line_.folder() / "out" / "report.json");
  const json alone = read(line_.folder() / "alone" / "summary.json");
  const json& own = report.at("configurations").at(0);
  EXPECT_EQ(own.at("throughput"), alone.at("throughput"));
  EXPECT_EQ(own.at("bytes"), alone.at("bytes"));
  EXPECT_EQ(own.at("shares"), alone.at("shares"));
  EXPECT_EQ(own.at("step_time_s"), alone.at("step_time_s").at("mean"));
}

TEST_F(LongStudy, KeepsResultDirectoriesIfAskedAndParallelJobsGiveTheSameResults) {
  ASSERT_EQ(line_.tandem("study study.yaml --out lean --jobs 1").exit_code, 0);
  ASSERT_EQ(line_.tandem("study study.yaml --out full --results --jobs 3").exit_code, 0);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(line_.folder() / "lean"))
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(line_.folder() / "lean"));
  EXPECT_EQ(files, (std::set<std::string>{"report.html", "report.json", "report.md", "study.csv",
                                          "study.json", "worker_count=2/asp.json", "worker_count=2/bsp.json",
                                          "worker_count=4/asp.json", "worker_count=4/bsp.json"}));
  EXPECT_EQ(read_results((line_.folder() / "full/worker_count=4/bsp").string()).journal.steps.size(), 24U)
      << "four workers, six rounds";
  EXPECT_EQ(read(line_.folder() / "lean/report.json"), read(line_.folder() / "full/report.json"));
}

TEST_F(LongStudy, TakesTheVariantsOfAnExperiment) {
  const auto result = line_.tandem("study experiment.yaml --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(read(line_.folder() / "out" / "report.json").at("configurations").size(), 2U);
}

/// As published: iCache ahead of the others, and each of its parts shortens the job.
TEST_F(LongStudy, EachPartOfICacheShortensAJobWhoseStoreIsTheLimit) {
  const auto result = line_.tandem("study " + testing::source_folder() +
                                   "/workloads/studies/icache_parts.yaml --out parts -q");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::map<std::string, double> makespans;
  const json report = read(line_.folder() / "parts" / "report.json");
  for (const json& own : report.at("configurations"))
    if (own.at("group") == "cache_capacity=10_") makespans[own.at("algorithm")] = own.at("makespan_s");
  const double whole = makespans.at("whole");
  for (const char* without : {"when-idle", "no-packages", "no-substitution", "no-L-cache", "no-H-cache"})
    EXPECT_GT(makespans.at(without), 1.03 * whole) << without;
  EXPECT_GT(makespans.at("four-boards-no-L-cache"), 1.05 * makespans.at("four-boards"));
  EXPECT_GT(makespans.at("two-boards"), 1.05 * makespans.at("two-boards-directory"));
  EXPECT_GT(makespans.at("minio"), 1.1 * whole);
  EXPECT_NEAR(makespans.at("quiver"), makespans.at("minio"), 0.01 * makespans.at("minio"));
  EXPECT_GT(makespans.at("lru"), makespans.at("minio"));
}

/// Costs of the study's notes, by hand, in the order of mean lifetimes of 2, 8 and 32 hours. At 2 hours,
/// machines also depart while others are replaced, and there is much luck.
TEST_F(LongStudy, SpotMachinesCostWhatTheNotesSay) {
  const auto result =
      line_.tandem("study " + testing::source_folder() + "/workloads/studies/spot.yaml --out spot -q");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json answer = read(line_.folder() / "spot" / "report.json").at("answer");
  EXPECT_EQ(answer.at("measures").at(0).at("key"), "cost");
  const std::map<std::string, std::vector<double>> by_hand = {{"on-demand", {77.29, 77.29, 77.29}},
                                                              {"replace", {21.73, 22.19, 22.32}},
                                                              {"spare", {25.39, 26.47, 26.83}},
                                                              {"restart-every-5", {33.50, 25.46, 23.74}},
                                                              {"restart-every-50", {83.89, 30.50, 24.21}}};
  for (const json& row : answer.at("panels").at(0).at("rows"))
    for (std::size_t at = 0; at < 3; ++at) {
      const json& cost = row.at("cells").at(at).at("estimates").at(0);
      const double expected = by_hand.at(row.at("variant")).at(at), mean = cost.at("mean");
      const double error = cost.at("deviation").get<double>() / std::sqrt(6.0);
      EXPECT_NEAR(mean, expected, 0.01 * expected + 3 * error) << row.at("variant") << ' ' << at;
      if (row.at("variant") == "replace") {
        EXPECT_EQ(cost.at("place"), "best") << at;
      }
    }
}

/// Times of the study's notes, by hand: for commits of every 5th to every 100th round, with a server that
/// stays, or is lost at 6 or 9 hours.
TEST_F(LongStudy, AfterTheLossOfTheFirstServerWorkSinceTheLastCommitIsDoneAgain) {
  const auto result = line_.tandem("study " + testing::source_folder() +
                                   "/workloads/studies/first_server.yaml --out first -q");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::map<std::string, std::vector<double>> by_hand = {{"every-5", {632.6, 647.3, 646.5}},
                                                              {"every-20", {615.8, 634.4, 638.5}},
                                                              {"every-50", {612.6, 655.0, 671.0}},
                                                              {"every-100", {611.4, 654.4, 725.2}}};
  const json answer = read(line_.folder() / "first" / "report.json").at("answer");
  EXPECT_EQ(answer.at("measures").at(0).at("key"), "makespan_s");
  for (const json& row : answer.at("panels").at(0).at("rows"))
    for (std::size_t at = 0; at < 3; ++at)
      EXPECT_NEAR(row.at("cells").at(at).at("estimates").at(0).at("mean").get<double>(),
                  by_hand.at(row.at("variant")).at(at), 0.1)
          << row.at("variant") << ' ' << at;
}

/// Steps per second of eight workers without departures, by mean value analysis: 6.70, 9.43 and 10.33. A
/// server's port carries at most 12.5.
TEST_F(LongStudy, TheServersCapDecidesHowManyToRent) {
  const auto result = line_.tandem(
      "study " + testing::source_folder() +
      "/workloads/studies/cm_dare.yaml --out dare -q --only servers=_server-1_/worker_count=8 --only "
      "servers=_server-1__server-2_/worker_count=8");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::map<std::string, std::vector<double>> steps, dollars;  // by variant and number of servers
  const json report = read(line_.folder() / "dare" / "report.json");
  for (const json& own : report.at("configurations")) {
    const std::string name =
        own.at("algorithm").get<std::string>() +
        (own.at("name").get<std::string>().find("server-2") == std::string::npos ? " 1" : " 2");
    steps[name].push_back(own.at("throughput").get<double>() / 32);
    dollars[name].push_back(own.at("cost").at("total"));
  }
  const auto mean = [](const std::vector<double>& all) { return (all.at(0) + all.at(1) + all.at(2)) / 3; };
  EXPECT_NEAR(mean(steps.at("k80-west 1")), 6.70, 0.04 * 6.70);
  EXPECT_NEAR(mean(steps.at("p100-west 1")), 9.43, 0.04 * 9.43);
  EXPECT_NEAR(mean(steps.at("v100-west 1")), 10.33, 0.04 * 10.33);
  for (const char* device : {"p100-west", "v100-west"}) {
    EXPECT_LT(mean(steps.at(device + std::string(" 1"))), 12.5);
    EXPECT_GT(mean(steps.at(device + std::string(" 2"))), 12.5);
    EXPECT_LT(mean(dollars.at(device + std::string(" 2"))), mean(dollars.at(device + std::string(" 1"))));
  }
  EXPECT_GT(mean(dollars.at("k80-west 2")), mean(dollars.at("k80-west 1")));
}

TEST_F(Study, ListNamesItsConfigurations) {
  const auto result = line_.tandem("study study.yaml --list");
  EXPECT_EQ(result.exit_code, 0);
  std::istringstream words(result.output);
  std::vector<std::string> names;
  std::set<std::string> digests;
  for (std::string name, digest; words >> name >> digest;) {
    names.push_back(name);
    digests.insert(digest);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"worker_count=2/asp", "worker_count=2/bsp", "worker_count=4/asp",
                                             "worker_count=4/bsp"}));
  EXPECT_EQ(digests.size(), 4U) << "each is another simulation";
}

// ---- Shards ----

void expect_unchanged(const std::map<std::string, std::filesystem::file_time_type>& entries) {
  for (const auto& [file, time] : entries)
    EXPECT_EQ(std::filesystem::last_write_time(file), time) << file << " was simulated again";
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return rest_of(file);
}

TEST_F(LongStudy, MergedShardsAreTheStudyOfOneProcessByteForByte) {
  ASSERT_EQ(line_.tandem("study study.yaml --out whole").exit_code, 0);
  // In one folder, and in a folder each.
  for (const char* shard : {"0/3", "1/3", "2/3"})
    ASSERT_EQ(line_.tandem("study study.yaml --out shared --shard " + std::string(shard)).exit_code, 0);
  for (const char* index : {"0", "1"})
    ASSERT_EQ(line_.tandem("study study.yaml --out part" + std::string(index) + " --shard " + index + "/2")
                  .exit_code,
              0);
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "shared/report.json")) << "a shard makes no report";
  ASSERT_EQ(line_.tandem("study merge shared").exit_code, 0);
  ASSERT_EQ(line_.tandem("study merge part0 part1 --out merged").exit_code, 0);
  for (const char* file : {"report.json", "report.md", "report.html"}) {
    const std::string whole = text_of(line_.folder() / "whole" / file);
    EXPECT_GT(whole.size(), 500U);
    EXPECT_EQ(whole, text_of(line_.folder() / "shared" / file)) << file;
    EXPECT_EQ(whole, text_of(line_.folder() / "merged" / file)) << file;
  }
}

/// As the tasks of an array: many shards have nothing to do and end while others begin.
TEST_F(LongStudy, ShardsMayBeginTogether) {
  ASSERT_EQ(line_.tandem("study study.yaml --out whole").exit_code, 0);
  for (int i = 0; i < 4; ++i) {
    const auto together = line_.shell(
        "rm -rf shared; for i in 0 1 2 3 4 5 6 7 8 9 10 11; do "
        "{ \"$TANDEM\" study study.yaml --out shared --shard $i/12 --jobs 1 || echo failed; } 2>&1 & done; "
        "wait");
    ASSERT_EQ(together.output.find("failed\n"), std::string::npos) << together.output;
    ASSERT_EQ(line_.tandem("study merge shared").exit_code, 0);
    EXPECT_EQ(text_of(line_.folder() / "whole/report.json"), text_of(line_.folder() / "shared/report.json"));
  }
}

TEST_F(LongStudy, OnlyMissingContinuesAndLosesNothing) {
  ASSERT_EQ(line_.tandem("study study.yaml --out whole").exit_code, 0);
  ASSERT_EQ(line_.tandem("study study.yaml --out parts --shard 0/2").exit_code, 0);
  const auto early = line_.tandem("study merge parts");
  EXPECT_EQ(early.exit_code, 1) << early.output;
  EXPECT_NE(early.output.find("not simulated yet"), std::string::npos) << early.output;
  const auto before = entries_in("parts");
  ASSERT_EQ(before.size(), 2U);
  ASSERT_EQ(line_.tandem("study study.yaml --out parts --only-missing").exit_code, 0);
  EXPECT_EQ(text_of(line_.folder() / "whole/report.json"), text_of(line_.folder() / "parts/report.json"));
  expect_unchanged(before);
  // A key that changes makes other simulations: those of the old one are not taken.
  ASSERT_EQ(line_.tandem("study study.yaml --out parts --only-missing --set stop.rounds=4").exit_code, 0);
  const json parts = read(line_.folder() / "parts/report.json");
  // Of asp, the last rounds of some workers are incomplete.
  for (const auto& own : parts.at("configurations"))
    EXPECT_EQ(std::floor(own.at("rounds").get<double>()), 4.0) << own.at("name");
}

TEST_F(LongStudy, AnInterruptedStudyIsContinuedAndNothingIsDoneTwice) {
  line_.write("long.yaml",
              "experiments: experiment.yaml\nvariants: [bsp]\nset: {stop.rounds: 3000}\n"
              "grid: {placement.worker_count: [2, 3, 4], workload.batch: [1, 2, 3, 4, 5, 6, 7, 8]}\n");
  ASSERT_EQ(line_.tandem("study long.yaml --out whole").exit_code, 0);
  for (const std::string signal : {"TERM", "KILL"}) {
    const auto result = line_.tandem_ended_early(
        "study long.yaml --jobs 2 --out " + signal,
        {.processes = list_processes("tandem"),
         .when = "[ $(find " + signal + "/*/ -name '*.json' 2> /dev/null | wc -l) -ge 3 ]",
         .kill = "kill -" + signal + " $run"});
    EXPECT_EQ(result.exit_code, signal == "TERM" ? 143 : 137) << result.output;
    const auto before = entries_in(signal);
    EXPECT_FALSE(before.empty());
    const auto again = line_.tandem("study long.yaml --only-missing --out " + signal);
    EXPECT_EQ(again.exit_code, 0) << again.output;
    expect_unchanged(before);
    EXPECT_EQ(text_of(line_.folder() / "whole/report.json"),
              text_of(line_.folder() / signal / "report.json"));
  }
}

TEST_F(Study, BadInputOfShardsIsRefused) {
  const auto refuses = [&](const std::string& words, const std::vector<std::string>& parts) {
    const auto result = line_.tandem("study " + words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
  };
  refuses("study.yaml --shard 4/4", {"--shard", "'4/4'"});
  refuses("study.yaml --shard /4", {"--shard /4", "SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX or HQ_TASK_ID"});
  refuses("study.yaml --shard", {"SLURM_ARRAY_TASK_ID", "I/N"});
  refuses("merge nowhere", {"nowhere", "study.json"});
  refuses("", {"expected an experiment"});
  const auto beyond = line_.shell("HQ_TASK_ID=4 \"$TANDEM\" study study.yaml --shard /4");
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_NE(beyond.output.find("expected HQ_TASK_ID from 0 to 3, found '4'"), std::string::npos)
      << beyond.output;
  ASSERT_EQ(line_.shell("PBS_ARRAY_INDEX=0 \"$TANDEM\" study study.yaml --out a --shard /4").exit_code, 0);
  refuses("study.yaml --out a --shard 1/4 --set stop.rounds=5", {"a: holds another study", "--only-missing"});
  ASSERT_EQ(line_.tandem("study study.yaml --out b --shard 1/4 --set stop.rounds=5").exit_code, 0);
  refuses("merge a b --out c", {"b: expected a part of the study in a", "stop.rounds=5"});
  line_.write("study.yaml", "experiments: experiment.yaml\n");
  refuses("merge a", {"study.yaml: has changed"});
  line_.write("a/study.json", "{}");
  refuses("merge a", {"a/study.json", "manifest of a study"});
}

const char* const print_script =
    "study study.yaml --print-sbatch --chunk 3 --time 00:05:00 --partition short --out out";

TEST_F(Study, PrintsAScriptForAJobArray) {
  const auto printed = line_.tandem(print_script);
  ASSERT_EQ(printed.exit_code, 0) << printed.output;
  for (const char* line : {"#SBATCH --array=0-1\n", "#SBATCH --time=00:05:00\n",
                           "#SBATCH --partition=short\n", "#SBATCH --requeue\n"})
    EXPECT_NE(printed.output.find(line), std::string::npos) << line << printed.output;
  EXPECT_EQ(line_.tandem("study study.yaml --print-sbatch --time '1 h'").exit_code, 2);
}

TEST_F(LongStudy, ThePrintedScriptForAJobArrayDoesAll) {
  const auto printed = line_.tandem(print_script);
  ASSERT_EQ(printed.exit_code, 0) << printed.output;
  line_.write("array.sh", printed.output);
  // What Slurm does.
  for (const char* task : {"0", "1"}) {
    const auto result = line_.shell("SLURM_ARRAY_TASK_ID=" + std::string(task) + " bash array.sh");
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
  ASSERT_EQ(line_.tandem("study merge out").exit_code, 0);
  ASSERT_EQ(line_.tandem("study study.yaml --out whole").exit_code, 0);
  EXPECT_EQ(text_of(line_.folder() / "whole/report.json"), text_of(line_.folder() / "out/report.json"));
}

TEST_F(Study, BadInputLeavesNothing) {
  line_.write("bad.yaml", "experiments: experiment.yaml\ngrid: {placement.worker_count: [2, 9]}\n");
  const auto many = line_.tandem("study bad.yaml --out out");
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_NE(many.output.find("expected at most 4, the number of workers"), std::string::npos) << many.output;
  line_.write("worse.yaml", "experiments: experiment.yaml\nstudy: {kne: 0.5}\n");
  const auto unknown = line_.tandem("study worse.yaml --out out");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.output.find("did you mean 'knee'?"), std::string::npos) << unknown.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
}

TEST_F(Study, AFailedConfigurationIsReportedAmongTheOthers) {
  line_.write("half.yaml",
              "experiments: experiment.yaml\nvariants: [bsp]\nset: {workload.math: real, "
              "workload.dataset_directory: /nowhere}\n"
              "grid: {workload.dataset: [synthetic, mnist]}\n");
  const auto result = line_.tandem("study half.yaml --out out");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_NE(result.output.find("mnist/bsp: failed"), std::string::npos) << result.output;
  const json report = read(line_.folder() / "out" / "report.json");
  for (const auto& own : report.at("configurations"))
    EXPECT_EQ(own.at("failure") == "", own.at("name") == "synthetic/bsp") << own.at("name");
}

TEST_F(Study, AShardThatIsNotCompleteFails) {
  line_.write("half.yaml",
              "experiments: experiment.yaml\nvariants: [bsp]\nset: {workload.math: real, "
              "workload.dataset_directory: /nowhere}\n"
              "grid: {workload.dataset: [synthetic, mnist]}\n");
  int failed = 0;
  for (const std::string shard : {"0/2", "1/2"}) {
    const auto result = line_.tandem("study half.yaml --out out --shard " + shard);
    EXPECT_EQ(result.exit_code, result.output.find("1 failed") == std::string::npos ? 0 : 1) << result.output;
    failed += result.exit_code;
  }
  EXPECT_EQ(failed, 1);
  const auto merged = line_.tandem("study merge out");
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_NE(merged.output.find("mnist/bsp: failed"), std::string::npos) << merged.output;
}

TEST_F(LongStudy, AnInterruptedStudyEndsItsProcesses) {
  line_.write("long.yaml",
              "experiments: experiment.yaml\nset: {stop.rounds: 2000000}\n"
              "grid: {placement.worker_count: [2, 4]}\n");
  const auto result = line_.tandem_ended_early(
      "study long.yaml --jobs 2 --out out",
      {.processes = list_processes("tandem"), .when = "[ $(processes | wc -l) -ge 3 ]"});
  EXPECT_EQ(result.exit_code, 143) << result.output;
  EXPECT_EQ(result.output.find("failed"), std::string::npos) << result.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
