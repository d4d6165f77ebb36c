// Memory that NCCL sums without copying it to its own: when it is registered, and that it never stays so once
// it is freed. NCCL and CUDA are emulated (tests/support/nccl_on_host), and refuse what NCCL leaves
// undefined.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/gpu/device_collective.hpp"
#include "tests/runtime/mpi/mpi_world.hpp"
#include "tests/support/cuda_on_host/cuda_on_host.hpp"
#include "tests/support/nccl_on_host/nccl.h"
#include "workloads/vectors/no_memory.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Members = std::vector<Rank>;
using nccl_on_host::Registered;

Members everybody() {
  Members all(static_cast<std::size_t>(world_size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

class NcclRegistrations : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_on_host::reset({.devices = world_size(), .seed = static_cast<std::uint64_t>(world_rank()) + 1});
    nccl_on_host::reset_registered();
    device_.emplace(world_rank());
    make_collective();
  }
  void TearDown() override {
    collective_.reset();
    device_.reset();
    EXPECT_EQ(nccl_on_host::registered(), expected_at_end_);
    EXPECT_EQ(cuda_on_host::remaining(), cuda_on_host::Remaining{});
    nccl_on_host::be_old(false);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void make_collective() {
    collective_ = make_device_collective(
        MPI_COMM_WORLD, world_rank(), {.timeout = Seconds(1800.0), .registered = {&*device_, everybody()}});
    ASSERT_NE(collective_, nullptr);
  }

  FloatArray ones(std::size_t count) {
    FloatArray vector(*device_, count);
    device_->fill(vector.data(), static_cast<std::int64_t>(count), 1.0F);
    device_->finish();
    return vector;
  }
  void sum(const FloatArray& vector, std::size_t from, std::size_t count, const Members& members,
           MPI_Comm among) {
    const auto number =
        collective_->start(members, among, reinterpret_cast<std::byte*>(vector.data() + from),
                           static_cast<std::int64_t>(count * sizeof(float)), collectives::float_element);
    while (!collective_->has_ended(*number)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  void sum(const FloatArray& vector) { sum(vector, 0, vector.size(), everybody(), MPI_COMM_WORLD); }
  /// Whether each number is the sum of as many ones.
  bool has(const FloatArray& vector, int summed) {
    std::vector<float> values(vector.size());
    copy_and_await(*device_, values.data(), vector.data(), vector.bytes());
    return values == std::vector<float>(vector.size(), static_cast<float>(summed));
  }
  std::string error_of_sum(const FloatArray& vector) {
    try {
      sum(vector);
    } catch (const WorldError& error) {
      return error.what();
    }
    return "nothing";
  }
  static int registers() { return cuda_on_host::calls()["ncclCommRegister"]; }
  static int deregisters() { return cuda_on_host::calls()["ncclCommDeregister"]; }

  std::optional<CudaDevice> device_;
  std::shared_ptr<DeviceCollective> collective_;
  Registered expected_at_end_;
};

TEST_F(NcclRegistrations, AnAllocationIsRegisteredOnceForAllItsSums) {
  const FloatArray first = ones(9000);
  for (int again = 0; again < 3; ++again)
    for (const std::size_t from : {0U, 3000U, 6000U}) sum(first, from, 3000, everybody(), MPI_COMM_WORLD);
  EXPECT_TRUE(has(first, world_size() * world_size() * world_size()));
  EXPECT_EQ(registers(), 1);
  {
    const FloatArray second = ones(100);
    sum(second);
    EXPECT_TRUE(has(second, world_size()));
    EXPECT_EQ(nccl_on_host::registered().now, 2);
    EXPECT_EQ(deregisters(), 0);
  }
  EXPECT_EQ(registers(), 2);
  EXPECT_EQ(deregisters(), 1);
  EXPECT_EQ(nccl_on_host::registered().now, 1);
}

TEST_F(NcclRegistrations, GatheredMemoryIsRegisteredToo) {
  const std::size_t part = 500;
  const DeviceArray<std::byte> all(*device_, part * everybody().size());
  const auto number = collective_->start(everybody(), MPI_COMM_WORLD, all.data(),
                                         static_cast<std::int64_t>(all.bytes()), collectives::byte_element);
  while (!collective_->has_ended(*number)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  EXPECT_EQ(registers(), 1);
}

// Freed memory is soon part of another allocation.
TEST_F(NcclRegistrations, MemoryAtTheSameAddressIsRegisteredAgain) {
  std::set<const float*> places;
  bool has_returned = false;
  int sums = 0;
  for (; sums < 100 && !has_returned; ++sums) {
    const FloatArray vector = ones(4096);
    has_returned = !places.insert(vector.data()).second;
    // All members do as many sums.
    int has_all_returned = has_returned ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &has_all_returned, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    has_returned = has_all_returned == 1;
    sum(vector);
    EXPECT_TRUE(has(vector, world_size()));
  }
  EXPECT_TRUE(has_returned);
  EXPECT_EQ(registers(), sums);
  EXPECT_EQ(deregisters(), sums);
}

TEST_F(NcclRegistrations, MemoryThatAnExceptionReleasesIsGivenUpBeforeItIsFreed) {
  try {
    const FloatArray vector = ones(100);
    sum(vector);
    throw WorldError("no file");
  } catch (const WorldError&) {
  }
  EXPECT_EQ(nccl_on_host::registered(), (Registered{.now = 1})) << "not freed yet";
  const FloatArray next = ones(100);
  EXPECT_EQ(nccl_on_host::registered(), Registered{});
  sum(next);
  EXPECT_TRUE(has(next, world_size()));
}

// Freeing waits for the sum.
TEST_F(NcclRegistrations, MemoryMayBeFreedBeforeTheEndOfItsSumIsNoticed) {
  std::optional<std::uint32_t> number;
  {
    const FloatArray vector = ones(30000);
    number = collective_->start(everybody(), MPI_COMM_WORLD, reinterpret_cast<std::byte*>(vector.data()),
                                static_cast<std::int64_t>(vector.bytes()), collectives::float_element);
  }
  EXPECT_EQ(deregisters(), 1);
  EXPECT_TRUE(collective_->has_ended(*number));
  const FloatArray next = ones(100);
  sum(next);
  EXPECT_TRUE(has(next, world_size()));
}

TEST_F(NcclRegistrations, TheDeviceMayEndAfterTheSumsOrBefore) {
  std::optional<FloatArray> vector(ones(100));
  sum(*vector);
  collective_.reset();
  EXPECT_EQ(nccl_on_host::registered(), Registered{});
  make_collective();
  sum(*vector);
  vector.reset();
  EXPECT_EQ(nccl_on_host::registered(), Registered{});
  device_.reset();
}

// NCCL may make a member wait for the others when memory is new to it; they may start several lists in
// different orders.
TEST_F(NcclRegistrations, OtherListsRegisterNothing) {
  const Members pair{0, 1};
  MPI_Comm of_pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() < 2 ? 0 : MPI_UNDEFINED, world_rank(), &of_pair);
  if (world_rank() < 2) {
    const FloatArray vector = ones(100);
    sum(vector, 0, 100, pair, of_pair);
    EXPECT_TRUE(has(vector, 2));
    MPI_Comm_free(&of_pair);
  }
  EXPECT_EQ(registers(), 0);
}

TEST_F(NcclRegistrations, WithAnOldNcclOfOneMemberNothingIsRegistered) {
  collective_.reset();
  nccl_on_host::be_old(world_rank() == 1);
  make_collective();
  const FloatArray vector = ones(100);
  for (int again = 0; again < 3; ++again) sum(vector);
  EXPECT_TRUE(has(vector, world_size() * world_size() * world_size()));
  EXPECT_EQ(registers(), world_rank() == 1 ? 0 : 1);
  EXPECT_EQ(nccl_on_host::registered(), Registered{});
}

TEST_F(NcclRegistrations, WhereOneMemberCannotRegisterNothingIsRegistered) {
  if (world_rank() == 1) cuda_on_host::fail_call("ncclCommRegister", 1, cudaErrorMemoryAllocation);
  const FloatArray vector = ones(100);
  for (int again = 0; again < 3; ++again) sum(vector);
  EXPECT_TRUE(has(vector, world_size() * world_size() * world_size()));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "libtorch would see the pending error";
  EXPECT_EQ(registers(), 1);
  EXPECT_EQ(nccl_on_host::registered(), Registered{});
}

TEST_F(NcclRegistrations, LaterFailuresEndTheJob) {
  const FloatArray first = ones(100), second = ones(100);
  sum(first);
  cuda_on_host::fail_call("ncclCommRegister", 1, cudaErrorUnknown);
  EXPECT_EQ(error_of_sum(second),
            "ncclCommRegister failed: unhandled cuda error (set NCCL_DEBUG=WARN for details)");
  cuda_on_host::fail_call("ncclCommRegister", 1, cudaErrorMemoryAllocation);
  EXPECT_THROW(sum(second), NoMemoryError);
  sum(second);
  EXPECT_TRUE(has(second, world_size()));
}

TEST_F(NcclRegistrations, NoSumFollowsMemoryThatCouldNotBeGivenUp) {
  const FloatArray first = ones(100);
  {
    const FloatArray second = ones(100);
    sum(first);
    sum(second);
    cuda_on_host::fail_call("ncclCommDeregister", 1, cudaErrorUnknown);
  }
  for (int again = 0; again < 2; ++again)
    EXPECT_EQ(error_of_sum(first),
              "ncclCommDeregister failed: unhandled cuda error (set NCCL_DEBUG=WARN for details)");
  EXPECT_EQ(cuda_on_host::calls()["ncclAllReduce"], 2);
  // As the emulation notices when the list ends.
  collective_.reset();
  EXPECT_GT(nccl_on_host::registered().stale, 0);
  nccl_on_host::reset_registered();
}

/// The emulated NCCL itself: memory of all ranks, and a communicator over them.
class NcclOnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_on_host::reset({.devices = world_size()});
    nccl_on_host::reset_registered();
    cudaSetDevice(world_rank());
    ncclUniqueId id{};
    if (world_rank() == 0) {
      ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    }
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    ASSERT_EQ(ncclCommInitRank(&communicator_, world_size(), id, world_rank()), ncclSuccess);
    ASSERT_EQ(cudaMalloc(&memory_, bytes), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (communicator_ != nullptr) ncclCommAbort(communicator_);
    cudaStreamDestroy(stream_);
    cudaFree(memory_);
    nccl_on_host::reset_registered();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ncclResult_t sum() {
    return ncclAllReduce(memory_, memory_, bytes / sizeof(float), ncclFloat, ncclSum, communicator_, stream_);
  }

  static constexpr std::size_t bytes = 400;
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
  void* handle_ = nullptr;
};

TEST_F(NcclOnHost, RefusesSumsOnceRegisteredMemoryIsFreed) {
  ASSERT_EQ(ncclCommRegister(communicator_, memory_, bytes, &handle_), ncclSuccess);
  EXPECT_EQ(sum(), ncclSuccess);
  cudaStreamSynchronize(stream_);
  cudaFree(memory_);
  ASSERT_EQ(cudaMalloc(&memory_, bytes), cudaSuccess);
  EXPECT_EQ(sum(), ncclInvalidUsage) << "perhaps at the same address";
  EXPECT_EQ(ncclCommDeregister(communicator_, handle_), ncclInvalidUsage);
  EXPECT_EQ(nccl_on_host::registered(), (Registered{.now = 1, .stale = 2}));
}

TEST_F(NcclOnHost, RefusesSumsThatOnlySomeMembersRegister) {
  if (world_rank() == 0) {
    ASSERT_EQ(ncclCommRegister(communicator_, memory_, bytes, &handle_), ncclSuccess);
  }
  ASSERT_EQ(sum(), ncclSuccess);
  ncclResult_t state = ncclSuccess;
  while (state == ncclSuccess) ASSERT_EQ(ncclCommGetAsyncError(communicator_, &state), ncclSuccess);
  // A member that looks late may find that another one has already left.
  EXPECT_TRUE(state == ncclInvalidUsage || state == ncclRemoteError) << state;
}

TEST_F(NcclOnHost, RegistersMemoryOfTheDeviceOnceAndCountsWhatIsLeft) {
  std::vector<float> elsewhere(100);
  EXPECT_EQ(ncclCommRegister(communicator_, elsewhere.data(), bytes, &handle_), ncclInvalidArgument);
  EXPECT_EQ(ncclCommRegister(communicator_, memory_, bytes + 1, &handle_), ncclInvalidArgument);
  ASSERT_EQ(ncclCommRegister(communicator_, memory_, bytes, &handle_), ncclSuccess);
  EXPECT_EQ(ncclCommRegister(communicator_, memory_, bytes, &handle_), ncclInvalidUsage);
  EXPECT_EQ(ncclCommDestroy(communicator_), ncclSuccess);
  communicator_ = nullptr;
  EXPECT_EQ(nccl_on_host::registered(), (Registered{.left = 1}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
