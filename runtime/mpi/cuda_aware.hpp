// Whether messages go directly from and to the memory of a GPU, or through pinned memory of the host.
#pragma once

#include "policies/vocabulary/choices.hpp"

namespace tandem {

/// Whether this MPI reports that it can read and write GPU memory (a "CUDA-aware" MPI).
bool mpi_reads_device_memory();

/// The effect of run.device_messages (workloads/experiment/experiment.hpp) with an MPI that is `able` to read
/// GPU memory or not. Errors: ConfigError for `direct` with an MPI that is not.
bool messages_are_direct(DeviceMessages setting, bool able);

}  // namespace tandem
