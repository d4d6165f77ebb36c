// The standing of a cache node that may depart and come back, in the slot of a worker: whether the node is
// there, and whether the slot has joined it since.
#pragma once

#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class CacheNodeStanding {
 public:
  /// As a launch begins, the node's first incarnation is there, and the first worker of each slot has joined
  /// it.
  explicit CacheNodeStanding(Rank node) : node_(node) {}

  /// Handles a note of the steward. False: it is not about the cache node. After a departure, the caller
  /// ends the open operations between its rank and the node (disconnect).
  bool on_message(const Note& note);
  bool has_departed() const { return incarnation_ == 0; }

  Rank node() const { return node_; }
  /// Incarnation of the cache node that is there; 0: none is.
  int incarnation() const { return incarnation_; }
  /// The slot has joined the node that is there, or has said that it asks for nothing.
  bool is_answered() const { return answered_ == incarnation_; }
  void note_answered(int incarnation) { answered_ = incarnation; }
  /// The last worker of the slot has ended: the next one has to join.
  void begin_worker() { answered_ = 0; }

  /// Ends the open operations with the node, which has departed.
  void disconnect(Context& context) { ending_.push_back(context.disconnect(node_)); }
  /// Waits for the ends of disconnect(). `wait`: waits for an operation.
  template <class Wait>
  void await_ends(const Wait& wait) {
    for (; !ending_.empty(); ending_.pop_back())
      if (!ending_.back().empty()) wait(ending_.back());
  }
  /// The worker has ended. If the slot has not joined the node that is there, says to it that the worker
  /// asks it for nothing. Pre: await_ends.
  void decline(Context& context, int worker_incarnation);

 private:
  Rank node_;
  int incarnation_ = 1;
  int answered_ = 1;
  std::vector<Pending> ending_;
};

}  // namespace tandem
