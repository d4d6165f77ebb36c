// The messages between a parameter server and its workers: posts receives, sends replies piece by piece, and
// waits, also for the next note of another rank. Its pure parts decide when a push is complete and which
// piece is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/exchange/server_model.hpp"
#include "workloads/membership/joining_client.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/server/deal_book.hpp"
#include "workloads/roles/server/push_inbox.hpp"
#include "workloads/roles/server/reply_sender.hpp"
#include "workloads/roles/server/stated_work.hpp"

namespace tandem {

class WorkerLines {
 public:
  struct Setting {
    std::span<const Rank> workers = {};
    bool requests_pulls = false;      ///< workers ask for replies
    bool omits_known_models = false;  ///< see ExchangePlan::replies_omit_known_models
    bool hears_other = false;         ///< a rank that is no worker sends notes, too; see other()
    Seconds answer_time{};            ///< of a report
  };
  /// `context` and `model` must outlive it. `keys`: that workers push one after the other. `work`: on pushes
  /// before these are events, and on replies before these are sent.
  WorkerLines(Context& context, ServerModel& model, std::vector<ShardKey> keys, const Setting& setting,
              StatedWork work);

  const PushInbox& inbox() const { return inbox_; }
  ReplySender& replies() { return replies_; }
  const ReplySender& replies() const { return replies_; }

  using Pushed = CompletePush;  ///< its answer has begun
  struct Reported {
    int worker;
    protocol::Report report;
  };
  /// The worker has ended, and nothing is open with it.
  struct Left {
    int worker;
  };
  /// The operation that a join has waited for has ended.
  struct OfJoin {
    int worker;
    Completion last;
  };
  /// The receive of other() has ended.
  struct OfOther {
    Note note;
  };
  using Event = std::variant<Pushed, Reported, Left, OfJoin, OfOther>;
  /// Waits for the next event. Meanwhile it receives the pieces of pushes, and sends pieces that workers ask
  /// for. `only_other`: ignores workers until the next note of other().
  Event next(bool only_other);

  /// The receive of the next note of a rank that is no worker, or empty. Pre: Setting::hears_other.
  Pending& other() { return awaited_.back(); }
  /// Expects a push of the worker's next key.
  void listen(int worker);
  /// Returns the key of the push that is answered.
  std::size_t begin_answer(int worker);

  // ---- Replies ----

  /// The pieces of the worker's next reply are of this.
  void set_reply(int worker, HandedOut reply) { line(worker).handed_out = std::move(reply); }
  /// The worker's reply follows.
  void send_deals(int worker, const DealBook::Message& deals);
  /// Sends the pieces that the worker has asked for. `note`: with the last key of a push.
  void reply(int worker, const std::optional<protocol::Reply>& note);
  /// Sends the replies that were held.
  void release_replies();
  /// Sends the rest of every reply. Workers ask for the pieces without waiting for other ranks.
  void finish_pulls();
  void answer(int worker, bool ready);

  // ---- Workers that depart and join ----

  /// Ends the open operations with a worker that is gone. Returns its push if that is complete and
  /// `takes_push`: its answer has begun, and the work on it has ended. A message in flight ends later: other
  /// workers must not wait for it.
  std::optional<Pushed> disconnect(int worker, bool takes_push);
  /// No worker is in the slot as the job begins.
  void be_absent(int worker) { line(worker).be_absent(); }
  /// A worker comes to the slot. Call advance_join next, with the operation for which the join has waited;
  /// none at first. True: the worker has arrived, and the operations with earlier ones have ended.
  void begin_join(int worker, int incarnation) { line(worker).begin(incarnation); }
  bool advance_join(int worker, const Completion& last);
  void cancel_join(int worker);
  void welcome(int worker, protocol::Welcome greeting);
  /// Waits until the operations with workers that are gone have ended.
  void finish();

 private:
  /// The role knows who is a member (ServerMembers).
  struct Line : JoiningSlot {
    std::vector<Pending> pieces;  ///< receives of all pieces of a push but the last of its key
    std::vector<Pending> reply;   ///< sends of the model in flight
    HandedOut handed_out;         ///< what these send
    std::size_t replied_key = 0;
    Pending answer;
    bool is_withdrawn = false;  ///< the push whose note has arrived
    void finish_reply(Context& context);
  };
  Line& line(int worker) { return lines_.at(static_cast<std::size_t>(worker)); }
  Pending& next_of(int worker) { return awaited_.at(static_cast<std::size_t>(worker)); }
  Pending& request_of(int worker) { return awaited_.at(lines_.size() + static_cast<std::size_t>(worker)); }
  void listen_for_note(int worker);
  void listen_for_request(int worker);
  std::optional<Event> on_note(int worker, const Note& note);
  std::optional<Event> carry_out(int worker, const PushInbox::Action& action);
  void on_request(int worker);
  void send_pieces(int worker);
  void send_worked_on(int worker);

  Context& context_;
  ServerModel& model_;
  Setting setting_;
  PushInbox inbox_;
  ReplySender replies_;
  std::vector<Line> lines_;  ///< by worker
  StatedWork work_;
  /// The operations for which the lines wait: by worker, its next note, or a piece that its push still
  /// lacks; then by worker, its next request; then the work of each thread; then other().
  std::vector<Pending> awaited_;
};

}  // namespace tandem
