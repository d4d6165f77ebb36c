// Traces: slices of a track are nested, arrows lead from sends to receives, both results start at 0.
#include "workloads/records/chrome_trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/member_results.hpp"
#include "tests/support/seeds.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr int ranks = 3;
constexpr int messages_a_pair = 6;

/// Operations that overlap at random; messages between all pairs, each received after it was sent.
Results random_world(std::uint64_t seed, const std::string& world, double origin) {
  Rng rng(seed);
  Results results;
  results.info.world = world;
  results.info.roles.assign(ranks, "worker");
  results.info.hosts = {"a", "b", "c"};
  const auto time = [&] { return Seconds(origin + rng.uniform()); };
  auto& journal = results.journal;
  for (Rank rank = 0; rank < ranks; ++rank) {
    Seconds at = Seconds(origin);
    for (int number = 0; number < 5; ++number) {
      StepRecord step{.rank = rank, .step = number, .start = at};
      for (auto& phase : step.phases) phase = Seconds(rng.below(3) == 0 ? 0.0 : 0.05 * rng.uniform());
      at = step.start + step.duration();
      journal.steps.push_back(step);
    }
    for (int i = 0; i < 20; ++i) {
      const Seconds start = time();
      journal.operations.push_back({.rank = rank,
                                    .kind = "compute",
                                    .work = "forward",
                                    .start = start,
                                    .end = start + Seconds(0.1 * rng.uniform())});
    }
    for (Rank peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      double sent = 0;
      for (int i = 0; i < messages_a_pair; ++i) {
        sent += 0.1 * rng.uniform();
        const Seconds start(origin + sent);
        journal.operations.push_back({.rank = rank,
                                      .kind = "send",
                                      .peer = peer,
                                      .channel = "1",
                                      .start = start,
                                      .end = start + Seconds(0.3)});
        journal.operations.push_back({.rank = peer,
                                      .kind = "receive",
                                      .peer = rank,
                                      .channel = "1",
                                      .start = Seconds(origin),
                                      .end = start + Seconds(0.2)});
      }
    }
  }
  return results;
}

struct Track {
  std::vector<double> open;
  double last = 0;
};

TEST(JointTrace, SlicesNestAndArrowsGoForward) {
  for (const auto seed : testing::seeds(25)) {
    TANDEM_TRACE_SEED(seed);
    const auto trace =
        chrome_trace(random_world(seed, "simulated", 0), random_world(seed + 1000, "measured", 5));
    std::map<std::pair<int, int>, Track> tracks;
    std::map<std::string, std::pair<double, int>> sent;  // time and process
    std::map<int, double> first;
    int arrows = 0;
    for (const auto& event : trace["traceEvents"]) {
      const int process = event["pid"];
      if (event["ph"] == "X") {
        const double start = event["ts"], end = start + event["dur"].get<double>();
        first.try_emplace(process, start);
        first[process] = std::min(first[process], start);
        auto& track = tracks[{process, event["tid"]}];
        EXPECT_GE(start, track.last) << "events of a track are in order";
        track.last = start;
        while (!track.open.empty() && track.open.back() <= start) track.open.pop_back();
        if (!track.open.empty()) {
          EXPECT_LE(end, track.open.back()) << event.dump();
        }
        track.open.push_back(end);
      }
      if (event["ph"] == "s") sent[event["id"]] = {event["ts"], process};
    }
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] != "f") continue;
      ++arrows;
      ASSERT_TRUE(sent.contains(event["id"]));
      const auto [time, process] = sent[event["id"]];
      EXPECT_EQ(process, event["pid"]);
      EXPECT_NEAR(event["ts"].get<double>() - time, 0.2e6, 1.5) << "each send is matched with its receive";
    }
    EXPECT_EQ(arrows, 2 * ranks * (ranks - 1) * messages_a_pair);
    EXPECT_EQ(sent.size(), static_cast<std::size_t>(arrows));
    EXPECT_EQ(tracks.size(), 2U * ranks);
    EXPECT_EQ(first, (std::map<int, double>{{1, 0.0}, {2, 0.0}}));
  }
}

