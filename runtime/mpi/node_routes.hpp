// The routes of messages between two ranks of one machine. No route is the fastest at all sizes, and the
// fastest one depends on the machine. A probe finds out when ranks start.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

class NodeMemory;

enum class NodeRoute : std::uint8_t {
  library,  ///< by MPI, which copies a large message once, out of the memory of the sender
  shared,   ///< through memory that the ranks share
  streamed  ///< the same, where the sender writes past its caches (streamed_copy.hpp)
};
inline constexpr std::array<const char*, 3> node_route_names = {"MPI", "shared memory",
                                                                "shared memory past the caches"};

class NodeRoutes {
 public:
  struct Row {
    Bytes up_to;  ///< largest message
    NodeRoute route = NodeRoute::shared;
    bool operator==(const Row&) const = default;
  };

  /// The last row also applies to larger messages. Empty: all messages use shared memory. Pre: sizes
  /// ascending.
  explicit NodeRoutes(std::vector<Row> rows = {});
  NodeRoute of(Bytes size) const;
  /// Up to this size no message waits for its receiver. `largest`: of messages through shared memory. MPI
  /// carries larger ones, and sends messages of up to `library` without waiting for the receiver.
  Bytes eager_limit(Bytes largest, Bytes library) const;
  const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

/// Seconds in which two ranks send each other a message of this size, by route.
struct NodeRouteTimes {
  Bytes size;
  std::array<double, node_route_names.size()> seconds = {};
};
/// The fastest route for each size. Shared memory unless another one is faster by more than a twentieth: its
/// messages do not wait for their receiver. A size represents all that are nearer to it than to the next one
/// by ratio. Pre: sizes ascending.
NodeRoutes fastest_routes(const std::vector<NodeRouteTimes>& times);

/// Two ranks of each machine send each other messages by each route, for some milliseconds; the others sleep.
/// `message`: the largest that will be sent; larger sizes are not probed. All machines get the same routes.
/// Collective over `communicator`, on which `memory` was created. Errors: WorldError.
NodeRoutes probe_node_routes(MPI_Comm communicator, NodeMemory& memory,
                             Bytes message = Bytes(std::numeric_limits<std::int64_t>::max()));

}  // namespace tandem
