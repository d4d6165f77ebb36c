#include "workloads/roles/server/parameter_server.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/roles/server/key_costs.hpp"

namespace tandem {
namespace {

/// A coordinator gets notes alone.
std::vector<ShardKey> keys_of_pushes(const ExchangePlan& plan, const ServerModel& model) {
  return keys_of(model.pieces(), plan.exchanges_by_key());
}

std::vector<std::unique_ptr<sync::ServerPolicy>> policies_of(const ExchangePlan& plan,
                                                             const ServerModel& model) {
  std::vector<std::unique_ptr<sync::ServerPolicy>> policies(keys_of_pushes(plan, model).size());
  for (auto& policy : policies) policy = plan.algorithm().make.make_server(plan.sync_setting());
  return policies;
}

KeyCosts::Key cost_of(const ShardKey& key, const ModelDescription& description, ServerModel& model) {
  const auto& all = model.pieces();
  const ShardPieces pieces(all.begin() + static_cast<std::ptrdiff_t>(key.first),
                           all.begin() + static_cast<std::ptrdiff_t>(key.last) + 1);
  KeyCosts::Key cost{.tensors = tensors_in(pieces, description)};
  for (std::size_t piece = key.first; piece <= key.last; ++piece) {
    cost.push += model.pushes().buffer(0, piece).size;
    cost.reply += model.reply_size(piece);
  }
  return cost;
}

KeyCosts costs_of(const Job& job, Rank rank, ServerModel& model) {
  std::vector<KeyCosts::Key> costs;
  if (job.exchange().route() == sync::Route::server && job.devices().server_cost(rank) != nullptr)
    for (const ShardKey& key : keys_of_pushes(job.exchange(), model))
      costs.push_back(cost_of(key, job.model(), model));
  return KeyCosts(std::move(costs));
}

int threads_of(const Job& job, Rank rank) {
  const ServerCost* const cost = job.devices().server_cost(rank);
  return cost == nullptr ? 1 : cost->parallel;
}

/// Of the model that the worker has after the reply. `newest`: of the server's.
int version_after(const sync::Reply& decision, const ReplySender& replies, int newest) {
  return decision.keeps_model ? replies.version(decision.worker) : newest;
}

bool are_updates_rounds(const Job& job) {
  return job.roster().steward() && job.exchange().algorithm().make.membership.rounds_are_updates;
}

ServerMembers::Setting setting_of_members(const Job& job, Rank rank) {
  const ExchangePlan& plan = job.exchange();
  const auto& recovery = job.spec().experiment.recovery;
  return {.slots = job.roster().workers().size(),
          .first = job.roster().first_workers().size(),
          .may_change = job.roster().steward().has_value(),
          .batch = plan.sync_setting().batch,
          // Workers that update themselves scale their updates.
          .rate_factor = plan.servers_send_means() ? 1.0 : rate_factor_of(job),
          .rate_scale = recovery.scale_rate,
          .batch_rule = recovery.batch,
          .least = are_updates_rounds(job) && plan.route() == sync::Route::server ? recovery.least : 0,
          .is_coordinator = rank == job.roster().coordinator()};
}

DealBook book_of(const Job& job, Rank rank) {
  const auto workers = job.roster().workers();
  DealBook::Setting setting{.batch = job.exchange().sync_setting().batch,
                            .prefetch = job.data().from_storage() ? job.data().prefetch() : 0,
                            .knows_samples = job.data().knows_samples()};
  for (const Rank worker : workers) setting.loads_ahead.push_back(job.loads_ahead(worker));
  std::optional<sampling::MemberDeals> deals;
  if (job.roster().steward() && job.exchange().route() == sync::Route::server &&
      rank == job.roster().coordinator())
    deals.emplace(workers.size(), job.roster().first_workers().size(), job.data().deals().before(),
                  sampling::MemberDeals::Rules{.knows_samples = setting.knows_samples,
                                               .deals_again = job.data().deals().are_repeated()});
  return {std::move(setting), std::move(deals)};
}

}  // namespace

ParameterServer::ParameterServer(const Job& job, Context& context, Journal& journal, int shard)
    : plan_(job.exchange()),
      stop_(job.stop()),
      recovery_(job.spec().experiment.recovery),
      context_(context),
      journal_(journal),
      steward_(job.roster().steward()),
      is_coordinator_(context.rank() == job.roster().coordinator()),
      gets_pushes_(plan_.route() == sync::Route::server),
      model_(job.replica_plan(), plan_, context.device(), shard,
             job.devices().kind_of(context.rank()) != DevicePlan::processor_kind),
      policies_(policies_of(plan_, model_)),
      progress_({.workers = job.roster().workers().size(),
                 .counts_updates = are_updates_rounds(job),
                 .is_alone = job.roster().deciders().size() == 1,
                 .is_lockstep = plan_.algorithm().make.lockstep},
                stop_),
      members_(setting_of_members(job, context.rank())),
      deals_(book_of(job, context.rank())),
      recorded_(job.roster().workers().size(), job.checkpoints().commits.announced.has_replies_ahead()),
      order_(context, plan_.first_server_decides() ? job.roster().servers() : std::span<const Rank>(),
             job.roster().workers().size()),
      lines_(context, model_, keys_of_pushes(plan_, model_),
             {.workers = job.roster().workers(),
              .requests_pulls = plan_.requests_pulls(),
              .omits_known_models = plan_.replies_omit_known_models(),
              .hears_other = steward_.has_value() || order_.follows(),
              .answer_time = job.devices().answer_time(context.rank())},
             StatedWork(threads_of(job, context.rank()), costs_of(job, context.rank(), model_))),
      cancels_(context, job.roster().workers(), is_coordinator_ && plan_.cancels_steps()),
      updates_(context, journal, model_,
               {.workers = job.roster().workers(),
                .records = is_coordinator_ && gets_pushes_,
                .drops_lost = recovery_.on_loss == LossRule::drop,
                .rate_ramp = job.replica_plan().rate_ramp}),
      checkpointing_(job, context, journal, model_, [this] { return current_state(); }) {
  if (job.resume() != nullptr) resume(job);
}

void ParameterServer::run() {
  progress_.stop_if(checkpointing_.accuracy_stop().is_reached_at_restart());
  checkpointing_.commits().start(progress_.rounds());
  leave_spares_out();
  for (int worker = 0; worker < members_.slots(); ++worker)
    if (members_.is_present(worker)) lines_.listen(worker);
  if (steward_) lines_.other() = protocol::receive<"membership">(context_, *steward_);
  while (!members_.is_over())
    std::visit([this](const auto& event) { handle(event); }, order_.next(lines_, is_paused_));
  checkpointing_.commits().finish();
  cancels_.finish();
  order_.finish();
  if (steward_) {
    lines_.finish();
    notify_steward_of_end();
    if (is_coordinator_) record_end();
  }
  checkpointing_.finish(progress_.rounds());
}

void ParameterServer::handle(const WorkerLines::Pushed& event) {
  key_ = event.key;
  // The keys of a push have one number.
  if (key_ == 0) model_.pushes().note_push(event.worker, event.push.version);
  if (is_last_key()) return on_push(event.worker, event.push, event.is_withdrawn);
  // Each key has its own round, with the decisions of a whole push. Only the last key counts as one.
  decide_about_key(event_of(event.worker, event.push, event.is_withdrawn));
}

void ParameterServer::handle(const WorkerLines::Reported& event) {
  key_ = lines_.inbox().last_key();
  const protocol::Report& report = event.report;
  decide(sync::Report{now_of_policy(), event.worker, progress_.version_of_policy(report.version),
                      report.local_steps, report.duration});
}

/// As the policy sees it.
sync::Push ParameterServer::event_of(int worker, const protocol::Push& push, bool is_withdrawn) const {
  const auto& decided = order_.decided();
  return {.now = now_of_policy(),
          .worker = worker,
          .version = progress_.version_of_policy(push.version),
          .samples = push.samples,
          .local_steps = push.local_steps,
          .duration = push.duration,
          .loss = push.loss,
          .done = decided ? decided->done : progress_.fraction_done(context_.now()),
          .rate = plan_.optimizer_setting().schedule.factor({progress_.rounds()}),
          .cancelled = is_withdrawn};
}

/// The push is complete.
void ParameterServer::on_push(int worker, const protocol::Push& push, bool is_withdrawn) {
  Commits& commits = checkpointing_.commits();
  updates_.on_push(worker, push);
  lines_.replies().on_push(worker, push.version);
  deals_.on_push(push.samples);
  recorded_.on_push(worker, push.commit_round);
  progress_.count_push(worker, push);
  if (!is_coordinator_ || !gets_pushes_) commits.learn(push.commit_round);
  const Progress reached = progress_.progress(context_.now());
  if (!progress_.counts_updates() && progress_.is_between_rounds()) hold_replies_if_due(reached);
  const sync::Push event = event_of(worker, push, is_withdrawn);
  progress_.stop_if(event.done >= 1.0 || ends_with_commit());
  decide(event);
  // There may be enough workers again: no round waits any longer for those whose slots are still empty.
  while (const auto left = members_.take_left(progress_.is_stopping())) decide_about_left(*left, false);
  checkpoint_if_due();
  stop_.report(reached);
}

/// A round has ended, whose replies are not sent before its commit.
void ParameterServer::hold_replies_if_due(const Progress& reached) {
  Commits& commits = checkpointing_.commits();
  const std::int64_t round = progress_.rounds();
  commits.round_done(round, steward_ ? members_.members() : members_.slots(),
                     progress_.is_last_round(reached));
  lines_.replies().hold(commits.is_due(round));
}

bool ParameterServer::ends_with_commit() const {
  return lines_.replies().is_holding() && checkpointing_.commits().ends_job_after(progress_.rounds());
}

void ParameterServer::decide_about_key(const sync::ServerEvent& event) {
  carry_out(sync::decide(*policies_[key_], event));
}

/// The policy of the job decides on the event, which is recorded, as a replay does it.
void ParameterServer::decide(const sync::ServerEvent& event) {
  order_.announce(event);
  const sync::ServerDecisions decisions = sync::decide(*policies_.back(), event);
  EventLog& events = checkpointing_.events();
  if (journal_.keep_decisions || events.keeps()) {
    const std::string text = sync::to_text(event);
    events.add(text);
    if (journal_.keep_decisions)
      journal_.decisions.push_back({context_.rank(), "server", text, sync::to_text(decisions)});
  }
  carry_out(decisions);
  if (lines_.replies().is_holding()) commit();
}

void ParameterServer::carry_out(const sync::ServerDecisions& decisions) {
  const bool changes = std::ranges::any_of(decisions, [](const sync::ServerDecision& decision) {
    return std::holds_alternative<sync::Accept>(decision) || std::holds_alternative<sync::Apply>(decision);
  });
  // An answer to a report does not touch the pushes of another key.
  if (changes) model_.pushes().select(lines_.inbox().keys()[key_]);
  for (const auto& decision : decisions) {
    if (const auto* older = std::get_if<sync::Cancel>(&decision)) cancel(older->version);
    if (const auto* from = std::get_if<sync::Accept>(&decision)) updates_.accept(*from, is_last_key());
    if (const auto* update = std::get_if<sync::Apply>(&decision)) apply(update->scale);
    if (const auto* to = std::get_if<sync::Reply>(&decision)) reply(*to);
    if (const auto* to = std::get_if<sync::AnswerReport>(&decision)) lines_.answer(to->worker, to->ready);
    if (const auto* late = std::get_if<sync::Discard>(&decision))
      updates_.discard(late->worker, !members_.is_present(late->worker), is_last_key());
  }
}

/// Cancels the steps in progress on older models than this version, as the policy counts.
void ParameterServer::cancel(int version) {
  const ReplySender& replies = lines_.replies();
  for (int worker = 0; worker < members_.slots(); ++worker) {
    const int own = replies.version(worker);
    if (members_.is_member(worker) && !replies.awaits_reply(worker) &&
        progress_.version_of_policy(own) < version)
      cancels_.cancel(worker, own);
  }
}

void ParameterServer::apply(double scale) {
  updates_.apply(scale, members_.rate_factor(), progress_.round_of_update(is_last_key()), progress_.version(),
                 is_last_key());
  if (!is_last_key()) return;
  progress_.count_update();
  if (!progress_.counts_updates()) return;
  // Replies to this round say whether the job ends.
  const Progress reached = progress_.progress(context_.now());
  hold_replies_if_due(reached);
  progress_.stop_after_update(stop_.is_reached(reached) || ends_with_commit());
}

void ParameterServer::reply(const sync::Reply& decision) {
  const int worker = decision.worker;
  // Its last push was complete, and its machine is gone.
  if (!members_.is_present(worker)) return;
  updates_.make_room(worker);
  lines_.listen(worker);
  const int version = version_after(decision, lines_.replies(), progress_.version());
  if (lines_.replies().brings_model(worker, version))
    lines_.set_reply(worker, updates_.hand_out(worker, version));
  if (!is_last_key()) return lines_.reply(worker, std::nullopt);
  deal_if_due();
  if (const auto deals = deals_.take_new(worker)) lines_.send_deals(worker, *deals);
  const protocol::Reply note = note_of_reply(decision);
  progress_.grant(worker, note.batch, note.local_steps);
  lines_.reply(worker, note);
}

protocol::Reply ParameterServer::note_of_reply(const sync::Reply& decision) const {
  const bool is_dropped = updates_.is_dropped(decision.worker);
  // Over an all-reduce, also this worker was part of the last round, and ends when the others do.
  const bool is_late = is_dropped && !gets_pushes_;
  return {.version = version_after(decision, lines_.replies(), progress_.version()),
          .batch = members_.batch(decision.worker).value_or(decision.batch),
          .local_steps = decision.local_steps,
          .stops = (is_late ? progress_.has_stopped() : progress_.is_stopping()) && is_coordinator_,
          .dropped = is_dropped,
          .all_samples = progress_.samples(),
          .commit_round = static_cast<std::int32_t>(checkpointing_.commits().announced()),
          .deals = static_cast<std::int32_t>(deals_.known(decision.worker))};
}

void ParameterServer::checkpoint_if_due() {
  if (!progress_.is_between_rounds()) return;
  const std::int64_t round = progress_.rounds();
  checkpointing_.save_if_due(round, progress_.samples(), progress_.is_stopping());
  if (progress_.is_stopping()) return;
  AccuracyStop& stop = checkpointing_.accuracy_stop();
  if (stop.waits_after(round)) lines_.finish_pulls();
  // Replies of this round have been sent, so the job ends with the next one.
  progress_.stop_if(stop.is_reached_after(round));
}

/// The state between two pushes, without the model and the policy.
void ParameterServer::serialise(StateArchive& state) {
  progress_.serialise(state, context_.now());
  updates_.serialise(state);
}

SavedState ParameterServer::current_state() {
  SavedState state;
  serialise(state);
  model_.pushes().serialise(state);
  // A policy that has seen workers leave would not answer them in a resumed job, which has all workers again.
  const bool answered = members_.are_all_there() && lines_.replies().has_answered_all();
  const bool current = answered && lines_.replies().have_all(progress_.version());
  state.set("all_answered", answered ? 1 : 0);
  state.set("all_current", current ? 1 : 0);
  state.set_text("policy", serialised(*policies_.back()));
  if (const auto deals = deals_.changed(progress_.samples_by_worker()); !deals.empty())
    state.set_text("deals", to_json(deals).dump());
  return state;
}

/// After a round, whose replies wait for it.
void ParameterServer::commit() {
  Commits& commits = checkpointing_.commits();
  if (steward_ && gets_pushes_)
    commits.own().set_recorded(recorded_.up_to([this](int worker) { return members_.is_member(worker); }));
  checkpointing_.commit(progress_.rounds(), progress_.samples());
  // Workers that come and go commit on their own. The reply says whether this part of the commit is written.
  if (steward_ && !gets_pushes_) lines_.replies().confirm(static_cast<std::int32_t>(commits.announced()));
  lines_.release_replies();
}

void ParameterServer::resume(const Job& job) {
  SavedState state = state_of_decider(job, job.roster().assignment(context_.rank()).index);
  serialise(state);
  lines_.replies().resume_at(progress_.version());
  const ResumePoint& from = *job.resume();
  if (!from.policies_continue) {
    progress_.begin_policy();
    if (job.is_restarted()) log_restored(sync::restore_event(serialised(*policies_.back())));
    return;
  }
  model_.pushes().serialise(state);
  const std::string policy = state.text("policy");
  restore(*policies_.back(), policy);
  const std::string event = sync::restore_event(policy);
  checkpointing_.events().add(event);
  log_restored(event);
}

/// A replay continues with the same state.
void ParameterServer::log_restored(const std::string& event) {
  if (journal_.keep_decisions) journal_.decisions.push_back({context_.rank(), "server", event, ""});
}

void ParameterServer::record_end() {
  // Without a model, it only leads the workers, which know their own updates.
  if (!gets_pushes_) return;
  journal_.counted_rounds = progress_.rounds();
  updates_.record_rest();
}

}  // namespace tandem
