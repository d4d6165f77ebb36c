// Which of the commits that a rank has written it removes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

struct KeepRule {
  int keep = 0;  ///< the last ones; 0: all
  /// While no commit is known to be complete, all stay.
  bool waits_for_complete = false;
  /// Commits after the latest complete one stay, too: another rank may know that one of them is complete, or
  /// one of them counts when all records up to it are written.
  bool later_stay = false;
  /// Messages alone say which commits are complete: nothing is known about earlier ones.
  bool by_messages = false;
  /// Rounds: the first commit in each span of this length stays, too, but for the first span. 0: none.
  std::int64_t every = 0;
};

/// Those of `written`, in the order of rounds. `complete`: the latest of them that is known to be complete,
/// which always stays; none: none is known.
std::vector<std::int64_t> commits_to_remove(std::span<const std::int64_t> written,
                                            std::optional<std::int64_t> complete, const KeepRule& rule);

}  // namespace tandem
