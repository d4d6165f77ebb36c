// Ringmaster ASGD (Maranjyan, Tyurin, Richtarik, ICML 2025). Asynchronous SGD that ignores gradients that are
// R or more updates old. Without a bound on R it is ASP; R = 1 is Rennala SGD with B = 1. The paper sets R to
// about max(1, ceil(sigma^2 / epsilon)), which needs the noise of the gradients; the default here, the number
// of workers, drops nothing while workers are equally fast. Late workers finish their step. With `cancel`,
// each update stops the steps that it makes R updates old: the paper's second form, with stops.
#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class RingmasterServer final : public PushServer {
 public:
  explicit RingmasterServer(const Setting& setting)
      : delay_bound_(count_of(setting, "r")), cancels_(setting.options.boolean("cancel")) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    const int delay = version_ - event.version;
    if (delay >= delay_bound_ || event.cancelled) return drop(event, decisions);
    decisions.emplace_back(Accept{event.worker});
    ++version_;
    if (cancels_ && version_ >= delay_bound_)
      decisions.emplace_back(Cancel{static_cast<int>(version_ - delay_bound_ + 1)});
    decisions.emplace_back(Apply{});
    decisions.emplace_back(Reply{event.worker});
  }
  void serialise(PolicyState& state) override { state.value("version", version_); }

 private:
  std::int64_t delay_bound_;
  bool cancels_;
  int version_ = 0;
};

}  // namespace

Algorithm ringmaster() {
  return {.name = "ringmaster",
          .summary = "like asp, but gradients that are R or more updates old are dropped",
          .paper = "Maranjyan, Tyurin, Richtarik, ICML 2025",
          .options = {count_option(
                          "r", "age in updates from which a gradient is dropped; default not from the paper"),
                      cancel_option()},
          .make = with_cancel(gradients_by_arrival<RingmasterServer>(without_notice()))};
}

}  // namespace tandem::sync
