// `tandem simulate`, show and list as a user sees them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return rest_of(file);
}

double summary_figure(const CommandLine& line, const std::string& out, const char* key) {
  return nlohmann::json::parse(contents(line.folder() / out / "summary.json")).at(key).get<double>();
}

void expect_same_records(const std::vector<std::string>& algorithms) {
  for (const std::string& algorithm : algorithms) {
    CommandLine line("real");
    const std::string words = line.experiment("evaluate_every: 2\n") +
                              " --decisions --operations --set sync.algorithm=" + algorithm;
    ASSERT_EQ(line.tandem("simulate " + words + " --out a").exit_code, 0);
    ASSERT_EQ(line.tandem("simulate " + words + " --out b").exit_code, 0);
    for (const char* file :
         {"steps.csv", "evaluations.csv", "decisions.csv", "operations.csv", "summary.json"}) {
      const std::string first = contents(line.folder() / "a" / file);
      EXPECT_GT(first.size(), 40U) << file;
      EXPECT_EQ(first, contents(line.folder() / "b" / file)) << algorithm << " " << file;
    }
  }
}

TEST(Simulate, TheSameSeedGivesTheSameRecords) { expect_same_records({"bsp", "asp"}); }
TEST(LongSimulate, TheSameSeedGivesTheSameRecords) { expect_same_records({"esync", "rennala"}); }

TEST(Simulate, AResolvedExperimentIsAnExperiment) {
  CommandLine line;
  const auto shown = line.tandem("show " + line.experiment());
  ASSERT_EQ(shown.exit_code, 0) << shown.output;
  const auto again = line.tandem("show " + line.write("resolved.yaml", shown.output));
  EXPECT_EQ(shown.output, again.output);
}

TEST(Simulate, ModelledMathTakesTheSameTimeAsRealMath) {
  CommandLine line;
  for (const std::string math : {"real", "modelled"})
    ASSERT_EQ(line.tandem("simulate " + line.experiment() + " --set workload.math=" + math + " --out " + math)
                  .exit_code,
              0);
  EXPECT_DOUBLE_EQ(summary_figure(line, "real", "makespan_s"),
                   summary_figure(line, "modelled", "makespan_s"));
}

TEST(Simulate, TimesOfCompressionsSayWhereTheyComeFrom) {
  CommandLine line;
  const std::string words = "simulate " + line.experiment() + " --out out --force";
  const auto compressed = line.tandem(words + " --set sync.compression=top-k");
  ASSERT_EQ(compressed.exit_code, 0) << compressed.output;
  EXPECT_NE(compressed.output.find("compression: not measured: bytes at the device's rate of memory"),
            std::string::npos)
      << compressed.output;
  const std::string report = "validation/reports/gpu-2026-11-28.md";
  EXPECT_NE(compressed.output.find(report), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(testing::source_folder() + "/" + report));
  EXPECT_EQ(line.tandem(words).output.find("compression:"), std::string::npos);
}

/// Workers in two racks that use an all-reduce.
std::string on_two_racks(const CommandLine& line, const std::string& workers) {
  return line.experiment() + " --set platform=" + testing::source_folder() +
         "/platforms/two_racks.xml --set sync.over=all-reduce --set placement.workers=[" + workers + "]";
}
const char* const in_turn = "node-1-1,node-2-1,node-1-2,node-2-2,node-1-3,node-2-3";

TEST(Simulate, ARingTakesNoLongerWhenWorkersOfTwoRacksAlternate) {
  CommandLine line;
  const auto makespan = [&](const std::string& workers, const std::string& more, const std::string& out) {
    const auto result = line.tandem("simulate " + on_two_racks(line, workers) + more + " --out " + out);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return summary_figure(line, out, "makespan_s");
  };
  const double good = makespan("node-1-1,node-1-2,node-1-3,node-2-1,node-2-2,node-2-3", "", "good");
  EXPECT_NEAR(makespan(in_turn, "", "turn"), good, 1e-9 * good);
  EXPECT_GT(makespan(in_turn, " --set sync.order=rank", "rank"), 1.05 * good);
}

