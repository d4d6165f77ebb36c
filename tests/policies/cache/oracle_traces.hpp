// Three deterministic traces, on which miss ratios of libCacheSim were recorded (libcachesim.csv): zipf,
// mixed (scans, loops and drift, samples of 1 to 4,000 bytes) and epochs (12 shuffled epochs of 5,000
// samples).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

using NamedRequest = std::pair<std::int64_t, std::int64_t>;  ///< id, bytes

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(next() % bound); }
  double unit() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

 private:
  std::uint64_t state_;
};

class ZipfTable {
 public:
  ZipfTable(int ids, double exponent) {
    double sum = 0;
    for (int i = 1; i <= ids; ++i) cumulated_.push_back(sum += std::pow(i, -exponent));
  }
  std::int64_t draw(SplitMix& random) const {
    const double at = random.unit() * cumulated_.back();
    return std::lower_bound(cumulated_.begin(), cumulated_.end(), at) - cumulated_.begin();
  }

 private:
  std::vector<double> cumulated_;
};

inline std::vector<NamedRequest> zipf_trace() {
  SplitMix random(11);
  const ZipfTable table(20'000, 0.9);
  std::vector<NamedRequest> requests;
  for (int i = 0; i < 400'000; ++i) requests.emplace_back(table.draw(random) + 1, 1);
  return requests;
}

inline std::vector<NamedRequest> mixed_trace() {
  SplitMix random(12);
  const ZipfTable table(8000, 1.0);
  std::vector<NamedRequest> requests;
  std::map<std::int64_t, std::int64_t> sizes;
  const auto add = [&](std::int64_t id) {
    const auto [known, is_new] = sizes.emplace(id, 0);
    if (is_new) known->second = 1 + random.below(4000);
    requests.emplace_back(id, known->second);
  };
  std::int64_t scan = 100'000;
  for (int block = 0; block < 300; ++block) {
    const std::int64_t kind = random.below(4);
    if (kind == 0) {
      for (int k = 0; k < 700; ++k) add(scan + k);
      scan += 700;
    } else if (kind == 1) {
      const std::int64_t base = 50'000 + 400 * random.below(6);
      for (int pass = 0; pass < 3; ++pass)
        for (int k = 0; k < 300; ++k) add(base + k);
    } else {
      for (int k = 0; k < 1000; ++k) add(1 + (table.draw(random) + 20 * block) % 8000);
    }
  }
  return requests;
}

inline std::vector<NamedRequest> epochs_trace() {
  SplitMix random(13);
  std::vector<std::int64_t> ids(5000);
  std::iota(ids.begin(), ids.end(), 1);
  std::vector<NamedRequest> requests;
  for (int epoch = 0; epoch < 12; ++epoch) {
    for (std::size_t i = ids.size() - 1; i > 0; --i)
      std::swap(ids[i], ids[static_cast<std::size_t>(random.below(i + 1))]);
    for (const auto id : ids) requests.emplace_back(id, 1);
  }
  return requests;
}

inline std::vector<NamedRequest> oracle_trace(const std::string& name) {
  if (name == "zipf") return zipf_trace();
  return name == "mixed" ? mixed_trace() : epochs_trace();
}

}  // namespace tandem::testing
