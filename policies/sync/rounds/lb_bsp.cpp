// LB-BSP, load-balanced BSP (Chen et al., SoCC 2020). BSP whose global batch is divided again after each
// round so that all workers finish at the same time: in proportion to their speeds, or by a line of step time
// over batch that is fitted for each worker. Each gradient counts by its batch. When workers have left or
// joined, the batch is divided again after the round; what was known of the speed of a worker that left is
// forgotten. The paper also predicts the speed of processors from their load, which no event here carries.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/push_server.hpp"
#include "policies/sync/common/round_barrier.hpp"
#include "policies/sync/rounds/algorithms.hpp"

namespace tandem::sync {
namespace {

/// Predicts the time of a worker's step from its batch by a line through past steps. The newest step has the
/// weight `newest`, all older ones together the rest. The paper's model of GPUs is such a line above a least
/// step time, which cannot be known from steps that were never that short.
class StepTime {
 public:
  explicit StepTime(double newest) : newest_(newest) {}

  void add(double batch, double seconds) {
    const double taken = known_ ? newest_ : 1.0;
    const auto follow = [&](double& mean, double value) { mean = mean * (1.0 - taken) + value * taken; };
    follow(batch_, batch);
    follow(square_, batch * batch);
    follow(seconds_, seconds);
    follow(product_, batch * seconds);
    known_ = true;
    // Where batches hardly differ, differences in time are noise and say nothing about the slope.
    const double spread = square_ - batch_ * batch_;
    if (spread > least_spread * square_) slope_ = (product_ - batch_ * seconds_) / spread;
  }
  /// Seconds per sample. Where no line fits, the time is taken to be proportional to the batch.
  double slope() const { return fits() ? slope_ : seconds_ / batch_; }
  /// The part of the time that does not depend on the batch, in seconds.
  double fixed() const { return fits() ? seconds_ - slope_ * batch_ : 0.0; }

  /// Shows the predictions of all workers, one list for each field.
  static void serialise(PolicyState& state, std::vector<StepTime*> all) {
    const auto column = [&](const char* name, auto StepTime::*field) {
      state.column(
          name, all, [&](StepTime * one) -> auto& { return one->*field; });
    };
    column("time.known", &StepTime::known_);
    column("time.slope", &StepTime::slope_);
    column("time.batch", &StepTime::batch_);
    column("time.square", &StepTime::square_);
    column("time.seconds", &StepTime::seconds_);
    column("time.product", &StepTime::product_);
  }

 private:
  static constexpr double least_spread = 1e-3;  ///< variance of the batches over their mean square

  bool fits() const { return slope_ > 0.0 && seconds_ >= slope_ * batch_; }

  double newest_;
  bool known_ = false;
  double slope_ = 0.0;
  // Means.
  double batch_ = 0.0;
  double square_ = 0.0;
  double seconds_ = 0.0;
  double product_ = 0.0;
};

/// Whether step times are predicted by a line. Errors: OptionError when the line would have to be fitted to a
/// single step.
bool is_affine(const Setting& setting) {
  const bool affine = setting.options.text("step_time") == "affine";
  const double smoothing = setting.options.real("smoothing");
  if (affine && smoothing >= 1.0)
    throw OptionError("lb-bsp", "smoothing",
                      "below 1, because option 'step_time' is affine and one step makes no line", smoothing);
  return affine;
}

class LbBspServer final : public PushServer {
 public:
  explicit LbBspServer(const Setting& setting)
      : barrier_(setting.workers),
        unknown_{setting.batch, 0.0, StepTime(setting.options.real("smoothing"))},
        shares_(static_cast<std::size_t>(setting.workers), unknown_),
        global_batch_(setting.workers * setting.batch),
        smoothing_(setting.options.real("smoothing")),
        has_fixed_parts_(is_affine(setting)),
        every_(setting.options.integer("every")) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    measure(event);
    if (barrier_.is_late(event.version)) return barrier_.drop_late(event, decisions);
    decisions.emplace_back(Accept{event.worker, static_cast<double>(event.samples)});
    barrier_.arrive(event.worker);
    if (barrier_.complete()) finish_round(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    if (!barrier_.is_active(event.worker)) return;
    barrier_.leave(event, decisions);
    has_changed_ = true;
    if (barrier_.complete()) finish_round(decisions);
  }
  void on_joined(const Joined& event, ServerDecisions&) override {
    barrier_.join(event.worker, event.version);
    shares_[static_cast<std::size_t>(event.worker)] = unknown_;
    has_changed_ = true;
  }
  void serialise(PolicyState& state) override {
    barrier_.serialise(state);
    state.column("batch", shares_, &Share::batch);
    state.column("speed", shares_, &Share::speed);
    std::vector<StepTime*> times;
    for (Share& share : shares_) times.push_back(&share.time);
    StepTime::serialise(state, times);
    state.value("rounds", rounds_);
    state.value("has_changed", has_changed_);
  }

