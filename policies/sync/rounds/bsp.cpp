#include "policies/sync/rounds/bsp.hpp"

#include "policies/sync/common/averaging_server.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_bsp_server(const Setting& setting) {
  // Weighted by samples, the mean is the gradient of the union batch also when batches are unequal.
  return std::make_unique<AveragingServer>(setting.workers, "samples");
}

}  // namespace tandem::sync
