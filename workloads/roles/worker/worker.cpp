#include "workloads/roles/worker/worker.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/records/cache_rows.hpp"

namespace tandem {

bool is_arrival(const Job& job, int index, int incarnation) {
  return incarnation > 1 || index >= std::ssize(job.roster().first_workers());
}

namespace {

std::unique_ptr<Exchange> make_exchange(const Job& job, Context& context, Replica& replica,
                                        const WorkerDecisions& decisions, int incarnation) {
  const Roster& roster = job.roster();
  const ExchangePlan& plan = job.exchange();
  if (roster.steward() && plan.route() == sync::Route::all_reduce)
    return make_regrouping_all_reduce(roster, plan, job.data(), job.stop(), scaling_of(job), context, replica,
                                      incarnation);
  if (roster.steward() && plan.route() == sync::Route::peers)
    return make_regrouping_peers(roster, job.data(), job.stop(), context, replica, incarnation);
  switch (plan.route()) {
    case sync::Route::server:
      return make_server_exchange(roster, plan, job.data(), context, replica);
    case sync::Route::all_reduce:
      return make_all_reduce_exchange(roster, plan, job.stop(),
                                      takes_uneven_samples(job.spec().experiment, plan), context, replica);
    case sync::Route::peers:
      break;
  }
  return make_peer_exchange(roster, plan, job.stop(), context, replica, decisions.neighbours());
}

/// As if nobody had left.
sync::Members all_members(const ExchangePlan& plan, int round) {
  const auto all = plan.all_workers();
  return {round, {all.begin(), all.end()}};
}

}  // namespace

Worker::Worker(const Job& job, Context& context, Journal& journal, int index, int incarnation, Slot slot)
    : job_(job),
      plan_(job.exchange()),
      assignment_(job.roster().assignment(context.rank())),
      context_(context),
      journal_(journal),
      replica_(is_arrival(job, index, incarnation) ? job.replica_plan_of_arrival() : job.replica_plan(),
               plan_, context.device(), index),
      decisions_(plan_.algorithm().make.make_worker(plan_.sync_setting(), index), context.rank(), journal),
      exchange_(make_exchange(job, context, replica_, decisions_, incarnation)),
      members_(exchange_->members()),
      deferred_(job.checkpoints().schedule(), context, replica_, *exchange_,
                {.end_phase = [this](Phase phase) { end_phase(phase); },
                 .end_exchange = [this] { batches_.note_exchange(false); }}),
      batches_(job, context, journal, replica_, *exchange_, index, slot.node),
      progress_(batch_of(job, index)),
      checkpointing_(job, context, journal, slot.records,
                     {.progress = progress_,
                      .replica = replica_,
                      .members = members_,
                      .state = [this] { return current_state(); }}),
      incarnation_(incarnation),
      skip_non_finite_(job.replica_plan().non_finite == OnNonFinite::skip),
      queues_backward_(!context.device().is_host() && !plan_.overlaps_forward()),
      keeps_losses_(job.data().needs_losses() || job.records_losses()),
      records_losses_(job.records_losses()),
      epochs_(job.roster().steward() || takes_uneven_samples(job.spec().experiment, plan_)
                  ? 0.0
                  : job.spec().experiment.stop.epochs) {
  replica_.set_rate_factor(rate_factor_of(job));
  if (members_ != nullptr) follow_members();
  if (job.resume() != nullptr && !joins()) resume(job, index);
  const auto first = job.roster().first_workers().size();
  if (plan_.route() == sync::Route::server || joins() || first == job.roster().workers().size()) return;
  // Slots for spares are empty as the job begins.
  sync::Members members{0, std::vector<int>(first)};
  std::iota(members.workers.begin(), members.workers.end(), 0);
  decisions_.on_members(members, false);
}

/// Before anything else of the exchange.
void Worker::follow_members() {
  Commits& commits = checkpointing_.commits();
  members_->set_hooks(
      {.taken = [this] { return batches_.taken(); },
       .dealt = [this](const sampling::MemberDeals& deals) { batches_.follow(deals); },
       .on_members = [this](const sync::Members& event,
                            bool decides_again) { return decisions_.on_members(event, decides_again); },
       .ends = [&commits] { commits.end_view(); },
       .begins = [&commits](std::span<const int> members, std::int64_t rounds,
                            std::int32_t view) { commits.begin_view(members, rounds, view); },
       .serialise = [&commits](StateArchive& state) { commits.serialise_common(state); }});
  if (job_.is_restarted()) members_->continue_counts();
}

bool Worker::joins() const { return is_arrival(job_, assignment_.index, incarnation_); }

void Worker::run() {
  if (joins()) join();
  if (plan_.payload() == sync::Payload::change) replica_.mark();
  if (job_.is_restarted()) begin_after_restart();
  checkpointing_.commits().start(checkpointing_.round());
  while (!ends_.now) step();
  // Of rounds that it passed after its last step.
  if (!journal_.steps.empty()) {
    journal_.steps.back().bytes_sent += record_.bytes_sent;
    journal_.steps.back().bytes_received += record_.bytes_received;
  }
  batches_.drop_next(progress_.batch(), progress_.step());
  checkpointing_.note_end();
  exchange_->leave();
  batches_.close();
  checkpointing_.commits().finish();
  const auto last_duties = [this] { checkpointing_.do_last_duties(ends_); };
  members_ == nullptr ? last_duties() : members_->end(last_duties);
}

void Worker::join() {
  // The policy of the worker before does not decide any more.
  decisions_.log_restored(decisions_.state());
  const Arrival arrival = members_->join(incarnation_);
  progress_.join(arrival, static_cast<int>(journal_.steps.size()));
  const bool servers_count = plan_.route() == sync::Route::server;
  checkpointing_.join(servers_count ? progress_.step() - arrival.steps : 0);
  if (replica_.is_tied())
    compute({.kind = Work::Kind::update, .bytes = model_bytes()}, replica_.adopt_received());
  replica_.begin_at(progress_.step());
  batches_.join(members_->deals(), progress_.samples_taken(), incarnation_);
  // Without servers, the policy knows the members already. The job's rounds count all pushes, also late ones,
  // so the model's updates say better in which round the others are.
  if (servers_count) decisions_.on_members(all_members(plan_, progress_.version()), false);
  ends_.now = ends_.by_exchange = arrival.result.stop;
}

void Worker::record_interrupted_step() {
  journal_.staleness.clear();
  if (has_gradient_) {
    end_phase(Phase::exchange);
    journal_.steps.push_back(record_);
  }
  checkpointing_.note_interrupted(has_gradient_);
}

void Worker::step() {
  record_ = {.rank = context_.rank(),
             .step = progress_.step(),
             .round = progress_.round(),
             .version = progress_.version(),
             .bytes_sent = record_.bytes_sent,
             .bytes_received = record_.bytes_received};
  record_.start = phase_start_ = context_.now();
  const UpdateTime began{progress_.round(), progress_.local_steps()};
  const auto [during, reports, waits, passes] = decisions_.step_begins({progress_.local_steps()});
  if (passes) return pass(*during);
  if (during) {
    if (!plan_.overlaps_forward()) exchange_->begin(*during);
    end_phase(Phase::exchange);
  }
  if (reports && waits) {
    exchange_->ask(push_so_far());
    end_phase(Phase::query);
  } else if (reports) {
    exchange_->report(push_so_far());
  }
  load();
  Pending launched = begin_launches();
  const Seconds loaded = context_.now();
  if (during) {
    exchange_->share_buffers();
    end_phase(Phase::exchange);
  }
  const Seconds sharing = context_.now() - loaded;
  forward();
  if (during && plan_.overlaps_forward()) exchange_->begin(*during);
  backward(during ? &*during : nullptr, sharing);
  if (during) finish_exchange(during->payload);
  const bool steps_itself = !during || during->payload == sync::Payload::model;
  if (steps_itself && !skips_step_) update(began);
  await_launches(launched);
  if (!during) decide();
  end_step(true);
}

/// A round in which this worker takes no step: it waits for the others, and gets their model.
void Worker::pass(const sync::Exchange& exchange) {
  step_duration_ = Seconds(0);
  if (plan_.route() == sync::Route::server) {
    checkpointing_.commits().take_warnings();
    exchange_->begin(exchange);
    batches_.note_exchange(true);
    exchange_->withdraw(push_so_far());
    finish_exchange(exchange.payload);
  } else {
    exchange_after_step(exchange);
  }
  end_step(false);
}

/// What follows a step, or a round without one.
void Worker::end_step(bool is_taken) {
  // Every worker ends after its part of the epochs' lists, when its round is complete.
  if (progress_.local_steps() == 0 && epochs_ > 0 && batches_.has_trained(epochs_, progress_.samples_taken()))
    ends_.now = true;
  if (checkpointing_.ends_with_commit(ends_)) end_job();
  const bool commits = checkpointing_.is_commit_due();
  deferred_.end_step(checkpointing_.round(), ends_.now || commits);
  if (is_taken) {
    journal_.steps.push_back(std::exchange(record_, {}));
    has_gradient_ = false;
    progress_.end_step();
  }
  if (checkpointing_.is_reached_after_step(ends_, commits)) end_job();
}

/// This worker has found a reason: where it decides for all, the others learn of it.
void Worker::end_job() {
  exchange_->end_job();
  ends_.now = true;
}

void Worker::load() {
  record_.samples = batches_.load(progress_.batch(), record_.step);
  record_.decoding = batches_.decoding_time();
  progress_.take_batch(record_.samples);
  if (const std::int64_t replaced = batches_.replaced(); replaced > 0)
    cache_record(journal_.caches, context_.rank(), batches_.epoch(), std::string(replaced_row)).samples +=
        replaced;
  end_phase(Phase::load);
}

/// Where the device waits for its processor: the processor launches the whole step, whatever device and
/// network do meanwhile. Empty: the processor is always ahead.
Pending Worker::begin_launches() {
  if (job_.spec().experiment.workload.measured_host <= Seconds(0)) return {};
  return context_.compute({.kind = Work::Kind::launch, .step = record_.step, .concurrent = true});
}

/// As one operation; or bucket by bucket from the first layers, where the kernel runs with the last
/// operation.
void Worker::forward() {
  const bool by_bucket = plan_.overlaps_forward();
  deferred_.begin_forward();
  for (int bucket = by_bucket ? replica_.buckets() - 1 : 0; bucket >= 0; --bucket) {
    deferred_.apply(bucket);
    Pending pass = context_.compute({.kind = Work::Kind::forward,
                                     .bucket = by_bucket ? bucket : -1,
                                     .samples = record_.samples,
                                     .step = record_.step},
                                    bucket == 0 ? replica_.forward() : Kernel());
    // Backward needs forward alone, and the device's queue keeps their order.
    if (queues_backward_) first_pass_ = begin_backward(0);
    exchange_->wait_progressing(pass);
    end_phase(Phase::forward);
  }
  record_.loss = replica_.loss();
  if (keeps_losses_)
    batches_.note_losses(replica_.sample_losses(), records_losses_ ? &journal_.losses : nullptr);
}

Pending Worker::begin_backward(int bucket) {
  return context_.compute({.kind = Work::Kind::backward, .bucket = bucket, .samples = record_.samples},
                          replica_.backward(bucket));
}

/// Where exchanges overlap with backward, each bucket of a gradient is sent as soon as it is complete, while
/// backward computes the next. What the device has in its queue is not stopped. `exchanging`: of this step so
/// far.
void Worker::backward(const sync::Exchange* during, Seconds exchanging) {
  progress_.add_gradient(record_.samples, record_.loss, std::isfinite(record_.loss) || !skip_non_finite_);
  has_gradient_ = true;
  skips_step_ = false;
  const auto note_duration = [&] {
    step_duration_ = context_.now() - record_.start - deferred_.spent() - exchanging;
  };
  for (int bucket = 0; bucket < replica_.buckets(); ++bucket) {
    if (during != nullptr && first_pass_.empty() && exchange_->is_cancelled()) {
      note_duration();
      return withdraw(bucket);
    }
    Pending pass = first_pass_.empty() ? begin_backward(bucket) : std::move(first_pass_);
    // The device has all work of the step now, so the processor is free.
    if (bucket + 1 == replica_.buckets()) batches_.load_ahead(progress_.batch(), record_.step);
    exchange_->wait_progressing(pass);
    if (const auto& what = replica_.find_non_finite(bucket); what && !skips_step_) on_non_finite(*what);
    const Seconds done = context_.now();
    note_duration();
    if (during != nullptr && bucket + 1 == replica_.buckets()) checkpointing_.commits().take_warnings();
    if (during != nullptr && plan_.overlaps_backward()) bucket_ready(bucket);
    exchanging += context_.now() - done;
  }
  if (during != nullptr && !plan_.overlaps_backward())
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) bucket_ready(bucket);
  end_phase(Phase::backward);
}

