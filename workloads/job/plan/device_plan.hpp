// The device of each rank of a job, and how long work takes on it. Simulation and real run both use this, so
// that they use the same devices.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "workloads/cost/cost_model.hpp"
#include "workloads/cost/disk_queue.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/cost/step_predictor.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/job_spec.hpp"
#include "workloads/job/plan/replica_plan.hpp"

namespace tandem {

class DevicePlan {
 public:
  /// Loads the profile and the predictor, if the experiment names them. `spec` and `roster` must outlive it.
  /// Errors: ConfigError for files of these that cannot be read, for bad properties of a disk, for a host's
  /// answer time that is none, and for bad costs of a server of a host with a rank; KeyError for two sources
  /// of the times of a step, and for steps that the predictor does not know, among them those of jobs whose
  /// batches change.
  DevicePlan(const JobSpec& spec, const Roster& roster, const ReplicaPlan& replica,
             const ExchangePlan& exchange);

  static constexpr const char* processor_kind = "processor";

  /// Errors: ConfigError for a host that the platform does not have.
  const platforms::Host& host_of(Rank rank) const;
  /// Number of the disk that files of the rank are on; none without a disk.
  std::optional<int> disk_of(Rank rank) const;
  /// How a disk of the rank's host serves requests: <prop id="tandem:latency"> (0 without one) and
  /// <prop id="tandem:parallel"> (1 without one) of the disk, or as measured. Pre: the host has the disk.
  DiskService disk_service(Rank rank, int disk) const;
  /// For a native disk: the numbers that a profile has measured, warm or cold as data.cold says; null: the
  /// platform's numbers.
  const Profile::DiskEntry* measured_disk() const { return measured_disk_; }
  /// The time that the bytes of an access alone take: bytes / rate; of states that are written, by
  /// physics.commit_predictor, if there is one. Pre: the host has the disk.
  Seconds disk_moving(Rank rank, int disk, const DiskAccess& access, bool write) const;
  /// The time in which the rank, a server or coordinator on an emulated device, answers a worker's report:
  /// <prop id="tandem:answer"> of its host, 0 without one. 0 with native devices: their own answers are part
  /// of measured messages.
  Seconds answer_time(Rank rank) const;
  /// What computes on a host in this job, or would if mathematics was real: the processor, or the GPU's name
  /// in the catalogue ("gpu" without one). Calibration assumes that hosts of one kind on one machine are
  /// equally fast.
  std::string kind_of(const platforms::Host& host) const;
  /// The same for a rank. A rank that computes nothing, or that the job does not have, needs no GPU.
  std::string kind_of(Rank rank) const;
  /// The rank computes on a GPU, which does sums and compressions of buckets in a queue of their own
  /// (is_of_finished_bucket).
  bool has_second_queue(Rank rank) const;
  /// The number of the GPU of its machine on which the rank really computes, if that GPU exists.
  std::optional<int> gpu_of(Rank rank) const;
  /// Whether GPU memory may be passed to an MPI that can read it.
  bool may_send_device_memory() const;
  /// Devices take as long as the platform says, also under the real clock.
  bool are_emulated() const { return spec_.experiment.run.devices == DeviceSpeed::emulated; }

  /// The time of work comes from a profile, where it was measured.
  bool are_calibrated() const { return prices_->profile() != nullptr; }

  /// The times that the user measured (workload.measured_step); null: none.
  const MeasuredPasses* measured() const { return prices_->measured(); }
  bool has_fitted_commits() const { return !state_s_per_byte_.empty(); }
  /// A step on devices of that name, by physics.predictor; null: without one, and for devices of no worker.
  const FittedStep* fitted_step(const std::string& device) const;
  const Profile* profile() const { return profile_.get(); }  ///< null without one
  /// Coefficient of variation of the computing times of the rank's device.
  double spread_of(Rank rank) const;
  /// The costs of a server that its host states, or of the directory; null for other ranks, and where the
  /// host states none.
  const ServerCost* server_cost(Rank rank) const;
  /// Prices work on the rank's device.
  CostModel cost_model(Rank rank) const;
  /// Whether both price all work alike, because their hosts have the same device.
  bool are_alike(Rank one, Rank other) const;

 private:
  struct FittedDevice {
    FittedStep step;
    std::shared_ptr<const PricedModel> prices;
  };
  void fit_steps(const ReplicaPlan& replica);
  void fit_commits(const ReplicaPlan& replica);

  const JobSpec& spec_;
  const Roster& roster_;
  bool are_native_;
  std::shared_ptr<const Profile> profile_;
  const Profile::DiskEntry* measured_disk_ = nullptr;    ///< of the profile
  const Profile::DiskEntry* measured_writes_ = nullptr;  ///< of the profile
  std::shared_ptr<const PricedModel> prices_;
  std::map<std::string, FittedDevice> fitted_;      ///< by device of workers; empty: no predictor
  std::map<std::string, double> state_s_per_byte_;  ///< by device; empty: no predictor
  std::vector<const platforms::Host*> hosts_;       ///< by rank; null: the platform has none of that name
  std::vector<std::vector<DiskService>> disk_services_;  ///< by rank, by disk of its host
  std::map<Rank, ServerCost> server_costs_;  ///< of servers whose hosts state them, and the directory
};

}  // namespace tandem
