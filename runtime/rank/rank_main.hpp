// One rank of a job under the real clock: reads the resolved job, plays its role, and on rank 0 writes the
// results.
#pragma once

#include "runtime/rank/rank_signals.hpp"

namespace tandem {

/// Runs the job of the command line (rank_options.hpp) on MPI_COMM_WORLD, between MPI_Init and MPI_Finalize.
/// May be called for several jobs, one after the other. An error ends all ranks with its exit code.
/// `signals`: of this process; null: the process gets no notices.
void rank_main(int argc, char** argv, RankSignals* signals = nullptr);

}  // namespace tandem
