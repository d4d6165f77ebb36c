// The context on MPI, as far as it differs from the simulated one: real memory, sizes around the packing
// limit and above two gigabytes, emulated devices, waiting without busy polling. Common behaviour is tested
// in tests/conformance.
#include "runtime/mpi/mpi_context.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <latch>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/support/numbered_note.hpp"
#include "workloads/cost/disk_queue.hpp"
#include "workloads/exchange/schedule_runner.hpp"

static int communicators_made = 0;
static int communicators_freed = 0;

// Override MPI's functions, which the context would call otherwise.
extern "C" int MPI_Comm_create_group(MPI_Comm communicator, MPI_Group group, int tag, MPI_Comm* made) {
  ++communicators_made;
  return PMPI_Comm_create_group(communicator, group, tag, made);
}
extern "C" int MPI_Comm_free(MPI_Comm* communicator) {
  ++communicators_freed;
  return PMPI_Comm_free(communicator);
}

namespace tandem {
namespace TANDEM_FILE {

using testing::number_of;
using testing::numbered_note;

constexpr Channel plain{.stream = 3, .carries_note = false};
constexpr Channel noted{.stream = 4, .carries_note = true};

std::byte pattern(Rank rank, std::int64_t message, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::size_t>(rank * 31 + message * 7) + at + (at >> 8U));
}

std::vector<std::byte> filled(Rank rank, std::int64_t message, std::int64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(rank, message, i);
  return bytes;
}

Slice slice_of(std::vector<std::byte>& bytes) {
  return {Bytes(static_cast<std::int64_t>(bytes.size())), bytes.data()};
}

/// Another rank of this machine, as the kernel sees it.
class OtherRank {
 public:
  /// Collective.
  explicit OtherRank(Rank rank) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int own = getpid();
    std::vector<int> all(static_cast<std::size_t>(size));
    MPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    process_ = all.at(static_cast<std::size_t>(rank));
  }
  /// Of all its threads.
  double cpu_seconds() const {
    clockid_t clock{};
    timespec time{};
    EXPECT_EQ(clock_getcpuclockid(process_, &clock), 0);
    EXPECT_EQ(clock_gettime(clock, &time), 0);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  /// Until it has fallen asleep so many times more. A rank that polls, or yields its core, never does.
  bool naps(int times) const {
    const std::int64_t before = sleeps();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (sleeps() < before + times) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

 private:
  std::int64_t sleeps() const {
    std::ifstream status("/proc/" + std::to_string(process_) + "/status");
    const std::string name = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(name)) return std::stoll(line.substr(name.size()));
    ADD_FAILURE() << "process " << process_ << " has no " << name;
    return std::numeric_limits<std::int64_t>::max();
  }
  int process_ = 0;
};

/// Messages between ranks of a node use either MPI alone, or shared memory as well.
class MpiContextTransports : public ::testing::TestWithParam<bool> {
 protected:
  MpiSetting setting() const {
    if (!GetParam()) return {};
    using enum NodeRoute;
    return {.node_memory = std::make_shared<NodeMemory>(MPI_COMM_WORLD),
            .node_routes = NodeRoutes(
                {{Bytes(16 << 10), shared}, {Bytes(64 << 10), library}, {Bytes(1 << 20), streamed}})};
  }
};

INSTANTIATE_TEST_SUITE_P(MpiContext, MpiContextTransports, ::testing::Bool(), [](const auto& parameter) {
  return std::string(parameter.param ? "NodeMemory" : "Mpi");
});

TEST_P(MpiContextTransports, MessagesOfEverySizeKeepTheirBytesNotesAndOrder) {
  MpiContext context(MPI_COMM_WORLD, setting());
  const Rank next = (context.rank() + 1) % context.world_size();
  const Rank previous = (context.rank() + context.world_size() - 1) % context.world_size();
  const std::array<std::int64_t, 9> sizes = {0,      1,       4095, 16 * 1024 - 1, 16 * 1024, 16 * 1024 + 1,
                                             70'000, 300'000, 0};
  for (const Channel channel : {plain, noted}) {
    std::vector<std::vector<std::byte>> sent;
    std::vector<std::vector<std::byte>> received;
    std::vector<Pending> pendings;
    // All receives are posted before the first message arrives, each with a larger buffer than needed.
    for (std::size_t i = 0; i < sizes.size(); ++i)
      received.emplace_back(static_cast<std::size_t>(sizes[i]) + (i % 2) * 20'000);
    for (auto& bytes : received) pendings.push_back(context.receive(previous, channel, slice_of(bytes)));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sent.push_back(filled(context.rank(), static_cast<std::int64_t>(i), sizes[i]));
      const Note note = numbered_note(static_cast<std::int64_t>(i));
      pendings.push_back(context.send(next, channel, slice_of(sent.back()), note));
    }
    for (std::size_t ended = 0; ended < 2 * sizes.size(); ++ended) {
      const auto completion = context.wait_any(pendings);
      if (completion.index >= sizes.size() || !channel.carries_note) continue;
      EXPECT_EQ(number_of(completion.note), static_cast<std::int64_t>(completion.index));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto expected = filled(previous, static_cast<std::int64_t>(i), sizes[i]);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), received[i].begin())) << "message " << i;
    }
  }
}

