// The role on MPI: mpirun -n 2 ping_pong_measured BYTES
#include <mpi.h>

#include <cstdlib>

#include "tests/examples/ping_pong.hpp"
#include "runtime/mpi/mpi_context.hpp"

int main(int argc, char** argv) {
  using namespace tandem;
  TANDEM_CHECK(argc == 2, "expected BYTES");
  MPI_Init(&argc, &argv);
  {
    MpiContext context(MPI_COMM_WORLD, {});
    examples::ping_pong(context, Bytes(std::atoll(argv[1])));
  }
  MPI_Finalize();
}
