#include "policies/sync/asynchronous/dssp.hpp"

#include <cmath>
#include <limits>

#include "policies/sync/common/clocks.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class DsspServer : public PushServer {
 public:
  DsspServer(int workers, std::int64_t lower, std::int64_t upper)
      : clocks_(workers), workers_(static_cast<std::size_t>(workers)), lower_(lower), upper_(upper) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{});
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
    clocks_.release_within(lower_, decisions);
  }

 private:
  struct Worker {
    std::int64_t credit = 0;  ///< further steps it may take whatever its lead
    std::int64_t pushes = 0;
    Seconds pushed;  ///< when it last did
    Seconds pushed_before;
    Seconds interval() const { return pushed - pushed_before; }
  };
  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }

  /// Uses a step of the worker's credit, granting some first if it is due.
  bool takes_credit(int worker) {
    std::int64_t& credit = at(worker).credit;
    if (credit == 0 && clocks_.lead(worker) > lower_ && clocks_.is_fastest(worker))
      credit = steps_to_grant(worker);
    if (credit == 0) return false;
    --credit;
    return true;
  }

  /// The number r of further steps after which the worker's push falls closest to one of the slowest's;
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
  std::int64_t lower_;
  std::int64_t upper_;
};

}  // namespace

std::vector<OptionSpec> dssp_options() {
  return {{.name = "lower",
           .summary = "steps a worker may always be ahead of the slowest; this project's default",
           .default_value = std::int64_t{3},
           .minimum = 0,
           .maximum = 1000},
          {.name = "upper",
           .summary = "steps that the controller may let it be ahead; this project's default",
           .default_value = std::int64_t{15},
           .minimum = 0,
           .maximum = 1000}};
}

std::unique_ptr<ServerPolicy> make_dssp_server(const Setting& setting) {
  const std::int64_t lower = setting.options.integer("lower");
  const std::int64_t upper = setting.options.integer("upper");
  if (lower > upper)
    throw OptionError("dssp", "lower", "at most option 'upper' (" + std::to_string(upper) + ")", lower);
  return std::make_unique<DsspServer>(setting.workers, lower, upper);
}

}  // namespace tandem::sync
