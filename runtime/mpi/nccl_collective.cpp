// Sums of the memory of GPUs by NCCL. Each list of members has a communicator and a stream of its own: sums
// of one list follow each other, those of different lists never wait for each other's turn.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/cuda_check.hpp"
#include "runtime/gpu/cuda_stream.hpp"
#include "runtime/gpu/device_collective.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/nccl_library.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

/// Free memory of a GPU that is enough for a list.
constexpr std::size_t room_of_list = std::size_t{1} << 30U;

/// Which GPU a rank has: the same bytes are the same GPU, on whatever machine. Zeros: none that takes part.
using Identity = std::array<char, sizeof(cudaUUID_t) + 1>;

Identity identity_of(std::optional<int> gpu) {
  Identity identity{};
  if (!gpu) return identity;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, *gpu), "cudaGetDeviceProperties", *gpu);
  identity.back() = 1;
  std::copy_n(properties.uuid.bytes, sizeof(cudaUUID_t), identity.begin());
  return identity;
}

class NcclCollective final : public DeviceCollective {
 public:
  /// Without a library, this rank only knows who takes part.
  NcclCollective(std::optional<NcclLibrary> library, std::optional<int> gpu, std::vector<Identity> identities,
                 DeviceSumSetting setting)
      : library_(library.value_or(NcclLibrary{})),
        gpu_(gpu),
        identities_(std::move(identities)),
        setting_(std::move(setting)) {}
  ~NcclCollective() override;
  NcclCollective(const NcclCollective&) = delete;
  NcclCollective& operator=(const NcclCollective&) = delete;

  bool can(std::span<const Rank> members) const override;
  std::optional<std::uint32_t> start(std::span<const Rank> members, MPI_Comm among, std::byte* memory,
                                     std::int64_t bytes, const collectives::Element& element) override;
  bool has_ended(std::uint32_t sum) override;
  void abort() noexcept override;

 private:
  struct Group {
    ncclComm_t communicator = nullptr;  ///< null: a member sums over as many lists as it may
    cudaStream_t stream = nullptr;
    const std::vector<Rank>* members = nullptr;
  };
  struct Sum {
    cudaEvent_t end = nullptr;
    const Group* group = nullptr;
    const char* call = nullptr;
    Clock::time_point start = {};
  };
  void check_nccl(ncclResult_t code, const char* call) const;
  const char* queue(const Group& group, MPI_Comm among, std::byte* memory, std::int64_t bytes,
                    const collectives::Element& element) const;
  const Group& group_of(std::span<const Rank> members, MPI_Comm among);
  bool all_have_room(MPI_Comm among) const;
  void make_room() const;
  void check_members(const Sum& sum);

  NcclLibrary library_;
  std::optional<int> gpu_;
  std::vector<Identity> identities_;  ///< by rank
  DeviceSumSetting setting_;
  bool is_aborted_ = false;
  std::size_t lists_ = 0;  ///< with a communicator
  std::map<std::vector<Rank>, Group> groups_;
  std::vector<Sum> sums_;
  std::vector<std::uint32_t> free_;  ///< numbers of sums that are not in flight
};

NcclCollective::~NcclCollective() {
  // To end properly is a matter of all members, who do so in one order; a rank that leaves by an exception
  // must not wait for them.
  if (std::uncaught_exceptions() > 0) abort();
  for (const Sum& sum : sums_) cudaEventDestroy(sum.end);
  for (const auto& [members, group] : groups_) {
    if (group.communicator != nullptr) library_.comm_destroy(group.communicator);
    if (group.stream != nullptr) cudaStreamDestroy(group.stream);
  }
}

void NcclCollective::abort() noexcept {
  is_aborted_ = true;
  for (auto& [members, group] : groups_)
    if (group.communicator != nullptr) library_.comm_abort(std::exchange(group.communicator, nullptr));
}

