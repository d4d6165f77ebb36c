#include "workloads/roles/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

std::unique_ptr<Exchange> make_exchange(const Job& job, Context& context, Replica& replica,
                                        const sync::WorkerPolicy& policy) {
  switch (job.route()) {
    case sync::Route::server:
      return make_server_exchange(job, context, replica);
    case sync::Route::all_reduce:
      return make_all_reduce_exchange(job, context, replica);
    case sync::Route::peers:
      break;
  }
  return make_peer_exchange(job, context, replica, policy.neighbours());
}

}  // namespace

Worker::Worker(const Job& job, Context& context, Journal& journal, int index)
    : job_(job),
      context_(context),
      journal_(journal),
      replica_(job, context.device(), index),
      policy_(job.algorithm().make.make_worker(job.sync_setting(), index)),
      exchange_(make_exchange(job, context, replica_, *policy_)),
      open_(job, context, replica_, *exchange_, [this](Phase phase) { end_phase(phase); }),
      loader_(
          make_loader(job, context, index, [this](Pending& until) { exchange_->wait_progressing(until); })),
      checkpoints_(job, context),
      states_(job, context.rank()),
      writes_checkpoints_(index == 0 && !job.servers_hold_model()),
      has_own_model_(job.algorithm().make.payload == sync::Payload::model),
      skip_non_finite_(job.experiment().workload.non_finite == OnNonFinite::skip),
      loads_ahead_(job.loads_ahead(context.rank())),
      queues_backward_(!context.device().is_host() && !job.overlaps_forward()),
      batch_(job.experiment().workload.batch) {
  if (job.resume() != nullptr) resume(index);
}

void Worker::run() {
  if (job_.algorithm().make.payload == sync::Payload::change) replica_.mark();
  while (!stopping_) step();
  drop_next_batch();
  exchange_->leave();
  loader_->close();
  if (!writes_checkpoints_) return;
  if (has_own_model_ && job_.experiment().evaluate_every > 0)
    checkpoints_.save(done_rounds_, done_samples_, replica_.values());
  checkpoints_.finish(done_rounds_, replica_.values());
}

void Worker::step() {
  record_ = {.rank = context_.rank(), .step = record_.step, .round = round_, .version = version_};
  record_.start = phase_start_ = context_.now();
  const UpdateTime began{round_, local_steps_};
  const auto [during, reports] = begin();
  if (during) {
    if (!job_.overlaps_forward()) exchange_->begin(*during);
    end_phase(Phase::exchange);
  }
  if (reports) exchange_->report(contribution());
  load();
  forward();
  if (during && job_.overlaps_forward()) exchange_->begin(*during);
  backward(during ? &*during : nullptr);
  if (during) finish_exchange(during->payload);
  const bool steps_itself = !during || during->payload == sync::Payload::model;
  if (steps_itself && !skips_step_) update(began);
  if (!during) decide();
  open_.end_step(round_of_checkpoints(), stopping_);
  journal_.steps.push_back(record_);
  ++record_.step;
  save_state_if_due();
  // The last one is the mean of all, where each worker has a model of its own.
  if (writes_checkpoints_ && !(stopping_ && has_own_model_) && checkpoints_.is_due(done_rounds_))
    checkpoints_.save(done_rounds_, done_samples_, replica_.values());
}

sync::Beginning Worker::begin() {
  const sync::StepBegin event{local_steps_};
  sync::Beginning decision = sync::decide(*policy_, event);
  if (journal_.keep_decisions) log(event, sync::to_text(decision));
  return decision;
}

void Worker::load() {
  loader_->begin_step(batch_);
  if (loading_.empty()) begin_load();
  record_.samples = loading_samples_;
  samples_taken_ += loading_samples_;
  exchange_->wait_progressing(loading_);
  end_phase(Phase::load);
}

void Worker::begin_load() {
  const Loader::Batch batch = loader_->next(batch_);
  loading_samples_ = batch.samples;
  loading_ = context_.compute({.kind = Work::Kind::decode,
                               .samples = batch.samples,
                               .bytes = job_.dataset_info().record_bytes() * batch.samples,
                               .step = record_.step,
                               .concurrent = loads_ahead_},
                              replica_.load(batch.records));
}