/// Stops the step, whose gradient would be dropped. `ready`: buckets that are computed.
void Worker::withdraw(int ready) {
  if (ready == 0) batches_.note_exchange(true);
  batches_.load_ahead(progress_.batch(), record_.step);
  checkpointing_.commits().take_warnings();
  exchange_->withdraw(push_so_far());
  end_phase(Phase::backward);
}

void Worker::bucket_ready(int bucket) {
  if (bucket == 0) batches_.note_exchange(true);
  protocol::Push push = push_so_far();
  push.commit_round = static_cast<std::int32_t>(checkpointing_.commits().next_decided());
  exchange_->bucket_ready(bucket, push);
}

/// A step that is not finite ends the job, or continues without the part that the replica left out.
void Worker::on_non_finite(const std::string& what) {
  if (!skip_non_finite_)
    throw WorldError(
        fmt::format("rank {} (worker on '{}'), step {}: {} is not finite (loss {:.6g}); a smaller "
                    "optimizer.learning_rate may help, and workload.non_finite can be skip or ignore",
                    context_.rank(), assignment_.host, record_.step, what, record_.loss));
  skips_step_ = true;
  ++journal_.skipped_steps;
  if (journal_.keep_decisions)
    journal_.decisions.push_back(
        {context_.rank(), "guard", fmt::format("step {}: {} is not finite", record_.step, what), "skip"});
}

