// Closed forms: the simulated duration of programs that can be computed by hand.
#include <gtest/gtest.h>

#include <array>

#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

using lab::alpha;
using lab::bandwidth;

/// SimGrid merges events closer than this (surf/precision); everything else is exact up to rounding.
constexpr double precision_s = 1e-9;

void expect_seconds(double expected, Seconds found) { EXPECT_NEAR(expected, found.count(), precision_s); }

TEST(Timing, OneMessageTakesLatencyPlusSizeOverBandwidth) {
  constexpr std::array<std::int64_t, 5> sizes{0, 1, 1000, 65536, 100'000'000};
  double expected = 0;
  for (const std::int64_t size : sizes) expected += alpha + static_cast<double>(size) / bandwidth;
  std::array<double, 5> found{};
  const auto result = lab::run(lab::star(2), lab::hosts(2), [&](Context& context) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double start = context.now().count();
      if (context.rank() == 0)
        lab::send(context, 1, sizes[i]);
      else
        lab::receive(context, 0, sizes[i]);
      if (context.rank() == 1) found[i] = context.now().count() - start;
    }
  });
  for (std::size_t i = 0; i < sizes.size(); ++i)
    EXPECT_NEAR(alpha + static_cast<double>(sizes[i]) / bandwidth, found[i], precision_s)
        << sizes[i] << " bytes";
  EXPECT_NEAR(expected, result.makespan.count(), 5 * precision_s);
}

TEST(Timing, ANoteAddsItsSize) {
  const auto result = lab::run(lab::star(2), lab::hosts(2), [](Context& context) {
    const Channel noted{2, true};
    for (int i = 0; i < 100; ++i) {
      if (context.rank() == 0)
        lab::send(context, 1, 1'000'000, noted);
      else
        lab::receive(context, 0, 1'000'000, noted);
    }
  });
  EXPECT_NEAR(100 * (alpha + (1e6 + sizeof(Note)) / bandwidth), result.makespan.count(), 100 * precision_s);
}

/// Neither kind waits for the other, and concurrent work of several ranks does not share the device.
TEST(Timing, ConcurrentWorkDoesNotShareTheDevice) {
  std::array<double, 2> decoded{}, computed{};
  lab::run(lab::star(1), {"h0", "h0"}, [&](Context& context) {
    const auto rank = static_cast<std::size_t>(context.rank());
    std::array<Pending, 2> works = {
        context.compute({.kind = Work::Kind::backward, .samples = 10}),
        context.compute({.kind = Work::Kind::decode, .samples = 4, .concurrent = true})};
    EXPECT_EQ(context.wait_any(works).index, 1U);
    decoded[rank] = context.now().count();
    context.wait(works[0]);
    computed[rank] = context.now().count();
  });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_NEAR(0.004, decoded[rank], precision_s);
    EXPECT_NEAR(0.020, computed[rank], precision_s);
  }
}

/// The receive is posted after a second: a small message has already arrived, a large one starts only then.
TEST(Timing, AboveTheEagerLimitAMessageWaitsForItsReceive) {
  constexpr std::int64_t limit = 65536;
  const std::array<std::int64_t, 2> sizes{limit, limit + 1};
  std::array<double, 2> sent{};
  std::array<double, 2> received{};
  lab::run(
      lab::star(2), lab::hosts(2),
      [&](Context& context) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          const double start = 10.0 * static_cast<double>(i);
          lab::sleep(context, start - context.now().count());
          if (context.rank() == 0) {
            lab::send(context, 1, sizes[i]);
            sent[i] = context.now().count() - start;
          } else {
            lab::sleep(context, 1.0);
            lab::receive(context, 0, sizes[i]);
            received[i] = context.now().count() - start;
          }
        }
      },
      {}, Bytes(limit));
  const auto transfer = [](std::int64_t size) { return alpha + static_cast<double>(size) / bandwidth; };
  EXPECT_NEAR(transfer(limit), sent[0], precision_s);
  EXPECT_NEAR(1.0, received[0], precision_s);
  EXPECT_NEAR(1.0 + transfer(limit + 1), sent[1], precision_s);
  EXPECT_NEAR(1.0 + transfer(limit + 1), received[1], precision_s);
}

