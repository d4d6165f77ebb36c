// Rennala SGD (Tyurin, Richtarik, NeurIPS 2023). Asynchronous workers; every B gradients that were computed
// on the current model make one update, and gradients of older models are ignored. The rule is that of
// K-batch-sync. The paper derives B from the noise of the gradients, which was not checked; here B is an
// option whose default, the number of workers, is this project's own.
#include "policies/sync/common/collecting_server.hpp"
#include "policies/sync/rounds/algorithms.hpp"

namespace tandem::sync {
namespace {

std::int64_t gradients_of_update(const Setting& setting) { return count_of(setting, "b"); }

class RennalaServer final : public CollectingServer {
 public:
  explicit RennalaServer(const Setting& setting)
      : CollectingServer(gradients_of_update(setting), setting.options) {}
};

}  // namespace

Algorithm rennala() {
  return {
      .name = "rennala",
      .summary = "asynchronous: B gradients of the current model make an update; older gradients are dropped",
      .paper = "Tyurin, Richtarik, NeurIPS 2023",
      .options = {count_option("b", "gradients of one model that make an update; default not from the paper"),
                  cancel_option()},
      .make = gradients_collected<RennalaServer>(gradients_of_update)};
}

}  // namespace tandem::sync