TEST_P(MpiContextTransports, RandomTrafficArrivesInOrderPerChannel) {
  const unsigned seed = 20240611;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  MpiContext context(MPI_COMM_WORLD, setting());
  const int size = context.world_size();
  // All ranks draw the same plan: the channel and size of each message of each pair.
  struct Planned {
    Rank from, to;
    Channel channel;
    std::int64_t bytes;
    bool modelled;
  };
  std::mt19937 random(seed);
  std::vector<Planned> plan;
  for (int i = 0; i < 60 * size; ++i) {
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const int channel = draw(4);
    plan.push_back({draw(size),
                    draw(size),
                    {static_cast<std::int16_t>(channel), channel % 2 == 1},
                    draw(3) == 0 ? draw(200'000) : draw(20'000),
                    draw(4) == 0});
  }
  std::vector<std::vector<std::byte>> memory(plan.size());
  std::vector<std::vector<std::byte>> sources(plan.size());
  std::vector<Pending> pendings;
  std::vector<std::size_t> message_of;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].to != context.rank()) continue;
    memory[i].resize(static_cast<std::size_t>(plan[i].bytes));
    pendings.push_back(
        context.receive(plan[i].from, plan[i].channel,
                        {Bytes(plan[i].bytes), plan[i].modelled ? nullptr : memory[i].data()}));
    message_of.push_back(i);
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].from != context.rank()) continue;
    sources[i] = filled(plan[i].from, static_cast<std::int64_t>(i), plan[i].bytes);
    pendings.push_back(context.send(plan[i].to, plan[i].channel,
                                    {Bytes(plan[i].bytes), plan[i].modelled ? nullptr : sources[i].data()},
                                    numbered_note(static_cast<std::int64_t>(i))));
  }
  for (std::size_t ended = 0; ended < pendings.size(); ++ended) {
    const auto completion = context.wait_any(pendings);
    if (completion.index >= message_of.size()) continue;
    const auto i = message_of[completion.index];
    if (plan[i].channel.carries_note) {
      EXPECT_EQ(number_of(completion.note), static_cast<std::int64_t>(i));
    }
    if (!plan[i].modelled) {
      EXPECT_EQ(memory[i], filled(plan[i].from, static_cast<std::int64_t>(i), plan[i].bytes))
          << "message " << i;
    }
  }
}

TEST_P(MpiContextTransports, ALargePayloadProgressesWhileItsReceiverWaitsForAnotherMessage) {
  MpiContext context(MPI_COMM_WORLD, setting());
  const Rank self = context.rank();
  if (self > 1) return;
  std::vector<std::byte> large(1 << 20);
  if (self == 0) {
    // The peer sends `go` only after its large message has been sent, so waiting for `go` must also progress
    // the large message.
    auto payload = context.receive(1, noted, slice_of(large));
    auto go = context.receive(1, plain, {});
    context.wait(go);
    context.wait(payload);
  } else {
    auto sent = context.send(0, noted, slice_of(large), {});
    context.wait(sent);
    auto go = context.send(0, plain, {}, {});
    context.wait(go);
  }
}

