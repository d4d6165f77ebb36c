// A job from its begin to its end, where machines may depart: its members as every simulation decides them,
// and rounds of a known duration in the place of messages.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/records/launches.hpp"
#include "workloads/records/records.hpp"

namespace tandem::priced {

/// What training waits for.
struct CommitTimes {
  Seconds write;                          ///< of all parts: servers first, then workers
  Seconds read;                           ///< of the last commit, by all ranks at the same time
  Bytes size{0};                          ///< of all parts
  std::vector<std::string> without_disk;  ///< hosts of ranks with a part
};
/// Ranks of one host use its disk one after the other; without a disk they take no time.
CommitTimes commit_times(const Job& job);

/// The work of one worker.
struct WorkOfRound {
  std::array<Seconds, phase_count> phases{};  ///< the exchange takes the rest of the round
  double samples = 0.0;
  double bytes_sent = 0.0, bytes_received = 0.0;
};

struct LifeSetting {
  std::int64_t rounds = 0;
  bool waits_for_all = true;  ///< each worker for every other one
  /// Duration of a round with the workers in these slots, at least one. Called often.
  std::function<Seconds(const std::vector<int>& slots)> round;
  std::vector<WorkOfRound> work{};  ///< by slot; empty: none is recorded
  /// A life that takes so many times as long as without departures is cut off; 0: none is.
  double most_times = 0.0;
};

struct Life {
  Seconds makespan;  ///< or when it gave up
  /// The members, and for each worker one step in the place of all those that it does between two changes,
  /// and one commit in the place of theirs.
  Journal journal;
  std::vector<LaunchRecord> generations;  ///< of a job that starts again
  std::int64_t departures = 0;            ///< of machines of workers
  double lost_rounds = 0.0;               ///< that were done again
  std::int64_t commits = 0;
  std::string gave_up;  ///< why the job did not end; empty: it did
  bool is_cut = false;  ///< it did not end by LifeSetting::most_times
};

/// What differs from the job.
struct Change {
  double rounds = 1.0;  ///< factor on the duration of a round
  double lives = 1.0;   ///< factor on the times of machines' fates, with the same draws
};

class JobLife {
 public:
  /// `job` must outlive it. Errors: ConfigError for recovery and commits without a closed form, naming the
  /// key.
  JobLife(const Job& job, LifeSetting setting);

  /// The fates of the machines follow from the seed alone; those of the job itself from the seed of its
  /// experiment.
  Life live(std::uint64_t seed, const Change& change = {}) const;

  /// None: the job does not commit.
  const CommitTimes& commit() const { return commit_; }

 private:
  const Job& job_;
  LifeSetting setting_;
  CommitTimes commit_{};
  std::int64_t every_ = 0;  ///< rounds between commits; 0: none
};

}  // namespace tandem::priced
