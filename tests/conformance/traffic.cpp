// Conformance of heavier traffic: both ways at once, many to one, a ring all-reduce, random programs.
#include <algorithm>
#include <array>
#include <random>

#include "tests/conformance/support.hpp"

namespace tandem::conformance {
namespace {

constexpr Channel plain{31, false};
constexpr Channel noted{32, true};

/// Far above any eager limit: a rank that waits for its send first must not block the other.
void large_messages_cross(Context& context) {
  constexpr std::size_t size = 4UL << 20;
  const Rank peer = 1 - context.rank();
  for (const bool send_first : {true, false}) {
    Buffer out = pattern(static_cast<std::uint32_t>(context.rank()), size);
    Buffer in(size);
    Pending receive = context.receive(peer, plain, slice_of(in));
    Pending send = context.send(peer, plain, slice_of(out));
    context.wait(send_first ? send : receive);
    context.wait(send_first ? receive : send);
    expect_pattern(context, "message", static_cast<std::uint32_t>(peer), in, size);
  }
}

/// Each of four ranks sends to all others concurrently.
void everyone_sends_to_everyone(Context& context) {
  constexpr std::size_t size = 200000;
  const int world = context.world_size();
  std::vector<Buffer> in(static_cast<std::size_t>(world));
  std::vector<Buffer> out(static_cast<std::size_t>(world));
  std::vector<Pending> pendings;
  const auto key = [world](Rank from, Rank to) { return static_cast<std::uint32_t>(from * world + to); };
  for (Rank peer = 0; peer < world; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    in[i].resize(size);
    out[i] = pattern(key(context.rank(), peer), size);
    pendings.push_back(context.receive(peer, plain, slice_of(in[i])));
    pendings.push_back(context.send(peer, plain, slice_of(out[i])));
  }
  context.wait_all(pendings);
  for (Rank peer = 0; peer < world; ++peer)
    expect_pattern(context, "message of rank " + std::to_string(peer), key(peer, context.rank()),
                   in[static_cast<std::size_t>(peer)], size);
}

/// A server keeps one posted receive per client, and posts it again after each message.
void many_send_to_one(Context& context) {
  constexpr int each = 40;
  const int clients = context.world_size() - 1;
  if (context.rank() != 0) {
    for (int i = 0; i < each; ++i) {
      Buffer bytes = pattern(static_cast<std::uint32_t>(context.rank() * 1000 + i), 100);
      send_now(context, 0, noted, slice_of(bytes), numbered_note(i));
    }
    return;
  }
  std::vector<Buffer> buffers(static_cast<std::size_t>(clients), Buffer(100));
  std::vector<int> received(static_cast<std::size_t>(clients), 0);
  std::vector<Pending> pendings;
  for (int client = 0; client < clients; ++client)
    pendings.push_back(
        context.receive(client + 1, noted, slice_of(buffers[static_cast<std::size_t>(client)])));
  for (int i = 0; i < clients * each; ++i) {
    const Completion completion = context.wait_any(pendings);
    const std::size_t client = completion.index;
    const Rank from = static_cast<Rank>(client) + 1;
    expect_equal(context, "number of the note", std::int64_t{received.at(client)},
                 number_of(completion.note));
    expect_pattern(context, "message", static_cast<std::uint32_t>(from * 1000 + received[client]),
                   buffers[client], 100);
    if (++received[client] < each) pendings[client] = context.receive(from, noted, slice_of(buffers[client]));
  }
}

/// Several receives of one channel match messages in the order in which they were posted.
void posted_receives_match_in_order(Context& context) {
  constexpr std::uint32_t count = 200;
  std::vector<Buffer> buffers;
  std::vector<Pending> pendings;
  buffers.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool sender = context.rank() == 0;
    buffers.push_back(sender ? pattern(i, 40) : Buffer(40));
    const Slice slice = slice_of(buffers.back());
    pendings.push_back(sender ? context.send(1, plain, slice) : context.receive(0, plain, slice));
  }
  if (context.rank() == 0) {
    context.wait_all(pendings);
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) context.wait_any(pendings);
  for (std::uint32_t i = 0; i < count; ++i)
    expect_pattern(context, "message " + std::to_string(i), i, buffers[i], 40);
}

/// The textbook ring on integers: 2(n-1) rounds of one piece each.
void a_ring_all_reduce_sums(Context& context) {
  constexpr std::size_t piece = 1000;
  const auto n = static_cast<std::size_t>(context.world_size());
  const auto self = static_cast<std::size_t>(context.rank());
  std::vector<std::int64_t> values(piece * n);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * (self + 1));
  std::vector<std::int64_t> arrived(piece);
  const auto right = static_cast<Rank>((self + 1) % n);
  const auto left = static_cast<Rank>((self + n - 1) % n);
  const Bytes size(static_cast<std::int64_t>(piece * sizeof(std::int64_t)));
  for (std::size_t round = 0; round < 2 * (n - 1); ++round) {
    std::int64_t* const sent = values.data() + piece * ((self + 2 * n - round) % n);
    std::int64_t* const wanted = values.data() + piece * ((self + 2 * n - round - 1) % n);
    Pending receive = context.receive(left, plain, {size, reinterpret_cast<std::byte*>(arrived.data())});
    Pending send = context.send(right, plain, {size, reinterpret_cast<std::byte*>(sent)});
    context.wait(receive);
    context.wait(send);
    for (std::size_t i = 0; i < piece; ++i) wanted[i] = round < n - 1 ? wanted[i] + arrived[i] : arrived[i];
  }
  const auto factor = static_cast<std::int64_t>(n * (n + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    expect_equal(context, "element " + std::to_string(i), static_cast<std::int64_t>(i) * factor, values[i]);
}

struct PlannedMessage {
  Rank from;
  Rank to;
  Channel channel;
  std::size_t size;
};

/// The same list on every rank, since it depends only on the seed.
std::vector<PlannedMessage> plan_messages(std::uint32_t seed, int world) {
  std::mt19937 random(seed);
  const auto below = [&random](unsigned bound) { return static_cast<int>(random() % bound); };
  std::vector<PlannedMessage> plan;
  for (int i = 0; i < 120; ++i) {
    const auto stream = static_cast<std::int16_t>(40 + below(3));
    const Rank from = below(static_cast<unsigned>(world));
    const Rank to = below(static_cast<unsigned>(world));
    const std::size_t sizes[] = {0, 1, 100, 3000, 70000, 150000};
    plan.push_back({from, to, Channel{stream, stream == 42}, sizes[below(6)]});
  }
  return plan;
}

/// Starts this rank's part of a random program in order, some receives late, and waits in random order.
void run_random_program(Context& context, std::uint32_t seed) {
  const std::vector<PlannedMessage> plan = plan_messages(seed, context.world_size());
  std::mt19937 random(seed * 7919U + static_cast<std::uint32_t>(context.rank()));
  std::vector<Buffer> buffers;
  std::vector<Pending> pendings;
  std::vector<std::size_t> message_of;
  buffers.reserve(plan.size() * 2);
  const auto start = [&](std::size_t i, bool sending) {
    const PlannedMessage& message = plan[i];
    buffers.push_back(sending ? pattern(static_cast<std::uint32_t>(i), message.size) : Buffer(150000));
    const Note note = numbered_note(static_cast<std::int64_t>(i));
    pendings.push_back(sending ? context.send(message.to, message.channel, slice_of(buffers.back()), note)
                               : context.receive(message.from, message.channel, slice_of(buffers.back())));
    message_of.push_back(sending ? plan.size() : i);
  };
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].to == context.rank()) start(i, false);
    if (plan[i].from == context.rank()) start(i, true);
    if (random() % 16 == 0) pause(context, 0.001);
  }
  for (std::size_t left = pendings.size(); left > 0; --left) {
    const Completion completion = context.wait_any(pendings);
    const std::size_t i = message_of.at(completion.index);
    if (i == plan.size()) continue;
    const std::string what = "seed " + std::to_string(seed) + ", message " + std::to_string(i);
    expect_pattern(context, what, static_cast<std::uint32_t>(i), buffers[completion.index], plan[i].size);
    if (plan[i].channel.carries_note)
      expect_equal(context, what + " note", static_cast<std::int64_t>(i), number_of(completion.note));
  }
}

