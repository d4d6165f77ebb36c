// Settings of the MPI library: reads them (MPI_T control variables), and chooses one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

/// A variable that is a number or a bool, by Open MPI's name: "btl_tcp_eager_limit". Nothing if this MPI does
/// not have the variable.
std::optional<std::int64_t> mpi_variable(const std::string& name);

/// Open MPI's non-blocking all-reduce becomes Rabenseifner's, which is as fast as the blocking one. By
/// default, in place or with two or three ranks, it sends whole vectors along a tree, for every size. The
/// site's own choice is kept. Call before MPI_Init.
void choose_all_reduce_algorithm();

}  // namespace tandem
