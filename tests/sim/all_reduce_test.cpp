// The simulated native all-reduce in closed form: it waits for all members, and completes after its cost.
#include <gtest/gtest.h>

#include <array>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

constexpr double precision_s = 1e-9;
constexpr Channel sums{1, false};
constexpr Slice megabyte{Bytes(1'000'000), nullptr};

double price_s(std::size_t members, std::int64_t bytes) {
  const std::vector<Rank> ranks(members);
  return lab::price_of_all_reduce(ranks, Bytes(bytes)).count();
}

TEST(SimulatedNative, CompletesAtItsCostAfterTheLastMemberStarts) {
  const std::vector<Rank> all = {0, 1, 2};
  const std::array<double, 3> arrivals = {0.1, 0.35, 0.0};
  std::array<double, 3> ends{};
  lab::run(lab::star(3), lab::hosts(3), [&](Context& context) {
    const auto rank = static_cast<std::size_t>(context.rank());
    lab::sleep(context, arrivals[rank]);
    Pending sum = context.all_reduce(all, sums, megabyte);
    context.wait(sum);
    ends[rank] = context.now().count();
  });
  for (const double end : ends) EXPECT_NEAR(end, 0.35 + price_s(3, 1'000'000), precision_s);
}

/// A started all-reduce progresses while its ranks work.
TEST(SimulatedNative, OverlapsWithWork) {
  const std::vector<Rank> all = {0, 1};
  const double price = price_s(2, 100'000'000);  // 102 ms
  std::array<double, 2> ends{};
  lab::run(lab::star(2), lab::hosts(2), [&](Context& context) {
    Pending sum = context.all_reduce(all, sums, {Bytes(100'000'000), nullptr});
    lab::compute(context, context.rank() == 0 ? 50 : 150);
    context.wait(sum);
    ends[static_cast<std::size_t>(context.rank())] = context.now().count();
  });
  EXPECT_NEAR(ends[0], price, precision_s);
  EXPECT_NEAR(ends[1], 0.15, precision_s);
}

/// An all-reduce that starts while another is in flight ends at the later of two times: when it would end
/// alone, or a given delay after the other.
TEST(SimulatedNative, OverlapsThePreviousOne) {
  const std::vector<Rank> all = {0, 1};
  std::array<double, 3> ends{};
  const auto body = [&](Context& context) {
    std::array<Pending, 3> pendings;
    pendings[0] = context.all_reduce(all, sums, megabyte);
    pendings[1] = context.all_reduce(all, sums, megabyte);
    lab::sleep(context, 0.0125);
    pendings[2] = context.all_reduce(all, sums, megabyte);
    for (std::size_t i = 0; i < 3; ++i) {
      context.wait(pendings[i]);
      ends[i] = context.now().count();
    }
  };
  lab::run(lab::star(2), lab::hosts(2), body, {}, {}, [](SimulationSetting& setting) {
    setting.all_reduce = [](std::span<const Rank>, Bytes) {
      return AllReduceTime(Seconds(0.01), Seconds(0.003));
    };
  });
  EXPECT_NEAR(ends[1], 0.013, precision_s);
  EXPECT_NEAR(ends[2], 0.0225, precision_s);
}

TEST(SimulatedNative, AllReducesOfOneRankAreSerialised) {
  const std::vector<Rank> all = {0, 1, 2};
  const std::vector<Rank> some = {2, 1};
  const std::vector<Rank> others = {3, 4};
  std::array<double, 5> ends{};
  lab::run(lab::star(5), lab::hosts(5), [&](Context& context) {
    const Rank rank = context.rank();
    std::array<Pending, 3> pendings;
    if (rank < 3) {
      pendings[0] = context.all_reduce(all, sums, megabyte);
      pendings[1] = context.all_reduce(all, {2, false}, {Bytes(2'000'000), nullptr});
      if (rank > 0) pendings[2] = context.all_reduce(some, sums, megabyte);
    } else {
      pendings[0] = context.all_reduce(others, sums, megabyte);
    }
    context.wait_all(pendings);
    ends[static_cast<std::size_t>(rank)] = context.now().count();
  });
  const double both = price_s(3, 1'000'000) + price_s(3, 2'000'000);
  EXPECT_NEAR(ends[0], both, precision_s);
  EXPECT_NEAR(ends[1], both + price_s(2, 1'000'000), precision_s);
  EXPECT_NEAR(ends[2], both + price_s(2, 1'000'000), precision_s);
  EXPECT_NEAR(ends[3], price_s(2, 1'000'000), precision_s);
  EXPECT_NEAR(ends[4], price_s(2, 1'000'000), precision_s);
}

TEST(SimulatedNative, EmptyVectorsAndSingleMembersAreFree) {
  const auto result = lab::run(lab::star(2), lab::hosts(2), [](Context& context) {
    const std::vector<Rank> all = {0, 1};
    const std::vector<Rank> alone = {context.rank()};
    std::array<Pending, 2> pendings = {context.all_reduce(all, sums, {}),
                                       context.all_reduce(alone, sums, megabyte)};
    context.wait_all(pendings);
  });
  EXPECT_EQ(result.makespan, Seconds(0));
}

/// It adds in the order of the list: 2^24 + 1 is not a float, while 1 + 1 + 2^24 is exact.
TEST(SimulatedNative, AddsInTheOrderOfItsMembers) {
  const std::array<float, 3> values = {1.0F, 16777216.0F, 1.0F};
  std::array<float, 3> by_rank{};
  std::array<float, 3> small_first{};
  lab::run(lab::star(3), lab::hosts(3), [&](Context& context) {
    const auto rank = static_cast<std::size_t>(context.rank());
    by_rank[rank] = small_first[rank] = values[rank];
    const auto sum_of = [&](const std::vector<Rank>& members, float& value) {
      Pending sum = context.all_reduce(members, sums, {Bytes(4), reinterpret_cast<std::byte*>(&value)});
      context.wait(sum);
    };
    sum_of({0, 1, 2}, by_rank[rank]);
    sum_of({2, 0, 1}, small_first[rank]);
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(by_rank[rank], 16777216.0F);
    EXPECT_EQ(small_first[rank], 16777218.0F);
  }
}

/// From the rank's own start, as in a run (MpiContext.AnEmulatedDeviceIsSlowerWhileASumIsInFlight): also for
/// the 20 ms in which it waits for the other member.
TEST(SimulatedNative, SlowsWorkDownWhileInFlight) {
  constexpr double slowdown = 2.0;
  const std::vector<Rank> all = {0, 1};
  const double price = price_s(2, 8'000'000);  // 10 ms
  double end = 0;
  lab::run(
      lab::star(2), lab::hosts(2),
      [&](Context& context) {
        if (context.rank() == 1) lab::sleep(context, 0.02);
        Pending sum = context.all_reduce(all, sums, {Bytes(8'000'000), nullptr});
        if (context.rank() == 0) {
          lab::compute(context, 40);
          end = context.now().count();
        }
        context.wait(sum);
      },
      {}, SimulationSetting{}.eager_limit,
      [](SimulationSetting& setting) { setting.slowdown = [](Rank, const Work&) { return slowdown; }; });
  EXPECT_NEAR(end, 0.04 + (0.02 + price) * (1 - 1 / slowdown), 1e-8);
}

TEST(SimulatedNative, AMissingMemberIsADeadlockThatNamesIt) {
  try {
    lab::run(lab::star(2), lab::hosts(2), [](Context& context) {
      const std::vector<Rank> all = {0, 1};
      if (context.rank() == 1) return;
      Pending sum = context.all_reduce(all, {17, false}, megabyte);
      context.wait(sum);
    });
    FAIL() << "no error";
  } catch (const WorldError& error) {
    EXPECT_NE(std::string(error.what()).find("the others of an all-reduce on channel 17"), std::string::npos)
        << error.what();
  }
}

TEST(SimulatedNativeDeathTest, MembersThatStartDifferentOnesAreAProgrammersError) {
  EXPECT_DEATH(lab::run(lab::star(2), lab::hosts(2),
                        [](Context& context) {
                          const std::vector<Rank> all = {0, 1};
                          Pending sum = context.all_reduce(all, {context.rank(), false}, megabyte);
                          context.wait(sum);
                        }),
               "all-reduce on channel 1");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
