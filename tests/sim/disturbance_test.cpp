// Disturbances that calibration finds in addition to costs: work that is slower while messages are in flight,
// and ranks that start late. Compared with closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "policies/vocabulary/rng.hpp"
#include "tests/sim/lab.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

using lab::alpha;
using lab::bandwidth;

constexpr double precision_s = 1e-8;
constexpr double slowdown = 1.6;

/// Only forward is slowed down.
void slow_forward(SimulationSetting& setting) {
  setting.slowdown = [](Rank, const Work& work) { return work.kind == Work::Kind::forward ? slowdown : 1.0; };
}

SimulationResult run_slowed(int hosts, const std::function<void(Context&)>& body) {
  return lab::run(lab::star(hosts), lab::hosts(hosts), body, {}, SimulationSetting{}.eager_limit,
                  slow_forward);
}

double transfer_s(std::int64_t size) { return alpha + static_cast<double>(size) / bandwidth; }

/// Duration of work that takes `alone_s` without messages, if a message is in flight for the first
/// `message_s`.
double slowed_s(double alone_s, double message_s) {
  return message_s >= slowdown * alone_s ? slowdown * alone_s : alone_s + message_s * (1 - 1 / slowdown);
}

/// Rank 0 sends while it works, and rank 1 works until the message has arrived or longer.
TEST(Disturbance, AMessageInFlightSlowsTheWorkOfBothItsRanks) {
  constexpr std::array<std::int64_t, 4> sizes{0, 12'500'000, 20'000'000, 125'000'000};
  constexpr int work_ms = 20;
  std::array<std::array<double, 2>, sizes.size()> found{};
  run_slowed(2, [&](Context& context) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double start = static_cast<double>(i);
      lab::sleep(context, start - context.now().count());
      Pending message = context.rank() == 0 ? context.send(1, {1, false}, {Bytes(sizes[i]), nullptr}, {})
                                            : context.receive(0, {1, false}, {Bytes(sizes[i]), nullptr});
      lab::compute(context, work_ms);
      found[i][static_cast<std::size_t>(context.rank())] = context.now().count() - start;
      context.wait(message);
    }
  });
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (const double seconds : found[i])
      EXPECT_NEAR(slowed_s(work_ms * 1e-3, transfer_s(sizes[i])), seconds, precision_s) << sizes[i];
}

TEST(Disturbance, AMessageDuringWorkSlowsOnlyThatPartOfIt) {
  constexpr double before_s = 0.004;
  constexpr std::int64_t size = 6'250'000;
  double found = 0;
  run_slowed(2, [&](Context& context) {
    if (context.rank() == 0) {
      lab::sleep(context, before_s);
      lab::send(context, 1, size);
      return;
    }
    lab::compute(context, 20);
    found = context.now().count();
    lab::receive(context, 0, size);
  });
  EXPECT_NEAR(0.020 + transfer_s(size) * (1 - 1 / slowdown), found, precision_s);
}

TEST(Disturbance, MessagesOfOthersAndOtherKindsOfWorkDisturbNothing) {
  constexpr std::int64_t size = 12'500'000;
  std::array<double, 3> found{};
  run_slowed(3, [&](Context& context) {
    Pending message;
    if (context.rank() == 0) message = context.send(1, {1, false}, {Bytes(size), nullptr}, {});
    if (context.rank() == 1) message = context.receive(0, {1, false}, {Bytes(size), nullptr});
    const auto kind = context.rank() == 2 ? Work::Kind::forward : Work::Kind::update;
    Pending work = context.compute({kind, -1, 20, Bytes(0)});
    context.wait(work);
    found[static_cast<std::size_t>(context.rank())] = context.now().count();
    if (!message.empty()) context.wait(message);
  });
  for (const double seconds : found) EXPECT_NEAR(0.020, seconds, precision_s);
}

/// A queue of messages over one connection, concurrent with queued work.
TEST(Disturbance, AStreamSlowsWorkContinuously) {
  constexpr std::int64_t size = 1'250'000;
  constexpr int messages = 30;
  constexpr int works = 3;
  std::array<double, works> found{};
  run_slowed(2, [&](Context& context) {
    std::array<Pending, messages> stream;
    for (Pending& message : stream)
      message = context.rank() == 0 ? context.send(1, {1, false}, {Bytes(size), nullptr}, {})
                                    : context.receive(0, {1, false}, {Bytes(size), nullptr});
    std::array<Pending, works> queue;
    for (Pending& work : queue) work = context.compute({Work::Kind::forward, -1, 10, Bytes(0)});
    for (std::size_t i = 0; i < works && context.rank() == 0; ++i) {
      context.wait(queue[i]);
      found[i] = context.now().count();
    }
    context.wait_all(queue);
    context.wait_all(stream);
  });
  const double stream_s = alpha + messages * static_cast<double>(size) / bandwidth;
  for (std::size_t i = 0; i < works; ++i)
    EXPECT_NEAR(slowed_s(0.010 * static_cast<double>(i + 1), stream_s), found[i], 30 * precision_s);
}

