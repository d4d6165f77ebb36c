// The files of commits that one rank writes and removes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/checkpoint/commit_group.hpp"
#include "workloads/checkpoint/commit_protocol.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// The part of a commit that a rank writes. Empty with modelled mathematics.
struct PartOfCommit {
  SavedState state = {};
  std::vector<float> model = {};  ///< flat; of the rank that writes checkpoints
  bool model_stays = false;       ///< its file is also that of an evaluation, and is not removed
  bool is_whole = true;           ///< false: a file that belongs to it could not be written
};

class CommitFiles {
 public:
  /// The arguments must outlive it.
  CommitFiles(const Job& job, const CommitGroup& group);

  void create_directories() const;

  /// The parts that earlier generations, or earlier workers in its slot, have written. They are removed by
  /// the same rule.
  std::vector<WrittenParts::Part> find() const;
  /// Returns false, and leaves nothing, if the part cannot be written. Errors: none.
  bool save(std::int64_t round, PartOfCommit& part, bool with_model) const;
  void remove(const WrittenParts::Part& part) const;
  /// After generations with other ranks: removes all parts of earlier rounds.
  void remove_before(std::int64_t round) const;
  /// Whether the commit is complete, by the files that this rank sees.
  bool are_complete(std::int64_t round) const;
  /// Lists the workers that wrote the commit, if workers come and go: their parts alone do not show whether
  /// it is complete. False: the list cannot be written.
  bool list_members(std::int64_t round) const;

 private:
  std::vector<RankAssignment> own_and_absent() const;
  bool is_evaluated(std::int64_t round) const;

  const Job& job_;
  const CommitGroup& group_;
  const Roster& roster_;
  const RankAssignment& assignment_;
  std::string directory_;  ///< where this rank writes its parts
};

}  // namespace tandem