/// A receive that is posted first, and messages above and below the limit in one stream.
TEST(Timing, TheEagerLimitKeepsTheOrderOfAStream) {
  const std::array<std::int64_t, 4> sizes{100'000, 10, 200'000, 20};
  lab::run(
      lab::star(2), lab::hosts(2),
      [&](Context& context) {
        std::array<Pending, 4> pendings;
        lab::sleep(context, context.rank() == 0 ? 0.0 : 0.5);
        for (std::size_t i = 0; i < sizes.size(); ++i)
          pendings[i] = context.rank() == 0 ? context.send(1, {1, false}, {Bytes(sizes[i]), nullptr})
                                            : context.receive(0, {1, false}, {Bytes(sizes[i]), nullptr});
        context.wait_all(pendings);
      },
      {}, Bytes(1000));
}

TEST(Timing, AMessageFlowsBeforeItsReceiveIsPosted) {
  constexpr std::int64_t size = 12'500'000;
  double sent_at = 0;
  const auto result = lab::run(lab::star(2), lab::hosts(2), [&](Context& context) {
    if (context.rank() == 0) {
      lab::send(context, 1, size);
      sent_at = context.now().count();
    } else {
      lab::sleep(context, 0.005);
      lab::receive(context, 0, size);
    }
  });
  EXPECT_NEAR(alpha + 0.01, sent_at, precision_s);
  expect_seconds(alpha + 0.01, result.makespan);
}

TEST(Timing, ALateReceiveFindsItsMessage) {
  const auto result = lab::run(lab::star(2), lab::hosts(2), [](Context& context) {
    if (context.rank() == 0) {
      lab::send(context, 1, 1000);
    } else {
      lab::sleep(context, 0.5);
      lab::receive(context, 0, 1000);
    }
  });
  expect_seconds(0.5, result.makespan);
}

/// Two ranks share one connection: the second message arrives right behind the first, with its latency
/// hidden.
TEST(Timing, MessagesToOneRankFollowEachOther) {
  constexpr std::int64_t size = 125'000'000;
  std::array<double, 2> arrived{};
  lab::run(lab::star(2), lab::hosts(2), [&](Context& context) {
    std::array<Pending, 2> pendings;
    for (int i = 0; i < 2; ++i)
      pendings[static_cast<std::size_t>(i)] =
          context.rank() == 0
              ? context.send(1, {static_cast<std::int16_t>(i), false}, {Bytes(size), nullptr})
              : context.receive(0, {static_cast<std::int16_t>(i), false}, {Bytes(size), nullptr});
    if (context.rank() == 0) return context.wait_all(pendings);
    for (std::size_t i = 0; i < 2; ++i) {
      context.wait(pendings[i]);
      arrived[i] = context.now().count();
    }
  });
  EXPECT_NEAR(alpha + size / bandwidth, arrived[0], precision_s);
  EXPECT_NEAR(alpha + 2 * size / bandwidth, arrived[1], 20e-9);
}

/// The second message is sent just before the first one arrives, so most of its latency is not hidden.
TEST(Timing, AFollowingMessagePaysTheRemainingLatency) {
  constexpr std::int64_t size = 12'500'000;
  constexpr double send_at = 0.01 + 0.2 * alpha;
  const auto result = lab::run(lab::star(2), lab::hosts(2), [](Context& context) {
    std::array<Pending, 2> pendings;
    for (std::size_t i = 0; i < 2; ++i) {
      if (context.rank() == 0 && i == 1) lab::sleep(context, send_at);
      pendings[i] = context.rank() == 0 ? context.send(1, {}, {Bytes(size), nullptr})
                                        : context.receive(0, {}, {Bytes(size), nullptr});
    }
    context.wait_all(pendings);
  });
  EXPECT_NEAR(send_at + alpha + size / bandwidth, result.makespan.count(), 20e-9);
}

/// When rank 0, which has sent `size` bytes that rank 1 does not receive, has disconnected from it; and when
/// a byte that it sends then arrives.
std::array<double, 2> times_of_disconnecting(std::int64_t size, Bytes eager_limit) {
  std::array<double, 2> at{};
  lab::run(
      lab::star(2), lab::hosts(2),
      [&](Context& context) {
        const Channel channel{1, false};
        if (context.rank() == 0) {
          Pending sending = context.send(1, channel, {Bytes(size), nullptr});
          Pending disconnecting = context.disconnect(1);
          context.wait(disconnecting);
          at[0] = context.now().count();
          context.wait(sending);
          Pending last = context.send(1, channel, {Bytes(1), nullptr});
          context.wait(last);
        } else {
          lab::sleep(context, 1.0);
          Pending last = context.receive(0, channel, {Bytes(1), nullptr});
          context.wait(last);
        }
        at[1] = std::max(at[1], context.now().count());
      },
      {}, eager_limit);
  return at;
}

