// Whether messages go straight from and to the memory of a GPU, or through pinned memory of the host.
#pragma once

#include "policies/vocabulary/choices.hpp"

namespace tandem {

/// Whether this MPI reads and writes the memory of GPUs itself (a "CUDA-aware" MPI), as far as it tells.
bool mpi_reads_device_memory();

/// What the setting means for an MPI that reads the memory of GPUs (`able`) or does not. Errors: ConfigError
/// for `direct` with one that does not.
bool messages_are_direct(DeviceMessages setting, bool able);

}  // namespace tandem
