#include "policies/cache/owners.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace

Owners::Owners(Rule rule, int nodes, std::uint64_t seed)
    : rule_(rule), seed_(mixed(seed)), is_present_(static_cast<std::size_t>(nodes), true) {
  TANDEM_CHECK(nodes > 0, nodes);
  if (rule == Rule::in_turn) return;
  // The places of a node do not depend on how many nodes there are.
  for (int node = 0; node < nodes; ++node) {
    Rng random = Rng::stream(seed, "ring", static_cast<std::uint64_t>(node));
    for (int place = 0; place < places; ++place) ring_.push_back({random.next(), node});
  }
  std::ranges::sort(ring_);
}

void Owners::set_present(int node, bool is_present) {
  is_present_.at(static_cast<std::size_t>(node)) = is_present;
}

/// In the ring, or among the nodes.
std::size_t Owners::first_place(SampleId id) const {
  const auto number = static_cast<std::uint64_t>(id);
  if (rule_ == Rule::in_turn) return static_cast<std::size_t>(number % is_present_.size());
  const auto place = std::ranges::lower_bound(ring_, mixed(number ^ seed_), {}, &Place::at);
  return place == ring_.end() ? 0 : static_cast<std::size_t>(place - ring_.begin());
}

void Owners::find(SampleId id, int count, std::vector<int>& owners) const {
  owners.clear();
  const std::size_t all = rule_ == Rule::in_turn ? is_present_.size() : ring_.size();
  const std::size_t first = first_place(id);
  for (std::size_t step = 0; step < all && std::ssize(owners) < count; ++step) {
    const std::size_t place = (first + step) % all;
    const int node = rule_ == Rule::in_turn ? static_cast<int>(place) : ring_[place].node;
    if (is_present_[static_cast<std::size_t>(node)] && std::ranges::find(owners, node) == owners.end())
      owners.push_back(node);
  }
}

}  // namespace tandem::cache
