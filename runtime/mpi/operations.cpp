#include "runtime/mpi/operations.hpp"

#include <algorithm>

namespace tandem {

bool Operation::is_in_flight() const {
  if (state != State::messages) return false;
  if (direction == Direction::receive) return head != nullptr && stream == nullptr;
  return direction == Direction::send || is_all_reduce;
}

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
  operation.is_slowed = false;
  operation.is_all_reduce = false;
  operation.is_drain = false;
  operation.head = nullptr;
  operation.transfer.reset();
  free_.push_back(number);
}

bool OperationTable::has_messages_in_flight() const {
  return std::ranges::any_of(operations_, &Operation::is_in_flight);
}

void OperationTable::stretch_work(Seconds now, double factor) {
  for (Operation& operation : operations_)
    if (operation.state == Operation::State::timed && operation.is_slowed && operation.deadline > now)
      operation.deadline = now + (operation.deadline - now) * factor;
}

}  // namespace tandem
