// AD-PSGD, asynchronous decentralised parallel SGD (Lian et al., ICML 2018). Every second worker is active;
// in each step, an active worker and a random passive neighbour average their models while both compute. No
// worker waits for a slower worker's step.
#include <algorithm>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/decentralised/algorithms.hpp"
#include "policies/sync/decentralised/peer_graph.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::sync {
namespace {

/// Two active workers never exchange, nor two passive ones. So a worker that waits for another is never
/// waited for, and there is no deadlock.
bool is_active(int worker) { return worker % 2 == 0; }

class AdPsgdWorker final : public WorkerPolicy {
 public:
  AdPsgdWorker(const Setting& setting, int worker)
      : self_(worker), random_(Rng::stream(setting.seed, "ad-psgd", static_cast<std::uint64_t>(worker))) {
    for (const int other :
         neighbourhood(setting.options.text("graph"), setting.workers, worker, Among::both_kinds))
      if (is_active(other) != is_active(worker)) neighbours_.push_back(other);
  }

  std::optional<Exchange> on_step_begin(const StepBegin&) override {
    if (!is_active(self_) || neighbours_.empty()) return Exchange{Payload::model, {self_}};
    const int other = neighbours_[random_.below(neighbours_.size())];
    return Exchange{Payload::model, {std::min(self_, other), std::max(self_, other)}};
  }

  Neighbours neighbours() const override {
    if (is_active(self_)) return {.incoming = {}, .outgoing = neighbours_};
    return {.incoming = neighbours_, .outgoing = {}};
  }
  void serialise(PolicyState& state) override { random_.serialise(state, "random"); }

 private:
  int self_;
  std::vector<int> neighbours_;  ///< those that are passive if this worker is active, and the reverse
  Rng random_;
};

}  // namespace

Algorithm ad_psgd() {
  return {.name = "ad-psgd",
          .summary = "asynchronous: each active worker averages its model with a random passive worker's",
          .paper = "Lian et al., ICML 2018",
          .options = {graph_option("the passive workers that an active one may choose", "complete",
                                   Among::both_kinds)},
          .make = {.payload = Payload::model,
                   .routes = {Route::peers},
                   .timing_driven = true,
                   .steps_per_round = one_step,
                   .make_worker = make_worker<AdPsgdWorker>}};
}

}  // namespace tandem::sync
