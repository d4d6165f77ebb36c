// Bytes that wait before a narrow link, and bursts of idle links: closed forms of fluid flow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

constexpr double wide = 30e6;    // bytes per second
constexpr double narrow = 12e6;  // of host h1's link
constexpr double room = 0.4e6;   // bytes that wait before it

/// Three hosts on a switch: h0 and h2 with wide links, h1 with a narrow one.
std::string one_narrow_port() {
  std::string body = "<zone id='z' routing='Floyd'>";
  for (int i = 0; i < 3; ++i) body += fmt::format("<host id='h{}' speed='1Gf'/>", i);
  body += "<router id='switch'/>";
  for (int i = 0; i < 3; ++i)
    body += fmt::format("<link id='l{}' bandwidth='{}Bps' latency='5us' sharing_policy='SPLITDUPLEX'/>", i,
                        i == 1 ? narrow : wide);
  for (int i = 0; i < 3; ++i)
    body += fmt::format("<route src='h{0}' dst='switch'><link_ctn id='l{0}' direction='UP'/></route>", i);
  return lab::platform(body + "</zone>");
}

std::vector<Profile::Path> buffering_network(double held) {
  const auto path = [held](double bandwidth) {
    return Profile::Path{.from = "",
                         .to = "",
                         .links = 2,
                         .bandwidth = bandwidth,
                         .messages = {},
                         .segments = {{0, 10e-6, 1 / bandwidth}},
                         .held_bytes = static_cast<std::int64_t>(held)};
  };
  return {path(wide), path(narrow)};
}

struct Arrivals {
  double at_narrow = 0;
  double at_wide = 0;
};

/// Host h0 sends `size` bytes to h1, and `apart_s` later as many to h2.
Arrivals send_two(std::int64_t size, double apart_s, double held) {
  Arrivals arrivals;
  lab::run(
      one_narrow_port(), lab::hosts(3),
      [&](Context& context) {
        if (context.rank() == 0) {
          Pending first = context.send(1, {1, false}, {Bytes(size), nullptr});
          lab::sleep(context, apart_s);
          lab::send(context, 2, size);
          context.wait(first);
        } else {
          lab::receive(context, 0, size);
          (context.rank() == 1 ? arrivals.at_narrow : arrivals.at_wide) = context.now().count();
        }
      },
      buffering_network(held));
  return arrivals;
}

constexpr double tolerance_s = 1e-3;

TEST(LinkQueue, AMessageThatIsAloneTakesTheTimeOfTheNarrowLink) {
  constexpr std::int64_t size = 1200000;
  // The other one starts when the first has arrived.
  const Arrivals arrivals = send_two(size, 0.2, room);
  EXPECT_NEAR(arrivals.at_narrow, size / narrow, tolerance_s);
  EXPECT_NEAR(arrivals.at_wide, 0.2 + size / wide, tolerance_s);
}

/// While the queue fills, both get half of the sender's link: (wide / 2 - narrow) * t < room.
TEST(LinkQueue, WhileItFillsSharesAreEqual) {
  constexpr std::int64_t size = 1200000;
  const Arrivals queued = send_two(size, 0, room);
  EXPECT_NEAR(queued.at_wide, 2 * size / wide, tolerance_s);
  EXPECT_NEAR(queued.at_narrow, size / narrow, tolerance_s);
}

/// The sender's link gives the other message all that the narrow link does not take.
TEST(LinkQueue, IsOnlyWhereTheTransportBuffers) {
  constexpr std::int64_t size = 1200000;
  EXPECT_NEAR(send_two(size, 0, 0).at_wide, size / (wide - narrow), tolerance_s);
}

/// The queue is full after room / (wide - narrow). From then on the narrow link limits the first message, and
/// its last bytes leave the sender's link room / narrow before they arrive.
TEST(LinkQueue, LeavesTheSharedLinkEarly) {
  constexpr double size = 1600000;
  constexpr double apart_s = 0.06;
  const double leaves_s = (size - room) / narrow;
  const double shared = (leaves_s - apart_s) * (wide - narrow);
  const Arrivals queued = send_two(static_cast<std::int64_t>(size), apart_s, room);
  EXPECT_NEAR(queued.at_narrow, size / narrow, tolerance_s);
  // The rate of the first message varies by a chunk, a quarter of the room.
  EXPECT_NEAR(queued.at_wide, leaves_s + (size - shared) / wide, 4e-3);
}

