// ESync (Li et al., "ESync: Accelerating Intra-Domain Federated Learning in Heterogeneous Data Centers", IEEE
// TSC 2022). While the slowest worker takes one local step, every other worker takes as many as fit into that
// time; then all workers average the changes of their models. A coordinator (the first server, or a rank of
// its own over an all-reduce) notifies each worker when it should exchange.
//
// "esync-published" asks before each local step and waits for the answer, which before the first one is
// always no; the durations that it reports are without the loading of samples. It differs from the published
// code where that is defective: workers report durations, never readings of their own clocks; the coordinator
// uses the time at which a report arrived; the first round is one step each, which measures the durations;
// and a worker that left is no longer the slowest.
//
// "esync" improves on it. A worker reports as a step begins, and by the end of the step it knows whether that
// step is the last (no answer means that it is not), so asking takes no time. And the pace includes the time
// until each worker's push has arrived; over an all-reduce, until its message to the coordinator has.
//
// With slowest_steps above 1, the slowest worker takes that many steps, and the others fill their time: fewer
// exchanges.
//
// A worker that joins begins with one step, which measures its duration. It sets the pace only in rounds that
// wait for it.
#include <algorithm>
#include <cmath>
#include <compare>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/round_barrier.hpp"
#include "policies/sync/common/weights.hpp"
#include "policies/sync/local_steps/algorithms.hpp"
#include "policies/sync/local_steps/outer_momentum.hpp"

namespace tandem::sync {
namespace {

bool asks_ahead(const Setting& setting) { return setting.options.text("query") == "ahead"; }

class EsyncWorker final : public WorkerPolicy {
 public:
  explicit EsyncWorker(const Setting& setting)
      : ahead_(asks_ahead(setting)),
        max_local_steps_(static_cast<int>(setting.options.integer("max_local_steps"))),
        weight_(setting.options.text("weights")) {}

  /// A worker that asks after its steps reports only that its round begins, once it has the new model.
  bool reports(const StepBegin& event) override { return ahead_ || event.local_steps == 0; }
  bool waits(const StepBegin&) override { return !ahead_; }
  WorkerDecision on_step_done(const StepDone& event) override {
    weight_.add(event);
    if (!ahead_) return Ask{};
    if (!event.coordinator_answer.value_or(false) && event.local_steps < max_local_steps_) return Continue{};
    return weight_.exchange();
  }
  WorkerDecision on_answer(const Answer& event) override {
    if (!event.ready) return Continue{};
    return weight_.exchange();
  }
  void serialise(PolicyState& state) override { weight_.serialise(state); }

 private:
  bool ahead_;
  int max_local_steps_;
  RoundWeight weight_;
};

class EsyncServer final : public ServerPolicy {
 public:
  explicit EsyncServer(const Setting& setting)
      : barrier_(setting.workers),
        records_(static_cast<std::size_t>(setting.workers)),
        ahead_(asks_ahead(setting)),
        communication_aware_(setting.options.boolean("communication_aware")),
        epsilon_(setting.options.real("epsilon_s")),
        epsilon_share_(setting.options.real("epsilon_share")),
        smoothing_(setting.options.real("smoothing")),
        slowest_steps_(static_cast<int>(setting.options.integer("slowest_steps"))),
        max_local_steps_(static_cast<int>(setting.options.integer("max_local_steps"))),
        weights_(setting.options.text("weights")) {
    sort_by_pace();
  }

  void on_report(const Report& event, ServerDecisions& decisions) override {
    Record& record = at(event.worker);
    const bool asks = ahead_ || event.local_steps > 0;
    if (asks && event.duration > Seconds(0.0)) smooth(event.worker, record.step, event.duration);
    // A change of an older model will be dropped: the worker need not continue with it.
    if (barrier_.is_late(event.version)) {
      decisions.emplace_back(AnswerReport{event.worker, asks});
      return;
    }
    if (event.local_steps == 0 && record.answered)
      smooth(event.worker, record.reply, event.now - record.answered_at);
    record.has_reported = true;
    record.reported = event.now;
    record.steps = event.local_steps;
    record.step_end = event.now + record.step.value;
    const int steps = event.local_steps + (ahead_ ? 1 : 0);
    const bool measures = first_round_ || !record.step.known;
    record.ready = asks && (measures || steps >= max_local_steps_ || is_ready(event.worker, steps));
    decisions.emplace_back(AnswerReport{event.worker, record.ready});
  }

