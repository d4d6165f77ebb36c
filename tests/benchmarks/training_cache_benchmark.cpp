// Decisions of training caches in a cache node: time of a sample, the longest request of all epochs compared
// with the mean, and memory. `training_cache_benchmark --memory SAMPLES` makes an iCache for a data set of
// that size and prints what the process needs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/data/cache_engine.hpp"

namespace tandem {
namespace {

constexpr int batch = 64;

/// One node with a tenth of the data set, and the lists of importance epochs.
class Node {
 public:
  Node(const std::string& policy, std::int64_t samples)
      : manifest_{.samples = samples, .each = Bytes(1000)}, losses_(static_cast<std::size_t>(samples)) {
    const auto& sampler = sampling::samplers().find("importance");
    sampler_ = sampler.make.make(
        {.samples = samples,
         .batch = batch,
         .options = Options::resolve("importance", sampler.options, {{"warm_up", std::int64_t{1}}})});
    const auto& entry = cache::catalog().find(policy);
    const std::vector<Bytes> tiers = {Bytes(1000) * (samples / 10)};
    engine_ = std::make_unique<CacheEngine>(
        entry.make.node(
            {.tiers = tiers, .manifest = manifest_, .options = Options::resolve(policy, entry.options, {})}),
        tiers, manifest_);
  }

  /// What happens between two epochs; not part of any request.
  void begin_epoch(std::int64_t epoch) {
    Rng rng(static_cast<std::uint64_t>(epoch) + 1);
    for (float& loss : losses_) loss = static_cast<float>(-std::log(1.0 - rng.uniform()));
    sampler_->list(epoch, {.losses = losses_}, list_);
    low_.assign(losses_.size(), 0);
    for (std::size_t i = 0; i < list_.low.size(); ++i)
      low_[static_cast<std::size_t>(list_.ids[i])] = list_.low[i];
    engine_->importance(0, losses_);
    engine_->begin_epoch({.epoch = epoch,
                          .lists = {&list_.ids, 1},
                          .low = list_.low.empty() ? std::span<const std::uint8_t>() : low_});
    taken_ = 0;
    epoch_ = epoch;
  }
  /// False: the epoch has ended.
  bool request() {
    if (taken_ + batch > list_.ids.size()) return false;
    now_.clear();
    flags_.clear();
    for (std::size_t i = taken_; i < taken_ + batch; ++i) {
      now_.push_back({list_.ids[i], manifest_.each});
      if (!list_.low.empty()) flags_.push_back(list_.low[i]);
    }
    taken_ += batch;
    finish(engine_->want({.epoch = epoch_, .now = now_, .low = flags_}));
    return true;
  }
  /// Between requests.
  void idle() { finish(engine_->idle(Bytes(64'000))); }
  std::int64_t listed() const { return std::ssize(list_.ids); }

 private:
  void finish(const cache::Decisions& decisions) {
    arrived_.clear();
    for (const auto& read : decisions.fetch)
      for (const SampleId id : decisions.ids_of(read))
        arrived_.push_back({id, manifest_.each, read.from, read.why});
    if (!arrived_.empty()) engine_->arrived(0, arrived_);
  }

  cache::Manifest manifest_;
  std::vector<float> losses_;
  std::unique_ptr<sampling::Sampler> sampler_;
  std::unique_ptr<CacheEngine> engine_;
  sampling::EpochList list_;
  std::vector<std::uint8_t> low_;
  std::vector<cache::Sample> now_;
  std::vector<std::uint8_t> flags_;
  std::vector<cache::Arrived> arrived_;
  std::size_t taken_ = 0;
  std::int64_t epoch_ = 0;
};

/// Four epochs with a million samples. `first_request_ratio`: the longest of the first eight requests of an
/// epoch, as a multiple of the median request of all epochs.
void decide(benchmark::State& state, const std::string& policy) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> all, first;
  double spent = 0;
  std::int64_t samples = 0;
  for (auto _ : state) {
    Node node(policy, 1'000'000);
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      node.begin_epoch(epoch);
      double longest = 0;
      for (int request = 0;; ++request) {
        const auto start = Clock::now();
        if (!node.request()) break;
        const double took = std::chrono::duration<double>(Clock::now() - start).count();
        node.idle();
        all.push_back(took);
        spent += took;
        samples += batch;
        if (request < 8) longest = std::max(longest, took);
      }
      if (epoch > 0) first.push_back(longest);
    }
  }
  std::ranges::nth_element(all, all.begin() + std::ssize(all) / 2);
  const double median = all[all.size() / 2];
  std::ranges::sort(first);
  state.counters["us_per_sample"] = 1e6 * spent / static_cast<double>(samples);
  state.counters["first_request_ratio"] = first[first.size() / 2] / median;
}

int print_memory(std::int64_t samples) {
  Node node("icache", samples);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    node.begin_epoch(epoch);
    for (int request = 0; request < 10'000 && node.request(); ++request) node.idle();
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("icache and sampler, {} samples: {:.2f} GB, {:.1f} bytes a sample\n", samples,
             static_cast<double>(usage.ru_maxrss) * 1024e-9,
             static_cast<double>(usage.ru_maxrss) * 1024 / static_cast<double>(samples));
  return 0;
}

const int registered = [] {
  for (const char* policy : {"icache", "shade", "minio", "lru"})
    benchmark::RegisterBenchmark((std::string("decide/") + policy).c_str(), decide, policy)
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  return 0;
}();

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--memory") == 0) return tandem::print_memory(std::stoll(argv[2]));
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
