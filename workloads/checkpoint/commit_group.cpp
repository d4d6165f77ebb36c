#include "workloads/checkpoint/commit_group.hpp"

#include <algorithm>

#include "workloads/job/plan/commit_plan.hpp"

namespace tandem {

using Role = Roster::Role;

CommitGroup::CommitGroup(const Job& job, Rank rank)
    : job_(job),
      plan_(job.checkpoints().commits),
      rank_(rank),
      has_part_(has_part_in_commits(job, rank)),
      is_awaited_(std::ranges::find(plan_.parts, rank) != plan_.parts.end() &&
                  (!plan_.by_members || is_worker(rank))),
      // A worker that has departed would never confirm.
      confirms_records_(job.generation() != nullptr && plan_.announced.has_replies() &&
                        !job.roster().steward() && job.exchange().route() == sync::Route::server &&
                        !job.exchange().has_common_rounds()),
      parts_(plan_.parts),
      decider_(plan_.decider),
      writer_(job.checkpoints().writer),
      view_(job.generation() == nullptr ? 0 : job.generation()->number()) {}

void CommitGroup::begin_view(std::span<const int> workers, std::int32_t view) {
  is_in_view_ = true;
  view_ = view;
  parts_.clear();
  for (const int worker : workers)
    parts_.push_back(job_.roster().workers()[static_cast<std::size_t>(worker)]);
  decider_ = writer_ = parts_.front();
}

bool CommitGroup::is_worker(Rank rank) const { return job_.roster().assignment(rank).role == Role::worker; }

Bytes CommitGroup::size_of(Rank rank) const { return commit_size(job_, rank, rank == writer_); }

bool CommitGroup::announces_complete() const {
  return confirms_records() || (plan_.keep > 0 && plan_.are_parts_apart);
}

bool CommitGroup::listens() const {
  if (decides()) return false;
  if (plans_on_stream() && has_part_) return true;
  return announces_complete() && (has_part_ || (confirms_records() && is_worker(rank_)));
}

std::vector<Rank> CommitGroup::listeners() const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < job_.roster().size(); ++rank) {
    const bool has_part =
        changes() ? std::ranges::find(parts_, rank) != parts_.end() : has_part_in_commits(job_, rank);
    if (rank != rank_ && has_part) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace tandem
