// Conformance of cancelled operations, and of ranks that leave.
#include <algorithm>

#include "tests/conformance/support.hpp"

namespace tandem::conformance {
namespace {

constexpr Channel plain{61, false};
constexpr Channel other{62, false};
constexpr Channel noted{63, true};
/// Larger than what any transport buffers before a receive is posted.
constexpr std::size_t large = 9UL << 20;

std::string text_of(Outcome outcome) {
  return outcome == Outcome::done ? "done" : outcome == Outcome::cancelled ? "cancelled" : "peer left";
}

std::string outcome_of(Context& context, Pending& pending) { return text_of(context.wait(pending).outcome); }

bool is_untouched(const Buffer& bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

void a_cancelled_receive_leaves_its_message(Context& context) {
  for (const Channel channel : {plain, noted}) {
    if (context.rank() == 0) {
      receive_now(context, 1, other, {});
      Buffer bytes = pattern(1, 300);
      send_now(context, 1, channel, slice_of(bytes), numbered_note(1));
      continue;
    }
    Buffer first(300), second(300);
    Pending cancelled = context.receive(0, channel, slice_of(first));
    context.cancel(cancelled);
    expect(context, "a cancelled operation is still to be waited for", !cancelled.empty());
    expect_equal(context, "outcome", "cancelled", outcome_of(context, cancelled));
    send_now(context, 0, other, {});
    expect_equal(context, "outcome", "done",
                 text_of(receive_now(context, 0, channel, slice_of(second)).outcome));
    expect_pattern(context, "message", 1, second, second.size());
    expect(context, "memory of the cancelled receive is untouched", is_untouched(first));
  }
}

/// Cancels the first, the last or a middle one of several receives; messages match the others in order.
void other_receives_take_what_a_cancelled_one_leaves(Context& context) {
  constexpr std::size_t count = 4;
  for (const Channel channel : {plain, noted})
    for (std::size_t cancelled = 0; cancelled < count; ++cancelled) {
      if (context.rank() == 0) {
        receive_now(context, 1, other, {});
        for (std::uint32_t i = 0; i + 1 < count; ++i) {
          Buffer bytes = pattern(i, 200 + 30000 * i);
          send_now(context, 1, channel, slice_of(bytes), numbered_note(i));
        }
        continue;
      }
      std::vector<Buffer> buffers(count, Buffer(100000));
      std::vector<Pending> pendings;
      for (Buffer& bytes : buffers) pendings.push_back(context.receive(0, channel, slice_of(bytes)));
      context.cancel(pendings[cancelled]);
      send_now(context, 0, other, {});
      std::uint32_t message = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::string expected = i == cancelled ? "cancelled" : "done";
        expect_equal(context, "outcome of receive " + std::to_string(i), expected,
                     outcome_of(context, pendings[i]));
        if (i == cancelled) continue;
        expect_pattern(context, "message", message, buffers[i], 200 + 30000 * message);
        ++message;
      }
    }
}

/// A message comes while its receive and a later, smaller one are cancelled, with many between the two.
void several_receives_are_cancelled_as_one(Context& context) {
  constexpr int between = 400;
  constexpr std::size_t size = 300;
  for (std::uint32_t round = 0; round < 20; ++round) {
    const Channel channel = round % 2 == 0 ? plain : noted;
    if (context.rank() == 0) {
      receive_now(context, 1, other, {});
      Buffer bytes = pattern(round, size);
      send_now(context, 1, channel, slice_of(bytes), numbered_note(round));
      continue;
    }
    Buffer large_enough(size), too_small(20);
    std::vector<Pending> receives;
    receives.push_back(context.receive(0, channel, slice_of(large_enough)));
    for (int bucket = 0; bucket < between; ++bucket)
      receives.push_back(context.receive(0, {other.stream, true, bucket}, {}));
    receives.push_back(context.receive(0, channel, slice_of(too_small)));
    // An entry that is empty, too.
    receives.emplace_back();
    send_now(context, 0, other, {});
    context.cancel_all(receives);
    const bool has_come = outcome_of(context, receives.front()) == "done";
    receives.pop_back();
    for (Pending& receive : std::span(receives).subspan(1))
      expect_equal(context, "outcome", "cancelled", outcome_of(context, receive));
    if (!has_come) receive_now(context, 0, channel, slice_of(large_enough));
    expect_pattern(context, "message", round, large_enough, size);
    expect(context, "memory of the smaller receive is untouched", is_untouched(too_small));
  }
}

void a_cancelled_sleep_ends_at_once(Context& context) {
  Pending sleep = context.sleep(Seconds(1000));
  context.cancel(sleep);
  expect_equal(context, "outcome", "cancelled", outcome_of(context, sleep));
  Pending begun = context.sleep(Seconds(1000));
  pause(context, 0.001);
  context.cancel(begun);
  expect_equal(context, "outcome", "cancelled", outcome_of(context, begun));
  expect(context, "it took no time", context.now() < Seconds(100));
  pause(context, 0.001);
}

void completed_operations_cannot_be_cancelled(Context& context) {
  Pending sleep = context.sleep(Seconds(0));
  context.cancel(sleep);
  expect_equal(context, "outcome of a sleep", "done", outcome_of(context, sleep));
  for (const bool concurrent : {false, true}) {
    int runs = 0;
    Pending work = context.compute({.kind = Work::Kind::forward, .samples = 1, .concurrent = concurrent},
                                   [&runs] { ++runs; });
    context.cancel(work);
    expect_equal(context, "outcome of work", "done", outcome_of(context, work));
    expect_equal(context, "runs", 1, runs);
  }
  if (context.rank() == 0) {
    Buffer bytes = pattern(4, 1000);
    send_now(context, 1, noted, slice_of(bytes), numbered_note(4));
    receive_now(context, 1, other, {});
    return;
  }
  Buffer bytes(1000);
  Pending message = context.receive(0, noted, slice_of(bytes));
  while (!context.is_done(message)) pause(context, 0.001);
  context.cancel(message);
  const Completion completion = context.wait(message);
  expect_equal(context, "outcome of a message", "done", text_of(completion.outcome));
  expect_equal(context, "number of the note", std::int64_t{4}, number_of(completion.note));
  expect_pattern(context, "message", 4, bytes, bytes.size());
  send_now(context, 0, other, {});
}

/// Cancelled before the transfer starts, and during it.
void a_cancelled_send_never_arrives(Context& context) {
  for (const Channel channel : {plain, noted})
    for (const double after_s : {0.0, 0.0001}) {
      if (context.rank() == 0) {
        Buffer bytes = pattern(1, large);
        Pending send = context.send(1, channel, slice_of(bytes), numbered_note(1));
        if (after_s > 0) pause(context, after_s);
        context.cancel(send);
        expect_equal(context, "outcome", "cancelled", outcome_of(context, send));
        send_now(context, 1, other, {});
        Buffer next = pattern(2, 500);
        send_now(context, 1, channel, slice_of(next), numbered_note(2));
        continue;
      }
      receive_now(context, 0, other, {});
      Buffer bytes(large);
      const Completion completion = receive_now(context, 0, channel, slice_of(bytes));
      expect_pattern(context, "the next message", 2, bytes, 500);
      if (channel.carries_note)
        expect_equal(context, "number of the note", std::int64_t{2}, number_of(completion.note));
      bytes.erase(bytes.begin(), bytes.begin() + 500);
      expect(context, "nothing else came", is_untouched(bytes));
    }
}

/// If the message matches a receive before the cancellation takes effect, it arrives, and the sender is
/// notified.
void a_cancelled_send_arrives_completely_or_not_at_all(Context& context) {
  for (const double wait_s : {0.0, 0.1}) {
    if (context.rank() == 0) {
      Buffer first = pattern(1, 400), second = pattern(2, large), third = pattern(3, 600);
      std::vector<Pending> sends;
      for (Buffer* bytes : {&first, &second, &third})
        sends.push_back(context.send(1, noted, slice_of(*bytes), numbered_note(0)));
      context.cancel(sends[1]);
      if (wait_s > 0) pause(context, wait_s);
      send_now(context, 1, other, {});
      const std::string outcome = outcome_of(context, sends[1]);
      context.wait_all(sends);
      Buffer arrives(outcome == "done" ? 1 : 2);
      send_now(context, 1, plain, slice_of(arrives));
      continue;
    }
    receive_now(context, 0, other, {});
    Buffer first(large), next(large), last(large);
    receive_now(context, 0, noted, slice_of(first));
    expect_pattern(context, "first message", 1, first, 400);
    receive_now(context, 0, noted, slice_of(next));
    const bool has_arrived = next[0] == pattern_byte(2, 0) && next[1] == pattern_byte(2, 1);
    if (has_arrived) {
      expect_pattern(context, "second message", 2, next, large);
      receive_now(context, 0, noted, slice_of(last));
    }
    expect_pattern(context, "third message", 3, has_arrived ? last : next, 600);
    std::fill_n(first.begin(), 2, std::byte{7});
    Pending verdict = context.receive(0, plain, {Bytes(2), first.data()});
    context.wait(verdict);
    expect_equal(context, "the sender knows", has_arrived, first[1] == std::byte{7});
  }
}

/// Looks at its messages so often that even on a busy machine no cancellation that was sent before goes
/// unheard.
void receive_cancellations(Context& context) {
  for (int moment = 0; moment < 10; ++moment) {
    Pending sleep = context.sleep(Seconds(0.002));
    for (int look = 0; look < 200 && !context.is_done(sleep); ++look) continue;
    context.wait(sleep);
  }
}

/// Two messages that follow each other are cancelled; then the receive of the message before them is.
void messages_around_cancelled_ones_arrive(Context& context) {
  if (context.rank() == 0) {
    std::vector<Buffer> messages = {pattern(1, 400), pattern(2, large), pattern(3, large), pattern(4, 600)};
    std::vector<Pending> sends;
    for (Buffer& bytes : messages) sends.push_back(context.send(1, noted, slice_of(bytes), numbered_note(0)));
    for (const std::size_t cancelled : {1U, 2U}) context.cancel(sends[cancelled]);
    send_now(context, 1, other, {});
    for (const std::size_t cancelled : {1U, 2U})
      expect_equal(context, "outcome", "cancelled", outcome_of(context, sends[cancelled]));
    context.wait_all(sends);
    return;
  }
  receive_now(context, 0, other, {});
  receive_cancellations(context);
  Buffer first(large), next(large), last(large);
  Pending receive = context.receive(0, noted, slice_of(first));
  context.cancel(receive);
  const bool has_arrived = outcome_of(context, receive) == "done";
  if (!has_arrived) receive_now(context, 0, noted, slice_of(next));
  expect_pattern(context, "first message", 1, has_arrived ? first : next, 400);
  receive_now(context, 0, noted, slice_of(last));
  expect_pattern(context, "last message", 4, last, 600);
}

void leave_first(Context& context) {
  Pending receive = context.receive(1, other, {});
  Buffer bytes = pattern(1, 700);
  send_now(context, 1, plain, slice_of(bytes));
  send_now(context, 2, noted, slice_of(bytes), numbered_note(5));
  context.announce_departure();
  expect_equal(context, "own receive", "cancelled", outcome_of(context, receive));
}

void lose_the_first(Context& context) {
  Buffer bytes(700), large_bytes = pattern(2, large);
  Pending unreceived = context.send(0, noted, slice_of(large_bytes), numbered_note(1));
  Pending sent_before = context.receive(0, plain, slice_of(bytes));
  Pending never_sent = context.receive(0, plain, slice_of(bytes));
  expect_equal(context, "message of before", "done", outcome_of(context, sent_before));
  expect_pattern(context, "message of before", 1, bytes, bytes.size());
  expect_equal(context, "posted receive", "peer left", outcome_of(context, never_sent));
  expect_equal(context, "send that is not received", "peer left", outcome_of(context, unreceived));
  Pending late_receive = context.receive(0, plain, slice_of(bytes));
  Pending late_send = context.send(0, plain, slice_of(bytes));
  expect_equal(context, "later receive", "peer left", outcome_of(context, late_receive));
  expect_equal(context, "later send", "peer left", outcome_of(context, late_send));
}

void a_rank_announces_its_departure(Context& context) {
  if (context.rank() == 0) return leave_first(context);
  if (context.rank() == 1) lose_the_first(context);
  if (context.rank() == 2) {
    Pending never_sent = context.receive(0, other, {});
    expect_equal(context, "receive", "peer left", outcome_of(context, never_sent));
    Buffer bytes(700);
    const Completion completion = receive_now(context, 0, noted, slice_of(bytes));
    expect_equal(context, "message of before, received afterwards", "done", text_of(completion.outcome));
    expect_equal(context, "number of the note", std::int64_t{5}, number_of(completion.note));
    expect_pattern(context, "message of before, received afterwards", 1, bytes, bytes.size());
  }
  // The remaining ranks continue.
  const Rank peer = 3 - context.rank();
  Buffer out = pattern(static_cast<std::uint32_t>(context.rank()), 5000), in(5000);
  Pending receive = context.receive(peer, plain, slice_of(in));
  send_now(context, peer, plain, slice_of(out));
  expect_equal(context, "message of a rank that stays", "done", outcome_of(context, receive));
  expect_pattern(context, "message of a rank that stays", static_cast<std::uint32_t>(peer), in, in.size());
}

/// So long that only stop_work can end it. Native work ends immediately: nothing is to be stopped.
constexpr int samples_for_ever = 1000000;

bool work_takes_time(Context& context) {
  Pending probe = context.compute({.kind = Work::Kind::forward, .samples = samples_for_ever});
  const bool takes_time = !context.is_done(probe);
  context.stop_work();
  context.wait(probe);
  return takes_time;
}

/// The first ends while others wait for the device, and others run concurrently.
void stopped_work_ends_at_once(Context& context) {
  const std::string expected = work_takes_time(context) ? "cancelled" : "done";
  for (const double begun_s : {0.0, 0.001})
    for (const int count : {1, 3}) {
      int runs = 0;
      std::vector<Pending> works;
      for (int i = 0; i < count; ++i)
        for (const bool concurrent : {false, true})
          for (const auto kind : {Work::Kind::forward, Work::Kind::reduce})
            works.push_back(context.compute(
                {.kind = kind, .samples = samples_for_ever, .concurrent = concurrent}, [&runs] { ++runs; }));
      if (begun_s > 0) pause(context, begun_s);
      context.stop_work();
      for (Pending& work : works) expect_equal(context, "outcome", expected, outcome_of(context, work));
      expect_equal(context, "kernels that have run", 4 * count, runs);
      expect(context, "it took no time", context.now() < Seconds(100));
    }
}

void work_after_stopped_work_starts_at_once(Context& context) {
  const std::string expected = work_takes_time(context) ? "cancelled" : "done";
  std::vector<Pending> stopped;
  for (const bool concurrent : {false, true})
    stopped.push_back(context.compute(
        {.kind = Work::Kind::forward, .samples = samples_for_ever, .concurrent = concurrent}, [] {}));
  context.stop_work();
  context.stop_work();
  // Before anybody has waited for the stopped work.
  for (const bool concurrent : {false, true}) {
    Pending work = context.compute({.kind = Work::Kind::backward, .samples = 1, .concurrent = concurrent});
    expect_equal(context, "outcome of later work", "done", outcome_of(context, work));
  }
  for (Pending& work : stopped) expect_equal(context, "outcome", expected, outcome_of(context, work));
  expect(context, "it took no time", context.now() < Seconds(100));
  Pending work = context.compute({.kind = Work::Kind::backward, .samples = 1});
  expect_equal(context, "outcome of the last work", "done", outcome_of(context, work));
}

/// Work that has ended, sleeps, disks and messages.
void stopping_work_leaves_all_else(Context& context) {
  const Rank peer = 1 - context.rank();
  Pending ended = context.compute({.kind = Work::Kind::forward, .samples = 1});
  while (!context.is_done(ended)) pause(context, 0.001);
  Pending sleep = context.sleep(Seconds(0.002));
  Pending write = context.write(0, {Bytes(100000)}, {});
  Buffer out = pattern(static_cast<std::uint32_t>(context.rank()), large), in(large);
  Pending receive = context.receive(peer, noted, slice_of(in));
  Pending send = context.send(peer, noted, slice_of(out), numbered_note(1));
  Pending stopped = context.compute({.kind = Work::Kind::forward, .samples = samples_for_ever}, [] {});
  context.stop_work();
  expect_equal(context, "outcome of work that had ended", "done", outcome_of(context, ended));
  expect_equal(context, "outcome of a sleep", "done", outcome_of(context, sleep));
  expect_equal(context, "outcome of a write", "done", outcome_of(context, write));
  expect_equal(context, "outcome of a receive", "done", outcome_of(context, receive));
  expect_pattern(context, "message", static_cast<std::uint32_t>(peer), in, in.size());
  context.wait(send);
  context.wait(stopped);
  expect(context, "it took no time", context.now() < Seconds(100));
}

}  // namespace

std::vector<Scenario> leaving_scenarios() {
  std::vector<Scenario> scenarios = {
      {"a_cancelled_receive_leaves_its_message", 2, a_cancelled_receive_leaves_its_message},
      {"other_receives_take_what_a_cancelled_one_leaves", 2, other_receives_take_what_a_cancelled_one_leaves},
      {"several_receives_are_cancelled_as_one", 2, several_receives_are_cancelled_as_one},
      {"a_cancelled_send_never_arrives", 2, a_cancelled_send_never_arrives},
      {"messages_around_cancelled_ones_arrive", 2, messages_around_cancelled_ones_arrive},
      {"a_cancelled_send_arrives_completely_or_not_at_all", 2,
       a_cancelled_send_arrives_completely_or_not_at_all},
      {"a_rank_announces_its_departure", 3, a_rank_announces_its_departure}};
  for (Scenario& scenario : scenarios) scenario.withdraws = true;
  const std::vector<Scenario> stops = {
      {"stopped_work_ends_at_once", 1, stopped_work_ends_at_once},
      {"work_after_stopped_work_starts_at_once", 1, work_after_stopped_work_starts_at_once},
      {"stopping_work_leaves_all_else", 2, stopping_work_leaves_all_else}};
  for (const Scenario& scenario : stops)
    scenarios.push_back(
        {scenario.name, scenario.ranks, scenario.body, /*withdraws=*/true, /*stops_work=*/true});
  scenarios.push_back({"a_cancelled_sleep_ends_at_once", 1, a_cancelled_sleep_ends_at_once});
  scenarios.push_back(
      {"completed_operations_cannot_be_cancelled", 2, completed_operations_cannot_be_cancelled});
  return scenarios;
}

}  // namespace tandem::conformance
