// Drives an algorithm's worker and server policies with constant or varying step durations and free
// communication, so that the closed forms of the papers can be checked without any context.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/server_log.hpp"

namespace tandem::testing {

class PolicyRun {
 public:
  static constexpr int configured_batch = 8;
  /// The length of a job in pushes per worker, on average.
  static constexpr int pushes_of_job = 100;

  /// `varies`: multiplies each step's duration by a random factor between 0.5 and 1.5.
  PolicyRun(const std::string& algorithm, std::vector<double> step_durations,
            std::map<std::string, OptionValue> options = {}, std::optional<Rng> varies = {})
      : entry_(sync::catalog().find(algorithm)),
        durations_(std::move(step_durations)),
        varies_(std::move(varies)),
        setting_{.workers = static_cast<int>(durations_.size()),
                 .batch = configured_batch,
                 .route = sync::Route::server,
                 .options = Options::resolve(algorithm, entry_.options, options)},
        server_(entry_.make.make_server(setting_)) {
    for (int worker = 0; worker < setting_.workers; ++worker)
      workers_.push_back({.policy = entry_.make.make_worker(setting_, worker)});
    for (int worker = 0; worker < setting_.workers; ++worker) start_step(worker, 0.0);
  }

  /// Durations of steps that start from now on, instead of durations proportional to batches.
  void let_steps_take(std::function<Seconds(int worker, int batch)> duration) {
    duration_of_ = std::move(duration);
  }
  /// Half of the answers to reports at the beginning of a step are lost.
  void lose_answers(Rng rng) { loses_answers_ = rng; }
  /// The loss of pushes from now on.
  void set_loss(double loss) { loss_ = loss; }
  /// Runs until the model has had `updates` updates, or no event is left.
  void run_updates(int updates) {
    while (version_ < updates && !ends_.empty()) {
      const auto [time, worker, life] = ends_.top();
      ends_.pop();
      if (!workers_[index(worker)].gone && workers_[index(worker)].life == life) end_step(worker, time);
    }
  }
  /// The worker leaves now, in the middle of its step or while it waits for its reply.
  void leave(int worker) {
    workers_[index(worker)].gone = true;
    workers_[index(worker)].waits = false;
    const sync::Left event{Seconds(now_), worker};
    sync::ServerDecisions decisions;
    server_->on_left(event, decisions);
    execute(event, decisions);
  }
  /// A worker that has left joins again, with a new object for its side and with the current model, or with
  /// one that is `behind` updates older.
  void join(int number, int behind = 0) {
    Worker& worker = workers_[index(number)];
    worker = {.policy = entry_.make.make_worker(setting_, number),
              .version = std::max(0, version_ - behind),
              .life = worker.life + 1,
              .steps = std::move(worker.steps)};
    sync::Members members{.round = worker.version, .workers = {}};
    for (int other = 0; other < setting_.workers; ++other)
      if (!has_left(other)) members.workers.push_back(other);
    worker.policy->on_members(members);
    const sync::Joined event{Seconds(now_), number, worker.version};
    sync::ServerDecisions decisions;
    server_->on_joined(event, decisions);
    execute(event, decisions);
    start_step(number, now_);
  }
  /// The end of a job: every worker that is answered from now on leaves. Runs until no event is left.
  void stop() {
    stopping_ = true;
    run_updates(std::numeric_limits<int>::max());
  }

  double now() const { return now_; }
  /// Progress of the job as a fraction; the run may continue beyond its end.
  double done() const { return pushes_ / (static_cast<double>(workers_.size()) * pushes_of_job); }
  int batch(int worker) const { return workers_[index(worker)].batch; }
  int version() const { return version_; }
  const sync::Setting& setting() const { return setting_; }
  /// The worker has pushed and has not received the reply.
  bool is_waiting(int worker) const { return workers_[index(worker)].waits; }
  /// The worker is active and computing, and others would remain.
  bool can_lose(int worker) const {
    const auto present = std::ranges::count_if(workers_, [](const Worker& one) { return !one.gone; });
    return present > 1 && !is_waiting(worker) && !has_left(worker);
  }
  /// The serialised states of all policies, the server's first.
  std::vector<std::string> states() {
    std::vector<std::string> all = {serialised(*server_)};
    for (Worker& worker : workers_) all.push_back(serialised(*worker.policy));
    return all;
  }
  bool has_left(int worker) const { return workers_[index(worker)].gone; }
  /// Local steps of each push of a worker, in order.
  const std::vector<int>& steps(int worker) const { return workers_[index(worker)].steps; }
  /// Updates between the model a push started from and its arrival, over all pushes.
  const std::vector<int>& staleness() const { return staleness_; }
  const std::vector<double>& update_times() const { return update_times_; }
  const ServerLog& log() const { return log_; }
  /// From now on, and after each later call, new policies restored from the serialised state of the old ones
  /// decide. Reports a test failure if a state does not survive serialisation.
  void replace_policies() {
    std::unique_ptr<sync::ServerPolicy> server = entry_.make.make_server(setting_);
    replace(server_, std::move(server));
    for (int worker = 0; worker < setting_.workers; ++worker)
      replace(workers_[index(worker)].policy, entry_.make.make_worker(setting_, worker));
  }

