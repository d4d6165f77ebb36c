#include "policies/sync/asynchronous/sync_switch.hpp"

#include <algorithm>

#include "policies/sync/common/barrier.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class SyncSwitchServer : public PushServer {
 public:
  explicit SyncSwitchServer(const Setting& setting)
      : barrier_(setting.workers),
        fraction_(setting.options.real("fraction")),
        scale_(setting.options.real("scale_after")),
        switched_(fraction_ <= 0.0) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    done_ = std::max(done_, event.done);
    if (switched_) {
      decisions.emplace_back(Accept{event.worker});
      decisions.emplace_back(Apply{scale_});
      decisions.emplace_back(Reply{event.worker});
      return;
    }
    decisions.emplace_back(Accept{event.worker, static_cast<double>(event.samples)});
    barrier_.arrive(event.worker);
    end_round_if_complete(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    end_round_if_complete(decisions);
  }

 private:
  /// Only between rounds, so that the switch finds nobody waiting.
  void end_round_if_complete(ServerDecisions& decisions) {
    if (!barrier_.complete()) return;
    barrier_.release(decisions);
    switched_ = done_ >= fraction_;
  }

  Barrier barrier_;
  double fraction_;
  double scale_;
  bool switched_;
  double done_ = 0.0;
};

}  // namespace

std::vector<OptionSpec> sync_switch_options() {
  return {{.name = "fraction",
           .summary = "share of the job before the switch; the paper searches it, this project's default",
           .default_value = 0.25,
           .minimum = 0.0,
           .maximum = 1.0},
          {.name = "scale_after",
           .summary = "factor on gradients after the switch, as a change of the learning rate",
           .default_value = 1.0,
           .minimum = 0.0}};
}

std::unique_ptr<ServerPolicy> make_sync_switch_server(const Setting& setting) {
  return std::make_unique<SyncSwitchServer>(setting);
}

}  // namespace tandem::sync
