// Sums of GPU memory by NCCL, with NCCL and CUDA emulated on the host (tests/support/nccl_on_host). Each rank
// has a separate GPU, unless a test says otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/gpu/device_collective.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "tests/runtime/mpi/mpi_world.hpp"
#include "tests/support/cuda_on_host/cuda_on_host.hpp"
#include "tests/support/nccl_on_host/nccl.h"
#include "workloads/vectors/no_memory.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Members = std::vector<Rank>;

/// For a sum whose members do not hang.
constexpr Seconds long_enough{1800.0};

Members everybody() {
  Members all(static_cast<std::size_t>(world_size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}
bool takes_part(const Members& members) { return std::ranges::count(members, world_rank()) > 0; }

class NcclCollectives : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_on_host::reset({.devices = world_size(), .seed = static_cast<std::uint64_t>(world_rank()) + 1});
    device_.emplace(world_rank());
    nccl_on_host::reset_registered();
    collective_ = make_device_collective(MPI_COMM_WORLD, world_rank(),
                                         {.timeout = long_enough, .registered = {&*device_, everybody()}});
    ASSERT_NE(collective_, nullptr);
  }
  void TearDown() override {
    collective_.reset();
    device_.reset();
    EXPECT_EQ(cuda_on_host::remaining(), cuda_on_host::Remaining{});
    EXPECT_EQ(nccl_on_host::registered(), nccl_on_host::Registered{});
    for (auto& [members, communicator] : communicators_) MPI_Comm_free(&communicator);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// Pre: this rank is a member.
  MPI_Comm among(const Members& members) {
    const auto [found, is_new] = communicators_.try_emplace(members, MPI_COMM_NULL);
    if (!is_new) return found->second;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &found->second);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return found->second;
  }

  /// Every number identifies its rank and index.
  static float number_of(Rank rank, std::size_t index) {
    return static_cast<float>((rank + 1) * 100 + static_cast<int>(index % 89));
  }
  FloatArray own_vector(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = number_of(world_rank(), i);
    FloatArray vector(*device_, count);
    copy_and_await(*device_, vector.data(), values.data(), vector.bytes());
    return vector;
  }
  static std::vector<float> sum_of(const Members& members, std::size_t count) {
    std::vector<float> sum(count);
    for (const Rank member : members)
      for (std::size_t i = 0; i < count; ++i) sum[i] += number_of(member, i);
    return sum;
  }
  std::vector<float> read(const FloatArray& vector) {
    std::vector<float> values(vector.size());
    copy_and_await(*device_, values.data(), vector.data(), vector.bytes());
    return values;
  }

  std::uint32_t start(const Members& members, const FloatArray& vector) {
    return start_with(*collective_, members, vector).value();
  }
  std::optional<std::uint32_t> start_with(DeviceCollective& collective, const Members& members,
                                          const FloatArray& vector) {
    return collective.start(members, among(members), reinterpret_cast<std::byte*>(vector.data()),
                            static_cast<std::int64_t>(vector.bytes()), collectives::float_element);
  }
  void wait(std::uint32_t sum) {
    while (!collective_->has_ended(sum)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  void sum_once(const Members& members, std::size_t count) {
    const FloatArray vector = own_vector(count);
    wait(start(members, vector));
    EXPECT_EQ(read(vector), sum_of(members, count)) << members.size() << " members";
  }

  /// Destroys the collective like a rank that leaves by an exception: after `last`, or when `last` throws.
  std::string leave(const std::function<void()>& last) {
    try {
      const auto going = std::exchange(collective_, nullptr);
      going_ = going.get();
      last();
      throw WorldError("leaves");
    } catch (const WorldError& error) {
      return error.what();
    }
  }
  DeviceCollective& going() { return *going_; }

  std::optional<CudaDevice> device_;
  std::shared_ptr<DeviceCollective> collective_;

 private:
  DeviceCollective* going_ = nullptr;
  std::map<Members, MPI_Comm> communicators_;
};

TEST_F(NcclCollectives, SumOverListsOfMembersOfAnySize) {
  const Members all = everybody();
  const Members backwards(all.rbegin(), all.rend());
  for (const Members& members :
       {all, backwards, Members{0, 1}, Members{1, 0}, Members{0, world_size() - 1}}) {
    if (!takes_part(members)) continue;
    EXPECT_TRUE(collective_->can(members));
    for (const std::size_t count : {1U, 7U, 4096U, 30001U}) sum_once(members, count);
  }
}

TEST_F(NcclCollectives, AListHasOneCommunicatorAndStream) {
  for (int again = 0; again < 5; ++again) sum_once(everybody(), 10);
  auto calls = cuda_on_host::calls();
  EXPECT_EQ(calls["ncclCommInitRank"], 1);
  EXPECT_EQ(calls["ncclAllReduce"], 5);
  EXPECT_EQ(calls["cudaEventCreateWithFlags"], 1) << "slots of completed sums are reused";
  EXPECT_EQ(cuda_on_host::streams_by_priority(), (std::map<int, int>{{0, 1}, {-5, 4}}))
      << "only the device's queue is less urgent";
  if (takes_part({0, 1})) sum_once({0, 1}, 10);
  EXPECT_EQ(cuda_on_host::calls()["ncclCommInitRank"], takes_part({0, 1}) ? 2 : 1);
}

/// Lists of these members in every order.
std::vector<Members> orders_of(Members members) {
  std::vector<Members> lists;
  std::ranges::sort(members);
  do lists.push_back(members);
  while (std::ranges::next_permutation(members).found);
  return lists;
}

// Rank 0 supports only three lists; the members of a list agree without knowing each other's limits.
TEST_F(NcclCollectives, MembersAgreeOnTheListsAboveTheLimit) {
  const auto limited = make_device_collective(
      MPI_COMM_WORLD, world_rank(),
      {.timeout = long_enough, .most_lists = world_rank() == 0 ? std::size_t{3} : std::size_t{5}});
  const FloatArray vector = own_vector(100);
  const auto is_summed = [&](const Members& members) {
    const auto sum = start_with(*limited, members, vector);
    while (sum && !limited->has_ended(*sum)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    return sum.has_value();
  };
  std::vector<Members> lists = orders_of(everybody());
  lists.resize(std::min<std::size_t>(lists.size(), 6));
  for (int again = 0; again < 2; ++again)
    for (std::size_t i = 0; i < lists.size(); ++i) EXPECT_EQ(is_summed(lists[i]), i < 3) << "list " << i;
  const Members others{1, 2};
  if (takes_part(others)) {
    EXPECT_TRUE(is_summed(others)) << "both have higher limits than rank 0";
  }
}

// MPI sums the lists above NCCL's limit.
TEST_F(NcclCollectives, AContextSumsOverAnyNumberOfLists) {
  MpiContext context(MPI_COMM_WORLD,
                     {.device = &*device_, .collective = collective_, .most_communicators = 12});
  const std::vector<Members> lists = orders_of(everybody());
  for (int again = 0; again < 2; ++again)
    for (const Members& members : lists) {
      const FloatArray own = own_vector(500);
      Pending sum = context.all_reduce(members, Channel{.stream = 1},
                                       {Bytes(2000), reinterpret_cast<std::byte*>(own.data())},
                                       collectives::float_element);
      context.wait(sum);
      EXPECT_EQ(read(own), sum_of(members, 500));
    }
  EXPECT_EQ(cuda_on_host::calls()["ncclCommInitRank"],
            static_cast<int>(std::min(lists.size(), most_device_lists)));
}

TEST_F(NcclCollectives, SumsOfAListAreDoneInOrder) {
  const Members all = everybody();
  const FloatArray vector = own_vector(5000);
  std::vector<std::uint32_t> sums;
  for (int turn = 0; turn < 4; ++turn) sums.push_back(start(all, vector));
  wait(sums.back());
  std::vector<float> wanted = sum_of(all, 5000);
  for (float& value : wanted) value *= static_cast<float>(world_size() * world_size() * world_size());
  EXPECT_EQ(read(vector), wanted);
  for (const std::uint32_t sum : {sums[0], sums[1], sums[2]})
    EXPECT_TRUE(collective_->has_ended(sum)) << "earlier sums end first";
}

// Ranks start the sums of two lists in different orders, and wait for them in yet other orders.
TEST_F(NcclCollectives, ListsDoNotWaitForEachOther) {
  const Members all = everybody();
  const Members pair{0, 1};
  sum_once(all, 3);
  if (takes_part(pair)) sum_once(pair, 3);
  for (int turn = 0; turn < 5; ++turn) {
    const FloatArray of_all = own_vector(9000);
    const FloatArray of_pair = own_vector(6000);
    std::uint32_t first = 0, second = 0;
    if (world_rank() == 1) second = start(pair, of_pair);
    // The pair's sum completes before rank 1 has started the sum of all members.
    if (world_rank() == 0) {
      first = start(all, of_all);
      second = start(pair, of_pair);
    }
    if (takes_part(pair)) wait(second);
    if (world_rank() != 0) first = start(all, of_all);
    wait(first);
    EXPECT_EQ(read(of_all), sum_of(all, 9000));
    if (takes_part(pair)) {
      EXPECT_EQ(read(of_pair), sum_of(pair, 6000));
    }
  }
}

TEST_F(NcclCollectives, RanksThatShareAGpuOrHaveNoneAreRefused) {
  const int size = world_size();
  const Rank last = size - 1;
  const auto sharing = make_device_collective(MPI_COMM_WORLD, world_rank() == 0 ? last : world_rank(),
                                              {.timeout = long_enough});
  ASSERT_NE(sharing, nullptr);
  EXPECT_FALSE(sharing->can(everybody()));
  EXPECT_FALSE(sharing->can(Members{0, last}));
  if (size > 2) {
    EXPECT_TRUE(sharing->can(Members{0, 1}));
  }
  const std::optional<int> own_gpu = world_rank() == last ? std::nullopt : std::optional(world_rank());
  const auto lacking = make_device_collective(MPI_COMM_WORLD, own_gpu, {.timeout = long_enough});
  if (size == 2) {
    EXPECT_EQ(lacking, nullptr) << "only one rank has a GPU";
  } else {
    ASSERT_NE(lacking, nullptr);
    EXPECT_FALSE(lacking->can(everybody()));
    EXPECT_FALSE(lacking->can(Members{last, 0}));
    EXPECT_TRUE(lacking->can(Members{0, 1}));
  }
  EXPECT_EQ(make_device_collective(MPI_COMM_WORLD, std::nullopt, {.timeout = long_enough}), nullptr);
}

TEST_F(NcclCollectives, GpusOfRanksWithoutNcclSumThroughMpi) {
  const Rank last = world_size() - 1;
  nccl_on_host::hide(world_rank() == last);
  ::testing::internal::CaptureStderr();
  const auto some = make_device_collective(MPI_COMM_WORLD, world_rank(), {.timeout = long_enough});
  const std::string message = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(message, world_rank() == last ? "tandem: rank " + std::to_string(last) +
                                                ": NCCL does not load, its GPU sums through MPI: hidden\n"
                                          : "");
  ASSERT_NE(some, nullptr);
  EXPECT_FALSE(some->can(everybody()));
  EXPECT_FALSE(some->can(Members{0, last}));
  EXPECT_TRUE(some->can(Members{0, 1}));
  nccl_on_host::hide(true);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(make_device_collective(MPI_COMM_WORLD, world_rank(), {.timeout = long_enough}), nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr().empty(), world_rank() != 0) << "one message";
  nccl_on_host::hide(false);
}

TEST_F(NcclCollectives, AMissingGpuThrowsAWorldError) {
  EXPECT_THROW(make_device_collective(MPI_COMM_WORLD, world_size(), {.timeout = long_enough}), WorldError);
}

// Other libraries keep memory for later, which NCCL cannot use; members that wait for one that has failed
// cannot begin again.
TEST_F(NcclCollectives, MemoryThatOthersKeepIsFreedBeforeAListIsMade) {
  const auto frees_for_a_list = [&](std::size_t memory_in_use) {
    int frees = 0;
    const auto collective = make_device_collective(MPI_COMM_WORLD, world_rank(),
                                                   {.timeout = long_enough, .free_cache = [&] { ++frees; }});
    const DeviceArray<std::byte> held(*device_, memory_in_use);
    const FloatArray vector = own_vector(100);
    for (int sum = 0; sum < 2; ++sum) {
      const auto number = start_with(*collective, everybody(), vector);
      while (!collective->has_ended(*number)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return frees;
  };
  collective_.reset();
  device_.reset();
  cuda_on_host::reset({.devices = world_size(), .memory_bytes = std::size_t{3} << 29U});
  device_.emplace(world_rank());
  EXPECT_EQ(frees_for_a_list(0), 0);
  EXPECT_EQ(frees_for_a_list(std::size_t{600} << 20U), 1);
}

TEST_F(NcclCollectives, AListWithoutMemoryIsReportedAsLackOfMemory) {
  const FloatArray vector = own_vector(100);
  cuda_on_host::fail_call("ncclCommInitRank", 1, cudaErrorMemoryAllocation);
  std::string error;
  try {
    start(everybody(), vector);
  } catch (const NoMemoryError& caught) {
    error = caught.what();
  }
  EXPECT_EQ(error, "ncclCommInitRank on cuda:" + std::to_string(world_rank()) +
                       ": out of memory (cudaErrorMemoryAllocation)");
}

// The members would wait forever for one that has left: they are notified, and leave too.
TEST_F(NcclCollectives, ALostMemberEndsTheSumsOfTheOthers) {
  const Members all = everybody();
  sum_once(all, 100);
  MPI_Barrier(MPI_COMM_WORLD);
  const FloatArray vector = own_vector(100);
  const MPI_Comm others = among(all);
  const std::string error = leave([&] {
    if (world_rank() == 0) return;
    const auto sum = going().start(all, others, reinterpret_cast<std::byte*>(vector.data()),
                                   100 * sizeof(float), collectives::float_element);
    while (!going().has_ended(*sum)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  if (world_rank() == 0) {
    EXPECT_EQ(error, "leaves");
  } else {
    EXPECT_EQ(error,
              "ncclAllReduce failed: remote process exited or there was a network error (set "
              "NCCL_DEBUG=WARN for details)");
  }
}

// Destroying a communicator properly involves all members, but here the others leave only later.
TEST_F(NcclCollectives, LeavingByAnExceptionDoesNotWait) {
  const Members all = everybody();
  sum_once(all, 100);
  const FloatArray vector = own_vector(100);
  const MPI_Comm others = among(all);
  if (world_rank() == 0)
    leave([&] {
      going().start(all, others, reinterpret_cast<std::byte*>(vector.data()), 100 * sizeof(float),
                    collectives::float_element);
    });
  MPI_Barrier(MPI_COMM_WORLD);
}

// The error has nothing to do with the sum, whose members never come: to release the vector at once would
// wait for them.
TEST_F(NcclCollectives, LeavingByAnExceptionReleasesMemoryBehindItsSums) {
  const Members all = everybody();
  sum_once(all, 100);
  MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Comm others = among(all);
  const std::string error = leave([&] {
    const FloatArray vector = own_vector(100);
    if (world_rank() == 0) return;
    going().start(all, others, reinterpret_cast<std::byte*>(vector.data()), 100 * sizeof(float),
                  collectives::float_element);
    throw WorldError("no file");
  });
  EXPECT_EQ(error, world_rank() == 0 ? "leaves" : "no file");
}

/// Counts the communicators that were aborted before its own destruction.
class AbortsBefore {
 public:
  explicit AbortsBefore(int& aborts) : aborts_(aborts) {}
  ~AbortsBefore() { aborts_ = cuda_on_host::calls()["ncclCommAbort"]; }
  AbortsBefore(const AbortsBefore&) = delete;
  AbortsBefore& operator=(const AbortsBefore&) = delete;

 private:
  int& aborts_;
};

// Roles have a guard of transfers behind all that these use.
TEST_F(NcclCollectives, AContextEndsItsSumsBeforeAFailingRoleReleasesAnything) {
  const Members all = everybody();
  sum_once(all, 100);
  MPI_Barrier(MPI_COMM_WORLD);
  int aborts = 0;
  try {
    MpiContext context(MPI_COMM_WORLD,
                       {.device = &*device_, .collective = std::exchange(collective_, nullptr)});
    const FloatArray vector = own_vector(100);
    const AbortsBefore before(aborts);
    const TransferGuard transfers(context);
    const Slice slice{Bytes(400), reinterpret_cast<std::byte*>(vector.data())};
    Pending sum = context.all_reduce(all, Channel{.stream = 1}, slice, collectives::float_element);
    context.wait(sum);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() != 0)
      sum = context.all_reduce(all, Channel{.stream = 1}, slice, collectives::float_element);
    throw WorldError("no file");
  } catch (const WorldError& error) {
    EXPECT_STREQ(error.what(), "no file");
  }
  EXPECT_EQ(aborts, 1);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(NcclCollectives, AMemberThatHangsEndsTheSumsOfTheOthers) {
  const Members all = everybody();
  const auto watched = make_device_collective(MPI_COMM_WORLD, world_rank(), {.timeout = Seconds(3)});
  const FloatArray vector = own_vector(100);
  const auto sum = [&] {
    const auto number = start_with(*watched, all, vector);
    while (!watched->has_ended(*number)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  sum();
  std::string error;
  try {
    if (world_rank() != 0) sum();
  } catch (const WorldError& caught) {
    error = caught.what();
  }
  std::string members;
  for (const Rank member : all) members += ' ' + std::to_string(member);
  int has_noticed =
      error == "ncclAllReduce of ranks" + members +
                   " has not ended after 3 s: one of them hangs (set NCCL_DEBUG=INFO for details), or needs "
                   "longer than run.sum_timeout"
          ? 1
          : 0;
  if (world_rank() != 0) {
    // The others may find that the one that has noticed it first has left.
    EXPECT_TRUE(has_noticed == 1 || error.find("remote process exited") != std::string::npos) << error;
    // The stuck sum has ended, or these would wait for it.
    read(vector);
    device_->release(device_->allocate(10));
  }
  MPI_Allreduce(MPI_IN_PLACE, &has_noticed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(has_noticed, 1);
}

// A rank that polls late may find that another one has already left.
TEST_F(NcclCollectives, SumsOfDifferentSizesThrowAWorldError) {
  const Members all = everybody();
  const auto count = static_cast<std::size_t>(world_rank()) + 1;
  const FloatArray vector = own_vector(count);
  const MPI_Comm others = among(all);
  const std::string error = leave([&] {
    const auto sum = going().start(all, others, reinterpret_cast<std::byte*>(vector.data()),
                                   static_cast<std::int64_t>(vector.bytes()), collectives::float_element);
    while (!going().has_ended(*sum)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  EXPECT_TRUE(error.starts_with("ncclAllReduce failed: ")) << error;
}

TEST_F(NcclCollectives, FailedCallsOfNcclAndCudaThrowAWorldError) {
  const Members all = everybody();
  sum_once(all, 10);
  MPI_Barrier(MPI_COMM_WORLD);
  const FloatArray vector = own_vector(10);
  const auto error_of = [&](const std::string& call, const std::function<void()>& action) {
    cuda_on_host::fail_call(call, 1, cudaErrorUnknown);
    try {
      action();
    } catch (const WorldError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_TRUE(error_of("ncclAllReduce", [&] {
                start(all, vector);
              }).starts_with("ncclAllReduce failed: unhandled cuda error"));
  EXPECT_TRUE(error_of("cudaSetDevice", [&] { start(all, vector); }).starts_with("cudaSetDevice on cuda:"));
  std::vector<float> elsewhere(10);
  const auto sum_elsewhere = [&] {
    collective_->start(all, among(all), reinterpret_cast<std::byte*>(elsewhere.data()), 10 * sizeof(float),
                       collectives::float_element);
  };
  EXPECT_TRUE(error_of("none", sum_elsewhere).starts_with("ncclAllReduce failed: invalid argument"));
  const std::uint32_t sum = start(all, vector);
  EXPECT_TRUE(error_of("cudaEventQuery", [&] { wait(sum); }).starts_with("ncclAllReduce on cuda:"));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "libtorch would see the pending error";
  wait(sum);
  EXPECT_EQ(read(vector), sum_of(all, 10));
}

// The context treats it as device memory, and MPI as host memory.
TEST_F(NcclCollectives, AContextSumsGpuMemoryWithNccl) {
  const Members all = everybody();
  const FloatArray vector = own_vector(5000);
  std::vector<float> on_host(5000, 1.0F);
  const Bytes size(static_cast<std::int64_t>(vector.bytes()));
  {
    MpiContext context(MPI_COMM_WORLD, {.device = &*device_, .collective = collective_});
    Pending of_device =
        context.all_reduce(all, Channel{.stream = 1}, {size, reinterpret_cast<std::byte*>(vector.data())},
                           collectives::float_element);
    Pending of_host =
        context.all_reduce(all, Channel{.stream = 2}, {size, reinterpret_cast<std::byte*>(on_host.data())},
                           collectives::float_element);
    context.wait(of_host);
    context.wait(of_device);
  }
  EXPECT_EQ(read(vector), sum_of(all, 5000));
  EXPECT_EQ(on_host, std::vector<float>(5000, static_cast<float>(world_size())));
  EXPECT_EQ(cuda_on_host::calls()["ncclAllReduce"], 1);
}

// The members add in their order, and round after each addition.
TEST_F(NcclCollectives, SumsOfHalvesAreRounded) {
  const Members all = everybody();
  constexpr std::size_t count = 20001;
  const auto value_of = [](Rank rank, std::size_t i) {
    return 1.0F + static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 251) / 256.0F;
  };
  for (const auto& [element, format] : {std::pair(collectives::fp16_element, HalfFormat::fp16),
                                        std::pair(collectives::bf16_element, HalfFormat::bf16)}) {
    const auto halves_of = [&, of = format](Rank rank) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = value_of(rank, i);
      std::vector<std::uint16_t> halves(count);
      host_device().narrow(values.data(), halves.data(), count, of);
      return halves;
    };
    const DeviceArray<std::uint16_t> vector(*device_, count);
    const auto own = halves_of(world_rank());
    copy_and_await(*device_, vector.data(), own.data(), vector.bytes());
    wait(collective_
             ->start(all, among(all), reinterpret_cast<std::byte*>(vector.data()),
                     static_cast<std::int64_t>(vector.bytes()), element)
             .value());
    auto wanted = halves_of(0);
    for (Rank rank = 1; rank < world_size(); ++rank)
      host_device().add_halves(wanted.data(), halves_of(rank).data(), count, format);
    std::vector<std::uint16_t> found(count);
    copy_and_await(*device_, found.data(), vector.data(), vector.bytes());
    EXPECT_EQ(found, wanted);
  }
  EXPECT_EQ(cuda_on_host::calls()["ncclAllReduce"], 2);
}

// Messages of an odd length, in the order of the members; the context gives them to NCCL.
TEST_F(NcclCollectives, AContextGathersGpuMemoryWithNccl) {
  Members members = everybody();
  std::ranges::reverse(members);
  constexpr std::size_t part = 20001;
  const auto byte_of = [](Rank rank, std::size_t i) {
    return static_cast<std::byte>((static_cast<std::size_t>(rank) * 50 + i) % 251);
  };
  const DeviceArray<std::byte> vector(*device_, part * members.size());
  std::vector<std::byte> own(part);
  for (std::size_t i = 0; i < part; ++i) own[i] = byte_of(world_rank(), i);
  const auto self = static_cast<std::size_t>(std::ranges::find(members, world_rank()) - members.begin());
  copy_and_await(*device_, vector.data() + self * part, own.data(), part);
  {
    MpiContext context(MPI_COMM_WORLD, {.device = &*device_, .collective = collective_});
    Pending gather = context.all_reduce(members, Channel{.stream = 1},
                                        {Bytes(static_cast<std::int64_t>(vector.bytes())), vector.data()},
                                        collectives::byte_element);
    context.wait(gather);
  }
  std::vector<std::byte> found(vector.size());
  copy_and_await(*device_, found.data(), vector.data(), vector.bytes());
  for (std::size_t member = 0; member < members.size(); ++member)
    for (std::size_t i = 0; i < part; ++i)
      ASSERT_EQ(found[member * part + i], byte_of(members[member], i))
          << "member " << member << " byte " << i;
  EXPECT_EQ(cuda_on_host::calls()["ncclAllGather"], 1);
  EXPECT_EQ(cuda_on_host::calls()["ncclAllReduce"], 0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
