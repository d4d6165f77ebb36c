// Messages that their receivers copy out of the memory of another rank's device.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/runtime/mpi/mpi_device.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

constexpr std::size_t large = 300'000;

enum class Driver { works, refuses, garbles };

/// A device and its context, with peers.
class PeerWorld {
 public:
  explicit PeerWorld(std::uint64_t seed, Driver driver = Driver::works,
                     PeerLimits limits = {Bytes(100'000), 200'000})
      : device(seed + 1000 * static_cast<std::uint64_t>(world_rank())) {
    device.set_shareable(driver != Driver::refuses);
    device.set_garbling(driver == Driver::garbles);
    auto peers = std::make_shared<PeerMessages>(MPI_COMM_WORLD, &device, limits);
    pairs = peers->pairs();
    device.forget_copies();
    context.emplace(MPI_COMM_WORLD, MpiSetting{.device = &device, .peer_messages = std::move(peers)});
    next = (context->rank() + 1) % context->world_size();
    previous = (context->rank() + context->world_size() - 1) % context->world_size();
  }
  ~PeerWorld() {
    context.reset();
    EXPECT_EQ(device.live(), DelayedDevice::Live{});
    EXPECT_EQ(device.misuses(), 0);
  }
  PeerWorld(const PeerWorld&) = delete;
  PeerWorld& operator=(const PeerWorld&) = delete;

  void pass_on(Channel channel, Slice sent, Slice received) {
    std::array<Pending, 2> pendings = {context->receive(previous, channel, received),
                                       context->send(next, channel, sent, {})};
    context->wait_all(pendings);
  }

  DelayedDevice device;
  std::optional<MpiContext> context;
  int pairs = 0;
  Rank next = 0;
  Rank previous = 0;
};

class MpiPeerMessages : public ::testing::TestWithParam<bool> {
 protected:
  static Channel channel() { return GetParam() ? noted : plain; }
};
INSTANTIATE_TEST_SUITE_P(Channels, MpiPeerMessages, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Noted" : "Plain"; });

TEST_P(MpiPeerMessages, AreCopiedOnceByTheirReceivers) {
  PeerWorld world(1);
  EXPECT_EQ(world.pairs, world.context->world_size() * (world.context->world_size() - 1) / 2);
  DeviceBlock out = on_device(world.device, filled(world.context->rank(), 1, large));
  DeviceBlock in(world.device, large);
  world.pass_on(channel(), slice_of(out), slice_of(in));
  EXPECT_EQ(on_host(world.device, in), filled(world.previous, 1, large));
  EXPECT_EQ(world.device.opened_copies(), 1);
  EXPECT_EQ(world.device.copies(), 1) << "none through pinned memory";
}

TEST_P(MpiPeerMessages, InPartsOfAnAllocation) {
  PeerWorld world(2);
  constexpr std::size_t parts = 4;
  DeviceBlock out = on_device(world.device, filled(world.context->rank(), 2, parts * large));
  DeviceBlock in(world.device, parts * large);
  for (const std::size_t part : {3, 0, 2, 1}) {
    const Bytes size(static_cast<std::int64_t>(large));
    world.pass_on(channel(), {size, out.data() + part * large}, {size, in.data() + part * large});
  }
  EXPECT_EQ(on_host(world.device, in), filled(world.previous, 2, parts * large));
  EXPECT_EQ(world.device.opened_copies(), 4);
}

/// Else the receiver would see what the sender writes next.
TEST_P(MpiPeerMessages, ASendEndsWhenItsMemoryMayChange) {
  PeerWorld world(3);
  DeviceBlock out(world.device, large), in(world.device, large);
  for (std::size_t message = 0; message < 20; ++message) {
    const Block bytes = filled(world.context->rank(), message, large);
    copy_and_await(world.device, out.data(), bytes.data(), large);
    Pending arrives = world.context->receive(world.previous, channel(), slice_of(in));
    Pending leaves = world.context->send(world.next, channel(), slice_of(out), {});
    world.context->wait(leaves);
    copy_and_await(world.device, out.data(), Block(large).data(), large);
    world.context->wait(arrives);
    ASSERT_EQ(on_host(world.device, in), filled(world.previous, message, large)) << message;
  }
  EXPECT_EQ(world.device.opened_copies(), 20);
}

/// Each message is in memory of its own, which may lie where that of an earlier one was.
TEST_P(MpiPeerMessages, OfMemoryThatIsReleasedAfterEach) {
  PeerWorld world(4);
  for (std::size_t message = 0; message < 12; ++message) {
    const std::size_t size = large + message % 3 * 50'000;
    DeviceBlock in(world.device, size);
    {
      DeviceBlock out = on_device(world.device, filled(world.context->rank(), message, size));
      world.pass_on(channel(), slice_of(out), slice_of(in));
    }
    ASSERT_EQ(on_host(world.device, in), filled(world.previous, message, size)) << message;
  }
}

TEST_P(MpiPeerMessages, ArriveInMemoryOfTheHost) {
  PeerWorld world(5);
  DeviceBlock out = on_device(world.device, filled(world.context->rank(), 5, large));
  Block in(large + 5000);
  world.pass_on(channel(), slice_of(out), slice_of(in));
  in.resize(large);
  EXPECT_EQ(in, filled(world.previous, 5, large));
}

TEST_P(MpiPeerMessages, SmallOnesAndThoseOfSmallAllocationsAreStaged) {
  for (const PeerLimits limits : {PeerLimits{Bytes(300'001), 1}, PeerLimits{Bytes(1), 300'001}}) {
    PeerWorld world(6, Driver::works, limits);
    DeviceBlock out = on_device(world.device, filled(world.context->rank(), 6, large));
    DeviceBlock in(world.device, large);
    world.pass_on(channel(), slice_of(out), slice_of(in));
    EXPECT_EQ(on_host(world.device, in), filled(world.previous, 6, large));
    EXPECT_EQ(world.device.opened_copies(), 0);
  }
}

/// The first rank's memory cannot be shared; or it can, but copies between it and others bring other bytes.
TEST_P(MpiPeerMessages, ADeviceThatIsNotReadRightHasNoPeers) {
  for (const Driver first : {Driver::refuses, Driver::garbles}) {
    const bool is_read = world_rank() > 0;
    PeerWorld world(7, is_read ? Driver::works : first);
    const int others = world.context->world_size() - 1;
    EXPECT_EQ(world.pairs, others * (others - 1) / 2);
    DeviceBlock out = on_device(world.device, filled(world.context->rank(), 7, large));
    DeviceBlock in(world.device, large);
    world.pass_on(channel(), slice_of(out), slice_of(in));
    EXPECT_EQ(on_host(world.device, in), filled(world.previous, 7, large));
    EXPECT_EQ(world.device.opened_copies(), is_read && world.previous > 0 ? 1 : 0);
  }
}

/// The last one is withdrawn before the receiver has asked for it; memory of both is released at the end.
TEST_P(MpiPeerMessages, CanBeCancelled) {
  PeerWorld world(8);
  MpiContext& context = *world.context;
  DeviceBlock out = on_device(world.device, filled(context.rank(), 8, large));
  DeviceBlock in(world.device, large);
  world.pass_on(channel(), slice_of(out), slice_of(in));
  Pending sent = context.send(world.next, channel(), slice_of(out), {});
  context.cancel(sent);
  EXPECT_EQ(context.wait(sent).outcome, Outcome::cancelled);
  context.meet();
  world.pass_on(channel(), slice_of(out), slice_of(in));
  EXPECT_EQ(on_host(world.device, in), filled(world.previous, 8, large));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