TEST_P(MpiContextTransports, AMessageLongerThanItsReceiveThrowsAWorldError) {
  for (const Channel channel : {plain, noted}) {
    for (const std::int64_t size : {100, 16'000, 16'400}) {
      // A new context each time.
      MpiContext context(MPI_COMM_WORLD, setting());
      const Rank self = context.rank();
      if (self > 1) continue;
      std::vector<std::byte> bytes(static_cast<std::size_t>(size));
      if (self == 1) {
        auto sent = context.send(0, channel, slice_of(bytes), {});
        // The receiver never fetches a large payload that it rejects: give it up, like a failing job.
        if (size <= 16'000) context.wait(sent);
      } else {
        auto received = context.receive(1, channel, {Bytes(size - 50), bytes.data()});
        EXPECT_THROW(context.wait(received), WorldError) << size;
      }
    }
  }
}

MpiSetting emulating(double seconds) {
  return {.emulated = [seconds](const Work&) { return Seconds(seconds); },
          .emulated_disk =
              [seconds, queues = std::make_shared<std::map<int, DiskQueue>>()](
                  int disk, const DiskAccess& access, bool write, Seconds arrival) {
                return (*queues)[disk].serve(arrival, {}, access.requests,
                                             Seconds(write ? 2 * seconds : seconds));
              }};
}

TEST(MpiContext, AnEmulatedDeviceTakesItsDurationAndKeepsTheOrder) {
  MpiContext context(MPI_COMM_WORLD, emulating(0.02));
  const Seconds start = context.now();
  std::vector<int> order;
  std::array<Pending, 3> pendings;
  for (int i = 0; i < 3; ++i)
    pendings[static_cast<std::size_t>(i)] =
        context.compute({.kind = Work::Kind::forward}, [&order, i] { order.push_back(i); });
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(context.wait_any(pendings).index, i);
    EXPECT_GE((context.now() - start).count(), 0.02 * static_cast<double>(i + 1));
  }
  EXPECT_LT((context.now() - start).count(), 0.2);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(context.late_devices(), 0);
}

/// Sums of buckets, one after the other, while the first queue computes another bucket. A device with one
/// queue does them afterwards.
TEST(MpiContext, AnEmulatedGpuSumsBucketsInItsSecondQueue) {
  for (const bool has_second : {true, false}) {
    MpiSetting setting{.emulated = [](const Work& work) {
      return std::optional(Seconds(work.kind == Work::Kind::backward ? 0.2 : 0.01));
    }};
    setting.emulates_second_queue = has_second;
    MpiContext context(MPI_COMM_WORLD, setting);
    // The passes, then the sums.
    std::array<Pending, 3> pendings = {context.compute({.kind = Work::Kind::backward, .bucket = 1}, {}),
                                       context.compute({.kind = Work::Kind::reduce, .bucket = 0}, {}),
                                       context.compute({.kind = Work::Kind::reduce, .bucket = 0}, {})};
    const std::vector<std::size_t> expected =
        has_second ? std::vector<std::size_t>{1, 2, 0} : std::vector<std::size_t>{0, 1, 2};
    for (const std::size_t index : expected) EXPECT_EQ(context.wait_any(pendings).index, index) << has_second;
  }
}

/// The other rank receives the message only after the work has ended.
TEST(MpiContext, AnEmulatedDeviceIsSlowerWhileAMessageIsInFlight) {
  constexpr double alone_s = 0.03, factor = 3.0;
  MpiSetting setting = emulating(alone_s);
  setting.overlap_slowdown = factor;
  MpiContext context(MPI_COMM_WORLD, setting);
  std::vector<std::byte> large(4'000'000);
  if (context.rank() == 0) {
    const double began_s = context.now().count();
    auto work = context.compute({.kind = Work::Kind::backward}, {});
    auto sent = context.send(1, plain, slice_of(large), {});
    const double sent_s = context.now().count();
    context.wait(work);
    EXPECT_GE(context.now().count(), sent_s + factor * (began_s + alone_s - sent_s));
    auto next = context.compute({.kind = Work::Kind::backward}, {});
    const double next_s = context.now().count();
    context.wait(next);
    EXPECT_GE(context.now().count(), next_s + 0.9 * factor * alone_s);
    auto go = context.send(1, noted, {}, {});
    context.wait(go);
    context.wait(sent);
  } else if (context.rank() == 1) {
    auto go = context.receive(0, noted, {});
    context.wait(go);
    auto received = context.receive(0, plain, slice_of(large));
    context.wait(received);
  }
}