/// The one after the last step. Whoever loads ahead loads it, whether or not it came in time: as many as in
/// the other world.
void Worker::drop_next_batch() {
  if (!loads_ahead_) return;
  if (loading_.empty()) begin_load();
  exchange_->wait_progressing(loading_);
}

/// In one piece; or bucket by bucket from the first layers, of which the last ends with the calculation.
void Worker::forward() {
  const bool in_pieces = job_.overlaps_forward();
  open_.begin_forward();
  for (int bucket = in_pieces ? replica_.buckets() - 1 : 0; bucket >= 0; --bucket) {
    open_.take_over(bucket);
    Pending pass = context_.compute({.kind = Work::Kind::forward,
                                     .bucket = in_pieces ? bucket : -1,
                                     .samples = record_.samples,
                                     .step = record_.step},
                                    bucket == 0 ? replica_.forward() : Kernel());
    // Needs nothing but forward, behind which it stands in the device's queue.
    if (queues_backward_) first_pass_ = begin_backward(0);
    exchange_->wait_progressing(pass);
    end_phase(Phase::forward);
  }
  record_.loss = replica_.loss();
}

Pending Worker::begin_backward(int bucket) {
  return context_.compute({.kind = Work::Kind::backward, .bucket = bucket, .samples = record_.samples},
                          replica_.backward(bucket));
}

/// Where backward is overlapped, each bucket of a gradient leaves as soon as it is complete, while backward
/// goes on with the next.
void Worker::backward(const sync::Exchange* during) {
  ++local_steps_;
  samples_since_exchange_ += record_.samples;
  skips_step_ = false;
  if (std::isfinite(record_.loss) || !skip_non_finite_) {
    losses_since_exchange_ += record_.loss;
    ++counted_losses_;
  }
  Seconds offering{};
  for (int bucket = 0; bucket < replica_.buckets(); ++bucket) {
    Pending pass = first_pass_.empty() ? begin_backward(bucket) : std::move(first_pass_);
    // The device has all of the step now, and the processor time.
    const bool is_last = bucket + 1 == replica_.buckets();
    if (is_last && loads_ahead_ && loader_->has_next()) begin_load();
    exchange_->wait_progressing(pass);
    if (const auto& flaw = replica_.find_non_finite(bucket); flaw && !skips_step_) on_non_finite(*flaw);
    const Seconds done = context_.now();
    step_duration_ = done - record_.start - open_.spent() - offering;
    if (during != nullptr && job_.overlaps_backward()) exchange_->bucket_ready(bucket, contribution());
    offering += context_.now() - done;
  }
  if (during != nullptr && !job_.overlaps_backward())
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket)
      exchange_->bucket_ready(bucket, contribution());
  end_phase(Phase::backward);
}

/// A step that is not finite ends the job, or goes on without what the replica has left out of it.
void Worker::on_non_finite(const std::string& flaw) {
  if (!skip_non_finite_)
    throw WorldError(
        fmt::format("rank {} (worker on '{}'), step {}: {} is not finite (loss {:.6g}); a smaller "
                    "optimizer.learning_rate may help, and workload.non_finite can be skip or ignore",
                    context_.rank(), job_.assignments()[static_cast<std::size_t>(context_.rank())].host,
                    record_.step, flaw, record_.loss));
  skips_step_ = true;
  ++journal_.skipped_steps;
  if (journal_.keep_decisions)
    journal_.decisions.push_back(
        {context_.rank(), "guard", fmt::format("step {}: {} is not finite", record_.step, flaw), "skip"});
}

void Worker::update(UpdateTime time) {
  Pending update = context_.compute({.kind = Work::Kind::update, .bytes = replica_.description().bytes()},
                                    replica_.local_update(time));
  context_.wait(update);
  end_phase(Phase::update);
}

void Worker::decide() {
  step_duration_ = context_.now() - record_.start;
  const sync::StepDone done{context_.now(), step_duration_, record_.samples, local_steps_,
                            exchange_->coordinator_answer()};
  auto decision = logged(done, policy_->on_step_done(done));
  if (std::holds_alternative<sync::Ask>(decision)) {
    const sync::Answer answer = exchange_->ask(contribution());
    end_phase(Phase::query);
    decision = logged(answer, policy_->on_answer(answer));
    TANDEM_CHECK(!std::holds_alternative<sync::Ask>(decision), "a policy asked again after an answer");
  }
  if (const auto* exchange = std::get_if<sync::Exchange>(&decision)) exchange_after_step(*exchange);
}

