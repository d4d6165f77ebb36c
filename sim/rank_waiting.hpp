// The sleep of one simulated rank until an operation that it waits for has ended.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "sim/rank_operations.hpp"
#include "sim/simgrid_internals.hpp"

namespace tandem::sim {

class RankWaiting {
 public:
  void await(std::uint32_t number) { awaited_ = number; }
  void await_any(std::span<const Pending> pendings);
  /// Sleeps until `wake_for` an operation that it waits for. `stays`: called in the kernel; false: does not
  /// sleep.
  void block(const std::function<bool()>& stays);
  /// This operation has ended. Kernel context.
  void wake_for(std::uint32_t number);
  /// The actor of this rank has been killed and must not be woken.
  void kill() { is_killed_ = true; }
  bool is_killed() const { return is_killed_; }
  /// "a message of rank 0 on channel 5"; empty unless the rank is blocked.
  std::string describe(const RankOperations& operations) const;

 private:
  bool is_awaited(std::uint32_t number) const;

  ActorSleep sleep_;
  bool is_blocked_ = false;
  bool is_killed_ = false;                ///< its host went down, or another rank failed
  std::uint32_t awaited_ = no_operation;  ///< the number waited for; no_operation: any of awaited_any_
  std::span<const Pending> awaited_any_;
  /// The numbers of awaited_any_, if it is short: its own memory is the stack of an actor that sleeps.
  std::array<std::uint32_t, 8> awaited_few_{};
};

}  // namespace tandem::sim
