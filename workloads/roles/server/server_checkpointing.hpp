// The files of a parameter server, or of the coordinator: checkpoints, states, records, and its part of
// commits. The writer of checkpoints collects the model from all servers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/checkpoint/accuracy_stop.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/commits.hpp"
#include "workloads/checkpoint/event_log.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/server_model.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class ServerCheckpointing {
 public:
  using State = std::function<SavedState()>;
  /// The arguments must outlive it. `state`: that of the server now.
  ServerCheckpointing(const Job& job, Context& context, Journal& journal, const ServerModel& model,
                      State state);

  Commits& commits() { return commits_; }
  const Commits& commits() const { return commits_; }
  EventLog& events() { return events_; }
  AccuracyStop& accuracy_stop() { return accuracy_stop_; }

  /// Between rounds: writes the state and the checkpoint of this round, if it has them. `is_last`: the job
  /// ends.
  void save_if_due(std::int64_t round, std::int64_t samples, bool is_last);
  /// Commits after a round. The replies of the round wait for it.
  void commit(std::int64_t round, std::int64_t samples);
  /// Writes the last checkpoint.
  void finish(std::int64_t round);

 private:
  bool is_writer() const { return context_.rank() == job_.checkpoints().writer; }
  std::vector<float> gather_model();

  const Job& job_;
  Context& context_;
  const ServerModel& model_;
  State state_;
  bool holds_model_;
  CheckpointWriter checkpoints_;
  AccuracyStop accuracy_stop_;
  StateFiles states_;
  RecordFiles records_;
  Commits commits_;
  EventLog events_;
};

}  // namespace tandem
