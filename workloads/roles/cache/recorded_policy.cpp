#include "workloads/roles/cache/recorded_policy.hpp"

#include <utility>

#include "policies/cache/text.hpp"

namespace tandem {

using cache::Decisions;

void RecordedPolicy::record(std::string event, const Decisions& decisions) {
  journal_.decisions.push_back({rank_, "cache", std::move(event), cache::to_text(decisions)});
}

void RecordedPolicy::record_new() {
  if (records_other_events()) journal_.decisions.push_back({rank_, "cache", cache::new_policy_text, ""});
}

void RecordedPolicy::on_want(const cache::Want& want, Decisions& decisions) {
  policy_->on_want(want, decisions);
  if (journal_.keep_decisions) record(cache::to_text(want), decisions);
}

void RecordedPolicy::on_arrived(std::span<const cache::Arrived> arrived, Decisions& decisions) {
  policy_->on_arrived(arrived, decisions);
  if (records_other_events()) record(cache::to_text(arrived), decisions);
}

void RecordedPolicy::on_epoch(const cache::EpochBegins& event, Decisions& decisions) {
  policy_->on_epoch(event, decisions);
  if (records_other_events()) record(cache::to_text(event), decisions);
}

void RecordedPolicy::on_importance(int job, std::span<const float> losses, Decisions& decisions) {
  policy_->on_importance(job, losses, decisions);
  if (records_other_events()) record(cache::to_text(job, losses), decisions);
}

void RecordedPolicy::on_job(const cache::JobChange& event, Decisions& decisions) {
  policy_->on_job(event, decisions);
  if (records_other_events()) record(cache::to_text(event), decisions);
}

void RecordedPolicy::on_peer(const cache::PeerChange& event, Decisions& decisions) {
  policy_->on_peer(event, decisions);
  if (records_other_events()) record(cache::to_text(event), decisions);
}

void RecordedPolicy::on_directory(std::span<const cache::Holder> holders, Decisions& decisions) {
  policy_->on_directory(holders, decisions);
  if (records_other_events()) record(cache::to_text(holders), decisions);
}

void RecordedPolicy::on_idle(Bytes room, Decisions& decisions) {
  policy_->on_idle(room, decisions);
  if (records_other_events()) record(cache::idle_text(room), decisions);
}

}  // namespace tandem
