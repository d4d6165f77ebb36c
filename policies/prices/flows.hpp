// Transfers that begin together and share a link fairly, each limited by its own link, too (max-min fairness
// of a fluid). Source: Bertsekas, Gallager: Data Networks, 6.5.2.
#pragma once

#include <span>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::prices {

struct FlowClass {
  int count = 1;             ///< equal transfers
  double bytes = 0.0;        ///< of each
  BytesPerSecond rate{0.0};  ///< of its own link
};

/// When the transfers of each class end; their latency is not in it. The cost is classes x classes.
/// Pre: rates > 0.
std::vector<Seconds> ends_of_flows(std::span<const FlowClass> classes, BytesPerSecond shared);

}  // namespace tandem::prices
