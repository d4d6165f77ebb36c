#include "runtime/mpi/nccl_library.hpp"

#include <dlfcn.h>

#include <type_traits>

namespace tandem {

std::optional<NcclLibrary> load_nccl(const std::string& file_name, std::string& reason) {
  void* const library = dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    reason = dlerror();
    return std::nullopt;
  }
  bool is_complete = true;
  const auto find_optional = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  const auto find = [&](const char* name, auto& function) {
    find_optional(name, function);
    if (function != nullptr) return;
    is_complete = false;
    reason = dlerror();
  };
  NcclLibrary found;
  find("ncclGetErrorString", found.get_error_string);
  find("ncclGetUniqueId", found.get_unique_id);
  find("ncclCommInitRank", found.comm_init_rank);
  find("ncclCommDestroy", found.comm_destroy);
  find("ncclCommAbort", found.comm_abort);
  find("ncclCommGetAsyncError", found.comm_get_async_error);
  find("ncclAllReduce", found.all_reduce);
  find("ncclAllGather", found.all_gather);
  find_optional("ncclCommRegister", found.comm_register);
  find_optional("ncclCommDeregister", found.comm_deregister);
  return is_complete ? std::optional(found) : std::nullopt;
}

std::optional<NcclLibrary> nccl_of_process(std::string& reason) { return load_nccl("libnccl.so.2", reason); }

}  // namespace tandem
