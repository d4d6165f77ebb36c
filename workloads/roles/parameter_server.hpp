// One shard of the parameter server: receives pushes, does what the policy decides, sends the model back, or
// the mean gradient where workers step their models. The first shard also answers reports, owns the stop
// condition and writes checkpoints, if servers hold the model. Over an all-reduce it is the coordinator: it
// hears that workers exchange, answers them, and holds no part of the model.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/event_log.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/server_model.hpp"
#include "workloads/job/job.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class ParameterServer {
 public:
  ParameterServer(const Job& job, Context& context, Journal& journal, int shard);
  void run();

 private:
  /// What the server holds for one worker.
  struct Client {
    Rank rank = 0;
    std::vector<Pending> pieces;           ///< receives of all pieces of a push but the last
    std::optional<protocol::Push> push{};  ///< of a push whose pieces are not all there
    int samples = 0;                       ///< of its last push
    int reported_version = 0;              ///< of its last report
    int version = 0;                       ///< of the model that its last push was computed on
    std::vector<Pending> reply;            ///< sends of the model under way
    Snapshot replied_model;                ///< what they send
    Pending answer;
    std::int64_t pushes = 0;
    std::int64_t all_samples = 0;  ///< of all its pushes
    std::int64_t steps = 0;
    int batch = 0;  ///< that it was granted last; 0: none. As the next one
    int local_steps = 0;
    int replied_version = 0;  ///< of the model that it has
    bool waits = false;       ///< has pushed, and has no reply yet
    bool dropped = false;     ///< its last push was
    int unanswered = 0;       ///< reports
  };

  /// A push that the next update is made of.
  struct Accepted {
    Rank rank;
    int version;  ///< that it was computed on
    int samples;
  };

  void listen(int worker);
  void listen_for_note(int worker);
  void handle(int worker, const Note& note);
  void collect_push(int worker);
  void on_push(int worker, const protocol::Push& push);
  void execute(const std::string& event);
  void accept(const sync::Accept& decision);
  std::int64_t round() const;
  void fold();
  void apply(double scale);
  void discard(const sync::Discard& decision);
  void reply(const sync::Reply& decision);
  void answer(const sync::AnswerReport& decision);
  void finish_reply(Client& client);
  std::string told(const sync::ServerEvent& event);
  void serialise(StateArchive& state);
  void save_state(std::int64_t round);
  void resume();
  void replay_event(const std::string& event);
  /// Since the job began, which may go on after another one.
  Seconds now() const { return before_ + context_.now(); }
  /// As the policy knows them.
  Seconds now_of_policy() const { return now() - policy_began_; }
  int version_of_policy(int version) const { return version - policy_version_; }
  void checkpoint_if_due();
  std::vector<float> gather_model();
  std::size_t last_piece() const { return model_.pieces().size() - 1; }

  const Job& job_;
  Context& context_;
  Journal& journal_;
  std::vector<Rank> shards_;
  bool gets_pushes_;  ///< with a payload
  bool holds_model_;
  int shard_;
  ServerModel model_;
  std::unique_ptr<sync::ServerPolicy> policy_;
  CheckpointWriter checkpoints_;
  StateFiles states_;
  EventLog events_;
  Seconds before_{};        ///< how long the job has been under way before this run
  Seconds policy_began_{};  ///< when the policy was new, and the version then: not at the job's beginning
  int policy_version_ = 0;  ///< where it goes on with a new one
  std::vector<Client> clients_;  ///< by worker
  std::vector<Pending> inbox_;   ///< by worker: its next note, or a piece that its push still lacks
  sync::ServerDecisions decisions_;
  std::vector<Accepted> accepted_;  ///< since the last update
  int present_;                     ///< workers that have not left
  int version_ = 0;
  std::int64_t pushes_ = 0;
  std::int64_t samples_ = 0;
  bool stopping_ = false;
};

}  // namespace tandem
