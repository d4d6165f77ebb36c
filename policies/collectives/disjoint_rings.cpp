// Rings over different links: circles through all participants, each found by a depth-first search that
// prefers the nearest participant and, among those, the one with the fewest ways onwards (Warnsdorff's rule).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "policies/collectives/network.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::collectives {
namespace {

/// A larger network is not searched.
constexpr int most_participants = 128;
constexpr int most_steps = 20'000;     ///< of the search for one ring among nearest participants
constexpr int most_far_steps = 2'000;  ///< among all
constexpr int attempts = 40;           ///< with other preferences among equals

class RingSearch {
 public:
  RingSearch(const Network& network, Rng& random)
      : network_(network),
        count_(static_cast<int>(network.host_of.size())),
        is_used_(network.channels.size(), false),
        rank_of_(static_cast<std::size_t>(count_)) {
    std::iota(rank_of_.begin(), rank_of_.end(), 0);
    random.shuffle(rank_of_);
    list_neighbours();
  }

  std::vector<std::vector<int>> find(int most) {
    std::vector<std::vector<int>> rings;
    while (static_cast<int>(rings.size()) < most) {
      std::vector<int> ring = rings.empty() ? std::vector<int>() : backwards(rings.back());
      if (ring.empty()) ring = search(true);
      if (ring.empty()) ring = search(false);
      if (ring.empty()) break;
      for (std::size_t i = 0; i < ring.size(); ++i) mark(ring[i], ring[(i + 1) % ring.size()], true);
      rings.push_back(std::move(ring));
    }
    return rings;
  }

 private:
  std::size_t hops(int from, int to) const { return network_.route(from, to).channels.size(); }

  /// By participant, the others that it reaches, the nearest first.
  void list_neighbours() {
    neighbours_.resize(static_cast<std::size_t>(count_));
    for (int from = 0; from < count_; ++from) {
      auto& others = neighbours_[static_cast<std::size_t>(from)];
      for (int to = 0; to < count_; ++to)
        if (to != from && std::isfinite(network_.route(from, to).latency.count())) others.push_back(to);
      std::sort(others.begin(), others.end(), [&](int a, int b) {
        const auto of_a = hops(from, a);
        const auto of_b = hops(from, b);
        return of_a != of_b ? of_a < of_b : preference(a) < preference(b);
      });
    }
  }
  int preference(int participant) const { return rank_of_[static_cast<std::size_t>(participant)]; }

  bool is_free(int from, int to) const {
    const auto& channels = network_.route(from, to).channels;
    return std::none_of(channels.begin(), channels.end(), [this](int channel) {
      const auto index = static_cast<std::size_t>(channel);
      return network_.channels[index].shared && is_used_[index];
    });
  }
  void mark(int from, int to, bool used) {
    for (const int channel : network_.route(from, to).channels)
      is_used_[static_cast<std::size_t>(channel)] = used;
  }

  /// The ring in the other direction, if its channels are free; else empty.
  std::vector<int> backwards(const std::vector<int>& ring) {
    std::vector<int> reverse(ring.rbegin(), ring.rend());
    const std::vector<bool> before = is_used_;
    bool fits = true;
    for (std::size_t i = 0; i < reverse.size() && fits; ++i) {
      const int next = reverse[(i + 1) % reverse.size()];
      fits = is_free(reverse[i], next);
      mark(reverse[i], next, true);
    }
    is_used_ = before;
    return fits ? reverse : std::vector<int>();
  }

  /// `only_nearest`: each participant continues to one of those that are fewest links away.
  std::vector<int> search(bool only_nearest) {
    only_nearest_ = only_nearest;
    steps_ = 0;
    path_ = {0};
    on_path_.assign(static_cast<std::size_t>(count_), false);
    on_path_[0] = true;
    const std::vector<bool> before = is_used_;
    const bool found = extend();
    is_used_ = before;
    return found ? path_ : std::vector<int>();
  }

  std::vector<int> ways_from(int from) const {
    std::vector<int> ways;
    const auto& others = neighbours_[static_cast<std::size_t>(from)];
    for (const int to : others) {
      if (only_nearest_ && hops(from, to) > hops(from, others.front())) break;
      if (!on_path_[static_cast<std::size_t>(to)] && is_free(from, to)) ways.push_back(to);
    }
    return ways;
  }

  bool extend() {
    if (++steps_ > (only_nearest_ ? most_steps : most_far_steps)) return false;
    const int last = path_.back();
    if (static_cast<int>(path_.size()) == count_) return is_free(last, path_.front());
    std::vector<int> ways = ways_from(last);
    if (only_nearest_)
      std::stable_sort(ways.begin(), ways.end(),
                       [this](int a, int b) { return ways_from(a).size() < ways_from(b).size(); });
    for (const int to : ways) {
      mark(last, to, true);
      path_.push_back(to);
      on_path_[static_cast<std::size_t>(to)] = true;
      if (extend()) return true;
      on_path_[static_cast<std::size_t>(to)] = false;
      path_.pop_back();
      mark(last, to, false);
    }
    return false;
  }

  const Network& network_;
  int count_;
  std::vector<bool> is_used_;  ///< by channel
  std::vector<int> rank_of_;   ///< by participant: preference among equals
  std::vector<std::vector<int>> neighbours_;
  bool only_nearest_ = true;
  int steps_ = 0;
  std::vector<int> path_;
  std::vector<bool> on_path_;
};

}  // namespace

std::vector<std::vector<int>> disjoint_rings(const Network& network, int most) {
  const int count = static_cast<int>(network.host_of.size());
  std::vector<std::vector<int>> best;
  if (count < 3 || count > most_participants) return best;
  for (int attempt = 0; attempt < attempts && static_cast<int>(best.size()) < most; ++attempt) {
    Rng random = Rng::stream(static_cast<std::uint64_t>(attempt), "disjoint rings");
    auto found = RingSearch(network, random).find(most);
    if (found.size() > best.size()) best = std::move(found);
  }
  return best;
}

}  // namespace tandem::collectives
