#include "runtime/rank/versions.hpp"

#include <mpi.h>

#include <array>

#include "runtime/process/running_program.hpp"
#include "workloads/job/check/identity.hpp"

namespace tandem {

std::string rank_versions() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> mpi{};
  int length = 0;
  MPI_Get_library_version(mpi.data(), &length);
  return "rank program: " + digest_of_file(running_program().string()) + "\nMPI: " + mpi.data() +
         "\nlibtorch: " TANDEM_TORCH_VERSION "\nCUDA: " TANDEM_CUDA_VERSION "\n";
}

}  // namespace tandem
