// Partial all-reduce: after each step, workers average their models in random groups, which are drawn anew in
// each round. It is Prague (Luo et al., ASPLOS 2020) without conflict detection: the groups of a round are
// disjoint.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/decentralised/algorithms.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::sync {
namespace {

class GroupAverageWorker final : public WorkerPolicy {
 public:
  /// Errors: OptionError when the number of workers is not a multiple of the group size.
  GroupAverageWorker(const Setting& setting, int worker)
      : self_(worker),
        size_(setting.options.integer("group_size")),
        order_(static_cast<std::size_t>(setting.workers)),
        random_(Rng::stream(setting.seed, "groups")) {
    if (setting.workers % size_ != 0)
      throw OptionError("group-average", "group_size",
                        "a divisor of the number of workers (" + std::to_string(setting.workers) + ")",
                        size_);
    std::iota(order_.begin(), order_.end(), 0);
  }

  /// Every worker draws the same order, so all agree on the groups without communication.
  WorkerDecision on_step_done(const StepDone&) override {
    random_.shuffle(order_);
    const auto place = std::find(order_.begin(), order_.end(), self_) - order_.begin();
    const auto first = order_.begin() + place / size_ * size_;
    std::vector<int> members(first, first + size_);
    std::sort(members.begin(), members.end());
    return Exchange{Payload::model, std::move(members)};
  }
  void serialise(PolicyState& state) override {
    state.column("order", order_, std::identity());
    // Restored from a damaged file, it might not name this worker.
    std::vector<int> sorted = order_;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t worker = 0; worker < sorted.size(); ++worker)
      if (sorted[worker] != static_cast<int>(worker))
        throw ConfigError("policy state: expected an 'order' that names each worker once");
    random_.serialise(state, "random");
  }

 private:
  int self_;
  std::int64_t size_;
  std::vector<int> order_;
  Rng random_;
};

}  // namespace

Algorithm group_average() {
  return {.name = "group-average",
          .summary = "partial all-reduce: after each step, workers average their models in random groups",
          .paper = "Luo et al., ASPLOS 2020 (Prague), with groups drawn at random",
          .options = {{.name = "group_size",
                       .summary = "workers in a group; divides the number of workers; default not from the "
                                  "paper",
                       .default_value = std::int64_t{2},
                       .minimum = 1}},
          .make = {.payload = Payload::model,
                   .routes = {Route::all_reduce},
                   .timing_driven = false,
                   .steps_per_round = one_step,
                   .make_worker = make_worker<GroupAverageWorker>}};
}

}  // namespace tandem::sync
