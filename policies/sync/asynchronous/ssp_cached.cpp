// SSP with cached reads (Ho et al., NIPS 2013, section 3). A worker steps on a copy of the model, so that it
// sees its own updates at once (read-my-writes), and pushes the change of each step, which the server adds on
// arrival. While the copy is fresh enough for the bound, the worker continues with it: at clock c, the copy
// has all updates of the first c - s steps of every worker. Otherwise it gets the model, as soon as that is
// so fresh.
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/clocks.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/local_steps_worker.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class SspCachedWorker final : public LocalStepsWorker {
 public:
  explicit SspCachedWorker(const Setting&) : LocalStepsWorker(1) {}
};

class SspCachedServer final : public PushServer {
 public:
  explicit SspCachedServer(const Setting& setting)
      : clocks_(setting.workers),
        staleness_(setting.options.integer("staleness")),
        copies_(static_cast<std::size_t>(setting.workers), 0) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{});
    clocks_.complete_step(event.worker);
    release(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    clocks_.leave(event.worker);
    release(decisions);
  }
  void on_joined(const Joined& event, ServerDecisions&) override {
    clocks_.join(event.worker);
    copy_of(event.worker) = clocks_.clock(event.worker);
  }
  void serialise(PolicyState& state) override {
    clocks_.serialise(state);
    state.column("copy", copies_, std::identity());
  }

 private:
  std::int64_t& copy_of(int worker) { return copies_.at(static_cast<std::size_t>(worker)); }

  /// The slowest worker has done at least as many steps as any copy contains of it. So a worker whose copy is
  /// fresh enough is within the bound, and does not wait.
  void release(ServerDecisions& decisions) {
    clocks_.release_within(staleness_, decisions);
    for (ServerDecision& decision : decisions) {
      auto* reply = std::get_if<Reply>(&decision);
      if (reply == nullptr) continue;
      std::int64_t& copy = copy_of(reply->worker);
      reply->keeps_model = clocks_.clock(reply->worker) - copy <= staleness_;
      if (!reply->keeps_model) copy = clocks_.clock(clocks_.slowest());
    }
  }

  Clocks clocks_;
  std::int64_t staleness_;
  std::vector<std::int64_t> copies_;  ///< by worker: steps of everyone that its copy contains
};

}  // namespace

Algorithm ssp_cached() {
  return {.name = "ssp-cached",
          .summary =
              "like ssp, but a worker steps on its copy of the model, and gets a new one only when the "
              "copy is older than the bound",
          .paper = "Ho et al., NIPS 2013",
          .options = {{.name = "staleness",
                       .summary = "s: steps of any worker that a copy may lack; 0: a new one after each step",
                       .default_value = std::int64_t{0},
                       .minimum = 0}},
          .make = {.payload = Payload::change,
                   .routes = {Route::server},
                   .timing_driven = true,
                   .steps_per_round = one_step,
                   .make_worker = make_worker<SspCachedWorker>,
                   .make_server = make_server<SspCachedServer>,
                   .keeps_models = true,
                   .membership = by_clocks()}};
}

}  // namespace tandem::sync
