// Conformance of disks: overlap with messages and sleeps, order, errors of transfers, cancelling.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "tests/conformance/support.hpp"
#include "workloads/files/file_transfer.hpp"

namespace tandem::conformance {
namespace {

constexpr Channel plain{11, false};
constexpr Channel noted{12, true};
/// A tenth of a second on the simulated disks, whose transfers take no simulated time.
constexpr Bytes large{10'000'000};

/// A transfer that takes a quarter of a second of real time.
void slowly() { std::this_thread::sleep_for(std::chrono::milliseconds(250)); }

void moves_data_once(Context& context) {
  std::array<int, 2> calls{};
  Buffer storage;
  Pending write = context.write(0, Bytes(4096), [&] {
    ++calls[0];
    storage = pattern(5, 4096);
  });
  context.wait(write);
  Buffer back;
  Pending read = context.read(0, Bytes(4096), [&] {
    ++calls[1];
    back = storage;
  });
  context.wait(read);
  expect_equal(context, "writes", 1, calls[0]);
  expect_equal(context, "reads", 1, calls[1]);
  expect_pattern(context, "read back", 5, back, 4096);
  Pending modelled = context.read(0, Bytes(4096));
  context.wait(modelled);
  Pending nothing = context.write(0, Bytes(0));
  context.wait(nothing);
}

/// What a slow transfer overlaps with ends before it: a message, and a sleep.
void overlaps(Context& context, bool write) {
  const Rank peer = 1 - context.rank();
  int transfers = 0;
  const auto transfer = [&transfers] {
    slowly();
    ++transfers;
  };
  std::array<Pending, 3> pendings;
  pendings[0] = write ? context.write(0, large, transfer) : context.read(0, large, transfer);
  pendings[1] = context.receive(peer, noted, {});
  pendings[2] = context.sleep(Seconds(0.03));
  send_now(context, peer, noted, {}, numbered_note(5));
  for (int other = 0; other < 2; ++other)
    expect(context, "the message and the sleep end first", context.wait_any(pendings).index != 0);
  expect_equal(context, "index", 0UL, context.wait_any(pendings).index);
  expect_equal(context, "transfers run", 1, transfers);
}
void a_read_overlaps_with_a_message_and_a_sleep(Context& context) { overlaps(context, false); }
void a_write_overlaps_with_a_message_and_a_sleep(Context& context) { overlaps(context, true); }

/// A rank computes and sends while its disk works.
void work_overlaps_with_a_read(Context& context) {
  int transfers = 0;
  int kernels = 0;
  Pending read = context.read(0, large, [&transfers] {
    slowly();
    ++transfers;
  });
  Pending work = context.compute({Work::Kind::forward, 0, 4, Bytes(0)}, [&kernels] { ++kernels; });
  context.wait(work);
  expect_equal(context, "kernels run", 1, kernels);
  expect(context, "the read has not ended", !context.is_done(read));
  context.wait(read);
  expect_equal(context, "transfers run", 1, transfers);
}

/// A disk that serves one request at a time serves them in the order of their arrival.
void accesses_of_one_disk_end_in_their_order(Context& context) {
  for (const bool write : {false, true}) {
    std::vector<int> order;
    std::vector<Pending> pendings;
    for (int i = 0; i < 6; ++i) {
      const auto transfer = [&order, i] { order.push_back(i); };
      // The first ones take longer.
      const Bytes size(600'000 - 100'000 * i);
      pendings.push_back(write ? context.write(0, size, transfer) : context.read(0, size, transfer));
    }
    for (std::size_t i = 0; i < pendings.size(); ++i)
      expect_equal(context, "index", i, context.wait_any(pendings).index);
    expect(context, "transfers run in the order of the calls", order == std::vector<int>{0, 1, 2, 3, 4, 5});
  }
}

/// What a transfer throws, the wait for it throws, and no earlier call; the context can be used afterwards.
void errors_of_transfers_come_at_their_wait(Context& context) {
  for (const bool write : {false, true})
    for (const bool any : {false, true}) {
      const auto broken = [] { throw WorldError("the disk is gone"); };
      std::array<Pending, 2> pendings;
      pendings[0] = write ? context.write(0, Bytes(4096), broken) : context.read(0, Bytes(4096), broken);
      std::string text;
      try {
        if (any)
          context.wait_any(pendings);
        else
          context.wait(pendings[0]);
      } catch (const WorldError& error) {
        text = error.what();
      }
      expect_equal(context, "error", std::string("the disk is gone"), text);
      expect(context, "the failed operation is empty", pendings[0].empty());
      moves_data_once(context);
    }
}

/// Errors that are not Tandem's own are those of the environment.
void other_errors_of_transfers_are_world_errors(Context& context) {
  Pending read = context.read(0, Bytes(4096), [] { throw std::runtime_error("strange"); });
  std::string text;
  try {
    context.wait(read);
  } catch (const WorldError& error) {
    text = error.what();
  }
  expect(context, "the error names the cause: " + text, text.find("strange") != std::string::npos);
  expect(context, "the error names the disk: " + text, text.find("disk 0") != std::string::npos);
}

void cancelling_does_not_affect_a_transfer(Context& context) {
  int transfers = 0;
  Pending read = context.read(0, Bytes(100'000), [&transfers] { ++transfers; });
  context.cancel(read);
  expect(context, "outcome", context.wait(read).outcome == Outcome::done);
  expect_equal(context, "transfers run", 1, transfers);
}

/// Reads of files are data, which a context may do in its own way: the results are the same, nothing cancels
/// them, and errors of what follows them come at the wait.
void reads_of_files_are_transfers(Context& context) {
  const int file = ::open("/dev/zero", O_RDONLY);
  std::vector<Buffer> targets(50, Buffer(300, std::byte{1}));
  int right = 0;
  std::vector<Pending> pendings;
  for (std::size_t i = 0; i < targets.size(); i += 2) {
    FileTransfer transfer{{{file, 0, targets[i]}, {-1, 0, targets[i + 1]}},
                          [&right](std::span<const std::int64_t> results) {
                            if (results[0] == 300 && results[1] == -EBADF) ++right;
                            return std::function<void()>();
                          }};
    pendings.push_back(context.read(0, {Bytes(600), 2}, std::move(transfer)));
    context.cancel(pendings.back());
  }
  for (Pending& pending : pendings)
    expect(context, "outcome", context.wait(pending).outcome == Outcome::done);
  ::close(file);
  expect_equal(context, "transfers with the right results", 25, right);
  for (std::size_t i = 0; i < targets.size(); ++i)
    expect_equal(context, "bytes read", i % 2 == 0 ? 300L : 0L, std::ranges::count(targets[i], std::byte{0}));
  Pending broken = context.read(
      0, Bytes(300),
      FileTransfer{{{-1, 0, targets[0]}},
                   [](std::span<const std::int64_t>) -> std::function<void()> { throw WorldError("gone"); }});
  std::string text;
  try {
    context.wait(broken);
  } catch (const WorldError& error) {
    text = error.what();
  }
  expect_equal(context, "error", std::string("gone"), text);
  moves_data_once(context);
}

void stopping_work_does_not_affect_a_transfer(Context& context) {
  int transfers = 0;
  Pending work = context.compute({Work::Kind::forward, 0, 20'000, Bytes(0)});
  Pending read = context.read(0, large, [&transfers] {
    slowly();
    ++transfers;
  });
  pause(context, 0.001);
  context.stop_work();
  context.wait(work);
  expect(context, "outcome", context.wait(read).outcome == Outcome::done);
  expect_equal(context, "transfers run", 1, transfers);
}

/// Many accesses of several ranks, some of which may share a disk, between messages.
void accesses_and_messages_alternate(Context& context) {
  const Rank next = (context.rank() + 1) % context.world_size();
  const Rank before = (context.rank() + context.world_size() - 1) % context.world_size();
  int transfers = 0;
  std::vector<Pending> reads;
  for (int i = 0; i < 40; ++i) {
    // Transfers of one disk run one after the other.
    reads.push_back(context.read(0, {Bytes(1000), 2}, [&transfers] { ++transfers; }));
    Buffer in(100);
    Buffer out = pattern(static_cast<std::uint32_t>(context.rank() + i), 100);
    Pending incoming = context.receive(before, plain, slice_of(in));
    send_now(context, next, plain, slice_of(out));
    context.wait(incoming);
    expect_pattern(context, "message", static_cast<std::uint32_t>(before + i), in, 100);
  }
  context.wait_all(reads);
  expect_equal(context, "transfers run", 40, transfers);
}

}  // namespace

std::vector<Scenario> disk_scenarios() {
  return {{"disks_move_data_once", 1, moves_data_once},
          {"a_read_overlaps_with_a_message_and_a_sleep", 2, a_read_overlaps_with_a_message_and_a_sleep},
          {"a_write_overlaps_with_a_message_and_a_sleep", 2, a_write_overlaps_with_a_message_and_a_sleep},
          {"work_overlaps_with_a_read", 1, work_overlaps_with_a_read},
          {"accesses_of_one_disk_end_in_their_order", 1, accesses_of_one_disk_end_in_their_order},
          {"errors_of_transfers_come_at_their_wait", 1, errors_of_transfers_come_at_their_wait},
          {"other_errors_of_transfers_are_world_errors", 1, other_errors_of_transfers_are_world_errors},
          {"cancelling_does_not_affect_a_transfer", 1, cancelling_does_not_affect_a_transfer},
          {"reads_of_files_are_transfers", 1, reads_of_files_are_transfers},
          {"stopping_work_does_not_affect_a_transfer", 1, stopping_work_does_not_affect_a_transfer,
           /*withdraws=*/true, /*stops_work=*/true},
          {"accesses_and_messages_alternate", 3, accesses_and_messages_alternate}};
}

}  // namespace tandem::conformance