void Worker::compute(const Work& work, Kernel kernel) {
  Pending done = context_.compute(work, std::move(kernel));
  context_.wait(done);
}

void Worker::update(UpdateTime time) {
  compute({.kind = Work::Kind::update, .bytes = model_bytes()}, replica_.local_update(time));
  end_phase(Phase::update);
}

void Worker::await_launches(Pending& launched) {
  if (launched.empty()) return;
  exchange_->wait_progressing(launched);
  end_phase(Phase::update);
}

void Worker::decide() {
  const auto spent_in = [&](Phase phase) { return record_.phases[static_cast<std::size_t>(phase)]; };
  step_duration_ = context_.now() - record_.start - spent_in(Phase::query);
  if (plan_.algorithm().make.excludes_loading) step_duration_ -= spent_in(Phase::load);
  auto decision = decisions_.step_done({context_.now(), step_duration_, record_.samples,
                                        progress_.local_steps(), exchange_->coordinator_answer()});
  if (std::holds_alternative<sync::Ask>(decision)) {
    const sync::Answer answer = exchange_->ask(push_so_far());
    end_phase(Phase::query);
    decision = decisions_.answered(answer);
  }
  if (const auto* exchange = std::get_if<sync::Exchange>(&decision)) exchange_after_step(*exchange);
}

