#include "runtime/rank/versions.hpp"

#include <mpi.h>

#include <array>

namespace tandem {

std::string rank_versions() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> mpi{};
  int length = 0;
  MPI_Get_library_version(mpi.data(), &length);
  return std::string("MPI: ") + mpi.data() +
         "\nlibtorch: " TANDEM_TORCH_VERSION "\nCUDA: " TANDEM_CUDA_VERSION "\n";
}

}  // namespace tandem
