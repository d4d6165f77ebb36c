// What workers have sent to a server that follows the order of the first one. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

/// An event waits until the first server has decided about it and about all events before it, and until all
/// of it has arrived here. So it looks like one that is still in flight. `Event`: what a worker sent.
template <class Event>
class FollowedOrder {
 public:
  explicit FollowedOrder(std::size_t workers) : arrived_(workers) {}

  /// Pre: nothing else of the worker waits, since it sends nothing before it has its reply.
  void arrive(int worker, Event event) {
    std::optional<Event>& place = arrived_.at(static_cast<std::size_t>(worker));
    TANDEM_CHECK(!place, "sends again before its reply: worker", worker);
    place = std::move(event);
  }
  /// The first server has decided about the worker's next event.
  void decide(const protocol::Decided& decided) { decided_.push_back(decided); }
  /// Nothing is decided that was not taken.
  bool awaits_decision() const { return decided_.empty(); }

  struct Due {
    protocol::Decided decided;
    Event event;
  };
  /// The next event, once; none: it has not arrived, or is not decided.
  std::optional<Due> take() {
    if (decided_.empty()) return std::nullopt;
    auto& place = arrived_.at(static_cast<std::size_t>(decided_.front().worker));
    if (!place) return std::nullopt;
    Due due{decided_.front(), *std::exchange(place, std::nullopt)};
    decided_.pop_front();
    return due;
  }

 private:
  std::vector<std::optional<Event>> arrived_;  ///< by worker
  std::deque<protocol::Decided> decided_;      ///< in the first server's order
};

}  // namespace tandem
