// The measured programs on Context.
#include "tests/benchmarks/sim_programs.hpp"

#include <unistd.h>

#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "sim/simulation.hpp"
#include "tests/benchmarks/sim_bench_platform.hpp"
#include "workloads/exchange/schedule_runner.hpp"

namespace tandem::benchmarks {
namespace {

constexpr Channel push{1, false};
constexpr Channel answer{2, false};
constexpr Work step{Work::Kind::forward, -1, 32, Bytes(0)};
constexpr Work update{Work::Kind::update, -1, 0, Bytes(message_size)};
constexpr Slice message{Bytes(message_size), nullptr};

Outcome run(int ranks, const std::function<Seconds(Rank, const Work&)>& price,
            const std::function<void(Context&)>& body) {
  std::optional<double> begin_s;
  double end_s = 0;
  sim::SimulationSetting setting;
  const PlatformFile platform(ranks);
  setting.platform_file = platform.path();
  for (int rank = 0; rank < ranks; ++rank) setting.hosts.push_back("h" + std::to_string(rank));
  setting.price = price;
  setting.body = [&](Context& context) {
    if (!begin_s) begin_s = cpu_seconds();
    body(context);
    end_s = cpu_seconds();
  };
  const sim::SimulationResult result = simulate(setting);
  return {end_s - *begin_s, result.makespan.count()};
}

void compute(Context& context, const Work& work) {
  Pending pending = context.compute(work);
  context.wait(pending);
}

Seconds server_price(Rank rank, const Work& work) {
  return Seconds(work.kind == Work::Kind::update ? update_s : worker_step_s(rank));
}

void serve_each(Context& context, int workers, int rounds) {
  std::vector<Pending> pushes;
  std::vector<Pending> answers(static_cast<std::size_t>(workers));
  std::vector<int> served(static_cast<std::size_t>(workers), 0);
  for (Rank worker = 1; worker <= workers; ++worker) pushes.push_back(context.receive(worker, push, message));
  for (int i = 0; i < workers * rounds; ++i) {
    const std::size_t index = context.wait_any(pushes).index;
    const Rank worker = static_cast<Rank>(index) + 1;
    compute(context, update);
    if (!answers[index].empty()) context.wait(answers[index]);
    answers[index] = context.send(worker, answer, message);
    if (++served[index] < rounds) pushes[index] = context.receive(worker, push, message);
  }
  context.wait_all(answers);
}

void serve_all(Context& context, int workers, int servers, int steps) {
  const Slice shard{Bytes(message_size / servers), nullptr};
  std::vector<Pending> pendings(static_cast<std::size_t>(workers));
  for (int i = 0; i < steps; ++i) {
    for (int worker = 0; worker < workers; ++worker)
      pendings[static_cast<std::size_t>(worker)] = context.receive(servers + worker, push, shard);
    for (int worker = 0; worker < workers; ++worker) context.wait_any(pendings);
    compute(context, update);
    for (int worker = 0; worker < workers; ++worker)
      pendings[static_cast<std::size_t>(worker)] = context.send(servers + worker, answer, shard);
    context.wait_all(pendings);
  }
}

}  // namespace

Outcome server_on_context(int workers, int rounds) {
  return run(workers + 1, server_price, [=](Context& context) {
    if (context.rank() == 0) return serve_each(context, workers, rounds);
    for (int i = 0; i < rounds; ++i) {
      compute(context, step);
      Pending pushed = context.send(0, push, message);
      context.wait(pushed);
      Pending answered = context.receive(0, answer, message);
      context.wait(answered);
    }
  });
}

Outcome ring_on_context(int ranks, int repetitions) {
  return run(ranks, server_price, [=](Context& context) {
    const Rank right = (context.rank() + 1) % ranks;
    const Rank left = (context.rank() + ranks - 1) % ranks;
    const Slice piece{Bytes(ring_size / ranks), nullptr};
    for (int round = 0; round < repetitions * 2 * (ranks - 1); ++round) {
      Pending received = context.receive(left, push, piece);
      Pending sent = context.send(right, push, piece);
      context.wait(received);
      context.wait(sent);
    }
  });
}

Outcome halving_doubling_on_context(int ranks) {
  std::vector<Rank> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  const std::vector<Bytes> buckets = {Bytes(ring_size)};
  const auto free_work = [](Rank, const Work&) { return Seconds(0); };
  return run(ranks, free_work, [&](Context& context) {
    AllReduces all_reduces(context, collectives::catalog().find("halving-doubling").make, members, buckets,
                           push);
    all_reduces.start(0, {buckets.front(), nullptr});
    all_reduces.finish();
  });
}

Outcome all_reduces_on_context(const std::string& collective, int ranks, int rounds, std::int64_t elements) {
  std::vector<Rank> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  const std::vector<Bytes> buckets = {Bytes(elements * 4)};
  const collectives::Schedules schedules = collectives::catalog().find(collective).make.schedules(ranks);
  const auto price = [](Rank, const Work& work) {
    return Seconds(static_cast<double>(work.bytes.count()) / reduced_bytes_per_s);
  };
  return run(ranks, price, [&](Context& context) {
    AllReduces::Schedules own;
    own.emplace_back(schedules(context.rank(), elements));
    AllReduces all_reduces(context, std::move(own), members, buckets, push);
    for (int round = 0; round < rounds; ++round) {
      all_reduces.start(0, {buckets.front(), nullptr});
      all_reduces.finish();
    }
  });
}

double messages_of_all_reduce(const std::string& collective, int ranks, std::int64_t elements) {
  const collectives::Schedules schedules = collectives::catalog().find(collective).make.schedules(ranks);
  double messages = 0;
  for (int rank = 0; rank < ranks; ++rank)
    messages += static_cast<double>(collectives::extent_of(schedules(rank, elements)).messages);
  return messages;
}

Outcome bsp_on_context(int workers, int servers, int steps, double spread) {
  const auto price = [=](Rank rank, const Work& work) {
    if (work.kind == Work::Kind::update) return Seconds(update_s);
    return Seconds(10e-3 * (1 + spread * (rank - servers) / workers));
  };
  return run(workers + servers, price, [=](Context& context) {
    if (context.rank() < servers) return serve_all(context, workers, servers, steps);
    const Slice shard{Bytes(message_size / servers), nullptr};
    std::vector<Pending> pendings(2 * static_cast<std::size_t>(servers));
    for (int i = 0; i < steps; ++i) {
      compute(context, step);
      for (Rank server = 0; server < servers; ++server) {
        pendings[static_cast<std::size_t>(server)] = context.send(server, push, shard);
        pendings[static_cast<std::size_t>(servers + server)] = context.receive(server, answer, shard);
      }
      context.wait_all(pendings);
    }
  });
}

}  // namespace tandem::benchmarks
