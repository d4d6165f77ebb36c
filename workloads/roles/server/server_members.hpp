// Which workers take part in training, as a parameter server knows it, and what follows from their number:
// learning rate, batches, and whether a round waits for others in the slots of those that have left. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "policies/vocabulary/choices.hpp"

namespace tandem {

class ServerMembers {
 public:
  struct Setting {
    std::size_t slots = 0;      ///< also those for spares, which follow the others
    std::size_t first = 0;      ///< workers that the job begins with
    bool may_change = false;    ///< the steward says who departs and joins, and when no worker joins any more
    int batch = 0;              ///< configured, of a worker
    double rate_factor = 1.0;   ///< on the learning rate, before any change
    RateScale rate_scale = {};  ///< how the learning rate follows the number of members
    BatchRule batch_rule = {};  ///< how batches follow the number of members
    int least = 0;              ///< workers without which no update is made; 0: any number may make one
    bool is_coordinator = false;  ///< it asks the steward for the end of the job
  };
  /// All slots have members at first.
  explicit ServerMembers(const Setting& setting);

  int slots() const { return static_cast<int>(slots_.size()); }
  int first() const { return static_cast<int>(setting_.first); }
  bool is_member(int worker) const { return at(worker).standing == Standing::member; }
  /// The worker is a member, or joins.
  bool is_present(int worker) const { return at(worker).standing != Standing::absent; }
  int members() const { return members_; }
  /// No worker has left.
  bool are_all_there() const { return open_ == slots(); }
  /// No worker is left, and none joins any more.
  bool is_over() const { return open_ == 0 && (!setting_.may_change || no_more_join_); }
  void end_joins() { no_more_join_ = true; }

  /// The worker's machine is gone; leave() follows.
  void depart(int worker);
  /// The worker is absent from now on. `stays_awaited`: the round in progress waits for another worker in
  /// its slot.
  void leave(int worker, bool stays_awaited);
  /// Another worker comes to an empty slot. The next event is that it has joined, or has departed again.
  void begin_join(int worker);
  void join(int worker);
  void cancel_join(int worker);
  /// True: the round waits for this slot already.
  bool take_awaited(int worker) { return awaited_.erase(worker) > 0; }

  /// The worker of the slot gets samples. lose_place: false: it had none.
  void take_place(int worker) { at(worker).has_place = true; }
  bool lose_place(int worker);

  /// There are fewer workers than the job needs. No update is made of so few gradients, as over an
  /// all-reduce, whether the remaining workers have pushed or not. `stopping`: the job ends, and needs none.
  bool is_short(bool stopping) const;
  /// A worker that has left and for which the round need not wait any longer. Returns each once.
  std::optional<int> take_left(bool stopping);
  /// True once: the job ends, and the steward must be notified that no worker is left.
  bool takes_end(bool stopping);

  /// The set of members has changed.
  void rescale();
  /// Number of workers whose pushes make a round.
  int pushes_per_round() const;
  double rate_factor() const { return rate_factor_; }
  /// The batch that the members share; none: the policy decides.
  std::optional<int> batch(int worker) const;

 private:
  enum class Standing { member, joining, absent };
  struct Slot {
    Standing standing = Standing::member;
    bool has_place = false;
    int batch = 0;
  };
  Slot& at(int worker) { return slots_.at(static_cast<std::size_t>(worker)); }
  const Slot& at(int worker) const { return slots_.at(static_cast<std::size_t>(worker)); }
  void set(int worker, Standing standing);

  Setting setting_;
  std::vector<Slot> slots_;
  int open_;     ///< slots whose worker has not left, by the policy's events
  int members_;  ///< workers that take part
  double rate_factor_;
  bool shares_batch_ = false;
  std::set<int> awaited_;  ///< workers that have left, for whose slots the round still waits
  bool no_more_join_ = false;
  bool has_taken_end_ = false;
};

}  // namespace tandem
