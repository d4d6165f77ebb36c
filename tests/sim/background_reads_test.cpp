// When cache nodes begin reads that no batch waits for.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/cache_times.hpp"
#include "workloads/protocol.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

/// A node that reads all samples at the start, from its own disk: 1024 with each of the first two reads, and
/// the rest.
class BackgroundReadTimes : public CacheTimes {
 protected:
  BackgroundReadTimes() : CacheTimes(1) {
    disk_ = "<disk id='disk' read_bw='100MBps' write_bw='50MBps'/>";
    experiment_.workload.train_samples = 2500;
    experiment_.data.cache = "hoard";
    experiment_.data.cache_capacity = Bytes(2500 * 3073);
    keeps_operations_ = true;
  }
  void notify(Context& context, const protocol::NoteOf<"phases">& note) {
    Pending sent =
        protocol::send<"phases">(context, job_->roster().ranks_of(Roster::Role::cache_node).front(), note);
    context.wait(sent);
  }
  static double disk_time(int samples) { return samples * record / rate; }
  static std::vector<double> starts_of_reads(const Journal& journal) {
    std::vector<double> starts;
    for (const OperationRecord& operation : journal.operations)
      if (operation.kind == "read") starts.push_back(operation.start.count());
    return starts;
  }
};

TEST_F(BackgroundReadTimes, FollowEachOtherWhenNothingIsInTheirWay) {
  const Journal journal = serve({[](CacheClient&, Context& context) { sleep_until(context, 2.0); }});
  const auto starts = starts_of_reads(journal);
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_NEAR(starts[0], 0.0, precision_s);
  EXPECT_NEAR(starts[1], disk_time(1024), precision_s);
  EXPECT_NEAR(starts[2], disk_time(2048), precision_s);
}

/// The first read has begun before the exchange, and ends.
TEST_F(BackgroundReadTimes, DoNotBeginDuringAnExchange) {
  experiment_.data.background = BackgroundReads::while_computing;
  const Journal journal = serve({[&](CacheClient&, Context& context) {
    notify(context, protocol::Exchanging{true});
    sleep_until(context, 1.0);
    notify(context, protocol::Exchanging{false});
    sleep_until(context, 2.0);
    notify(context, protocol::End{});
  }});
  const auto starts = starts_of_reads(journal);
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_NEAR(starts[0], 0.0, precision_s);
  const double notified = 1.0 + alpha + sizeof(Note) / bandwidth;
  EXPECT_NEAR(starts[1], notified, 1e-6);
  EXPECT_NEAR(starts[2], notified + disk_time(1024), 1e-6);
}

/// For what a batch waits, that is read at once.
TEST_F(BackgroundReadTimes, OfWantedSamplesDoNotWait) {
  experiment_.data.background = BackgroundReads::while_computing;
  double waited = 0;
  serve({[&](CacheClient& client, Context& context) {
    notify(context, protocol::Exchanging{true});
    sleep_until(context, 1.0);
    waited = answer_time(client, context, {2400, 2401});
    notify(context, protocol::End{});
  }});
  EXPECT_NEAR(waited, request(2) + disk_time(2500 - 2048) + batch(2), 1e-6);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