  void on_push(const Push& event, ServerDecisions& decisions) override {
    Record& record = at(event.worker);
    if (record.has_reported) {
      const Seconds stepped = record.reported + (ahead_ ? event.duration : Seconds(0.0));
      smooth(event.worker, record.exchange, std::max(Seconds(0.0), event.now - stepped));
    }
    if (!record.step.known) smooth(event.worker, record.step, event.duration);
    if (barrier_.is_late(event.version)) return drop_late(event, decisions);
    record.pushed = true;
    decisions.emplace_back(Accept{event.worker, weight_of(weights_, event)});
    barrier_.arrive(event.worker);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }

  void on_left(const Left& event, ServerDecisions& decisions) override {
    by_pace_.erase({pace_of(at(event.worker)), event.worker});
    at(event.worker) = {};
    barrier_.leave(event, decisions);
    if (barrier_.complete()) finish_round(event.now, decisions);
  }

  void on_joined(const Joined& event, ServerDecisions&) override {
    barrier_.join(event.worker, event.version);
    at(event.worker) = {.step_end = event.now};
    set_pace(event.worker);
  }

  void serialise(PolicyState& state) override {
    barrier_.serialise(state);
    state.value("first_round", first_round_);
    const auto smoothed = [&](const std::string& name, Smoothed Record::*mean) {
      state.column(name + ".known", records_, [=](Record& r) -> bool& { return (r.*mean).known; });
      state.column(name + ".value", records_, [=](Record& r) -> Seconds& { return (r.*mean).value; });
    };
    smoothed("step", &Record::step);
    smoothed("exchange", &Record::exchange);
    smoothed("reply", &Record::reply);
    state.column("answered", records_, &Record::answered);
    state.column("answered_at", records_, &Record::answered_at);
    state.column("has_reported", records_, &Record::has_reported);
    state.column("reported", records_, &Record::reported);
    state.column("steps", records_, &Record::steps);
    state.column("step_end", records_, &Record::step_end);
    state.column("ready", records_, &Record::ready);
    state.column("pushed", records_, &Record::pushed);
    if (state.restores()) sort_by_pace();
  }

 private:
  struct Smoothed {
    bool known = false;
    Seconds value = {};
  };
  struct Record {
    Smoothed step = {};         ///< duration of a local step
    Smoothed exchange = {};     ///< from the end of its last step until its push has arrived
    Smoothed reply = {};        ///< from the answer to its push until its first report of the next round
    bool answered = false;      ///< since it joined
    Seconds answered_at = {};   ///< time of the last answer to a push
    bool has_reported = false;  ///< in this round
    Seconds reported = {};      ///< time of its last report in this round
    int steps = 0;              ///< local steps of this round before `step_end`'s
    Seconds step_end = {};      ///< predicted end of its current step, or of its next one
    bool ready = false;         ///< to exchange in this round
    bool pushed = false;        ///< in this round
  };

  using Pace = std::pair<Seconds, int>;  ///< and the worker's index
  struct SlowestFirst {
    /// A total order, also of values that are not numbers.
    bool operator()(const Pace& a, const Pace& b) const {
      const auto order = std::strong_order(a.first.count(), b.first.count());
      return order != 0 ? order > 0 : a.second < b.second;
    }
  };

  Record& at(int worker) { return records_[static_cast<std::size_t>(worker)]; }
  const Record& at(int worker) const { return records_[static_cast<std::size_t>(worker)]; }

