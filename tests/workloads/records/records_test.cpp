// The result directory: files round trip exactly, and the summary agrees with the records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/seeds.hpp"
#include "workloads/records/chrome_trace.hpp"
#include "workloads/records/csv_columns.hpp"
#include "workloads/records/metrics.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace TANDEM_FILE {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A separate directory for each test, removed at the end.
class ResultDirectory : public ::testing::Test {
 protected:
  ResultDirectory() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path = fs::temp_directory_path() /
           (std::string("tandem_records_") + test->name() + std::to_string(getpid()));
    fs::remove_all(path);
  }
  ~ResultDirectory() override { fs::remove_all(path); }
  void put(const std::string& file, const std::string& text) const { std::ofstream(path / file) << text; }
  void create(bool force) const { const WriteLock lock = create_result_directory(path, force); }

  fs::path path;
};

RunInfo two_workers() {
  RunInfo info;
  info.world = "simulated";
  info.experiment.name = "small";
  info.experiment.warmup_steps = 1;
  info.experiment.stop.rounds = 3;
  info.roles = {"worker", "worker", "server"};
  info.hosts = {"a", "b", "c"};
  info.network = NetworkOrigin{.kind = "simulated", .of = "platform"};
  info.devices = "catalogue";
  info.physics = {{"network/model", "CM02"}};
  info.all_reduce = {{"summary", "ring, workers by rank"}};
  info.sharding = {{"bytes", {400}}, {"largest_over_mean", 1.0}};
  info.versions = {{"tandem", "0.1.0"}};
  info.command = "tandem simulate small.yaml";
  return info;
}

StepRecord step_of(Rank rank, int step, double forward, double exchange) {
  StepRecord record{.rank = rank, .step = step, .round = step, .start = Seconds(step * 10.0), .samples = 4};
  record.phases[static_cast<std::size_t>(Phase::forward)] = Seconds(forward);
  record.phases[static_cast<std::size_t>(Phase::exchange)] = Seconds(exchange);
  record.bytes_sent = 100;
  record.bytes_received = 50;
  return record;
}

Journal small_journal() {
  Journal journal;
  journal.steps = {step_of(0, 0, 9, 9), step_of(0, 1, 1, 1), step_of(0, 2, 2, 2),
                   step_of(1, 0, 9, 9), step_of(1, 1, 3, 1), step_of(1, 2, 5, 1)};
  return journal;
}

template <class Record>
void expect_same_csv(const std::vector<Record>& records) {
  const std::string text = to_csv(records);
  EXPECT_EQ(to_csv(from_csv<Record>("file", text)), text);
}

TEST(Csv, TextsAreQuotedIfNecessary) {
  const std::vector<DecisionRecord> records = {{1, "server", "say \"hello\", world", "two\nlines"},
                                               {2, "cache", "", "plain"},
                                               {3, "x", "\"", ",\r\n"}};
  const std::string text = to_csv(records);
  EXPECT_THAT(text, HasSubstr("1,server,\"say \"\"hello\"\", world\",\"two\nlines\"\n"));
  const auto back = from_csv<DecisionRecord>("file", text);
  ASSERT_EQ(back.size(), 3U);
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].event, records[i].event);
    EXPECT_EQ(back[i].decisions, records[i].decisions);
  }
}

TEST(Csv, NumbersRoundTripExactly) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    std::vector<StepRecord> records;
    for (int i = 0; i < 200; ++i) {
      auto& record = records.emplace_back(
          step_of(i, i, std::ldexp(rng.uniform(), static_cast<int>(rng.below(80)) - 40), rng.normal()));
      record.loss = i % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : rng.normal() * 1e-300;
      record.bytes_sent = static_cast<std::int64_t>(rng.next() >> 1);
    }
    const auto back = from_csv<StepRecord>("file", to_csv(records));
    ASSERT_EQ(back.size(), records.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].phases, records[i].phases);
      EXPECT_EQ(back[i].bytes_sent, records[i].bytes_sent);
      EXPECT_EQ(std::isnan(back[i].loss), std::isnan(records[i].loss));
      if (!std::isnan(records[i].loss)) {
        EXPECT_EQ(back[i].loss, records[i].loss);
      }
    }
  }
}

