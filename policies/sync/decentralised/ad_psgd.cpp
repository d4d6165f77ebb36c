// AD-PSGD, asynchronous decentralised parallel SGD (Lian et al., ICML 2018). Every second worker is active;
// in each step, an active worker and a random passive neighbour average their models while both compute. No
// worker waits for a slower worker's step.
#include <algorithm>
#include <numeric>
#include <string>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/decentralised/algorithms.hpp"
#include "policies/sync/decentralised/peer_graph.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::sync {
namespace {

/// Two active workers never exchange, nor two passive ones. So a worker that waits for another is never
/// waited for, and there is no deadlock. It depends on the index alone, so it is the same for all workers
/// while they learn one after the other who has left or joined.
bool is_active(int worker) { return worker % 2 == 0; }

class AdPsgdWorker final : public WorkerPolicy {
 public:
  AdPsgdWorker(const Setting& setting, int worker)
      : self_(worker),
        workers_(setting.workers),
        graph_(setting.options.text("graph")),
        members_(static_cast<std::size_t>(setting.workers)),
        random_(Rng::stream(setting.seed, "ad-psgd", static_cast<std::uint64_t>(worker))) {
    std::iota(members_.begin(), members_.end(), 0);
    find_neighbours();
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
  void on_members(const Members& event) override {
    members_ = event.workers;
    find_neighbours();
  }
  void serialise(PolicyState& state) override {
    random_.serialise(state, "random");
    serialise_members(state, members_, workers_, self_);
    if (state.restores()) find_neighbours();
  }

 private:
  void find_neighbours() {
    neighbours_.clear();
    if (std::ssize(members_) == workers_) {
      for (const int other : neighbourhood(graph_, workers_, self_, Among::both_kinds))
        if (is_active(other) != is_active(self_)) neighbours_.push_back(other);
      return;
    }
    std::vector<int> active, passive;
    for (const int member : members_) (is_active(member) ? active : passive).push_back(member);
    const auto chosen = bipartite_neighbours(graph_, active, passive);
    for (std::size_t place = 0; place < active.size(); ++place) {
      if (active[place] == self_) neighbours_ = chosen[place];
      if (!is_active(self_) && std::ranges::binary_search(chosen[place], self_))
        neighbours_.push_back(active[place]);
    }
  }

  int self_;
  int workers_;
  std::string graph_;
  std::vector<int> members_;
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
                   .make_worker = make_worker<AdPsgdWorker>,
                   .membership = {Membership::Bears::departures_and_arrivals,
                                  "the graph is that of the workers present; while these have only even or "
                                  "only odd numbers, they do not average; jobs that recover in place refuse "
                                  "it, because its first worker counts the steps of all"}}};
}

}  // namespace tandem::sync
