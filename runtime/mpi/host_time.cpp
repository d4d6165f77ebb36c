// The machine's own clock, and waiting that leaves the cores to other ranks. Knows Open MPI's habits.
#include "runtime/mpi/host_time.hpp"

#include <sched.h>

#include <chrono>

#include "runtime/mpi/machine_ranks.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/mpi_variable.hpp"

namespace tandem {

Patience patience_of_node(MPI_Comm communicator) {
  const MachineRanks node(communicator);
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof(own), &own) != 0) CPU_SET(0, &own);
  cpu_set_t all;
  CPU_ZERO(&all);
  check_mpi(MPI_Allreduce(&own, &all, static_cast<int>(sizeof(own)), MPI_BYTE, MPI_BOR, node.communicator()),
            "MPI_Allreduce");
  return Patience::of(CPU_COUNT(&all), node.size(), mpi_variable("mpi_yield_when_idle").value_or(0) != 0);
}

namespace {

class MachineTime final : public HostTime {
 public:
  explicit MachineTime(Patience patience) : backoff_(patience) {}
  Seconds now() const override {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return Seconds(std::chrono::duration<double>(since_boot).count());
  }
  void restart() override { backoff_.restart(); }
  void pause(std::optional<Seconds> to_deadline, bool only_deadline) override {
    backoff_.pause(to_deadline, only_deadline);
  }

 private:
  Backoff backoff_;
};

}  // namespace

std::unique_ptr<HostTime> host_time(MPI_Comm communicator, const std::optional<Patience>& patience) {
  return std::make_unique<MachineTime>(patience ? *patience : patience_of_node(communicator));
}

}  // namespace tandem
