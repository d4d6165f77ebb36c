// The emulated device and disks of a rank, priced as the simulator prices them. Inline: two functions of
// data.
#pragma once

#include "runtime/mpi/mpi_context.hpp"
#include "workloads/cost/slowdown.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// Devices by the job's cost model; disks by the rates of the platform file. `job` must outlive it. A rank
/// without a seat is not emulated.
inline MpiSetting emulated_setting(const Job& job, Rank rank) {
  if (rank >= static_cast<int>(job.assignments().size())) return {};
  const auto& disks = job.host_of(rank).disks;
  return {
      .emulated =
          [model = job.cost_model(rank), slow = Slowdown(job.experiment(), rank)](const Work& work) mutable {
            return std::optional(model.price(work) * slow.next(work));
          },
      .emulated_disk = [&disks](int disk, const DiskAccess& access, bool write) -> std::optional<Seconds> {
        const auto& priced = disks.at(static_cast<std::size_t>(disk));
        return access.size / (write ? priced.write_rate : priced.read_rate);
      }};
}

}  // namespace tandem
