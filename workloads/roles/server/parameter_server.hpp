// A parameter server: receives pushes, carries out the decisions of its policy, and replies with its part of
// the model. If workers step their models, it replies with the mean gradient. One server, the coordinator,
// also answers reports, owns the stop condition and, if servers hold the model, writes checkpoints. Over an
// all-reduce the coordinator holds no part of the model: workers only report their exchanges to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/server_model.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/server/deal_book.hpp"
#include "workloads/roles/server/recorded_commits.hpp"
#include "workloads/roles/server/server_checkpointing.hpp"
#include "workloads/roles/server/server_members.hpp"
#include "workloads/roles/server/server_order.hpp"
#include "workloads/roles/server/server_progress.hpp"
#include "workloads/roles/server/server_updates.hpp"
#include "workloads/roles/server/step_cancels.hpp"
#include "workloads/roles/server/worker_lines.hpp"

namespace tandem {

class ParameterServer {
 public:
  /// The arguments must outlive it. `shard`: its number among the servers; 0 for a coordinator.
  ParameterServer(const Job& job, Context& context, Journal& journal, int shard);
  void run();

 private:
  // ---- Pushes and decisions ----
  void handle(const WorkerLines::Pushed& event);
  void handle(const WorkerLines::Reported& event);
  void handle(const WorkerLines::Left& event) { leave(event.worker); }
  void handle(const WorkerLines::OfJoin& event) { advance_join(event.worker, event.last); }
  void handle(const WorkerLines::OfOther& event);
  void on_push(int worker, const protocol::Push& push, bool is_withdrawn);
  sync::Push event_of(int worker, const protocol::Push& push, bool is_withdrawn) const;
  void decide_about_key(const sync::ServerEvent& event);
  void decide(const sync::ServerEvent& event);
  void carry_out(const sync::ServerDecisions& decisions);
  void cancel(int version);
  void apply(double scale);
  void reply(const sync::Reply& decision);
  protocol::Reply note_of_reply(const sync::Reply& decision) const;
  void log_restored(const std::string& event);
  bool is_last_key() const { return lines_.inbox().is_last_key(key_); }
  /// The time as the policy counts it: that of the first server, where that decides.
  Seconds now_of_policy() const {
    const auto& decided = order_.decided();
    return decided ? decided->now : progress_.time_of_policy(context_.now());
  }

  // ---- States and commits ----
  void resume(const Job& job);
  void serialise(StateArchive& state);
  SavedState current_state();
  void checkpoint_if_due();
  void hold_replies_if_due(const Progress& reached);
  bool ends_with_commit() const;
  void commit();
  void record_end();

  // ---- Workers that depart and join (parameter_server_members.cpp) ----
  void leave_spares_out();
  void on_departed(int worker);
  void on_joined(int worker, int incarnation);
  void advance_join(int worker, const Completion& last);
  void welcome(int worker);
  void lose_place(int worker);
  void leave(int worker, bool drops = false, bool stays_awaited = false);
  void decide_about_left(int worker, bool drops);
  void deal_if_due();
  void ask_for_end();
  void notify_steward_of_end();

  const ExchangePlan& plan_;
  const StopRule& stop_;
  const Experiment::Recovery& recovery_;
  Context& context_;
  Journal& journal_;
  std::optional<Rank> steward_;  ///< who says which workers depart and join; none: all stay
  bool is_coordinator_;          ///< it answers reports, ends the job, and records for all servers
  bool gets_pushes_;             ///< pushes have a payload
  bool is_paused_ = false;
  ServerModel model_;
  /// By key, if each key has rounds of its own. The policy of the last key is that of the job.
  std::vector<std::unique_ptr<sync::ServerPolicy>> policies_;
  std::size_t key_ = 0;  ///< whose push is in progress
  ServerProgress progress_;
  ServerMembers members_;
  DealBook deals_;
  RecordedCommits recorded_;
  ServerOrder order_;
  WorkerLines lines_;
  StepCancels cancels_;
  ServerUpdates updates_;
  ServerCheckpointing checkpointing_;
};

}  // namespace tandem
