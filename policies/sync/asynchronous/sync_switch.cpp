// Sync-Switch (Li, Mangoubi, Xu, Guo, ICDCS 2021). BSP for the first part of the job, ASP for the rest. The
// paper's policies for stragglers are not offered.
#include <algorithm>
#include <utility>

#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/common/round_barrier.hpp"

namespace tandem::sync {
namespace {

class SyncSwitchServer final : public PushServer {
 public:
  explicit SyncSwitchServer(const Setting& setting)
      : barrier_(setting.workers),
        fraction_(setting.options.real("fraction")),
        scale_(setting.options.real("scale_after")),
        switched_(fraction_ <= 0.0) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    done_ = std::max(done_, event.done);
    if (switched_) return apply_at_once(event, scale_, decisions);
    if (barrier_.is_late(event.version)) return barrier_.drop_late(event, decisions);
    decisions.emplace_back(Accept{event.worker, static_cast<double>(event.samples)});
    barrier_.arrive(event.worker);
    end_round_if_complete(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event, decisions);
    end_round_if_complete(decisions);
  }
  void on_joined(const Joined& event, ServerDecisions&) override {
    barrier_.join(event.worker, event.version);
  }
  void serialise(PolicyState& state) override {
    barrier_.serialise(state);
    state.value("switched", switched_);
    state.value("done", done_);
  }

 private:
  /// Switches only between rounds, when no worker waits.
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

Algorithm sync_switch() {
  Factory make = gradients_by_arrival<SyncSwitchServer>(
      {Membership::Bears::departures_and_arrivals, "as bsp before the switch and as asp after it"});
  make.uses_done = true;
  return {
      .name = "sync-switch",
      .summary = "bsp for the first part of the job, then asp",
      .paper = "Li, Mangoubi, Xu, Guo, ICDCS 2021",
      .options = {{.name = "fraction",
                   .summary = "share of the job before the switch; the paper searches for it; default not "
                              "from the paper",
                   .default_value = 0.25,
                   .minimum = 0.0,
                   .maximum = 1.0},
                  {.name = "scale_after",
                   .summary = "factor on gradients after the switch, like a change of the learning rate",
                   .default_value = 1.0,
                   .minimum = 0.0}},
      .make = std::move(make)};
}

}  // namespace tandem::sync
