// A parameter server: receives pushes, carries out the decisions of its policy, and replies with its part of
// the model, or with the mean gradient where workers step their models. One server, the coordinator, also
// answers reports, owns the stop condition and, if servers hold the model, writes checkpoints. Over an
// all-reduce the coordinator holds no part of the model: workers only report their exchanges to it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "policies/sampling/member_deals.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/checkpoint/accuracy_stop.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/commits.hpp"
#include "workloads/checkpoint/event_log.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/server_model.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/progress.hpp"
#include "workloads/job/plan/round_counter.hpp"
#include "workloads/membership/joining_client.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class ParameterServer {
 public:
  /// The arguments must outlive it. `shard`: its number among the servers; 0 for a coordinator.
  ParameterServer(const Job& job, Context& context, Journal& journal, int shard);
  void run();

 private:
  /// The reply to the last push: the pieces of its key, from the last one to the first.
  struct Outgoing {
    ShardKey key = {};
    std::size_t asked = 0;  ///< pieces that the worker has asked for; all where it need not ask
    std::size_t sent = 0;   ///< pieces
    std::optional<protocol::Reply> note = {};  ///< none: the policy has not replied yet
    std::size_t size() const { return key.last + 1 - key.first; }
  };

  /// What the server holds for one worker.
  struct Client : JoiningClient {
    std::vector<Pending> pieces;           ///< receives of all pieces of a push but the last of its key
    std::size_t key = 0;                   ///< of its next push
    std::optional<protocol::Push> push{};  ///< of a push whose pieces are not all there
    protocol::Push last_push;
    int reported_version = 0;    ///< of its last report
    std::vector<Pending> reply;  ///< sends of the model in flight
    Snapshot replied_model;      ///< what they send
    Outgoing outgoing;
    Pending answer;
    std::int64_t pushes = 0;
    std::int64_t all_samples = 0;  ///< of all its pushes
    std::int64_t steps = 0;
    int batch = 0;  ///< that it was granted last; 0: none. As the next one
    int local_steps = 0;
    int replied_version = 0;        ///< of the model that it has
    bool waits = false;             ///< has pushed, and has no reply yet
    bool dropped = false;           ///< its last push was
    int unanswered = 0;             ///< reports
    std::int64_t heard_commit = 0;  ///< as its last push says
    /// The commit up to which its records are written; none: nothing of it counts yet.
    std::optional<std::int64_t> recorded = {};
    bool has_place = true;                   ///< deals count its worker
    bool loads_ahead = false;                ///< its worker may have taken the batch of its next step
    std::size_t deals_told = 0;              ///< to its worker
    std::vector<std::int64_t> deal_numbers;  ///< of several, or of all, as a newcomer gets them
    bool is_member() const { return !has_ended; }
  };

  /// A push that the next update is made of.
  struct Accepted {
    Rank rank;
    protocol::Push push;
  };

  bool is_over() const;
  void hear_steward(const Note& note);
  void on_departed(int worker);
  std::optional<protocol::Push> drop_messages(int worker);
  void leave_spares_out();
  void take_place(int worker);
  void lose_place(int worker);
  sampling::Deals changed_deals() const;
  std::vector<std::int64_t> counted_samples() const;
  std::int64_t most_ahead(const Client& client) const;
  void deal_if_due();
  void tell_deals(Client& client);
  void tell_all_deals(Client& client);
  void send_deals(Client& client, std::vector<std::int64_t>& numbers, std::int64_t count);
  void on_joined(int worker, int incarnation);
  void cancel_join(int worker);
  void advance_join(int worker, const Completion& last);
  void welcome(int worker);
  void set_member(Client& client, bool is_member);
  int batch_of(const sync::Reply& decision) const;
  protocol::Reply note_of_reply(const sync::Reply& decision) const;
  void rescale();
  void leave(int worker, bool drops = false, bool stays_awaited = false);
  bool is_short() const;
  void tell_left_if_enough();
  void tell_left(int worker, bool drops);
  void drop_accepted(int worker);
  void ask_for_end();
  void tell_steward_end();
  void record_end();
  void listen(int worker);
  void listen_for_note(int worker);
  void handle(int worker, const Note& note);
  void collect_push(int worker);
  void on_key(int worker, const protocol::Push& push);
  void on_push(int worker, const protocol::Push& push);
  sync::Push event_of(int worker, const protocol::Push& push) const;
  void note_recorded(Client& client, std::int64_t heard) const;
  std::int64_t recorded_by_all() const;
  void begin_answer(Client& client);
  void decide(const sync::ServerEvent& event);
  void carry_out();
  void accept(const sync::Accept& decision);
  /// Waits until the work is done.
  void compute(const Work& work, Kernel kernel) {
    Pending done = context_.compute(work, std::move(kernel));
    context_.wait(done);
  }
  void fold(bool before_update = false);
  void apply(double scale);
  void discard(const sync::Discard& decision);
  void reply(const sync::Reply& decision);
  void listen_for_pull(int worker);
  void on_pull(int worker);
  void send_reply(Client& client);
  void finish_pulls();
  void answer(const sync::AnswerReport& decision);
  void finish_reply(Client& client);
  void do_stated_work(Work::Kind kind, Bytes size);
  void serialise(StateArchive& state);
  SavedState current_state();
  void save_state(std::int64_t round);
  void hold_replies_if_due(const Progress& progress);
  bool is_last_round(Progress progress) const;
  void commit();
  void confirm_part(Client& client);
  void resume(const Job& job);
  void log_restored(const std::string& event);
  /// Since the job began, also where it was resumed.
  Seconds now() const { return before_ + context_.now(); }
  Progress progress() const { return {.rounds = pushes_.rounds(), .samples = samples_, .now = now()}; }
  /// As the policy knows them.
  Seconds now_of_policy() const { return now() - policy_began_; }
  int version_of_policy(int version) const { return version - policy_version_; }
  void checkpoint_if_due();
  std::vector<float> gather_model();
  bool is_last_key() const { return key_ + 1 == keys_.size(); }
  std::size_t workers() const { return clients_.size(); }
  std::size_t steward_entry() const { return inbox_.size() - 1; }

  const ExchangePlan& plan_;
  const StopRule& stop_;
  const RankAssignment& assignment_;
  Context& context_;
  Journal& journal_;
  std::span<const Rank> servers_;
  std::int64_t model_elements_;
  Rank writer_;       ///< of checkpoints
  bool gets_pushes_;  ///< with a payload
  bool holds_model_;
  bool is_alone_;                ///< no other server
  bool is_coordinator_;          ///< it answers reports, ends the job, and records for all servers
  bool requests_pulls_;          ///< workers ask for replies
  std::optional<Rank> steward_;  ///< who says which workers depart and join; none: all stay
  bool counts_updates_;          ///< as rounds; otherwise pushes
  Seconds answer_time_;          ///< of a report
  ServerModel model_;
  std::vector<ShardKey> keys_;  ///< that workers push one after the other; usually one with all pieces
  std::size_t key_ = 0;         ///< whose push is being handled
  /// Of a push of a key on the wire, and of the reply to it.
  struct KeyCost {
    int tensors = 0;
    Bytes push{0};
    Bytes reply{0};
  };
  KeyCost cost_of(const ShardKey& key, const ModelDescription& model);
  std::vector<KeyCost> costs_;  ///< by key; empty: its host states no cost of pushes and replies
  std::unique_ptr<sync::ServerPolicy> policy_;
  /// By key but the last: the same policy, for the rounds of each key alone.
  std::vector<std::unique_ptr<sync::ServerPolicy>> key_policies_;
  CheckpointWriter checkpoints_;
  AccuracyStop accuracy_stop_;
  StateFiles states_;
  RecordFiles records_;
  Commits commits_;
  EventLog events_;
  bool holds_replies_ = false;   ///< until a commit lets training continue
  Seconds before_{};             ///< how long the job had run before it was resumed
  Seconds policy_began_{};       ///< the time and the version when the policy was new: later than the job's
  int policy_version_ = 0;       ///< beginning where the job was resumed with a new one
  std::vector<Client> clients_;  ///< by worker
  /// By worker: its next note, or a piece that its push still lacks; then by worker: its next request; then
  /// the steward's next note.
  std::vector<Pending> inbox_;
  sync::ServerDecisions decisions_;
  std::vector<Accepted> accepted_;  ///< since the last update
  const Experiment::Recovery& recovery_;
  double rate_factor_;  ///< on the learning rate, with the members that there are
  recovery::RateRamp ramp_;
  std::vector<int> batches_;  ///< by worker, that the members share; empty: as the policy says
  int present_;               ///< workers that have not left
  int members_ = 0;           ///< of them, those that take part
  bool is_paused_ = false;
  std::set<int> left_;  ///< workers for whose slots the round still waits
  bool has_asked_for_end_ = false;
  bool no_more_join_ = false;  ///< the steward has said so
  int version_ = 0;
  std::size_t first_workers_;  ///< without slots for spares
  bool knows_samples_;         ///< somebody asks for them
  /// How samples are dealt where workers may depart; the coordinator alone decides it.
  std::optional<sampling::MemberDeals> deals_;
  struct Dealt {
    std::vector<std::int64_t> numbers;
    std::int64_t count = 0;  ///< of them; nobody needs the numbers where nobody asks for samples
  };
  std::deque<Dealt> dealt_;  ///< since the job began; they may be in flight
  int largest_push_ = 0;     ///< in samples
  int prefetch_ = 0;         ///< batches that workers request from cache nodes in advance
  RoundCounter pushes_;
  std::int64_t samples_ = 0;
  bool stopping_ = false;
  bool stopped_ = false;  ///< stopping_, when the last update was made
};

}  // namespace tandem