/// As on MPI, where a question and its answer follow what is on its way.
TEST(Timing, ADisconnectLastsUntilWhatWasSentHasArrived) {
  constexpr std::int64_t size = 12'500'000;
  const auto at = times_of_disconnecting(size, SimulationSetting{}.eager_limit);
  constexpr double note_s = sizeof(Note) / bandwidth;
  EXPECT_NEAR(2 * alpha + static_cast<double>(size) / bandwidth + 2 * note_s, at[0], 20 * precision_s);
}

TEST(Timing, ADisconnectOfIdleRanksIsARoundTrip) {
  const auto at = times_of_disconnecting(0, SimulationSetting{}.eager_limit);
  EXPECT_NEAR(2 * alpha + 2 * sizeof(Note) / bandwidth, at[0], 20 * precision_s);
}

/// As on MPI, which cannot take back a message: the receiver takes it and forgets it.
TEST(Timing, ADiscardedMessageThatWaitedForItsReceiveIsInTheWayOfTheNext) {
  constexpr std::int64_t size = 2'500'000'000;  // two seconds
  const auto at = times_of_disconnecting(size, Bytes(1000));
  EXPECT_NEAR(2 * alpha + 2 * sizeof(Note) / bandwidth, at[0], 20 * precision_s);
  EXPECT_NEAR(alpha + (static_cast<double>(size) + sizeof(Note) + 1) / bandwidth, at[1], 100 * precision_s);
}

/// Two messages of one sender together get one share of a link that they share with another sender.
TEST(Timing, AConnectionHasOneShareOfALink) {
  constexpr std::int64_t size = 12'500'000;
  double end_of_single = 0;
  lab::run(lab::star(3), lab::hosts(3), [&](Context& context) {
    std::vector<Pending> pendings;
    const auto pend = [&](Rank other, int count) {
      for (int i = 0; i < count; ++i)
        pendings.push_back(
            context.rank() == 0
                ? context.receive(other, {static_cast<std::int16_t>(i), false}, {Bytes(size), nullptr})
                : context.send(0, {static_cast<std::int16_t>(i), false}, {Bytes(size), nullptr}));
    };
    if (context.rank() < 2) pend(1, 3);
    if (context.rank() != 1) pend(2, 1);
    context.wait_all(pendings);
    if (context.rank() == 2) end_of_single = context.now().count();
  });
  EXPECT_NEAR(alpha + 2 * size / bandwidth, end_of_single, 20e-9);
}

TEST(Timing, BothDirectionsRunAtFullSpeed) {
  constexpr std::int64_t size = 125'000'000;
  const auto result = lab::run(lab::star(2), lab::hosts(2), [](Context& context) {
    const Rank peer = 1 - context.rank();
    std::array<Pending, 2> pendings;
    pendings[0] = context.receive(peer, {}, {Bytes(size), nullptr});
    pendings[1] = context.send(peer, {}, {Bytes(size), nullptr});
    context.wait_all(pendings);
  });
  expect_seconds(alpha + 0.1, result.makespan);
}

TEST(Timing, IncastSharesTheReceiversLink) {
  constexpr int senders = 7;
  constexpr std::int64_t size = 12'500'000;
  const auto result = lab::run(lab::star(senders + 1), lab::hosts(senders + 1), [](Context& context) {
    if (context.rank() > 0) return lab::send(context, 0, size);
    std::vector<Pending> pendings;
    for (Rank from = 1; from <= senders; ++from)
      pendings.push_back(context.receive(from, {1, false}, {Bytes(size), nullptr}));
    context.wait_all(pendings);
  });
  expect_seconds(alpha + senders * static_cast<double>(size) / bandwidth, result.makespan);
}

