// Several jobs on one platform: simulated, run in one mpirun, and refused.
#include "tests/cli/several_jobs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/paths.hpp"
#ifdef TANDEM_TESTS_RUN
#include "validation/compare/compare.hpp"
#endif
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class SeveralJobs : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (line_.folder() / name).string(); }
  nlohmann::json summary(const std::string& directory) const {
    return nlohmann::json::parse(std::ifstream(path(directory) + "/summary.json"));
  }
  Results results(const std::string& directory) const { return read_results(path(directory)); }
  CommandLine line_;
};
using LongSeveralJobs = SeveralJobs;

TEST_F(SeveralJobs, AreSimulatedTogetherAndAlone) {
  const std::string file = line_.experiment(three_jobs);
  const auto simulated = line_.tandem("simulate " + file + " --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto all = summary("out");
  for (const char* name : {"servers", "ring", "late"}) {
    SCOPED_TRACE(name);
    const Results together = results(std::string("out/jobs/") + name);
    const Results alone = results(std::string("out/alone/") + name);
    EXPECT_EQ(together.journal.steps.size(), alone.journal.steps.size());
    EXPECT_EQ(together.info.experiment.name, "experiment/" + std::string(name));
    EXPECT_EQ(together.info.physics.at("other_jobs").size(), 2U);
    EXPECT_FALSE(alone.info.physics.contains("other_jobs"));
    const auto& of_job = all.at("jobs").at(name);
    EXPECT_EQ(of_job.at("makespan_s"), together.summary.makespan_s);
    EXPECT_EQ(of_job.at("alone").at("makespan_s"), alone.summary.makespan_s);
    EXPECT_GE(of_job.at("slow_down").get<double>(), 1.0 - 1e-6);
  }
  EXPECT_EQ(all.at("jobs").at("late").at("start_s"), 0.5);
  // Its time counts from its own start.
  EXPECT_LT(results("out/jobs/late").journal.steps.front().start.count(), 0.1);
  // The first two share the device of node-1.
  EXPECT_GT(all.at("slow_down").at("max").get<double>(), 1.05);
  EXPECT_GT(all.at("jain_index").get<double>(), 0.0);
  EXPECT_LE(all.at("jain_index").get<double>(), 1.0);
  for (const char* text : {"job ring: ", "slow-down ", "Jain index "})
    EXPECT_NE(simulated.output.find(text), std::string::npos) << simulated.output;
  // Results of one job are as those of any job, and those of several say what they are.
  EXPECT_EQ(line_.tandem("view out").exit_code, 0);
  const auto several = line_.tandem("compare out out/jobs/ring");
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_NE(several.output.find("name one of out/jobs/*"), std::string::npos) << several.output;
  // Another simulation may replace it.
  EXPECT_EQ(line_.tandem("simulate " + file + " --out out").exit_code, 2);
  EXPECT_EQ(line_.tandem("simulate " + file + " --together-only --force --out out").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("out/alone")));
  EXPECT_FALSE(summary("out").contains("jain_index"));
}

TEST_F(LongSeveralJobs, WithRealMathematicsTrainTheModelsOfEachAlone) {
  const auto simulated = line_.tandem("simulate " + line_.experiment(three_jobs + "evaluate_every: 3\n") +
                                      " --set workload.math=real --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  for (const std::string name : {"servers", "ring"}) {
    const auto together = results("out/jobs/" + name).journal, alone = results("out/alone/" + name).journal;
    ASSERT_EQ(together.evaluations.size(), alone.evaluations.size());
    ASSERT_FALSE(together.evaluations.empty());
    for (std::size_t i = 0; i < together.evaluations.size(); ++i)
      EXPECT_EQ(together.evaluations[i].accuracy, alone.evaluations[i].accuracy) << name;
  }
}

TEST_F(SeveralJobs, AreShownAsAnExperimentThatIsTheSame) {
  const auto shown = line_.tandem("show " + line_.experiment(three_jobs));
  ASSERT_EQ(shown.exit_code, 0) << shown.output;
  const auto again = line_.tandem("show " + line_.write("again.yaml", shown.output));
  EXPECT_EQ(again.output, shown.output);
}

