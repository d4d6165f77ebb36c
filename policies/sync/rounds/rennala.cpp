#include "policies/sync/rounds/rennala.hpp"

#include "policies/sync/common/collecting_server.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_rennala_server(const Setting& setting) {
  return std::make_unique<CollectingServer>(or_all_workers(setting, "b"));
}

}  // namespace tandem::sync
