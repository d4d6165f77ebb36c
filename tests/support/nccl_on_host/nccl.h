// The part of NCCL's API that runtime/ uses, emulated between processes of one machine, with the streams of
// CUDA on the processor (tests/support/cuda_on_host). Found instead of NCCL's own header by the path of
// includes; names, values and promises are NCCL's.
//
// Sums go through memory that the members share, piece by piece, in their streams' threads: none needs that
// anybody calls MPI. As in NCCL, a member that is lost is waited for until the communicator is aborted, and
// meanwhile only ncclCommGetAsyncError tells; to destroy a communicator is a matter of all members. Members
// that sum different numbers of elements, which hang or mix memory in NCCL, are told of it there too. Calls
// are counted, and fail when told to, as those of CUDA (cuda_on_host.hpp), with ncclUnhandledCudaError.
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
enum ncclDataType_t { ncclFloat = 7 };
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
ncclResult_t ncclAllReduce(const void* summand, void* sum, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream);
// NOLINTEND