 private:
  struct Share {
    int batch;
    double speed;  ///< samples per second; 0: not known yet
    StepTime time;
  };

  void measure(const Push& event) {
    // Without a duration, a step says nothing about speed.
    if (event.duration <= Seconds(0.0)) return;
    Share& share = shares_[static_cast<std::size_t>(event.worker)];
    share.time.add(event.samples, event.duration.count());
    double& speed = share.speed;
    const double measured = event.samples / event.duration.count();
    speed = speed > 0.0 ? speed * (1.0 - smoothing_) + measured * smoothing_ : measured;
  }

  void finish_round(ServerDecisions& decisions) {
    const std::size_t begin = decisions.size();
    barrier_.release(decisions);
    ++rounds_;
    std::vector<int> workers;
    for (std::size_t i = begin; i < decisions.size(); ++i)
      if (const auto* reply = std::get_if<Reply>(&decisions[i])) workers.push_back(reply->worker);
    if (workers.empty() || (rounds_ % every_ != 0 && !has_changed_)) return;
    // A worker that joined during this round has not pushed in it: after the next round, it gets its share.
    has_changed_ = std::ssize(workers) < barrier_.active_count();
    const std::vector<int> batches = share_out(workers);
    for (std::size_t i = begin; i < decisions.size(); ++i) {
      auto* reply = std::get_if<Reply>(&decisions[i]);
      if (reply == nullptr) continue;
      Share& share = shares_[static_cast<std::size_t>(reply->worker)];
      const int batch = batches[static_cast<std::size_t>(reply->worker)];
      if (batch != share.batch) reply->batch = batch;
      share.batch = batch;
    }
  }

