// The kernel's queue of reads with reads that last until the test writes what they read (pipes): what waits
// for them, what does not, and what wakes the rank.
#include "runtime/mpi/ring_transfers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace TANDEM_FILE {

using namespace std::chrono_literals;

class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) throw WorldError("no pipe");
  }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  FileTransfer reading() { return {{{ends_[0], 0, target_}}, {}}; }
  void write() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

 private:
  int ends_[2] = {-1, -1};
  std::vector<std::byte> target_ = std::vector<std::byte>(1);
};

class RingTransfersOfPipes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_read_ring()) GTEST_SKIP() << "the kernel or the build has no io_uring";
  }
  static bool ends(const Transfer& transfer, RingTransfers& transfers) {
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (!transfer.has_ended && std::chrono::steady_clock::now() < until)
      transfers.wait_for_end(transfers.ended(), Seconds(0.01));
    return transfer.has_ended;
  }
};

TEST_F(RingTransfersOfPipes, ReadsWaitWhileTheDiskServesAsManyAsItCan) {
  std::vector<Pipe> pipes(4);
  RingTransfers transfers([](int disk) { return disk == 0 ? 2 : 1; });
  const auto first = transfers.start(0, pipes[0].reading());
  const auto second = transfers.start(0, pipes[1].reading());
  const auto third = transfers.start(0, pipes[2].reading());
  const auto other = transfers.start(1, pipes[3].reading());
  pipes[2].write();
  pipes[3].write();
  EXPECT_TRUE(ends(*other, transfers)) << "another disk";
  transfers.wait_for_end(transfers.ended(), Seconds(0.05));
  EXPECT_FALSE(third->has_ended);
  pipes[1].write();
  EXPECT_TRUE(ends(*second, transfers));
  EXPECT_TRUE(ends(*third, transfers));
  EXPECT_FALSE(first->has_ended);
  pipes[0].write();
  EXPECT_TRUE(ends(*first, transfers));
}

/// A transfer of a thread ends while the rank waits for the ring.
TEST_F(RingTransfersOfPipes, AThreadWakesARankThatWaitsForTheRing) {
  Pipe pipe;
  RingTransfers transfers({});
  const auto read = transfers.start(0, pipe.reading());
  const auto begin = std::chrono::steady_clock::now();
  const auto other = transfers.start(0, [] { std::this_thread::sleep_for(50ms); });
  transfers.wait_for_end(transfers.ended(), Seconds(60));
  EXPECT_TRUE(other->has_ended);
  EXPECT_FALSE(read->has_ended);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  pipe.write();
  EXPECT_TRUE(ends(*read, transfers));
}

TEST_F(RingTransfersOfPipes, StopWaitsForWhatHasBegunAndDiscardsTheRest) {
  std::vector<Pipe> pipes(2);
  RingTransfers transfers({});
  const auto first = transfers.start(0, pipes[0].reading());
  const auto second = transfers.start(0, pipes[1].reading());
  pipes[1].write();
  std::thread writer([&] {
    std::this_thread::sleep_for(50ms);
    pipes[0].write();
  });
  transfers.stop();
  EXPECT_TRUE(first->has_ended);
  EXPECT_FALSE(second->has_ended);
  writer.join();
}

}  // namespace TANDEM_FILE
}  // namespace tandem
