// Measures the links of an emulated cluster with messages between ranks, one rank per host.
#pragma once

#include "runtime/cluster/measurement.hpp"
#include "runtime/mpi/mpi_context.hpp"

namespace tandem {

/// Runs the measurements one after the other. Collective over MPI_COMM_WORLD, which `context` uses. Each rank
/// fills in the rate of the flows that it receives and the latency of those that it sends. `after` is called
/// after each measurement. Pre: every flow is between ranks.
void measure_links(MpiContext& context, std::vector<cluster::Measurement>& measurements,
                   const std::function<void(std::size_t done)>& after);

}  // namespace tandem
