// ADSP (Hu, Wang, Wu, AAAI 2020). No worker waits, and all workers commit their accumulated local updates
// equally often: fast workers take more local steps between two commits. A search over the loss decides how
// often they commit. A worker that joins makes its share of the commits in the rest of the period.
#include <algorithm>
#include <cmath>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/local_steps_worker.hpp"
#include "policies/sync/common/present_workers.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/local_steps/algorithms.hpp"

namespace tandem::sync {
namespace {

/// The number of commits in a period. A search adds one after each period with a larger reward than the
/// period before, and ends at one without; it starts again every `search_every` periods.
///
/// A loss falls the more slowly the lower it is, whatever the number of commits, so falls of different
/// periods do not compare. A loss l = 1 / (a t + b), as in the paper but for a constant, falls by a l^2 per
/// second: the reward of a period is its a, the fall that it would have at any common loss.
class CommitRate {
 public:
  CommitRate(std::int64_t commits, std::int64_t search_every)
      : commits_(commits), search_every_(search_every) {}

  std::int64_t commits() const { return commits_; }
  void on_loss(double loss) {
    losses_ += loss;
    ++pushes_;
  }
  void serialise(PolicyState& state) {
    state.value("commits", commits_);
    state.value("periods", periods_);
    state.value("pushes", pushes_);
    state.value("losses", losses_);
    state.value("last_loss", last_loss_);
    state.value("last_reward", last_reward_);
    state.value("searching", searching_);
  }
  void end_period() {
    const double loss = pushes_ > 0 ? losses_ / static_cast<double>(pushes_) : last_loss_;
    const double reward = 1.0 / loss - 1.0 / last_loss_;  // periods are equally long
    losses_ = 0.0;
    pushes_ = 0;
    last_loss_ = loss;
    ++periods_;
    // The first period cannot be compared with another; without a loss there is no criterion.
    if (search_every_ == 0 || periods_ == 1 || !std::isfinite(reward)) return;
    if (searching_) {
      searching_ = reward > last_reward_;
      commits_ += searching_ ? 1 : -1;
    } else if ((periods_ - 2) % search_every_ == 0) {
      searching_ = true;
      ++commits_;
    }
    last_reward_ = reward;
  }

 private:
  std::int64_t commits_;
  std::int64_t search_every_;  ///< 0: never
  std::int64_t periods_ = 0;
  std::int64_t pushes_ = 0;  ///< in this period
  double losses_ = 0.0;      ///< sum over these pushes
  double last_loss_ = 0.0;   ///< mean over the last period
  double last_reward_ = 0.0;
  bool searching_ = false;
};

class AdspWorker final : public LocalStepsWorker {
 public:
  explicit AdspWorker(const Setting&) : LocalStepsWorker(1) {}
};

class AdspServer final : public PushServer {
 public:
  explicit AdspServer(const Setting& setting)
      : period_(setting.options.real("period_s")),
        period_end_(period_),
        rate_(setting.options.integer("commits"), setting.options.integer("search_every")),
        target_(rate_.commits()),
        scale_(setting.options.real("scale")),
        present_(setting.workers),
        workers_(static_cast<std::size_t>(setting.workers)) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    rate_.on_loss(event.loss);
    end_periods(event.now);
    present_.on_push(event);
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{scale_ == 0.0 ? present_.share() : scale_});
    decisions.emplace_back(Reply{.worker = event.worker, .local_steps = steps_until_commit(event)});
  }
  void on_left(const Left& event, ServerDecisions&) override { present_.leave(event.worker); }
  void on_joined(const Joined& event, ServerDecisions&) override {
    present_.join(event.worker);
    end_periods(event.now);
    const double rest = (period_end_ - event.now) / period_;
    const auto owed = static_cast<std::int64_t>(std::ceil(static_cast<double>(rate_.commits()) * rest));
    workers_.at(static_cast<std::size_t>(event.worker)) = {.commits = target_ - owed, .last = event.now};
  }
  void serialise(PolicyState& state) override {
    rate_.serialise(state);
    state.value("period_end", period_end_);
    state.value("target", target_);
    present_.serialise(state);
    state.column("worker.commits", workers_, &Committer::commits);
    state.column("worker.last", workers_, &Committer::last);
  }

 private:
  struct Committer {
    std::int64_t commits = 0;
    Seconds last{0.0};  ///< time of its last commit, or when it joined
  };

  void end_periods(Seconds now) {
    while (now >= period_end_) {
      rate_.end_period();
      target_ += rate_.commits();
      period_end_ = period_end_ + period_;
    }
  }

  /// The number of steps with which the worker makes its remaining commits of the period at equal distances,
  /// or, if none remains, the first commit of the next period in time. The paper sets a timer at the start of
  /// each period; here, the next commit corrects for steps that were longer or shorter than expected.
  int steps_until_commit(const Push& event) {
    Committer& worker = workers_.at(static_cast<std::size_t>(event.worker));
    const Seconds computing = event.duration * static_cast<double>(event.local_steps);
    const Seconds overhead = std::max(Seconds(0.0), event.now - worker.last - computing);
    worker.last = event.now;
    const std::int64_t owed = target_ - ++worker.commits;
    const Seconds rest = period_end_ - event.now;
    const Seconds between =
        owed > 0 ? rest / static_cast<double>(owed)
                 : rest + period_ * (static_cast<double>(1 - owed) / static_cast<double>(rate_.commits()));
    if (event.duration <= Seconds(0.0)) return 1;
    return static_cast<int>(std::clamp((between - overhead) / event.duration, 1.0, most_steps));
  }

  static constexpr double most_steps = 1e6;

  Seconds period_;
  Seconds period_end_;
  CommitRate rate_;
  std::int64_t target_;  ///< commits of each worker by the end of the period
  double scale_;         ///< 0: 1 over the workers present
  PresentWorkers present_;
  std::vector<Committer> workers_;
};

}  // namespace

Algorithm adsp() {
  return {
      .name = "adsp",
      .summary = "asynchronous local steps: all workers push equally often, fast ones after more steps",
      .paper = "Hu, Wang, Wu, AAAI 2020",
      .options = {{.name = "period_s",
                   .summary = "period in seconds, in which all workers make equally many commits (pushes)",
                   .default_value = 60.0,
                   .minimum = 1e-3},
                  {.name = "commits",
                   .summary = "commits of a worker per period before any search; default not from the paper",
                   .default_value = std::int64_t{4},
                   .minimum = 1},
                  {.name = "search_every",
                   .summary = "periods between searches for the number of commits with which the loss falls "
                              "fastest, compared at equal loss; 0: never; default not from the paper",
                   .default_value = std::int64_t{10},
                   .minimum = 0},
                  {.name = "scale",
                   .summary = "factor on a worker's change; 0: 1 / workers present",
                   .default_value = 0.0,
                   .minimum = 0.0}},
      .make = {.payload = Payload::change,
               .routes = {Route::server},
               .timing_driven = true,
               .steps_per_round = varying_steps,
               .make_worker = make_worker<AdspWorker>,
               .make_server = make_server<AdspServer>,
               .uses_losses = true,
               .membership = {Membership::Bears::departures_and_arrivals,
                              "a newcomer makes its share of the commits in the rest of the period"}}};
}

}  // namespace tandem::sync
