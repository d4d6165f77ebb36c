#include "policies/sync/rounds/k_batch_sync.hpp"

#include "policies/sync/common/collecting_server.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_k_batch_sync_server(const Setting& setting) {
  return std::make_unique<CollectingServer>(or_all_workers(setting, "k"));
}

}  // namespace tandem::sync
