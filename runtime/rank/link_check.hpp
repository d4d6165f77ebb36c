// Measures an emulated cluster from within, with messages between ranks, one rank a host.
#pragma once

#include "runtime/cluster/measurement.hpp"
#include "runtime/mpi/mpi_context.hpp"

namespace tandem {

/// Takes the measurements one after the other. Collective over MPI_COMM_WORLD, whose context it is; each rank
/// fills in what it measured: the rate of the flows that it receives, the latency of those that it sends.
/// `after` is called after each. Pre: every flow is between ranks.
void measure_links(MpiContext& context, std::vector<cluster::Measurement>& measurements,
                   const std::function<void(std::size_t done)>& after);

}  // namespace tandem
