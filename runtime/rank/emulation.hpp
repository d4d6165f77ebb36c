// The emulated device and disks of a rank, with the same costs as in the simulator. Header only: two
// functions.
#pragma once

#include "runtime/mpi/mpi_context.hpp"
#include "workloads/cost/slowdown.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// Devices use the job's cost model, disks the rates of the platform file. `job` must outlive the result. A
/// rank without an assignment is not emulated.
inline MpiSetting emulated_setting(const Job& job, Rank rank) {
  if (rank >= job.roster().size()) return {};
  const auto& disks = job.devices().host_of(rank).disks;
  return {.emulated =
              [model = job.devices().cost_model(rank), slow = Slowdown(job.spec().experiment, rank)](
                  const Work& work) mutable { return std::optional(model.price(work) * slow.next(work)); },
          .emulated_disk = [&disks](int disk, Bytes size, bool write) -> std::optional<Seconds> {
            const auto& priced = disks.at(static_cast<std::size_t>(disk));
            return size / (write ? priced.write_rate : priced.read_rate);
          }};
}

}  // namespace tandem
