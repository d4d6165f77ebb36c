// Drives an algorithm's worker and server policies with constant step durations and free communication, so that the
// closed forms of the papers can be checked without any context.
#pragma once

#include <map>
#include <queue>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"

namespace tandem::testing {

class PolicyRun {
 public:
  PolicyRun(const std::string& algorithm, std::vector<double> step_durations,
            std::map<std::string, OptionValue> options = {})
      : entry_(sync::catalog().find(algorithm)), durations_(std::move(step_durations)) {
    const sync::Setting setting{.workers = static_cast<int>(durations_.size()),
                                .batch = 8,
                                .route = sync::Route::server,
                                .options = Options::resolve(algorithm, entry_.options, options)};
    server_ = entry_.make.make_server(setting);
    for (int worker = 0; worker < setting.workers; ++worker) {
      workers_.push_back({.policy = entry_.make.make_worker(setting, worker)});
      start_step(worker, 0.0);
    }
  }

  /// Until the model has been updated that often, or nothing can happen any more.
  void run_updates(int updates) {
    while (version_ < updates && !ends_.empty()) {
      const auto [time, worker] = ends_.top();
      ends_.pop();
      if (!workers_[index(worker)].gone) end_step(worker, time);
    }
  }
  /// The worker leaves now, in the middle of its step.
  void leave(int worker) {
    workers_[index(worker)].gone = true;
    sync::ServerDecisions decisions;
    server_->on_left({Seconds(now_), worker}, decisions);
    execute(decisions);
  }

  double now() const { return now_; }
  int version() const { return version_; }
  /// Local steps of each push of a worker, in order.
  const std::vector<int>& steps(int worker) const { return workers_[index(worker)].steps; }
  /// Updates between the model a push started from and its application, over all pushes.
  const std::vector<int>& staleness() const { return staleness_; }
  const std::vector<double>& update_times() const { return update_times_; }

 private:
  struct Worker {
    std::unique_ptr<sync::WorkerPolicy> policy;
    int version = 0;
    int local_steps = 0;
    bool gone = false;
    std::vector<int> steps = {};
  };
  struct End {
    double time;
    int worker;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : worker > other.worker;
    }
  };

  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  void start_step(int worker, double time) { ends_.push({time + durations_[index(worker)], worker}); }

  void end_step(int number, double time) {
    now_ = time;
    Worker& worker = workers_[index(number)];
    const bool gradient = worker.policy->exchanges_gradient({worker.local_steps});
    ++worker.local_steps;
    if (gradient) return push(number);
    const Seconds duration(durations_[index(number)]);
    auto decision = worker.policy->on_step_done({Seconds(time), duration, 8, worker.local_steps});
    if (std::holds_alternative<sync::Ask>(decision)) {
      sync::ServerDecisions decisions;
      server_->on_report({Seconds(time), number, worker.version, worker.local_steps, duration}, decisions);
      const auto& answer = std::get<sync::AnswerReport>(decisions.at(0));
      decision = worker.policy->on_answer({Seconds(time), answer.ready, answer.members});
    }
    if (std::holds_alternative<sync::Exchange>(decision)) return push(number);
    start_step(number, time);
  }

  void push(int number) {
    Worker& worker = workers_[index(number)];
    worker.steps.push_back(worker.local_steps);
    sync::ServerDecisions decisions;
    server_->on_push({Seconds(now_), number, worker.version, 8 * worker.local_steps, worker.local_steps,
                      Seconds(durations_[index(number)])},
                     decisions);
    staleness_.push_back(version_ - worker.version);
    worker.local_steps = 0;
    execute(decisions);
  }

  void execute(const sync::ServerDecisions& decisions) {
    for (const auto& decision : decisions) {
      if (std::holds_alternative<sync::Apply>(decision)) {
        ++version_;
        update_times_.push_back(now_);
      }
      if (const auto* reply = std::get_if<sync::Reply>(&decision)) {
        workers_[index(reply->worker)].version = version_;
        start_step(reply->worker, now_);
      }
    }
  }

  const Catalog<sync::Factory>::Entry& entry_;
  std::vector<double> durations_;
  std::unique_ptr<sync::ServerPolicy> server_;
  std::vector<Worker> workers_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  double now_ = 0.0;
  int version_ = 0;
  std::vector<int> staleness_;
  std::vector<double> update_times_;
};

}  // namespace tandem::testing
