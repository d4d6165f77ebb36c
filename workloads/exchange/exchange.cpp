#include "workloads/exchange/exchange.hpp"

#include <numeric>

#include "policies/vocabulary/check.hpp"

namespace tandem {

sync::Answer Exchange::ask(const Contribution&) {
  TANDEM_CHECK(false, "nobody to ask over this route");
  return {};
}

void Exchange::report(const Contribution&) { TANDEM_CHECK(false, "nobody to report to over this route"); }

std::vector<int> members_of(const sync::Exchange& exchange, std::size_t workers) {
  if (!exchange.members.empty()) return exchange.members;
  std::vector<int> all(workers);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace tandem
