#include "workloads/exchange/exchange.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem {

sync::Answer Exchange::ask(const Contribution&) {
  TANDEM_CHECK(false, "this route has no coordinator to ask");
  return {};
}

void Exchange::report(const Contribution&) {
  TANDEM_CHECK(false, "this route has no coordinator to report to");
}

Arrival Exchange::join(int incarnation) {
  TANDEM_CHECK(false, "workers cannot join a job on this route; incarnation", incarnation);
  return {};
}

std::optional<Completion> Exchange::wait_or_regroup(Pending&) {
  TANDEM_CHECK(false, "the workers of this route do not change");
  return std::nullopt;
}

}  // namespace tandem
