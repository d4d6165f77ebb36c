// Conformance of messages between two or three ranks: bytes, order, channels, notes, sizes.
#include <algorithm>

#include "tests/conformance/support.hpp"

namespace tandem::conformance {
namespace {

constexpr Channel plain{1, false};
constexpr Channel other{2, false};
constexpr Channel noted{3, true};

void messages_deliver_their_bytes(Context& context) {
  for (const std::size_t size : {1UL, 7UL, 4096UL, 65536UL, 65537UL, 1000003UL}) {
    const auto key = static_cast<std::uint32_t>(size);
    if (context.rank() == 0) {
      Buffer bytes = pattern(key, size);
      send_now(context, 1, plain, slice_of(bytes));
    } else {
      Buffer bytes(size);
      receive_now(context, 0, plain, slice_of(bytes));
      expect_pattern(context, "message of " + std::to_string(size) + " bytes", key, bytes, size);
    }
  }
}

/// Small messages follow large ones and must not overtake them.
void messages_of_a_channel_keep_their_order(Context& context) {
  constexpr std::uint32_t count = 24;
  std::vector<Buffer> buffers;
  std::vector<Pending> pendings;
  const auto size_of = [](std::uint32_t i) { return i % 3 == 0 ? 300000UL : 8UL; };
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool sender = context.rank() == 0;
    buffers.push_back(sender ? pattern(i, size_of(i)) : Buffer(300000));
    const Slice slice = slice_of(buffers.back());
    pendings.push_back(sender ? context.send(1, plain, slice) : context.receive(0, plain, slice));
  }
  context.wait_all(pendings);
  if (context.rank() == 1)
    for (std::uint32_t i = 0; i < count; ++i)
      expect_pattern(context, "message " + std::to_string(i), i, buffers[i], size_of(i));
}

void channels_are_independent(Context& context) {
  Buffer first = pattern(1, 64);
  Buffer second = pattern(2, 64);
  if (context.rank() == 0) {
    Pending pendings[] = {context.send(1, plain, slice_of(first)), context.send(1, other, slice_of(second))};
    context.wait_all(pendings);
    return;
  }
  Buffer bytes(64);
  receive_now(context, 0, other, slice_of(bytes));
  expect_pattern(context, "second channel", 2, bytes, 64);
  receive_now(context, 0, plain, slice_of(bytes));
  expect_pattern(context, "first channel", 1, bytes, 64);
}

void senders_are_distinguished(Context& context) {
  if (context.rank() != 0) {
    Buffer bytes = pattern(static_cast<std::uint32_t>(context.rank()), 100);
    send_now(context, 0, plain, slice_of(bytes));
    return;
  }
  for (const Rank from : {2, 1}) {
    Buffer bytes(100);
    receive_now(context, from, plain, slice_of(bytes));
    expect_pattern(context, "message of rank " + std::to_string(from), static_cast<std::uint32_t>(from),
                   bytes, 100);
  }
}

void expect_note(const Context& context, int i, const Note& found) {
  expect_equal(context, "number of the note", std::int64_t{i}, number_of(found));
}

/// With payload, without, and above any eager limit; receives posted before and after arrival.
void notes_travel_with_messages(Context& context) {
  const std::size_t sizes[] = {0, 32, 200000, 0, 5};
  for (int i = 0; i < 5; ++i) {
    const std::size_t size = sizes[i];
    if (context.rank() == 0) {
      if (i % 2 == 0) pause(context, 0.01);
      Buffer bytes = pattern(static_cast<std::uint32_t>(i), size);
      send_now(context, 1, noted, slice_of(bytes), numbered_note(i));
    } else {
      if (i % 2 == 1) pause(context, 0.01);
      Buffer bytes(size);
      const Completion completion = receive_now(context, 0, noted, slice_of(bytes));
      expect_equal(context, "index from wait", 0UL, completion.index);
      expect_note(context, i, completion.note);
      expect_pattern(context, "payload", static_cast<std::uint32_t>(i), bytes, size);
    }
  }
}

/// A receiver must not see a note that was never sent: the channel does not carry notes.
void channels_without_notes_deliver_none(Context& context) {
  Buffer bytes(16);
  if (context.rank() == 0) {
    send_now(context, 1, plain, slice_of(bytes), numbered_note(3));
  } else {
    const Completion completion = receive_now(context, 0, plain, slice_of(bytes));
    expect(context, "there is no note", completion.note == Note{});
  }
}

void unexpected_messages_wait_in_order(Context& context) {
  constexpr std::uint32_t count = 5;
  if (context.rank() == 0) {
    std::vector<Buffer> buffers;
    std::vector<Pending> pendings;
    for (std::uint32_t i = 0; i < count; ++i) {
      buffers.push_back(pattern(i, 50 + i));
      pendings.push_back(context.send(1, plain, slice_of(buffers.back())));
    }
    send_now(context, 1, other, {});
    context.wait_all(pendings);
    return;
  }
  receive_now(context, 0, other, {});
  for (std::uint32_t i = 0; i < count; ++i) {
    Buffer bytes(64);
    receive_now(context, 0, plain, slice_of(bytes));
    expect_pattern(context, "unexpected message " + std::to_string(i), i, bytes, 50 + i);
  }
}

/// After its wait has returned, the sender may overwrite the sent memory, whether or not the message was
/// received.
void sent_memory_may_be_reused(Context& context) {
  constexpr std::uint32_t count = 4;
  if (context.rank() == 0) {
    Buffer bytes(512);
    for (std::uint32_t i = 0; i < count; ++i) {
      const Buffer fresh = pattern(i, bytes.size());
      std::copy(fresh.begin(), fresh.end(), bytes.begin());
      send_now(context, 1, plain, slice_of(bytes));
      std::fill(bytes.begin(), bytes.end(), std::byte{0xEE});
    }
    return;
  }
  pause(context, 0.02);
  for (std::uint32_t i = 0; i < count; ++i) {
    Buffer bytes(512);
    receive_now(context, 0, plain, slice_of(bytes));
    expect_pattern(context, "message " + std::to_string(i), i, bytes, bytes.size());
  }
}

void empty_messages_arrive(Context& context) {
  for (int i = 0; i < 3; ++i) {
    if (context.rank() == 0) {
      send_now(context, 1, plain, {});
      receive_now(context, 1, plain, {});
    } else {
      receive_now(context, 0, plain, {});
      send_now(context, 0, plain, {});
    }
  }
}

/// Modelled mathematics: a size without memory, on either side.
void messages_without_memory_arrive(Context& context) {
  const Slice slice{Bytes(300000), nullptr};
  if (context.rank() == 0) {
    send_now(context, 1, noted, slice, numbered_note(1));
  } else {
    expect_note(context, 1, receive_now(context, 0, noted, slice).note);
  }
}

void shorter_messages_leave_the_rest_alone(Context& context) {
  for (const std::size_t sent : {0UL, 16UL, 70000UL}) {
    for (const Channel channel : {plain, noted}) {
      if (context.rank() == 0) {
        Buffer bytes = pattern(9, sent);
        send_now(context, 1, channel, slice_of(bytes), numbered_note(2));
      } else {
        Buffer bytes(100000, std::byte{0x5A});
        const Completion completion = receive_now(context, 0, channel, slice_of(bytes));
        if (channel.carries_note) expect_note(context, 2, completion.note);
        expect_pattern(context, "start of the slice", 9, bytes, sent);
        const bool untouched = std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(sent), bytes.end(),
                                           [](std::byte b) { return b == std::byte{0x5A}; });
        expect(context, "memory behind a message of " + std::to_string(sent) + " bytes is untouched",
               untouched);
      }
    }
  }
}

