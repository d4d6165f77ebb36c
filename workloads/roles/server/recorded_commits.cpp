#include "workloads/roles/server/recorded_commits.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tandem {

void RecordedCommits::begin(int worker) { workers_.at(static_cast<std::size_t>(worker)) = {}; }

void RecordedCommits::on_push(int worker, std::int64_t known) {
  Worker& one = workers_.at(static_cast<std::size_t>(worker));
  const std::int64_t before = std::exchange(one.known, known);
  if (before != known || !one.recorded) one.recorded = ahead_ ? before : known;
}

std::int64_t RecordedCommits::up_to(const std::function<bool(int worker)>& is_member) const {
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (std::size_t worker = 0; worker < workers_.size(); ++worker)
    if (workers_[worker].recorded && is_member(static_cast<int>(worker)))
      last = std::min(last, *workers_[worker].recorded);
  return last;
}

}  // namespace tandem
