// The slots of a job, as a recovery policy knows them. Pure bookkeeping: decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/recovery/policy.hpp"

namespace tandem::recovery {

/// empty and requested: no machine; waits and member: occupied.
enum class SlotState : std::uint8_t { empty, requested, waits, member };

struct Slot {
  SlotState state = SlotState::empty;
  int incarnation = 0;  ///< the last one that is known
  bool warned = false;  ///< its machine will be taken away

  bool is_occupied() const { return state == SlotState::waits || state == SlotState::member; }
};

class Slots {
 public:
  explicit Slots(int count) : slots_(static_cast<std::size_t>(count)) {}

  std::size_t size() const { return slots_.size(); }
  /// Pre: the slot is one of the job's.
  Slot& at(int slot);
  const Slot& operator[](std::size_t slot) const { return slots_[slot]; }
  Slot& operator[](std::size_t slot) { return slots_[slot]; }

  int members() const;
  /// Number of machines that are present or requested.
  int machines() const;
  /// Number of machines that will be taken away.
  int warned() const;
  /// Errors: ConfigError as of PolicyState.
  void serialise(PolicyState& state);

 private:
  std::vector<Slot> slots_;
};

}  // namespace tandem::recovery
