#include "policies/sync/local_steps/esync.hpp"

#include <algorithm>
#include <utility>

#include "policies/sync/common/barrier.hpp"
#include "policies/sync/common/change_average.hpp"

namespace tandem::sync {
namespace {

bool asks_ahead(const Setting& setting) { return setting.options.text("query") == "ahead"; }

class EsyncWorker : public WorkerPolicy {
 public:
  explicit EsyncWorker(const Setting& setting)
      : ahead_(asks_ahead(setting)),
        max_local_steps_(static_cast<int>(setting.options.integer("max_local_steps"))),
        weights_(setting.options.text("weights")) {}

  /// Who asks afterwards reports that its round begins, once it has the new model.
  bool reports(const StepBegin& event) override { return ahead_ || event.local_steps == 0; }
  WorkerDecision on_step_done(const StepDone& event) override {
    if (event.local_steps == 1) samples_ = 0;
    samples_ += event.samples;
    local_steps_ = event.local_steps;
    if (!ahead_) return Ask{};
    if (!event.told.value_or(false) && local_steps_ < max_local_steps_) return Continue{};
    return exchange();
  }
  WorkerDecision on_answer(const Answer& event) override {
    if (!event.ready) return Continue{};
    return exchange();
  }

 private:
  Exchange exchange() const {
    Exchange exchange{Payload::change};
    if (weights_ != "uniform") exchange.weight = weight_of(weights_, samples_, local_steps_);
    return exchange;
  }

  bool ahead_;
  int max_local_steps_;
  std::string weights_;
  int samples_ = 0;      ///< of this round
  int local_steps_ = 0;  ///< of this round
};

class EsyncServer : public ServerPolicy {
 public:
  explicit EsyncServer(const Setting& setting)
      : barrier_(setting.workers),
        records_(static_cast<std::size_t>(setting.workers)),
        ahead_(asks_ahead(setting)),
        communication_aware_(setting.options.boolean("communication_aware")),
        epsilon_(setting.options.real("epsilon_s")),
        epsilon_share_(setting.options.real("epsilon_share")),
        smoothing_(setting.options.real("smoothing")),
        max_local_steps_(static_cast<int>(setting.options.integer("max_local_steps"))),
        weights_(setting.options.text("weights")) {}

  void on_report(const Report& event, ServerDecisions& decisions) override {
    Record& record = at(event.worker);
    const bool asks = ahead_ || event.local_steps > 0;
    if (asks && event.duration > Seconds(0.0)) smooth(record.step, event.duration);
    if (event.local_steps == 0 && !first_round_) smooth(record.reply, event.now - round_began_);
    record.reported = event.now;
    record.step_end = event.now + record.step.value;
    const int steps = event.local_steps + (ahead_ ? 1 : 0);
    record.ready = asks && (first_round_ || steps >= max_local_steps_ || is_ready(event.worker));
    decisions.emplace_back(AnswerReport{event.worker, record.ready});
  }

  void on_push(const Push& event, ServerDecisions& decisions) override {
    Record& record = at(event.worker);
    if (record.reported) {
      const Seconds stepped = *record.reported + (ahead_ ? event.duration : Seconds(0.0));
      smooth(record.exchange, std::max(Seconds(0.0), event.now - stepped));
    }
    if (!record.step.known) smooth(record.step, event.duration);
    record.pushed = true;
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    barrier_.arrive(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }

  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }

 private:
  struct Smoothed {
    bool known = false;
    Seconds value = {};
  };
  struct Record {
    Smoothed step;                      ///< duration of a local step
    Smoothed exchange;                  ///< from the end of its last step until its push was there
    Smoothed reply;                     ///< until it has the new model and says so
    std::optional<Seconds> reported{};  ///< when its last report of this round came
    Seconds step_end = {};              ///< when the step that it is taking ends, or would end
    bool ready = false;                 ///< told to exchange in this round
    bool pushed = false;                ///< in this round
  };

  Record& at(int worker) { return records_[static_cast<std::size_t>(worker)]; }
  const Record& at(int worker) const { return records_[static_cast<std::size_t>(worker)]; }

  void smooth(Smoothed& mean, Seconds newest) const {
    mean.value = mean.known ? mean.value * (1.0 - smoothing_) + newest * smoothing_ : newest;
    mean.known = true;
  }
  /// How long after the end of a step the worker's push is there, as far as that counts.
  Seconds exchange_of(const Record& record) const {
    return communication_aware_ ? record.exchange.value : Seconds(0.0);
  }

  /// With another step, this worker's push would come after the slowest worker's. A report before the step
  /// asks about the step after it.
  bool is_ready(int worker) const {
    const int slowest = find_slowest();
    const Record& pace = at(slowest);
    if (worker == slowest || (ahead_ ? pace.pushed : pace.ready)) return true;
    if (!ahead_ && !pace.reported) return false;  // it has not begun
    const Record& record = at(worker);
    const Seconds next_end = record.step_end + (ahead_ ? record.step.value : Seconds(0.0));
    const Seconds margin = epsilon_ + pace.step.value * epsilon_share_;
    return next_end + exchange_of(record) + margin > pace.step_end + exchange_of(pace);
  }

  /// Longest step and exchange among those who take part; ties: lowest index.
  int find_slowest() const {
    int slowest = -1;
    Seconds longest;
    for (std::size_t worker = 0; worker < records_.size(); ++worker) {
      if (!barrier_.is_active(static_cast<int>(worker))) continue;
      const Seconds duration = records_[worker].step.value + exchange_of(records_[worker]);
      if (slowest >= 0 && duration <= longest) continue;
      slowest = static_cast<int>(worker);
      longest = duration;
    }
    return slowest;
  }

  void finish_round(Seconds now, ServerDecisions& decisions) {
    barrier_.release(decisions);
    first_round_ = false;
    for (Record& record : records_) {
      record.ready = false;
      record.pushed = false;
      record.reported.reset();
      record.step_end = now + record.reply.value + record.step.value;
    }
    round_began_ = now;
  }

  Barrier barrier_;
  std::vector<Record> records_;
  bool first_round_ = true;
  Seconds round_began_{};
  bool ahead_;
  bool communication_aware_;
  Seconds epsilon_;
  double epsilon_share_;
  double smoothing_;
  int max_local_steps_;
  std::string weights_;
};

}  // namespace

std::vector<OptionSpec> esync_options(const EsyncDefaults& defaults) {
  return {{.name = "query",
           .summary = "ahead: reports as a step begins and goes on meanwhile; blocking: asks after each step "
                      "and waits, as published",
           .default_value = defaults.query,
           .choices = {"ahead", "blocking"}},
          {.name = "communication_aware",
           .summary = "whether the time counts that a worker's exchange takes, as measured; published: no",
           .default_value = defaults.communication_aware},
          {.name = "epsilon_s",
           .summary = "margin in seconds by which a step must end before the slowest worker's",
           .default_value = defaults.epsilon_s,
           .minimum = 0.0},
          {.name = "epsilon_share",
           .summary = "the same as a share of the slowest worker's step, whatever the devices; added to "
                      "epsilon_s",
           .default_value = 0.0,
           .minimum = 0.0,
           .maximum = 1.0},
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

std::unique_ptr<WorkerPolicy> make_esync_worker(const Setting& setting, int) {
  return std::make_unique<EsyncWorker>(setting);
}
std::unique_ptr<ServerPolicy> make_esync_server(const Setting& setting) {
  return std::make_unique<EsyncServer>(setting);
}

}  // namespace tandem::sync
