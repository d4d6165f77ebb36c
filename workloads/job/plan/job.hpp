// A job that is ready to be simulated or run: its parts, each built once from the resolved experiment and
// platform. Both executables build it from the same document and start the same roles from it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platforms/description_network.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"
#include "workloads/job/plan/checkpoint_plan.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/job/plan/device_plan.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/generation.hpp"
#include "workloads/job/plan/job_spec.hpp"
#include "workloads/job/plan/notices.hpp"
#include "workloads/job/plan/progress.hpp"
#include "workloads/job/plan/replica_plan.hpp"
#include "workloads/job/plan/resume_point.hpp"

namespace tandem {

/// Its parts keep their addresses when it is moved.
class Job {
 public:
  /// `directory`: the result directory. `network`: between the workers' hosts, if it is known. `locate`: as
  /// in JobSpec. Errors: ConfigError.
  Job(Experiment experiment, platforms::Description platform, std::string directory,
      const platforms::Network& network = {}, Locate locate = {});
  /// `all_reduce`: an earlier plan, if workers sum by an all-reduce.
  Job(JobSpec spec, std::optional<AllReducePlan> all_reduce);

  const JobSpec& spec() const { return parts_->spec; }
  const ResolvedExperiment& chosen() const { return parts_->chosen; }
  const Roster& roster() const { return parts_->roster; }
  const DataPlan& data() const { return parts_->data; }
  const ReplicaPlan& replica_plan() const { return parts_->replica; }
  /// The plan of a rank that gets the model from others: the commit from which the job continues may be
  /// removed by then.
  ReplicaPlan replica_plan_of_arrival() const;
  const ModelDescription& model() const { return *parts_->replica.description; }
  const ExchangePlan& exchange() const { return parts_->exchange; }
  const DevicePlan& devices() const { return parts_->devices; }
  const CheckpointPlan& checkpoints() const { return parts_->checkpoints; }
  const StopRule& stop() const { return parts_->stop; }
  StopRule& stop() { return parts_->stop; }
  bool real_math() const { return parts_->spec.real_math(); }

  /// The checkpoint from which the job is resumed; null: a new job.
  const ResumePoint* resume() const { return parts_->resume ? &*parts_->resume : nullptr; }
  void resume_from(ResumePoint point);
  /// The job begins from no checkpoint. Pre: it was not resumed, or from a checkpoint of equally many
  /// workers.
  void begin_anew();

  /// The launch of a job that starts again when a rank dies; null: the job ends then.
  const Generation* generation() const { return parts_->generation ? &*parts_->generation : nullptr; }
  void set_generation(Generation generation);
  /// It continues from a checkpoint that an earlier generation wrote into its own result directory.
  bool is_restarted() const { return generation() != nullptr && generation()->continues; }

  /// Number of workers to which learning rate and batch refer: of those with which the job was begun.
  int all_workers() const;

  /// Notices that the process gets from outside while it runs.
  const Notices& notices() const { return parts_->notices; }
  void set_notices(Notices notices) { parts_->notices = std::move(notices); }

  /// Ranks write into directories that not all of them see.
  void set_files_apart() { parts_->checkpoints.commits.are_parts_apart = true; }

  /// Workers record the loss of every sample. Pre: real_math().
  bool records_losses() const { return parts_->records_losses; }
  void record_losses();

  /// Whether this worker decodes its next batch while its GPU still computes: if the batch is requested in
  /// advance and no exchange can still change its size. The same in both worlds.
  bool loads_ahead(Rank worker) const;

 private:
  struct Parts {
    explicit Parts(JobSpec given);
    JobSpec spec;
    ResolvedExperiment chosen;
    Roster roster;
    DataPlan data;
    ReplicaPlan replica;
    ExchangePlan exchange;
    DevicePlan devices;
    CheckpointPlan checkpoints;
    StopRule stop;
    std::optional<ResumePoint> resume;
    std::optional<Generation> generation;
    Notices notices;
    bool records_losses = false;
  };
  explicit Job(JobSpec spec);
  void schedule_for_all_workers();

  std::unique_ptr<Parts> parts_;
};

/// The setting of an all-reduce among these workers, by the experiment's collective.
AllReduceSetting all_reduce_setting(const Job& job, std::span<const Rank> workers,
                                    std::vector<std::int64_t> bucket_elements);

}  // namespace tandem
