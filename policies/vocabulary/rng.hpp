// Seeded random numbers that are the same on every machine. The standard library's distributions differ
// between implementations, so the few that are needed are written here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

class PolicyState;

/// xoshiro256** by Blackman and Vigna (2018), seeded through SplitMix64.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  /// An independent stream for one purpose ("shuffle", "noise") and index (rank, epoch) of a seeded run.
  static Rng stream(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);

  std::uint64_t next();
  /// Uniform in [0, bound). Pre: bound > 0. Unbiased (Lemire 2019).
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1).
  double uniform();
  /// Standard normal (Box and Muller 1958).
  double normal();

  /// Fisher and Yates shuffle.
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t last = items.size(); last > 1; --last) std::swap(items[last - 1], items[below(last)]);
  }

  /// Saves or restores the position in the stream.
  void serialise(PolicyState& state, const std::string& name);

 private:
  std::uint64_t state_[4];
};

}  // namespace tandem
