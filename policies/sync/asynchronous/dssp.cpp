// DSSP, dynamic stale synchronous parallel (Zhao, An, Liu, Chen, ICDCS 2019, arXiv:1908.11848). SSP whose
// bound moves between `lower` and `upper`. When the fastest worker is beyond `lower`, a controller predicts
// the next pushes of the fastest and of the slowest worker from their last two pushes, and grants the fastest
// the number of further steps after which it would wait least.
//
// The paper's bounds were not checked; the defaults are this project's own. A worker that has used its credit
// may be granted more, but never beyond `upper` steps ahead of the slowest. No credit is granted before two
// pushes of both workers are known; pushes before a worker left are forgotten.
#include <cmath>
#include <limits>

#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/clocks.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/present_workers.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class DsspServer final : public PushServer {
 public:
  /// Errors: OptionError when option lower is above option upper.
  explicit DsspServer(const Setting& setting)
      : clocks_(setting.workers),
        workers_(static_cast<std::size_t>(setting.workers)),
        averages_(setting.options.boolean("average")),
        present_(setting.workers),
        lower_(setting.options.integer("lower")),
        upper_(setting.options.integer("upper")) {
    if (lower_ > upper_)
      throw OptionError("dssp", "lower", "at most option 'upper' (" + std::to_string(upper_) + ")", lower_);
  }

  void on_push(const Push& event, ServerDecisions& decisions) override {
    present_.on_push(event);
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{averages_ ? present_.share() : 1.0});
    clocks_.complete_step(event.worker);
    Worker& one = at(event.worker);
    one.pushed_before = one.pushed;
    one.pushed = event.now;
    ++one.pushes;
    if (takes_credit(event.worker)) clocks_.release(event.worker, decisions);
    clocks_.release_within(lower_, decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    clocks_.leave(event.worker);
    at(event.worker) = {};
    clocks_.release_within(lower_, decisions);
    present_.leave(event.worker);
  }
  void on_joined(const Joined& event, ServerDecisions&) override {
    clocks_.join(event.worker);
    present_.join(event.worker);
  }
  void serialise(PolicyState& state) override {
    clocks_.serialise(state);
    present_.serialise(state);
    state.column("credit", workers_, &Worker::credit);
    state.column("pushes", workers_, &Worker::pushes);
    state.column("pushed", workers_, &Worker::pushed);
    state.column("pushed_before", workers_, &Worker::pushed_before);
  }

 private:
  struct Worker {
    std::int64_t credit = 0;  ///< further steps that it may take, however far it is ahead
    std::int64_t pushes = 0;
    Seconds pushed{};  ///< time of its last push
    Seconds pushed_before{};
    Seconds interval() const { return pushed - pushed_before; }
  };
  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }

  /// Uses one step of the worker's credit. Grants credit first, if it is time for that.
  bool takes_credit(int worker) {
    std::int64_t& credit = at(worker).credit;
    if (credit == 0 && clocks_.lead(worker) > lower_ && clocks_.is_fastest(worker))
      credit = steps_to_grant(worker);
    if (credit == 0) return false;
    --credit;
    return true;
  }

  /// The number r of further steps after which the worker's push is closest in time to a push of the slowest;
  /// ties: the fewest.
  std::int64_t steps_to_grant(int worker) {
    const Worker& fast = at(worker);
    const Worker& slow = at(clocks_.slowest());
    if (fast.pushes < 2 || slow.pushes < 2) return 0;
    // A granted step starts one beyond the last lead; the lead at its start must not exceed `upper`.
    const std::int64_t most = upper_ + 1 - clocks_.lead(worker);
    std::int64_t best = 0;
    Seconds least(std::numeric_limits<double>::infinity());
    for (std::int64_t r = 0; r <= most; ++r) {
      const Seconds wait =
          distance_to_a_push(slow, fast.pushed + fast.interval() * static_cast<double>(r), most);
      if (wait >= least) continue;
      best = r;
      least = wait;
    }
    return best;
  }

  /// From `time` to the nearest of the next `most` + 1 predicted pushes.
  static Seconds distance_to_a_push(const Worker& slow, Seconds time, std::int64_t most) {
    double nearest = 1.0;
    if (slow.interval() > Seconds(0.0)) nearest = std::round((time - slow.pushed) / slow.interval());
    const double number = std::clamp(nearest, 1.0, static_cast<double>(most + 1));
    return Seconds(std::abs((slow.pushed + slow.interval() * number - time).count()));
  }

  Clocks clocks_;
  std::vector<Worker> workers_;
  bool averages_;  ///< each push counts 1 over the workers present
  PresentWorkers present_;
  std::int64_t lower_;
  std::int64_t upper_;
};

}  // namespace

Algorithm dssp() {
  return {.name = "dssp",
          .summary = "like ssp, with a bound that adapts at run time so that the fastest worker waits least",
          .paper = "Zhao et al., ICDCS 2019, arXiv:1908.11848",
          .options = {{.name = "lower",
                       .summary = "steps that a worker may always be ahead of the slowest; default not from "
                                  "the paper",
                       .default_value = std::int64_t{3},
                       .minimum = 0,
                       .maximum = 1000},
                      {.name = "upper",
                       .summary = "most steps ahead that the controller allows; default not from the paper",
                       .default_value = std::int64_t{15},
                       .minimum = 0,
                       .maximum = 1000},
                      average_option()},
          .make = gradients_applied_at_once<DsspServer>(by_clocks())};
}

}  // namespace tandem::sync
