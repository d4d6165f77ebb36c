// The active network model: defaults, the platform file's own flags, measured segments; determinism.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

using lab::bandwidth;
constexpr double precision_s = 1e-9;

/// Simulated duration of one message for each size, sent one after the other.
std::vector<double> message_times(const std::string& xml, const std::vector<std::int64_t>& sizes,
                                  const std::vector<Profile::NetworkSegment>& network,
                                  nlohmann::json* physics = nullptr) {
  std::vector<double> times;
  const auto result = lab::run(
      xml, lab::hosts(2),
      [&](Context& context) {
        for (const std::int64_t size : sizes) {
          const double start = context.now().count();
          if (context.rank() == 0) {
            lab::send(context, 1, size);
          } else {
            lab::receive(context, 0, size);
            times.push_back(context.now().count() - start);
          }
        }
      },
      network.empty() ? std::vector<Profile::Path>{} : lab::machine_network(network));
  if (physics != nullptr) *physics = result.physics;
  return times;
}

TEST(Physics, DefaultsAreReported) {
  nlohmann::json physics;
  message_times(lab::star(2), {1}, {}, &physics);
  EXPECT_EQ("CM02", physics["flags"]["network/model"]);
  EXPECT_EQ(false, physics["flags"]["network/crosstraffic"]);
  EXPECT_EQ(1e15, physics["flags"]["network/TCP-gamma"]);
  EXPECT_EQ(1e10, physics["flags"]["network/loopback-bw"]);
  EXPECT_EQ("links of the platform file", physics["network"]);
  EXPECT_TRUE(physics["set_by_platform_file"].empty());
}