 private:
  struct Worker {
    std::unique_ptr<sync::WorkerPolicy> policy;
    int batch = configured_batch;
    int version = 0;
    int local_steps = 0;              ///< since its last push
    int samples = 0;                  ///< since its last push
    std::optional<bool> answer = {};  ///< by the coordinator, since its last push
    Seconds duration = {};
    bool waits = false;
    bool gone = false;
    int life = 0;  ///< grows each time it joins
    std::vector<int> steps = {};
  };
  struct End {
    double time;
    int worker;
    int life;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : worker > other.worker;
    }
  };

  template <class Policy>
  static void replace(std::unique_ptr<Policy>& old, std::unique_ptr<Policy> fresh) {
    const std::string state = serialised(*old);
    restore(*fresh, state);
    EXPECT_EQ(serialised(*fresh), state);
    old = std::move(fresh);
  }

  Seconds duration_of(int worker) const {
    const int batch = workers_[index(worker)].batch;
    if (duration_of_) return duration_of_(worker, batch);
    return Seconds(durations_[index(worker)] * batch / configured_batch);
  }
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  void start_step(int worker, double time) {
    const double factor = varies_ ? 0.5 + varies_->uniform() : 1.0;
    Worker& one = workers_[index(worker)];
    now_ = time;
    if (one.policy->passes({one.local_steps})) return push(worker, true);
    if (one.policy->reports({one.local_steps})) {
      const bool ready = report(worker).ready;
      if (!loses_answers_ || loses_answers_->below(2) == 0) one.answer = one.answer.value_or(false) || ready;
    }
    one.duration = duration_of(worker) * factor;
    ends_.push({time + one.duration.count(), worker, one.life});
  }

  void end_step(int number, double time) {
    now_ = time;
    Worker& worker = workers_[index(number)];
    const bool gradient = worker.policy->on_step_begin({worker.local_steps}).has_value();
    ++worker.local_steps;
    worker.samples += worker.batch;
    if (gradient) return push(number);
    auto decision = worker.policy->on_step_done(
        {Seconds(time), worker.duration, worker.batch, worker.local_steps, worker.answer});
    if (std::holds_alternative<sync::Ask>(decision)) decision = worker.policy->on_answer(report(number));
    if (std::holds_alternative<sync::Exchange>(decision)) return push(number);
    start_step(number, time);
  }

  sync::Answer report(int number) {
    Worker& worker = workers_[index(number)];
    const sync::Report event{Seconds(now_), number, worker.version, worker.local_steps, worker.duration};
    sync::ServerDecisions decisions;
    server_->on_report(event, decisions);
    execute(event, decisions);
    const auto& answer = std::get<sync::AnswerReport>(decisions.at(0));
    return {Seconds(now_), answer.ready};
  }

  /// Its step ends now, without a gradient.
  void interrupt(int number) {
    Worker& worker = workers_[index(number)];
    ++worker.life;
    ++worker.local_steps;
    worker.samples += worker.batch;
    push(number, true);
  }

  void push(int number, bool cancelled = false) {
    Worker& worker = workers_[index(number)];
    worker.steps.push_back(worker.local_steps);
    ++pushes_;
    const sync::Push event{.now = Seconds(now_),
                           .worker = number,
                           .version = worker.version,
                           .samples = worker.samples,
                           .local_steps = worker.local_steps,
                           .duration = worker.duration,
                           .loss = loss_,
                           .done = done(),
                           .cancelled = cancelled};
    sync::ServerDecisions decisions;
    server_->on_push(event, decisions);
    staleness_.push_back(version_ - worker.version);
    worker.local_steps = 0;
    worker.samples = 0;
    worker.answer.reset();
    worker.waits = true;
    execute(event, decisions);
  }

  void execute(const sync::ServerEvent& event, const sync::ServerDecisions& decisions) {
    log_.push_back({sync::to_text(event), sync::to_text(decisions)});
    std::vector<int> leaving;
    int cancelled = 0;
    for (const auto& decision : decisions) {
      if (const auto* cancel = std::get_if<sync::Cancel>(&decision)) cancelled = cancel->version;
      if (std::holds_alternative<sync::Apply>(decision)) {
        ++version_;
        update_times_.push_back(now_);
      }
      if (const auto* reply = std::get_if<sync::Reply>(&decision)) {
        Worker& worker = workers_[index(reply->worker)];
        if (!reply->keeps_model) worker.version = version_;
        worker.waits = false;
        if (reply->batch > 0) worker.batch = reply->batch;
        if (reply->local_steps > 0) worker.policy->on_local_steps(reply->local_steps);
        if (stopping_)
          leaving.push_back(reply->worker);
        else
          start_step(reply->worker, now_);
      }
    }
    for (const int worker : leaving) leave(worker);
    for (int worker = 0; worker < setting_.workers; ++worker)
      if (!has_left(worker) && !is_waiting(worker) && workers_[index(worker)].version < cancelled)
        interrupt(worker);
  }

  const Catalog<sync::Factory>::Entry& entry_;
  std::vector<double> durations_;
  std::function<Seconds(int worker, int batch)> duration_of_;
  std::optional<Rng> varies_;
  std::optional<Rng> loses_answers_;
  sync::Setting setting_;
  std::unique_ptr<sync::ServerPolicy> server_;
  std::vector<Worker> workers_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  double now_ = 0.0;
  int version_ = 0;
  int pushes_ = 0;
  double loss_ = 1.0;
  bool stopping_ = false;
  std::vector<int> staleness_;
  std::vector<double> update_times_;
  ServerLog log_;
};

}  // namespace tandem::testing
