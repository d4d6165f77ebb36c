// The route of messages between ranks of one machine: the one in the job's profile, so that its times are
// valid, or the one that a probe finds. And the description of it in profiles and run.json.
#pragma once

#include <mpi.h>

#include <vector>

#include "runtime/mpi/node_memory.hpp"
#include "runtime/mpi/node_routes.hpp"
#include "workloads/cost/profile.hpp"

namespace tandem {

/// `profile`: its routes are used where all ranks run on machines equal to the one it was measured on; null:
/// none. `message`: the largest that will be sent. Collective over `communicator`, on which `memory` was
/// created. Errors: WorldError; ConfigError for a profile with an unknown route.
NodeRoutes choose_node_routes(const Profile* profile, NodeMemory& memory, Bytes message,
                              MPI_Comm communicator);

std::vector<Profile::NodeRoute> to_profile(const NodeRoutes& routes);

}  // namespace tandem
