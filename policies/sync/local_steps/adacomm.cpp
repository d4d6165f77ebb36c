// AdaComm (Wang, Joshi, SysML 2019). Local SGD that starts with many local steps per round and takes fewer as
// the loss falls, because rare averages are fast at first and frequent ones end at a lower loss. Where the
// learning rate falls as well, the number of steps falls less.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/local_steps_worker.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/common/round_barrier.hpp"
#include "policies/sync/common/weights.hpp"
#include "policies/sync/local_steps/algorithms.hpp"

namespace tandem::sync {
namespace {

int first_steps(const Setting& setting) { return static_cast<int>(setting.options.integer("tau")); }

class AdaCommWorker final : public LocalStepsWorker {
 public:
  explicit AdaCommWorker(const Setting& setting)
      : LocalStepsWorker(first_steps(setting), setting.options.text("weights")) {}
};

class AdaCommServer final : public PushServer {
 public:
  explicit AdaCommServer(const Setting& setting)
      : barrier_(setting.workers),
        first_steps_(first_steps(setting)),
        steps_(first_steps_),
        known_(static_cast<std::size_t>(setting.workers), first_steps_),
        period_(setting.options.real("period_s")),
        decay_(setting.options.real("decay")),
        weights_(setting.options.text("weights")),
        next_change_(period_) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    if (barrier_.is_late(event.version)) {
      barrier_.drop_late(event, decisions);
      return send_steps(decisions);
    }
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    losses_.emplace(event.worker, event.loss);
    rate_ = event.rate;
    barrier_.arrive(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    if (barrier_.leave(event, decisions)) losses_.erase(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }
  void on_joined(const Joined& event, ServerDecisions&) override {
    barrier_.join(event.worker, event.version);
    known_[static_cast<std::size_t>(event.worker)] = first_steps_;
  }
  void serialise(PolicyState& state) override {
    barrier_.serialise(state);
    state.value("steps", steps_);
    // The name in saved states.
    state.column("told", known_, std::identity());
    state.value("next_change", next_change_);
    state.value("started", started_);
    state.value("first_loss", first_loss_);
    state.value("rate", rate_);
    std::vector<int> workers;
    std::vector<double> losses;
    for (const auto& [worker, loss] : losses_) {
      workers.push_back(worker);
      losses.push_back(loss);
    }
    state.list("loss_of", workers);
    state.list("loss", losses);
    if (!state.restores()) return;
    if (workers.size() != losses.size()) throw ConfigError("policy state: expected a loss for each worker");
    losses_.clear();
    for (std::size_t i = 0; i < workers.size(); ++i) losses_.emplace(workers[i], losses[i]);
  }

 private:
  void finish_round(Seconds now, ServerDecisions& decisions) {
    barrier_.release(decisions);
    // Added in the order of workers, not of arrival.
    double loss = 0.0;
    for (const auto& [worker, of_worker] : losses_) loss += of_worker / static_cast<double>(losses_.size());
    if (!started_) first_loss_ = loss;
    // The loss of a round is unknown when every step of it was skipped.
    started_ = std::isfinite(first_loss_);
    losses_.clear();
    if (now >= next_change_) {
      next_change_ = std::max(next_change_ + period_, now);
      steps_ = steps_for(loss);
    }
    send_steps(decisions);
  }

  /// In the replies to workers that do not know the number of steps yet.
  void send_steps(ServerDecisions& decisions) {
    for (ServerDecision& decision : decisions) {
      auto* reply = std::get_if<Reply>(&decision);
      if (reply == nullptr) continue;
      int& known = known_[static_cast<std::size_t>(reply->worker)];
      if (known != steps_) reply->local_steps = steps_;
      known = steps_;
    }
  }

  /// The number that loss and learning rate ask for, if it is smaller than the last one; otherwise, and where
  /// no loss is known, the share `decay` of the last one. The paper's first learning rate is the configured
  /// one here, so that a warm-up does not count.
  int steps_for(double loss) const {
    const double wanted = std::ceil(std::sqrt(loss / first_loss_ / rate_) * first_steps_);
    if (wanted >= 1.0 && wanted < steps_) return static_cast<int>(wanted);
    return std::max(1, static_cast<int>(decay_ * steps_));
  }

  Barrier barrier_;
  int first_steps_;
  int steps_;
  std::vector<int> known_;  ///< the number of steps that each worker takes
  Seconds period_;
  double decay_;
  std::string weights_;
  Seconds next_change_;
  bool started_ = false;  ///< the first loss is known
  double first_loss_ = 0.0;
  double rate_ = 1.0;                  ///< learning rate of the next round over the configured one
  std::multimap<int, double> losses_;  ///< of the round's pushes, by worker
};

}  // namespace

Algorithm adacomm() {
  return {
      .name = "adacomm",
      .summary = "like local-sgd, with fewer and fewer local steps as the loss falls",
      .paper = "Wang, Joshi, SysML 2019",
      .options = {{.name = "tau",
                   .summary = "local steps of the first rounds; default not from the paper",
                   .default_value = std::int64_t{16},
                   .minimum = 1,
                   .maximum = 10000},
                  {.name = "period_s",
                   .summary = "seconds between changes of the number of local steps",
                   .default_value = 60.0,
                   .minimum = 0.0},
                  {.name = "decay",
                   .summary = "factor on the number of local steps if the loss does not call for fewer",
                   .default_value = 0.5,
                   .minimum = 0.0,
                   .maximum = 1.0},
                  weights_option()},
      .make = {.payload = Payload::change,
               .routes = {Route::server, Route::all_reduce},
               .timing_driven = true,
               .steps_per_round = varying_steps,
               .make_worker = make_worker<AdaCommWorker>,
               .make_server = make_server<AdaCommServer>,
               .coordinated = true,
               .uses_losses = true,
               .decides_by_part = true,
               .membership = {Membership::Bears::departures_and_arrivals,
                              by_rounds().how + "; its first round has the first number of steps", true}}};
}

}  // namespace tandem::sync