void Worker::exchange_after_step(const sync::Exchange& exchange) {
  if (exchange.payload == sync::Payload::change) {
    compute({.kind = Work::Kind::reduce, .bytes = model_bytes()}, replica_.compute_change());
    end_phase(Phase::update);
  }
  checkpointing_.commits().take_warnings();
  exchange_->begin(exchange);
  for (int bucket = 0; bucket < replica_.buckets(); ++bucket) bucket_ready(bucket);
  finish_exchange(exchange.payload);
}

void Worker::finish_exchange(sync::Payload payload) {
  const ExchangeResult result = exchange_->finish();
  if (!plan_.overlaps_forward()) batches_.note_exchange(false);
  end_phase(Phase::exchange);
  const UpdateTime time{progress_.round()};
  if (plan_.overlaps_forward()) {
    deferred_.defer(result, time);
  } else if (!result.is_fetched && (result.sum_of > 0 || replica_.is_tied())) {
    compute({.kind = Work::Kind::update, .bytes = model_bytes()},
            result.sum_of > 0 ? replica_.adopt_sum(payload, result.sum_of, time) : replica_.adopt_centre());
    end_phase(Phase::update);
  }
  if (payload == sync::Payload::change) replica_.mark();
  record_.bytes_sent += result.bytes_sent;
  record_.bytes_received += result.bytes_received;
  if (result.is_split) journal_.split_samples += push_so_far().samples;
  TANDEM_CHECK(result.batch == 0 || plan_.varies_batch(), result.batch);
  if (result.local_steps > 0) grant(result.local_steps);
  ends_.now = ends_.by_exchange = result.stop;
  checkpointing_.learn(result.commit_round);
  progress_.end_exchange(result);
}