TEST(LinkQueue, MessagesKeepTheirOrderAndTheirSizes) {
  std::vector<std::int64_t> sizes = {10, 300000, 20000, 5, 900000, 16384, 16383, 7000000, 1};
  std::vector<double> ends;
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total += size;
  lab::run(
      one_narrow_port(), lab::hosts(2),
      [&](Context& context) {
        if (context.rank() == 0) {
          std::vector<Pending> sends;
          for (const std::int64_t size : sizes)
            sends.push_back(context.send(1, {1, false}, {Bytes(size), nullptr}));
          for (Pending& one : sends) context.wait(one);
          return;
        }
        for (const std::int64_t size : sizes) {
          lab::receive(context, 0, size);
          ends.push_back(context.now().count());
        }
      },
      buffering_network(room));
  std::int64_t sent = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sent += sizes[i];
    EXPECT_NEAR(ends[i], static_cast<double>(sent) / narrow, tolerance_s) << i;
  }
}

/// The failed link is one before the queue; its last bytes would still arrive.
TEST(LinkQueue, AFailedLinkBeforeItLosesTheMessage) {
  const lab::TemporaryFile states("down", "0.02 0\n");
  std::string text;
  try {
    lab::run(
        lab::platform(
            "<zone id='z' routing='Full'><host id='h0' speed='1Gf'/><host id='h1' speed='1Gf'/>"
            "<link id='before' bandwidth='30MBps' latency='5us' state_file='" +
            states.path_from_another() +
            "'/><link id='after' bandwidth='12MBps' latency='5us'/>"
            "<route src='h0' dst='h1'><link_ctn id='before'/><link_ctn id='after'/></route></zone>"),
        lab::hosts(2),
        [](Context& context) {
          constexpr std::int64_t size = 3000000;
          context.rank() == 0 ? lab::send(context, 1, size) : void(lab::receive(context, 0, size));
        },
        buffering_network(room));
  } catch (const WorldError& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("went down at 0.020000 s"), std::string::npos) << text;
}

/// A path that was measured through token buckets: messages of up to 16 kB pass an idle link at once.
std::vector<Profile::Path> bursting_network() {
  Profile::Path path = buffering_network(0).front();
  const auto measured = [&path](std::int64_t bytes, double at_rate) {
    Profile::MessageEntry entry;
    entry.bytes = bytes;
    entry.median_s = 10e-6 + at_rate / wide;
    path.messages.push_back(entry);
  };
  measured(1, 0);
  measured(16000, 1600);
  measured(160000, 160000);
  return {path};
}

/// Ends of two messages of 16 kB from h0, the second one to another host and `apart_s` later.
std::array<double, 2> ends_of_bursts(double apart_s) {
  constexpr std::int64_t size = 16000;
  std::array<double, 2> ends{};
  lab::run(
      one_narrow_port(), {"h0", "h2", "h2"},
      [&](Context& context) {
        if (context.rank() == 0) {
          lab::send(context, 1, size);
          lab::sleep(context, apart_s);
          lab::send(context, 2, size);
        } else {
          lab::receive(context, 0, size);
          ends.at(static_cast<std::size_t>(context.rank()) - 1) = context.now().count();
        }
      },
      bursting_network());
  return ends;
}

TEST(LinkBurst, AMessageOnAnIdleLinkTakesTheMeasuredTime) {
  const auto ends = ends_of_bursts(0.01);
  EXPECT_NEAR(ends[0], 10e-6 + 1600 / wide, 2e-6);
  EXPECT_NEAR(ends[1] - ends[0], 0.01 + 10e-6 + 1600 / wide, 2e-6);
}

/// What a link passes at once it has saved while it was idle.
TEST(LinkBurst, IsSavedWhileTheLinkIsIdle) {
  constexpr double idle_s = 100e-6;
  const auto ends = ends_of_bursts(idle_s);
  EXPECT_NEAR(ends[1] - ends[0], idle_s + 10e-6 + (16000 - idle_s * wide) / wide, 2e-6);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