/// Of the library, from the rank's own start, as in a simulation
/// (SimulatedNative.SlowsWorkDownWhileInFlight): the others start it only after the work has ended.
TEST(MpiContext, AnEmulatedDeviceIsSlowerWhileASumIsInFlight) {
  constexpr double alone_s = 0.03, factor = 3.0;
  MpiSetting setting = emulating(alone_s);
  setting.overlap_slowdown = factor;
  MpiContext context(MPI_COMM_WORLD, setting);
  std::vector<Rank> members(static_cast<std::size_t>(context.world_size()));
  std::iota(members.begin(), members.end(), 0);
  std::vector<std::byte> vector(4000);
  const auto sum = [&] {
    return context.all_reduce(members, {.stream = 5}, slice_of(vector), collectives::float_element);
  };
  // The first one makes the communicator, for which the members wait for each other.
  auto first = sum();
  context.wait(first);
  if (context.rank() == 0) {
    auto summed = sum();
    const double began_s = context.now().count();
    auto work = context.compute({.kind = Work::Kind::backward}, {});
    context.wait(work);
    EXPECT_GE(context.now().count(), began_s + 0.9 * factor * alone_s);
    for (Rank other = 1; other < context.world_size(); ++other) {
      auto go = context.send(other, noted, {}, {});
      context.wait(go);
    }
    context.wait(summed);
  } else {
    auto go = context.receive(0, noted, {});
    context.wait(go);
    auto summed = sum();
    context.wait(summed);
  }
}

TEST(MpiContext, AKernelSlowerThanItsDeviceCountsAsLate) {
  MpiContext context(MPI_COMM_WORLD, emulating(0.001));
  const Seconds start = context.now();
  auto slow = context.compute({.kind = Work::Kind::forward},
                              [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
  context.wait(slow);
  EXPECT_GE((context.now() - start).count(), 0.01);
  EXPECT_EQ(context.late_devices(), 1);
}

TEST(MpiContext, WorkThatFollowsImmediatelyCompensatesForASlowKernel) {
  MpiContext context(MPI_COMM_WORLD, emulating(0.02));
  const Seconds start = context.now();
  const auto work = [&](int ms) {
    auto done = context.compute({.kind = Work::Kind::forward},
                                [ms] { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); });
    context.wait(done);
  };
  work(50);
  for (int piece = 0; piece < 3; ++piece) work(1);
  const double end = (context.now() - start).count();
  EXPECT_GE(end, 4 * 0.02);
  EXPECT_LT(end, 0.1) << "50 ms and three times 20 would be 110";
  EXPECT_EQ(context.late_devices(), 0);
}

TEST(MpiContext, EachDiskHasItsOwnQueue) {
  MpiContext context(MPI_COMM_WORLD, emulating(0.03));
  const Seconds start = context.now();
  bool moved = false;
  std::array<Pending, 3> pendings = {context.write(0, Bytes(10), {}),
                                     context.read(0, Bytes(10), [&moved] { moved = true; }),
                                     context.read(1, Bytes(10), {})};
  EXPECT_EQ(context.wait_any(pendings).index, 2U);  // alone on its disk: 30 ms
  EXPECT_EQ(context.wait_any(pendings).index, 0U);  // 60 ms
  EXPECT_EQ(context.wait_any(pendings).index, 1U);  // behind the write: 90 ms
  EXPECT_TRUE(moved);
  EXPECT_GE((context.now() - start).count(), 0.09);
}

/// With a place for each of them, transfers wait for each other without a deadlock.
TEST(MpiContext, ADiskTransfersAsMuchAtTheSameTimeAsItServes) {
  MpiContext context(MPI_COMM_WORLD, {.parallel_transfers = [](int) { return 4; }});
  std::latch all_run(4);
  std::array<Pending, 4> reads;
  for (Pending& read : reads) read = context.read(0, Bytes(10), [&all_run] { all_run.arrive_and_wait(); });
  context.wait_all(reads);
  EXPECT_TRUE(all_run.try_wait());
}

/// The guard comes after what the transfer uses, and the error does not come from a wait.
TEST(MpiContext, TransfersEndBeforeAnErrorDestroysWhatTheyUse) {
  MpiContext context(MPI_COMM_WORLD, {});
  std::atomic<int> moved = 0;
  int moved_before = 0;
  std::array<Pending, 2> reads;
  const auto fail = [&] {
    struct Role {
      ~Role() { seen = moved.load(); }
      std::atomic<int>& moved;
      int& seen;
    };
    const Role role{moved, moved_before};
    const TransferGuard transfers(context);
    for (Pending& read : reads)
      read = context.read(0, Bytes(10), [&moved] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        ++moved;
      });
    throw ConfigError("bad sample");
  };
  EXPECT_THROW(fail(), ConfigError);
  EXPECT_EQ(moved_before, 2);
  context.wait_all(reads);
}