TEST(Csv, ColumnsOfOlderFilesAreReadByTheirOldNames) {
  const std::string text = to_csv<MembershipRecord>({{.time = Seconds(2), .event = "paused", .view = 3}});
  EXPECT_THAT(text, HasSubstr(",view,"));
  std::string older = text;
  older.replace(older.find(",view,"), 6, ",epoch,");
  EXPECT_EQ(to_csv(from_csv<MembershipRecord>("membership.csv", older)), text);
  // Before there were regions and zones.
  const std::string places = ",region,zone";
  older.erase(older.find(places), places.size());
  ASSERT_TRUE(older.ends_with(",,\n"));
  older.replace(older.size() - 3, 3, "\n");
  EXPECT_EQ(to_csv(from_csv<MembershipRecord>("membership.csv", older)), text);
}

TEST(Csv, OlderFilesMayLackTheLastColumn) {
  const std::string older = "round,samples,checkpoint_time_s,time_s,accuracy,loss\n3,64,1.5,2.25,0.5,1.25\n";
  const auto records = from_csv<EvaluationRecord>("evaluations.csv", older);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records.front().loss, 1.25);
  EXPECT_TRUE(std::isnan(records.front().top5_accuracy));
  const std::string half =
      "round,samples,checkpoint_time_s,time_s,accuracy,loss,top5_accuracy\n3,64,1.5,2.25,0.5,1\n";
  EXPECT_THROW(from_csv<EvaluationRecord>("evaluations.csv", half), ConfigError);
  const auto commits =
      from_csv<CommitRecord>("commits.csv", "round,started_s,ended_s,blocked_s,bytes\n6,1,2,0.5,4096\n");
  EXPECT_EQ(commits.at(0).bytes, 4096);
  EXPECT_EQ(commits.at(0).by_servers, Seconds(0));
}

TEST(Csv, EveryKindOfRecordRoundTrips) {
  expect_same_csv<EvaluationRecord>({{3, 64, Seconds(1.5), Seconds(2.25), 0.5, 1.25, 0.75}});
  expect_same_csv<CommitRecord>({{6, Seconds(1.5), Seconds(2.25), Seconds(0.5), 4096, Seconds(0.25)}});
  expect_same_csv<CacheRecord>({{4, 1, "tier0", 10, 1000, Seconds(0.5), Seconds(0.125)}});
  expect_same_csv<StalenessRecord>({{1, 0, 7, 448}, {1, 3, 1, 64}});
  expect_same_csv<OperationRecord>({{1, "send", 2, "pushes", "", -1, 4096, 0, Seconds(0.1), Seconds(0.3)}});
  expect_same_csv<GpuRecord>({{1, Seconds(0.5), 1980, 2619, 512.25, 64, 1 << 30, "power thermal"}});
  expect_same_csv<StepRecord>({});
}

