// The progress of the job, as a parameter server counts it: rounds, samples, versions of the model, what
// each worker has pushed, and whether the job ends. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/job/plan/progress.hpp"
#include "workloads/job/plan/round_counter.hpp"
#include "workloads/protocol.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class ServerProgress {
 public:
  struct Setting {
    std::size_t workers = 0;
    bool counts_updates = false;  ///< rounds are updates; otherwise pushes
    bool is_alone = false;        ///< no other server
    bool is_lockstep = false;     ///< workers wait for each other in every round
  };
  /// `stop`: must outlive it.
  ServerProgress(const Setting& setting, const StopRule& stop)
      : setting_(setting),
        stop_(stop),
        rounds_(static_cast<int>(setting.workers)),
        workers_(setting.workers) {}

  bool counts_updates() const { return setting_.counts_updates; }
  std::int64_t rounds() const { return rounds_.rounds(); }
  bool is_between_rounds() const { return rounds_.is_between_rounds(); }
  std::int64_t samples() const { return samples_; }
  int version() const { return version_; }

  /// The last key of a push, or of an update, is complete.
  void count_push(int worker, const protocol::Push& push);
  void count_update();
  void set_pushes_per_round(int pushes) { rounds_.set_events_per_round(pushes); }
  /// Number of the round of the update in progress. `is_last_key`: the pushes of its round are counted.
  std::int64_t round_of_update(bool is_last_key) const {
    return is_last_key && !setting_.counts_updates ? rounds_.current() : rounds_.rounds();
  }

  // `now`: on the clock of this launch of the job.
  /// Since the job began, also where it was resumed.
  Seconds since_begin(Seconds now) const { return before_ + now; }
  Progress progress(Seconds now) const {
    return {.rounds = rounds(), .samples = samples_, .now = since_begin(now)};
  }
  double fraction_done(Seconds now) const { return stop_.fraction_done(progress(now)); }
  /// The round that has ended is the last one, and all servers know it.
  bool is_last_round(Progress reached) const;
  /// Time and version as the policy counts them: the policy may be newer than the job.
  Seconds time_of_policy(Seconds now) const { return since_begin(now) - policy_began_; }
  int version_of_policy(int version) const { return version - policy_version_; }
  /// The job is resumed with a new policy.
  void begin_policy() {
    policy_version_ = version_;
    policy_began_ = before_;
  }

  /// The job ends.
  bool is_stopping() const { return stopping_; }
  void stop_if(bool stops) { stopping_ = stopping_ || stops; }
  /// The last update was made after that was known.
  bool has_stopped() const { return stopped_; }
  void stop_after_update(bool stops) { stopping_ = stopped_ = stopping_ || stops; }

  /// All workers of a slot.
  struct OfWorker {
    std::int64_t pushes = 0;
    std::int64_t samples = 0;
    std::int64_t steps = 0;
    int batch = 0;  ///< that the last worker was granted last; 0: none
    int local_steps = 0;
  };
  const OfWorker& worker(int index) const { return workers_.at(static_cast<std::size_t>(index)); }
  void grant(int worker, int batch, int local_steps);
  /// A newcomer was granted nothing.
  void begin_worker(int worker);
  /// By slot.
  std::vector<std::int64_t> samples_by_worker() const;

  void serialise(StateArchive& state, Seconds now);

 private:
  Setting setting_;
  const StopRule& stop_;
  RoundCounter rounds_;
  std::int64_t samples_ = 0;
  int version_ = 0;
  Seconds before_{};        ///< how long the job had run before it was resumed
  Seconds policy_began_{};  ///< the time and the version when the policy was new
  int policy_version_ = 0;
  std::vector<OfWorker> workers_;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace tandem
