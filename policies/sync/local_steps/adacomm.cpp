#include "policies/sync/local_steps/adacomm.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "policies/sync/common/barrier.hpp"
#include "policies/sync/common/change_average.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/local_steps/local_sgd.hpp"

namespace tandem::sync {
namespace {

int first_steps(const Setting& setting) { return static_cast<int>(setting.options.integer("tau")); }

class AdaCommServer : public PushServer {
 public:
  explicit AdaCommServer(const Setting& setting)
      : barrier_(setting.workers),
        first_steps_(first_steps(setting)),
        steps_(first_steps_),
        period_(setting.options.real("period_s")),
        decay_(setting.options.real("decay")),
        weights_(setting.options.text("weights")),
        next_change_(period_) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    losses_[event.worker] = event.loss;
    rate_ = event.rate;
    barrier_.arrive(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }

 private:
  void finish_round(Seconds now, ServerDecisions& decisions) {
    const std::size_t begin = decisions.size();
    barrier_.release(decisions);
    // In the order of workers, not of arrival.
    double loss = 0.0;
    for (const auto& [worker, of_worker] : losses_) loss += of_worker / static_cast<double>(losses_.size());
    if (!started_) first_loss_ = loss;
    // Of a round of which no step could be taken none is known.
    started_ = std::isfinite(first_loss_);
    losses_.clear();
    if (now < next_change_) return;
    next_change_ = std::max(next_change_ + period_, now);
    const int steps = steps_for(loss);
    if (steps == steps_) return;
    steps_ = steps;
    for (std::size_t i = begin; i < decisions.size(); ++i)
      if (auto* reply = std::get_if<Reply>(&decisions[i])) reply->local_steps = steps;
  }

  /// As many as the loss and the learning rate ask for, if these are fewer; otherwise, and where no loss is
  /// known, a share of the last. The configured learning rate stands for the paper's first one, so that a
  /// warm-up does not.
  int steps_for(double loss) const {
    const double wanted = std::ceil(std::sqrt(loss / first_loss_ / rate_) * first_steps_);
    if (wanted >= 1.0 && wanted < steps_) return static_cast<int>(wanted);
    return std::max(1, static_cast<int>(decay_ * steps_));
  }

  Barrier barrier_;
  int first_steps_;
  int steps_;
  Seconds period_;
  double decay_;
  std::string weights_;
  Seconds next_change_;
  bool started_ = false;  ///< the first loss is known
  double first_loss_ = 0.0;
  double rate_ = 1.0;             ///< of the next round, over the configured one
  std::map<int, double> losses_;  ///< of the round, by worker
};

}  // namespace

std::vector<OptionSpec> adacomm_options() {
  return {{.name = "tau",
           .summary = "local steps of the first rounds; this project's default",
           .default_value = std::int64_t{16},
           .minimum = 1,
           .maximum = 10000},
          {.name = "period_s",
           .summary = "seconds between changes of the local steps",
           .default_value = 60.0,
           .minimum = 0.0},
          {.name = "decay",
           .summary = "share of the local steps that is kept where the loss does not ask for fewer",
           .default_value = 0.5,
           .minimum = 0.0,
           .maximum = 1.0},
          weights_option()};
}

std::unique_ptr<WorkerPolicy> make_adacomm_worker(const Setting& setting, int) {
  return make_local_steps_worker(first_steps(setting));
}

std::unique_ptr<ServerPolicy> make_adacomm_server(const Setting& setting) {
  return std::make_unique<AdaCommServer>(setting);
}

}  // namespace tandem::sync
