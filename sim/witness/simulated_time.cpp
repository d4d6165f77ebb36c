// The clock of a rank on SimGrid's MPI. SimGrid's own types stay in this file.
#include "sim/witness/simulated_time.hpp"

#include <smpi/smpi.h>

#include <algorithm>
#include <cmath>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include "runtime/mpi/host_time.hpp"

namespace tandem {
namespace witness {

namespace s4u = simgrid::s4u;

Waker::Waker() {
  s4u::Engine::on_time_advance_cb([this](double) { wake_all(); });
}

void Waker::wake_all() {
  woken_.swap(waiting_);
  for (const auto& wake : woken_) wake();
  woken_.clear();
}

namespace {

/// Simulated time advances by at least this much; otherwise the rest of a wait may be lost in rounding.
constexpr double shortest_pause_s = 1e-9;

class SimulatedTime final : public HostTime {
 public:
  explicit SimulatedTime(Waker& waker) : waker_(waker), woken_(s4u::Semaphore::create(0)) {}

  Seconds now() const override { return Seconds(s4u::Engine::get_clock()); }
  void restart() override {}

  void pause(std::optional<Seconds> to_deadline, bool only_deadline) override {
    if (to_deadline) {
      const double now_s = s4u::Engine::get_clock();
      const double end_s = now_s + std::max(to_deadline->count(), shortest_pause_s);
      if (only_deadline) return s4u::this_actor::sleep_until(end_s);
      // Makes simulated time stop at the deadline, which wakes this rank. Once per deadline is enough.
      if (alarm_s_ <= now_s || std::abs(alarm_s_ - end_s) > shortest_pause_s) {
        simgrid::kernel::timer::Timer::set(end_s, [] {});
        alarm_s_ = end_s;
      }
    }
    waker_.at_next_event([semaphore = woken_] { semaphore->release(); });
    woken_->acquire();
  }

 private:
  Waker& waker_;
  s4u::SemaphorePtr woken_;
  double alarm_s_ = -1.0;  ///< where simulated time will stop for this rank
};

}  // namespace
}  // namespace witness

std::unique_ptr<HostTime> host_time(MPI_Comm, const std::optional<Patience>&) {
  return std::make_unique<witness::SimulatedTime>(
      *static_cast<witness::Waker*>(smpi_process_get_user_data()));
}

}  // namespace tandem