TEST(JointTrace, CopiesHaveSeparateTracks) {
  Results results;
  results.info.world = "measured";
  results.info.roles = {"worker", "worker"};
  results.journal.operations = {
      {.rank = 1, .kind = "compute", .work = "backward", .start = Seconds(0), .end = Seconds(2)},
      record_of_copy(1, true, 100, Seconds(1), Seconds(3)),
      record_of_copy(1, false, 50, Seconds(1.5), Seconds(2.5))};
  const auto trace = chrome_trace(results.info, results.journal);
  std::map<int, std::string> names;
  std::map<std::string, double> ends;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X")
      ends[names[event["tid"]] + ": " + event["name"].get<std::string>()] =
          event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_EQ(ends, (std::map<std::string, double>{{"rank 1 worker on ?: backward", 2e6},
                                                 {"rank 1 copies out: copy out", 3e6},
                                                 {"rank 1 copies in: copy in", 2.5e6}}));
}

TEST(JointTrace, MachinesThatDepartHaveTracks) {
  Results results;
  results.info.world = "simulated";
  results.info.roles = {"worker", "worker", "worker", "worker", "server"};
  StepRecord step{.rank = 0};
  step.phases[1] = Seconds(4);
  results.journal.steps = {step};
  results.journal.membership = testing::two_departures();
  results.journal.membership.push_back({.time = Seconds(2.0), .slot = -1, .event = "paused"});
  const auto trace = chrome_trace(results.info, results.journal);
  std::map<int, std::string> names;
  std::map<std::string, std::pair<double, double>> slices;
  std::map<std::string, double> marks;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
    const std::string name = event["name"];
    if (event["ph"] == "X" && event["cat"] == "membership") {
      slices[names[event["tid"]] + ": " + name] = {event["ts"], event["dur"]};
      EXPECT_EQ(event.contains("cname"), name == "no machine");
    }
    if (event["ph"] == "i") marks[names[event["tid"]] + ": " + name] = event["ts"];
  }
  using Slice = std::pair<double, double>;
  EXPECT_EQ(slices, (std::map<std::string, Slice>{{"rank 0 machines: machine 1", {0, 4e6}},
                                                  {"rank 1 machines: machine 1", {0, 4e6}},
                                                  {"rank 2 machines: machine 1", {0, 1e6}},
                                                  {"rank 2 machines: no machine", {1e6, 0.5e6}},
                                                  {"rank 2 machines: machine 2", {1.5e6, 2.5e6}},
                                                  {"rank 3 machines: machine 1", {0, 2e6}},
                                                  {"rank 3 machines: no machine", {2e6, 2e6}}}));
  EXPECT_EQ(marks.at("rank 2 machines: machine 1 departed (lost)"), 1e6);
  EXPECT_EQ(marks.at("rank 3 machines: machine 1 warned"), 1.8e6);
  EXPECT_EQ(marks.at("rank 2 machines: machine requested"), 1.1e6);
  EXPECT_EQ(marks.at("rank 2 machines: machine 2 joined"), 1.5e6);
  EXPECT_EQ(marks.at("rank 0 worker on ?: training paused"), 2e6);
}

TEST(JointTrace, ATruncatedSliceStatesItsRealEnd) {
  Results results;
  results.info.world = "simulated";
  StepRecord step{.rank = 0};
  step.phases[1] = Seconds(1);
  results.journal.steps = {step};
  results.journal.operations = {
      {.rank = 0, .kind = "compute", .work = "forward", .start = Seconds(0.5), .end = Seconds(3)}};
  const auto trace = chrome_trace(results.info, results.journal);
  const auto& cut = trace["traceEvents"].back();
  EXPECT_DOUBLE_EQ(cut["dur"], 0.5e6);
  EXPECT_DOUBLE_EQ(cut["args"]["ends_us"], 3e6);
}

TEST(LongJointTrace, LongRunsAreTruncated) {
  Results results;
  results.info.world = "simulated";
  for (int i = 0; i < 400'000; ++i) {
    StepRecord step{.rank = i % 2, .step = i / 2, .start = Seconds(i / 2)};
    step.phases[1] = Seconds(0.5);
    results.journal.steps.push_back(step);
  }
  const auto trace = chrome_trace(results.info, results.journal);
  EXPECT_LE(trace["traceEvents"].size(), 300'000U);
  EXPECT_GT(trace["traceEvents"].size(), 299'000U);
  EXPECT_NE(trace["otherData"]["steps"], "400000 of 400000");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
