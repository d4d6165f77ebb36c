// The barrier and the clocks of servers: which workers they release, against simple models, and the cost of a
// push with many workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "policies/sync/common/clocks.hpp"
#include "policies/sync/common/round_barrier.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

/// Flags that count how often a flag is read or written.
class CountingFlags {
 public:
  CountingFlags(std::size_t size, bool value) : flags_(size, value) {}
  std::size_t size() const { return flags_.size(); }
  std::vector<bool>::reference operator[](std::size_t at) {
    ++visits;
    return flags_[at];
  }
  bool operator[](std::size_t at) const {
    ++visits;
    return flags_[at];
  }
  inline static std::int64_t visits = 0;

 private:
  std::vector<bool> flags_;
};

/// Flag visits of a push that does not end the round.
std::int64_t most_visits_of_a_push(int workers, std::int64_t quorum) {
  BasicBarrier<CountingFlags> barrier(workers, quorum);
  std::int64_t most = 0;
  for (int worker = 0; worker < workers; ++worker) {
    CountingFlags::visits = 0;
    barrier.arrive(worker);
    const bool ends = barrier.complete();
    most = std::max(most, CountingFlags::visits);
    ServerDecisions decisions;
    if (ends) barrier.release(decisions);
  }
  return most;
}

TEST(Barrier, APushCostsTheSameWithAnyNumberOfWorkers) {
  const std::int64_t of_two = most_visits_of_a_push(2, 2);
  EXPECT_GT(of_two, 0);
  EXPECT_LE(of_two, 4);
  for (const int workers : {16, 256, 4096}) EXPECT_EQ(most_visits_of_a_push(workers, workers), of_two);
}

TEST(Barrier, TheEndOfARoundVisitsTheWorkersThatPushed) {
  for (const int workers : {16, 256, 4096}) {
    BasicBarrier<CountingFlags> barrier(workers, 3);
    for (int worker = 0; worker < 3; ++worker) barrier.arrive(worker);
    ASSERT_TRUE(barrier.complete());
    CountingFlags::visits = 0;
    ServerDecisions decisions;
    barrier.release(decisions);
    EXPECT_EQ(to_text(decisions), "apply 1; reply 0; reply 1; reply 2");
    EXPECT_LE(CountingFlags::visits, 3 * 2);
  }
}

/// The barrier in its simplest form: it visits every worker each time.
struct PlainBarrier {
  std::vector<bool> active, expected, arrived;
  std::int64_t quorum;
  int departed = 0;
  int version = 0;

  std::int64_t pushes() const { return std::count(arrived.begin(), arrived.end(), true) + departed; }
  void leave(std::size_t worker) {
    if (arrived[worker]) ++departed;
    active[worker] = expected[worker] = arrived[worker] = false;
  }
  void join(std::size_t worker, int with_version) {
    active[worker] = true;
    expected[worker] = pushes() == 0 && with_version == version;
  }
  void drop(std::size_t worker) {
    if (pushes() == 0) expected[worker] = true;
  }
  bool complete() const {
    if (pushes() == 0 || pushes() >= quorum) return pushes() > 0;
    for (std::size_t worker = 0; worker < active.size(); ++worker)
      if (expected[worker] && !arrived[worker]) return false;
    return true;
  }
  std::string release() {
    std::string text = "apply 1";
    for (std::size_t worker = 0; worker < active.size(); ++worker)
      if (arrived[worker]) text += "; reply " + std::to_string(worker);
    arrived.assign(arrived.size(), false);
    expected = active;
    departed = 0;
    ++version;
    return text;
  }
};

