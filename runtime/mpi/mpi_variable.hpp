// Reads settings of the MPI library (MPI_T control variables).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

/// A variable that is a number or a bool, by Open MPI's name: "btl_tcp_eager_limit". Nothing if this MPI does
/// not have the variable.
std::optional<std::int64_t> mpi_variable(const std::string& name);

}  // namespace tandem
