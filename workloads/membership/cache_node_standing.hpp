// What the slot of a worker knows of its cache node, where that may depart and come back: whether it is
// there, and whether the slot has dealt with it since.
#pragma once

#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class CacheNodeStanding {
 public:
  /// As a launch begins, the first one is there, and the first worker of each slot has joined it.
  explicit CacheNodeStanding(Rank node) : node_(node) {}

  /// Handles a note of the steward. False: it is not about the cache node. After a departure, the caller
  /// ends what is open between its rank and the node (disconnect).
  bool hear(const Note& note);
  bool has_departed() const { return incarnation_ == 0; }

  Rank node() const { return node_; }
  /// Of the cache node that is there; 0: none is.
  int incarnation() const { return incarnation_; }
  /// The slot has joined the node that is there, or has said that it asks for nothing.
  bool is_answered() const { return answered_ == incarnation_; }
  void note_answered(int incarnation) { answered_ = incarnation; }
  /// Nothing is left of the last worker of the slot: the next one has to join.
  void begin_worker() { answered_ = 0; }

  /// Ends what is open with the node, which has departed.
  void disconnect(Context& context) { ending_.push_back(context.disconnect(node_)); }
  /// Waits until it has ended. `wait`: for an operation.
  template <class Wait>
  void await_ends(const Wait& wait) {
    for (; !ending_.empty(); ending_.pop_back())
      if (!ending_.back().empty()) wait(ending_.back());
  }
  /// Tells the node that is there, unless the slot has joined it, that the worker, which has ended, asks it
  /// for nothing. Pre: await_ends.
  void decline(Context& context, int worker_incarnation);

 private:
  Rank node_;
  int incarnation_ = 1;
  int answered_ = 1;
  std::vector<Pending> ending_;
};

}  // namespace tandem
