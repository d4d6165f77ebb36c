// D-PSGD, decentralised parallel SGD (Lian et al., NIPS 2017). No server and no all-reduce: in every step,
// each worker averages its model with those of its neighbours in a graph. With a global average every
// `global_every` steps it is Gossip-PGA (Chen et al., ICML 2021). When workers leave or join, the graph is
// made again over those present.
#include <numeric>
#include <string>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/decentralised/algorithms.hpp"
#include "policies/sync/decentralised/peer_graph.hpp"

namespace tandem::sync {
namespace {

class DPsgdWorker final : public WorkerPolicy {
 public:
  DPsgdWorker(const Setting& setting, int worker)
      : self_(worker),
        workers_(setting.workers),
        graph_(setting.options.text("graph")),
        all_(static_cast<std::size_t>(setting.workers)),
        global_every_(setting.options.integer("global_every")),
        overlaps_(setting.options.text("order") == "overlap") {
    std::iota(all_.begin(), all_.end(), 0);
    neighbours_ = neighbourhood(graph_, all_, self_);
  }

  std::optional<Exchange> on_step_begin(const StepBegin&) override {
    if (!overlaps_) return std::nullopt;
    return next();
  }
  WorkerDecision on_step_done(const StepDone&) override { return next(); }
  void on_members(const Members& event) override {
    exchanges_ = event.round;
    all_ = event.workers;
    neighbours_ = neighbourhood(graph_, all_, self_);
  }
  void serialise(PolicyState& state) override {
    state.value("exchanges", exchanges_);
    serialise_members(state, all_, workers_, self_);
    if (state.restores()) neighbours_ = neighbourhood(graph_, all_, self_);
  }

 private:
  Exchange next() {
    ++exchanges_;
    const bool global = global_every_ > 0 && exchanges_ % global_every_ == 0;
    return {Payload::model, global ? all_ : neighbours_};
  }

  int self_;
  int workers_;
  std::string graph_;
  std::vector<int> neighbours_;
  std::vector<int> all_;  ///< the workers that take part
  std::int64_t global_every_;
  bool overlaps_;
  std::int64_t exchanges_ = 0;
};

}  // namespace

Algorithm d_psgd() {
  return {
      .name = "d-psgd",
      .summary = "decentralised: in every step, each worker averages its model with its neighbours'",
      .paper = "Lian et al., NIPS 2017; with global_every: Chen et al., ICML 2021",
      .options = {graph_option("neighbours of a worker", "ring"),
                  {.name = "order",
                   .summary = "overlap: exchange the model while the gradient is computed at the old one, as "
                              "published; step-first: exchange the model after the step",
                   .default_value = std::string("overlap"),
                   .choices = {"overlap", "step-first"}},
                  {.name = "global_every",
                   .summary = "steps between averages over all workers, as in Gossip-PGA; 0: never",
                   .default_value = std::int64_t{0},
                   .minimum = 0}},
      .make = {.payload = Payload::model,
               .routes = {Route::peers},
               .timing_driven = false,
               .steps_per_round = one_step,
               .make_worker = make_worker<DPsgdWorker>,
               .membership = {Membership::Bears::departures_and_arrivals,
                              "from the next round on, the graph is that of the workers present"}}};
}

}  // namespace tandem::sync