/// The device is shared equally; the disturbed rank has more work to do on it.
TEST(Disturbance, ADisturbedRankDoesNotReduceItsNeighboursShareOfTheDevice) {
  constexpr std::int64_t size = 125'000'000;
  std::array<double, 2> found{};
  lab::run(
      lab::star(2), {"h0", "h0", "h1"},
      [&](Context& context) {
        if (context.rank() == 2) return lab::send(context, 0, size);
        Pending message;
        if (context.rank() == 0) message = context.receive(2, {1, false}, {Bytes(size), nullptr});
        lab::compute(context, 10);
        found[static_cast<std::size_t>(context.rank())] = context.now().count();
        if (!message.empty()) context.wait(message);
      },
      {}, SimulationSetting{}.eager_limit, slow_forward);
  EXPECT_NEAR(0.020, found[1], precision_s);
  EXPECT_NEAR((1 + slowdown) * 0.010, found[0], precision_s);
}

/// Random messages to rank 1 while it works; times are relative to the episode's start.
struct Episode {
  static constexpr std::size_t messages = 8;
  std::array<double, messages> starts{};
  std::array<double, messages> ends{};
  std::array<std::int64_t, messages> sizes{};
  double work_end = 0;
};

Episode random_episode(std::uint64_t seed) {
  Rng random(seed);
  Episode episode;
  for (double& start : episode.starts) start = 0.080 * random.uniform();
  std::sort(episode.starts.begin(), episode.starts.end());
  for (auto& size : episode.sizes) size = static_cast<std::int64_t>(random.below(8'000'000));
  return episode;
}

void send_all(Context& context, const Episode& episode, double start) {
  std::array<Pending, Episode::messages> leaving;
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    lab::sleep(context, std::max(0.0, start + episode.starts[i] - context.now().count()));
    leaving[i] = context.send(1, {1, false}, {Bytes(episode.sizes[i]), nullptr}, {});
  }
  context.wait_all(leaving);
}

void work_and_receive(Context& context, Episode& episode, double start, int work_ms) {
  std::array<Pending, Episode::messages + 1> pendings;
  for (std::size_t i = 0; i < Episode::messages; ++i)
    pendings[i] = context.receive(0, {1, false}, {Bytes(episode.sizes[i]), nullptr});
  pendings.back() = context.compute({Work::Kind::forward, -1, work_ms, Bytes(0)});
  for (std::size_t ended = 0; ended < pendings.size(); ++ended) {
    const std::size_t index = context.wait_any(pendings).index;
    (index < Episode::messages ? episode.ends[index] : episode.work_end) = context.now().count() - start;
  }
}

/// Work completed by `until`, if each message is in flight from its send to its arrival.
double work_done_s(const Episode& episode, double until) {
  double disturbed = 0;
  double covered = 0;
  for (std::size_t i = 0; i < Episode::messages; ++i) {
    const double from = std::max(covered, episode.starts[i]);
    covered = std::max(covered, std::min(until, episode.ends[i]));
    disturbed += std::max(0.0, covered - from);
  }
  return until - disturbed * (1 - 1 / slowdown);
}

TEST(Disturbance, RandomMessagesSlowWorkOnlyWhileInFlight) {
  constexpr int work_ms = 60;
  const auto seeds = tandem::testing::seeds(100);
  std::vector<Episode> episodes;
  for (const auto seed : seeds) episodes.push_back(random_episode(seed));
  run_slowed(2, [&](Context& context) {
    for (std::size_t i = 0; i < episodes.size(); ++i) {
      const double start = static_cast<double>(i);
      lab::sleep(context, start - context.now().count());
      if (context.rank() == 0)
        send_all(context, episodes[i], start);
      else
        work_and_receive(context, episodes[i], start, work_ms);
    }
  });
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    TANDEM_TRACE_SEED(seeds[i]);
    EXPECT_NEAR(work_ms * 1e-3, work_done_s(episodes[i], episodes[i].work_end), 10 * precision_s);
  }
}

TEST(Begin, EachRankStartsAtItsOffset) {
  std::array<double, 3> found{};
  const auto result = lab::run(
      lab::star(3), lab::hosts(3),
      [&](Context& context) {
        found[static_cast<std::size_t>(context.rank())] = context.now().count();
        lab::compute(context, 1);
      },
      {}, SimulationSetting{}.eager_limit,
      [](SimulationSetting& setting) {
        setting.start_offsets = {Seconds(0.002), Seconds(0), Seconds(0.0005)};
      });
  EXPECT_NEAR(0.002, found[0], precision_s);
  EXPECT_EQ(0.0, found[1]);
  EXPECT_NEAR(0.0005, found[2], precision_s);
  EXPECT_NEAR(0.003, result.makespan.count(), precision_s);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