TEST(Simulate, ReportsTheCollective) {
  CommandLine line;
  const auto result =
      line.tandem("simulate " + on_two_racks(line, in_turn) + " --set sync.collective=auto --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto run = nlohmann::json::parse(contents(line.folder() / "out" / "run.json"));
  const auto& sums = run.at("all_reduce");
  EXPECT_TRUE(sums.at("picked").get<bool>());
  EXPECT_FALSE(sums.at("collectives").empty());
  const auto summary = sums.at("summary").get<std::string>();
  EXPECT_EQ(summary.find("auto picked "), 0U) << summary;
  EXPECT_NE(result.output.find("all-reduce: " + summary), std::string::npos) << result.output;
}

TEST(Simulate, ReportsTimeSharesAndTimeToTarget) {
  CommandLine line("real");
  const std::string words =
      "simulate " + line.experiment("evaluate_every: 2\n") + " --set placement.evaluator=server";
  const auto told = [&](const std::string& more) {
    const auto result = line.tandem(words + more);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  };
  const std::string reached = told(" --set sync.algorithm=asp --set target_accuracy=0.01 --out reached");
  EXPECT_NE(reached.find("workers: computing "), std::string::npos) << reached;
  EXPECT_NE(reached.find("staleness "), std::string::npos) << reached;
  EXPECT_NE(reached.find("target accuracy 0.01: reached after "), std::string::npos) << reached;
  const std::string missed = told(" --set target_accuracy=1 --out missed");
  EXPECT_NE(missed.find("target accuracy 1: not reached in 3 evaluations, best "), std::string::npos)
      << missed;
  EXPECT_EQ(missed.find("staleness"), std::string::npos) << missed;
  const std::string modelled = told(" --set target_accuracy=1 --set workload.math=modelled --out modelled");
  EXPECT_NE(modelled.find("target accuracy 1: not evaluated (needs workload.math: real"), std::string::npos)
      << modelled;
}

TEST(Evaluate, FollowsAJobAndFindsWhatItsOwnEvaluationsFound) {
  const CommandLine line("real");
  const std::string words = line.experiment("evaluate_every: 2\n") + " --out out";
  const auto followed = line.shell(
      "mkdir out && { \"$TANDEM\" evaluate out --wait 300 --json > followed.json & } && \"$TANDEM\" "
      "simulate " +
      words + " && wait $!");
  ASSERT_EQ(followed.exit_code, 0) << followed.output;
  const auto own = nlohmann::json::parse(contents(line.folder() / "out/summary.json")).at("evaluations");
  const auto found = nlohmann::json::parse(contents(line.folder() / "followed.json")).at("evaluations");
  ASSERT_EQ(own.size(), 3U);
  ASSERT_EQ(found.size(), own.size()) << found;
  for (std::size_t i = 0; i < own.size(); ++i)
    for (const char* key : {"round", "accuracy", "loss"})
      EXPECT_NEAR(found[i].at(key).get<double>(), own[i].at(key).get<double>(), 1e-9)
          << key << " of evaluation " << i;
  // In other passes, afterwards, after a checkpoint was removed.
  std::filesystem::remove(line.folder() / "out/checkpoints/round_00000002.pt");
  const auto later =
      nlohmann::json::parse(line.shell("\"$TANDEM\" evaluate out --batch 7 --json 2> errors.txt").output)
          .at("evaluations");
  ASSERT_EQ(later.size(), 2U) << later;
  EXPECT_NEAR(later[1].at("loss").get<double>(), own[2].at("loss").get<double>(), 1e-6);
}

TEST(Evaluate, WaitsForACheckpointAndSaysSo) {
  const CommandLine line;
  std::filesystem::create_directory(line.folder() / "empty");
  const auto none = line.tandem("evaluate empty --wait 0.2");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.output.find("empty has no job (job.json) yet; waiting (Ctrl-C ends)"), std::string::npos)
      << none.output;
  EXPECT_NE(none.output.find("empty: expected job (job.json) within 0.2 s (--wait), found none"),
            std::string::npos)
      << none.output;
  ASSERT_EQ(line.tandem("simulate " + line.experiment() + " --out modelled").exit_code, 0);
  const auto modelled = line.tandem("evaluate modelled");
  EXPECT_EQ(modelled.exit_code, 2);
  EXPECT_NE(modelled.output.find("found a modelled one"), std::string::npos) << modelled.output;
}

TEST(Simulate, TracesAreJson) {
  CommandLine line;
  ASSERT_EQ(line.tandem("simulate " + line.experiment() + " --trace --out out").exit_code, 0);
  EXPECT_FALSE(nlohmann::json::parse(contents(line.folder() / "out" / "trace.json")).empty());
}

/// What the comment in cached.yaml claims.
TEST(LongSimulate, MinioReadsLessFromStorageThanLru) {
  CommandLine line;
  const auto throughput = [&](const std::string& cache) {
    const auto result =
        line.tandem("simulate '" + testing::source_folder() +
                    "/workloads/experiments/cached.yaml' --variant " + cache + " --out " + cache);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_NE(result.output.find("binds: the store, whose disk reads for "), std::string::npos) << cache;
    return summary_figure(line, cache, "throughput");
  };
  EXPECT_NEAR(throughput("minio") / throughput("lru"), 1.4, 0.05);
}

