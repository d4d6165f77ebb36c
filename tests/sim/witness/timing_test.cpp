// Durations of messages and emulated work on SimGrid's MPI, in closed form, and the reporting of errors.
#include <gtest/gtest.h>

#include <array>

#include "policies/vocabulary/check.hpp"
#include "sim/witness/witness.hpp"
#include "tests/sim/lab.hpp"

// Read by LeakSanitizer. SMPI releases the requests, communicators and processes of an aborted job only with
// the process; everything else that leaks is still an error.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:PMPI_\nleak:SMPI_app_instance_register\nleak:simgrid::smpi::\n";
}

namespace tandem::witness {
namespace TANDEM_FILE {

namespace lab = sim::lab;

// SMPI adds an envelope of 16 bytes to each message.
constexpr double envelope = 16 / lab::bandwidth;

/// The time when rank 1 has received a message that rank 0 sends at `sent`; the clocks of the ranks differ by
/// at most `clock_offset`.
double arrival(std::int64_t bytes, double sent, double received) {
  double end = 0;
  const auto result = lab::run_on(simulate, lab::star(2), lab::hosts(2), [&](Context& context) {
    if (context.rank() == 0) {
      if (sent > 0) lab::sleep(context, sent);
      lab::send(context, 1, bytes);
    } else {
      if (received > 0) lab::sleep(context, received);
      lab::receive(context, 0, bytes);
      end = context.now().count();
    }
  });
  EXPECT_TRUE(result.warnings.empty());
  return end;
}

// Clocks start at the end of a barrier, which ranks leave up to one empty message apart.
constexpr double clock_offset = lab::alpha + 2 * envelope;

TEST(WitnessTiming, AMessageTakesLatencyAndSizeOverBandwidth) {
  EXPECT_NEAR(arrival(125'000'000, 1.0, 0.0), 1.0 + lab::alpha + 0.1 + envelope, clock_offset);
}

TEST(WitnessTiming, ASmallMessageDoesNotWaitForItsReceive) {
  EXPECT_NEAR(arrival(60'000, 0.0, 1.0), 1.0, 1e-8);
}

TEST(WitnessTiming, ALargeMessageWaitsForItsReceive) {
  EXPECT_NEAR(arrival(125'000'000, 0.0, 1.0), 1.0 + lab::alpha + 0.1 + envelope, 1e-8);
}

/// Unlike over one TCP connection, and unlike in `transfers`, where the first one arrives after half this
/// time (Timing.MessagesToOneRankFollowEachOther). This makes rings of unequal workers slower under SMPI.
TEST(WitnessTiming, MessagesOfOnePairShareTheLinkInsteadOfFollowingEachOther) {
  constexpr std::int64_t size = 2'500'000;
  std::array<double, 2> received{};
  lab::run_on(simulate, lab::star(2), lab::hosts(2), [&](Context& context) {
    if (context.rank() == 0) {
      lab::sleep(context, 1.0);
      std::array<Pending, 2> both = {context.send(1, {1, false}, {Bytes(size), nullptr}),
                                     context.send(1, {2, false}, {Bytes(size), nullptr})};
      for (auto& one : both) context.wait(one);
      return;
    }
    std::array<Pending, 2> both = {context.receive(0, {1, false}, {Bytes(size), nullptr}),
                                   context.receive(0, {2, false}, {Bytes(size), nullptr})};
    for (std::size_t i = 0; i < 2; ++i) {
      context.wait(both.at(i));
      received.at(i) = context.now().count();
    }
  });
  const double both_s = 2 * (static_cast<double>(size) / lab::bandwidth + envelope);
  for (const double end : received) EXPECT_NEAR(end, 1.0 + lab::alpha + both_s, clock_offset);
}

TEST(WitnessTiming, WorkOverlapsWithMessagesAndNothingPolls) {
  // 100 ms of work during a transfer of 200 ms, twice: the completion times are exact.
  std::array<double, 3> ends{};
  lab::run_on(simulate, lab::star(2), lab::hosts(2), [&](Context& context) {
    if (context.rank() == 1) {
      lab::sleep(context, 0.5);
      return lab::send(context, 0, 250'000'000);
    }
    lab::sleep(context, 0.5);
    const double start = context.now().count();
    std::array<Pending, 2> both = {context.compute({Work::Kind::forward, -1, 100, Bytes(0)}),
                                   context.receive(1, {1, false}, {Bytes(250'000'000), nullptr})};
    EXPECT_EQ(context.wait_any(both).index, 0U);
    ends[0] = context.now().count() - start;
    EXPECT_EQ(context.wait_any(both).index, 1U);
    ends[1] = context.now().count() - start;
  });
  EXPECT_NEAR(ends[0], 0.1, 3e-9);
  EXPECT_NEAR(ends[1], 0.2 + lab::alpha + envelope, clock_offset);
}

TEST(WitnessTiming, TheMeasuredNetworkApplies) {
  double end = 0;
  const auto network = lab::machine_network({{0, 20e-6, 1e-9}, {65536, 80e-6, 0.5e-9}});
  lab::run_on(
      simulate, lab::star(2), lab::hosts(2),
      [&](Context& context) {
        if (context.rank() == 0) return lab::send(context, 1, 100'000'000);
        lab::sleep(context, 1.0);
        lab::receive(context, 0, 100'000'000);
        end = context.now().count();
      },
      network, Bytes(4096));
  EXPECT_NEAR(end, 1.0 + 80e-6 + (100'000'000 + 16) * 0.5e-9, 1e-8);
}

TEST(WitnessTiming, WindowsOfThePlatformAreSaidNotToApply) {
  const std::string windows = lab::star(2, "", "<prop id=\"tandem:window\" value=\"4MiB\"/>");
  const auto result = lab::run_on(simulate, windows, lab::hosts(2), [](Context&) {});
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_NE(result.warnings.front().find("tandem:window"), std::string::npos);
}

TEST(WitnessErrors, AnExceptionOfABodyIsRethrown) {
  try {
    lab::run_on(simulate, lab::star(3), lab::hosts(3), [](Context& context) {
      if (context.rank() == 1) throw ConfigError("a rank's own words");
      lab::receive(context, 1, 10);
    });
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "a rank's own words");
  }
}

TEST(WitnessErrors, ADeadlockIsAnError) {
  EXPECT_THROW(lab::run_on(simulate, lab::star(2), lab::hosts(2),
                           [](Context& context) { lab::receive(context, 1 - context.rank(), 10); }),
               WorldError);
}

TEST(WitnessErrors, AMissingRouteIsBadInput) {
  const std::string islands = lab::platform(
      "<zone id=\"z\" routing=\"Full\"><host id=\"h0\" speed=\"1Gf\"/><host id=\"h1\" "
      "speed=\"1Gf\"/></zone>\n");
  EXPECT_THROW(lab::run_on(simulate, islands, lab::hosts(2), [](Context&) {}), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::witness
