// Conformance of ranks that disconnect: nothing that one has sent, and the other has not received, arrives
// afterwards.
#include <algorithm>
#include <iterator>
#include <memory>

#include "policies/vocabulary/rng.hpp"
#include "tests/conformance/support.hpp"

namespace tandem::conformance {
namespace {

constexpr Channel plain{64, false};
constexpr Channel noted{65, true};
constexpr Channel bucket{66, false, 3};
constexpr Channel noted_bucket{66, true, 5};
/// What the ranks send each other about the progress of the scenario.
constexpr Channel signal{67, true};
constexpr Channel all_channels[] = {plain, noted, bucket, noted_bucket};
/// Larger than what any transport buffers before a receive is posted.
constexpr std::size_t large = 9UL << 20;

std::string text_of(Outcome outcome) {
  return outcome == Outcome::done ? "done" : outcome == Outcome::cancelled ? "cancelled" : "peer left";
}

std::string outcome_of(Context& context, Pending& pending) { return text_of(context.wait(pending).outcome); }

void disconnect_now(Context& context, Rank peer) {
  Pending disconnecting = context.disconnect(peer);
  expect_equal(context, "outcome of the disconnect", "done", outcome_of(context, disconnecting));
}

void send_signal(Context& context, Rank peer) { send_now(context, peer, signal, {}, numbered_note(0)); }
void await_signal(Context& context, Rank peer) { receive_now(context, peer, signal, {}); }

/// Both come here before either continues.
void meet(Context& context, Rank peer) {
  Pending awaited = context.receive(peer, signal, {});
  send_signal(context, peer);
  context.wait(awaited);
}

/// Messages of one key, that must stay valid until their sends have ended.
class Sender {
 public:
  Sender(Context& context, Rank to, std::uint32_t key) : context_(context), to_(to), key_(key) {}
  void send(Channel channel, std::size_t size) {
    bytes_.push_back(std::make_unique<Buffer>(pattern(key_, size)));
    sends_.push_back(context_.send(to_, channel, slice_of(*bytes_.back()), numbered_note(key_)));
  }
  void cancel_last() { context_.cancel(sends_.back()); }
  /// Their outcomes are not specified.
  void wait() { context_.wait_all(sends_); }

