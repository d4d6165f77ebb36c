#include "runtime/mpi/operations.hpp"

namespace tandem {

std::uint32_t OperationTable::acquire(Operation::State state) {
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(operations_.size());
    operations_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  operations_[number].state = state;
  return number;
}

std::uint32_t OperationTable::acquire_done(Seconds now) {
  const std::uint32_t number = acquire(Operation::State::done);
  operations_[number].ended = now;
  return number;
}

void OperationTable::release(std::uint32_t number) {
  Operation& operation = operations_[number];
  operation.state = Operation::State::free;
  operation.direction = Operation::Direction::none;
  operation.outcome = Outcome::done;
  operation.note = Note{};
  operation.is_sleep = false;
  operation.is_work = false;
  operation.is_drain = false;
  operation.transfer.reset();
  free_.push_back(number);
}

}  // namespace tandem
