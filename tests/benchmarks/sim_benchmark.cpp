// Cost of the simulator: compared with S4U programs written by hand, and alone for large jobs. Each
// simulation runs in a child process, because a process has one engine; ours and the baseline alternate.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/benchmarks/median.hpp"
#include "tests/benchmarks/sim_programs.hpp"

namespace tandem::benchmarks {
namespace {

struct Measured {
  Outcome outcome;
  double process_s;  ///< wall-clock time of the whole child
  double cpu_s;      ///< CPU time of the simulation; the figure to trust on a busy machine
  double peak_mib;
};

bool run_in_child(const std::function<Outcome()>& program, Measured& measured) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const Outcome outcome = program();
    const bool written = write(ends[1], &outcome, sizeof(outcome)) == sizeof(outcome);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  const bool was_read = read(ends[0], &measured.outcome, sizeof(Outcome)) == sizeof(Outcome);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  measured.process_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  measured.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  measured.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return was_read && status == 0;
}

/// One iteration runs one pair; the counters hold medians, `ratio` is ours over S4U.
void compare(benchmark::State& state, const std::function<Outcome()>& ours,
             const std::function<Outcome()>& baseline) {
  std::vector<double> ours_s;
  std::vector<double> s4u_s;
  for (auto _ : state) {
    Measured a{};
    Measured b{};
    const bool ours_first = ours_s.size() % 2 == 0;
    const bool fine = ours_first ? run_in_child(ours, a) && run_in_child(baseline, b)
                                 : run_in_child(baseline, b) && run_in_child(ours, a);
    if (!fine) return state.SkipWithError("a simulation failed");
    if (std::abs(a.outcome.makespan_s / b.outcome.makespan_s - 1) > 1e-3)
      return state.SkipWithError("the two programs do not simulate the same");
    ours_s.push_back(a.outcome.cpu_s);
    s4u_s.push_back(b.outcome.cpu_s);
    state.SetIterationTime(a.outcome.cpu_s);
  }
  state.counters["ours_ms"] = 1e3 * median(ours_s);
  state.counters["s4u_ms"] = 1e3 * median(s4u_s);
  state.counters["ratio"] = median(ours_s) / median(s4u_s);
}

void parameter_server(benchmark::State& state) {
  compare(
      state, [] { return server_on_context(64, 20); }, [] { return server_on_s4u(64, 20); });
}
void ring_all_reduce(benchmark::State& state) {
  compare(
      state, [] { return ring_on_context(64, 2); }, [] { return ring_on_s4u(64, 2); });
}
/// A round of 256 workers; the limit for ours_ms is 200.
void halving_doubling(benchmark::State& state) {
  compare(
      state, [] { return halving_doubling_on_context(256); }, [] { return halving_doubling_on_s4u(256); });
}
BENCHMARK(parameter_server)->UseManualTime()->Iterations(15)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_all_reduce)->UseManualTime()->Iterations(15)->Unit(benchmark::kMillisecond);
BENCHMARK(halving_doubling)->UseManualTime()->Iterations(7)->Unit(benchmark::kMillisecond);

constexpr std::int64_t model_elements = 25'600'000;

/// Arguments: ranks, rounds.
void all_reduces(benchmark::State& state, const std::string& collective) {
  const int ranks = static_cast<int>(state.range(0));
  const int rounds = static_cast<int>(state.range(1));
  const double messages = rounds * messages_of_all_reduce(collective, ranks, model_elements);
  std::vector<double> cpu_s;
  double peak_mib = 0;
  for (auto _ : state) {
    Measured measured{};
    if (!run_in_child([&] { return all_reduces_on_context(collective, ranks, rounds, model_elements); },
                      measured))
      return state.SkipWithError("the simulation failed");
    state.SetIterationTime(measured.process_s);
    cpu_s.push_back(measured.cpu_s);
    peak_mib = std::max(peak_mib, measured.peak_mib);
  }
  state.counters["cpu_s"] = median(cpu_s);
  state.counters["cpu_us_per_message"] = 1e6 * median(cpu_s) / messages;
  state.counters["peak_MiB"] = peak_mib;
}
BENCHMARK_CAPTURE(all_reduces, ring, std::string("ring"))
    ->ArgNames({"ranks", "rounds"})
    ->Args({1024, 3})
    ->Args({2048, 1})
    ->Args({4096, 1})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(all_reduces, halving_doubling, std::string("halving-doubling"))
    ->ArgNames({"ranks", "rounds"})
    ->Args({1024, 3})
    ->Args({4096, 3})
    ->Args({16384, 3})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(all_reduces, double_tree, std::string("double-tree"))
    ->ArgNames({"ranks", "rounds"})
    ->Args({1024, 3})
    ->Args({4096, 3})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

