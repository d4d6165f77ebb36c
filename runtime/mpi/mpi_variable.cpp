#include "runtime/mpi/mpi_variable.hpp"

#include <mpi.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace tandem {

namespace {

/// True when MPI's tool interface is available. It stays initialised: Open MPI loads all of its components
/// for that, which takes a fifth of a second and more.
bool tools_are_available() {
  static const bool available = [] {
    int provided = 0;
    return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
  }();
  return available;
}

}  // namespace

std::optional<std::int64_t> mpi_variable(const std::string& name) {
  if (!tools_are_available()) return std::nullopt;
  std::optional<std::int64_t> found;
  int index = 0;
  int count = 0;
  MPI_T_cvar_handle handle{};
  if (MPI_T_cvar_get_index(name.c_str(), &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    // A bool, an int or a size; all fit, and the bytes that one does not fill stay zero.
    std::array<std::byte, 16> value{};
    if (count == 1 && MPI_T_cvar_read(handle, value.data()) == MPI_SUCCESS)
      std::memcpy(&found.emplace(), value.data(), sizeof(std::int64_t));
    MPI_T_cvar_handle_free(&handle);
  }
  return found;
}

void choose_all_reduce_algorithm() {
  constexpr int keep = 0;
  setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "rabenseifner", keep);
}

}  // namespace tandem
