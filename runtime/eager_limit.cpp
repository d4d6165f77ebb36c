#include "runtime/eager_limit.hpp"

#include <mpi.h>

#include "runtime/mpi_check.hpp"

namespace tandem {
namespace {

std::optional<int> find_variable(const std::string& name) {
  int count = 0;
  check_mpi(MPI_T_cvar_get_num(&count), "MPI_T_cvar_get_num");
  for (int index = 0; index < count; ++index) {
    char found[256];
    int length = sizeof(found);
    int verbosity = 0;
    int binding = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_T_cvar_get_info(index, found, &length, &verbosity, &type, nullptr, nullptr, nullptr, &binding,
                            &scope) == MPI_SUCCESS &&
        name == found)
      return index;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> eager_limit(const std::string& transport) {
  int provided = 0;
  check_mpi(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread");
  std::optional<std::int64_t> limit;
  if (const auto index = find_variable("btl_" + transport + "_eager_limit")) {
    MPI_T_cvar_handle handle = nullptr;
    int count = 0;
    check_mpi(MPI_T_cvar_handle_alloc(*index, nullptr, &handle, &count), "MPI_T_cvar_handle_alloc");
    std::size_t value = 0;
    check_mpi(MPI_T_cvar_read(handle, &value), "MPI_T_cvar_read");
    check_mpi(MPI_T_cvar_handle_free(&handle), "MPI_T_cvar_handle_free");
    limit = static_cast<std::int64_t>(value);
  }
  check_mpi(MPI_T_finalize(), "MPI_T_finalize");
  return limit;
}

}  // namespace tandem
