// Closed forms that the simulator must reproduce exactly under its default physics.
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/collectives/schedule.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "workloads/roles/collective.hpp"

namespace tandem::sim {
namespace {

using testing::TemporaryPlatform;

constexpr double latency_s = 1e-4;
constexpr double bandwidth = 1e8;
constexpr double tolerance_s = 1e-9;
constexpr Channel data{1, false};

/// A star of as many hosts as ranks; work takes `samples` milliseconds.
class Oracle : public ::testing::Test {
 protected:
  Seconds run(int ranks, std::function<void(Context&)> body, int ranks_a_host = 1,
              const std::string& properties = "") {
    const TemporaryPlatform platform(
        TemporaryPlatform::star(std::max(2, ranks), bandwidth, latency_s, properties));
    SimulationSetting setting;
    setting.platform_file = platform.path();
    for (int rank = 0; rank < ranks; ++rank)
      setting.hosts.push_back("host-" + std::to_string(rank / ranks_a_host));
    setting.price = [](Rank, const Work& work) { return Seconds(work.samples * 1e-3); };
    setting.network = network_;
    setting.body = std::move(body);
    return simulate(setting).makespan;
  }
  static void compute(Context& context, int milliseconds) {
    Pending work = context.compute({.kind = Work::Kind::forward, .samples = milliseconds});
    context.wait(work);
  }
  static void send(Context& context, Rank to, std::int64_t bytes) {
    Pending message = context.send(to, data, {Bytes(bytes), nullptr});
    context.wait(message);
  }
  static void receive(Context& context, Rank from, std::int64_t bytes) {
    Pending message = context.receive(from, data, {Bytes(bytes), nullptr});
    context.wait(message);
  }
  std::vector<Profile::NetworkSegment> network_;
};

TEST_F(Oracle, OneMessageTakesLatencyAndSizeOverBandwidth) {
  const Seconds time = run(2, [](Context& context) {
    if (context.rank() == 0) send(context, 1, 5'000'000);
    if (context.rank() == 1) receive(context, 0, 5'000'000);
  });
  EXPECT_NEAR(time.count(), latency_s + 5e6 / bandwidth, tolerance_s);
}

TEST_F(Oracle, IncastTakesAllBytesOverTheServersLink) {
  const Seconds time = run(5, [](Context& context) {
    if (context.rank() > 0) return send(context, 0, 1'000'000);
    for (Rank from = 1; from < 5; ++from) receive(context, from, 1'000'000);
  });
  EXPECT_NEAR(time.count(), latency_s + 4e6 / bandwidth, tolerance_s);
}

TEST_F(Oracle, BothDirectionsOfALinkAreIndependent) {
  const Seconds time = run(2, [](Context& context) {
    const Rank other = 1 - context.rank();
    Pending in = context.receive(other, data, {Bytes(2'000'000), nullptr});
    send(context, other, 2'000'000);
    context.wait(in);
  });
  EXPECT_NEAR(time.count(), latency_s + 2e6 / bandwidth, tolerance_s);
}

/// Time of one all-reduce of 4 MB on a star, without the cost of adding.
double all_reduce_time(const std::string& schedule, int ranks) {
  const TemporaryPlatform platform(TemporaryPlatform::star(ranks, bandwidth, latency_s));
  SimulationSetting setting;
  setting.platform_file = platform.path();
  std::vector<Rank> members;
  for (Rank rank = 0; rank < ranks; ++rank) {
    setting.hosts.push_back("host-" + std::to_string(rank));
    members.push_back(rank);
  }
  setting.price = [](Rank, const Work&) { return Seconds(0.0); };
  setting.body = [&](Context& context) {
    const Bytes size(4'000'000);
    AllReduces reduces(context, collectives::catalog().find(schedule).make, members, {{size}}, 10);
    reduces.start(0, {size, nullptr});
    reduces.finish();
  };
  return simulate(setting).makespan.count();
}

TEST(AllReduceOracle, RingOfFive) {
  EXPECT_NEAR(all_reduce_time("ring", 5), 2 * 4 * (latency_s + 4e6 / 5 / bandwidth), tolerance_s);
}
TEST(AllReduceOracle, RingOfEight) {
  EXPECT_NEAR(all_reduce_time("ring", 8), 2 * 7 * (latency_s + 4e6 / 8 / bandwidth), tolerance_s);
}
TEST(AllReduceOracle, HalvingDoublingOfEight) {
  EXPECT_NEAR(all_reduce_time("halving-doubling", 8), 2 * 3 * latency_s + 2 * (7.0 / 8) * 4e6 / bandwidth,
              tolerance_s);
}
TEST(AllReduceOracle, EqualsThePriceOfTheSchedule) {
  const auto price = collectives::price(collectives::catalog().find("halving-doubling").make, 16, 1'000'000,
                                        Bytes(4), {Seconds(latency_s), 1 / bandwidth, 0.0});
  EXPECT_NEAR(all_reduce_time("halving-doubling", 16), price.count(), tolerance_s);
}

TEST_F(Oracle, BspRoundOfUnequalWorkers) {
  // Rank 0 serves three workers of 10, 20 and 40 ms; messages of 1 MB; the slowest decides.
  const int rounds = 3;
  const Seconds time = run(4, [&](Context& context) {
    for (int round = 0; round < rounds; ++round) {
      if (context.rank() > 0) {
        compute(context, 10 << (context.rank() - 1));
        send(context, 0, 1'000'000);
        receive(context, 0, 1'000'000);
        continue;
      }
      std::vector<Pending> pushes, replies;
      for (Rank worker = 1; worker < 4; ++worker)
        pushes.push_back(context.receive(worker, data, {Bytes(1'000'000), nullptr}));
      context.wait_all(pushes);
      for (Rank worker = 1; worker < 4; ++worker)
        replies.push_back(context.send(worker, data, {Bytes(1'000'000), nullptr}));
      context.wait_all(replies);
    }
  });
  const double push = latency_s + 1e6 / bandwidth;   // the slowest is alone on the link by then
  const double reply = latency_s + 3e6 / bandwidth;  // three at once
  EXPECT_NEAR(time.count(), rounds * (0.040 + push + reply), tolerance_s);
}

TEST_F(Oracle, RanksOnOneCoreEachDoNotDisturbEachOther) {
  const Seconds time = run(
      2, [](Context& context) { compute(context, 100); }, 2);
  EXPECT_NEAR(time.count(), 0.1, tolerance_s);
}

TEST_F(Oracle, RanksShareANamedDevice) {
  // Two cores, but one device: two ranks take twice as long, one alone what it is priced.
  const std::string device = "<prop id='device' value='v100'/>";
  EXPECT_NEAR(run(
                  2, [](Context& context) { compute(context, 100); }, 2, device)
                  .count(),
              0.2, tolerance_s);
}

TEST_F(Oracle, OneRankAloneOnANamedDevice) {
  const std::string device = "<prop id='device' value='v100'/>";
  EXPECT_NEAR(run(
                  1, [](Context& context) { compute(context, 100); }, 1, device)
                  .count(),
              0.1, tolerance_s);
}

TEST_F(Oracle, ThreeRanksOnTwoCoresShareThem) {
  EXPECT_NEAR(run(
                  3, [](Context& context) { compute(context, 100); }, 3)
                  .count(),
              0.15, tolerance_s);
}

TEST_F(Oracle, DisksAndSleeps) {
  const Seconds time = run(1, [](Context& context) {
    Pending read = context.read(0, Bytes(10'000'000));
    context.wait(read);
    Pending write = context.write(0, Bytes(10'000'000));
    context.wait(write);
    Pending sleep = context.sleep(Seconds(0.25));
    context.wait(sleep);
  });
  EXPECT_NEAR(time.count(), 0.1 + 0.2 + 0.25, tolerance_s);
}

TEST_F(Oracle, ComputeAndMessagesOverlap) {
  const Seconds time = run(2, [](Context& context) {
    if (context.rank() == 1) return receive(context, 0, 5'000'000);
    Pending message = context.send(1, data, {Bytes(5'000'000), nullptr});
    compute(context, 200);
    context.wait(message);
  });
  EXPECT_NEAR(time.count(), 0.2, tolerance_s);
}

TEST_F(Oracle, TiesGoToTheLowestIndex) {
  run(1, [](Context& context) {
    std::vector<Pending> pendings;
    for (int i = 0; i < 3; ++i) pendings.push_back(context.sleep(Seconds(0.1)));
    pendings.push_back(context.compute({.kind = Work::Kind::forward, .samples = 100}));
    for (std::size_t expected = 0; expected < 4; ++expected)
      EXPECT_EQ(context.wait_any(pendings).index, expected);
  });
}

TEST_F(Oracle, MessagesThatArriveTogetherGoToTheLowestIndex) {
  run(4, [](Context& context) {
    if (context.rank() > 0) return send(context, 0, 1000);
    std::vector<Pending> pendings;
    for (Rank from = 3; from > 0; --from)
      pendings.push_back(context.receive(from, data, {Bytes(1000), nullptr}));
    for (std::size_t expected = 0; expected < 3; ++expected)
      EXPECT_EQ(context.wait_any(pendings).index, expected);
  });
}

TEST_F(Oracle, CalibratedMessagesTakeTheirSegmentsTime) {
  network_ = {{0, 2e-5, 1e-9}, {10'000, 5e-5, 4e-9}, {1'000'000, 3e-4, 2e-9}};
  std::vector<double> times;
  const std::vector<std::int64_t> sizes = {1000, 10'000, 500'000, 4'000'000};
  run(2, [&](Context& context) {
    for (const auto size : sizes) {
      const Seconds start = context.now();
      if (context.rank() == 0) send(context, 1, size);
      if (context.rank() == 1) receive(context, 0, size);
      if (context.rank() == 1) times.push_back((context.now() - start).count());
    }
  });
  EXPECT_NEAR(times[0], 2e-5 + 1000 * 1e-9, tolerance_s);
  EXPECT_NEAR(times[1], 5e-5 + 10'000 * 4e-9, tolerance_s);
  EXPECT_NEAR(times[2], 5e-5 + 500'000 * 4e-9, tolerance_s);
  EXPECT_NEAR(times[3], 3e-4 + 4'000'000 * 2e-9, tolerance_s);
}

TEST_F(Oracle, ADeadlockNamesWhoWaitsForWhat) {
  try {
    run(2, [](Context& context) {
      if (context.rank() == 1) receive(context, 0, 100);
    });
    FAIL() << "no error";
  } catch (const WorldError& error) {
    EXPECT_STREQ(
        error.what(),
        "the simulated job is stuck:\n  rank 1 on host-1 waits for a message from rank 0 on channel 1");
  }
}

TEST_F(Oracle, WhatABodyThrowsComesOut) {
  EXPECT_THROW(run(3,
                   [](Context& context) {
                     if (context.rank() == 1) throw ConfigError("bad checkpoint");
                     receive(context, 1, 100);
                   }),
               ConfigError);
}

TEST(Simulation, UnknownHost) {
  const TemporaryPlatform platform(TemporaryPlatform::star(2, bandwidth, latency_s));
  SimulationSetting setting;
  setting.platform_file = platform.path();
  setting.hosts = {"host-9"};
  EXPECT_THROW(simulate(setting), ConfigError);
}

TEST(Simulation, APlatformsOwnConfigIsHonouredAndReported) {
  const TemporaryPlatform platform("<config><prop id='network/model' value='LV08'/></config>" +
                                   TemporaryPlatform::star(2, bandwidth, latency_s));
  SimulationSetting setting;
  setting.platform_file = platform.path();
  setting.platform_config = {{"network/model", "LV08"}};
  setting.hosts = {"host-0", "host-1"};
  setting.price = [](Rank, const Work&) { return Seconds(0.0); };
  setting.body = [](Context& context) {
    Pending message = context.rank() == 0 ? context.send(1, data, {Bytes(1'000'000), nullptr})
                                          : context.receive(0, data, {Bytes(1'000'000), nullptr});
    context.wait(message);
  };
  const SimulationResult result = simulate(setting);
  EXPECT_GT(result.makespan.count(), 1.02 * (latency_s + 1e6 / bandwidth));
  EXPECT_EQ(result.physics["flags"]["network/model"], "LV08");
}

}  // namespace
}  // namespace tandem::sim