TEST_F(SeveralJobs, OtherCommandsAndOptionsRefuseThem) {
  const std::string file = line_.experiment(three_jobs);
  for (const std::string& words : std::vector<std::string>{
           "calibrate " + file, "simulate " + file + " --fidelity smpi",
           "simulate " + file +
               " --set workload.math=real --set recovery.mode=restart --set evaluate_every=2",
           "simulate " + file + " --set jobs.ring.sync.collective=native",
           "simulate " + file + " --set jobs.x=1"}) {
    const auto refused = line_.tandem(words + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << words << "\n" << refused.output;
    EXPECT_NE(refused.output.find("jobs"), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(path("out"))) << words;
  }
}

TEST_F(SeveralJobs, CannotBeResumed) {
  const auto simulated =
      line_.tandem("simulate " + line_.experiment(three_jobs) + " --together-only --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  // As a measurement leaves it when it is ended early.
  std::filesystem::create_directories(path("early/jobs/ring"));
  line_.write("early/job.json", R"({"jobs": []})");
  for (const char* folder : {"out", "out/jobs/ring", "early", "early/jobs/ring/"}) {
    const auto refused = line_.tandem("simulate --resume " + path(folder));
    EXPECT_EQ(refused.exit_code, 2) << folder << refused.output;
    EXPECT_NE(refused.output.find("several jobs (key jobs), which cannot be resumed"), std::string::npos)
        << refused.output;
  }
}

TEST_F(SeveralJobs, OptionsOfThemAreRefusedForOneJob) {
  const std::string file = line_.experiment("");
  std::vector<std::string> all = {"simulate " + file + " --together-only"};
#ifdef TANDEM_TESTS_RUN
  all.push_back("run " + file + " --alone");
#endif
  for (const std::string& words : all) {
    const auto refused = line_.tandem(words + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
    EXPECT_NE(refused.output.find("expected an experiment of several jobs (key jobs)"), std::string::npos)
        << refused.output;
    EXPECT_FALSE(std::filesystem::exists(path("out")));
  }
}

TEST_F(SeveralJobs, OfTheShippedExperimentSlowEachOtherDown) {
  const auto simulated = line_.tandem("simulate " + testing::source_folder() +
                                      "/workloads/experiments/contention.yaml --out out");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto all = summary("out");
  EXPECT_GT(all.at("slow_down").at("min").get<double>(), 1.05);
  EXPECT_LT(all.at("slow_down").at("max").get<double>(), 2.0);
}

// ---- One cache of several jobs ----

constexpr int set_size = 400;

class SharedCaches : public SeveralJobs {
 protected:
  void simulate(const std::string& text, const std::string& words = "") {
    const auto simulated = line_.tandem("simulate " + line_.experiment(text) +
                                        " --operations --decisions --force --out out " + words);
    ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
    output_ = simulated.output;
  }
  std::int64_t samples(const std::string& directory, const std::string& from,
                       std::optional<std::int64_t> epoch = {}) const {
    return cache_sum(results(directory).journal, from, epoch).samples;
  }
  std::string text(const std::string& file) const {
    std::ifstream stream(path(file));
    EXPECT_TRUE(stream.good()) << file;
    return rest_of(stream);
  }
  std::string output_;
};
using LongSharedCaches = SharedCaches;

TEST_F(SharedCaches, WithRoomForAllReadEachSampleOnceForAllJobs) {
  for (const char* policy : {"lru", "minio"}) {
    simulate(sharing_jobs(set_size, policy, ", seed: 9"));
    EXPECT_EQ(samples("out/jobs/first", "store") + samples("out/jobs/second", "store"), set_size) << policy;
    for (const char* name : {"first", "second"})
      EXPECT_EQ(samples("out/jobs/" + std::string(name), ""), 3 * set_size) << policy;
    // Alone each job reads all of them.
    EXPECT_EQ(samples("out/alone/second", "store"), set_size);
    const auto shared = summary("out").at("shared_cache");
    EXPECT_DOUBLE_EQ(shared.at("hit_ratio").get<double>(), 1 - 1.0 / 6);
    EXPECT_DOUBLE_EQ(shared.at("bound").get<double>(), 1 - 1.0 / 6);
    EXPECT_NE(output_.find("shared cache of 2 jobs: 83.3 % of the bytes hit, at most 83.3 % can"),
              std::string::npos)
        << output_;
    EXPECT_EQ(results("out/jobs/first").info.physics.at("shared_cache"), nlohmann::json({"second"}));
    // Its own bound does not hold for a cache that others fill too.
    EXPECT_TRUE(to_json(results("out/jobs/first").summary).at("data").at("warm").at("bound").is_null());
  }
}

TEST_F(LongSharedCaches, OfMinioHitTheirCapacityInEachWarmEpoch) {
  simulate(sharing_jobs(100, "minio", ", seed: 9"));
  for (const char* name : {"first", "second"})
    for (const std::int64_t epoch : {1, 2})
      EXPECT_EQ(samples("out/jobs/" + std::string(name), "tier0", epoch), 100) << name << epoch;
}

/// The second worker asks for what the first one has just asked for.
TEST_F(LongSharedCaches, OfJobsInLockStepReachTheBoundThatNoJobAloneCan) {
  simulate(sharing_jobs(100, "lru"), "--set jobs.second.placement.workers=[node-1]");
  const auto shared = summary("out").at("shared_cache");
  EXPECT_GT(shared.at("hit_ratio").get<double>(), 0.49);
  EXPECT_LE(shared.at("hit_ratio").get<double>(), shared.at("bound").get<double>());
  EXPECT_DOUBLE_EQ(shared.at("bound").get<double>(), 1 - (100 + 3 * 300.0) / 2400);
  EXPECT_LT(samples("out/alone/first", "tier0"), 100);
}

TEST_F(SharedCaches, OfOneJobAloneAreItsOwn) {
  const std::string alone =
      "data: {source: storage, shared: true, cache: lru, cache_capacity: 78500, sampling: shuffled}\n"
      "jobs: {only: {placement.cache_nodes: [server]}}\n";
  simulate(alone);
  for (const char* file : {"caches.csv", "steps.csv", "operations.csv", "decisions.csv"})
    EXPECT_EQ(text(std::string("out/jobs/only/") + file), text(std::string("out/alone/only/") + file))
        << file;
  EXPECT_EQ(results("out/jobs/only").summary.makespan_s, results("out/alone/only").summary.makespan_s);
  EXPECT_FALSE(results("out/jobs/only").info.physics.contains("shared_cache"));
  EXPECT_FALSE(summary("out").contains("shared_cache"));
}

/// The nodes are those of the job that begins first, and stay when it ends.
TEST_F(SharedCaches, OutliveTheJobsThatFillThem) {
  simulate(sharing_jobs(set_size, "minio", "", ", start: 1000s"));
  EXPECT_EQ(samples("out/jobs/second", "store"), set_size);
  EXPECT_EQ(samples("out/jobs/first", "store"), 0);
  EXPECT_EQ(samples("out/jobs/first", "tier0"), 3 * set_size);
  // Its records count from its own start, and its time is that of its own ranks.
  EXPECT_LT(results("out/jobs/first").journal.steps.front().start.count(), 10.0);
  EXPECT_LT(results("out/jobs/first").summary.makespan_s, 500.0);
  EXPECT_LT(results("out/jobs/second").summary.makespan_s, 500.0);
  EXPECT_LT(results("out/jobs/first").summary.makespan_s, results("out/alone/first").summary.makespan_s);
}

TEST_F(LongSharedCaches, FromStoresAndOnSeveralNodesReadEachSampleOncePerNode) {
  simulate(
      sharing_jobs(set_size, "lru", ", seed: 9"),
      "--set placement.cache_nodes=[node-4,node-5] --set placement.stores=[server] --set workload.batch=16 "
      "--set jobs.first.workload.batch=10");
  const auto reads = samples("out/jobs/first", "store") + samples("out/jobs/second", "store");
  // The first job asks one node for all, the second each for the half that its worker wants in an epoch.
  EXPECT_GE(reads, set_size);
  EXPECT_LE(reads, 2 * set_size);
  simulate(sharing_jobs(set_size, "lru", ", seed: 9"),
           "--set placement.cache_nodes=[node-4,node-5] --set placement.stores=[server] --set "
           "data.peers=partition "
           "--set data.copies=1");
  const auto all = [&](const char* from) {
    return samples("out/jobs/first", from) + samples("out/jobs/second", from);
  };
  EXPECT_GT(all("peer"), 0);
  EXPECT_EQ(all(""), 6 * set_size + all("peer-miss"));
}

TEST_F(LongSharedCaches, PlanWithTheEpochsOfEachJob) {
  struct Policy {
    const char* name;
    const char* sampling;
    const char* words;
  };
  for (const Policy& policy :
       {Policy{"icache", "importance",
               "--set data.cache_options.package=4 --set jobs.first.data.cache_options.benefit=0.2"},
        Policy{"shade", "importance", ""}, Policy{"quiver", "shuffled", ""}, Policy{"ods", "shuffled", ""}}) {
    SCOPED_TRACE(policy.name);
    simulate(sharing_jobs(100, policy.name, ", seed: 9"),
             std::string("--set data.sampling=") + policy.sampling + " " + policy.words);
    for (const char* name : {"first", "second"}) {
      const Results together = results(std::string("out/jobs/") + name);
      const Results alone = results(std::string("out/alone/") + name);
      for (const std::int64_t epoch : {0, 1, 2})
        EXPECT_EQ(to_json(together.summary)
                      .at("data")
                      .at("epochs")
                      .at(static_cast<std::size_t>(epoch))
                      .at("requests"),
                  to_json(alone.summary)
                      .at("data")
                      .at("epochs")
                      .at(static_cast<std::size_t>(epoch))
                      .at("requests"));
      if (std::string(policy.sampling) == "shuffled") {
        EXPECT_EQ(together.summary.data.value().coverage.value().omitted, 0);
        EXPECT_EQ(together.summary.data.value().coverage.value().repeated, 0);
      }
    }
    const std::string events = text("out/jobs/first/decisions.csv");
    EXPECT_NE(events.find("want job=1"), std::string::npos);
    EXPECT_NE(events.find("job=1 state=starts"), std::string::npos);
    const bool has_benefit = std::string(policy.name) == "icache";
    EXPECT_NE(events.find(has_benefit ? "state=probed benefit=0.2" : "state=probed"), std::string::npos);
    EXPECT_NE(events.find("state=ends"), std::string::npos);
  }
}

/// Two jobs, one after the other, whose samples all fit into the cache.
std::string probing(const std::string& start) {
  return sharing_jobs(set_size, "icache", ", seed: 9, start: " + start, "", 4);
}
const std::string probe_words =
    "--set data.sampling=importance --set data.cache_options.split=1 --set data.cache_options.package=1 ";

/// What two simulations tell, with the cache and without: the benefit of a job that is alone meanwhile.
TEST_F(SharedCaches, MeasureWhatTheySaveEachJob) {
  const auto step_time = [&](const std::string& directory) {
    const Results result = results(directory);
    std::int64_t last = 0;
    for (const StepRecord& step : result.journal.steps) last = std::max<std::int64_t>(last, step.step);
    std::vector<double> times;
    for (const StepRecord& step : result.journal.steps)
      if (step.step > last - 20) times.push_back(step.duration().count());
    std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
    return times[times.size() / 2];
  };
  const std::string text_of_jobs = probing("1000s");
  // Steps of little but waiting for batches.
  const std::string words = probe_words +
                            "--set workload.model=synthetic --set workload.synthetic_parameters=1000 --set "
                            "workload.synthetic_forward=1kflop --set workload.synthetic_backward=1kflop ";
  simulate(text_of_jobs, words + "--set data.cache_capacity=0");
  const double first = step_time("out/alone/first"), second = step_time("out/alone/second");
  simulate(text_of_jobs, words + "--set data.cache_options.probe=6");
  const auto jobs = summary("out").at("shared_cache").at("jobs");
  for (const auto& [name, without] : {std::pair("first", first), std::pair("second", second)}) {
    SCOPED_TRACE(name);
    const double with = step_time(std::string("out/alone/") + name);
    EXPECT_GT(without, 1.04 * with) << "the cache saves something";
    EXPECT_NEAR(jobs.at(name).at("benefit").get<double>(), (without - with) / without, 1e-6);
    // Seven intervals of six steps and what comes before them, of each worker, bypass a cache that has all.
    const std::int64_t workers = name == std::string("first") ? 1 : 2;
    EXPECT_EQ(samples(std::string("out/jobs/") + name, "store"),
              8 * 8 * workers + (name == std::string("first") ? set_size : 0));
  }
  const std::string events = text("out/jobs/first/decisions.csv");
  for (const std::string job : {"job", "job job=1"})
    for (const std::string state : {"bypasses", "returns", "probed benefit=0."})
      EXPECT_NE(events.find(job + " state=" + state), std::string::npos) << job << state;
}

/// Of a cache that has all samples, only batches that bypass it wait, not those for which the other job
/// happens to want the same samples at that time. The disk is slow, so that this happens.
TEST_F(SharedCaches, AreMeasuredWithoutMakingOtherJobsWait) {
  ASSERT_EQ(
      line_
          .shell("sed 's|<disk id=\"disk\" \\([^/]*\\)/>|<disk id=\"disk\" \\1><prop "
                 "id=\"tandem:latency\" value=\"50ms\"/></disk>|' '" +
                 testing::source_folder() + "/platforms/mixed_lab.xml' > slow.xml; grep -q 50ms slow.xml")
          .exit_code,
      0);
  simulate(probing("0s"), probe_words + "--set platform=slow.xml --set data.cache_options.probe=6");
  for (const auto& [job, workers] : {std::pair("first", 1), std::pair("second", 2)}) {
    SCOPED_TRACE(job);
    const Journal journal = results(std::string("out/jobs/") + job).journal;
    std::map<int, std::vector<Seconds>> requested, answered;  // by worker, at the node
    for (const OperationRecord& operation : journal.operations) {
      if (operation.kind == "receive" && operation.channel == "requests")
        requested[operation.peer].push_back(operation.end);
      if (operation.kind == "send" && operation.channel == "batches" && operation.rank >= workers)
        answered[operation.peer].push_back(operation.start);
    }
    const std::size_t batches_of_epoch = set_size / 8 / static_cast<std::size_t>(workers);
    std::int64_t waited = 0;
    for (auto& [worker, times] : answered) {
      std::ranges::sort(times);
      std::ranges::sort(requested[worker]);
      ASSERT_EQ(times.size(), 4 * batches_of_epoch);
      for (std::size_t i = batches_of_epoch; i < times.size(); ++i)
        waited += times[i] - requested[worker][i] > Seconds(1e-3) ? 1 : 0;
    }
    const std::string directory = std::string("out/jobs/") + job;
    const std::int64_t bypassed = samples(directory, "store") - samples(directory, "store", 0);
    EXPECT_GT(bypassed, 0);
    EXPECT_EQ(waited, bypassed / 8);
  }
}

TEST_F(SharedCaches, AreMeasuredOnlyWhereJobsShareThem) {
  const auto refused = line_.tandem(
      "simulate " +
      line_.experiment("data: {source: storage, cache: icache, sampling: importance, cache_capacity: 78500,\n"
                       "       cache_options: {package: 4, probe: 6}}\n") +
      " --set placement.cache_nodes=[server] --set sync.over=all-reduce --out out");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("'data.cache_options.probe': expected 0, because no other job shares"),
            std::string::npos)
      << refused.output;
}

TEST_F(LongSharedCaches, OfUnlikeJobsAreRefused) {
  const std::pair<const char*, const char*> changes[] = {
      {"--set jobs.first.data.cache=lru", "data."},
      {"--set jobs.second.data.cache_capacity=1MB", "data."},
      {"--set jobs.first.placement.cache_nodes=[node-5] --set placement.stores=[server]", "data.shared"},
      {"--set data.source=memory", "data."},
      {"--set transience.lifetime=exponential", "key 'transience.lifetime'"}};
  for (const auto& [words, key] : changes) {
    const auto refused =
        line_.tandem("simulate " + line_.experiment(sharing_jobs(100)) + " " + words + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << words << refused.output;
    EXPECT_NE(refused.output.find(key), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(path("out"))) << words;
  }
  const auto alone = line_.tandem("simulate " + line_.experiment("data: {shared: true}\n") + " --out out");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_NE(alone.output.find("the experiment has only one job"), std::string::npos) << alone.output;
}

#ifdef TANDEM_TESTS_RUN

/// The benefit is measured in real time, so it differs; decisions follow from what was recorded of it. With
/// real data: a wrong sample would change the model.
TEST_F(LongSharedCaches, AreMeasuredInARunAndReplayed) {
  const std::string evaluating = ", evaluate_every: 20, placement.evaluator: node-4";
  const std::string words = line_.experiment(sharing_jobs(set_size, "icache", evaluating, evaluating)) +
                            " --set workload.math=real --operations --decisions " + probe_words +
                            "--set data.cache_options.probe=4";
  const auto simulated = line_.tandem("simulate " + words + " --out simulated");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured = line_.tandem("run " + words + " --out measured");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  for (const std::string world : {"simulated", "measured"})
    for (const char* name : {"first", "second"}) {
      const double benefit = summary(world).at("shared_cache").at("jobs").at(name).at("benefit");
      EXPECT_GE(benefit, 0.0) << world << name;
      EXPECT_LT(benefit, 1.0) << world << name;
    }
  const std::string events = text("measured/jobs/first/decisions.csv");
  EXPECT_NE(events.find("state=bypasses"), std::string::npos);
  EXPECT_NE(events.find("state=returns"), std::string::npos);
  for (const std::string name : {"first", "second"}) {
    const auto one = results("simulated/jobs/" + name), other = results("measured/jobs/" + name);
    const auto comparison = validation::compare(one, {other});
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
    const auto alone = results("simulated/alone/" + name);
    ASSERT_EQ(alone.journal.evaluations.size(), other.journal.evaluations.size());
    for (std::size_t i = 0; i < alone.journal.evaluations.size(); ++i)
      EXPECT_EQ(alone.journal.evaluations[i].accuracy, other.journal.evaluations[i].accuracy);
  }
}

/// With real data: a wrong sample would change the model.
TEST_F(SharedCaches, DoTheSameInASimulationAndInOneRun) {
  const std::string evaluating = ", evaluate_every: 20, placement.evaluator: node-4";
  const std::string words =
      line_.experiment(sharing_jobs(set_size, "minio", evaluating + ", start: 0.5s", evaluating)) +
      " --set workload.math=real --operations --decisions";
  const auto simulated = line_.tandem("simulate " + words + " --out simulated");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured = line_.tandem("run " + words + " --out measured");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  std::int64_t reads = 0;
  for (const std::string name : {"first", "second"}) {
    SCOPED_TRACE(name);
    const auto one = results("simulated/jobs/" + name), other = results("measured/jobs/" + name);
    const auto alone = results("simulated/alone/" + name);
    EXPECT_EQ(cache_sum(other.journal, "").samples, 3 * set_size);
    EXPECT_EQ(one.journal.steps.size(), other.journal.steps.size());
    EXPECT_EQ(one.info.physics.at("shared_cache"), other.info.physics.at("shared_cache"));
    reads += cache_sum(other.journal, "store").samples;
    const auto comparison = validation::compare(one, {other});
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
    ASSERT_FALSE(other.journal.evaluations.empty());
    ASSERT_EQ(alone.journal.evaluations.size(), other.journal.evaluations.size());
    for (std::size_t i = 0; i < alone.journal.evaluations.size(); ++i)
      EXPECT_EQ(alone.journal.evaluations[i].accuracy, other.journal.evaluations[i].accuracy);
    EXPECT_GT(other.summary.makespan_s, 0.0);
  }
  EXPECT_EQ(reads, set_size);
  EXPECT_DOUBLE_EQ(summary("measured").at("shared_cache").at("hit_ratio").get<double>(), 1 - 1.0 / 6);
}

/// What each job knows of its losses comes from its own workers.
TEST_F(LongSharedCaches, WithImportanceDecideAgainAsRecordedInBothWorlds) {
  const std::string words = line_.experiment(sharing_jobs(100, "icache", "", "", 2)) +
                            " --set workload.math=real --set data.sampling=importance --set "
                            "data.cache_options.package=4 --decisions --out ";
  const auto simulated = line_.tandem("simulate " + words + "simulated --together-only");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured = line_.tandem("run " + words + "measured");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  for (const std::string name : {"first", "second"}) {
    const auto one = results("simulated/jobs/" + name), other = results("measured/jobs/" + name);
    EXPECT_GT(cache_sum(other.journal, "tier0").samples, 0) << name;
    const auto comparison = validation::compare(one, {other});
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
  }
}

TEST_F(LongSharedCaches, AKilledNodeEndsAllJobsAndIsNamedOnce) {
  // Ranks: a worker, the node, two workers.
  const auto result = line_.tandem_ended_early(
      "run " + line_.experiment(sharing_jobs(100)) + " --set stop.epochs=100000 --out out",
      {.processes = list_processes("tandem-rank"),
       .when = have_started("out", 2),
       .kill = "kill -9 $(for p in $(processes); do tr '\\0' '\\n' < /proc/$p/environ | "
               "grep -q '^OMPI_COMM_WORLD_RANK=1$' && echo $p; done)"});
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_NE(result.output.find("rank 1 is rank 1 of job 'first', the cache-node on 'server'"),
            std::string::npos)
      << result.output;
}

TEST_F(LongSeveralJobs, DoTheSameInASimulationAndInOneRun) {
  const std::string words = line_.experiment(three_jobs + "evaluate_every: 3\n") +
                            " --set workload.math=real --operations --decisions";
  const auto simulated = line_.tandem("simulate " + words + " --together-only --out simulated");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured = line_.tandem("run " + words + " --alone --out measured");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  for (const std::string name : {"servers", "ring", "late"}) {
    SCOPED_TRACE(name);
    const auto one = results("simulated/jobs/" + name), other = results("measured/jobs/" + name);
    const auto comparison = validation::compare(one, {other});
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
    if (name == "late") continue;
    EXPECT_EQ(comparison.operations.state, validation::Gate::State::passed) << comparison.operations.detail;
    for (std::size_t i = 0; i < one.journal.evaluations.size(); ++i)
      EXPECT_EQ(one.journal.evaluations[i].accuracy, other.journal.evaluations.at(i).accuracy);
  }
  EXPECT_EQ(results("measured/jobs/late").journal.steps.size(),
            results("simulated/jobs/late").journal.steps.size());
  const auto all = summary("measured");
  EXPECT_TRUE(all.contains("jain_index")) << all.dump(1);
}

TEST_F(LongSeveralJobs, AJobThatFailsEndsAllAndIsNamed) {
  const auto failed =
      line_.tandem("run " + line_.experiment(three_jobs) +
                   " --set workload.math=real --set jobs.ring.optimizer.learning_rate=1e30 --set "
                   "jobs.servers.stop.rounds=100000 --out out");
  EXPECT_EQ(failed.exit_code, 70) << failed.output;
  EXPECT_NE(failed.output.find("job 'ring'"), std::string::npos) << failed.output;
  for (const char* name : {"out", "out/jobs/ring", "out/jobs/servers"})
    EXPECT_TRUE(is_incomplete_result_directory(path(name))) << name;
}

TEST_F(LongSeveralJobs, AKilledRankIsNamedWithItsJob) {
  const auto result = line_.tandem_ended_early(
      "run " + line_.experiment(three_jobs) + " --set stop.rounds=100000 --out out",
      {.processes = list_processes("tandem-rank"),
       .when = have_started("out", 3),
       .kill = "kill -9 $(for p in $(processes); do tr '\\0' '\\n' < /proc/$p/environ | "
               "grep -q '^OMPI_COMM_WORLD_RANK=6$' && echo $p; done)"});
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_NE(result.output.find("rank 6 is rank 1 of job 'ring', the worker on 'node-2'"), std::string::npos)
      << result.output;
}

TEST_F(LongSeveralJobs, EndBySignalsAsOneJobDoes) {
  const auto result = line_.tandem_ended_early(
      "run " + line_.experiment(three_jobs) + " --set stop.rounds=100000 --out out",
      {.processes = list_processes("tandem|tandem-rank"), .when = "[ $(processes | wc -l) -ge 10 ]"});
  EXPECT_EQ(result.exit_code, 143) << result.output;
}

/// Each reads its own mounted storage, on the terms of a job by itself.
TEST_F(SeveralJobs, WithMountedStorageAskForWhatOneJobAsksFor) {
  const auto refused = line_.tandem("run " +
                                    line_.experiment(three_jobs + "data: {source: storage, store: mounted}\n"
                                                                  "run: {devices: emulated}\n") +
                                    " --set placement.cache_nodes=[node-6] --set placement.stores=[server] "
                                    "--out out");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("because data.store is mounted"), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

/// Each job by itself has enough; node-5 has 1 GiB.
TEST_F(SeveralJobs, NeedTheMemoryOfAllTogether) {
  const std::string on_node = "placement.workers: [node-5, node-5, node-5]";
  const std::string text = "jobs:\n  one: {" + on_node + "}\n  other: {" + on_node + "}\n";
  const auto refused = line_.tandem("run " + line_.experiment(text) + " --out out");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("host 'node-5': 6 ranks need"), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  const auto simulated = line_.tandem("simulate " + line_.experiment(text) + " --together-only --out out");
  EXPECT_NE(simulated.output.find("host 'node-5': 6 ranks need"), std::string::npos) << simulated.output;
}

TEST_F(SeveralJobs, RunOnlyOnThisMachineOrACluster) {
  for (const std::string& option : std::vector<std::string>{"--hosts localhost:12", "--print-command"}) {
    const auto refused = line_.tandem("run " + line_.experiment(three_jobs) + " " + option + " --out out");
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
    EXPECT_NE(refused.output.find("several jobs"), std::string::npos) << refused.output;
  }
}

#endif

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
