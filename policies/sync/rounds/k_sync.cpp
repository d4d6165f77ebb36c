// K-sync SGD, synchronous SGD with backup workers (Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting
// Distributed Synchronous SGD", arXiv:1604.00981; Dutta et al., AISTATS 2018). A round ends when the first K
// gradients of the current model have arrived; the later ones are dropped, and their workers continue from
// the new model. A late worker finishes its step first, or stops it with `cancel`: then all workers begin
// each round together, and it lasts as long as the K-th shortest of their steps (Dutta et al.). The papers'
// number of backup workers, about 4 to 5 % of all, was not checked, so by default there is none.
#include <algorithm>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/common/round_barrier.hpp"
#include "policies/sync/common/weights.hpp"
#include "policies/sync/rounds/algorithms.hpp"

namespace tandem::sync {
namespace {

/// Errors: OptionError when k is more than the number of workers.
std::int64_t quorum_of(const Setting& setting) {
  const std::int64_t k = count_of(setting, "k");
  if (k > setting.workers)
    throw OptionError("k-sync", "k",
                      "at most the number of workers (" + std::to_string(setting.workers) + ")", k);
  return k;
}

/// Errors: OptionError when no gradient is late.
bool cancels(const Setting& setting) {
  const bool cancel = setting.options.boolean("cancel");
  if (cancel && quorum_of(setting) == setting.workers)
    throw OptionError("k-sync", "cancel", "false, because no gradient is late where k is all workers",
                      cancel);
  return cancel;
}

class KSyncServer final : public PushServer {
 public:
  explicit KSyncServer(const Setting& setting)
      : barrier_(setting.workers, quorum_of(setting)), cancels_(cancels(setting)) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    if (barrier_.is_late(event.version) || event.cancelled) return barrier_.drop_late(event, decisions);
    decisions.emplace_back(Accept{event.worker, weight_of("samples", event)});  // as BSP weighs
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
  void serialise(PolicyState& state) override { barrier_.serialise(state); }

 private:
  void end_round_if_complete(ServerDecisions& decisions) {
    if (!barrier_.complete()) return;
    if (cancels_) decisions.emplace_back(Cancel{barrier_.next_version()});
    barrier_.release(decisions);
  }

  Barrier barrier_;
  bool cancels_;
};

Factory factory() {
  Factory make = with_cancel(gradients_by_arrival<KSyncServer>(by_rounds()));
  // While there are fewer workers, all of them end a round.
  make.quorum = [](const Setting& setting) {
    return std::min<std::int64_t>(count_of(setting, "k"), setting.workers);
  };
  return make;
}

}  // namespace

Algorithm k_sync() {
  return {
      .name = "k-sync",
      .summary = "like bsp, but a round ends after its first K gradients; later gradients are dropped",
      .paper = "Chen et al., arXiv:1604.00981; Dutta et al., AISTATS 2018",
      .options = {count_option("k", "gradients that end a round, at most one per worker"), cancel_option()},
      .make = factory()};
}

}  // namespace tandem::sync
