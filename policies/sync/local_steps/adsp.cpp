#include "policies/sync/local_steps/adsp.hpp"

#include <algorithm>
#include <cmath>

#include "policies/sync/common/push_server.hpp"
#include "policies/sync/local_steps/local_sgd.hpp"

namespace tandem::sync {
namespace {

/// How many commits a period has: one more after each period in which the loss fell faster than in the one
/// before, until it does not; searched anew every so many periods.
class CommitRate {
 public:
  CommitRate(std::int64_t commits, std::int64_t search_every)
      : commits_(commits), search_every_(search_every) {}

  std::int64_t commits() const { return commits_; }
  void on_loss(double loss) {
    losses_ += loss;
    ++pushes_;
  }
  void end_period() {
    const double loss = pushes_ > 0 ? losses_ / static_cast<double>(pushes_) : last_loss_;
    const double fall = last_loss_ - loss;
    losses_ = 0.0;
    pushes_ = 0;
    last_loss_ = loss;
    ++periods_;
    // The first period has nothing to be compared with; without a loss there is nothing to search by.
    if (search_every_ == 0 || periods_ == 1 || std::isnan(fall)) return;
    if (searching_) {
      searching_ = fall > last_fall_;
      commits_ += searching_ ? 1 : -1;
    } else if ((periods_ - 2) % search_every_ == 0) {
      searching_ = true;
      ++commits_;
    }
    last_fall_ = fall;
  }

 private:
  std::int64_t commits_;
  std::int64_t search_every_;  ///< 0: never
  std::int64_t periods_ = 0;
  std::int64_t pushes_ = 0;  ///< of this period
  double losses_ = 0.0;      ///< their sum
  double last_loss_ = 0.0;   ///< mean of the last period
  double last_fall_ = 0.0;
  bool searching_ = false;
};

class AdspServer : public PushServer {
 public:
  explicit AdspServer(const Setting& setting)
      : period_(setting.options.real("period_s")),
        period_end_(period_),
        rate_(setting.options.integer("commits"), setting.options.integer("search_every")),
        target_(rate_.commits()),
        scale_(setting.options.real("scale")),
        workers_(static_cast<std::size_t>(setting.workers)) {
    if (scale_ == 0.0) scale_ = 1.0 / setting.workers;
  }

  void on_push(const Push& event, ServerDecisions& decisions) override {
    rate_.on_loss(event.loss);
    while (event.now >= period_end_) {
      rate_.end_period();
      target_ += rate_.commits();
      period_end_ = period_end_ + period_;
    }
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{scale_});
    decisions.emplace_back(Reply{.worker = event.worker, .local_steps = steps_until_commit(event)});
  }

 private:
  struct Committer {
    std::int64_t commits = 0;
    Seconds last{0.0};  ///< when it committed
  };

  /// So many as let the worker make the commits that it still owes at equal distances until the period ends,
  /// or the next period's first when that is due. The paper sets a timer at the start of each period; steps
  /// that last longer or shorter than expected are made up for here, at the next commit.
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
  std::int64_t target_;  ///< commits that every worker should have made when the period ends
  double scale_;
  std::vector<Committer> workers_;
};

}  // namespace

std::vector<OptionSpec> adsp_options() {
  return {
      {.name = "period_s",
       .summary = "seconds after which all workers have made equally many commits",
       .default_value = 60.0,
       .minimum = 1e-3},
      {.name = "commits",
       .summary = "commits of a worker in a period, where the search begins; this project's default",
       .default_value = std::int64_t{4},
       .minimum = 1},
      {.name = "search_every",
       .summary = "periods after which the number of commits is searched anew, by how fast the loss falls; "
                  "0 keeps it; this project's default",
       .default_value = std::int64_t{10},
       .minimum = 0},
      {.name = "scale",
       .summary = "share of a worker's change that the model takes; 0: 1 / workers",
       .default_value = 0.0,
       .minimum = 0.0}};
}

std::unique_ptr<WorkerPolicy> make_adsp_worker(const Setting&, int) { return make_local_steps_worker(1); }

std::unique_ptr<ServerPolicy> make_adsp_server(const Setting& setting) {
  return std::make_unique<AdspServer>(setting);
}

}  // namespace tandem::sync
