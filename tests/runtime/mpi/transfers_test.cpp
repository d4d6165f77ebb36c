// Real input and output, by threads and by the kernel's queue of reads: how many transfers run at the same
// time, in which order, what they bring and throw, how they end.
#include "runtime/mpi/transfers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <latch>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/emulated_units.hpp"
#include "runtime/mpi/operations.hpp"
#include "runtime/mpi/ring_transfers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem {
namespace TANDEM_FILE {

using namespace std::chrono_literals;
using Started = std::shared_ptr<const Transfer>;

void wait_for(const std::vector<Started>& started, Transfers& transfers) {
  for (const auto& transfer : started)
    while (!transfer->has_ended) transfers.wait_for_end(transfers.ended(), Seconds(0.01));
}

std::string error_of(const Transfer& transfer) {
  try {
    if (transfer.error) std::rethrow_exception(transfer.error);
    return "";
  } catch (const WorldError& error) {
    return error.what();
  }
}

/// A ring that takes nothing, as one that is full.
class FullRing final : public ReadRing {
 public:
  bool start(const FileRead&, std::uint64_t) override { return false; }
  std::optional<End> take() override { return std::nullopt; }
  void wait(Seconds) override {}
  void wake() override {}
};

using Parallel = std::function<int(int)>;
struct Kind {
  const char* name;
  std::unique_ptr<Transfers> (*make)(Parallel);
};
const std::vector<Kind> kinds = {
    {"Threads", [](Parallel parallel) { return make_transfers(std::move(parallel), false); }},
    {"Ring", [](Parallel parallel) { return make_transfers(std::move(parallel), true); }},
    {"NoRing",
     [](Parallel parallel) -> std::unique_ptr<Transfers> {
       return std::make_unique<RingTransfers>(std::move(parallel), [] { return nullptr; });
     }},
    {"FullRing", [](Parallel parallel) -> std::unique_ptr<Transfers> {
       return std::make_unique<RingTransfers>(std::move(parallel),
                                              [] { return std::make_unique<FullRing>(); });
     }}};

class AllTransfers : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().name) == "Ring" && !has_read_ring())
      GTEST_SKIP() << "the kernel or the build has no io_uring";
  }
  static std::unique_ptr<Transfers> make(Parallel parallel = {}) {
    return GetParam().make(std::move(parallel));
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, AllTransfers, ::testing::ValuesIn(kinds),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(AllTransfers, RunInOrderOneByOne) {
  const auto transfers = make();
  std::vector<int> order;
  std::vector<Started> started;
  for (int i = 0; i < 100; ++i) started.push_back(transfers->start(0, [&order, i] { order.push_back(i); }));
  wait_for(started, *transfers);
  transfers->wait_for_all();
  EXPECT_EQ(transfers->ended(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_TRUE(std::ranges::is_sorted(started, {}, [](const Started& each) { return each->ended_at; }));
}

/// As many as the disk serves, and no more; another disk does not wait for them.
TEST_P(AllTransfers, RunAsManyAsTheDiskServes) {
  const auto transfers = make([](int disk) { return disk == 0 ? 3 : 1; });
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::latch three_run(3);
  std::vector<Started> started;
  for (int i = 0; i < 9; ++i)
    started.push_back(transfers->start(0, [&, i] {
      most = std::max(most.load(), ++running);
      if (i < 3) three_run.arrive_and_wait();
      std::this_thread::sleep_for(5ms);
      --running;
    }));
  std::latch other(1);
  started.push_back(transfers->start(1, [&] { other.count_down(); }));
  other.wait();
  wait_for(started, *transfers);
  EXPECT_EQ(most, 3);
}

TEST_P(AllTransfers, ErrorsAreKept) {
  const auto transfers = make();
  const std::vector<Started> started = {transfers->start(0, [] { throw WorldError("gone"); }),
                                        transfers->start(7, [] { throw std::runtime_error("strange"); }),
                                        transfers->start(0, [] {})};
  wait_for(started, *transfers);
  EXPECT_EQ(error_of(*started[0]), "gone");
  EXPECT_EQ(error_of(*started[1]), "a transfer of disk 7 failed: strange");
  EXPECT_EQ(error_of(*started[2]), "");
}

TEST_P(AllTransfers, AWaitEndsWithATransferOrWithItsTime) {
  const auto transfers = make();
  std::latch go(1);
  const auto transfer = transfers->start(0, [&] { go.wait(); });
  const std::uint64_t seen = transfers->ended();
  transfers->wait_for_end(seen, Seconds(0.01));
  EXPECT_EQ(transfers->ended(), seen);
  go.count_down();
  transfers->wait_for_end(seen, Seconds(100));
  EXPECT_TRUE(transfer->has_ended);
  // Nothing is in flight: returns at once.
  transfers->wait_for_end(seen, Seconds(100));
  transfers->wait_for_all();
}

/// The transfer that runs ends, the one behind it never begins, and both have let go of what they used.
TEST_P(AllTransfers, NoneOutlivesTheOwner) {
  std::latch begun(1);
  std::atomic<bool> first_ended = false;
  bool second_ran = false;
  const auto used = std::make_shared<int>(0);
  {
    const auto transfers = make();
    (void)transfers->start(0, [&, used] {
      begun.count_down();
      std::this_thread::sleep_for(20ms);
      first_ended = true;
    });
    (void)transfers->start(0, [&, used] { second_ran = true; });
    begun.wait();
  }
  EXPECT_TRUE(first_ended);
  EXPECT_FALSE(second_ran);
  EXPECT_EQ(used.use_count(), 1);
}

/// Ctrl-C and requests to commit go to the rank.
TEST_P(AllTransfers, TakeNoSignals) {
  const auto transfers = make();
  std::atomic<bool> blocked = false;
  wait_for({transfers->start(0,
                             [&] {
                               sigset_t mask;
                               pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                               blocked = sigismember(&mask, SIGINT) == 1 &&
                                         sigismember(&mask, SIGUSR2) == 1 && sigismember(&mask, SIGTERM) == 1;
                             })},
           *transfers);
  EXPECT_TRUE(blocked);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);
}

// ---- Reads of files ----

char letter_at(std::int64_t position) { return static_cast<char>('a' + position * 7 % 23); }

class FilesToRead {
 public:
  static constexpr std::int64_t size = 300'000;
  FilesToRead() {
    std::string text;
    for (std::int64_t i = 0; i < size; ++i) text.push_back(letter_at(i));
    file_ = ::open(folder_.write("data.bin", text).c_str(), O_RDONLY);
    directory_ = ::open(folder_.path().c_str(), O_RDONLY);
  }
  ~FilesToRead() {
    ::close(file_);
    ::close(directory_);
  }
  FilesToRead(const FilesToRead&) = delete;
  FilesToRead& operator=(const FilesToRead&) = delete;
  int file() const { return file_; }
  int directory() const { return directory_; }

 private:
  testing::TemporaryFolder folder_;
  int file_ = -1;
  int directory_ = -1;
};

bool is_part(std::span<const std::byte> found, std::int64_t offset) {
  for (std::size_t i = 0; i < found.size(); ++i)
    if (static_cast<char>(found[i]) != letter_at(offset + static_cast<std::int64_t>(i))) return false;
  return true;
}

/// Many at the same time, of one read and of several; those that ended when `then` is called, and once.
TEST_P(AllTransfers, BringTheBytesOfFiles) {
  const FilesToRead files;
  const auto transfers = make([](int) { return 8; });
  constexpr std::size_t bytes = 1500;
  std::vector<std::vector<std::byte>> targets(600, std::vector<std::byte>(bytes));
  std::atomic<int> right = 0;
  std::vector<Started> started;
  for (std::size_t begin = 0; begin < targets.size();) {
    const std::size_t end = std::min(targets.size(), begin + 1 + begin % 5);
    FileTransfer transfer;
    for (std::size_t i = begin; i < end; ++i)
      transfer.reads.push_back({files.file(), static_cast<std::int64_t>(i * 331), targets[i]});
    transfer.then = [&, begin, end](std::span<const std::int64_t> results) {
      for (std::size_t i = begin; i < end; ++i)
        right += results.size() == end - begin && results[i - begin] == bytes &&
                 is_part(targets[i], static_cast<std::int64_t>(i * 331));
      return std::function<void()>();
    };
    started.push_back(transfers->start(static_cast<int>(begin % 2), std::move(transfer)));
    begin = end;
  }
  wait_for(started, *transfers);
  transfers->wait_for_all();
  EXPECT_EQ(right, 600);
  EXPECT_EQ(transfers->ended(), started.size());
  for (const auto& each : started) EXPECT_FALSE(each->run) << "keeps what it used";
}

TEST_P(AllTransfers, TellTheEndOfTheFileAndErrorsOfEachRead) {
  const FilesToRead files;
  const auto transfers = make();
  std::vector<std::byte> target(5000);
  std::vector<std::int64_t> found;
  FileTransfer transfer{{{files.file(), FilesToRead::size - 100, target},
                         {files.file(), FilesToRead::size + 10'000, target},
                         {files.directory(), 0, target},
                         {-1, 0, target},
                         {files.file(), 7, target}},
                        [&](std::span<const std::int64_t> results) {
                          found.assign(results.begin(), results.end());
                          return std::function<void()>();
                        }};
  wait_for({transfers->start(0, std::move(transfer))}, *transfers);
  EXPECT_EQ(found, (std::vector<std::int64_t>{100, 0, -EISDIR, -EBADF, 5000}));
  EXPECT_TRUE(is_part(target, 7));
}

/// What `then` throws, and what the rest of it throws, which may block the thread that runs it but not the
/// rank.
TEST_P(AllTransfers, KeepErrorsOfWhatFollowsAReadAndRunLongWorkOnAThread) {
  const FilesToRead files;
  const auto transfers = make([](int) { return 4; });
  std::vector<std::byte> target(100);
  const auto reading = [&](std::function<std::function<void()>()> then) {
    return transfers->start(
        3, FileTransfer{{{files.file(), 0, target}},
                        [then = std::move(then)](std::span<const std::int64_t>) { return then(); }});
  };
  std::latch go(1);
  std::atomic<std::thread::id> ran_on{};
  const std::vector<Started> started = {
      reading([]() -> std::function<void()> { throw WorldError("no such sample"); }),
      reading([]() -> std::function<void()> { throw std::runtime_error("strange"); }),
      reading([&]() -> std::function<void()> {
        return [&] {
          go.wait();
          ran_on = std::this_thread::get_id();
          throw WorldError("late");
        };
      })};
  wait_for({started[0], started[1]}, *transfers);
  EXPECT_FALSE(started[2]->has_ended);
  go.count_down();
  wait_for(started, *transfers);
  EXPECT_EQ(error_of(*started[0]), "no such sample");
  EXPECT_EQ(error_of(*started[1]), "a transfer of disk 3 failed: strange");
  EXPECT_EQ(error_of(*started[2]), "late");
  EXPECT_NE(ran_on.load(), std::this_thread::get_id());
  transfers->wait_for_all();
}

TEST_P(AllTransfers, ReadsOfADiskThatServesOneRunInOrder) {
  const FilesToRead files;
  const auto transfers = make();
  std::vector<std::byte> target(4000);
  std::vector<int> order;
  std::vector<Started> started;
  for (int i = 0; i < 100; ++i)
    started.push_back(transfers->start(
        0, FileTransfer{{{files.file(), i, target}}, [&order, i](std::span<const std::int64_t>) {
                          order.push_back(i);
                          return std::function<void()>();
                        }}));
  transfers->wait_for_all();
  EXPECT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  for (const auto& each : started) EXPECT_TRUE(each->has_ended);
}

/// A rank that computes asks for nothing: reads that wait for others start and end all the same.
TEST_P(AllTransfers, ProgressWhileTheRankComputes) {
  const FilesToRead files;
  const auto transfers = make();
  std::vector<std::byte> target(4000);
  // The first transfer lets what helps a rank fall asleep.
  wait_for({transfers->start(0, FileTransfer{{{files.file(), 0, target}}, {}})}, *transfers);
  std::this_thread::sleep_for(300ms);
  std::vector<Started> started;
  for (int i = 0; i < 50; ++i)
    started.push_back(
        transfers->start(0, FileTransfer{{{files.file(), i, target}, {files.file(), 0, target}}, {}}));
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (!started.back()->has_ended && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  for (const auto& each : started) EXPECT_TRUE(each->has_ended);
}

/// Reads that were begun may still write into memory until stop has returned.
TEST_P(AllTransfers, StopWaitsForReadsThatHaveBegun) {
  const FilesToRead files;
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::vector<std::vector<std::byte>> targets(40, std::vector<std::byte>(20'000));
    std::vector<Started> started;
    const auto transfers = make([](int) { return 4; });
    for (auto& target : targets)
      started.push_back(transfers->start(0, FileTransfer{{{files.file(), 0, target}}, {}}));
    transfers->stop();
    std::vector<bool> ended;
    for (const auto& each : started) ended.push_back(each->has_ended);
    const auto read = targets;
    std::this_thread::sleep_for(1ms);
    for (std::size_t i = 0; i < started.size(); ++i) EXPECT_EQ(started[i]->has_ended, ended[i]);
    EXPECT_TRUE(targets == read) << "the kernel has written after the end";
  }
}

/// Two pieces of work of 2 s, and messages in flight from 1 s to 3 s, which double the time.
TEST(EmulatedUnit, TakesLongerWhileMessagesAreInFlight) {
  EmulatedUnit unit;
  OperationTable operations;
  std::vector<std::uint32_t> work;
  unit.begin(Seconds(0));
  for (int i = 0; i < 2; ++i) {
    work.push_back(operations.acquire(Operation::State::timed));
    operations[work.back()].is_slowed = true;
    operations[work.back()].deadline = unit.end(Seconds(0), Seconds(0), Seconds(2));
  }
  const auto expect_ends = [&](double first, double second) {
    EXPECT_DOUBLE_EQ(operations[work[0]].deadline.count(), first);
    EXPECT_DOUBLE_EQ(operations[work[1]].deadline.count(), second);
  };
  unit.set_slowdown(Seconds(1), 2.0);
  operations.stretch_work(Seconds(1), 2.0);
  expect_ends(3, 7);
  unit.set_slowdown(Seconds(3), 1.0);
  operations.stretch_work(Seconds(3), 0.5);
  expect_ends(3, 5);
  EXPECT_DOUBLE_EQ(unit.end(Seconds(3), Seconds(3), Seconds(1)).count(), 6) << "behind them";
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

}  // namespace TANDEM_FILE
}  // namespace tandem
