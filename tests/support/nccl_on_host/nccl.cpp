// Communicators between processes of one machine, based on shared memory.
#include "nccl.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <string>
#include <thread>

#include "policies/compression/half.hpp"
#include "runtime/mpi/nccl_library.hpp"
#include "tests/support/cuda_on_host/cuda_on_host.hpp"

namespace {

using tandem::compression::Bf16;
using tandem::compression::Fp16;
using tandem::cuda_on_host::begin_call;

constexpr int most_members = 64;
constexpr std::size_t piece_bytes = 16384;

std::size_t size_of(ncclDataType_t type) { return type == ncclFloat ? 4 : type == ncclUint8 ? 1 : 2; }

template <class Format>
std::uint16_t sum_of(std::uint16_t left, std::uint16_t right) {
  return Format::narrow(Format::widen(left) + Format::widen(right));
}

/// total[i] = the first member's values + those of the others, in their order, rounded after each addition.
template <class Number, class Add>
void add_up(const std::byte* summands, std::size_t apart, int members, std::byte* total, std::size_t bytes,
            Add add) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Number)) {
    Number sum{};
    for (int member = 0; member < members; ++member) {
      Number value{};
      std::memcpy(&value, summands + static_cast<std::size_t>(member) * apart + at, sizeof(Number));
      sum = member == 0 ? value : add(sum, value);
    }
    std::memcpy(total + at, &sum, sizeof(Number));
  }
}

/// Registered memory, and the allocation in which it was then.
struct Registration {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t allocation = 0;

  bool is_stale() const { return tandem::cuda_on_host::allocation_number(begin) != allocation; }
  bool contains(const void* memory, std::size_t size) const {
    const auto* const from = static_cast<const std::byte*>(memory);
    return from >= begin && from + size <= begin + bytes;
  }
};
std::atomic<int> registered_now = 0, registered_left = 0, registered_stale = 0;

void log_registration(const char* what, int rank, std::size_t bytes) {
  const char* const path = std::getenv("NCCL_ON_HOST_LOG");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "rank %d %s %zu\n", rank, what, bytes);
  std::fclose(file);
}

struct Member {
  int device = 0;
  std::atomic<std::uint64_t> phase = 0;  ///< number of barriers reached
  std::uint64_t count = 0;               ///< elements of its current sum
  bool is_registered = false;            ///< its memory
  std::byte values[piece_bytes] = {};
};
struct Shared {
  std::atomic<int> joined = 0;
  std::atomic<int> ended = 0;      ///< members that are destroying it
  std::atomic<bool> lost = false;  ///< a member has left without destroying it
  Member members[most_members];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "processes share them");

/// What NCCL_ON_HOST_SIGNAL says: "RANK:SUM:SIGNAL".
struct OwnSignal {
  int rank = -1;
  int sum = 0;
  int number = 0;

  static OwnSignal of_environment() {
    OwnSignal own;
    const char* const text = std::getenv("NCCL_ON_HOST_SIGNAL");
    if (text != nullptr && std::sscanf(text, "%d:%d:%d", &own.rank, &own.sum, &own.number) != 3) {
      std::fprintf(stderr, "NCCL_ON_HOST_SIGNAL: expected RANK:SUM:SIGNAL, found '%s'\n", text);
      std::abort();
    }
    return own;
  }
};

void wait_briefly() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

/// Returns null if the system refuses.
Shared* map_shared(const char* name, int flags) {
  const int file = shm_open(name, O_RDWR | flags, 0600);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  if ((flags & O_CREAT) == 0 || ftruncate(file, sizeof(Shared)) == 0)
    memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Shared*>(memory);
}

}  // namespace

struct ncclComm {
  Shared* shared;
  int rank;
  int size;
  int device;
  std::atomic<bool> is_aborted = false;
  std::atomic<ncclResult_t> state = ncclSuccess;
  std::atomic<int> in_flight = 0;                    ///< number of sums
  std::map<void*, Registration> registrations = {};  ///< by handle
  // Used only by the stream's thread.
  std::uint64_t phase = 0;
  int sums = 0;
  OwnSignal own_signal = OwnSignal::of_environment();

  ~ncclComm() {
    registered_now -= static_cast<int>(registrations.size());
    munmap(shared, sizeof(Shared));
  }
  bool has_stale() const {
    const auto stale = std::count_if(registrations.begin(), registrations.end(),
                                     [](const auto& item) { return item.second.is_stale(); });
    registered_stale += static_cast<int>(stale);
    return stale > 0;
  }
  bool is_registered(const void* memory, std::size_t bytes) const {
    return std::any_of(registrations.begin(), registrations.end(),
                       [&](const auto& item) { return item.second.contains(memory, bytes); });
  }
  Member& own() const { return shared->members[rank]; }

