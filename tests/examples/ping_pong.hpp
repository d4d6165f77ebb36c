// A first program against Context: two ranks send a message back and forth. The role is sequential code;
// ping_pong_simulated.cpp and ping_pong_measured.cpp run the same role.
#pragma once

#include <cstddef>
#include <cstdio>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/context.hpp"

namespace tandem::examples {

/// Rank 0 sends a message to rank 1, which sends it back. Each adds 1 to the first byte before it sends.
inline void ping_pong(Context& context, Bytes size) {
  TANDEM_CHECK(context.world_size() == 2 && size > Bytes(0), context.world_size(), size.count());
  constexpr int trips = 10;
  constexpr Channel channel{};
  const Rank peer = 1 - context.rank();
  std::vector<std::byte> memory(static_cast<std::size_t>(size.count()));

  const auto send = [&] {
    memory[0] = std::byte(std::to_integer<int>(memory[0]) + 1);
    Pending sending = context.send(peer, channel, {size, memory.data()});
    context.wait(sending);
  };
  const auto receive = [&] {
    Pending receiving = context.receive(peer, channel, {size, memory.data()});
    context.wait(receiving);
  };

  const Seconds start = context.now();
  for (int trip = 0; trip < trips; ++trip) {
    if (context.rank() == 0) send();
    receive();
    if (context.rank() == 1) send();
  }
  const Seconds round_trip = (context.now() - start) / trips;
  if (context.rank() == 0)
    std::printf("%lld bytes there and back: %.6g ms, counted %d times\n",
                static_cast<long long>(size.count()), round_trip.count() * 1e3,
                std::to_integer<int>(memory[0]));
}

}  // namespace tandem::examples