/// A message that arrives early is received early, even if it was sent after a long one.
TEST(Timing, ShortMessagesDoNotWaitForLongOnesOfOthers) {
  double short_at = 0;
  lab::run(lab::star(3), lab::hosts(3), [&](Context& context) {
    if (context.rank() == 1) return lab::send(context, 0, 1'250'000'000);
    if (context.rank() == 2) {
      lab::sleep(context, 0.1);
      return lab::send(context, 0, 1250);
    }
    std::array<Pending, 2> pendings;
    pendings[0] = context.receive(1, {1, false}, {Bytes(1'250'000'000), nullptr});
    pendings[1] = context.receive(2, {1, false}, {Bytes(1250), nullptr});
    EXPECT_EQ(1U, context.wait_any(pendings).index);
    short_at = context.now().count();
    EXPECT_EQ(0U, context.wait_any(pendings).index);
  });
  EXPECT_NEAR(0.1 + alpha + 2 * 1250 / bandwidth, short_at, precision_s);
}

TEST(Timing, RanksOfOneHostUseItsLoopback) {
  const auto result = lab::run(lab::star(1), {"h0", "h0"}, [](Context& context) {
    if (context.rank() == 0)
      lab::send(context, 1, 1'000'000'000);
    else
      lab::receive(context, 0, 1'000'000'000);
  });
  expect_seconds(1e-6 + 0.1, result.makespan);
}

TEST(Timing, ComputeTakesItsCost) {
  const auto result =
      lab::run(lab::star(1), lab::hosts(1), [](Context& context) { lab::compute(context, 250); });
  expect_seconds(0.25, result.makespan);
}

TEST(Timing, WorkOfOneRankIsSerialised) {
  // Like on a real rank: short work that is started during long work waits for its end.
  std::array<double, 2> ends{};
  lab::run(lab::star(1), lab::hosts(1), [&](Context& context) {
    std::array<Pending, 2> both = {context.compute({Work::Kind::backward, -1, 300, Bytes(0)}), Pending()};
    lab::sleep(context, 0.1);
    both[1] = context.compute({Work::Kind::reduce, -1, 50, Bytes(0)});
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(context.wait_any(both).index, i);
      ends[i] = context.now().count();
    }
  });
  EXPECT_NEAR(ends[0], 0.3, 1e-9);
  EXPECT_NEAR(ends[1], 0.35, 1e-9);
}

TEST(Timing, RanksOfOneCoreShareIt) {
  const auto result = lab::run(lab::star(1), {"h0", "h0"}, [](Context& context) {
    lab::compute(context, context.rank() == 0 ? 100 : 300);
  });
  // Both run at half speed until 0.2 s, then the second one alone for its last 0.2 s.
  expect_seconds(0.4, result.makespan);
}

TEST(Timing, RanksOfAManyCoreHostHaveACoreEach) {
  const auto result = lab::run(lab::star(1, "core=\"4\""), {"h0", "h0", "h0"},
                               [](Context& context) { lab::compute(context, 100); });
  expect_seconds(0.1, result.makespan);
}

TEST(Timing, RanksOfADeviceShareItWhateverTheCores) {
  const auto result =
      lab::run(lab::star(1, "core=\"4\"", "<prop id=\"device\" value=\"anything\"/>"), {"h0", "h0"},
               [](Context& context) { lab::compute(context, context.rank() == 0 ? 100 : 300); });
  expect_seconds(0.4, result.makespan);
}

TEST(Timing, AnUnsharedDeviceRunsAtFullSpeed) {
  const auto result = lab::run(lab::star(1, "core=\"4\"", "<prop id=\"device\" value=\"anything\"/>"), {"h0"},
                               [](Context& context) { lab::compute(context, 100); });
  expect_seconds(0.1, result.makespan);
}

TEST(Timing, ComputeOfZeroCostTakesNoTime) {
  const auto result = lab::run(lab::star(1), lab::hosts(1), [](Context& context) {
    for (int i = 0; i < 10; ++i) lab::compute(context, 0);
  });
  EXPECT_EQ(0.0, result.makespan.count());
}

TEST(Timing, ComputeOverlapsMessages) {
  const auto result = lab::run(lab::star(2), lab::hosts(2), [](Context& context) {
    if (context.rank() == 1) return void(lab::receive(context, 0, 125'000'000));
    Pending message = context.send(1, {1, false}, {Bytes(125'000'000), nullptr});
    lab::compute(context, 80);
    context.wait(message);
  });
  expect_seconds(alpha + 0.1, result.makespan);
}

TEST(Timing, DisksReadAndWriteAtTheirRates) {
  const std::string disk = "<disk id=\"d\" read_bw=\"100MBps\" write_bw=\"50MBps\"/>";
  std::array<double, 3> found{};
  lab::run(lab::star(1, "", disk), lab::hosts(1), [&](Context& context) {
    Pending read = context.read(0, Bytes(50'000'000), {});
    context.wait(read);
    found[0] = context.now().count();
    Pending write = context.write(0, Bytes(50'000'000), {});
    context.wait(write);
    found[1] = context.now().count();
    std::array<Pending, 2> both;
    for (Pending& pending : both) pending = context.read(0, Bytes(50'000'000), {});
    EXPECT_EQ(0U, context.wait_any(both).index);
    EXPECT_EQ(1U, context.wait_any(both).index);
    found[2] = context.now().count();
  });
  EXPECT_NEAR(0.5, found[0], precision_s);
  EXPECT_NEAR(1.5, found[1], 2 * precision_s);
  EXPECT_NEAR(2.5, found[2], 3 * precision_s);
}

TEST(Timing, ADiskDelayAddsToTheDuration) {
  const std::string disk = "<disk id=\"d\" read_bw=\"100MBps\" write_bw=\"50MBps\"/>";
  const auto body = [](Context& context) {
    Pending read = context.read(0, Bytes(50'000'000), {});
    context.wait(read);
    Pending write = context.write(0, Bytes(50'000'000), {});
    context.wait(write);
  };
  int asked = 0;
  const auto delayed = [&](SimulationSetting setting) {
    setting.disk_delay = [&](Rank rank, int disk_number, const DiskAccess& access) {
      EXPECT_EQ(0, rank);
      EXPECT_EQ(0, disk_number);
      EXPECT_EQ(50'000'000, access.size.count());
      return Seconds(0.125 * ++asked);
    };
    return simulate(setting);
  };
  const auto result = lab::run_on(delayed, lab::star(1, "", disk), lab::hosts(1), body);
  EXPECT_EQ(2, asked);
  EXPECT_NEAR(0.5 + 0.125 + 1.0 + 0.25, result.makespan.count(), 2 * precision_s);
}

TEST(Timing, SleepsOverlap) {
  const auto result = lab::run(lab::star(1), lab::hosts(1), [](Context& context) {
    std::array<Pending, 3> pendings{context.sleep(Seconds(0.3)), context.sleep(Seconds(0.1)),
                                    context.sleep(Seconds(0.2))};
    context.wait_all(pendings);
    lab::sleep(context, 0.25);
    lab::sleep(context, 0);
  });
  EXPECT_DOUBLE_EQ(0.55, result.makespan.count());
}

/// A compute, a message, a disk read and a sleep that all end at the same time, in every order in the span.
TEST(Timing, TiesResolveToTheLowestIndex) {
  const std::string disk = "<disk id=\"d\" read_bw=\"100MBps\" write_bw=\"50MBps\"/>";
  // The default solver advances in time steps whose rounding can separate the end of a message from that of a
  // disk read by a nanosecond.
  const std::string dates = "<prop id=\"network/optim\" value=\"Lazy\"/>";
  lab::run(lab::star(2, "", disk, dates), lab::hosts(2), [](Context& context) {
    constexpr std::int64_t size = 12'500'000;  // 10 ms on the wire
    for (std::size_t turn = 0; turn < 4; ++turn) {
      if (context.rank() == 1) {
        lab::sleep(context, 0.01 - alpha);
        lab::send(context, 0, size);
        lab::receive(context, 0, 0);
        continue;
      }
      std::array<Pending, 4> started;
      started[0] = context.compute({Work::Kind::forward, -1, 20, Bytes(0)});
      started[1] = context.receive(1, {1, false}, {Bytes(size), nullptr});
      started[2] = context.read(0, Bytes(2'000'000), {});
      started[3] = context.sleep(Seconds(0.02));
      std::array<Pending, 4> pendings;
      for (std::size_t i = 0; i < 4; ++i) pendings[(i + turn) % 4] = std::move(started[i]);
      const double start = context.now().count();
      for (std::size_t expected = 0; expected < 4; ++expected) {
        EXPECT_EQ(expected, context.wait_any(pendings).index) << "turn " << turn;
        EXPECT_NEAR(0.02, context.now().count() - start, precision_s);
      }
      lab::send(context, 1, 0);
    }
  });
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