void Worker::end_phase(Phase phase) {
  const Seconds now = context_.now();
  record_.phases[static_cast<std::size_t>(phase)] += now - phase_start_;
  phase_start_ = now;
}

/// The state between an exchange and the next step, without that of the policy.
void Worker::serialise(StateArchive& state) {
  progress_.serialise(state);
  replica_.serialise(state);
  exchange_->serialise(state);
  batches_.serialise(state);
  if (!plan_.may_pass_rounds()) return;
  // Of rounds that it has passed since its last step.
  state.number("passed.bytes_sent", record_.bytes_sent);
  state.number("passed.bytes_received", record_.bytes_received);
}

SavedState Worker::current_state() {
  SavedState state;
  serialise(state);
  state.set_text("policy", decisions_.state());
  if (members_ == nullptr) return state;
  if (const auto deals = members_->changed_deals(); !deals.empty())
    state.set_text("deals", to_json(deals).dump());
  return state;
}

void Worker::resume(const Job& job, int index) {
  SavedState state = state_of_worker(job, index);
  serialise(state);
  replica_.begin_at(progress_.step());
  if (!job.data().needs_losses()) batches_.skip(progress_.samples_taken());
  if (state.has("policy"))
    decisions_.restore(state.text("policy"));
  else if (job.is_restarted())
    decisions_.log_restored(decisions_.state());
  if (progress_.granted_steps() > 0) grant(progress_.granted_steps());
  if (job.resume()->former_workers == 0 && job.resume()->members.empty()) return;
  decisions_.on_members(all_members(plan_, progress_.round()), false);
}

/// What follows the checkpoint from which the job starts again, before the next step.
void Worker::begin_after_restart() {
  ends_.now = epochs_ > 0 && batches_.has_trained(epochs_, progress_.samples_taken());
  if (checkpointing_.is_reached_at_restart(ends_)) end_job();
}

void Worker::grant(int local_steps) {
  progress_.grant(local_steps);
  decisions_.grant(local_steps);
}

}  // namespace tandem
