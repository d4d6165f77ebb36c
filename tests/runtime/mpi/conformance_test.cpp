// The conformance suite on MPI. Each scenario uses the first ranks of the program; the others wait.
#include "tests/conformance/conformance.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/mpi/mpi_context.hpp"
#include "tests/support/delayed_device.hpp"
#include "tests/support/device_memory_context.hpp"
#include "workloads/cost/disk_queue.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::DelayedDevice;
using testing::DeviceMemoryContext;

class Conformance : public ::testing::TestWithParam<conformance::Scenario> {};

using Body = std::function<void(MPI_Comm members)>;

/// The first `count` ranks. Pre: this rank is one of them. Only they take part in making it.
MPI_Comm first_ranks(int count) {
  static std::map<int, MPI_Comm> known;
  const auto [found, is_new] = known.try_emplace(count, MPI_COMM_NULL);
  if (!is_new) return found->second;
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group_incl(world, count, ranks.data(), &members);
  MPI_Comm_create_group(MPI_COMM_WORLD, members, 0, &found->second);
  MPI_Group_free(&members);
  MPI_Group_free(&world);
  return found->second;
}

/// Ranks that wait in MPI's own barrier would use the cores that the scenario's ranks need.
void sleep_until_all_are_here() {
  MPI_Request all = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (int done = 0; MPI_Test(&all, &done, MPI_STATUS_IGNORE), done == 0;)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

void run(const conformance::Scenario& scenario, const Body& body) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ASSERT_LE(scenario.ranks, size) << "start with more ranks";
  if (rank < scenario.ranks) {
    try {
      body(first_ranks(scenario.ranks));
    } catch (const std::exception& error) {
      // The other ranks could wait for this one forever.
      ADD_FAILURE() << error.what();
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  sleep_until_all_are_here();
}

void run(const conformance::Scenario& scenario, const MpiSetting& setting) {
  run(scenario, [&](MPI_Comm members) {
    MpiContext context(members, setting);
    scenario.body(context);
    context.meet();
  });
}

/// Every route serves some of the sizes.
MpiSetting with_node_memory(MPI_Comm members) {
  using enum NodeRoute;
  return {.node_memory = std::make_shared<NodeMemory>(members),
          .node_routes =
              NodeRoutes({{Bytes(8 << 10), shared}, {Bytes(32 << 10), library}, {Bytes(1 << 20), streamed}})};
}

/// Ranks divisible by `every` keep the memory of their messages on a device.
void run_on_devices(const conformance::Scenario& scenario, MpiSetting setting, int every) {
  run(scenario, [&](MPI_Comm members) {
    int rank = 0;
    MPI_Comm_rank(members, &rank);
    DelayedDevice device(static_cast<std::uint64_t>(rank), setting.direct_messages);
    if (rank % every == 0) setting.device = &device;
    if (every > 1) setting.node_memory = with_node_memory(members).node_memory;
    {
      MpiContext context(members, setting);
      DeviceMemoryContext in_device(context);
      scenario.body(in_device);
      context.meet();
    }
    EXPECT_EQ(device.live(), DelayedDevice::Live{});
    EXPECT_EQ(device.misuses(), 0);
  });
}

/// Work of many samples takes so long that only a scenario that stops it uses it.
MpiSetting emulating() {
  return {.emulated = [](const Work& work) { return Seconds(work.samples < 10000 ? 0.001 : 1000.0); },
          .emulated_disk =
              [queues = std::make_shared<std::map<int, DiskQueue>>()](int disk, const DiskAccess& access,
                                                                      bool, Seconds arrival) {
                return (*queues)[disk].serve(arrival, {}, access.requests, Seconds(0.002));
              }};
}

/// Other places for the memory of messages, for which `./check` runs few of the scenarios.
using ConformanceInOtherMemory = Conformance;

TEST_P(Conformance, Native) { run(GetParam(), MpiSetting{}); }

TEST_P(ConformanceInOtherMemory, NodeMemory) {
  run(GetParam(), [](MPI_Comm members) {
    MpiContext context(members, with_node_memory(members));
    GetParam().body(context);
    context.meet();
  });
}

TEST_P(Conformance, EmulatedDeviceAndDisk) { run(GetParam(), emulating()); }

TEST_P(ConformanceInOtherMemory, MemoryOfDevices) { run_on_devices(GetParam(), {}, 1); }

TEST_P(ConformanceInOtherMemory, MemoryOfDevicesAndOfHosts) { run_on_devices(GetParam(), {}, 2); }

TEST_P(ConformanceInOtherMemory, MemoryOfDevicesThatMpiReads) {
  run_on_devices(GetParam(), {.direct_messages = true}, 1);
}

TEST_P(ConformanceInOtherMemory, MemoryOfDevicesThatMpiReadsAndOfHosts) {
  run_on_devices(GetParam(), {.direct_messages = true}, 2);
}

TEST_P(ConformanceInOtherMemory, MemoryOfEmulatedDevices) { run_on_devices(GetParam(), emulating(), 1); }

/// All messages that are not sent with their envelopes are copied by their receivers.
TEST_P(ConformanceInOtherMemory, MemoryOfPeers) {
  const int ranks = GetParam().ranks;
  run(GetParam(), [ranks](MPI_Comm members) {
    int rank = 0;
    MPI_Comm_rank(members, &rank);
    DelayedDevice device(static_cast<std::uint64_t>(rank));
    {
      auto peers = std::make_shared<PeerMessages>(members, &device, PeerLimits{Bytes(1), 1});
      EXPECT_EQ(peers->pairs(), ranks * (ranks - 1) / 2);
      MpiContext context(members, {.device = &device, .peer_messages = std::move(peers)});
      DeviceMemoryContext in_device(context);
      GetParam().body(in_device);
      context.meet();
    }
    EXPECT_EQ(device.live(), DelayedDevice::Live{});
    EXPECT_EQ(device.misuses(), 0);
  });
}

std::string name_of_case(const ::testing::TestParamInfo<conformance::Scenario>& parameter) {
  return parameter.param.name;
}

INSTANTIATE_TEST_SUITE_P(Mpi, Conformance, ::testing::ValuesIn(conformance::scenarios()), name_of_case);

INSTANTIATE_TEST_SUITE_P(Mpi, ConformanceInOtherMemory,
                         ::testing::ValuesIn(conformance::scenarios_of_messages(true)), name_of_case);

INSTANTIATE_TEST_SUITE_P(LongMpi, ConformanceInOtherMemory,
                         ::testing::ValuesIn(conformance::scenarios_of_messages(false)), name_of_case);

}  // namespace TANDEM_FILE
}  // namespace tandem
