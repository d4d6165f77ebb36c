// The context of the occupant of a slot. It is that of the slot's rank until the occupant's machine departs.
// Then the next call that waits, or starts an operation, gives up all open operations and throws
// OccupantDeparted.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context_decorator.hpp"
#include "workloads/membership/cache_node_standing.hpp"
#include "workloads/membership/steward_line.hpp"

namespace tandem {

/// The machine under a role has departed. Not an std::exception: no role may handle it.
struct OccupantDeparted {};

/// Decorates the context of a slot's rank. The steward says when the machine departs.
class OccupantContext final : public ContextDecorator {
 public:
  /// The arguments must outlive it. `node`: the cache node of the occupant, a worker, if the node may
  /// depart. When the steward reports that the node has departed, the open operations with it end with
  /// `cancelled`.
  OccupantContext(Context& inner, StewardLine& steward, const protocol::Occupancy& occupancy,
                  CacheNodeStanding* node = nullptr);

  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  /// Errors: a failed check, because the other members could not end it.
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override;
  Pending read(int disk, DiskAccess access, Kernel transfer) override;
  Pending write(int disk, DiskAccess access, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;
  Pending disconnect(Rank peer) override;
  std::vector<Pending> disconnect_all(std::span<const Rank> peers) override;

  /// To be called when the occupant has ended by itself. A departure of its machine then has no effect.
  void end();

 private:
  Pending keep(Pending started);
  void check_presence();
  std::optional<Completion> wait_or_take_note(std::span<Pending> pendings, std::span<Pending> awaited);
  void on_message(const Note& note);
  void expect_departure(Seconds at);
  [[noreturn]] void depart();

  StewardLine& steward_;
  CacheNodeStanding* node_;
  int incarnation_;
  Seconds departs_{std::numeric_limits<double>::infinity()};
  Pending departure_;  ///< sleeps until the departure
  std::vector<bool>
      is_open_;  ///< by number of the operation in the inner context: started, and not waited for
  std::vector<bool> is_peer_;     ///< by rank: messages were exchanged with it since the last disconnect
  std::vector<Pending> awaited_;  ///< see wait_or_take_note
};

}  // namespace tandem
