#include "workloads/roles/server/server_progress.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace tandem {

void ServerProgress::count_push(int worker, const protocol::Push& push) {
  OfWorker& of = workers_.at(static_cast<std::size_t>(worker));
  ++of.pushes;
  of.samples += push.samples;
  of.steps += push.local_steps;
  samples_ += push.samples;
  if (!setting_.counts_updates) rounds_.count(1);
}

void ServerProgress::count_update() {
  ++version_;
  if (setting_.counts_updates) rounds_.end_round();
}

/// Servers count the same rounds, and where workers wait for each other the same samples; their clocks
/// differ.
bool ServerProgress::is_last_round(Progress reached) const {
  if (setting_.is_alone) return stopping_ || stop_.is_reached(reached);
  reached.now = {};
  if (!setting_.is_lockstep) reached.samples = 0;
  return stop_.is_reached(reached);
}

void ServerProgress::grant(int worker, int batch, int local_steps) {
  OfWorker& of = workers_.at(static_cast<std::size_t>(worker));
  if (batch > 0) of.batch = batch;
  if (local_steps > 0) of.local_steps = local_steps;
}

void ServerProgress::begin_worker(int worker) {
  OfWorker& of = workers_.at(static_cast<std::size_t>(worker));
  of.batch = of.local_steps = 0;
}

std::vector<std::int64_t> ServerProgress::samples_by_worker() const {
  std::vector<std::int64_t> samples;
  std::ranges::transform(workers_, std::back_inserter(samples), &OfWorker::samples);
  return samples;
}

void ServerProgress::serialise(StateArchive& state, Seconds now) {
  std::int64_t pushes = rounds_.events_at(static_cast<int>(workers_.size()));
  state.number("pushes", pushes);
  if (state.restores()) rounds_.restore(pushes);
  state.number("samples", samples_);
  state.number("version", version_);
  double elapsed = since_begin(now).count();
  state.number("elapsed_s", elapsed);
  if (state.restores()) before_ = Seconds(elapsed);
  state.number("policy_version", policy_version_);
  double policy_began_s = policy_began_.count();
  state.number("policy_began_s", policy_began_s);
  policy_began_ = Seconds(policy_began_s);
  for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
    OfWorker& of = workers_[worker];
    const std::string of_worker = "worker." + std::to_string(worker) + '.';
    state.number(of_worker + "pushes", of.pushes);
    state.number(of_worker + "samples", of.samples);
    state.number(of_worker + "steps", of.steps);
    state.number(of_worker + "batch", of.batch);
    state.number(of_worker + "local_steps", of.local_steps);
  }
}

}  // namespace tandem
