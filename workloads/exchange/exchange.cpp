#include "workloads/exchange/exchange.hpp"

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/coordinator_client.hpp"

namespace tandem {

sync::Answer Exchange::ask(const protocol::Push& so_far) {
  CoordinatorClient* const client = coordinator();
  TANDEM_CHECK(client != nullptr, "this job has no coordinator to ask");
  return client->ask(so_far, version_of_model());
}

void Exchange::report(const protocol::Push& so_far) {
  CoordinatorClient* const client = coordinator();
  TANDEM_CHECK(client != nullptr, "this job has no coordinator to report to");
  client->report(so_far, version_of_model());
}

std::optional<bool> Exchange::coordinator_answer() {
  const CoordinatorClient* const client = coordinator();
  return client == nullptr ? std::nullopt : client->coordinator_answer();
}

}  // namespace tandem