void random_programs_deliver(Context& context) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) run_random_program(context, seed);
}

/// Many operations in sequence, as in a training job.
void many_round_trips_complete(Context& context) {
  const Rank peer = 1 - context.rank();
  std::int64_t value = 0;
  const Slice slice{Bytes(sizeof(value)), reinterpret_cast<std::byte*>(&value)};
  for (std::int64_t i = 0; i < 2000; ++i) {
    if (context.rank() == 0) {
      value = i;
      send_now(context, peer, plain, slice);
      receive_now(context, peer, plain, slice);
      expect_equal(context, "answer", 3 * i + 1, value);
    } else {
      receive_now(context, peer, plain, slice);
      value = 3 * value + 1;
      send_now(context, peer, plain, slice);
    }
  }
}

}  // namespace

std::vector<Scenario> traffic_scenarios() {
  return {{"large_messages_cross", 2, large_messages_cross},
          {"everyone_sends_to_everyone", 4, everyone_sends_to_everyone},
          {"many_send_to_one", 5, many_send_to_one},
          {"posted_receives_match_in_order", 2, posted_receives_match_in_order},
          {"a_ring_all_reduce_sums", 4, a_ring_all_reduce_sums},
          {"random_programs_deliver", 4, random_programs_deliver},
          {"many_round_trips_complete", 2, many_round_trips_complete}};
}

}  // namespace tandem::conformance
