#include "workloads/roles/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/worker_scaling.hpp"
#include "workloads/records/cache_rows.hpp"

namespace tandem {

bool is_arrival(const Job& job, int index, int incarnation) {
  return incarnation > 1 || index >= std::ssize(job.roster().first_workers());
}

namespace {

std::unique_ptr<Exchange> make_exchange(const Job& job, Context& context, Replica& replica,
                                        const sync::WorkerPolicy& policy, int incarnation) {
  const Roster& roster = job.roster();
  const ExchangePlan& plan = job.exchange();
  if (roster.steward() && plan.route() == sync::Route::all_reduce)
    return make_regrouping_all_reduce(roster, plan, job.data(), job.stop(),
                                      job.spec().experiment.recovery.scale_rate, context, replica,
                                      incarnation);
  if (roster.steward() && plan.route() == sync::Route::peers)
    return make_regrouping_peers(roster, job.data(), job.stop(), context, replica, incarnation);
  switch (plan.route()) {
    case sync::Route::server:
      return make_server_exchange(roster, plan, job.data(), context, replica);
    case sync::Route::all_reduce:
      return make_all_reduce_exchange(roster, plan, job.stop(), context, replica);
    case sync::Route::peers:
      break;
  }
  return make_peer_exchange(roster, plan, job.stop(), context, replica, policy.neighbours());
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
      policy_(plan_.algorithm().make.make_worker(plan_.sync_setting(), index)),
      exchange_(make_exchange(job, context, replica_, *policy_, incarnation)),
      members_(exchange_->members()),
      deferred_(job.checkpoints().schedule(), context, replica_, *exchange_,
                [this](Phase phase) { end_phase(phase); }),
      batches_(job, context, journal, replica_, *exchange_, index, slot.node),
      checkpoints_(job, context),
      accuracy_stop_(job, context),
      states_(job, context.rank()),
      own_records_(slot.records == nullptr ? std::make_optional<RecordFiles>(job, context.rank(), journal)
                                           : std::nullopt),
      records_(slot.records == nullptr ? *own_records_ : *slot.records),
      commits_(job, context, journal),
      evaluations_(job.checkpoints().schedule()),
      incarnation_(incarnation),
      writes_checkpoints_(context.rank() == job.checkpoints().writer),
      has_own_model_(plan_.payload() == sync::Payload::model),
      skip_non_finite_(job.replica_plan().non_finite == OnNonFinite::skip),
      queues_backward_(!context.device().is_host() && !plan_.overlaps_forward()),
      keeps_losses_(job.data().needs_losses() || job.records_losses()),
      records_losses_(job.records_losses()),
      epochs_(job.roster().steward() ? 0.0 : job.spec().experiment.stop.epochs),
      progress_(batch_of(job, index)) {
  replica_.set_rate_factor(rate_factor_of(job));
  if (job.checkpoints().evaluator == context.rank()) evaluation_.emplace(job, context, journal);
  if (members_ != nullptr) follow_members();
  if (job.resume() != nullptr && !joins()) resume(job, index);
  const auto first = job.roster().first_workers().size();
  if (plan_.route() == sync::Route::server || joins() || first == job.roster().workers().size()) return;
  // Slots for spares are empty as the job begins.
  sync::Members members{0, std::vector<int>(first)};
  std::iota(members.workers.begin(), members.workers.end(), 0);
  on_members(members, false);
}

/// Before anything else of the exchange.
void Worker::follow_members() {
  members_->set_hooks({.taken = [this] { return batches_.taken(); },
                       .dealt = [this](const sampling::MemberDeals& deals) { batches_.follow(deals); },
                       .on_members = [this](const sync::Members& event,
                                            bool decides_again) { return on_members(event, decides_again); },
                       .ends = [this] { commits_.end_view(); },
                       .begins = [this](std::span<const int> members, std::int64_t rounds,
                                        std::int32_t view) { commits_.begin_view(members, rounds, view); },
                       .serialise = [this](StateArchive& state) { commits_.serialise_common(state); }});
  commits_.set_wait([this](Pending& until) { return members_->wait_or_regroup(until); });
  if (job_.is_restarted()) members_->continue_counts();
}

bool Worker::joins() const { return is_arrival(job_, assignment_.index, incarnation_); }

void Worker::run() {
  if (joins()) join();
  if (plan_.payload() == sync::Payload::change) replica_.mark();
  if (job_.is_restarted()) begin_after_restart();
  commits_.start(round_of_checkpoints());
  while (!stopping_) step();
  batches_.drop_next(progress_.batch(), progress_.step());
  // Commits of the others count without it.
  if (commits_.awaits_records() && records_.note_at_once(record_mark(), context_.now()))
    commits_.note_all_recorded();
  if (servers_wait_for_records()) records_.note_at_once(record_mark(), context_.now());
  exchange_->leave();
  batches_.close();
  commits_.finish();
  if (members_ == nullptr) return do_last_duties();
  members_->end([this] { do_last_duties(); });
}

void Worker::do_last_duties() {
  if (!writes_checkpoints()) return;
  std::vector<std::int64_t> applied;
  if (members_ != nullptr) applied = members_->applied_samples();
  for (std::size_t worker = 0; worker < applied.size(); ++worker)
    if (applied[worker] > 0 && !has_own_model_)
      journal_.note_applied(job_.roster().workers()[worker], 0, applied[worker]);
  if (leads()) journal_.counted_rounds = progress_.job_rounds();
  // The final model is the mean of all where each worker has a model of its own.
  if (has_own_model_ && checkpoints_.is_enabled()) {
    save_checkpoint();
    evaluate(progress_.job_rounds());
  }
  checkpoints_.finish(progress_.job_rounds(), replica_.values());
}

void Worker::join() {
  // The policy of the worker before does not decide any more.
  log_restored(serialised(*policy_));
  const Arrival arrival = members_->join(incarnation_);
  progress_.join(arrival, static_cast<int>(journal_.steps.size()));
  if (plan_.route() == sync::Route::server) uncounted_steps_ = progress_.step() - arrival.steps;
  if (replica_.is_tied()) {
    Pending copy = context_.compute({.kind = Work::Kind::update, .bytes = replica_.description().bytes()},
                                    replica_.adopt_received());
    context_.wait(copy);
  }
  replica_.begin_at(progress_.step());
  batches_.join(members_->deals(), progress_.samples_taken(), incarnation_);
  checkpoints_.leave_out(progress_.job_rounds());
  evaluations_.begin_again(progress_.job_rounds());
  stopping_ = exchange_stops_ = arrival.result.stop;
}

void Worker::record_interrupted_step() {
  journal_.staleness.clear();
  const int of_step = has_gradient_ ? 1 : 0;
  if (has_gradient_) {
    end_phase(Phase::exchange);
    journal_.steps.push_back(record_);
  }
  // Its last push may have arrived as a whole: with or without it, nothing of this worker is missing.
  const int open = progress_.local_steps();
  RecordMark mark = record_mark();
  mark.steps -= std::max(0, open - of_step);
  if (!records_.try_save(mark)) return;
  mark.steps += std::max(open, of_step);
  records_.try_save(mark);
}

void Worker::step() {
  record_ = {.rank = context_.rank(),
             .step = progress_.step(),
             .round = progress_.round(),
             .version = progress_.version()};
  record_.start = phase_start_ = context_.now();
  const UpdateTime began{progress_.round(), progress_.local_steps()};
  const auto [during, reports] = begin();
  if (during) {
    if (!plan_.overlaps_forward()) exchange_->begin(*during);
    end_phase(Phase::exchange);
  }
  if (reports) exchange_->report(push_so_far());
  load();
  forward();
  if (during && plan_.overlaps_forward()) exchange_->begin(*during);
  backward(during ? &*during : nullptr);
  if (during) finish_exchange(during->payload);
  const bool steps_itself = !during || during->payload == sync::Payload::model;
  if (steps_itself && !skips_step_) update(began);
  if (!during) decide();
  // Every worker ends after its part of the epochs' lists, when its round is complete.
  if (progress_.local_steps() == 0 && epochs_ > 0 && batches_.has_trained(epochs_, progress_.samples_taken()))
    stopping_ = true;
  const bool commits = ends_with_commit();
  deferred_.end_step(round_of_checkpoints(), stopping_ || commits);
  journal_.steps.push_back(record_);
  has_gradient_ = false;
  progress_.end_step();
  if (commits) commit();
  save_state_if_due();
  const bool is_last_mean = stopping_ && has_own_model_;
  if (!is_last_mean && checkpoints_.is_due(progress_.job_rounds())) save_checkpoint();
  if (!is_last_mean && evaluations_.has_passed(round_of_checkpoints())) evaluate(round_of_checkpoints());
  if (stopping_ || !accuracy_stop_.is_reached_after(round_of_checkpoints())) return;
  exchange_->end_job();
  stopping_ = true;
}

sync::StepBeginDecision Worker::begin() {
  const sync::StepBegin event{progress_.local_steps()};
  asked_ = event;
  sync::StepBeginDecision decision = sync::decide(*policy_, event);
  if (journal_.keep_decisions) log(event, sync::to_text(decision));
  return decision;
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
/// backward computes the next.
void Worker::backward(const sync::Exchange* during) {
  progress_.add_gradient(record_.samples, record_.loss, std::isfinite(record_.loss) || !skip_non_finite_);
  has_gradient_ = true;
  skips_step_ = false;
  Seconds exchanging{};
  for (int bucket = 0; bucket < replica_.buckets(); ++bucket) {
    Pending pass = first_pass_.empty() ? begin_backward(bucket) : std::move(first_pass_);
    // The device has all work of the step now, so the processor is free.
    if (bucket + 1 == replica_.buckets()) batches_.load_ahead(progress_.batch(), record_.step);
    exchange_->wait_progressing(pass);
    if (const auto& what = replica_.find_non_finite(bucket); what && !skips_step_) on_non_finite(*what);
    const Seconds done = context_.now();
    step_duration_ = done - record_.start - deferred_.spent() - exchanging;
    if (during != nullptr && bucket + 1 == replica_.buckets()) commits_.hear_warnings();
    if (during != nullptr && plan_.overlaps_backward()) bucket_ready(bucket);
    exchanging += context_.now() - done;
  }
  if (during != nullptr && !plan_.overlaps_backward())
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) bucket_ready(bucket);
  end_phase(Phase::backward);
}

void Worker::bucket_ready(int bucket) {
  if (bucket == 0) batches_.note_exchange(true);
  protocol::Push push = push_so_far();
  push.commit_round = static_cast<std::int32_t>(commits_.next_decided());
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

void Worker::update(UpdateTime time) {
  Pending update = context_.compute({.kind = Work::Kind::update, .bytes = replica_.description().bytes()},
                                    replica_.local_update(time));
  context_.wait(update);
  end_phase(Phase::update);
}

void Worker::decide() {
  step_duration_ = context_.now() - record_.start;
  const sync::StepDone done{context_.now(), step_duration_, record_.samples, progress_.local_steps(),
                            exchange_->coordinator_answer()};
  asked_ = done;
  auto decision = logged(done, policy_->on_step_done(done));
  if (std::holds_alternative<sync::Ask>(decision)) {
    const sync::Answer answer = exchange_->ask(push_so_far());
    end_phase(Phase::query);
    asked_ = answer;
    decision = logged(answer, policy_->on_answer(answer));
    TANDEM_CHECK(!std::holds_alternative<sync::Ask>(decision), "a policy asked again after an answer");
  }
  if (const auto* exchange = std::get_if<sync::Exchange>(&decision)) exchange_after_step(*exchange);
}

/// The members have changed. An exchange among the earlier ones is decided again.
std::optional<sync::Exchange> Worker::on_members(const sync::Members& event, bool decides_again) {
  policy_->on_members(event);
  if (journal_.keep_decisions) log(event, "");
  if (!decides_again) return std::nullopt;
  if (const auto* begun = std::get_if<sync::StepBegin>(&asked_)) {
    sync::StepBeginDecision decision = sync::decide(*policy_, *begun);
    if (journal_.keep_decisions) log(*begun, sync::to_text(decision));
    return decision.exchange;
  }
  const auto* done = std::get_if<sync::StepDone>(&asked_);
  const auto decision = done != nullptr ? logged(*done, policy_->on_step_done(*done))
                                        : logged(std::get<sync::Answer>(asked_),
                                                 policy_->on_answer(std::get<sync::Answer>(asked_)));
  const auto* exchange = std::get_if<sync::Exchange>(&decision);
  return exchange == nullptr ? std::nullopt : std::optional(*exchange);
}

void Worker::exchange_after_step(const sync::Exchange& exchange) {
  if (exchange.payload == sync::Payload::change) {
    Pending change = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                      replica_.compute_change());
    context_.wait(change);
    end_phase(Phase::update);
  }
  commits_.hear_warnings();
  exchange_->begin(exchange);
  for (int bucket = 0; bucket < replica_.buckets(); ++bucket) bucket_ready(bucket);
  finish_exchange(exchange.payload);
}

void Worker::finish_exchange(sync::Payload payload) {
  const ExchangeResult result = exchange_->finish();
  batches_.note_exchange(false);
  end_phase(Phase::exchange);
  const UpdateTime time{progress_.round()};
  if (plan_.overlaps_forward()) {
    deferred_.defer(result, time);
  } else if (!result.is_fetched && (result.sum_of > 0 || replica_.is_tied())) {
    Pending update = context_.compute(
        {.kind = Work::Kind::update, .bytes = replica_.description().bytes()},
        result.sum_of > 0 ? replica_.adopt_sum(payload, result.sum_of, time) : replica_.adopt_centre());
    context_.wait(update);
    end_phase(Phase::update);
  }
  if (payload == sync::Payload::change) replica_.mark();
  record_.bytes_sent += result.bytes_sent;
  record_.bytes_received += result.bytes_received;
  TANDEM_CHECK(result.batch == 0 || plan_.varies_batch(), result.batch);
  if (result.local_steps > 0) grant(result.local_steps);
  stopping_ = exchange_stops_ = result.stop;
  commits_.hear(result.commit_round);
  heard_commit_ = std::max<std::int64_t>(heard_commit_, result.commit_round);
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
}

SavedState Worker::current_state() {
  SavedState state;
  serialise(state);
  state.set_text("policy", serialised(*policy_));
  if (members_ == nullptr) return state;
  if (const auto deals = members_->changed_deals(); !deals.empty())
    state.set_text("deals", to_json(deals).dump());
  return state;
}

void Worker::save_state_if_due() {
  const std::int64_t round = round_of_checkpoints();
  if (progress_.local_steps() > 0) return;
  if (!states_.is_due(round)) return note_records();
  records_.save(record_mark());
  states_.save(round, current_state());
}

/// A commit counts with the records of those who were there (find_restart_point). The next push says that
/// this worker has heard of it, and so has written them (RecordedCommits).
bool Worker::servers_wait_for_records() const {
  return job_.roster().steward() && plan_.route() == sync::Route::server;
}

void Worker::note_records() {
  if (servers_wait_for_records() && heard_commit_ > noted_commit_ &&
      records_.note_at_once(record_mark(), context_.now()))
    noted_commit_ = heard_commit_;
  const std::int64_t commit = commits_.unrecorded();
  if (commit == 0) return records_.note(record_mark(), context_.now());
  if (records_.note_at_once(record_mark(), context_.now())) commits_.note_recorded(commit);
}

bool Worker::ends_with_commit() {
  if (progress_.local_steps() > 0) {
    commits_.step_done();
    return false;
  }
  // Elsewhere not all workers end at the same round, or a reply says so.
  const Experiment::Stop& limits = job_.spec().experiment.stop;
  const bool is_last = stopping_ && plan_.route() != sync::Route::server && limits.seconds == Seconds(0) &&
                       limits.accuracy == 0.0;
  commits_.round_done(round_of_checkpoints(), plan_.sync_setting().workers, is_last);
  // Elsewhere a reply says so.
  if (commits_.ends_job_after(round_of_checkpoints())) {
    exchange_->end_job();
    stopping_ = true;
  }
  return commits_.is_due(round_of_checkpoints());
}

void Worker::commit() {
  const bool is_evaluated = checkpoints_.is_due(progress_.job_rounds());
  if (is_evaluated && writes_checkpoints())
    checkpoints_.note_due(progress_.job_rounds(), progress_.job_samples());
  commits_.begin(round_of_checkpoints());
  PartOfCommit part{.is_whole = records_.try_save(record_mark())};
  if (commits_.keeps_files()) part.state = current_state();
  if (writes_checkpoints()) {
    const auto values = replica_.values();
    part.model.assign(values.begin(), values.end());
  }
  part.model_stays = is_evaluated || (stopping_ && has_own_model_);
  commits_.write(std::move(part));
}

void Worker::save_checkpoint() {
  // Another worker may get this duty later.
  if (!writes_checkpoints()) return checkpoints_.leave_out(progress_.job_rounds());
  checkpoints_.save(progress_.job_rounds(), progress_.job_samples(), replica_.values(), stopping_);
}

/// In this worker's own time: its next step, and the ranks that decide by the accuracy, wait.
void Worker::evaluate(std::int64_t round) {
  evaluations_.begin_again(round);
  if (!evaluation_) return;
  const double accuracy = evaluation_->evaluate(
      {.round = round, .samples = progress_.job_samples(), .taken = context_.now()}, [this] {
        const auto values = replica_.values();
        return std::vector<float>(values.begin(), values.end());
      });
  if (progress_.local_steps() == 0) records_.save(record_mark());
  // A server waits for the verdict unless it has ended the job itself.
  const bool has_ended = plan_.route() == sync::Route::server ? exchange_stops_ : stopping_;
  if (!has_ended) accuracy_stop_.note_verdict(evaluation_->announce(accuracy));
}

void Worker::resume(const Job& job, int index) {
  SavedState state = state_of_worker(job, index);
  serialise(state);
  replica_.begin_at(progress_.step());
  if (!job.data().needs_losses()) batches_.skip(progress_.samples_taken());
  if (state.has("policy"))
    restore_policy(state.text("policy"));
  else if (job.is_restarted())
    log_restored(serialised(*policy_));
  if (progress_.granted_steps() > 0) grant(progress_.granted_steps());
  if (job.resume()->former_workers == 0 && job.resume()->members.empty()) return;
  const auto all = plan_.all_workers();
  const sync::Members members{progress_.round(), {all.begin(), all.end()}};
  policy_->on_members(members);
  if (journal_.keep_decisions) log(members, "");
}

/// What follows the checkpoint from which the job starts again, before the next step.
void Worker::begin_after_restart() {
  stopping_ = epochs_ > 0 && batches_.has_trained(epochs_, progress_.samples_taken());
  if (evaluation_ && checkpoint_of_restart(job_)) {
    const auto at_restart = evaluations_at_restart(job_, assignment_);
    if (!at_restart.accuracy)
      evaluate(round_of_checkpoints());
    else if (job_.checkpoints().stop_accuracy > 0.0)
      accuracy_stop_.note_verdict(evaluation_->announce(*at_restart.accuracy));
  }
  if (!accuracy_stop_.is_reached_at_restart()) return;
  exchange_->end_job();
  stopping_ = true;
}

void Worker::restore_policy(const std::string& state) {
  restore(*policy_, state);
  log_restored(state);
}

/// A replay continues with the same state.
void Worker::log_restored(const std::string& state) {
  if (journal_.keep_decisions)
    journal_.decisions.push_back({context_.rank(), "worker", sync::restore_event(state), ""});
}

void Worker::grant(int local_steps) {
  progress_.grant(local_steps);
  policy_->on_local_steps(local_steps);
  if (journal_.keep_decisions) log(sync::LocalSteps{local_steps}, "");
}

/// Every event of the policy, since a replay of the run gives them to another one.
void Worker::log(const sync::WorkerEvent& event, std::string decisions) {
  journal_.decisions.push_back({context_.rank(), "worker", sync::to_text(event), std::move(decisions)});
}

sync::WorkerDecision Worker::logged(const sync::WorkerEvent& event, sync::WorkerDecision decision) {
  if (journal_.keep_decisions) log(event, sync::to_text(decision));
  return decision;
}

}  // namespace tandem
