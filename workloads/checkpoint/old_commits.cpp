#include "workloads/checkpoint/old_commits.hpp"

namespace tandem {

std::vector<std::int64_t> commits_to_remove(std::span<const std::int64_t> written,
                                            std::optional<std::int64_t> complete, const KeepRule& rule) {
  std::vector<std::int64_t> removed;
  const auto keep = static_cast<std::size_t>(rule.keep);
  if (rule.keep == 0 || written.size() <= keep) return removed;
  if (!complete && rule.waits_for_complete) return removed;
  for (const std::int64_t round : written.first(written.size() - keep)) {
    const bool stays = round == complete || (rule.later_stay && complete && round > *complete);
    if (!stays) removed.push_back(round);
  }
  return removed;
}

}  // namespace tandem
