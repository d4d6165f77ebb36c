#include "workloads/roles/worker/worker_decisions.hpp"

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {

sync::StepBeginDecision WorkerDecisions::step_begins(const sync::StepBegin& event) {
  asked_ = event;
  sync::StepBeginDecision decision = sync::decide(*policy_, event);
  if (keeps()) log(event, sync::to_text(decision));
  return decision;
}

sync::WorkerDecision WorkerDecisions::step_done(const sync::StepDone& event) {
  asked_ = event;
  return logged(event, policy_->on_step_done(event));
}

sync::WorkerDecision WorkerDecisions::answered(const sync::Answer& event) {
  asked_ = event;
  sync::WorkerDecision decision = logged(event, policy_->on_answer(event));
  TANDEM_CHECK(!std::holds_alternative<sync::Ask>(decision), "a policy asked again after an answer");
  return decision;
}

std::optional<sync::Exchange> WorkerDecisions::on_members(const sync::Members& event, bool decides_again) {
  policy_->on_members(event);
  if (keeps()) log(event, "");
  if (!decides_again) return std::nullopt;
  if (const auto* begun = std::get_if<sync::StepBegin>(&asked_)) return step_begins(*begun).exchange;
  const auto* done = std::get_if<sync::StepDone>(&asked_);
  const auto decision = done != nullptr ? logged(*done, policy_->on_step_done(*done))
                                        : logged(std::get<sync::Answer>(asked_),
                                                 policy_->on_answer(std::get<sync::Answer>(asked_)));
  const auto* exchange = std::get_if<sync::Exchange>(&decision);
  return exchange == nullptr ? std::nullopt : std::optional(*exchange);
}

void WorkerDecisions::grant(int local_steps) {
  policy_->on_local_steps(local_steps);
  if (keeps()) log(sync::LocalSteps{local_steps}, "");
}

void WorkerDecisions::restore(const std::string& state) {
  tandem::restore(*policy_, state);
  log_restored(state);
}

void WorkerDecisions::log_restored(const std::string& state) {
  if (keeps()) journal_.decisions.push_back({rank_, "worker", sync::restore_event(state), ""});
}

void WorkerDecisions::log(const sync::WorkerEvent& event, std::string decision) {
  journal_.decisions.push_back({rank_, "worker", sync::to_text(event), std::move(decision)});
}

sync::WorkerDecision WorkerDecisions::logged(const sync::WorkerEvent& event, sync::WorkerDecision decision) {
  if (keeps()) log(event, sync::to_text(decision));
  return decision;
}

}  // namespace tandem
