// Which of the commits that a rank has written it removes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem {

struct KeepRule {
  int keep = 0;  ///< the last ones; 0: all
  /// While none is known to be complete, all stay.
  bool waits_for_complete = false;
  /// Those after the latest complete one stay, too: another rank may take one of them for that.
  bool later_stay = false;
  /// Which commits are complete is known by messages alone: about earlier ones nothing is known.
  bool is_told = false;
  /// Rounds; the first commit of each span of so many stays, too, but for the first span.
  /// 0: none.
  std::int64_t every = 0;
};

/// Of `written`, in the order of rounds. `complete`: the latest of them that is known to be complete, which
/// always stays; none: none is.
std::vector<std::int64_t> commits_to_remove(std::span<const std::int64_t> written,
                                            std::optional<std::int64_t> complete, const KeepRule& rule);

}  // namespace tandem
