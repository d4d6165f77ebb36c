// Threads for input and output: how many run at the same time, in which order, what they throw, how they end.
#include "runtime/mpi/transfer_threads.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <latch>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/emulated_units.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using Started = std::shared_ptr<const Transfer>;

void wait_for(const std::vector<Started>& transfers, TransferThreads& threads) {
  for (const auto& transfer : transfers)
    while (!transfer->has_ended) threads.wait_for_end(threads.ended(), Seconds(0.01));
}

TEST(TransferThreads, RunInOrderOneByOne) {
  TransferThreads threads({});
  std::vector<int> order;
  std::vector<Started> started;
  for (int i = 0; i < 100; ++i) started.push_back(threads.start(0, [&order, i] { order.push_back(i); }));
  wait_for(started, threads);
  EXPECT_EQ(threads.ended(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_TRUE(std::ranges::is_sorted(started, {}, [](const Started& each) { return each->ended_at; }));
}

/// As many as the disk serves, and no more; another disk does not wait for them.
TEST(TransferThreads, RunAsManyAsTheDiskServes) {
  TransferThreads threads([](int disk) { return disk == 0 ? 3 : 1; });
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::latch three_run(3);
  std::vector<Started> started;
  for (int i = 0; i < 9; ++i)
    started.push_back(threads.start(0, [&, i] {
      most = std::max(most.load(), ++running);
      if (i < 3) three_run.arrive_and_wait();
      std::this_thread::sleep_for(5ms);
      --running;
    }));
  std::latch other(1);
  started.push_back(threads.start(1, [&] { other.count_down(); }));
  other.wait();
  wait_for(started, threads);
  EXPECT_EQ(most, 3);
}

TEST(TransferThreads, ErrorsAreKept) {
  TransferThreads threads({});
  const std::vector<Started> started = {threads.start(0, [] { throw WorldError("gone"); }),
                                        threads.start(7, [] { throw std::runtime_error("strange"); }),
                                        threads.start(0, [] {})};
  wait_for(started, threads);
  const auto text = [](const Started& transfer) -> std::string {
    try {
      if (transfer->error) std::rethrow_exception(transfer->error);
      return "";
    } catch (const WorldError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(text(started[0]), "gone");
  EXPECT_EQ(text(started[1]), "a transfer of disk 7 failed: strange");
  EXPECT_EQ(text(started[2]), "");
}

TEST(TransferThreads, AWaitEndsWithATransferOrWithItsTime) {
  TransferThreads threads({});
  std::latch go(1);
  const auto transfer = threads.start(0, [&] { go.wait(); });
  const std::uint64_t seen = threads.ended();
  threads.wait_for_end(seen, Seconds(0.01));
  EXPECT_EQ(threads.ended(), seen);
  go.count_down();
  threads.wait_for_end(seen, Seconds(100));
  EXPECT_TRUE(transfer->has_ended);
  // Nothing is in flight: returns at once.
  threads.wait_for_end(seen, Seconds(100));
  threads.wait_for_all();
}

/// The transfer that runs ends, the one behind it never begins, and both have let go of what they used.
TEST(TransferThreads, NoneOutlivesTheOwner) {
  std::latch begun(1);
  std::atomic<bool> first_ended = false;
  bool second_ran = false;
  const auto used = std::make_shared<int>(0);
  {
    TransferThreads threads({});
    (void)threads.start(0, [&, used] {
      begun.count_down();
      std::this_thread::sleep_for(20ms);
      first_ended = true;
    });
    (void)threads.start(0, [&, used] { second_ran = true; });
    begun.wait();
  }
  EXPECT_TRUE(first_ended);
  EXPECT_FALSE(second_ran);
  EXPECT_EQ(used.use_count(), 1);
}

/// Ctrl-C and requests to commit go to the rank.
TEST(TransferThreads, TakeNoSignals) {
  TransferThreads threads({});
  std::atomic<bool> blocked = false;
  wait_for({threads.start(0,
                          [&] {
                            sigset_t mask;
                            pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                            blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGUSR2) == 1 &&
                                      sigismember(&mask, SIGTERM) == 1;
                          })},
           threads);
  EXPECT_TRUE(blocked);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);
}

/// A disk of 20 ms: the first transfer ends 30 ms late, and those that follow make up for it.
TEST(TransferDelays, ReadsThatFollowALateOneArriveAsIfItHadNotBeenLate) {
  TransferDelays delays;
  EXPECT_DOUBLE_EQ(delays.arrival(Seconds(1.0)).count(), 1.0);
  delays.end(Seconds(1.02), Seconds(1.05));
  EXPECT_EQ(delays.missed_deadlines(), 1);
  EXPECT_DOUBLE_EQ(delays.arrival(Seconds(1.0505)).count(), 1.0205);
  delays.end(Seconds(1.0405), Seconds(1.051));
  EXPECT_NEAR(delays.arrival(Seconds(1.051)).count(), 1.0405, 1e-12);
  delays.end(Seconds(1.0605), Seconds(1.06));
  EXPECT_EQ(delays.missed_deadlines(), 0) << "made up for";
  EXPECT_DOUBLE_EQ(delays.arrival(Seconds(1.0605)).count(), 1.0605);
}

/// Parts of one access: the access is as late as its last part.
TEST(TransferDelays, TransfersThatOverlapAreNotedInAnyOrder) {
  TransferDelays delays;
  delays.end(Seconds(1.04), Seconds(1.05));
  delays.end(Seconds(1.02), Seconds(1.03));
  EXPECT_NEAR(delays.arrival(Seconds(1.0501)).count(), 1.0401, 1e-12);
}

TEST(TransferDelays, APauseMakesALateTransferAMissedDeadline) {
  TransferDelays delays;
  delays.end(Seconds(1.0), Seconds(1.05));
  EXPECT_DOUBLE_EQ(delays.arrival(Seconds(1.2)).count(), 1.2);
  delays.end(Seconds(1.3), Seconds(1.25));
  EXPECT_EQ(delays.missed_deadlines(), 1);
}

}  // namespace
}  // namespace tandem