  /// `mean`: of the worker's record.
  void smooth(int worker, Smoothed& mean, Seconds newest) {
    by_pace_.erase({pace_of(at(worker)), worker});
    mean.value = mean.known ? mean.value * (1.0 - smoothing_) + newest * smoothing_ : newest;
    mean.known = true;
    set_pace(worker);
  }
  void set_pace(int worker) {
    if (barrier_.expects(worker)) by_pace_.emplace(pace_of(at(worker)), worker);
  }
  /// Time from the end of a step until the worker's push has arrived, if it counts.
  Seconds exchange_of(const Record& record) const {
    return communication_aware_ ? record.exchange.value : Seconds(0.0);
  }

  /// The pace of a round in which this worker would be the slowest.
  Seconds pace_of(const Record& record) const {
    return record.step.value * static_cast<double>(slowest_steps_) + exchange_of(record);
  }
  /// Predicted end of the last step of a round in which it is the slowest.
  Seconds last_step_end(const Record& record) const {
    return record.step_end + record.step.value * std::max(0.0, slowest_steps_ - 1.0 - record.steps);
  }
  void sort_by_pace() {
    by_pace_.clear();
    for (int worker = 0; worker < static_cast<int>(records_.size()); ++worker) set_pace(worker);
  }

  /// With another step than these, this worker's push would arrive after the slowest worker's. A report
  /// before a step asks about the step after it.
  bool is_ready(int worker, int steps) const {
    if (by_pace_.empty()) return true;
    const int slowest = by_pace_.begin()->second;
    const Record& pace = at(slowest);
    if (worker == slowest) return steps >= slowest_steps_;
    if (ahead_ ? pace.pushed : pace.ready) return true;
    if (!ahead_ && !pace.has_reported) return false;  // the slowest has not begun its round
    const Record& record = at(worker);
    const Seconds next_end = record.step_end + (ahead_ ? record.step.value : Seconds(0.0));
    const Seconds margin = epsilon_ + pace.step.value * epsilon_share_;
    return next_end + exchange_of(record) + margin > last_step_end(pace) + exchange_of(pace);
  }

  void drop_late(const Push& event, ServerDecisions& decisions) {
    barrier_.drop_late(event, decisions);
    set_pace(event.worker);
    begin_round(at(event.worker), event.now);
  }

  void finish_round(Seconds now, ServerDecisions& decisions) {
    const bool grows = barrier_.has_newcomers();
    barrier_.release(decisions);
    first_round_ = false;
    for (Record& record : records_) {
      if (record.pushed) {
        begin_round(record, now);
        continue;
      }
      // A worker that joined during the round: its step is of an older model, and another one follows.
      record.ready = false;
      record.has_reported = false;
      record.steps = 0;
      record.step_end = std::max(now, record.step_end) + record.step.value;
    }
    if (grows) sort_by_pace();
  }
  /// Its push has been answered.
  static void begin_round(Record& record, Seconds now) {
    record.ready = false;
    record.pushed = false;
    record.has_reported = false;
    record.steps = 0;
    record.step_end = now + record.reply.value + record.step.value;
    record.answered = true;
    record.answered_at = now;
  }

