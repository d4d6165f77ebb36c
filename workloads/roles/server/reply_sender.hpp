// The messages from a parameter server to its workers: the reply to the last push of each, piece by piece,
// and answers to reports. Pure: the caller reports the decisions of the policy and the pieces that workers
// have requested, and gets the piece to send next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

/// The pieces of a reply are sent from the last one to the first, as the next forward needs them.
class ReplySender {
 public:
  /// `waits_for_requests`: workers ask for each piece. `omits_known`: the pieces of a model that the worker
  /// has are empty.
  ReplySender(std::size_t workers, bool waits_for_requests, bool omits_known = false)
      : waits_for_requests_(waits_for_requests), omits_known_(omits_known), workers_(workers) {}

  /// The worker's push of this key is complete.
  void begin(int worker, const ShardKey& key);
  /// The piece for which the worker asks next; none: it has asked for all, or need not ask. It may ask
  /// before the policy replies.
  std::optional<std::size_t> awaited_request(int worker) const;
  void on_request(int worker) { ++at(worker).asked; }
  /// All keys of the worker's push are complete. `version`: of the model with which the worker started.
  void on_push(int worker, int version) {
    at(worker).waits = true;
    at(worker).known = version;
  }
  /// The policy replies to the last key of a push, or to an earlier one.
  void reply(int worker, const protocol::Reply& note);
  void reply_to_part(int worker) { at(worker).note.emplace(); }
  /// The next piece to send now; it counts as sent.
  std::optional<std::size_t> next_piece(int worker);
  /// Whether the pieces of a reply to the worker's push bring the model of this version.
  bool brings_model(int worker, int version) const { return !omits_known_ || at(worker).known != version; }
  bool brings_model(int worker) const { return at(worker).brings_model; }
  /// While the server works on the worker's reply, no piece of it is sent.
  void set_in_work(int worker, bool is_in_work) { at(worker).is_in_work = is_in_work; }
  /// The note that comes with the last piece. Pre: next_piece() has returned that piece.
  const protocol::Reply& note(int worker) const { return *at(worker).note; }
  /// The policy has replied, and pieces are not sent.
  bool has_unsent(int worker) const { return at(worker).note && at(worker).sent < size(at(worker)); }

  /// While held, no piece is sent.
  void hold(bool holds) { holds_ = holds; }
  bool is_holding() const { return holds_; }
  /// Replies that are not sent say that this commit is written.
  void confirm(std::int32_t commit_round);

  void on_report(int worker, int version);
  protocol::Answer answer(int worker, bool ready);

  /// The worker has pushed and has no reply yet.
  bool awaits_reply(int worker) const { return at(worker).waits; }
  /// The version of the model that the worker has, or that its held reply brings.
  int version(int worker) const { return at(worker).version; }
  bool awaits_answer(int worker) const { return at(worker).unanswered > 0; }
  /// No worker waits for a reply or an answer.
  bool has_answered_all() const;
  /// All workers have this version of the model.
  bool have_all(int version) const;
  /// A newcomer has this version, and waits for nothing; or all workers have it, as the job is resumed.
  void begin_at(int worker, int version);
  void resume_at(int version);
  /// The worker is gone.
  void forget(int worker);

 private:
  struct Worker {
    ShardKey key = {};
    std::size_t asked = 0;                     ///< pieces; all where the worker need not ask
    std::size_t sent = 0;                      ///< pieces
    std::optional<protocol::Reply> note = {};  ///< none: the policy has not replied yet
    bool brings_model = true;                  ///< the reply of this note
    bool is_in_work = false;
    std::optional<int> known = {};  ///< version with the worker's last push; none: a newcomer
    int version = 0;                ///< of the model that the worker has
    int reported_version = 0;       ///< of its last report
    bool waits = false;
    int unanswered = 0;  ///< reports
  };
  static std::size_t size(const Worker& worker) { return worker.key.last + 1 - worker.key.first; }
  Worker& at(int worker) { return workers_.at(static_cast<std::size_t>(worker)); }
  const Worker& at(int worker) const { return workers_.at(static_cast<std::size_t>(worker)); }

  bool waits_for_requests_;
  bool omits_known_;
  bool holds_ = false;
  std::vector<Worker> workers_;
};

}  // namespace tandem