/// How much more a message of a double tree costs with four times as many ranks, on the context and on S4U.
/// The four programs take turns. Argument: the smaller number of ranks.
void growth(benchmark::State& state) {
  constexpr std::int64_t elements = 400'000;
  const int few = static_cast<int>(state.range(0));
  struct Program {
    int ranks;
    bool is_ours;
    std::vector<double> us_per_message = {};
  };
  std::array programs{Program{few, true}, Program{few, false}, Program{4 * few, true},
                      Program{4 * few, false}};
  std::size_t first = 0;
  for (auto _ : state) {
    for (std::size_t turn = 0; turn < programs.size(); ++turn) {
      auto& [ranks, is_ours, us_per_message] = programs[(first + turn) % programs.size()];
      const auto all_reduce = [&] {
        return is_ours ? all_reduces_on_context("double-tree", ranks, 1, elements)
                       : all_reduce_on_s4u("double-tree", ranks, elements);
      };
      Measured measured{};
      if (!run_in_child(all_reduce, measured)) return state.SkipWithError("a simulation failed");
      us_per_message.push_back(1e6 * measured.outcome.cpu_s /
                               messages_of_all_reduce("double-tree", ranks, elements));
    }
    ++first;
  }
  const auto median_us = [&](std::size_t program) { return median(programs[program].us_per_message); };
  state.counters["ours_us"] = median_us(0);
  state.counters["s4u_us"] = median_us(1);
  state.counters["ours_growth"] = median_us(2) / median_us(0);
  state.counters["s4u_growth"] = median_us(3) / median_us(1);
}
BENCHMARK(growth)->ArgName("ranks")->Arg(1024)->Iterations(9)->Unit(benchmark::kSecond);

/// Arguments: workers, servers, steps, spread in percent.
void bsp(benchmark::State& state) {
  Measured measured{};
  const auto argument = [&state](std::size_t i) { return static_cast<int>(state.range(i)); };
  for (auto _ : state) {
    if (!run_in_child(
            [&] { return bsp_on_context(argument(0), argument(1), argument(2), argument(3) / 100.0); },
            measured))
      return state.SkipWithError("the simulation failed");
    state.SetIterationTime(measured.process_s);
  }
  state.counters["simulated_s"] = measured.outcome.makespan_s;
  state.counters["cpu_s"] = measured.cpu_s;
  state.counters["peak_MiB"] = measured.peak_mib;
}
BENCHMARK(bsp)
    ->ArgNames({"workers", "servers", "steps", "spread_percent"})
    ->Args({6, 1, 10000, 50})
    ->Args({1024, 8, 20, 0})
    ->Args({1024, 8, 1, 50})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

/// 1,024 workers of whose machines some depart against the same job without. Arguments: rounds, departures.
/// With 500 of them in 50 rounds a machine lives for three minutes on average, in 500 rounds for half an
/// hour, in 2,000 for nearly two hours.
void departures(benchmark::State& state) {
  constexpr int workers = 1024;
  const int rounds = static_cast<int>(state.range(0));
  const int departing = static_cast<int>(state.range(1));
  std::vector<double> with_s, without_s;
  for (auto _ : state) {
    Measured with{}, without{};
    const auto departs = [rounds, departing] { return job_with_departures(workers, rounds, departing); };
    const auto stays = [rounds] { return job_with_departures(workers, rounds, 0); };
    const bool fine = with_s.size() % 2 == 0 ? run_in_child(departs, with) && run_in_child(stays, without)
                                             : run_in_child(stays, without) && run_in_child(departs, with);
    if (!fine) return state.SkipWithError("a simulation failed");
    with_s.push_back(with.outcome.cpu_s);
    without_s.push_back(without.outcome.cpu_s);
    state.SetIterationTime(with.outcome.cpu_s);
  }
  const double round_s = median(without_s) / rounds;
  const double departure_s = (median(with_s) - median(without_s)) / departing;
  state.counters["with_ms_per_round"] = 1e3 * median(with_s) / rounds;
  state.counters["without_ms_per_round"] = 1e3 * round_s;
  state.counters["ratio"] = median(with_s) / median(without_s);
  state.counters["rounds_per_departure"] = departure_s / round_s;
}
BENCHMARK(departures)
    ->ArgNames({"rounds", "departures"})
    ->Args({50, 500})
    ->Args({500, 500})
    ->Args({2000, 500})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace tandem::benchmarks

BENCHMARK_MAIN();
