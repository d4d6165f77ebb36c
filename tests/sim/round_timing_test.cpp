// Closed forms of whole rounds: the simulated duration of exchanges with many messages.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

using lab::alpha;
using lab::bandwidth;

/// SimGrid merges events closer than this (surf/precision); everything else is exact up to rounding.
constexpr double precision_s = 1e-9;

TEST(RoundTiming, RingAllReduceIsTheTextbookFormula) {
  constexpr int ranks = 8;
  constexpr std::int64_t size = 80'000'000;
  const auto result = lab::run(lab::star(ranks), lab::hosts(ranks), [](Context& context) {
    const Slice piece{Bytes(size / ranks), nullptr};
    const Rank right = (context.rank() + 1) % ranks;
    const Rank left = (context.rank() + ranks - 1) % ranks;
    for (int round = 0; round < 2 * (ranks - 1); ++round) {
      std::array<Pending, 2> pendings{context.receive(left, {3, false}, piece),
                                      context.send(right, {3, false}, piece)};
      context.wait_all(pendings);
    }
  });
  EXPECT_NEAR(2 * (ranks - 1) * (alpha + static_cast<double>(size) / (ranks * bandwidth)),
              result.makespan.count(), 2 * ranks * precision_s);
}

/// Unequal workers: compute, push, wait for the sum. The slowest worker's push uses an idle network; then the
/// server sends all answers at once.
TEST(RoundTiming, ABspRoundLastsAsLongAsItsSlowestWorker) {
  constexpr int workers = 4;
  constexpr int rounds = 5;
  constexpr std::int64_t size = 1'250'000;  // 1 ms on an idle link
  const auto result = lab::run(lab::star(workers + 1), lab::hosts(workers + 1), [](Context& context) {
    const Slice gradient{Bytes(size), nullptr};
    for (int round = 0; round < rounds; ++round) {
      if (context.rank() > 0) {
        lab::compute(context, 10 * context.rank());
        lab::send(context, 0, size);
        lab::receive(context, 0, size);
        continue;
      }
      std::vector<Pending> pendings;
      for (Rank from = 1; from <= workers; ++from)
        pendings.push_back(context.receive(from, {1, false}, gradient));
      for (int i = 0; i < workers; ++i)
        EXPECT_EQ(static_cast<std::size_t>(i), context.wait_any(pendings).index);
      for (Rank to = 1; to <= workers; ++to)
        pendings[static_cast<std::size_t>(to - 1)] = context.send(to, {1, false}, gradient);
      context.wait_all(pendings);
    }
  });
  const double message_s = static_cast<double>(size) / bandwidth;
  const double round_s = workers * 10e-3 + (alpha + message_s) + (alpha + workers * message_s);
  EXPECT_NEAR(rounds * round_s, result.makespan.count(), rounds * 4 * precision_s);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