TEST(Physics, FlagsOfThePlatformFileTakePrecedence) {
  nlohmann::json physics;
  const std::string config =
      "<prop id=\"network/model\" value=\"LV08\"/><prop id=\"network/crosstraffic\" value=\"1\"/>";
  const auto times = message_times(lab::star(2, "", "", config), {1'000'000'000}, {}, &physics);
  EXPECT_NEAR(13.01 * lab::alpha + 1e9 / (0.97 * bandwidth), times[0], 1e-6);
  EXPECT_EQ("LV08", physics["flags"]["network/model"]);
  EXPECT_EQ(true, physics["flags"]["network/crosstraffic"]);
  EXPECT_EQ("LV08", physics["set_by_platform_file"]["network/model"]);
}

/// When two messages end that share a link, if events so far apart are at the same time.
std::array<double, 2> ends_with_precision(const std::string& seconds) {
  std::array<double, 2> ends{};
  const std::string config =
      "<prop id=\"surf/precision\" value=\"" + seconds + "\"/><prop id=\"network/optim\" value=\"Lazy\"/>";
  lab::run(lab::star(3, "", "", config), lab::hosts(3), [&](Context& context) {
    const std::array<std::int64_t, 2> sizes{125'000, 130'000};
    if (context.rank() > 0) {
      const auto index = static_cast<std::size_t>(context.rank() - 1);
      lab::receive(context, 0, sizes[index]);
      ends[index] = context.now().count();
      return;
    }
    Pending one = context.send(1, {1, false}, {Bytes(sizes[0]), nullptr});
    Pending other = context.send(2, {1, false}, {Bytes(sizes[1]), nullptr});
    context.wait(one);
    context.wait(other);
  });
  return ends;
}

TEST(Physics, MessagesEndOneAfterTheOther) {
  const auto ends = ends_with_precision("1e-9");
  EXPECT_NEAR(ends[0], lab::alpha + 2 * 125'000 / bandwidth, precision_s);
  EXPECT_NEAR(ends[1], lab::alpha + 255'000 / bandwidth, 2 * precision_s);
}

/// 4 us apart, these end together, so the simulator computes the shares of the others once.
TEST(Physics, MessagesThatEndWithinThePrecisionEndTogether) {
  const auto ends = ends_with_precision("1e-5");
  EXPECT_NEAR(ends[0], lab::alpha + 2 * 125'000 / bandwidth, precision_s);
  EXPECT_NEAR(ends[1], ends[0], precision_s);
}

TEST(Physics, MeasuredSegmentsApplyToEverySize) {
  const std::vector<Profile::NetworkSegment> network{
      {0, 12e-6, 2e-9}, {4096, 30e-6, 0.9e-9}, {65536, 95e-6, 0.31e-9}};
  const std::vector<std::int64_t> sizes{0, 1, 4095, 4096, 4097, 65535, 65536, 1'000'000, 80'000'000};
  nlohmann::json physics;
  const auto times = message_times(lab::star(2), sizes, network, &physics);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& segment = network[sizes[i] < 4096 ? 0 : sizes[i] < 65536 ? 1 : 2];
    EXPECT_NEAR(segment.alpha_s + static_cast<double>(sizes[i]) * segment.beta_s, times[i], precision_s)
        << sizes[i] << " bytes";
  }
  EXPECT_EQ("as measured", physics["network"]);
  EXPECT_EQ(3U, physics["measured_paths"][0]["segments"].size());
}

TEST(Physics, MeasuredMessagesShareLinks) {
  constexpr double beta = 0.4e-9;
  const auto result = lab::run(
      lab::star(3), lab::hosts(3),
      [](Context& context) {
        if (context.rank() > 0) return lab::send(context, 0, 100'000'000);
        std::array<Pending, 2> pendings;
        for (const Rank from : {1, 2})
          pendings[static_cast<std::size_t>(from - 1)] =
              context.receive(from, {1, false}, {Bytes(100'000'000), nullptr});
        context.wait_all(pendings);
      },
      lab::machine_network({{0, 50e-6, beta}}));
  EXPECT_NEAR(50e-6 + 2 * 1e8 * beta, result.makespan.count(), precision_s);
}

/// Two messages of different sizes, in different segments, share the receiver's link. SimGrid would give a
/// message without latency almost no bandwidth when others compete.
class UnlikeSegments : public ::testing::TestWithParam<std::pair<double, double>> {};

TEST_P(UnlikeSegments, ShareALinkEqually) {
  const auto [alpha_of_small, alpha_of_large] = GetParam();
  constexpr double beta = 1 / 1.25e9;
  constexpr std::int64_t small = 500'000, large = 10'000'000;
  double small_end = 0;
  lab::run(
      lab::star(3), lab::hosts(3),
      [&](Context& context) {
        if (context.rank() > 0) return lab::send(context, 0, context.rank() == 1 ? small : large);
        lab::receive(context, 1, small);
        small_end = context.now().count();
        lab::receive(context, 2, large);
      },
      lab::machine_network({{0, alpha_of_small, beta}, {1'000'000, alpha_of_large, beta}}));
  // The tolerance covers the time during which one message has the link alone because the other starts later.
  EXPECT_NEAR(alpha_of_small + 2 * static_cast<double>(small) * beta, small_end, 60e-6);
}

INSTANTIATE_TEST_SUITE_P(Physics, UnlikeSegments,
                         ::testing::Values(std::pair(50e-6, 50e-6), std::pair(50e-6, 1e-6),
                                           std::pair(50e-6, 0.0), std::pair(0.0, 50e-6)));

TEST(Physics, MeasuredSegmentsApplyWithinAHost) {
  const auto result = lab::run(
      lab::star(1), {"h0", "h0"},
      [](Context& context) {
        if (context.rank() == 0)
          lab::send(context, 1, 1'000'000'000);
        else
          lab::receive(context, 0, 1'000'000'000);
      },
      lab::machine_network({{0, 1e-3, 1e-6}}));
  EXPECT_NEAR(1e-3 + 1e9 * 1e-6, result.makespan.count(), precision_s);
}

/// When a message of 300 MB has arrived that shares a link of 1 GB/s with one from a host further away.
/// `latency`: of that link.
double end_of_near_one(const std::string& latency, const std::string& config, nlohmann::json& physics) {
  const std::string xml = lab::platform(
      "<zone id=\"z\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\"/><host id=\"h1\" speed=\"1Gf\"/>"
      "<host id=\"h2\" speed=\"1Gf\"/><link id=\"shared\" bandwidth=\"1GBps\" latency=\"" +
          latency +
          "\"/><link id=\"far\" bandwidth=\"1GBps\" latency=\"20us\"/>"
          "<route src=\"h1\" dst=\"h0\"><link_ctn id=\"shared\"/></route>"
          "<route src=\"h2\" dst=\"h0\"><link_ctn id=\"far\"/><link_ctn id=\"shared\"/></route></zone>",
      config);
  double near_end = 0;
  const auto result = lab::run(xml, lab::hosts(3), [&](Context& context) {
    if (context.rank() > 0) {
      lab::send(context, 0, 300'000'000);
      if (context.rank() == 1) near_end = context.now().count();
      return;
    }
    std::array<Pending, 2> pendings;
    for (const Rank from : {1, 2})
      pendings[static_cast<std::size_t>(from - 1)] =
          context.receive(from, {1, false}, {Bytes(300'000'000), nullptr});
    context.wait_all(pendings);
  });
  physics = result.physics;
  return near_end;
}

/// SimGrid by itself would weigh them 3 to 1, and one without latency 1 to 50,000.
class UnlikeLatencies : public ::testing::TestWithParam<const char*> {};

TEST_P(UnlikeLatencies, ShareALinkEqually) {
  nlohmann::json physics;
  EXPECT_NEAR(0.6, end_of_near_one(GetParam(), "", physics), 1e-4);
  EXPECT_EQ("max-min over connections of two ranks", physics["sharing"]);
}

INSTANTIATE_TEST_SUITE_P(Physics, UnlikeLatencies, ::testing::Values("10us", "0us"));

/// SimGrid's weights are latency + weight-S / bandwidth, summed over the links: here 2.5 to 1.
TEST(Physics, WeightsOfThePlatformFileTakePrecedence) {
  nlohmann::json physics;
  const std::string config = "<prop id=\"network/weight-S\" value=\"10000\"/>";
  EXPECT_NEAR(0.3 * 3.5 / 2.5, end_of_near_one("10us", config, physics), 1e-4);
  EXPECT_EQ("max-min over connections of two ranks, with SimGrid's weights", physics["sharing"]);
}

/// The send call blocks its rank while the message is in flight: 1 MB takes 2 ms on the link; the sender can
/// work after the first millisecond.
TEST(Physics, SendingAlsoBlocksTheSender) {
  auto network = lab::machine_network({{0, 100e-6, 1.9e-9}});
  network.front().messages = {{1'000, 0, 0, {}, 50e-6, {}}, {1'000'000, 0, 0, {}, 1e-3, {}}};
  double sent = 0;
  double received = 0;
  lab::run(
      lab::star(2), lab::hosts(2),
      [&](Context& context) {
        if (context.rank() == 1) {
          lab::receive(context, 0, 1'000'000);
          received = context.now().count();
          lab::receive(context, 0, 0);
          return;
        }
        Pending message = context.send(1, {1, false}, {Bytes(1'000'000), nullptr});
        sent = context.now().count();
        Pending empty = context.send(1, {1, false}, {});
        EXPECT_NEAR(context.now().count(), sent + 50e-6, precision_s);
        context.wait(message);
        context.wait(empty);
      },
      network);
  EXPECT_NEAR(1e-3, sent, precision_s);
  EXPECT_NEAR(100e-6 + 1e6 * 1.9e-9, received, precision_s);
}

TEST(Physics, ASendCompletesWhenTheTransportBuffersTheRest) {
  constexpr double alpha_s = 1e-3;
  constexpr double beta_s = 2e-9;
  auto network = lab::machine_network({{0, alpha_s, beta_s}});
  network[0].held_bytes = 250'000;
  std::array<double, 3> sent{};
  std::array<double, 3> arrived{};
  lab::run(
      lab::star(2), lab::hosts(2),
      [&](Context& context) {
        if (context.rank() == 1) {
          for (double& time : arrived) {
            lab::receive(context, 0, 1'000'000);
            time = context.now().count();
          }
          return;
        }
        // The transport buffers a small message at once, the last part of a large one, and a message queued
        // behind that when both fit.
        std::array<Pending, 3> pendings;
        const std::array<std::int64_t, 3> sizes{250'000, 1'000'000, 100'000};
        for (std::size_t i = 0; i < sizes.size(); ++i)
          pendings[i] = context.send(1, {1, false}, {Bytes(sizes[i]), nullptr});
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          context.wait(pendings[i]);
          sent[i] = context.now().count();
        }
      },
      network);
  EXPECT_NEAR(0.0, sent[0], precision_s);
  EXPECT_NEAR(alpha_s + 0.25e6 * beta_s, arrived[0], precision_s);
  // Its latency passed while it was queued.
  EXPECT_NEAR(arrived[0] + 0.75e6 * beta_s, sent[1], 1e-7);
  EXPECT_NEAR(arrived[0] + 1e6 * beta_s, arrived[1], 1e-7);
  EXPECT_NEAR(arrived[1] - 0.15e6 * beta_s, sent[2], 1e-7);
  EXPECT_NEAR(arrived[1] + 0.1e6 * beta_s, arrived[2], 1e-7);
}

std::string star_with_window(const std::string& window) {
  return lab::star(2, {}, "<prop id=\"tandem:window\" value=\"" + window + "\"/>");
}

constexpr std::int64_t large = 10'000'000;
/// When a large message from h0 to h1 arrives.
double large_arrives(const std::string& platform) {
  double time = 0;
  lab::run_on(simulate, platform, lab::hosts(2), [&](Context& context) {
    if (context.rank() == 0) return lab::send(context, 1, large);
    lab::receive(context, 0, large);
    time = context.now().count();
  });
  return time;
}

TEST(Physics, AWindowLimitsTheRateOfAMessageByTheRoundTrip) {
  const double rate = 10e3 / (2 * lab::alpha);
  ASSERT_LT(rate, lab::bandwidth) << "it limits";
  EXPECT_NEAR(large_arrives(star_with_window("10kB")), lab::alpha + static_cast<double>(large) / rate, 1e-6);
}

TEST(Physics, AWideWindowLimitsNothing) {
  EXPECT_NEAR(large_arrives(star_with_window("1GB")),
              lab::alpha + static_cast<double>(large) / lab::bandwidth, 1e-6);
}

TEST(Physics, TheNarrowestWindowOfLinksAndHostsCounts) {
  std::string text = star_with_window("20kB");
  const std::string link = "sharing_policy=\"SPLITDUPLEX\"/>";
  text.replace(text.find(link), link.size(),
               "sharing_policy=\"SPLITDUPLEX\"><prop id=\"tandem:window\" value=\"5kB\"/></link>");
  EXPECT_NEAR(large_arrives(text), lab::alpha + static_cast<double>(large) / (5e3 / (2 * lab::alpha)), 1e-5);
}

TEST(Physics, ALinkMayHaveANameLikeADirection) {
  std::string text = star_with_window("10kB");
  for (std::size_t at = 0; (at = text.find("\"l0\"", at)) != std::string::npos;)
    text.replace(at, 4, "\"l0_UP\"");
  const std::string sharing = "sharing_policy=\"SPLITDUPLEX\"";
  for (std::size_t at = 0; (at = text.find(sharing, at)) != std::string::npos;)
    text.erase(at, sharing.size());
  for (const std::string direction : {" direction=\"UP\"", " direction=\"DOWN\""})
    for (std::size_t at = 0; (at = text.find(direction, at)) != std::string::npos;)
      text.erase(at, direction.size());
  const double rate = 10e3 / (2 * lab::alpha);
  EXPECT_NEAR(large_arrives(text), lab::alpha + static_cast<double>(large) / rate, 1e-6);
}

void expect_refused(const std::string& window) {
  try {
    large_arrives(star_with_window(window));
    FAIL() << window;
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("host 'h0': property 'tandem:window': expected a size of at least 1500B"),
              std::string::npos)
        << error.what();
  }
}

/// A window for all routes from the platform file's <config>.
const std::string gamma_20kB = "<prop id=\"network/TCP-gamma\" value=\"20000\"/>";

std::string window_of_hosts(const std::string& window) {
  return window.empty() ? "" : "<prop id=\"tandem:window\" value=\"" + window + "\"/>";
}

/// The window of the hosts, if any, and the one that limits messages.
class WindowBesideConfiguration : public ::testing::TestWithParam<std::pair<const char*, double>> {};

TEST_P(WindowBesideConfiguration, IsUsedInsteadOfIt) {
  const auto [of_hosts, window] = GetParam();
  const double rate = std::min(lab::bandwidth, window / (2 * lab::alpha));
  EXPECT_NEAR(large_arrives(lab::star(2, {}, window_of_hosts(of_hosts), gamma_20kB)),
              lab::alpha + static_cast<double>(large) / rate, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Physics, WindowBesideConfiguration,
                         ::testing::Values(std::pair("", 20e3), std::pair("10kB", 10e3),
                                           std::pair("22kB", 22e3)));

TEST(Physics, AModelWithRatesOfItsOwnRefusesAWindow) {
  try {
    large_arrives(lab::star(2, {}, window_of_hosts("5kB"), "<prop id=\"network/model\" value=\"LV08\"/>"));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("<config> 'network/model': expected CM02, because"),
              std::string::npos)
        << error.what();
  }
}

TEST(Physics, AWindowOfALinkThatIsNoSizeIsRefusedByTheNameOfTheLink) {
  std::string text = lab::star(2);
  const std::string link = "sharing_policy=\"SPLITDUPLEX\"/>";
  text.replace(text.find(link), link.size(),
               "sharing_policy=\"SPLITDUPLEX\"><prop id=\"tandem:window\" value=\"5ms\"/></link>");
  try {
    large_arrives(text);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("link 'l0': property 'tandem:window': expected a size"),
              std::string::npos)
        << error.what();
  }
}

/// Of messages between two hosts over links of 10 Gb/s and 4 ms.
std::vector<std::string> warnings_of_long_links(const std::string& inside, const std::string& config = {}) {
  std::string text = lab::star(2, {}, inside, config);
  for (std::size_t at; (at = text.find("\"5us\"")) != std::string::npos;) text.replace(at, 5, "\"4ms\"");
  return lab::run(text, lab::hosts(2),
                  [](Context& context) {
                    if (context.rank() == 0) return lab::send(context, 1, 1000);
                    lab::receive(context, 0, 1000);
                  })
      .warnings;
}

TEST(Physics, ALongRouteWithoutAWindowIsAWarning) {
  const auto warnings = warnings_of_long_links({});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("from h0 to h1, bandwidth times round trip is 20 MB, more than"),
            std::string::npos)
      << warnings.front();
}

TEST(Physics, ALongRouteWithAWindowIsNone) {
  EXPECT_TRUE(warnings_of_long_links("<prop id=\"tandem:window\" value=\"64MiB\"/>").empty());
}
TEST(Physics, ALongRouteWithTheConfigurationsWindowIsNone) {
  EXPECT_TRUE(warnings_of_long_links({}, gamma_20kB).empty());
}

TEST(Physics, AWindowBelowAPacketIsRefused) { expect_refused("1499B"); }
TEST(Physics, AWindowThatIsNoSizeIsRefused) { expect_refused("much"); }

/// Two transfers into h0, the second `apart_s` after the first: the distance of their ends.
double distance_of_ends(double apart_s, Seconds busy_start) {
  std::array<double, 2> arrived{};
  const std::vector<Profile::Path> network = {{.from = "",
                                               .to = "",
                                               .links = 2,
                                               .bandwidth = lab::bandwidth,
                                               .messages = {},
                                               .segments = {{0, lab::alpha, 1 / lab::bandwidth}}}};
  lab::run(
      lab::star(3), lab::hosts(3),
      [&](Context& context) {
        if (context.rank() == 0) {
          for (const Rank sender : {1, 2}) {
            lab::receive(context, sender, large);
            arrived.at(static_cast<std::size_t>(sender) - 1) = context.now().count();
          }
          return;
        }
        if (context.rank() == 2) lab::sleep(context, apart_s);
        lab::send(context, 0, large);
      },
      network, SimulationSetting{}.eager_limit,
      [&](SimulationSetting& setting) { setting.busy_start = busy_start; });
  return arrived[1] - arrived[0];
}

struct Staggered {
  double apart;  ///< starts, in durations of a transfer
  double late;   ///< of a message that starts on a link in use, likewise
};
void PrintTo(const Staggered& one, std::ostream* out) {
  *out << one.apart << " apart, " << one.late << " late";
}
class StaggeredTransfers : public ::testing::TestWithParam<Staggered> {};

/// Equal shares keep the distance of starts; a later start on a link in use adds to it.
TEST_P(StaggeredTransfers, EndAsFarApartAsTheyStart) {
  const auto [apart, late] = GetParam();
  const double duration = static_cast<double>(large) / lab::bandwidth;
  EXPECT_NEAR(distance_of_ends(apart * duration, Seconds(late * duration)) / duration,
              apart + (apart < 1 ? late : 0), 2e-3);
}

INSTANTIATE_TEST_SUITE_P(Physics, StaggeredTransfers,
                         ::testing::Values(Staggered{0.25, 0}, Staggered{0.75, 0}, Staggered{0.25, 0.05},
                                           Staggered{0.5, 0.05}, Staggered{0.75, 0.05},
                                           Staggered{1.5, 0.05}));

/// A platform file may select a network model in which messages have no weights to vary.
TEST(Physics, NoiseOfSharesDoesNotAffectAModelOfThePlatform) {
  const auto noisy = [](SimulationSetting setting) {
    setting.noise = {.seed = 1, .share_jitter_bytes = 1e5};
    return simulate(setting);
  };
  double received = 0;
  lab::run_on(noisy, lab::star(2, {}, {}, "<prop id=\"network/model\" value=\"LV08\"/>"), lab::hosts(2),
              [&](Context& context) {
                if (context.rank() == 0) return lab::send(context, 1, 1'000'000);
                lab::receive(context, 0, 1'000'000);
                received = context.now().count();
              });
  EXPECT_GT(received, 1e6 / lab::bandwidth);
}

/// Two messages for each of four receivers are sent at the same time, by two senders; the last receiver's
/// link is ten times slower.
TEST(Physics, MessagesThatStartTogetherDoNotExceedALink) {
  constexpr std::int64_t big = 1'600'000;
  constexpr std::int64_t small = 100'000;
  constexpr Rank last = 5;
  std::string hosts;
  std::string routes;
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i);
    hosts += "<host id=\"h" + n + "\" speed=\"1Gf\"/><link id=\"l" + n + "\" bandwidth=\"" +
             (i == last ? "12.5" : "125") + "MBps\" latency=\"50us\" sharing_policy=\"SPLITDUPLEX\"/>";
    routes +=
        "<route src=\"h" + n + "\" dst=\"switch\"><link_ctn id=\"l" + n + "\" direction=\"UP\"/></route>";
  }
  double small_end = 0;
  double big_end = 0;
  lab::run(lab::platform("<zone id=\"z\" routing=\"Floyd\">" + hosts + "<router id=\"switch\"/>" + routes +
                         "</zone>"),
           lab::hosts(6), [&](Context& context) {
             std::vector<Pending> pendings;
             for (Rank peer = 2; peer <= last; ++peer)
               for (const Rank sender : {0, 1}) {
                 const Slice slice{Bytes(sender == 0 ? big : small), nullptr};
                 if (context.rank() == sender) pendings.push_back(context.send(peer, {}, slice));
                 if (context.rank() == peer) pendings.push_back(context.receive(sender, {}, slice));
               }
             if (context.rank() != last) return context.wait_all(pendings);
             context.wait(pendings[1]);
             small_end = context.now().count();
             context.wait(pendings[0]);
             big_end = context.now().count();
           });
  // They share the slow link equally until the small one has arrived.
  EXPECT_NEAR(100e-6 + 2 * small / 12.5e6, small_end, 1e-6);
  EXPECT_NEAR(100e-6 + (small + big) / 12.5e6, big_end, 1e-6);
}

TEST(Physics, UnsortedSegmentsAreRefused) {
  EXPECT_THROW(message_times(lab::star(2), {1}, {{0, 1e-6, 1e-9}, {100, 1e-6, 1e-9}, {50, 1e-6, 1e-9}}),
               ConfigError);
}

TEST(Physics, SegmentsMustStartAtZero) {
  EXPECT_THROW(message_times(lab::star(2), {1}, {{100, 1e-6, 1e-9}}), ConfigError);
}

TEST(Physics, MeasuredSegmentsDoNotMixWithFactorsOfThePlatform) {
  const std::string xml = lab::star(2, "", "", "<prop id=\"network/latency-factor\" value=\"2\"/>");
  EXPECT_THROW(message_times(xml, {1}, {{0, 1e-6, 1e-9}}), ConfigError);
}

TEST(Physics, MeasuredSegmentsNeedALatency) {
  const std::string xml = lab::platform(
      "<zone id=\"z\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\"/><host id=\"h1\" speed=\"1Gf\"/>"
      "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0\"/>"
      "<route src=\"h0\" dst=\"h1\"><link_ctn id=\"l\"/></route></zone>");
  EXPECT_THROW(message_times(xml, {1}, {{0, 1e-6, 1e-9}}), ConfigError);
}

/// Random traffic among ranks of unequal speed; the fingerprint combines the bits of every event's time.
std::uint64_t fingerprint_of_a_random_job(std::uint32_t seed) {
  std::uint64_t fingerprint = 0;
  const auto note_time = [&](const Context& context) {
    const double now = context.now().count();
    std::uint64_t bits = 0;
    std::memcpy(&bits, &now, sizeof(bits));
    fingerprint = fingerprint * 1099511628211ULL + bits + static_cast<std::uint64_t>(context.rank());
  };
  lab::run(lab::star(8), lab::hosts(8), [&](Context& context) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(context.rank()));
    std::vector<Pending> pendings;
    for (int round = 0; round < 20; ++round) {
      lab::compute(context, static_cast<int>(random() % 20));
      note_time(context);
      for (Rank peer = 0; peer < context.world_size(); ++peer) {
        pendings.push_back(context.send(peer, {1, false}, {Bytes(random() % 1'000'000), nullptr}));
        pendings.push_back(context.receive(peer, {1, false}, {Bytes(1'000'000), nullptr}));
      }
      for (std::size_t i = 0; i < pendings.size(); ++i) {
        fingerprint += context.wait_any(pendings).index;
        note_time(context);
      }
      pendings.clear();
    }
  });
  return fingerprint;
}

