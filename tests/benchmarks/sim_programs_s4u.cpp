// The baselines: the same computations and messages written by hand on S4U, in the style of its examples.
#include <xbt/log.h>

#include <optional>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "platforms/simgrid_version.hpp"
#include "policies/collectives/schedule.hpp"
#include "tests/benchmarks/sim_bench_platform.hpp"
#include "tests/benchmarks/sim_programs.hpp"

namespace tandem::benchmarks {
namespace {

namespace s4u = simgrid::s4u;
constexpr std::int64_t element_size = sizeof(float);

s4u::Mailbox* mailbox_of(int rank) { return s4u::Mailbox::by_name("m" + std::to_string(rank)); }
/// One mailbox per pair: a neighbour may be one round ahead.
s4u::Mailbox* mailbox_between(int from, int to) {
  return s4u::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

template <class Body>
Outcome run(int ranks, const Body& body) {
  char name[] = "baseline";
  char* arguments[] = {name, nullptr};
  int count = 1;
  s4u::Engine engine(&count, arguments);
  xbt_log_control_set("root.thres:critical");
  for (const char* flag : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e15"})
    s4u::Engine::set_config(flag);
  const PlatformFile platform(ranks);
  engine.load_platform(platform.path());
  std::optional<double> begin_s;
  double end_s = 0;
  double makespan_s = 0;
  for (int rank = 0; rank < ranks; ++rank)
    simgrid_version::add_actor("r" + std::to_string(rank), *engine.host_by_name("h" + std::to_string(rank)),
                               [&, rank] {
                                 if (!begin_s) begin_s = cpu_seconds();
                                 mailbox_of(rank)->set_receiver(s4u::Actor::self());
                                 body(rank);
                                 end_s = cpu_seconds();
                                 makespan_s = s4u::Engine::get_clock();
                               });
  engine.run();
  return {end_s - *begin_s, makespan_s};
}

void serve(int workers, int rounds) {
  std::vector<s4u::Mailbox*> answers;
  for (int worker = 0; worker <= workers; ++worker) answers.push_back(mailbox_of(worker));
  s4u::Mailbox* const pushes = answers[0];
  std::vector<s4u::CommPtr> sent(static_cast<std::size_t>(workers) + 1);
  for (int i = 0; i < workers * rounds; ++i) {
    const int worker = *pushes->get<int>();
    s4u::this_actor::execute(update_s * flops_per_s);
    s4u::CommPtr& previous = sent[static_cast<std::size_t>(worker)];
    if (previous) previous->wait();
    previous = answers[static_cast<std::size_t>(worker)]->put_async(&sent, message_size);
  }
  for (const s4u::CommPtr& comm : sent)
    if (comm) comm->wait();
}

}  // namespace

Outcome server_on_s4u(int workers, int rounds) {
  return run(workers + 1, [=](int rank) {
    if (rank == 0) return serve(workers, rounds);
    s4u::Mailbox* const server = mailbox_of(0);
    s4u::Mailbox* const own = mailbox_of(rank);
    for (int i = 0; i < rounds; ++i) {
      s4u::this_actor::execute(worker_step_s(rank) * flops_per_s);
      server->put(&rank, message_size);
      own->get<void>();
    }
  });
}

Outcome halving_doubling_on_s4u(int ranks) {
  return run(ranks, [=](int rank) {
    const auto schedule =
        collectives::catalog().find("halving-doubling").make(rank, ranks, ring_size / element_size);
    for (const auto& round : schedule.rounds) {
      std::vector<s4u::CommPtr> sent;
      for (const auto& transfer : round)
        if (transfer.kind == collectives::Transfer::Kind::send)
          sent.push_back(
              mailbox_between(rank, transfer.peer)
                  ->put_async(&rank, static_cast<std::uint64_t>(transfer.piece.size() * element_size)));
      for (const auto& transfer : round)
        if (transfer.kind != collectives::Transfer::Kind::send)
          mailbox_between(transfer.peer, rank)->get<void>();
      for (const auto& comm : sent) comm->wait();
    }
  });
}

Outcome all_reduce_on_s4u(const std::string& collective, int ranks, std::int64_t elements) {
  const collectives::Schedules schedules = collectives::catalog().find(collective).make.schedules(ranks);
  return run(ranks, [&](int rank) {
    struct Pair {
      s4u::Mailbox* to;
      s4u::Mailbox* from;
    };
    std::unordered_map<int, Pair> pairs;
    const auto with = [&](int peer) -> const Pair& {
      const auto [found, is_new] = pairs.try_emplace(peer);
      if (!is_new) return found->second;
      found->second = {mailbox_between(rank, peer), mailbox_between(peer, rank)};
      // A message sets out when it is sent, not when it is received.
      found->second.from->set_receiver(s4u::Actor::self());
      return found->second;
    };
    const auto schedule = schedules(rank, elements);
    collectives::Round round;
    std::vector<s4u::CommPtr> sent;
    for (std::size_t number = 0; number < schedule.rounds.size(); ++number) {
      schedule.rounds.read(number, round);
      for (const auto& [kind, peer, piece] : round)
        if (kind == collectives::Transfer::Kind::send)
          sent.push_back(
              with(peer).to->put_async(&rank, static_cast<std::uint64_t>(piece.size() * element_size)));
      for (const auto& [kind, peer, piece] : round) {
        if (kind == collectives::Transfer::Kind::send) continue;
        with(peer).from->get<void>();
        if (kind == collectives::Transfer::Kind::receive_and_reduce)
          s4u::this_actor::execute(static_cast<double>(piece.size() * element_size) / reduced_bytes_per_s *
                                   flops_per_s);
      }
      for (const auto& comm : sent) comm->wait();
      sent.clear();
    }
  });
}

Outcome ring_on_s4u(int ranks, int repetitions) {
  return run(ranks, [=](int rank) {
    s4u::Mailbox* const right = mailbox_of((rank + 1) % ranks);
    s4u::Mailbox* const own = mailbox_of(rank);
    for (int round = 0; round < repetitions * 2 * (ranks - 1); ++round) {
      const s4u::CommPtr sent = right->put_async(&rank, static_cast<std::uint64_t>(ring_size / ranks));
      own->get<void>();
      sent->wait();
    }
  });
}

}  // namespace tandem::benchmarks
