// Whether messages go straight from and to the memory of a GPU, or through pinned memory of the host.
#pragma once

#include <string>

namespace tandem {

/// Whether this MPI reads and writes the memory of GPUs itself (a "CUDA-aware" MPI), as far as it tells.
bool mpi_reads_device_memory();

/// What run.device_messages comes to (workloads/experiment/experiment.hpp) with an MPI that is `able` to or
/// not. Errors: ConfigError for `direct` with one that is not.
bool messages_are_direct(const std::string& device_messages, bool able);

}  // namespace tandem