void a_rank_may_send_to_itself(Context& context) {
  Buffer out = pattern(77, 3000);
  Buffer in(3000);
  Pending receive = context.receive(context.rank(), noted, slice_of(in));
  Pending send = context.send(context.rank(), noted, slice_of(out), numbered_note(4));
  context.wait(send);
  expect_note(context, 4, context.wait(receive).note);
  expect_pattern(context, "posted first", 77, in, in.size());

  Buffer second = pattern(78, 3000);
  Pending early = context.send(context.rank(), plain, slice_of(second));
  Pending late = context.receive(context.rank(), plain, slice_of(in));
  Pending both[] = {std::move(late), std::move(early)};
  context.wait_all(both);
  expect_pattern(context, "sent first", 78, in, in.size());
}

}  // namespace

std::vector<Scenario> message_scenarios() {
  return {{"messages_deliver_their_bytes", 2, messages_deliver_their_bytes},
          {"messages_of_a_channel_keep_their_order", 2, messages_of_a_channel_keep_their_order},
          {"channels_are_independent", 2, channels_are_independent},
          {"senders_are_distinguished", 3, senders_are_distinguished},
          {"notes_travel_with_messages", 2, notes_travel_with_messages},
          {"channels_without_notes_deliver_none", 2, channels_without_notes_deliver_none},
          {"unexpected_messages_wait_in_order", 2, unexpected_messages_wait_in_order},
          {"sent_memory_may_be_reused", 2, sent_memory_may_be_reused},
          {"empty_messages_arrive", 2, empty_messages_arrive},
          {"messages_without_memory_arrive", 2, messages_without_memory_arrive},
          {"shorter_messages_leave_the_rest_alone", 2, shorter_messages_leave_the_rest_alone},
          {"a_rank_may_send_to_itself", 1, a_rank_may_send_to_itself}};
}

}  // namespace tandem::conformance
