// The part of NCCL's API that runtime/ uses, emulated between processes of one machine, with the streams of
// emulated CUDA (tests/support/cuda_on_host). The include path selects it instead of NCCL's own header;
// names, values and guarantees are NCCL's.
//
// Sums use memory that the members share, piece by piece, in the threads of their streams: progress requires
// no calls of MPI. As in NCCL, members wait for a lost member until the communicator is aborted, and
// meanwhile only ncclCommGetAsyncError reports it; destroying a communicator involves all members. Sums of
// different numbers of elements, which hang or corrupt memory in NCCL, are reported as errors, and so are
// sums in which only some members use registered memory, and all calls for a communicator with registered
// memory that was freed. Memory may be given up only when no sum of the communicator is in flight. Calls are
// counted, and fail on request with ncclUnhandledCudaError, like those of CUDA (cuda_on_host.hpp).
//
// Environment variables change it in a whole program: with NCCL_ON_HOST_HIDDEN, the machine has no NCCL, and
// with NCCL_ON_HOST_OLD one that cannot register memory; NCCL_ON_HOST_LOG names a file to which a line is
// appended for all memory that is registered and given up; with
// NCCL_ON_HOST_SIGNAL=RANK:SUM:SIGNAL, the process with that rank in a communicator sends itself the signal
// in the middle of the communicator's SUM-th sum or gather (from 1), when all members have joined it.
#pragma once

#include <cstddef>

#include "cuda_runtime_api.h"

// NOLINTBEGIN: NCCL's names.
enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6
};
enum ncclDataType_t { ncclUint8 = 1, ncclHalf = 6, ncclFloat = 7, ncclBfloat16 = 9 };
enum ncclRedOp_t { ncclSum = 0 };
struct ncclUniqueId {
  char internal[128];
};
typedef struct ncclComm* ncclComm_t;

const char* ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int members, ncclUniqueId id, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t communicator);
ncclResult_t ncclCommAbort(ncclComm_t communicator);
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state);
ncclResult_t ncclCommRegister(const ncclComm_t communicator, void* memory, std::size_t bytes, void** handle);
ncclResult_t ncclCommDeregister(const ncclComm_t communicator, void* handle);
ncclResult_t ncclAllReduce(const void* summand, void* sum, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* part, void* all, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream);
// NOLINTEND

namespace tandem::nccl_on_host {
/// As on a machine without NCCL, until called with false.
void hide(bool hidden);
/// As with an NCCL before 2.19, which cannot register memory, until called with false.
void be_old(bool old);
/// Registrations of all communicators of this process.
struct Registered {
  int now = 0;
  int left = 0;   ///< that were not given up before their communicator was destroyed; it was not aborted
  int stale = 0;  ///< that were noticed after their memory was freed
  bool operator==(const Registered&) const = default;
};
Registered registered();
void reset_registered();
}  // namespace tandem::nccl_on_host
