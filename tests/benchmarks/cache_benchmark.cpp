// Requests per second of the cache policies, compared with a straightforward LRU of std::list and
// std::unordered_map. Zipf(1) over a million samples of unit size, a cache of a hundred thousand.
#include <benchmark/benchmark.h>

#include <list>
#include <string>
#include <unordered_map>

#include "policies/cache/policy.hpp"
#include "policies/cache/trace.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/benchmarks/zipf.hpp"

namespace {

using namespace tandem;

constexpr std::size_t sample_count = 1'000'000;
constexpr std::int64_t capacity = 100'000;
constexpr std::size_t request_count = 4'000'000;

const std::vector<SampleId>& requests() {
  static const std::vector<SampleId> stream = [] {
    const testing::Zipf zipf(sample_count);
    Rng rng(1);
    std::vector<SampleId> drawn(request_count);
    for (auto& id : drawn) id = zipf.draw(rng);
    return drawn;
  }();
  return stream;
}

void report(benchmark::State& state, std::int64_t hits) {
  const auto served = static_cast<double>(state.iterations()) * static_cast<double>(request_count);
  state.counters["requests"] = benchmark::Counter(served, benchmark::Counter::kIsRate);
  state.counters["hit_ratio"] = static_cast<double>(hits) / static_cast<double>(request_count);
}

void policy(benchmark::State& state, const std::string& name) {
  const auto& stream = requests();
  const auto& entry = cache::catalog().find(name);
  std::int64_t hits = 0;
  for (auto _ : state) {
    const auto policy =
        entry.make.node({.tiers = {Bytes(capacity)}, .options = Options::resolve(name, entry.options, {})});
    hits = 0;
    cache::Decisions decisions;
    for (const SampleId id : stream) {
      const cache::Sample now{id, Bytes(1)};
      decisions.clear();
      policy->on_want({.now = {&now, 1}}, decisions);
      hits += decisions.serve.front().from.where == cache::Where::tier ? 1 : 0;
    }
  }
  report(state, hits);
}

void list_and_map(benchmark::State& state) {
  const auto& stream = requests();
  std::int64_t hits = 0;
  for (auto _ : state) {
    std::list<SampleId> order;
    std::unordered_map<SampleId, std::list<SampleId>::iterator> kept;
    hits = 0;
    for (const SampleId id : stream) {
      if (const auto found = kept.find(id); found != kept.end()) {
        order.splice(order.begin(), order, found->second);
        ++hits;
        continue;
      }
      if (static_cast<std::int64_t>(kept.size()) == capacity) {
        kept.erase(order.back());
        order.pop_back();
      }
      order.push_front(id);
      kept.emplace(id, order.begin());
    }
  }
  report(state, hits);
}

const cache::NumberedTrace& trace() {
  static const cache::NumberedTrace numbered = [] {
    cache::NumberedTrace made;
    for (const SampleId id : requests()) made.add(static_cast<std::uint64_t>(id), 1);
    made.find_next_requests();
    return made;
  }();
  return numbered;
}

/// As `tandem cache` does, without reading the trace.
void replay(benchmark::State& state, const std::string& name) {
  const auto& entry = cache::trace_catalog().find(name);
  const cache::ReplaySetting setting{.capacity = Bytes(capacity),
                                     .options = Options::resolve(name, entry.options, {})};
  std::int64_t hits = 0;
  const auto view = trace().view();
  for (auto _ : state) hits = entry.make.replay(view, setting).hits;
  report(state, hits);
}

/// Reading is numbering: one hash table for all policies and sizes.
void number_the_ids(benchmark::State& state) {
  const auto& stream = requests();
  std::int64_t objects = 0;
  for (auto _ : state) {
    cache::NumberedTrace made;
    for (const SampleId id : stream) made.add(static_cast<std::uint64_t>(id), 1);
    made.find_next_requests();
    objects = made.objects();
  }
  report(state, objects);
}

const int registered = [] {
  for (const auto& entry : cache::catalog().entries())
    if (entry.make.needs == cache::Needs{})  // training_cache_benchmark times the others
      benchmark::RegisterBenchmark(("policy/" + entry.name).c_str(), policy, entry.name)
          ->Unit(benchmark::kMillisecond);
  for (const auto& name : cache::trace_catalog().names())
    benchmark::RegisterBenchmark(("replay/" + name).c_str(), replay, name)->Unit(benchmark::kMillisecond);
  return 0;
}();
BENCHMARK(number_the_ids)->Unit(benchmark::kMillisecond);
BENCHMARK(list_and_map)->Unit(benchmark::kMillisecond);

}  // namespace