TEST(LongShow, AllShippedPlatforms) {
  CommandLine line;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_folder() + "/platforms")) {
    if (entry.path().extension() != ".xml") continue;
    ++count;
    const auto shown = line.tandem("show '" + entry.path().string() + "'");
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    const bool is_one_host = entry.path().stem() == "this_machine";
    EXPECT_NE(shown.output.find(is_one_host ? "this-machine" : "isection"), std::string::npos)
        << shown.output;
  }
  EXPECT_GE(count, 14);
}

TEST(Simulate, AMachineWithSeveralGpus) {
  CommandLine line;
  const auto throughput = [&](const std::string& out, const std::string& workers) {
    const auto result = line.tandem(
        "simulate " + testing::source_folder() +
        "/workloads/experiments/one_h200.yaml --variant ring --set platform=" + testing::source_folder() +
        "/platforms/four_h200.xml --set workload.math=modelled --set stop.rounds=4 --set "
        "workload.batch=4096 --set placement.servers=[processor] --set placement.workers=[" +
        workers + "] --out " + out);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return summary_figure(line, out, "throughput");
  };
  EXPECT_NEAR(throughput("apart", "gpu-0,gpu-3") / throughput("together", "gpu-0,gpu-0"), 2.0, 0.05);
}

TEST(List, NamesEveryKind) {
  CommandLine line;
  const auto all = line.tandem("list");
  ASSERT_EQ(all.exit_code, 0);
  for (const char* name : {"bsp",       "asp",          "esync",   "local-sgd",
                           "k-sync",    "ssp",          "ring",    "halving-doubling",
                           "native",    "auto",         "lru",     "minio",
                           "balanced",  "round-robin",  "lru",     "minio",
                           "iid",       "by-class",     "lenet",   "resnet18",
                           "mlp",       "mobilenet-v2", "FILE.pt", "fashion-mnist",
                           "synthetic", "young",        "daly",    "on-warning",
                           "shrink",    "replace",      "spares",  "restart"})
    EXPECT_NE(all.output.find(name), std::string::npos) << name;
  EXPECT_EQ(line.tandem("list nonsense").exit_code, 2);
}

TEST(List, OneNameOfAKind) {
  CommandLine line;
  const auto ssp = line.tandem("list sync ssp");
  ASSERT_EQ(ssp.exit_code, 0) << ssp.output;
  EXPECT_NE(ssp.output.find("membership: departures and arrivals: "), std::string::npos) << ssp.output;
  EXPECT_EQ(ssp.output.find("dynsgd"), std::string::npos) << ssp.output;
  for (const char* wrong : {"list sync nonsense", "list device nonsense", "list all ssp"})
    EXPECT_EQ(line.tandem(wrong).exit_code, 2) << wrong;
}

TEST(List, RatesOfDevicesByPrecisionWithTheirSources) {
  CommandLine line;
  const auto listed = line.tandem("list devices");
  ASSERT_EQ(listed.exit_code, 0) << listed.output;
  EXPECT_EQ(line.tandem("list device").output, listed.output);
  const auto row = [&](const std::string& name) {
    const auto begin = listed.output.find("\n  " + name + ' ') + 1;
    return listed.output.substr(begin, listed.output.find('\n', begin) - begin);
  };
  const auto squeezed = [](const std::string& text) {
    return std::regex_replace(text, std::regex(" +"), " ");
  };
  EXPECT_EQ(squeezed(row("flop/s in:")), " flop/s in: fp32 tf32 bf16 fp16 memory bandwidth launch source");
  EXPECT_EQ(squeezed(row("a100")),
            " a100 7.8 T 46.8 T 93.6 T 93.6 T 40 GB 1244.0 GB/s 20 us NVIDIA data sheet; SXM4, 40 GB");
  EXPECT_EQ(squeezed(row("t4")), " t4 3.24 T - - 19.5 T 16 GB 256.0 GB/s 20 us NVIDIA data sheet; 16 GB");
  for (const char* part : {"workload.precision", "PyTorch's default is fp32 for matrix", "cuDNN"})
    EXPECT_NE(listed.output.find(part), std::string::npos) << part;
}

TEST(List, DevicesAsADocument) {
  CommandLine line;
  const auto listed = line.shell("\"$TANDEM\" list devices --json 2> errors.txt");
  ASSERT_EQ(listed.exit_code, 0) << listed.output;
  const auto devices = nlohmann::json::parse(listed.output).at("device");
  const auto t4 = std::find_if(devices.begin(), devices.end(),
                               [](const auto& device) { return device.at("name") == "t4"; });
  ASSERT_NE(t4, devices.end());
  EXPECT_EQ(t4->at("flops_per_s"), nlohmann::json({{"fp32", 0.40 * 8.1e12}, {"fp16", 0.30 * 65e12}}));
  EXPECT_EQ(t4->at("memory_bytes"), 16'000'000'000);
  EXPECT_EQ(t4->at("source"), "NVIDIA data sheet; 16 GB");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
