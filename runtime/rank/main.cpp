// tandem-rank: one rank of a job, as mpirun starts it. SIGINT and SIGTERM keep their default: the rank ends
// and mpirun ends the others.
#include <mpi.h>

#include "runtime/process/end_process.hpp"
#include "runtime/rank/rank_main.hpp"
#include "runtime/rank/rank_process.hpp"

int main(int argc, char** argv) {
  tandem::end_with_parent();
  MPI_Init(&argc, &argv);
  tandem::rank_main(argc, argv);
  MPI_Finalize();
  tandem::end_process(0);
}
