#include "policies/sync/decentralised/group_average.hpp"

#include <algorithm>
#include <numeric>

#include "policies/vocabulary/rng.hpp"

namespace tandem::sync {
namespace {

class GroupAverageWorker : public WorkerPolicy {
 public:
  GroupAverageWorker(const Setting& setting, int worker)
      : self_(worker),
        size_(setting.options.integer("group_size")),
        order_(static_cast<std::size_t>(setting.workers)),
        random_(Rng::stream(setting.seed, "groups")) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  /// Every worker draws the same order, so all agree on the groups without a word.
  WorkerDecision on_step_done(const StepDone&) override {
    random_.shuffle(order_);
    const auto place = std::find(order_.begin(), order_.end(), self_) - order_.begin();
    const auto first = order_.begin() + place / size_ * size_;
    std::vector<int> members(first, first + size_);
    std::sort(members.begin(), members.end());
    return Exchange{Payload::model, std::move(members)};
  }

 private:
  int self_;
  std::int64_t size_;
  std::vector<int> order_;
  Rng random_;
};

}  // namespace

std::vector<OptionSpec> group_average_options() {
  return {{.name = "group_size",
           .summary = "workers of a group; divides the number of workers; this project's default",
           .default_value = std::int64_t{2},
           .minimum = 1}};
}

std::unique_ptr<WorkerPolicy> make_group_average_worker(const Setting& setting, int worker) {
  const std::int64_t size = setting.options.integer("group_size");
  if (setting.workers % size != 0)
    throw OptionError("group-average", "group_size",
                      "a divisor of the number of workers (" + std::to_string(setting.workers) + ")", size);
  return std::make_unique<GroupAverageWorker>(setting, worker);
}

}  // namespace tandem::sync
