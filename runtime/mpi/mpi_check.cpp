#include "runtime/mpi/mpi_check.hpp"

#include <array>
#include <string>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) [[likely]]
    return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw WorldError(std::string(call) + " failed: " +
                   (length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                               : "MPI error " + std::to_string(code)));
}

}  // namespace tandem
