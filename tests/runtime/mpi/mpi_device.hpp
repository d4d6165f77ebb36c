// MPI programs whose ranks compute on a device other than the host: memory on the device or the host, and a
// device with its context that must release everything.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/mpi/mpi_context.hpp"
#include "tests/runtime/mpi/mpi_world.hpp"
#include "tests/support/delayed_device.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem::testing {

using Block = std::vector<std::byte>;
using DeviceBlock = DeviceArray<std::byte>;

inline constexpr Channel plain{.stream = 3, .carries_note = false};
inline constexpr Channel noted{.stream = 4, .carries_note = true};

inline Block filled(Rank rank, std::size_t message, std::size_t size) {
  Block bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(rank) * 31 + message * 7 + i + (i >> 8U));
  return bytes;
}

inline DeviceBlock on_device(ComputeDevice& device, const Block& bytes) {
  DeviceBlock block(device, bytes.size());
  copy_and_await(device, block.data(), bytes.data(), bytes.size());
  return block;
}

inline Block on_host(ComputeDevice& device, const DeviceBlock& block) {
  Block bytes(block.size());
  copy_and_await(device, bytes.data(), block.data(), bytes.size());
  return bytes;
}

template <class Memory>
Slice slice_of(Memory& memory) {
  return {Bytes(static_cast<std::int64_t>(memory.size())), memory.data()};
}

/// Memory on a device or on the host.
struct Anywhere {
  Anywhere(ComputeDevice& where, bool of_device, Block bytes)
      : device(where), host(std::move(bytes)), block(of_device ? on_device(device, host) : DeviceBlock()) {}
  Slice slice() { return {slice_of(host).size, block.empty() ? host.data() : block.data()}; }
  Block contents() const { return block.empty() ? host : on_host(device, block); }

  ComputeDevice& device;
  Block host;
  DeviceBlock block;
};

inline std::vector<Rank> all_ranks(const Context& context) {
  std::vector<Rank> ranks(static_cast<std::size_t>(context.world_size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// A device with its context; checks at the end that all of its resources are released.
class MpiContextDevice : public ::testing::Test {
 protected:
  void set_up(std::uint64_t seed, MpiSetting setting = {}) {
    context_.reset();
    expect_nothing_left();
    device_.emplace(seed + 1000 * static_cast<std::uint64_t>(world_rank()));
    setting.device = &*device_;
    context_.emplace(MPI_COMM_WORLD, std::move(setting));
  }
  void TearDown() override {
    context_.reset();
    expect_nothing_left();
  }
  void expect_nothing_left() const {
    if (!device_) return;
    EXPECT_EQ(device_->live(), DelayedDevice::Live{});
    EXPECT_EQ(device_->misuses(), 0);
  }
  DelayedDevice& device() { return *device_; }
  MpiContext& context() { return *context_; }
  Rank next() { return (context().rank() + 1) % context().world_size(); }
  Rank previous() { return (context().rank() + context().world_size() - 1) % context().world_size(); }

 private:
  std::optional<DelayedDevice> device_;
  std::optional<MpiContext> context_;
};

}  // namespace tandem::testing