void NcclCollective::check_nccl(ncclResult_t code, const char* call) const {
  if (code == ncclSuccess) return;
  const cudaError_t cause = cudaGetLastError();
  if (code == ncclUnhandledCudaError && cause == cudaErrorMemoryAllocation) fail_cuda(cause, call, *gpu_);
  throw WorldError(std::string(call) + " failed: " + library_.get_error_string(code) +
                   " (set NCCL_DEBUG=WARN for details)");
}

bool NcclCollective::can(std::span<const Rank> members) const {
  std::vector<Identity> theirs;
  for (const Rank member : members) theirs.push_back(identities_.at(static_cast<std::size_t>(member)));
  std::ranges::sort(theirs);
  return theirs.front() != Identity{} && std::ranges::adjacent_find(theirs) == theirs.end();
}

bool NcclCollective::all_have_room(MPI_Comm among) const {
  int have_room = lists_ < setting_.most_lists ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &have_room, 1, MPI_INT, MPI_MIN, among), "MPI_Allreduce");
  return have_room == 1;
}

/// A list that fails to be made cannot be tried again: the other members wait for it.
void NcclCollective::make_room() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo", *gpu_);
  if (free < room_of_list && setting_.free_cache) setting_.free_cache();
}

const NcclCollective::Group& NcclCollective::group_of(std::span<const Rank> members, MPI_Comm among) {
  const auto [found, is_new] = groups_.try_emplace({members.begin(), members.end()});
  Group& group = found->second;
  group.members = &found->first;
  if (!is_new || !all_have_room(among)) return group;
  make_room();
  int rank = 0;
  check_mpi(MPI_Comm_rank(among, &rank), "MPI_Comm_rank");
  ncclUniqueId id{};
  if (rank == 0) check_nccl(library_.get_unique_id(&id), "ncclGetUniqueId");
  check_mpi(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, among), "MPI_Bcast");
  // While NCCL waits for all members, MPI messages make no progress, and a late member may be waiting for
  // one.
  check_mpi(MPI_Barrier(among), "MPI_Barrier");
  group.stream = make_stream(*gpu_, Urgency::communication);
  check_nccl(library_.comm_init_rank(&group.communicator, static_cast<int>(members.size()), id, rank),
             "ncclCommInitRank");
  ++lists_;
  return group;
}

ncclDataType_t type_of(const collectives::Element& element) {
  using Kind = collectives::Element::Kind;
  switch (element.kind) {
    case Kind::fp16:
      return ncclHalf;
    case Kind::bf16:
      return ncclBfloat16;
    case Kind::float32:
      return ncclFloat;
    case Kind::bytes:
      break;
  }
  return ncclUint8;
}

/// Returns the name of the call.
const char* NcclCollective::queue(const Group& group, MPI_Comm among, std::byte* memory, std::int64_t bytes,
                                  const collectives::Element& element) const {
  const auto count = static_cast<std::size_t>(bytes / element.bytes);
  if (!element.is_gathered()) {
    check_nccl(library_.all_reduce(memory, memory, count, type_of(element), ncclSum, group.communicator,
                                   group.stream),
               "ncclAllReduce");
    return "ncclAllReduce";
  }
  int rank = 0;
  check_mpi(MPI_Comm_rank(among, &rank), "MPI_Comm_rank");
  const std::size_t part = count / group.members->size();
  check_nccl(library_.all_gather(memory + static_cast<std::size_t>(rank) * part, memory, part,
                                 type_of(element), group.communicator, group.stream),
             "ncclAllGather");
  return "ncclAllGather";
}