  /// Divides the global batch, without the batches of other active workers, into parts that take equally
  /// long, at least one sample each. Batches by worker; unchanged while the speed of a worker is not known.
  std::vector<int> share_out(const std::vector<int>& workers) const {
    std::vector<int> batches;
    for (const Share& share : shares_) batches.push_back(share.batch);
    for (const int worker : workers)
      if (shares_[static_cast<std::size_t>(worker)].speed <= 0.0) return batches;
    const int divided = global_batch_ - batches_of_others(workers);
    const std::vector<double> quotas =
        has_fixed_parts_ ? until_one_time(workers, divided) : by_speed(workers, divided);
    struct Remainder {
      double of;
      int worker;
    };
    std::vector<Remainder> remainders;
    int left = divided;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      int& batch = batches[static_cast<std::size_t>(workers[i])];
      batch = std::min(left, static_cast<int>(quotas[i]));
      left -= batch;
      remainders.push_back({quotas[i] - batch, workers[i]});
    }
    // Ties: lowest index.
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const Remainder& a, const Remainder& b) { return a.of > b.of; });
    for (std::size_t i = 0; left > 0; ++i, --left)
      ++batches[static_cast<std::size_t>(remainders[i % remainders.size()].worker)];
    feed_the_empty(workers, batches);
    return batches;
  }

  /// The batches of all active workers that are not among `workers` (sorted).
  int batches_of_others(const std::vector<int>& workers) const {
    int sum = 0;
    for (int worker = 0; worker < static_cast<int>(shares_.size()); ++worker)
      if (barrier_.is_active(worker) && !std::ranges::binary_search(workers, worker))
        sum += shares_[static_cast<std::size_t>(worker)].batch;
    return sum;
  }

  std::vector<double> by_speed(const std::vector<int>& workers, int divided) const {
    double speeds = 0.0;
    for (const int worker : workers) speeds += shares_[static_cast<std::size_t>(worker)].speed;
    std::vector<double> quotas;
    for (const int worker : workers)
      quotas.push_back(divided * (shares_[static_cast<std::size_t>(worker)].speed / speeds));
    return quotas;
  }

  /// The samples that each worker can process until the time at which all together have processed `divided`
  /// samples. Workers whose fixed part alone takes longer get none.
  std::vector<double> until_one_time(const std::vector<int>& workers, int divided) const {
    std::vector<double> quotas(workers.size(), 0.0);
    const auto time_of = [&](std::size_t i) -> const StepTime& {
      return shares_[static_cast<std::size_t>(workers[i])].time;
    };
    std::vector<std::size_t> sharing;
    for (std::size_t i = 0; i < workers.size(); ++i) sharing.push_back(i);
    for (bool all_can = false; !all_can;) {
      double speeds = 0.0, done_in_fixed_parts = 0.0;
      for (const std::size_t i : sharing) {
        speeds += 1.0 / time_of(i).slope();
        done_in_fixed_parts += time_of(i).fixed() / time_of(i).slope();
      }
      const double end = (divided + done_in_fixed_parts) / speeds;
      all_can = std::erase_if(sharing, [&](std::size_t i) { return time_of(i).fixed() >= end; }) == 0;
      if (all_can)
        for (const std::size_t i : sharing) quotas[i] = (end - time_of(i).fixed()) / time_of(i).slope();
    }
    return quotas;
  }

  /// A worker that would get nothing takes a sample from the largest batch.
  static void feed_the_empty(const std::vector<int>& workers, std::vector<int>& batches) {
    const auto batch_of = [&](int worker) -> int& { return batches[static_cast<std::size_t>(worker)]; };
    for (const int worker : workers) {
      if (batch_of(worker) > 0) continue;
      const int largest = *std::max_element(workers.begin(), workers.end(),
                                            [&](int a, int b) { return batch_of(a) < batch_of(b); });
      --batch_of(largest);
      ++batch_of(worker);
    }
  }

  Barrier barrier_;
  Share unknown_;              ///< of a worker that has not pushed since it joined
  std::vector<Share> shares_;  ///< by worker
  int global_batch_;
  double smoothing_;
  bool has_fixed_parts_;  ///< step times are predicted by a line
  std::int64_t every_;
  std::int64_t rounds_ = 0;
  bool has_changed_ = false;  ///< a worker has left or joined since the batch was divided
};

}  // namespace

Algorithm lb_bsp() {
  Factory make = gradients_by_arrival<LbBspServer>(
      {Membership::Bears::departures_and_arrivals,
       "as bsp; after the round, the batch is divided among the workers present", true});
  make.lockstep = true;
  make.varies_batch = true;
  return {
      .name = "lb-bsp",
      .summary = "like bsp, with larger batches for faster workers, so that all finish at the same time",
      .paper = "Chen et al., SoCC 2020",
      .options = {{.name = "step_time",
                   .summary = "model of step time over batch size: proportional (the paper's for processors) "
                              "or affine (a fixed part and a slope, fitted to past steps; the paper's for "
                              "GPUs)",
                   .default_value = std::string("proportional"),
                   .choices = {"proportional", "affine"}},
                  {.name = "smoothing",
                   .summary = "weight of the newest speed or step; 1: only the newest; affine: below 1",
                   .default_value = 1.0,
                   .minimum = 0.01,
                   .maximum = 1.0},
                  {.name = "every",
                   .summary = "rounds between two divisions of the batch; default not from the paper",
                   .default_value = std::int64_t{1},
                   .minimum = 1}},
      .make = std::move(make)};
}

}  // namespace tandem::sync
