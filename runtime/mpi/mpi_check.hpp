// MPI's return codes as exceptions. Every MPI call of the runtime goes through here.
#pragma once

#include <mpi.h>

namespace tandem {

/// Errors: WorldError with the call's name and MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

}  // namespace tandem
