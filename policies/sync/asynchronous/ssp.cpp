// SSP, stale synchronous parallel (Ho et al., NIPS 2013). Each push is applied on arrival, but a worker
// starts its next step only when it is at most s steps ahead of the slowest. With s = 0 workers wait for each
// other as in BSP; without a bound it is ASP. With `average`, each push counts 1/P, so that P pushes move the
// model as one BSP step does: ConSGD (Jiang et al., SIGMOD 2017). P are the workers that are present.
#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/bounded_server.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/present_workers.hpp"

namespace tandem::sync {
namespace {

class SspServer final : public BoundedServer {
 public:
  explicit SspServer(const Setting& setting)
      : BoundedServer(setting.workers, setting.options.integer("staleness")),
        averages_(setting.options.boolean("average")),
        present_(setting.workers) {}

  void on_left(const Left& event, ServerDecisions& decisions) override {
    BoundedServer::on_left(event, decisions);
    present_.leave(event.worker);
  }
  void on_joined(const Joined& event, ServerDecisions& decisions) override {
    BoundedServer::on_joined(event, decisions);
    present_.join(event.worker);
  }
  void serialise(PolicyState& state) override {
    BoundedServer::serialise(state);
    present_.serialise(state);
  }

 private:
  double scale_of(const Push& event) override {
    present_.on_push(event);
    return averages_ ? present_.share() : 1.0;
  }

  bool averages_;
  PresentWorkers present_;
};

}  // namespace

Algorithm ssp() {
  return {
      .name = "ssp",
      .summary = "stale synchronous: like asp, but a worker more than s steps ahead of the slowest waits",
      .paper = "Ho et al., NIPS 2013",
      .options = {{.name = "staleness",
                   .summary = "s: steps that a worker may be ahead of the slowest and still start another",
                   .default_value = std::int64_t{0},
                   .minimum = 0},
                  average_option()},
      .make = gradients_applied_at_once<SspServer>(by_clocks())};
}

}  // namespace tandem::sync
