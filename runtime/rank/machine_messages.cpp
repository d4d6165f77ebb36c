#include "runtime/rank/machine_messages.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"

namespace tandem {
namespace {

NodeRoutes from_profile(const std::vector<Profile::NodeRoute>& stored) {
  std::vector<NodeRoutes::Row> rows;
  for (const auto& [up_to_bytes, by] : stored) {
    const auto* const found = std::ranges::find(node_route_names, by);
    if (found == node_route_names.end() || (!rows.empty() && up_to_bytes <= rows.back().up_to.count()))
      throw ConfigError("the calibration profile has the route '" + by + "' for messages up to " +
                        std::to_string(up_to_bytes) +
                        " bytes, expected MPI, shared memory or shared memory past the caches for ascending "
                        "sizes; run `tandem calibrate` again");
    rows.push_back({Bytes(up_to_bytes), static_cast<NodeRoute>(found - node_route_names.begin())});
  }
  return NodeRoutes(std::move(rows));
}

}  // namespace

NodeRoutes choose_node_routes(const Profile* profile, NodeMemory& memory, Bytes message,
                              MPI_Comm communicator) {
  int repeats =
      profile != nullptr && !profile->node_routes.empty() && profile->machine == this_machine() ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &repeats, 1, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
  return repeats != 0 ? from_profile(profile->node_routes) : probe_node_routes(communicator, memory, message);
}

std::vector<Profile::NodeRoute> to_profile(const NodeRoutes& routes) {
  std::vector<Profile::NodeRoute> stored;
  for (const auto& [up_to, route] : routes.rows())
    stored.push_back({up_to.count(), node_route_names[static_cast<std::size_t>(route)]});
  return stored;
}

}  // namespace tandem
