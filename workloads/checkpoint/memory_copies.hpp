// Commits in memory (checkpoint.to buddy): a rank's side of the copy that the keeper on another host has of
// its part. The keeper is roles/keeper.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "workloads/checkpoint/commit_part.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

class MemoryCopies {
 public:
  /// `has_part`: whether this rank has a part in commits. The arguments must outlive it.
  MemoryCopies(const Job& job, Context& context, bool has_part);

  /// Commits are in memory, and this rank has a part in them.
  bool is_enabled() const { return keeper_.has_value(); }
  /// Sends this rank's part of the commit after `round`, which is in its own memory. `kept`: copies of other
  /// rounds are not needed any more. Pre: is_enabled(), not is_open(). Errors: WorldError.
  void send(std::int64_t round, const KeptRounds& kept);
  /// A part was sent, and wait() has not been called yet.
  bool is_open() const { return !kept_.empty(); }
  /// A call of wait() would not block. Pre: is_open().
  bool is_kept() { return context_.is_done(kept_); }
  /// Waits until the keeper has the part; false: it could not keep it. Pre: is_open().
  bool wait();
  /// The job starts again from the commit after `round`: loads the part from this rank's own memory or, if
  /// that was lost, from the keeper, and replaces a copy that was lost. If the keeper cannot keep that copy,
  /// the commit remains with this rank alone, and the next commit tries again. Pre: is_enabled(). Errors:
  /// WorldError.
  void restore(std::int64_t round);
  /// Nothing more will be sent. Pre: is_enabled(), not is_open().
  void end(const KeptRounds& kept);

 private:
  void fetch(std::int64_t round);

  const Job& job_;
  Context& context_;
  std::optional<Rank> keeper_;
  std::optional<CommitPart> part_;
  std::array<Pending, 3> sent_;
  Pending kept_;
};

/// Restores copies where a job starts again, before a rank does anything else. Afterwards the part of the
/// commit from which it starts is in its own memory, and in that of its buddy, if that has room. Errors:
/// WorldError.
void restore_copies(const Job& job, Context& context);

}  // namespace tandem