TEST(MpiContext, NativeWorkCompletesImmediately) {
  MpiContext context(MPI_COMM_WORLD, {});
  bool ran = false;
  auto work = context.compute({.kind = Work::Kind::update}, [&ran] { ran = true; });
  context.wait(work);
  EXPECT_TRUE(ran);
  auto modelled = context.compute({.kind = Work::Kind::update}, {});
  context.wait(modelled);
  EXPECT_TRUE(modelled.empty());
}

/// Rank 0 looks at the last rank, while all others wait for its message: at first they poll, then they sleep.
TEST(MpiContext, AWaitingRankYieldsItsCore) {
  MpiContext context(MPI_COMM_WORLD, {});
  const OtherRank last(context.world_size() - 1);
  if (context.rank() == 0) {
    EXPECT_TRUE(last.naps(150));
    const double cpu = last.cpu_seconds();
    const Seconds start = context.now();
    EXPECT_TRUE(last.naps(250));
    const double wall = (context.now() - start).count();
    EXPECT_LT(last.cpu_seconds() - cpu, 0.3 * wall) << "of " << wall << " s";
    for (Rank to = 1; to < context.world_size(); ++to) {
      auto go = context.send(to, plain, {}, {});
      context.wait(go);
    }
  } else {
    auto go = context.receive(0, plain, {});
    context.wait(go);
  }
}

// Work on a device that is not emulated has completed when `compute` returns.
/// Rank 1 has waited for so long that it sleeps between its looks, for as long as it ever does.
TEST(MpiContext, AWaitingRankAnswersADisconnectSoon) {
  MpiContext context(MPI_COMM_WORLD, {});
  const OtherRank other(1);
  constexpr int naps = 150;
  constexpr int times = 7;
  std::array<double, times> disconnects{}, messages{};
  Note note;
  for (int i = 0; i < times; ++i) {
    if (context.rank() == 0) {
      EXPECT_TRUE(other.naps(naps));
      const Seconds begin = context.now();
      Pending disconnecting = context.disconnect(1);
      context.wait(disconnecting);
      disconnects[static_cast<std::size_t>(i)] = (context.now() - begin).count();
      EXPECT_TRUE(other.naps(naps));
      const Seconds again = context.now();
      Pending sent = context.send(1, noted, {}, note);
      Pending answer = context.receive(1, noted, {});
      context.wait(answer);
      context.wait(sent);
      messages[static_cast<std::size_t>(i)] = (context.now() - again).count();
    } else if (context.rank() == 1) {
      Pending question = context.receive(0, noted, {});
      context.wait(question);
      Pending answer = context.send(0, noted, {}, note);
      context.wait(answer);
    }
  }
  const auto median = [](std::array<double, times>& values) {
    std::ranges::sort(values);
    return values[times / 2];
  };
  // A message ends a sleep, which lasts 0.4 ms; 64 of them last 26 ms.
  if (context.rank() == 0) EXPECT_LT(median(disconnects), 0.012 + 4 * median(messages));
}

