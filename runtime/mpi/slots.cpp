#include "runtime/mpi/slots.hpp"

namespace tandem {

std::uint32_t SlotTable::acquire(Slot::State state) {
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  slots_[number].state = state;
  return number;
}

std::uint32_t SlotTable::acquire_done(Seconds now) {
  const std::uint32_t number = acquire(Slot::State::done);
  slots_[number].ended = now;
  return number;
}

void SlotTable::release(std::uint32_t number) {
  Slot& slot = slots_[number];
  slot.state = Slot::State::free;
  slot.direction = Slot::Direction::none;
  slot.outcome = Outcome::done;
  slot.note = Note{};
  slot.is_sleep = false;
  slot.is_work = false;
  slot.is_drain = false;
  slot.transfer.reset();
  free_.push_back(number);
}

}  // namespace tandem
