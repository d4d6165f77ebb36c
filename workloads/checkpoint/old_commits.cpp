#include "workloads/checkpoint/old_commits.hpp"

#include <cstddef>

namespace tandem {
namespace {

/// The first commit of a span always stays, so the remaining ones show which it was.
bool is_first_of_span(std::span<const std::int64_t> written, std::size_t index, std::int64_t every) {
  const std::int64_t span = written[index] / every;
  return span > 0 && (index == 0 || written[index - 1] / every < span);
}

}  // namespace

std::vector<std::int64_t> commits_to_remove(std::span<const std::int64_t> written,
                                            std::optional<std::int64_t> complete, const KeepRule& rule) {
  std::vector<std::int64_t> removed;
  const auto keep = static_cast<std::size_t>(rule.keep);
  if (rule.keep == 0 || written.size() <= keep) return removed;
  if (!complete && rule.waits_for_complete) return removed;
  for (std::size_t index = 0; index < written.size() - keep; ++index) {
    const std::int64_t round = written[index];
    const bool stays = round == complete || (rule.later_stay && complete && round > *complete) ||
                       (rule.every > 0 && is_first_of_span(written, index, rule.every));
    if (!stays) removed.push_back(round);
  }
  return removed;
}

}  // namespace tandem
