// K-batch-sync SGD (Dutta et al., AISTATS 2018). As K-sync, but a worker that has pushed computes another
// gradient on the same model until K gradients of that model have arrived. So K may exceed the number of
// workers. In the paper the other workers then restart immediately, as with `cancel` here. By default they
// finish their batch, and its gradient is dropped. Details were not checked against the paper.
#include "policies/sync/common/collecting_server.hpp"
#include "policies/sync/rounds/algorithms.hpp"

namespace tandem::sync {
namespace {

std::int64_t gradients(const Setting& setting) { return count_of(setting, "k"); }

class KBatchSyncServer final : public CollectingServer {
 public:
  explicit KBatchSyncServer(const Setting& setting) : CollectingServer(gradients(setting), setting.options) {}
};

}  // namespace

Algorithm k_batch_sync() {
  return {
      .name = "k-batch-sync",
      .summary = "like k-sync, but workers compute further gradients on the same model until K have arrived",
      .paper = "Dutta et al., AISTATS 2018",
      .options = {count_option("k", "gradients of one model that make an update, from any workers"),
                  cancel_option()},
      .make = gradients_collected<KBatchSyncServer>(gradients)};
}

}  // namespace tandem::sync
