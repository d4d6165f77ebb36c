// A worker's part in a change of the members among workers that exchange directly. The steward leads it. All
// members end the open operations between them and report their rounds. Then they learn who is a member.
// Members that are behind or new get the state of training from one that is not. If the next change comes
// before the transfer has ended, both ends complete it first. So changes that come faster than a model is
// sent do not stop the job.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/exchange/slots_of_view.hpp"
#include "workloads/exchange/transferred_state.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

/// The exchange whose members change.
class RegroupingExchange {
 public:
  virtual ~RegroupingExchange() = default;
  /// All messages with other workers are about to end.
  virtual void end_view() = 0;
  /// The members and their last round are agreed on. This worker may still have to get its state. `view`:
  /// number of the view, from 1.
  virtual void agree_on_view(std::span<const int> members, std::int64_t round, std::int32_t view) = 0;
  /// Gives up all messages with other workers; they end by themselves.
  virtual void give_up() = 0;
  /// The members have changed. Pre: this worker has the state of the last round.
  virtual void begin_view() = 0;
  /// The state that another worker needs to continue after the last finished round.
  virtual void serialise_common(StateArchive& state) = 0;
  /// Rounds that this worker has finished.
  virtual std::int64_t finished_rounds() const = 0;
  /// Samples that the workers of its slot have taken.
  virtual std::int64_t taken_samples() const = 0;
  /// How samples are dealt, as numbers: how many there are, and their values, which are missing if workers
  /// ask for no samples.
  virtual std::int64_t count_deals() const = 0;
  virtual std::vector<std::int64_t> deals_as_numbers() const = 0;
  virtual void restore_deals(std::span<const std::int64_t> numbers) = 0;
};

class Regrouping {
 public:
  /// The arguments must outlive it. `state_size`: of the floats of the common state. `has_values`:
  /// mathematics is real. `incarnation`: of this worker in its slot; from the second one on, a worker begins
  /// without the state.
  Regrouping(const Roster& roster, Context& context, RegroupingExchange& exchange, Bytes state_size,
             bool has_values, int incarnation);

  /// Sorted indices of the workers that exchange.
  std::span<const int> members() const { return members_; }
  /// By slot: the samples that its worker had taken when the members were agreed on; below 0: no worker, or
  /// one that joined then.
  std::span<const std::int64_t> taken() const { return taken_; }
  /// This worker has the duties of one for all.
  bool leads() const { return leader_ == self_; }
  /// No message may be sent to other workers: the members are not agreed on, or this one has no state yet.
  bool is_quiet() const { return is_quiet_ || fetch_ || deferred_; }
  bool is_fetching() const { return !is_quiet_ && fetch_; }
  bool has_ended() const { return has_ended_; }

  /// The receive of the steward's next note, to be waited for with other operations. Then pass its note to
  /// on_message(). Pre: take_up_change() was called after the last fetch.
  Pending& next() { return next_; }
  /// Handles a change that has waited for the end of a fetch, if the fetch has ended. True: there was such a
  /// change. No exchange may be in progress.
  bool take_up_change();
  void on_message(const Note& note);
  /// Waits for a note and passes it to on_message().
  void wait();
  /// Waits for the state, and restores it. False: the members have changed again. Pre: is_fetching().
  bool finish_fetch();
  /// The job is over for this worker. To be called once in each view.
  void notify_finished();
  /// Waits for the sends of states. Pre: has_ended().
  void close();

 private:
  /// The state of training in flight from another worker.
  struct Fetch {
    TransferredState state;
    std::vector<std::int64_t> deals;
    /// Receives of its numbers, its deals and its floats.
    std::array<Pending, 3> parts;
    bool knows_deals = false;  ///< their receive is posted
  };
  /// A part of the state in flight to another worker.
  struct Sent {
    int to = 0;
    bool is_to_member = true;  ///< the receiver has not departed
    Pending part = {};
  };
  void listen();
  void regroup(protocol::Regroup change);
  void become_quiet(std::int32_t view);
  void begin(const protocol::Members& members);
  void send_state(std::span<const int> behind);
  void note_receivers();
  void finish_sends(protocol::Regroup& change);
  void wait_for_sends();
  Slice numbers_of(TransferredState& state) const;
  Slice floats_of(TransferredState& state) const;
  Slice slice_of_deals(std::vector<std::int64_t>& deals, std::int64_t count) const;
  void receive_deals();
  Rank rank_of(int worker) const { return workers_[static_cast<std::size_t>(worker)]; }
  void notify(const protocol::NoteOf<"groups">& note);

  Context& context_;
  RegroupingExchange& exchange_;
  std::span<const Rank> workers_;
  int self_;
  Rank steward_;
  Bytes state_size_;
  bool has_values_;
  int incarnation_;
  bool has_state_;
  std::vector<int> members_;
  int leader_;  ///< -1: not known
  std::int32_t view_ = 0;
  std::int32_t finished_in_ = -1;  ///< the view in which the steward was notified of it
  bool is_quiet_;
  bool has_ended_ = false;
  protocol::SlotsOfView slots_;  ///< what comes with the next note
  std::vector<std::int64_t> taken_;
  Pending next_;
  Pending notice_;
  std::optional<Fetch> fetch_;
  Rank source_ = 0;  ///< sender of the state
  std::unique_ptr<TransferredState> sent_;
  std::vector<std::int64_t> sent_deals_;
  std::vector<Sent> sends_;
  std::optional<protocol::Regroup> deferred_;  ///< until the fetch has ended
};

}  // namespace tandem
