// Times of simulated disks: closed forms of n requests, p places, latency L, size s and bandwidth b, within
// one rank and between ranks of one host.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

constexpr double precision_s = 1e-8;
constexpr double rate = 100e6;
const std::string disk = "<disk id=\"d\" read_bw=\"100MBps\" write_bw=\"50MBps\"/>";

/// Ranks on one host, whose disk serves like this.
SimulationResult run_on_disk(std::size_t ranks, const DiskService& service,
                             const std::function<void(Context&)>& body) {
  return lab::run(lab::star(1, "", disk), std::vector<std::string>(ranks, "h0"), body, {},
                  SimulationSetting{}.eager_limit, [&](SimulationSetting& setting) {
                    setting.disk_service = [=](Rank, int) { return service; };
                  });
}

void read_all(Context& context, int reads, std::int64_t size) {
  std::vector<Pending> pendings;
  for (int i = 0; i < reads; ++i) pendings.push_back(context.read(0, Bytes(size)));
  for (std::size_t i = 0; i < pendings.size(); ++i) EXPECT_EQ(i, context.wait_any(pendings).index);
}

struct Case {
  const char* name;
  int reads;
  int places;
  double latency_s;
  std::int64_t size;
  double expected_s;
};
const std::vector<Case> cases = {{"OneByOne", 6, 1, 0.01, 1'000'000, 6 * 0.02},
                                 {"PlacesHideTheLatency", 8, 4, 0.05, 1'000'000, 2 * 0.06 + 3 * 0.01},
                                 {"OneMoreThanTwoWaves", 10, 3, 0.05, 1'000'000, 4 * 0.06},
                                 {"BandwidthIsUsedUp", 6, 3, 0.01, 2'000'000, 0.01 + 6 * 0.02},
                                 {"FewerThanPlaces", 4, 8, 0.01, 1'000'000, 0.01 + 4 * 0.01},
                                 {"NoLatency", 4, 1, 0.0, 1'000'000, 4 * 0.01}};

class Disks : public ::testing::TestWithParam<Case> {
 protected:
  static void expect_time(std::size_t ranks, const std::function<void(Context&)>& body) {
    const Case& c = GetParam();
    EXPECT_NEAR(c.expected_s, run_on_disk(ranks, {Seconds(c.latency_s), c.places}, body).makespan.count(),
                precision_s);
  }
};

TEST_P(Disks, ReadsOfOneRankShareItsPlacesAndItsBandwidth) {
  expect_time(1, [](Context& context) { read_all(context, GetParam().reads, GetParam().size); });
}

TEST_P(Disks, AnAccessIsAsManyRequests) {
  expect_time(1, [](Context& context) {
    Pending read = context.read(0, {Bytes(GetParam().size * GetParam().reads), GetParam().reads});
    context.wait(read);
  });
}

TEST_P(Disks, RanksOfOneHostShareItsPlacesAndItsBandwidth) {
  expect_time(2, [](Context& context) { read_all(context, GetParam().reads / 2, GetParam().size); });
}

INSTANTIATE_TEST_SUITE_P(ClosedForm, Disks, ::testing::ValuesIn(cases),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Disk, EachHostHasItsOwn) {
  const auto result = lab::run(lab::star(2, "", disk), lab::hosts(2),
                               [&](Context& context) { read_all(context, 3, 1'000'000); });
  EXPECT_NEAR(3 * 1'000'000 / rate, result.makespan.count(), precision_s);
}

/// Reads and writes wait for each other: a disk has one queue.
TEST(Disk, WritesWaitBehindReads) {
  const auto result = run_on_disk(1, {}, [&](Context& context) {
    std::array<Pending, 2> both = {context.read(0, Bytes(10'000'000)), context.write(0, Bytes(10'000'000))};
    EXPECT_EQ(0U, context.wait_any(both).index);
    EXPECT_NEAR(0.1, context.now().count(), precision_s);
    EXPECT_EQ(1U, context.wait_any(both).index);
  });
  EXPECT_NEAR(0.3, result.makespan.count(), precision_s);
}

/// The second rank arrives while the first is served; a third access finds the disk idle again.
TEST(Disk, ALaterAccessWaitsForTheRestOfTheEarlierOne) {
  run_on_disk(2, {}, [&](Context& context) {
    if (context.rank() == 1) lab::sleep(context, 0.04);
    read_all(context, 1, 10'000'000);
    EXPECT_NEAR(context.rank() == 0 ? 0.1 : 0.2, context.now().count(), precision_s);
    if (context.rank() == 0) return;
    lab::sleep(context, 1);
    read_all(context, 1, 10'000'000);
    EXPECT_NEAR(1.3, context.now().count(), precision_s);
  });
}

/// A wait that ends late delays the rank, and not the disk.
TEST(Disk, LateNoticesDelayNoOtherAccess) {
  const auto late = [](SimulationSetting& setting) {
    setting.disk_delay = [](Rank, int, const DiskAccess&) { return Seconds(0.03); };
  };
  const auto body = [](Context& context) { read_all(context, 2, 10'000'000); };
  const auto result =
      lab::run(lab::star(1, "", disk), lab::hosts(1), body, {}, SimulationSetting{}.eager_limit, late);
  EXPECT_NEAR(0.23, result.makespan.count(), precision_s);
}

TEST(Disk, OverlapsWithWorkAndMessages) {
  const auto result = lab::run(lab::star(2, "", disk), lab::hosts(2), [&](Context& context) {
    if (context.rank() == 1) return lab::send(context, 0, 62'500'000);
    std::array<Pending, 3> all = {context.read(0, Bytes(10'000'000)),
                                  context.compute({Work::Kind::forward, -1, 80, Bytes(0)}),
                                  context.receive(1, {1, false}, {Bytes(62'500'000), nullptr})};
    for (const std::size_t expected : {2U, 1U, 0U}) EXPECT_EQ(expected, context.wait_any(all).index);
  });
  EXPECT_NEAR(0.1, result.makespan.count(), precision_s);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
