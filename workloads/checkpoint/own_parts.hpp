// This rank's parts of commits: writes the next one, and removes those that no rank needs any more. Files
// exist only where states are kept (CheckpointPlan::has_states); times are the same without.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "workloads/checkpoint/commit_files.hpp"
#include "workloads/checkpoint/commit_group.hpp"
#include "workloads/checkpoint/commit_protocol.hpp"
#include "workloads/checkpoint/part_writer.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class OwnParts {
 public:
  /// The arguments must outlive it.
  OwnParts(const Job& job, Context& context, const CommitGroup& group);

  /// There is a state to write.
  bool has_files() const { return has_files_; }
  Bytes size() const { return writer_.size(); }
  /// Looks for the files that earlier generations, or earlier workers in this slot, have left.
  void find();
  /// Another view of the members begins: another rank may write the model.
  void follow_group() { writer_.set_size(group_.size_of(group_.rank())); }
  /// Where servers commit for workers that come and go: all workers have written their records up to this
  /// commit. The last commit for which that is true stays, with those after it. None: records do not matter.
  void set_recorded(std::optional<std::int64_t> round);

  /// The job computes from this round on.
  void begin_at(std::int64_t round) { begun_ = round; }
  /// The commit after this round begins, for which training waits since `started`. Pre: the last part is
  /// written.
  void begin(std::int64_t round, Seconds started);
  /// The round of the last commit, or where the job began.
  std::int64_t begun() const { return begun_; }
  /// Training waits until the part is written, or in the background until it is copied.
  void write(PartOfCommit part);
  bool is_writing() const { return writer_.is_writing(); }
  /// How long training waited for the last part.
  Seconds blocked() const { return blocked_; }
  /// The message that the last part is stored, or could not be. Returned once, when the part has been
  /// written. `waits`: waits for that.
  std::optional<protocol::Stored> take_stored(bool waits);

  /// Removes commits that have failed.
  void remove(std::span<const std::int64_t> rounds) { remove_files(written_.take(rounds)); }
  /// Removes all but the last `keep` and the last complete one. `counted`: CommitKnowledge.
  void remove_old(int keep, std::int64_t counted);
  /// Lists the workers of this commit, if it needs such a list. False: the list cannot be written.
  bool list_members(std::int64_t round) const;
  /// No more parts follow.
  void finish() { writer_.finish(written_.kept(begun_)); }

 private:
  bool is_complete(std::int64_t round, std::int64_t counted) const;
  std::function<bool()> saving(PartOfCommit part);
  void remove_files(std::span<const WrittenParts::Part> parts) const;

  const Job& job_;
  Context& context_;
  const CommitGroup& group_;
  bool has_files_;
  CommitFiles files_;
  WrittenParts written_;
  PartWriter writer_;
  std::optional<std::int64_t> recorded_;
  std::int64_t begun_;
  bool is_stored_ = true;  ///< the last part, and its message was taken
  Seconds started_{};      ///< the last commit
  Seconds blocked_{};
};

}  // namespace tandem
