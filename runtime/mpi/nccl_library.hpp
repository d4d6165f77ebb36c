// NCCL's functions, loaded when a job's GPUs need them: a program that was built with NCCL also starts on a
// machine without it.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <optional>
#include <string>

namespace tandem {

struct NcclLibrary {
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  // Functions of NCCL 2.19 or newer; both are null with an older library. Its header would not declare them.
  ncclResult_t (*comm_register)(const ncclComm_t, void* memory, std::size_t bytes, void** handle) = nullptr;
  ncclResult_t (*comm_deregister)(const ncclComm_t, void* handle) = nullptr;
  bool can_register() const { return comm_register != nullptr && comm_deregister != nullptr; }
};

/// Loads the library of this file name: the one that the process has already loaded (libtorch's own), or the
/// first one in LD_LIBRARY_PATH, the folder in which the build found it, and the system's folders. It stays
/// loaded. Returns nothing if there is none, or if it lacks a function; `reason` then says why.
std::optional<NcclLibrary> load_nccl(const std::string& file_name, std::string& reason);

/// The library of this process, "libnccl.so.2"; the programs of the tests emulate it. Errors and result: as
/// load_nccl.
std::optional<NcclLibrary> nccl_of_process(std::string& reason);

}  // namespace tandem
