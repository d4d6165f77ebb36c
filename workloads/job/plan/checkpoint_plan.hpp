// Which checkpoints and commits a job writes, where, and who writes them. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/checkpointing/buddies.hpp"
#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/job/plan/checkpoint_schedule.hpp"

namespace tandem {

/// How the ranks of a job learn after which rounds it commits.
struct CommitAnnouncement {
  enum class By {
    counting,  ///< every rank counts the rounds
    replies,   ///< workers learn of a commit with the replies of the rank that decides
    stream     ///< the rank that decides sends a message about each round to the others that have a part
  };
  By by = By::counting;
  /// Rounds from one commit to the next, if ranks count them: all ranks, or with replies all of several
  /// servers. 0: no rank counts.
  std::int64_t every = 0;
  /// How many rounds before the commit it is decided, so that every rank knows of it in time. 0 with a
  /// stream: no other rank has a part. With replies, other servers learn of it from the pushes that follow.
  int ahead = 0;

  bool has_replies() const { return by == By::replies; }
  bool has_replies_ahead() const { return has_replies() && ahead > 0; }
};

/// The states that a job commits by its checkpointing policy.
struct CommitPlan {
  std::string policy;  ///< of checkpointing::catalog(); empty: states are saved with the checkpoints
  checkpointing::Factory make = nullptr;
  Options options = {};
  CommitMode mode = CommitMode::blocking;
  CommitPlace to = CommitPlace::directory;
  checkpointing::Buddies buddies = {};  ///< of the hosts, where commits are in memory
  int keep = 0;                         ///< last commits whose files remain; 0: all
  int keep_every = 0;                   ///< rounds of a span whose first commit remains, too; 0: none
  CommitAnnouncement announced = {};
  Rank decider = 0;              ///< runs the policy
  std::vector<Rank> parts = {};  ///< the ranks whose states make a commit complete
  /// Workers come and go, and have the model: the present ones commit together, and the first of them
  /// decides. A coordinator writes its part before it replies. It counts the rounds too, or learns of the
  /// commit from the push of the worker that decides.
  bool by_members = false;
  bool at_end = false;  ///< a commit follows the last round, if the ranks know it in time

  bool commits_on_warning = false;  ///< the policy may commit on warnings, and ranks may be warned
  bool are_parts_apart = false;     ///< ranks do not see the files of all others

  bool is_enabled() const { return !policy.empty(); }
  /// Commits are lost with the machines that have them.
  bool are_on_machines() const { return to != CommitPlace::directory; }
  bool are_in_memory() const { return to == CommitPlace::buddy; }
  /// No rank counts the rounds of commits by itself, so a commit may follow any round. Not if workers come
  /// and go: one that joins or is behind would not learn that the job has ended.
  bool may_be_requested() const { return is_enabled() && !by_members && announced.every == 0; }
};

struct CheckpointPlan {
  std::string directory;         ///< the result directory
  std::int64_t every = 0;        ///< rounds between checkpoints; 0: none
  std::int64_t first_round = 0;  ///< the round after which this run begins; above 0 if the job is resumed
  bool has_model = false;        ///< mathematics is real: there are values to write
  /// Ranks may save their states. With modelled mathematics states have no vectors, and serve a job that
  /// starts again.
  bool has_states = false;
  Rank writer = 0;  ///< the first rank of those that hold the model
  /// The rank that evaluates: one of its own, or the first worker. Empty: none does.
  std::optional<Rank> evaluator = {};
  double stop_accuracy = 0.0;  ///< at which the job ends; 0: at none
  /// The ranks that wait for each evaluation and end the job at that accuracy; empty without one.
  std::vector<Rank> accuracy_deciders = {};
  CommitPlan commits = {};

  CheckpointSchedule schedule() const { return {every, first_round}; }
  /// Ranks write their own states, from which the job can be resumed.
  bool keeps_states() const { return has_states && (every > 0 || commits.is_enabled()); }
  /// Ranks write their states with each checkpoint.
  bool keeps_states_with_checkpoints() const { return keeps_states() && !commits.is_enabled(); }
};

}  // namespace tandem