TEST(Barrier, ReleasesLikeASimpleModel) {
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "barrier");
    const auto workers = 1 + random.below(9);
    const auto quorum = static_cast<std::int64_t>(1 + random.below(workers));
    Barrier barrier(static_cast<int>(workers), quorum);
    const std::vector<bool> all(workers, true);
    PlainBarrier plain{all, all, std::vector<bool>(workers, false), quorum};
    for (int event = 0; event < 200; ++event) {
      const auto worker = random.below(workers);
      if (random.below(20) == 0) {
        barrier.leave(static_cast<int>(worker));
        plain.leave(worker);
      } else if (!plain.active[worker]) {
        const int version = std::max(0, plain.version - static_cast<int>(random.below(2)));
        barrier.join(static_cast<int>(worker), version);
        plain.join(worker, version);
      } else if (random.below(10) == 0 && plain.version > 0 && !plain.arrived[worker]) {
        ServerDecisions decisions;
        ASSERT_TRUE(barrier.is_late(plain.version - 1));
        barrier.drop_late(
            {Seconds(0), static_cast<int>(worker), plain.version - 1, 8, 1, Seconds(1), 1.0, 0.0}, decisions);
        plain.drop(worker);
        const std::string number = std::to_string(worker);
        EXPECT_EQ(to_text(decisions), "discard " + number + "; reply " + number);
      } else if (plain.active[worker] && !plain.arrived[worker]) {
        barrier.arrive(static_cast<int>(worker));
        plain.arrived[worker] = true;
      }
      if (random.below(10) == 0) {
        const std::string state = serialised(barrier);
        barrier = Barrier(static_cast<int>(workers), quorum);
        restore(barrier, state);
      }
      ASSERT_FALSE(barrier.is_late(plain.version));
      ASSERT_EQ(barrier.active_count(), std::count(plain.active.begin(), plain.active.end(), true));
      ASSERT_EQ(barrier.complete(), plain.complete());
      if (!plain.complete()) continue;
      ServerDecisions decisions;
      barrier.release(decisions);
      ASSERT_EQ(to_text(decisions), plain.release());
    }
  }
}

/// The clocks in their simplest form.
struct PlainClocks {
  struct Worker {
    std::int64_t clock = 0;
    bool active = true;
    bool held = false;
  };
  std::vector<Worker> workers;

  int slowest() const {
    int slowest = -1;
    for (std::size_t worker = 0; worker < workers.size(); ++worker)
      if (workers[worker].active &&
          (slowest < 0 || workers[worker].clock < workers[static_cast<std::size_t>(slowest)].clock))
        slowest = static_cast<int>(worker);
    return slowest;
  }
  bool is_fastest(std::size_t worker) const {
    return std::ranges::none_of(
        workers, [&](const Worker& other) { return other.active && other.clock > workers[worker].clock; });
  }
  std::string release_within(std::int64_t bound) {
    std::string text;
    if (slowest() < 0) return text;
    const std::int64_t behind = workers[static_cast<std::size_t>(slowest())].clock;
    for (std::size_t worker = 0; worker < workers.size(); ++worker) {
      Worker& one = workers[worker];
      if (!one.active || !one.held || one.clock - behind > bound) continue;
      one.held = false;
      text += (text.empty() ? "reply " : "; reply ") + std::to_string(worker);
    }
    return text;
  }
};

TEST(Clocks, ReleaseLikeASimpleModel) {
  for (const auto seed : testing::seeds(100)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "clocks");
    const auto workers = 1 + random.below(9);
    const auto bound = static_cast<std::int64_t>(random.below(4));
    Clocks clocks(static_cast<int>(workers));
    PlainClocks plain{std::vector<PlainClocks::Worker>(workers)};
    for (int event = 0; event < 200; ++event) {
      const auto at = random.below(workers);
      const int worker = static_cast<int>(at);
      PlainClocks::Worker& one = plain.workers[at];
      ServerDecisions decisions;
      std::string expected;
      if (random.below(40) == 0) {
        clocks.leave(worker);
        one = {.clock = one.clock, .active = false};
      } else if (!one.active && random.below(4) == 0) {
        clocks.join(worker);
        const int slowest = plain.slowest();
        if (slowest >= 0) one.clock = plain.workers[static_cast<std::size_t>(slowest)].clock;
        one.active = true;
      } else if (one.active && !one.held) {
        clocks.complete_step(worker);
        ++one.clock;
        one.held = true;
        ASSERT_EQ(clocks.slowest(), plain.slowest());
        ASSERT_EQ(clocks.is_fastest(worker), plain.is_fastest(at));
        if (random.below(5) == 0) {
          clocks.release(worker, decisions);
          one.held = false;
          expected = "reply " + std::to_string(worker) + "; ";
        }
      }
      clocks.release_within(bound, decisions);
      expected += plain.release_within(bound);
      if (expected.ends_with("; ")) expected.resize(expected.size() - 2);
      ASSERT_EQ(to_text(decisions), expected);
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync
