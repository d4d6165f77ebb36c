// Which of several measured paths a message takes.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

constexpr double precision_s = 1e-9;

/// On one machine, messages of a GPU's memory have another path than those of a processor's; a pair of kinds
/// that was not measured uses the first path.
TEST(Physics, EachPairOfHostKindsUsesItsOwnPath) {
  const auto path = [](const char* from, const char* to, double alpha_s) {
    return Profile::Path{.from = "a",
                         .to = "b",
                         .messages = {},
                         .segments = {{0, alpha_s, 1e-9}},
                         .from_kind = from,
                         .to_kind = to};
  };
  const std::vector<Profile::Path> paths{path("gpu", "gpu", 10e-6), path("gpu", "processor", 20e-6),
                                         path("processor", "processor", 40e-6)};
  std::map<std::pair<Rank, Rank>, double> times;
  lab::run(
      lab::star(4), lab::hosts(4),
      [&](Context& context) {
        int turn = 0;
        for (const auto& [from, to] : std::vector<std::pair<Rank, Rank>>{{0, 1}, {0, 2}, {2, 0}, {2, 3}}) {
          const double start = context.now().count();
          if (context.rank() == from) lab::send(context, to, 1000);
          if (context.rank() == to) {
            lab::receive(context, from, 1000);
            times[{from, to}] = context.now().count() - start;
          }
          lab::sleep(context, 10.0 * ++turn - context.now().count());
        }
      },
      paths, SimulationSetting{}.eager_limit,
      [](SimulationSetting& setting) {
        setting.host_kinds = {{"h0", "gpu"}, {"h1", "gpu"}, {"h2", "processor"}, {"h3", "a100"}};
      });
  EXPECT_NEAR((times[{0, 1}]), 11e-6, precision_s);
  EXPECT_NEAR((times[{0, 2}]), 21e-6, precision_s);
  EXPECT_NEAR((times[{2, 0}]), 21e-6, precision_s);
  EXPECT_NEAR((times[{2, 3}]), 11e-6, precision_s) << "not measured";
}

/// Two paths were measured on the star: they reach half of the bandwidth at 1.25 GB/s, and nine tenths at 10
/// MB/s. A route of 12 MB/s resembles the slow one, so it reaches nine tenths of its 12 MB/s.
TEST(Physics, EachRouteUsesTheMostSimilarMeasuredPath) {
  const std::vector<Profile::Path> paths{
      {.from = "a", .to = "a", .links = 0, .bandwidth = 0, .messages = {}, .segments = {{0, 5e-6, 1e-10}}},
      {.from = "a",
       .to = "b",
       .links = 2,
       .bandwidth = 1.25e9,
       .messages = {},
       .segments = {{0, 40e-6, 1 / 0.625e9}}},
      {.from = "a",
       .to = "c",
       .links = 2,
       .bandwidth = 1e7,
       .messages = {},
       .segments = {{0, 60e-6, 1 / 9e6}}}};
  const std::string xml = lab::platform(
      "<zone id=\"z\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\"/><host id=\"h1\" speed=\"1Gf\"/>"
      "<host id=\"h2\" speed=\"1Gf\"/><link id=\"fast\" bandwidth=\"1.25GBps\" latency=\"5us\"/>"
      "<link id=\"slow\" bandwidth=\"12MBps\" latency=\"5us\"/>"
      "<route src=\"h0\" dst=\"h1\"><link_ctn id=\"fast\"/></route>"
      "<route src=\"h0\" dst=\"h2\"><link_ctn id=\"fast\"/><link_ctn id=\"slow\"/></route>"
      "<route src=\"h1\" dst=\"h2\"><link_ctn id=\"slow\"/></route></zone>");
  std::vector<double> times;
  lab::run(
      xml, {"h0", "h1", "h2", "h0"},
      [&](Context& context) {
        for (const Rank to : {1, 2, 3}) {
          const double start = context.now().count();
          if (context.rank() == 0) lab::send(context, to, 1'000'000);
          if (context.rank() == to) {
            lab::receive(context, 0, 1'000'000);
            times.push_back(context.now().count() - start);
          }
          lab::sleep(context, 10.0 * to - context.now().count());
        }
      },
      paths);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_NEAR(40e-6 + 1e6 / 0.625e9, times[0], precision_s);
  EXPECT_NEAR(60e-6 + 1e6 / (0.9 * 12e6), times[1], precision_s);
  EXPECT_NEAR(5e-6 + 1e6 * 1e-10, times[2], precision_s);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
