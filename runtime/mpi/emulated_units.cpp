#include "runtime/mpi/emulated_units.hpp"

#include <algorithm>

namespace tandem {
namespace {

// Shorter delays are within the noise of timers.
constexpr Seconds delay_that_counts(1e-3);

}  // namespace

bool EmulatedUnit::is_late() const { return behind_ > delay_that_counts; }

void EmulatedUnit::begin(Seconds now) {
  if (now <= free_at_ + delay_that_counts) return;
  if (is_late()) ++missed_;
  behind_ = Seconds(0);
}

Seconds EmulatedUnit::end(Seconds began, Seconds now, Seconds duration) {
  const Seconds due = std::max(began, free_at_) - behind_ + duration * slowdown_;
  behind_ = std::max(Seconds(0), now - due);
  free_at_ = std::max(now, due);
  return free_at_;
}

void EmulatedUnit::set_slowdown(Seconds now, double factor) {
  if (free_at_ > now) free_at_ = now + (free_at_ - now) * (factor / slowdown_);
  slowdown_ = factor;
}

Seconds TransferDelays::arrival(Seconds now) {
  if (now > ended_ + delay_that_counts) {
    missed_ = missed_deadlines();
    behind_ = Seconds(0);
  }
  return now - behind_;
}

void TransferDelays::end(Seconds due, Seconds now) {
  due_ = std::max(due_, due);
  moved_ = std::max(moved_, now);
  behind_ = std::max(Seconds(0), moved_ - due_);
  ended_ = std::max(moved_, due_);
}

std::int64_t TransferDelays::missed_deadlines() const {
  return missed_ + (behind_ > delay_that_counts ? 1 : 0);
}

std::int64_t EmulatedUnits::missed_deadlines() const {
  std::int64_t sum = device_.missed_deadlines() + second_queue_.missed_deadlines() +
                     concurrent_device_.missed_deadlines() + launching_.missed_deadlines();
  for (const auto& [number, disk] : disks_) sum += disk.missed_deadlines();
  return sum;
}

}  // namespace tandem
