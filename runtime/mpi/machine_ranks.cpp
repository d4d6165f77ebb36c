#include "runtime/mpi/machine_ranks.hpp"

#include <exception>

#include "runtime/mpi/mpi_check.hpp"

namespace tandem {

MachineRanks::MachineRanks(MPI_Comm communicator) {
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine_),
            "MPI_Comm_split_type");
  check_mpi(MPI_Comm_size(machine_, &size_), "MPI_Comm_size");
  int rank = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  leader_ = rank;
  check_mpi(MPI_Bcast(&leader_, 1, MPI_INT, 0, machine_), "MPI_Bcast");
  leads_ = leader_ == rank;
}

MachineRanks::~MachineRanks() {
  // Freeing is collective: a rank that leaves by an exception must not wait for the others.
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&machine_);
}

int count_machines(MPI_Comm communicator, const MachineRanks& machine) {
  int leaders = machine.leads() ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &leaders, 1, MPI_INT, MPI_SUM, communicator), "MPI_Allreduce");
  return leaders;
}

}  // namespace tandem
