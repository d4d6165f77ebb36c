// Assembles the world of one rank of a job under the real clock (its device, its messages, emulated devices
// and disks) and runs its role there. Its counterpart under the simulated clock is sim/job_world.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/mpi/mpi_context.hpp"
#include "runtime/rank/gpu_monitor.hpp"
#include "runtime/rank/job_clocks.hpp"
#include "runtime/rank/other_load.hpp"
#include "runtime/rank/shared_launch.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {

/// Emulated devices by the job's cost model, disks by the platform file: simulation and real run have the
/// same devices. `job` must outlive the setting. A rank that the job does not have is not emulated.
/// Collective over all ranks of the launch, whose jobs share the disks of the hosts.
MpiSetting emulated_setting(const Job& job, Rank rank);
/// Real devices. `device`: null for the processor. `shares_node`: ranks of one machine may exchange messages
/// through its memory; false on an emulated cluster, where messages between hosts have to cross their
/// network. `communicator`: of the ranks that exchange messages. Collective.
MpiSetting native_setting(const Job& job, Rank rank, ComputeDevice* device, bool shares_node,
                          MPI_Comm communicator);
/// The emulated or the native setting, as the experiment says. `cluster`: that of the emulated hosts; empty:
/// none. Collective over all ranks of the launch.
MpiSetting job_setting(const Job& job, Rank rank, ComputeDevice* device, const std::string& cluster,
                       MPI_Comm communicator);

/// For run.json, complete on rank 0. `rank`: of the job. `cluster`: as JSON. `gpu`: null without one.
/// Collective over `communicator`, which may have other ranks than the job.
nlohmann::json describe_physics(const Job& job, Rank rank, const std::string& cluster,
                                const MpiSetting& setting, const GpuMonitor* gpu, MPI_Comm communicator);

/// `network` and `devices` of run.json. `physics`: as describe_physics returns it on rank 0.
NetworkOrigin measured_network(const nlohmann::json& physics);
std::string measured_devices(const Job& job, const nlohmann::json& physics);

struct JobRun {
  Journal journal;  ///< of all ranks
  Seconds makespan;
  std::vector<ClockLine> clocks = {};  ///< of all ranks, where there are several machines
};

/// Records that a job writes in addition to its steps.
struct Recorded {
  bool operations = false;
  bool decisions = false;
  bool requests = false;  ///< of cache nodes
  /// Directory with the records of the job's earlier generations, on rank 0.
  std::string earlier = {};
  /// Other jobs of this launch run on the machine; their load is not that of other programs.
  bool has_company = false;
  GpuMonitor* gpu = nullptr;  ///< of this rank; null: it computes on the processor
};

/// Runs the rank's role to its end. Rank 0 returns the records of all ranks and generations, in its own time
/// since the job began; the others return nothing. `clocks`: null if all ranks have the same clock.
/// Collective.
JobRun run_job(const Job& job, MpiContext& context, MPI_Comm communicator, const Recorded& recorded,
               JobClocks* clocks);
/// The same in a launch whose jobs share cache nodes and stores. `context`: of all ranks; `of_job`: decorates
/// it, as JobContext. Collective over all ranks of the launch.
JobRun run_sharing_job(const SharedLaunch& launch, MpiContext& context, Context& of_job,
                       const Recorded& recorded);

/// As OtherLoad::share, where `ours` is the time that all ranks computed. Collective.
double share_of_others(const OtherLoad& others, MPI_Comm communicator);
/// The name of this rank's machine, as MPI knows it.
std::string machine_name();
/// Every rank's text, by rank, on rank 0. Collective.
std::vector<std::string> gather_texts(MPI_Comm communicator, const std::string& own);

}  // namespace tandem