void Worker::exchange_after_step(const sync::Exchange& exchange) {
  if (exchange.payload == sync::Payload::change) {
    Pending change = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                      replica_.compute_change());
    context_.wait(change);
    end_phase(Phase::update);
  }
  exchange_->begin(exchange);
  for (int bucket = 0; bucket < replica_.buckets(); ++bucket) exchange_->bucket_ready(bucket, contribution());
  finish_exchange(exchange.payload);
}

void Worker::finish_exchange(sync::Payload payload) {
  const ExchangeResult result = exchange_->finish();
  end_phase(Phase::exchange);
  if (job_.overlaps_forward()) {
    open_.hold(result, {round_});
  } else if (result.sum_of > 0 || replica_.is_tied()) {
    Pending update = context_.compute(
        {.kind = Work::Kind::update, .bytes = replica_.description().bytes()},
        result.sum_of > 0 ? replica_.adopt_sum(payload, result.sum_of, {round_}) : replica_.adopt_centre());
    context_.wait(update);
    end_phase(Phase::update);
  }
  if (payload == sync::Payload::change) replica_.mark();
  record_.bytes_sent += result.bytes_sent;
  record_.bytes_received += result.bytes_received;
  version_ = result.version;
  if (result.batch > 0) {
    TANDEM_CHECK(job_.algorithm().make.varies_batch, result.batch);
    batch_ = result.batch;
  }
  if (result.local_steps > 0) grant(result.local_steps);
  stopping_ = result.stop;
  local_steps_ = 0;
  samples_since_exchange_ = 0;
  losses_since_exchange_ = 0.0;
  counted_losses_ = 0;
  ++round_;
  done_rounds_ = result.rounds;
  done_samples_ = result.samples;
}

Contribution Worker::contribution() const {
  const bool knows_none = local_steps_ > 0 && counted_losses_ == 0;
  return {.samples = samples_since_exchange_,
          .local_steps = local_steps_,
          .duration = step_duration_,
          .loss = knows_none ? std::numeric_limits<double>::quiet_NaN()
                             : losses_since_exchange_ / std::max(1, counted_losses_)};
}

void Worker::end_phase(Phase phase) {
  const Seconds now = context_.now();
  record_.phases[static_cast<std::size_t>(phase)] += now - phase_start_;
  phase_start_ = now;
}

/// What it knows between an exchange and the next step, but for its policy.
void Worker::serialise(StateArchive& state) {
  state.number("round", round_);
  state.number("step", record_.step);
  state.number("version", version_);
  state.number("batch", batch_);
  state.number("local_steps", granted_steps_);
  state.number("samples_taken", samples_taken_);
  state.number("rounds", done_rounds_);
  state.number("samples", done_samples_);
  replica_.serialise(state);
  exchange_->serialise(state);
}

void Worker::save_state_if_due() {
  const std::int64_t round = round_of_checkpoints();
  if (local_steps_ > 0 || !states_.is_due(round)) return;
  SavedState state;
  serialise(state);
  states_.save(round, state);
}

void Worker::resume(int index) {
  SavedState state = state_of_worker(job_, index);
  serialise(state);
  replica_.begin_at(record_.step);
  loader_->skip(samples_taken_);
  if (!job_.algorithm().make.timing_driven)
    sync::fast_forward(*policy_, round_, job_.experiment().workload.batch);
  if (granted_steps_ > 0) grant(granted_steps_);
}

void Worker::grant(int local_steps) {
  granted_steps_ = local_steps;
  policy_->on_local_steps(local_steps);
  if (journal_.keep_decisions) log(sync::LocalSteps{local_steps}, "");
}

/// All that the policy is told, since whoever replays the run tells it to another one.
void Worker::log(const sync::WorkerEvent& event, std::string decisions) {
  journal_.decisions.push_back({context_.rank(), "worker", sync::to_text(event), std::move(decisions)});
}

sync::WorkerDecision Worker::logged(const sync::WorkerEvent& event, sync::WorkerDecision decision) {
  if (journal_.keep_decisions) log(event, sync::to_text(decision));
  return decision;
}

}  // namespace tandem
