// Which nodes own a sample, known to all without messages: in turn, or by a consistent hash ring (Karger et
// al., STOC 1997), as HVAC uses it when nodes depart. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

class Owners {
 public:
  enum class Rule : std::uint8_t {
    in_turn,  ///< sample i belongs to node i mod nodes, then to the nodes that follow
    ring      ///< the sample belongs to the nodes that follow its hash on the ring
  };
  /// All nodes are present. `seed`: of the places on the ring.
  Owners(Rule rule, int nodes, std::uint64_t seed = 1);

  /// The samples of a node that departs belong to the next nodes. No other sample changes its owner.
  void set_present(int node, bool is_present);
  /// The first present nodes for the sample, `count` different ones or all there are, the first owner first.
  void find(SampleId id, int count, std::vector<int>& owners) const;

  /// Places of each node on the ring: shares of the samples differ from equal ones by about 6 %.
  static constexpr int places = 256;

 private:
  struct Place {
    std::uint64_t at;
    int node;
    auto operator<=>(const Place&) const = default;
  };
  std::size_t first_place(SampleId id) const;

  Rule rule_;
  std::uint64_t seed_;
  std::vector<bool> is_present_;  ///< by node
  std::vector<Place> ring_;       ///< in order; empty: in turn
};

}  // namespace tandem::cache
