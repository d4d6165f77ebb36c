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

/// NCCL reads and writes registered memory itself, without copies to its own. If the memory of one member is
/// registered in a sum, that of all members has to be. So the members of a list agree when they make it
/// whether they register memory; then each registers every allocation in which a sum of the list is.
class NcclCollective final : public DeviceCollective, public AllocationWatcher {
 public:
  /// Without a library, this rank knows only which ranks take part.
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
  void before_free(const DeviceAllocation& allocation) noexcept override;

 private:
  struct Group {
    ncclComm_t communicator = nullptr;  ///< null: a member sums over as many lists as it may
    cudaStream_t stream = nullptr;
    const std::vector<Rank>* members = nullptr;
    int in_flight = 0;                               ///< sums whose end this rank has not noticed yet
    bool registers = false;                          ///< as all members have agreed
    std::map<std::uint64_t, void*> registered = {};  ///< handles, by the number of the allocation
    ncclResult_t deregistered = ncclSuccess;         ///< the first error of giving up a registration
  };
  struct Sum {
    cudaEvent_t end = nullptr;
    Group* group = nullptr;
    const char* call = nullptr;
    Clock::time_point start = {};
  };
  void check_nccl(ncclResult_t code, const char* call) const;
  const char* queue(const Group& group, MPI_Comm among, std::byte* memory, std::int64_t bytes,
                    const collectives::Element& element) const;
  Group& group_of(std::span<const Rank> members, MPI_Comm among, const std::byte* memory);
  bool is_registering(const Group& group) const;
  ncclResult_t register_memory(Group& group, const std::byte* memory) const;
  ncclResult_t deregister(const Group& group, void* handle) const;
  void agree_on_registering(Group& group, MPI_Comm among, const std::byte* memory) const;
  static bool all_agree(MPI_Comm among, bool own);
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
    if (group.communicator != nullptr) {
      // NCCL itself does it behind a sum that has not ended.
      if (group.in_flight == 0)
        for (const auto& [number, handle] : group.registered) static_cast<void>(deregister(group, handle));
      library_.comm_destroy(group.communicator);
    }
    if (group.stream != nullptr) cudaStreamDestroy(group.stream);
  }
}

void NcclCollective::abort() noexcept {
  is_aborted_ = true;
  for (auto& [members, group] : groups_) {
    if (group.communicator != nullptr) library_.comm_abort(std::exchange(group.communicator, nullptr));
    // They end with the communicator.
    group.registered.clear();
  }
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

bool NcclCollective::all_agree(MPI_Comm among, bool own) {
  int agrees = own ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &agrees, 1, MPI_INT, MPI_MIN, among), "MPI_Allreduce");
  return agrees == 1;
}

// ---- Registered memory ----

/// The whole allocation, so that all sums in it need one registration.
ncclResult_t NcclCollective::register_memory(Group& group, const std::byte* memory) const {
  const auto allocation = setting_.registered.allocations->allocation_of(memory);
  // Not memory of the device: the sum itself will be refused.
  if (!allocation) return ncclSuccess;
  const auto [found, is_new] = group.registered.try_emplace(allocation->number, nullptr);
  if (!is_new) return ncclSuccess;
  const ncclResult_t result =
      library_.comm_register(group.communicator, allocation->begin, allocation->bytes, &found->second);
  if (result != ncclSuccess) group.registered.erase(found);
  return result;
}

/// With NCCL_LOCAL_REGISTER=0, NCCL registers nothing and gives no handle.
ncclResult_t NcclCollective::deregister(const Group& group, void* handle) const {
  return handle == nullptr ? ncclSuccess : library_.comm_deregister(group.communicator, handle);
}

bool NcclCollective::is_registering(const Group& group) const {
  std::vector<Rank> members = *group.members;
  std::ranges::sort(members);
  return setting_.registered.allocations != nullptr && library_.can_register() &&
         members == setting_.registered.members;
}

/// Where a member cannot register the memory of the first sum, none registers any.
void NcclCollective::agree_on_registering(Group& group, MPI_Comm among, const std::byte* memory) const {
  const bool is_able = is_registering(group) && register_memory(group, memory) == ncclSuccess;
  if (!is_able) static_cast<void>(cudaGetLastError());
  group.registers = all_agree(among, is_able);
  if (group.registers) return;
  for (const auto& [number, handle] : std::exchange(group.registered, {}))
    check_nccl(deregister(group, handle), "ncclCommDeregister");
}

/// NCCL must not keep what it knows of this memory, whose addresses may soon be those of another allocation.
void NcclCollective::before_free(const DeviceAllocation& allocation) noexcept {
  for (auto& [members, group] : groups_) {
    const auto found = group.registered.find(allocation.number);
    if (found == group.registered.end()) continue;
    // As freeing the memory does.
    if (group.in_flight > 0) static_cast<void>(cudaStreamSynchronize(group.stream));
    const ncclResult_t result = deregister(group, found->second);
    if (group.deregistered == ncclSuccess) group.deregistered = result;
    group.registered.erase(found);
  }
}

// ---- Sums ----

/// A list that fails to be made cannot be tried again: the other members wait for it.
void NcclCollective::make_room() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo", *gpu_);
  if (free < room_of_list && setting_.free_cache) setting_.free_cache();
}

NcclCollective::Group& NcclCollective::group_of(std::span<const Rank> members, MPI_Comm among,
                                                const std::byte* memory) {
  const auto [found, is_new] = groups_.try_emplace({members.begin(), members.end()});
  Group& group = found->second;
  group.members = &found->first;
  if (!is_new || !all_agree(among, lists_ < setting_.most_lists)) return group;
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
  agree_on_registering(group, among, memory);
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
  Group& group = group_of(members, among, memory);
  if (group.communicator == nullptr) return std::nullopt;
  check_nccl(group.deregistered, "ncclCommDeregister");
  if (group.registers) check_nccl(register_memory(group, memory), "ncclCommRegister");
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
  ++group.in_flight;
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
  --sum.group->in_flight;
  free_.push_back(number);
  return true;
}

/// NCCL itself would wait without end for a member that has failed, and does not notice one that hangs.
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

/// Removes ranks whose GPUs have no library from `gpus`; one of them prints a note. Collective.
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
  DeviceAllocations* const allocations = setting.registered.allocations;
  const auto collective = std::make_shared<NcclCollective>(library, gpu, std::move(gpus), std::move(setting));
  if (allocations != nullptr) allocations->watch(std::weak_ptr<AllocationWatcher>(collective));
  return collective;
}

}  // namespace tandem
