// Conformance of starting and waiting: wait_any, its order, empty entries, kernels, sleeps.
#include <array>

#include "tests/conformance/support.hpp"

namespace tandem::conformance {
namespace {

constexpr Channel plain{11, false};
constexpr Channel noted{12, true};
constexpr Work some_work{Work::Kind::forward, 0, 4, Bytes(0)};

void wait_empties_its_operation(Context& context) {
  Pending pending = context.sleep(Seconds(0));
  expect(context, "a started operation is not empty", !pending.empty());
  const Completion completion = context.wait(pending);
  expect_equal(context, "index", 0UL, completion.index);
  expect(context, "a waited operation is empty", pending.empty());
}

/// All operations have completed when wait_any is called: it returns them in the order of their ends.
void completed_operations_are_returned_in_the_order_of_their_ends(Context& context) {
  std::array<Pending, 3> pendings;
  pendings[0] = context.sleep(Seconds(0.003));
  pendings[1] = context.sleep(Seconds(0.001));
  pendings[2] = context.sleep(Seconds(0.002));
  pause(context, 0.02);
  for (const std::size_t expected : {1UL, 2UL, 0UL}) {
    expect_equal(context, "index", expected, context.wait_any(pendings).index);
    expect(context, "that entry is empty", pendings[expected].empty());
  }
}

/// Messages arrive while the rank works, in an order that is neither that of their indices nor that of the
/// posting of their receives; sleeps end in between.
void messages_that_arrived_during_work_are_returned_in_the_order_of_arrival(Context& context) {
  constexpr double apart_s = 0.05;
  constexpr std::array<int, 4> position = {0, 2, 3, 1};  // of each sender's message; rank 0 receives
  if (context.rank() > 0) {
    pause(context, apart_s * (position[static_cast<std::size_t>(context.rank())]));
    send_now(context, 0, noted, {}, numbered_note(context.rank()));
    return;
  }
  std::array<Pending, 5> pendings;
  for (const Rank from : {2, 3, 1})
    pendings[static_cast<std::size_t>(from)] = context.receive(from, noted, {});
  pendings[0] = context.sleep(Seconds(2.5 * apart_s));
  pendings[4] = context.sleep(Seconds(1.5 * apart_s));
  Pending work = context.sleep(Seconds(5 * apart_s));
  context.wait(work);
  for (const std::size_t expected : {3UL, 4UL, 1UL, 0UL, 2UL})
    expect_equal(context, "index", expected, context.wait_any(pendings).index);
}

void is_done_does_not_complete_the_operation(Context& context) {
  if (context.rank() == 0) {
    receive_now(context, 1, plain, {});
    send_now(context, 1, noted, {}, numbered_note(5));
    return;
  }
  Pending nothing = context.sleep(Seconds(0));
  expect(context, "a sleep of no time is done", context.is_done(nothing));
  context.wait(nothing);
  Pending message = context.receive(0, noted, {});
  expect(context, "a message that nobody has sent is not there", !context.is_done(message));
  send_now(context, 0, plain, {});
  while (!context.is_done(message)) pause(context, 0.001);
  expect(context, "it is still to be waited for", !message.empty() && context.is_done(message));
  expect_equal(context, "number of the note", std::int64_t{5}, number_of(context.wait(message).note));
}

void wait_any_skips_empty_entries(Context& context) {
  std::array<Pending, 4> pendings;
  pendings[3] = context.sleep(Seconds(0));
  expect_equal(context, "index", 3UL, context.wait_any(pendings).index);
  for (const Pending& pending : pendings) expect(context, "empty", pending.empty());
}

void earlier_completions_are_seen_first(Context& context) {
  std::array<Pending, 3> pendings;
  pendings[0] = context.sleep(Seconds(0.12));
  pendings[1] = context.sleep(Seconds(0.01));
  pendings[2] = context.sleep(Seconds(0.06));
  for (const std::size_t expected : {1UL, 2UL, 0UL})
    expect_equal(context, "index", expected, context.wait_any(pendings).index);
}

void a_message_ends_wait_any_before_a_long_sleep(Context& context) {
  if (context.rank() == 0) {
    pause(context, 0.01);
    send_now(context, 1, noted, {}, numbered_note(5));
    return;
  }
  std::array<Pending, 2> pendings;
  pendings[0] = context.sleep(Seconds(0.5));
  pendings[1] = context.receive(0, noted, {});
  const Completion completion = context.wait_any(pendings);
  expect_equal(context, "index of the message", 1UL, completion.index);
  expect_equal(context, "number of the note", std::int64_t{5}, number_of(completion.note));
  expect_equal(context, "index of the sleep", 0UL, context.wait_any(pendings).index);
}

void a_sleep_ends_wait_any_before_a_late_message(Context& context) {
  if (context.rank() == 0) {
    receive_now(context, 1, plain, {});
    send_now(context, 1, plain, {});
    return;
  }
  std::array<Pending, 2> pendings;
  pendings[0] = context.receive(0, plain, {});
  pendings[1] = context.sleep(Seconds(0.01));
  expect_equal(context, "index of the sleep", 1UL, context.wait_any(pendings).index);
  send_now(context, 0, plain, {});
  expect_equal(context, "index of the message", 0UL, context.wait_any(pendings).index);
}

/// Operations of all kinds together; each is reported exactly once.
void wait_any_takes_all_kinds(Context& context) {
  const Rank peer = 1 - context.rank();
  Buffer out = pattern(static_cast<std::uint32_t>(context.rank()), 5000);
  Buffer in(5000);
  int kernels = 0;
  int transfers = 0;
  std::array<Pending, 6> pendings;
  pendings[0] = context.receive(peer, plain, slice_of(in));
  pendings[1] = context.sleep(Seconds(0.005));
  pendings[2] = context.compute(some_work, [&kernels] { ++kernels; });
  pendings[3] = context.send(peer, plain, slice_of(out));
  pendings[4] = context.read(0, Bytes(1000), [&transfers] { ++transfers; });
  pendings[5] = context.write(0, Bytes(1000), [&transfers] { ++transfers; });
  std::array<int, 6> seen{};
  for (std::size_t i = 0; i < pendings.size(); ++i) {
    const std::size_t index = context.wait_any(pendings).index;
    ++seen.at(index);
    if (index == 0) expect_pattern(context, "message", static_cast<std::uint32_t>(peer), in, in.size());
  }
  for (const int times : seen) expect_equal(context, "times reported", 1, times);
  expect_equal(context, "kernels run", 1, kernels);
  expect_equal(context, "transfers run", 2, transfers);
}

void operations_may_be_waited_in_any_order(Context& context) {
  constexpr int count = 6;
  constexpr std::array<std::size_t, count> order{4, 0, 5, 2, 1, 3};
  std::array<Buffer, count> buffers;
  std::array<Pending, count> pendings;
  for (std::size_t i = 0; i < count; ++i) {
    const Channel channel{20, false, static_cast<std::int32_t>(i)};
    buffers[i] = context.rank() == 0 ? pattern(static_cast<std::uint32_t>(i), 700) : Buffer(700);
    pendings[i] = context.rank() == 0 ? context.send(1, channel, slice_of(buffers[i]))
                                      : context.receive(0, channel, slice_of(buffers[i]));
  }
  for (const std::size_t i : order) {
    context.wait(pendings[i]);
    if (context.rank() == 1)
      expect_pattern(context, "message", static_cast<std::uint32_t>(i), buffers[i], 700);
  }
}

void a_kernel_runs_once(Context& context) {
  int runs = 0;
  for (int i = 1; i <= 3; ++i) {
    Pending pending = context.compute(some_work, [&runs] { ++runs; });
    context.wait(pending);
    expect_equal(context, "runs", i, runs);
  }
  Pending without_kernel = context.compute(some_work);
  context.wait(without_kernel);
  expect_equal(context, "runs", 3, runs);
}

void several_computes_may_be_pending(Context& context) {
  std::array<int, 4> runs{};
  std::array<Pending, 4> pendings;
  for (std::size_t i = 0; i < 4; ++i) pendings[i] = context.compute(some_work, [&runs, i] { ++runs[i]; });
  context.wait_all(pendings);
  for (const int times : runs) expect_equal(context, "runs", 1, times);
}

void time_advances(Context& context) {
  double last = context.now().count();
  expect(context, "time is not negative", last >= 0);
  for (const double duration : {0.0, 0.003, 0.02}) {
    pause(context, duration);
    const double now = context.now().count();
    expect(context, "slept at least " + std::to_string(duration) + " s", now - last >= duration * (1 - 1e-9));
    last = now;
  }
  Pending work = context.compute(some_work);
  context.wait(work);
  expect(context, "time never goes back", context.now().count() >= last);
}

void ranks_are_numbered(Context& context) {
  expect_equal(context, "world size", 3, context.world_size());
  expect(context, "rank within the world", context.rank() >= 0 && context.rank() < 3);
  if (context.rank() != 0) {
    Buffer bytes(1, static_cast<std::byte>(context.rank()));
    send_now(context, 0, plain, slice_of(bytes));
    return;
  }
  for (const Rank from : {1, 2}) {
    Buffer bytes(1);
    receive_now(context, from, plain, slice_of(bytes));
    expect_equal(context, "rank sent by its owner", from, std::to_integer<int>(bytes[0]));
  }
}

}  // namespace

std::vector<Scenario> waiting_scenarios() {
  return {{"ranks_are_numbered", 3, ranks_are_numbered},
          {"wait_empties_its_operation", 1, wait_empties_its_operation},
          {"completed_operations_are_returned_in_the_order_of_their_ends", 1,
           completed_operations_are_returned_in_the_order_of_their_ends},
          {"messages_that_arrived_during_work_are_returned_in_the_order_of_arrival", 4,
           messages_that_arrived_during_work_are_returned_in_the_order_of_arrival},
          {"is_done_does_not_complete_the_operation", 2, is_done_does_not_complete_the_operation},
          {"wait_any_skips_empty_entries", 1, wait_any_skips_empty_entries},
          {"earlier_completions_are_seen_first", 1, earlier_completions_are_seen_first},
          {"a_message_ends_wait_any_before_a_long_sleep", 2, a_message_ends_wait_any_before_a_long_sleep},
          {"a_sleep_ends_wait_any_before_a_late_message", 2, a_sleep_ends_wait_any_before_a_late_message},
          {"wait_any_takes_all_kinds", 2, wait_any_takes_all_kinds},
          {"operations_may_be_waited_in_any_order", 2, operations_may_be_waited_in_any_order},
          {"a_kernel_runs_once", 1, a_kernel_runs_once},
          {"several_computes_may_be_pending", 1, several_computes_may_be_pending},
          {"time_advances", 1, time_advances}};
}

}  // namespace tandem::conformance
