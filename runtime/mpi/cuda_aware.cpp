#include "runtime/mpi/cuda_aware.hpp"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "policies/vocabulary/check.hpp"

namespace tandem {

bool mpi_reads_device_memory() {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

bool messages_are_direct(DeviceMessages setting, bool able) {
  if (setting == DeviceMessages::direct && !able)
    throw ConfigError(
        "key 'run.device_messages': expected auto or staged, because this MPI does not read the memory of "
        "GPUs, found 'direct'");
  return setting == DeviceMessages::direct;
}

}  // namespace tandem
