// The launches of a job that starts again when a rank dies (recovery.mode: restart), each a generation of its
// ranks in the same result directory. Plain data with a JSON form.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/resume_point.hpp"
#include "workloads/records/launches.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// A generation that a rank's death, a departure or an arrival ended.
struct EndedGeneration {
  std::optional<Seconds> began;  ///< since time zero of the first generation; none: it ended before it began
  std::int64_t round = 0;        ///< from which it continued; 0: from the beginning
  Seconds launched{0};           ///< since time zero of the first one; 0: this was the first
  std::string reason;            ///< why it ended
  std::optional<std::int64_t> lost_samples =
      {};                       ///< of its finished steps that are done again; none: unknown
  std::vector<int> slots = {};  ///< as Generation::slots; empty: of all workers
  /// As ResumePoint::deals: the deals before that of this generation.
  std::vector<sampling::Deal> deals = {};
  /// The latest complete commit, if machines took the last copy of a part with them; none: they did not.
  std::optional<std::int64_t> lost_commit = {};
  std::string died_on = {};  ///< the host of the rank that died by itself; empty: a machine departed or came
};

/// A part of a commit, named as the rank that wrote it, goes from one machine to another.
struct PartMove {
  RankAssignment part;  ///< and the host that has it
  std::string to;
};

struct Generation {
  /// System clock at time zero of the first generation that had one, in seconds since 1970; 0: this is the
  /// first.
  double first_start_s = 0.0;
  Seconds began{
      0};  ///< time zero of this one since then: agreed when the ranks are ready, not in the JSON form
  std::vector<EndedGeneration> ended = {};  ///< the generations before this one, in order
  Seconds launched{0};  ///< since then, when its ranks were launched; 0: this is the first
  /// It starts from a checkpoint that an earlier generation has written; otherwise it begins as the first
  /// one did.
  bool continues = false;
  /// The point from which the first generation was resumed: a round of another result directory.
  std::optional<ResumePoint> origin = {};

  /// Hosts of all workers, one for each slot; empty: every generation so far has had all of them.
  std::vector<std::string> hosts = {};
  /// Slots of the workers of this generation, in ascending order: worker i is in slots[i]. Empty if `hosts`
  /// is.
  std::vector<int> slots = {};
  /// Moves before it continues, if commits are in memory and `hosts` is not empty.
  std::vector<PartMove> moves = {};

  /// Events of the machines until the drawn end of this generation, and the decisions of the launcher's
  /// policy: known in advance, in the order of time.
  std::vector<MembershipRecord> membership = {};
  std::vector<TimedDecision> decisions = {};
  std::vector<DrawnWarning> warnings = {};  ///< of the machines that this generation has, in order

  /// Counted from 0.
  int number() const { return static_cast<int>(ended.size()); }
};

nlohmann::json to_json(const Generation& generation);
/// Inverse of to_json.
Generation generation_from_json(const nlohmann::json& document);
/// The slots of a generation's workers, counted as Generation::number(). Pre: `hosts` is not empty.
std::vector<int> slots_of(const Generation& generation, int number);

/// `generations` of run.json. `round`: from which the last one continued.
std::vector<LaunchRecord> describe_generations(const Generation& generation, std::int64_t round);

/// The file in which rank 0 writes the system clock at time zero of a generation. Its name makes it one of
/// those that other machines bring into the result directory as soon as they are written.
std::string start_path(const std::string& directory, int generation);
/// The time in that file; none: the generation did not reach its time zero.
std::optional<double> start_in(const std::string& directory, int generation);
/// Errors: WorldError.
void write_start(const std::string& directory, int generation, double start_s);

}  // namespace tandem
