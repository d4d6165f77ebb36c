#include "policies/sync/decentralised/ad_psgd.hpp"

#include <algorithm>

#include "policies/sync/decentralised/peer_graph.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::sync {
namespace {

/// Two of a kind never exchange, so a worker that waits for another is never waited for: no circle, no
/// deadlock.
bool is_active(int worker) { return worker % 2 == 0; }

class AdPsgdWorker : public WorkerPolicy {
 public:
  AdPsgdWorker(const Setting& setting, int worker)
      : self_(worker), random_(Rng::stream(setting.seed, "ad-psgd", static_cast<std::uint64_t>(worker))) {
    for (const int other : neighbourhood(setting.options.text("graph"), setting.workers, worker))
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

 private:
  int self_;
  std::vector<int> neighbours_;  ///< of the other kind
  Rng random_;
};

}  // namespace

std::vector<OptionSpec> ad_psgd_options() {
  return {graph_option("which passive workers an active one may choose", "complete")};
}

std::unique_ptr<WorkerPolicy> make_ad_psgd_worker(const Setting& setting, int worker) {
  return std::make_unique<AdPsgdWorker>(setting, worker);
}

}  // namespace tandem::sync