  Barrier barrier_;
  std::vector<Record> records_;
  std::set<Pace, SlowestFirst> by_pace_;  ///< of those that the round waits for; ties: lowest index first
  bool first_round_ = true;
  bool ahead_;
  bool communication_aware_;
  Seconds epsilon_;
  double epsilon_share_;
  double smoothing_;
  int slowest_steps_;
  int max_local_steps_;
  std::string weights_;
};

/// As EsyncServer decides when no duration varies. Steps that end at the same time fit, whatever rounding
/// does.
std::vector<int> steady_steps(const Options& options, const std::vector<WorkerPace>& workers) {
  constexpr double rounding = 1e-9;
  const auto of_slowest = static_cast<double>(options.integer("slowest_steps"));
  const auto most = static_cast<double>(options.integer("max_local_steps"));
  const auto exchange_of = [&](const WorkerPace& of) {
    return options.boolean("communication_aware") ? of.exchange : Seconds(0.0);
  };
  const auto pace_of = [&](const WorkerPace& of) { return of.step * of_slowest + exchange_of(of); };
  const WorkerPace& slowest = *std::ranges::max_element(workers, {}, pace_of);
  if (std::ranges::count(workers, pace_of(slowest), pace_of) > std::ranges::count(workers, slowest))
    return {};
  const Seconds margin = Seconds(options.real("epsilon_s")) + slowest.step * options.real("epsilon_share");
  std::vector<int> steps;
  for (const WorkerPace& own : workers) {
    const Seconds time = slowest.reply + pace_of(slowest) - margin - own.reply - exchange_of(own);
    const double fitting = own == slowest ? of_slowest : std::floor(time / own.step + rounding);
    steps.push_back(static_cast<int>(std::clamp(fitting, 1.0, most)));
  }
  return steps;
}

/// The variants differ in the defaults of their options.
struct Defaults {
  std::string query;
  bool communication_aware;
  double epsilon_s;
  bool excludes_loading;
};

std::vector<OptionSpec> options_with(const Defaults& defaults) {
  std::vector<OptionSpec> options = {
      {.name = "query",
       .summary = "ahead: report as a step begins and do not wait; blocking: ask before each step "
                  "and wait, as published",
       .default_value = defaults.query,
       .choices = {"ahead", "blocking"}},
      {.name = "communication_aware",
       .summary = "include a worker's measured exchange time in its prediction; published: no",
       .default_value = defaults.communication_aware},
      {.name = "epsilon_s",
       .summary = "margin in seconds by which a step must end before that of the slowest worker",
       .default_value = defaults.epsilon_s,
       .minimum = 0.0},
      {.name = "epsilon_share",
       .summary = "further margin, as a share of the slowest worker's step; added to epsilon_s",
       .default_value = 0.0,
       .minimum = 0.0,
       .maximum = 1.0},
      {.name = "smoothing",
       .summary = "weight of the newest duration; 1: only the newest, as published",
       .default_value = 1.0,
       .minimum = 0.01,
       .maximum = 1.0},
      {.name = "slowest_steps",
       .summary = "local steps of the slowest worker in a round; 1, as published",
       .default_value = std::int64_t{1},
       .minimum = 1,
       .maximum = 1000000},
      {.name = "max_local_steps",
       .summary = "largest number of local steps in a round",
       .default_value = std::int64_t{1000},
       .minimum = 1},
      weights_option()};
  for (OptionSpec& outer : outer_step_options({})) options.push_back(std::move(outer));
  return options;
}

Algorithm variant(const std::string& name, const std::string& summary, const Defaults& defaults) {
  return {.name = name,
          .summary = summary,
          .paper = "Li et al., IEEE Transactions on Services Computing 15(4), 2022",
          .options = options_with(defaults),
          .make = {.payload = Payload::change,
                   .routes = {Route::server, Route::all_reduce},
                   .timing_driven = true,
                   .steps_per_round = varying_steps,
                   .make_worker = make_worker<EsyncWorker>,
                   .make_server = make_server<EsyncServer>,
                   .update_rule = outer_update,
                   .coordinated = true,
                   .steady_steps = defaults.excludes_loading ? nullptr : steady_steps,
                   .decides_by_part = true,
                   .excludes_loading = defaults.excludes_loading,
                   .membership = {Membership::Bears::departures_and_arrivals,
                                  by_rounds().how + "; its first step measures its duration", true}}};
}

}  // namespace

Algorithm esync() {
  return variant(
      "esync", "fast workers take several local steps while the slowest takes one, then all average",
      {.query = "ahead", .communication_aware = true, .epsilon_s = 0.0, .excludes_loading = false});
}

Algorithm esync_published() {
  return variant(
      "esync-published",
      "esync as in its authors' code: workers ask before each local step and wait for the answer",
      {.query = "blocking", .communication_aware = false, .epsilon_s = 0.5, .excludes_loading = true});
}

}  // namespace tandem::sync