std::uint64_t in_another_process(std::uint32_t seed) {
  std::array<int, 2> ends{};
  EXPECT_EQ(0, pipe(ends.data()));
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t fingerprint = fingerprint_of_a_random_job(seed);
    _exit(write(ends[1], &fingerprint, sizeof(fingerprint)) == sizeof(fingerprint) ? 0 : 1);
  }
  close(ends[1]);
  std::uint64_t fingerprint = 0;
  EXPECT_EQ(static_cast<ssize_t>(sizeof(fingerprint)), read(ends[0], &fingerprint, sizeof(fingerprint)));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(child, waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  return fingerprint;
}

TEST(Determinism, TwoProcessesSimulateTheSameToTheLastBit) {
  for (const std::uint32_t seed : {1U, 2U, 3U})
    EXPECT_EQ(in_another_process(seed), in_another_process(seed)) << "seed " << seed;
  EXPECT_NE(in_another_process(1), in_another_process(2));
}

TEST(Progress, ReceivesTheSimulatedTime) {
  const lab::TemporaryFile file("platform.xml", lab::star(1));
  double reported = 0;
  SimulationSetting setting;
  setting.platform_file = file.path();
  setting.hosts = {"h0"};
  setting.price = lab::price_by_samples;
  // The speed of the simulator is unknown: the role continues until progress has been reported.
  setting.body = [&reported](Context& context) {
    for (int i = 0; reported == 0 && i < 50'000'000; ++i) lab::compute(context, 1);
  };
  setting.progress = [&reported](Seconds simulated) { reported = simulated.count(); };
  const auto result = simulate(setting);
  EXPECT_GT(reported, 0);
  EXPECT_LE(reported, result.makespan.count());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