  /// Waits until all members have reached this point. Returns false if the communicator was aborted.
  bool meet() {
    own().phase.store(++phase, std::memory_order_release);
    for (int other = 0; other < size; ++other)
      while (shared->members[other].phase.load(std::memory_order_acquire) < phase) {
        if (is_aborted) return false;
        wait_briefly();
      }
    return true;
  }
  /// Whether all members sum as many elements, in memory that is registered, or not, as here.
  bool all_sum_as_here() const {
    return std::all_of(shared->members, shared->members + size, [&](const Member& member) {
      return member.count == own().count && member.is_registered == own().is_registered;
    });
  }
  /// Publishes `bytes` piece by piece; `take(at, piece)` reads what the members have published.
  template <class Take>
  void exchange(const std::byte* own_values, std::size_t bytes, std::uint64_t count, bool registered,
                Take take) {
    own().count = count;
    own().is_registered = registered;
    if (!meet()) return;
    if (!all_sum_as_here()) {
      state = ncclInvalidUsage;
      while (!is_aborted) wait_briefly();
      return;
    }
    if (rank == own_signal.rank && ++sums == own_signal.sum) kill(getpid(), own_signal.number);
    for (std::size_t at = 0; at < bytes; at += piece_bytes) {
      const std::size_t piece = std::min(piece_bytes, bytes - at);
      std::copy_n(own_values + at, piece, own().values);
      if (!meet()) return;
      take(at, piece);
      if (!meet()) return;
    }
    // No member may publish its next count before all have read this one, even for empty sums.
    static_cast<void>(meet());
  }
  void sum(const std::byte* summand, std::byte* result, std::size_t count, ncclDataType_t type,
           bool registered) {
    const std::byte* const summands = shared->members[0].values;
    exchange(summand, count * size_of(type), count, registered, [&](std::size_t at, std::size_t piece) {
      if (type == ncclFloat)
        add_up<float>(summands, sizeof(Member), size, result + at, piece,
                      [](float left, float right) { return left + right; });
      else
        add_up<std::uint16_t>(summands, sizeof(Member), size, result + at, piece,
                              type == ncclHalf ? sum_of<Fp16> : sum_of<Bf16>);
    });
  }
  void gather(const std::byte* part, std::byte* all, std::size_t bytes, bool registered) {
    exchange(part, bytes, bytes, registered, [&](std::size_t at, std::size_t piece) {
      for (int other = 0; other < size; ++other)
        std::copy_n(shared->members[other].values, piece, all + static_cast<std::size_t>(other) * bytes + at);
    });
  }
};

// Start of every call: counts it, and makes it fail if requested.
#define TANDEM_BEGIN_CALL() \
  if (begin_call(__func__) != cudaSuccess) return ncclUnhandledCudaError

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
  }
  return "unknown result code";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  TANDEM_BEGIN_CALL();
  const std::string name = "/tandem-nccl-" + std::to_string(getpid()) + '-' +
                           std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  Shared* const shared = map_shared(name.c_str(), O_CREAT | O_EXCL);
  if (shared == nullptr) return ncclSystemError;
  new (shared) Shared;
  munmap(shared, sizeof(Shared));
  *id = {};
  std::copy(name.begin(), name.end(), id->internal);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int members, ncclUniqueId id, int rank) {
  TANDEM_BEGIN_CALL();
  if (members < 1 || members > most_members || rank < 0 || rank >= members) return ncclInvalidArgument;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return ncclUnhandledCudaError;
  Shared* const shared = map_shared(id.internal, 0);
  if (shared == nullptr) return ncclSystemError;
  shared->members[rank].device = device;
  if (shared->joined.fetch_add(1) + 1 == members) shm_unlink(id.internal);
  while (shared->joined.load() < members) wait_briefly();
  std::set<int> devices;
  for (int member = 0; member < members; ++member) devices.insert(shared->members[member].device);
  if (static_cast<int>(devices.size()) < members) {
    munmap(shared, sizeof(Shared));
    return ncclInvalidUsage;
  }
  *communicator = new ncclComm{shared, rank, members, device};
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  TANDEM_BEGIN_CALL();
  communicator->shared->lost = true;
  communicator->is_aborted = true;
  while (communicator->in_flight.load() > 0) wait_briefly();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  TANDEM_BEGIN_CALL();
  static_cast<void>(communicator->has_stale());
  const auto left = static_cast<int>(communicator->registrations.size());
  const Shared& shared = *communicator->shared;
  while (communicator->in_flight.load() > 0 && !shared.lost) wait_briefly();
  communicator->shared->ended.fetch_add(1);
  while (shared.ended.load() < communicator->size && !shared.lost) wait_briefly();
  if (shared.ended.load() < communicator->size) {
    static_cast<void>(ncclCommAbort(communicator));
    return ncclRemoteError;
  }
  registered_left += left;
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  TANDEM_BEGIN_CALL();
  *state = communicator->state;
  if (*state == ncclSuccess && communicator->shared->lost) *state = ncclRemoteError;
  return ncclSuccess;
}