TEST(MpiContext, AnAllReduceProgressesWhileADeviceComputes) {
  MpiContext context(MPI_COMM_WORLD, {});
  std::vector<Rank> members(static_cast<std::size_t>(context.world_size()));
  std::iota(members.begin(), members.end(), 0);
  std::vector<float> vector(1000, static_cast<float>(context.rank() + 1));
  const std::array<Bytes, 1> sizes = {Bytes(4000)};
  AllReduces all_reduces(context, collectives::catalog().find("ring").make, members, sizes,
                         Channel{.stream = 10});
  all_reduces.start(0, {sizes[0], reinterpret_cast<std::byte*>(vector.data())});
  if (context.rank() == 0) {
    const Seconds enough = context.now() + Seconds(60.0);
    while (all_reduces.in_flight(0) && context.now() < enough) {
      auto backward = context.compute({.kind = Work::Kind::backward},
                                      [] { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
      all_reduces.wait_progressing(backward);
    }
    EXPECT_FALSE(all_reduces.in_flight(0));
  }
  all_reduces.finish();
  const auto sum = static_cast<float>(context.world_size() * (context.world_size() + 1) / 2);
  EXPECT_EQ(vector, std::vector<float>(1000, sum));
}

// On request: needs 5 GiB of memory.
TEST(MpiContextLarge, MessagesBeyondTwoGigabytes) {
  MpiContext context(MPI_COMM_WORLD, {});
  const std::int64_t size = (std::int64_t{5} << 29) + 13;
  if (context.rank() > 1) return;
  for (const Channel channel : {plain, noted}) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    const std::array<std::size_t, 4> probes = {0, std::size_t{1} << 30U, std::size_t{1} << 31U,
                                               bytes.size() - 1};
    if (context.rank() == 0) {
      for (const auto at : probes) bytes[at] = pattern(0, 1, at) | std::byte{1};
      auto sent = context.send(1, channel, slice_of(bytes), numbered_note(9));
      context.wait(sent);
    } else {
      auto received = context.receive(0, channel, slice_of(bytes));
      const auto completion = context.wait(received);
      EXPECT_EQ(completion.note, channel.carries_note ? numbered_note(9) : Note{});
      for (const auto at : probes) EXPECT_EQ(bytes[at], pattern(0, 1, at) | std::byte{1}) << at;
    }
  }
}

// Rank 0 may keep the communicator of only one list; the members of a list agree without knowing each other's
// limits.
TEST(MpiContext, SumsOverAnyNumberOfListsKeepFewCommunicators) {
  int own = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  MpiContext context(MPI_COMM_WORLD, {.most_communicators = own == 0 ? 1U : 3U});
  const int made_before = communicators_made, freed_before = communicators_freed;
  std::vector<Rank> members(static_cast<std::size_t>(context.world_size()));
  std::iota(members.begin(), members.end(), 0);
  const auto lists = static_cast<int>(members.size());
  constexpr int turns = 2;
  for (int turn = 0; turn < turns; ++turn)
    for (int list = 0; list < lists; ++list) {
      std::ranges::rotate(members, members.begin() + 1);
      // Two at a time; ranks wait for them in different orders.
      std::array<std::vector<float>, 2> vectors = {std::vector<float>(1000, 1.0F),
                                                   std::vector<float>(70, 2.0F)};
      std::array<Pending, 2> sums;
      for (std::size_t i = 0; i < 2; ++i)
        sums[i] = context.all_reduce(members, {.stream = static_cast<std::int16_t>(i)},
                                     {Bytes(static_cast<std::int64_t>(4 * vectors[i].size())),
                                      reinterpret_cast<std::byte*>(vectors[i].data())},
                                     collectives::float_element);
      for (const std::size_t i : {own % 2 == 0 ? 0U : 1U, own % 2 == 0 ? 1U : 0U}) context.wait(sums[i]);
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(vectors[i],
                  std::vector<float>(vectors[i].size(), static_cast<float>((i + 1) * members.size())));
    }
  EXPECT_EQ(communicators_made - made_before, 1 + 2 * turns * (lists - 1));
  EXPECT_EQ(communicators_freed - freed_before, 2 * turns * (lists - 1));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
