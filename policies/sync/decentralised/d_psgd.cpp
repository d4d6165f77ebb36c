#include "policies/sync/decentralised/d_psgd.hpp"

#include <numeric>
#include <utility>

#include "policies/sync/decentralised/peer_graph.hpp"

namespace tandem::sync {
namespace {

class DPsgdWorker : public WorkerPolicy {
 public:
  DPsgdWorker(const Setting& setting, int worker)
      : neighbours_(neighbourhood(setting.options.text("graph"), setting.workers, worker)),
        all_(static_cast<std::size_t>(setting.workers)),
        global_every_(setting.options.integer("global_every")),
        overlaps_(setting.options.text("order") == "overlap") {
    std::iota(all_.begin(), all_.end(), 0);
  }

  std::optional<Exchange> on_step_begin(const StepBegin&) override {
    if (!overlaps_) return std::nullopt;
    return next();
  }
  WorkerDecision on_step_done(const StepDone&) override { return next(); }

 private:
  Exchange next() {
    ++exchanges_;
    const bool global = global_every_ > 0 && exchanges_ % global_every_ == 0;
    return {Payload::model, global ? all_ : neighbours_};
  }

  std::vector<int> neighbours_;
  std::vector<int> all_;
  std::int64_t global_every_;
  bool overlaps_;
  std::int64_t exchanges_ = 0;
};

}  // namespace

std::vector<OptionSpec> d_psgd_options() {
  return {graph_option("whom a worker averages with", "ring"),
          {.name = "order",
           .summary = "overlap: models travel while the gradient is computed at the old one, as published; "
                      "step-first: the model after the step travels",
           .default_value = std::string("overlap"),
           .choices = {"overlap", "step-first"}},
          {.name = "global_every",
           .summary = "steps after which all average with all, as Gossip-PGA does; 0: never",
           .default_value = std::int64_t{0},
           .minimum = 0}};
}

std::unique_ptr<WorkerPolicy> make_d_psgd_worker(const Setting& setting, int worker) {
  return std::make_unique<DPsgdWorker>(setting, worker);
}

}  // namespace tandem::sync
