#include "policies/sync/esync.hpp"

#include "policies/sync/barrier.hpp"
#include "policies/sync/change_average.hpp"

namespace tandem::sync {
namespace {

class EsyncWorker : public WorkerPolicy {
 public:
  WorkerDecision on_step_done(const StepDone&) override { return Ask{}; }
  WorkerDecision on_answer(const Answer& event) override {
    if (!event.ready) return Continue{};
    return Exchange{Payload::change, event.members};
  }
};

class EsyncServer : public ServerPolicy {
 public:
  explicit EsyncServer(const Setting& setting)
      : barrier_(setting.workers),
        records_(static_cast<std::size_t>(setting.workers)),
        epsilon_(setting.options.real("epsilon_s")),
        smoothing_(setting.options.real("smoothing")),
        max_local_steps_(static_cast<int>(setting.options.integer("max_local_steps"))),
        weights_(setting.options.text("weights")) {}

  void on_report(const Report& event, ServerDecisions& decisions) override {
    Record& record = records_[static_cast<std::size_t>(event.worker)];
    record.step =
        record.measured ? record.step * (1.0 - smoothing_) + event.duration * smoothing_ : event.duration;
    record.measured = true;
    record.last_end = event.now;
    record.ready = first_round_ || event.local_steps >= max_local_steps_ || is_ready(event.worker, event.now);
    decisions.emplace_back(AnswerReport{event.worker, record.ready});
  }

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    barrier_.arrive(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }

  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }

 private:
  struct Record {
    bool measured = false;  ///< a duration is known
    bool ready = false;     ///< told to exchange in this round
    Seconds step;           ///< duration of a local step
    Seconds last_end;       ///< when its last step, or the last exchange, ended
  };

  /// Another step of this worker would end after the slowest worker's current one.
  bool is_ready(int worker, Seconds now) const {
    const int slowest = find_slowest();
    if (worker == slowest || records_[static_cast<std::size_t>(slowest)].ready) return true;
    const Record& pace = records_[static_cast<std::size_t>(slowest)];
    const Seconds rest = pace.last_end + pace.step - now;
    return records_[static_cast<std::size_t>(worker)].step + epsilon_ > rest;
  }

  /// Longest step among those who take part; ties: lowest index.
  int find_slowest() const {
    int slowest = -1;
    for (std::size_t worker = 0; worker < records_.size(); ++worker) {
      if (!barrier_.is_active(static_cast<int>(worker))) continue;
      if (slowest < 0 || records_[worker].step > records_[static_cast<std::size_t>(slowest)].step)
        slowest = static_cast<int>(worker);
    }
    return slowest;
  }

  void finish_round(Seconds now, ServerDecisions& decisions) {
    barrier_.release(decisions);
    first_round_ = false;
    for (Record& record : records_) {
      record.ready = false;
      record.last_end = now;
    }
  }

  Barrier barrier_;
  std::vector<Record> records_;
  bool first_round_ = true;
  Seconds epsilon_;
  double smoothing_;
  int max_local_steps_;
  std::string weights_;
};

}  // namespace

std::vector<OptionSpec> esync_options() {
  return {{.name = "epsilon_s",
           .summary = "margin in seconds by which a step must end before the slowest worker's",
           .default_value = 0.0,
           .minimum = 0.0},
          {.name = "smoothing",
           .summary = "weight of the newest duration; 1 takes the last one as published",
           .default_value = 1.0,
           .minimum = 0.01,
           .maximum = 1.0},
          {.name = "max_local_steps",
           .summary = "steps of a round after which a worker is ready whatever the others do",
           .default_value = std::int64_t{1000},
           .minimum = 1},
          weights_option()};
}

std::unique_ptr<WorkerPolicy> make_esync_worker(const Setting&, int) {
  return std::make_unique<EsyncWorker>();
}
std::unique_ptr<ServerPolicy> make_esync_server(const Setting& setting) {
  return std::make_unique<EsyncServer>(setting);
}

}  // namespace tandem::sync