std::optional<std::uint32_t> NcclCollective::start(std::span<const Rank> members, MPI_Comm among,
                                                   std::byte* memory, std::int64_t bytes,
                                                   const collectives::Element& element) {
  TANDEM_CHECK(gpu_ && can(members) && !is_aborted_, "members", members.size());
  check_cuda(cudaSetDevice(*gpu_), "cudaSetDevice", *gpu_);
  const Group& group = group_of(members, among);
  if (group.communicator == nullptr) return std::nullopt;
  if (free_.empty()) {
    cudaEvent_t end = nullptr;
    check_cuda(cudaEventCreateWithFlags(&end, cudaEventDisableTiming), "cudaEventCreateWithFlags", *gpu_);
    free_.push_back(static_cast<std::uint32_t>(sums_.size()));
    sums_.push_back({.end = end});
  }
  const char* const call = queue(group, among, memory, bytes, element);
  const std::uint32_t number = free_.back();
  Sum& sum = sums_[number];
  sum.group = &group;
  sum.call = call;
  sum.start = Clock::now();
  check_cuda(cudaEventRecord(sum.end, group.stream), "cudaEventRecord", *gpu_);
  free_.pop_back();
  return number;
}

bool NcclCollective::has_ended(std::uint32_t number) {
  const Sum& sum = sums_.at(number);
  TANDEM_CHECK(!is_aborted_, "sum", number);
  const cudaError_t code = cudaEventQuery(sum.end);
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    check_members(sum);
    return false;
  }
  check_cuda(code, sum.call, *gpu_);
  free_.push_back(number);
  return true;
}

/// NCCL itself would wait for ever for a member that has failed, and does not notice one that hangs.
void NcclCollective::check_members(const Sum& sum) {
  ncclResult_t state = ncclSuccess;
  check_nccl(library_.comm_get_async_error(sum.group->communicator, &state), "ncclCommGetAsyncError");
  if (state != ncclSuccess) abort();
  check_nccl(state, sum.call);
  const std::chrono::duration<double> taken = Clock::now() - sum.start;
  if (Seconds(taken.count()) <= setting_.timeout) return;
  abort();
  std::string members;
  for (const Rank member : *sum.group->members) members += ' ' + std::to_string(member);
  char timeout[32];
  std::snprintf(timeout, sizeof timeout, "%g s", setting_.timeout.count());
  throw WorldError(std::string(sum.call) + " of ranks" + members + " has not ended after " + timeout +
                   ": one of them hangs (set NCCL_DEBUG=INFO for details), or needs longer than "
                   "run.sum_timeout");
}

bool have_several(const std::vector<Identity>& gpus) {
  return static_cast<std::ptrdiff_t>(gpus.size()) - std::ranges::count(gpus, Identity{}) >= 2;
}

/// Takes ranks whose GPUs have no library out of `gpus`; one of them says so. Collective.
void leave_out_without_library(MPI_Comm communicator, bool is_missing, const std::string& reason,
                               std::vector<Identity>& gpus) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  const int mine = is_missing ? 1 : 0;
  std::vector<int> missing(gpus.size());
  check_mpi(MPI_Allgather(&mine, 1, MPI_INT, missing.data(), 1, MPI_INT, communicator), "MPI_Allgather");
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (missing[i] != 0) gpus[i] = Identity{};
  if (std::ranges::find(missing, 1) - missing.begin() == rank)
    std::fprintf(stderr, "tandem: rank %d: NCCL does not load, its GPU sums through MPI: %s\n", rank,
                 reason.c_str());
}

}  // namespace

std::shared_ptr<DeviceCollective> make_device_collective(MPI_Comm communicator, std::optional<int> gpu,
                                                         DeviceSumSetting setting) {
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  const Identity own = identity_of(gpu);
  std::vector<Identity> gpus(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(own.data(), sizeof(Identity), MPI_BYTE, gpus.data(), sizeof(Identity), MPI_BYTE,
                          communicator),
            "MPI_Allgather");
  if (!have_several(gpus)) return nullptr;
  std::string reason;
  const auto library = gpu ? nccl_of_process(reason) : std::nullopt;
  leave_out_without_library(communicator, gpu && !library, reason, gpus);
  if (!have_several(gpus)) return nullptr;
  return std::make_shared<NcclCollective>(library, gpu, std::move(gpus), std::move(setting));
}

}  // namespace tandem
