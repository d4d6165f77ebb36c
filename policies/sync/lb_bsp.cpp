#include "policies/sync/lb_bsp.hpp"

#include <algorithm>

#include "policies/sync/barrier.hpp"
#include "policies/sync/push_server.hpp"

namespace tandem::sync {
namespace {

class LbBspServer : public PushServer {
 public:
  explicit LbBspServer(const Setting& setting)
      : barrier_(setting.workers),
        shares_(static_cast<std::size_t>(setting.workers), Share{.batch = setting.batch}),
        global_batch_(setting.workers * setting.batch),
        smoothing_(setting.options.real("smoothing")),
        every_(setting.options.integer("every")) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker, static_cast<double>(event.samples)});
    measure(event);
    barrier_.arrive(event.worker);
    if (barrier_.complete()) finish_round(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    lost_ = true;
    if (barrier_.complete()) finish_round(decisions);
  }

 private:
  struct Share {
    int batch = 0;
    double speed = 0.0;  ///< samples a second; 0: not known yet
  };

  void measure(const Push& event) {
    // A step of no duration says nothing about speed.
    if (event.duration <= Seconds(0.0)) return;
    double& speed = shares_[static_cast<std::size_t>(event.worker)].speed;
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
    if (workers.empty() || (rounds_ % every_ != 0 && !lost_)) return;
    lost_ = false;
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

  /// The global batch in proportion to the workers' speeds, at least one sample each. By worker; as it was
  /// while a speed is not known.
  std::vector<int> share_out(const std::vector<int>& workers) const {
    std::vector<int> batches;
    for (const Share& share : shares_) batches.push_back(share.batch);
    double speeds = 0.0;
    for (const int worker : workers) {
      const double speed = shares_[static_cast<std::size_t>(worker)].speed;
      if (speed <= 0.0) return batches;
      speeds += speed;
    }
    struct Remainder {
      double of;
      int worker;
    };
    std::vector<Remainder> remainders;
    int left = global_batch_;
    for (const int worker : workers) {
      const auto index = static_cast<std::size_t>(worker);
      const double quota = global_batch_ * (shares_[index].speed / speeds);
      batches[index] = std::min(left, static_cast<int>(quota));
      left -= batches[index];
      remainders.push_back({quota - batches[index], worker});
    }
    // Ties: lowest index.
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const Remainder& a, const Remainder& b) { return a.of > b.of; });
    for (std::size_t i = 0; left > 0; ++i, --left)
      ++batches[static_cast<std::size_t>(remainders[i % remainders.size()].worker)];
    feed_the_empty(workers, batches);
    return batches;
  }

  /// Who would get nothing takes a sample from the largest batch.
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
  std::vector<Share> shares_;  ///< by worker
  int global_batch_;
  double smoothing_;
  std::int64_t every_;
  std::int64_t rounds_ = 0;
  bool lost_ = false;  ///< a worker has left since batches were shared out
};

}  // namespace

std::vector<OptionSpec> lb_bsp_options() {
  return {{.name = "smoothing",
           .summary = "weight of the newest speed; 1 predicts the last one",
           .default_value = 1.0,
           .minimum = 0.01,
           .maximum = 1.0},
          {.name = "every",
           .summary = "rounds between sharing out; this project's default",
           .default_value = std::int64_t{1},
           .minimum = 1}};
}

std::unique_ptr<ServerPolicy> make_lb_bsp_server(const Setting& setting) {
  return std::make_unique<LbBspServer>(setting);
}

}  // namespace tandem::sync