 private:
  Context& context_;
  Rank to_;
  std::uint32_t key_;
  std::vector<std::unique_ptr<Buffer>> bytes_;
  std::vector<Pending> sends_;
};

void expect_message(Context& context, Rank from, Channel channel, std::uint32_t key, std::size_t size) {
  Buffer bytes(large);
  const Completion completion = receive_now(context, from, channel, slice_of(bytes));
  expect_equal(context, "outcome of the receive", "done", text_of(completion.outcome));
  expect_pattern(context, "message", key, bytes, size);
  if (channel.carries_note)
    expect_equal(context, "number of the note", static_cast<std::int64_t>(key), number_of(completion.note));
}

void a_disconnect_cancels_own_receives(Context& context) {
  if (context.rank() == 1) {
    await_signal(context, 0);
    Sender sender(context, 0, 7);
    for (const Channel channel : all_channels) sender.send(channel, 300);
    sender.wait();
    return;
  }
  std::vector<Buffer> unused(8, Buffer(1000));
  std::vector<Pending> receives;
  for (std::size_t i = 0; i < unused.size(); ++i)
    receives.push_back(context.receive(1, all_channels[i / 2], slice_of(unused[i])));
  disconnect_now(context, 1);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    expect_equal(context, "outcome of an open receive", "cancelled", outcome_of(context, receives[i]));
    expect(context, "its memory is untouched",
           std::ranges::all_of(unused[i], [](std::byte b) { return b == std::byte{0}; }));
  }
  send_signal(context, 1);
  for (const Channel channel : all_channels) expect_message(context, 1, channel, 7, 300);
}

/// After what `before` has sent to rank 1, a disconnect, and a message on each channel that does arrive.
void disconnect_and_send(Context& context, Sender& before, std::uint32_t key_after) {
  disconnect_now(context, 1);
  before.wait();
  send_signal(context, 1);
  Sender after(context, 1, key_after);
  for (const Channel channel : all_channels) after.send(channel, 500);
  after.wait();
  await_signal(context, 1);
}

/// Small and large messages, alone and mixed, of which none was received.
void messages_before_a_disconnect_never_arrive(Context& context) {
  const std::vector<std::vector<std::size_t>> cases = {
      {0}, {300}, {large}, {300, 70000, large}, {large, 300}, {}, {large, large}, {1, 2, 3, 4, 5}};
  std::uint32_t key = 0;
  for (const auto& sizes : cases) {
    key += 2;
    if (context.rank() == 1) {
      await_signal(context, 0);
      for (const Channel channel : all_channels) expect_message(context, 0, channel, key + 1, 500);
      send_signal(context, 0);
      continue;
    }
    Sender before(context, 1, key);
    for (const Channel channel : all_channels)
      for (const std::size_t size : sizes) before.send(channel, size);
    disconnect_and_send(context, before, key + 1);
  }
}

/// The messages of a rank that has disconnected go, those of its peer stay.
void a_disconnect_leaves_what_the_peer_has_sent(Context& context) {
  const Rank peer = 1 - context.rank();
  Sender sender(context, peer, static_cast<std::uint32_t>(10 + context.rank()));
  for (const Channel channel : all_channels) sender.send(channel, channel == plain ? large : 400);
  if (context.rank() == 0) {
    disconnect_now(context, 1);
    for (const Channel channel : all_channels)
      expect_message(context, 1, channel, 11, channel == plain ? large : 400);
    sender.wait();
    send_signal(context, 1);
    return;
  }
  await_signal(context, 0);
  sender.wait();
  Buffer bytes(large);
  for (const Channel channel : all_channels) {
    Pending receive = context.receive(0, channel, slice_of(bytes));
    expect(context, "nothing of the peer is left", !context.is_done(receive));
    context.cancel(receive);
    expect_equal(context, "outcome", "cancelled", outcome_of(context, receive));
  }
}

void both_sides_disconnect_at_once(Context& context) {
  const Rank peer = 1 - context.rank();
  for (std::uint32_t round = 0; round < 20; ++round) {
    const std::uint32_t own = 4 * round + static_cast<std::uint32_t>(context.rank());
    const std::uint32_t others = 4 * round + static_cast<std::uint32_t>(peer);
    Sender before(context, peer, own), after(context, peer, own + 2);
    for (const Channel channel : all_channels) {
      before.send(channel, 100);
      if (round % 4 == 0) before.send(channel, large);
      if (round % 3 == 0) before.cancel_last();
    }
    disconnect_now(context, peer);
    before.wait();
    meet(context, peer);
    for (const Channel channel : all_channels) after.send(channel, 200);
    for (const Channel channel : all_channels) expect_message(context, peer, channel, others + 2, 200);
    after.wait();
    // The next disconnect of a faster peer would discard what this rank has not received yet.
    meet(context, peer);
  }
}

/// On either side.
void messages_that_have_matched_arrive(Context& context) {
  for (const Channel channel : all_channels) {
    if (context.rank() == 0) {
      await_signal(context, 1);
      Sender sender(context, 1, 20);
      sender.send(channel, large);
      disconnect_now(context, 1);
      sender.wait();
    } else {
      Buffer bytes(large);
      Pending receive = context.receive(0, channel, slice_of(bytes));
      send_signal(context, 0);
      expect_equal(context, "outcome of the receive of before", "done", outcome_of(context, receive));
      expect_pattern(context, "message", 20, bytes, large);
    }
    // The receiver disconnects while the message may be in flight: it arrives now, or stays.
    if (context.rank() == 0) {
      await_signal(context, 1);
      Sender sender(context, 1, 21);
      sender.send(channel, large);
      send_signal(context, 1);
      sender.wait();
      continue;
    }
    Buffer bytes(large);
    Pending receive = context.receive(0, channel, slice_of(bytes));
    send_signal(context, 0);
    // Else the disconnect could discard what was just sent.
    await_signal(context, 0);
    disconnect_now(context, 0);
    if (outcome_of(context, receive) == "done")
      expect_pattern(context, "message in flight", 21, bytes, large);
    else
      expect_message(context, 0, channel, 21, large);
  }
}

void cancelled_messages_before_a_disconnect(Context& context) {
  for (const Channel channel : all_channels)
    for (std::size_t cancelled = 0; cancelled < 3; ++cancelled)
      for (const bool receives_first : {false, true}) {
        if (context.rank() == 0) {
          Sender before(context, 1, 30), after(context, 1, 31);
          for (std::size_t i = 0; i < 3; ++i) {
            before.send(channel, i == 1 ? large : 600);
            if (i == cancelled) before.cancel_last();
          }
          disconnect_now(context, 1);
          before.wait();
          send_signal(context, 1);
          await_signal(context, 1);
          after.send(channel, 700);
          after.wait();
          await_signal(context, 1);
          continue;
        }
        Buffer bytes(large);
        Pending first;
        if (receives_first) first = context.receive(0, channel, slice_of(bytes));
        await_signal(context, 0);
        if (!first.empty()) {
          // All may have been discarded before the receive was posted.
          if (!context.is_done(first)) context.cancel(first);
          if (outcome_of(context, first) == "done")
            expect_pattern(context, "a message of before", 30, bytes, 600);
        }
        send_signal(context, 0);
        expect_message(context, 0, channel, 31, 700);
        send_signal(context, 0);
      }
}

/// Each message that was cancelled or discarded counts once; those that arrive do not.
void messages_that_never_arrive_are_counted(Context& context) {
  if (context.rank() == 0) {
    Sender before(context, 1, 50);
    for (const Channel channel : all_channels) {
      for (const std::size_t size : {std::size_t{300}, large, std::size_t{600}}) before.send(channel, size);
      if (channel.carries_note) before.cancel_last();
    }
    disconnect_and_send(context, before, 51);
    return expect_equal(context, "own discarded messages", std::int64_t{0}, context.discarded_messages());
  }
  await_signal(context, 0);
  for (const Channel channel : all_channels) expect_message(context, 0, channel, 51, 500);
  expect_equal(context, "discarded messages", 3 * std::ssize(all_channels), context.discarded_messages());
  send_signal(context, 0);
}

void disconnecting_leaves_other_ranks(Context& context) {
  const Rank rank = context.rank();
  if (rank == 0) {
    Buffer bytes(large);
    Pending receive = context.receive(2, plain, slice_of(bytes));
    Sender to_one(context, 1, 40), to_two(context, 2, 41);
    to_one.send(plain, large);
    to_two.send(plain, large);
    disconnect_now(context, 1);
    to_one.wait();
    send_signal(context, 1);
    send_signal(context, 2);
    to_two.wait();
    expect_equal(context, "outcome", "done", outcome_of(context, receive));
    expect_pattern(context, "message of the third rank", 42, bytes, 800);
    return;
  }
  if (rank == 1) return await_signal(context, 0);
  await_signal(context, 0);
  expect_message(context, 0, plain, 41, large);
  Sender sender(context, 0, 42);
  sender.send(plain, 800);
  sender.wait();
}

/// As workers of a slot follow each other: each sends and receives at random, is cut off, and the next one
/// starts. What both know of a generation is its key.
void generations_never_mix(Context& context) {
  const Rank rank = context.rank();
  const Rank peer = 1 - rank;
  Rng rng = Rng::stream(5, "generations", static_cast<std::uint64_t>(rank));
  for (std::uint32_t generation = 0; generation < 10; ++generation) {
    const std::uint32_t own = 2 * generation + static_cast<std::uint32_t>(rank);
    const std::uint32_t others = 2 * generation + static_cast<std::uint32_t>(peer);
    Sender sender(context, peer, own);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Pending> receives;
    for (const Channel channel : all_channels) {
      for (std::uint64_t count = rng.below(4); count > 0; --count) {
        buffers.push_back(std::make_unique<Buffer>(large));
        receives.push_back(context.receive(peer, channel, slice_of(*buffers.back())));
      }
      for (std::uint64_t count = rng.below(4); count > 0; --count) {
        sender.send(channel, rng.below(8) == 0 ? large : 1 + rng.below(100000));
        if (rng.below(4) == 0) sender.cancel_last();
      }
    }
    if (rng.below(2) == 0) pause(context, 0.0005);
    Pending disconnecting = context.disconnect(peer);
    for (std::size_t i = 0; i < receives.size(); ++i)
      if (outcome_of(context, receives[i]) == "done")
        expect(context, "a message of this generation",
               (*buffers[i])[0] == std::byte{0} || (*buffers[i])[0] == pattern_byte(others, 0));
    sender.wait();
    context.wait(disconnecting);
    meet(context, peer);
  }
  Sender last(context, peer, static_cast<std::uint32_t>(1000 + rank));
  for (const Channel channel : all_channels) last.send(channel, 900);
  for (const Channel channel : all_channels)
    expect_message(context, peer, channel, static_cast<std::uint32_t>(1000 + peer), 900);
  last.wait();
}

}  // namespace

std::vector<Scenario> disconnecting_scenarios() {
  std::vector<Scenario> scenarios = {
      {"a_disconnect_cancels_own_receives", 2, a_disconnect_cancels_own_receives},
      {"messages_before_a_disconnect_never_arrive", 2, messages_before_a_disconnect_never_arrive},
      {"a_disconnect_leaves_what_the_peer_has_sent", 2, a_disconnect_leaves_what_the_peer_has_sent},
      {"both_sides_disconnect_at_once", 2, both_sides_disconnect_at_once},
      {"messages_that_have_matched_arrive", 2, messages_that_have_matched_arrive},
      {"cancelled_messages_before_a_disconnect", 2, cancelled_messages_before_a_disconnect},
      {"messages_that_never_arrive_are_counted", 2, messages_that_never_arrive_are_counted},
      {"disconnecting_leaves_other_ranks", 3, disconnecting_leaves_other_ranks},
      {"generations_never_mix", 2, generations_never_mix}};
  for (Scenario& scenario : scenarios) scenario.withdraws = true;
  return scenarios;
}

}  // namespace tandem::conformance