TEST(Csv, BadFilesNameFileLineAndColumn) {
  const auto message = [](const std::string& text) {
    try {
      from_csv<CacheRecord>("caches.csv", text);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string header = "rank,epoch,from,samples,bytes,blocked_s,reading_s\n";
  EXPECT_THAT(message("rank,era\n"), HasSubstr("caches.csv:1: expected the header 'rank,epoch,"));
  EXPECT_THAT(message(""), HasSubstr("caches.csv:1: expected the header"));
  EXPECT_EQ(message(header + "0,1,2,3,4,5,6\n0,1,2\n"), "caches.csv:3: expected 7 fields, found 3");
  EXPECT_EQ(message(header + "0,1,store,two,4,5,6\n"),
            "caches.csv:2: column 'samples': expected an integer, found 'two'");
  EXPECT_EQ(message(header + "0,1,2,3,4,5,6s\n"),
            "caches.csv:2: column 'reading_s': expected a number, found '6s'");
  EXPECT_EQ(message(header + "0,1,2,3,4,5,\"6\n"),
            "caches.csv:2: expected a quote at the end of a text, found none");
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile({0, 10, 20, 30, 40}, 0.95), 38.0);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(Summary, FiguresFollowFromTheRecords) {
  const auto summary = to_json(summarise(two_workers(), small_journal(), Seconds(12)));
  EXPECT_EQ(summary["samples"], 24);
  EXPECT_EQ(summary["steps"], 6);
  EXPECT_DOUBLE_EQ(summary["throughput"], 2.0);
  EXPECT_DOUBLE_EQ(summary["rounds"], 3.0);
  EXPECT_EQ(summary["bytes"]["sent"], 600);
  EXPECT_EQ(summary["ranks"][1]["bytes_received"], 150);
  EXPECT_EQ(summary["ranks"][1]["host"], "b");
  EXPECT_FALSE(summary.contains("cache"));
}

TEST(Summary, WarmUpStepsAreLeftOutOfStepStatisticsOnly) {
  const auto summary = to_json(summarise(two_workers(), small_journal(), Seconds(12)));
  // Counted steps: 2, 4 of rank 0 and 4, 6 of rank 1; their forward times are 1, 2, 3, 5.
  EXPECT_EQ(summary["step_time_s"]["steps"], 4);
  EXPECT_DOUBLE_EQ(summary["step_time_s"]["mean"], 4.0);
  EXPECT_DOUBLE_EQ(summary["step_time_s"]["median"], 4.0);
  EXPECT_DOUBLE_EQ(summary["ranks"][0]["step_time_s"]["mean"], 3.0);
  EXPECT_DOUBLE_EQ(summary["phases"]["forward"]["mean_s"], 11.0 / 4);
  EXPECT_DOUBLE_EQ(summary["phases"]["forward"]["share"], 11.0 / 16);
  EXPECT_THAT(summary["warmup"]["rule"].get<std::string>(), HasSubstr("first 1 steps of each worker"));
}

/// Node 0 reads 300 bytes from the store, 100 of them in the background, and node 1 reads 500.
TEST(Summary, TheBusiestDiskWithTheDataSet) {
  auto journal = small_journal();
  journal.caches = {{0, 0, "store", 20, 200, Seconds(1), Seconds(1)},
                    {0, 0, "background", 10, 100, Seconds(0), Seconds(1)},
                    {0, 0, "tier0", 90, 900, Seconds(0), Seconds(0)},
                    {1, 0, "store", 50, 500, Seconds(1), Seconds(1)}};
  RunInfo info = two_workers();
  const auto busy = [&] { return to_json(summarise(info, journal, Seconds(10)))["cache"]["storage_busy"]; };
  info.data_disks = {{"a", 50.0}, {"b", 100.0}};
  EXPECT_DOUBLE_EQ(busy(), 0.6) << "300 bytes from the disk of a";
  info.data_disks = {{"c", 100.0}, {"d", 50.0}};
  info.experiment.placement.stores = {"c", "c", "c", "d"};
  EXPECT_DOUBLE_EQ(busy(), 0.6) << "three quarters of 800 bytes from the disk of c";
  info.experiment.data.peers = Peers::partition;
  EXPECT_DOUBLE_EQ(busy(), 0.525) << "reads in the background may be from peers";
}

TEST(Summary, CacheRequestsAreSummed) {
  auto journal = small_journal();
  journal.caches = {
      {2, 0, "tier0", 30, 300, Seconds(0), Seconds(0)},   {2, 0, "store", 10, 100, Seconds(1.5), Seconds(1)},
      {2, 1, "tier0", 45, 450, Seconds(0), Seconds(0)},   {2, 1, "tier1", 5, 50, Seconds(0.25), Seconds(0.5)},
      {3, 1, "store", 10, 100, Seconds(2.5), Seconds(2)}, {3, 1, "kept", 7, 70, Seconds(0), Seconds(0)},
      {3, 1, "spoiled", 1, 0, Seconds(0), Seconds(0)}};
  const auto cache = to_json(summarise(two_workers(), journal, Seconds(12)))["cache"];
  EXPECT_FALSE(cache.contains("storage_busy")) << "the rate of the disk is not known";
  EXPECT_EQ(cache["requests"], 100);
  EXPECT_DOUBLE_EQ(cache["hit_ratio"], 0.8);
  EXPECT_EQ(cache["storage_bytes"], 200);
  EXPECT_DOUBLE_EQ(cache["storage_time_s"], 3.0);
  EXPECT_EQ(cache["kept"], 7);
  EXPECT_EQ(cache["kept_bytes"], 70);
  EXPECT_EQ(cache["spoiled"], 1);
  EXPECT_EQ(cache["classes"].size(), 3U);
  EXPECT_EQ(cache["classes"]["tier0"]["samples"], 75);
  EXPECT_EQ(cache["classes"]["tier1"]["bytes"], 50);
  EXPECT_DOUBLE_EQ(cache["classes"]["store"]["blocked_s"], 4.0);
}

TEST(Summary, NoHitRatioWithoutDeliveredSamples) {
  auto journal = small_journal();
  journal.caches = {{2, 0, "no-room", 3, 30, Seconds(0), Seconds(0)},
                    {2, 0, "background", 5, 50, Seconds(0), Seconds(1)}};
  const auto summary = to_json(summarise(two_workers(), journal, Seconds(12)));
  const auto& cache = summary["cache"];
  EXPECT_EQ(cache["requests"], 0);
  EXPECT_FALSE(cache.contains("hit_ratio")) << cache;
  EXPECT_EQ(cache["no_room"], 3);
  EXPECT_TRUE(summary["data"].is_null());
}

TEST(Summary, CommitsAreCounted) {
  auto journal = small_journal();
  journal.commits = {{2, Seconds(1), Seconds(3), Seconds(0.5), 100},
                     {4, Seconds(5), Seconds(6), Seconds(1), 100}};
  EXPECT_FALSE(to_json(summarise(two_workers(), journal, Seconds(12))).contains("commits"));
  RunInfo info = two_workers();
  info.experiment.checkpoint.policy = "fixed";
  const auto commits = to_json(summarise(info, journal, Seconds(12)))["commits"];
  EXPECT_EQ(commits["count"], 2);
  EXPECT_DOUBLE_EQ(commits["blocked_s"], 1.5);
  EXPECT_EQ(commits["bytes"], 200);
}

/// More changes than rounds, where each interrupts the round in progress.
TEST(Summary, WarnsOfChangesThatComeFasterThanRounds) {
  RunInfo info = two_workers();
  info.experiment.transience.lifetime = "exponential";
  info.experiment.sync.over = sync::Route::all_reduce;
  info.experiment.placement.workers = {"a", "b"};
  auto journal = small_journal();
  journal.counted_rounds = 2;
  // Two workers begin; one departs and comes back, and departs again.
  for (const char* event : {"joined", "joined", "noticed", "joined", "noticed"})
    journal.membership.push_back({.slot = 0, .event = event});
  const auto warning = [&] {
    return to_json(summarise(info, journal, Seconds(12)))["membership"].value("warning", "");
  };
  EXPECT_THAT(warning(), HasSubstr("the workers changed 3 times within 2 rounds"));
  journal.counted_rounds = 3;
  EXPECT_EQ(warning(), "");
  journal.counted_rounds = 2;
  info.experiment.sync.over = sync::Route::server;
  EXPECT_EQ(warning(), "");
}

TEST(Documentation, NamesEveryFileColumnAndKey) {
  std::ifstream file(testing::source_folder() + "/workloads/records/README.md");
  const std::string page = rest_of(file);
  const auto expect_named = [&](const std::string& name) { EXPECT_THAT(page, HasSubstr('`' + name + '`')); };
  const Journal journal;
  visit_lists(journal, [&](const char* csv, bool, const auto& records) {
    using Record = typename std::remove_cvref_t<decltype(records)>::value_type;
    expect_named(csv);
    const Record blank{};
    Columns<Record>::visit(blank, [&](const std::string& column, const auto&) { expect_named(column); });
  });
  auto with_cache = small_journal();
  with_cache.caches = {{2, 0, "tier0", 30, 300, Seconds(1), Seconds(1)}};
  with_cache.gpus = {{.rank = 0, .clock_mhz = 1980}};
  RunInfo commits = two_workers();
  commits.experiment.checkpoint.policy = "fixed";
  const auto summary = to_json(summarise(commits, with_cache, Seconds(12)));
  EXPECT_TRUE(summary.contains("commits"));
  EXPECT_TRUE(summary.contains("gpus"));
  for (const auto& [key, value] : summary.items()) expect_named(key);
}

TEST(Trace, PhasesLieWithinTheirStepOnTheTrackOfTheirRank) {
  const auto trace = chrome_trace(two_workers(), small_journal());
  int steps = 0, phases = 0, names = 0;
  double begin = 0, end = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") ++names;
    if (event["ph"] != "X") continue;
    const double from = event["ts"], to = from + event["dur"].get<double>();
    if (event["cat"] == "step") {
      ++steps;
      begin = from;
      end = to;
    } else {
      ++phases;
      EXPECT_GE(from, begin);
      EXPECT_LE(to, end * (1 + 1e-12));
      begin = to;
    }
  }
  EXPECT_EQ(steps, 6);
  EXPECT_EQ(phases, 12);
  EXPECT_EQ(names, 3);
  EXPECT_EQ(trace["traceEvents"][1]["args"]["name"], "rank 0 worker on a");
  auto measured = two_workers();
  measured.world = "measured";
  EXPECT_NE(chrome_trace(measured, small_journal())["traceEvents"][0]["pid"], trace["traceEvents"][0]["pid"]);
}

TEST_F(ResultDirectory, RoundTrips) {
  auto journal = small_journal();
  journal.decisions = {{2, "server", "push worker=0", "accept 0 1; apply 1"}};
  journal.operations = {{0, "send", 2, "pushes", "", -1, 100, 0, Seconds(1), Seconds(2)}};
  journal.evaluations = {{1, 8, Seconds(1), Seconds(2), 0.5, 0.7}};
  journal.missed_deadlines = 3;
  journal.dropped_samples = 64;
  journal.staleness = {{0, 0, 3, 12}, {1, 2, 1, 4}};
  journal.cpu_wait = Seconds(0.25);
  journal.other_load = 0.125;
  journal.gpus = {{1, Seconds(0.5), 1980, 2619, 512.25, 64, 1 << 30, "power"}};
  create(false);
  EXPECT_TRUE(fs::exists(path / "INCOMPLETE"));
  write_results(path, two_workers(), journal, Seconds(12), true);
  EXPECT_FALSE(fs::exists(path / "INCOMPLETE"));
  EXPECT_TRUE(fs::exists(path / "trace.json"));
  const auto results = read_results(path);
  EXPECT_EQ(to_json(results.info), to_json(two_workers()));
  EXPECT_EQ(to_csv(results.journal.steps), to_csv(journal.steps));
  EXPECT_EQ(to_csv(results.journal.decisions), to_csv(journal.decisions));
  EXPECT_EQ(to_csv(results.journal.operations), to_csv(journal.operations));
  EXPECT_EQ(to_csv(results.journal.evaluations), to_csv(journal.evaluations));
  EXPECT_EQ(to_csv(results.journal.staleness), to_csv(journal.staleness));
  EXPECT_EQ(to_csv(results.journal.gpus), to_csv(journal.gpus));
  EXPECT_EQ(results.journal.missed_deadlines, 3);
  EXPECT_EQ(results.journal.dropped_samples, 64);
  EXPECT_EQ(results.journal.cpu_wait, Seconds(0.25));
  EXPECT_EQ(results.journal.other_load, 0.125);
  EXPECT_EQ(to_json(results.summary), to_json(summarise(two_workers(), journal, Seconds(12))));
}

/// Of ranks that append one after the other: by time, and at the same time in the order of the ranks.
TEST(Journal, MembershipIsInTheOrderOfTime) {
  const auto of_slot = [](int slot, std::initializer_list<double> times) {
    Journal journal;
    for (const double time : times) journal.membership.push_back({.time = Seconds(time), .slot = slot});
    return journal;
  };
  Journal all;
  all.append(of_slot(0, {2, 5}));
  all.append(of_slot(1, {}));
  all.append(of_slot(2, {5, 1, 2}));
  all.append(of_slot(3, {0, 2, 9}));
  std::vector<std::pair<double, int>> found;
  for (const MembershipRecord& record : all.membership) found.emplace_back(record.time.count(), record.slot);
  EXPECT_THAT(found, ElementsAre(std::pair(0.0, 3), std::pair(1.0, 2), std::pair(2.0, 0), std::pair(2.0, 2),
                                 std::pair(2.0, 3), std::pair(5.0, 0), std::pair(5.0, 2), std::pair(9.0, 3)));
}

TEST_F(ResultDirectory, MembersRoundTrip) {
  Journal journal = small_journal();
  journal.membership = {{Seconds(0), 1, 1, "b", "joined", "", 0},
                        {Seconds(3), 1, 1, "b", "departed", "lost", 0}};
  journal.staleness = {{0, 0, 3, 12}};
  journal.accepted_samples = 8;
  journal.counted_rounds = 5;
  journal.discarded_messages = 3;
  RunInfo info = two_workers();
  EXPECT_FALSE(to_json(info).contains("zones"));
  info.zones = {0, 1};
  info.places["b"] = {.region = "east", .zone = "east-b"};
  info.experiment.transience.lifetime = "exponential";
  create(false);
  write_results(path, info, journal, Seconds(12), false);
  const auto results = read_results(path);
  EXPECT_EQ(results.info.zones, info.zones);
  EXPECT_EQ(results.info.places.at("b").zone, "east-b");
  for (MembershipRecord& change : journal.membership) {
    change.region = "east";
    change.zone = "east-b";
  }
  EXPECT_EQ(to_csv(results.journal.membership), to_csv(journal.membership));
  EXPECT_EQ(results.journal.accepted_samples, 8);
  EXPECT_EQ(results.journal.counted_rounds, 5);
  EXPECT_EQ(results.journal.discarded_messages, 3);
  // 6 steps of 4 samples, 12 samples applied, 8 pending.
  EXPECT_EQ(sample_counts(results.info, results.journal).lost, 4);
  EXPECT_EQ(results.summary.membership.value().lost_samples, 4);
  journal.membership.back().slot = 2;
  create(true);
  write_results(path, info, journal, Seconds(12), false);
  EXPECT_THROW(read_results(path), ConfigError);
}

TEST_F(ResultDirectory, OptionalFilesAreWrittenOnlyIfNeeded) {
  create(false);
  write_results(path, two_workers(), small_journal(), Seconds(12), false);
  for (const char* file : {"operations.csv", "decisions.csv", "trace.json"})
    EXPECT_FALSE(fs::exists(path / file)) << file;
}

TEST_F(ResultDirectory, AnExistingOneIsReplacedOnlyWithForce) {
  create(false);
  write_results(path, two_workers(), small_journal(), Seconds(12), true);
  EXPECT_THROW(create(false), ConfigError);
  create(true);
  EXPECT_FALSE(fs::exists(path / "steps.csv"));
  EXPECT_TRUE(fs::exists(path / "INCOMPLETE"));
}

TEST_F(ResultDirectory, ForceDeletesOnlyResults) {
  fs::create_directories(path);
  put("thesis.tex", "years of work");
  EXPECT_THROW(create(true), ConfigError);
  EXPECT_TRUE(fs::exists(path / "thesis.tex"));
}

TEST_F(ResultDirectory, UnsuitableDirectoriesAreRefused) {
  const auto message = [this] {
    try {
      read_results(path);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(), HasSubstr("no such result directory"));
  create(false);
  EXPECT_THAT(message(), HasSubstr("incomplete"));
  write_results(path, two_workers(), small_journal(), Seconds(12), false);
  EXPECT_EQ(message(), "no error");
  // A file that lost its last rows, or a part of the last one.
  const std::string steps = to_csv(small_journal().steps);
  const auto lines = std::count(steps.begin(), steps.end(), '\n');
  const std::string shorter = steps.substr(0, steps.find_last_of('\n', steps.size() - 2) + 1);
  for (const auto& text : {shorter, steps.substr(0, steps.size() - 3)}) {
    put("steps.csv", text);
    EXPECT_THAT(message(), HasSubstr("steps.csv: expected " + std::to_string(lines) +
                                     " lines, as run.json says, found " + std::to_string(lines - 1)));
  }
  put("steps.csv", steps);
  auto run = to_json(two_workers());
  run["schema_version"] = RunInfo::schema_version;
  put("run.json", run.dump());
  put("steps.csv", shorter);
  EXPECT_EQ(message(), "no error") << "older results do not count lines";
  for (const int older : {2, 3, 6}) {
    run["schema_version"] = older;
    put("run.json", run.dump());
    EXPECT_THAT(message(), HasSubstr("run.json: schema_version: expected 7, found " + std::to_string(older) +
                                     ": another version of Tandem wrote these results"));
  }
  put("run.json", "{");
  EXPECT_THAT(message(), HasSubstr("run.json:1:2: expected a file of a result directory"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