// ---- Registered memory ----

ncclResult_t ncclCommRegister(const ncclComm_t communicator, void* memory, std::size_t bytes, void** handle) {
  TANDEM_BEGIN_CALL();
  if (!tandem::cuda_on_host::is_device_memory(memory, bytes)) return ncclInvalidArgument;
  if (communicator->has_stale()) return ncclInvalidUsage;
  auto& registrations = communicator->registrations;
  // NCCL gives the same handle for the same memory; here, that would be a mistake of the caller.
  if (!registrations.try_emplace(memory).second) return ncclInvalidUsage;
  registrations[memory] = {static_cast<std::byte*>(memory), bytes,
                           tandem::cuda_on_host::allocation_number(memory)};
  ++registered_now;
  log_registration("registers", communicator->rank, bytes);
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t communicator, void* handle) {
  TANDEM_BEGIN_CALL();
  const auto found = communicator->registrations.find(handle);
  if (found == communicator->registrations.end()) return ncclInvalidArgument;
  if (communicator->in_flight.load() > 0 || communicator->has_stale()) return ncclInvalidUsage;
  log_registration("gives up", communicator->rank, found->second.bytes);
  communicator->registrations.erase(found);
  --registered_now;
  return ncclSuccess;
}

namespace {

/// Lets the stream run `act`, which reads `from` and writes `to`; its argument: both are registered.
template <class Act>
ncclResult_t submit(ncclComm_t communicator, cudaStream_t stream, const void* from, std::size_t from_bytes,
                    const void* to, std::size_t to_bytes, Act act) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device != communicator->device) return ncclInvalidUsage;
  if (!tandem::cuda_on_host::is_device_memory(from, from_bytes) ||
      !tandem::cuda_on_host::is_device_memory(to, to_bytes))
    return ncclInvalidArgument;
  if (communicator->has_stale()) return ncclInvalidUsage;
  const bool registered =
      communicator->is_registered(from, from_bytes) && communicator->is_registered(to, to_bytes);
  ++communicator->in_flight;
  const cudaError_t error = tandem::cuda_on_host::submit(stream, [=] {
    if (!communicator->is_aborted) act(registered);
    --communicator->in_flight;
  });
  if (error == cudaSuccess) return ncclSuccess;
  --communicator->in_flight;
  return ncclUnhandledCudaError;
}

}  // namespace

ncclResult_t ncclAllReduce(const void* summand, void* sum, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  TANDEM_BEGIN_CALL();
  if (communicator == nullptr || type == ncclUint8 || operation != ncclSum) return ncclInvalidArgument;
  const std::size_t bytes = count * size_of(type);
  return submit(communicator, stream, summand, bytes, sum, bytes, [=](bool registered) {
    communicator->sum(static_cast<const std::byte*>(summand), static_cast<std::byte*>(sum), count, type,
                      registered);
  });
}

ncclResult_t ncclAllGather(const void* part, void* all, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  TANDEM_BEGIN_CALL();
  if (communicator == nullptr) return ncclInvalidArgument;
  const std::size_t bytes = count * size_of(type);
  const std::size_t all_bytes = bytes * static_cast<std::size_t>(communicator->size);
  return submit(communicator, stream, part, bytes, all, all_bytes, [=](bool registered) {
    communicator->gather(static_cast<const std::byte*>(part), static_cast<std::byte*>(all), bytes,
                         registered);
  });
}

namespace tandem {
namespace {
bool is_hidden = std::getenv("NCCL_ON_HOST_HIDDEN") != nullptr;
bool is_old = std::getenv("NCCL_ON_HOST_OLD") != nullptr;
}  // namespace

namespace nccl_on_host {
void hide(bool hidden) { is_hidden = hidden; }
void be_old(bool old) { is_old = old; }
Registered registered() { return {registered_now, registered_left, registered_stale}; }
void reset_registered() { registered_now = registered_left = registered_stale = 0; }
}  // namespace nccl_on_host

std::optional<NcclLibrary> nccl_of_process(std::string& reason) {
  reason = is_hidden ? "hidden" : "";
  if (is_hidden) return std::nullopt;
  NcclLibrary library{&ncclGetErrorString, &ncclGetUniqueId,       &ncclCommInitRank, &ncclCommDestroy,
                      &ncclCommAbort,      &ncclCommGetAsyncError, &ncclAllReduce,    &ncclAllGather};
  if (is_old) return library;
  library.comm_register = &ncclCommRegister;
  library.comm_deregister = &ncclCommDeregister;
  return library;
}

}  // namespace tandem
