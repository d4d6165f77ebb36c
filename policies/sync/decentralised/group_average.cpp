// Partial all-reduce: after each step, workers average their models in random groups, which are drawn in
// each round. It is Prague (Luo et al., ASPLOS 2020) without conflict detection: the groups of a round are
// disjoint. An order of all workers is drawn in each round, and those present are divided in that order, so
// the draws do not depend on who has left; the last group may be smaller then.
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
        seed_(setting.seed),
        present_(static_cast<std::size_t>(setting.workers), true),
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
    draw();
    std::vector<int> members;
    bool has_self = false;
    for (const int worker : order_) {
      if (!present_[static_cast<std::size_t>(worker)]) continue;
      if (std::ssize(members) == size_) {
        if (has_self) break;
        members.clear();
      }
      members.push_back(worker);
      has_self = has_self || worker == self_;
    }
    std::sort(members.begin(), members.end());
    return Exchange{Payload::model, std::move(members)};
  }
  /// Continues with the draw of the event's round.
  void on_members(const Members& event) override {
    std::fill(present_.begin(), present_.end(), false);
    for (const int worker : event.workers) present_.at(static_cast<std::size_t>(worker)) = true;
    if (event.round < round_) {
      std::iota(order_.begin(), order_.end(), 0);
      random_ = Rng::stream(seed_, "groups");
      round_ = 0;
    }
    while (round_ < event.round) draw();
  }
  void serialise(PolicyState& state) override {
    state.value("round", round_);
    state.flags("present", present_);
    if (!present_[static_cast<std::size_t>(self_)])
      throw ConfigError("policy state: expected worker " + std::to_string(self_) + " to be 'present'");
    state.column("order", order_, std::identity());
    // The order of a damaged file might not name this worker.
    std::vector<int> sorted = order_;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t worker = 0; worker < sorted.size(); ++worker)
      if (sorted[worker] != static_cast<int>(worker))
        throw ConfigError("policy state: expected an 'order' that names each worker once");
    random_.serialise(state, "random");
  }

 private:
  void draw() {
    random_.shuffle(order_);
    ++round_;
  }

  int self_;
  std::int64_t size_;
  std::uint64_t seed_;
  std::int64_t round_ = 0;  ///< rounds drawn
  std::vector<bool> present_;
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
                   .make_worker = make_worker<GroupAverageWorker>,
                   .membership = {Membership::Bears::departures_and_arrivals,
                                  "from the next round on, groups are drawn among the workers present; the "
                                  "last one may be smaller"}}};
}

}  // namespace tandem::sync
