#include "workloads/records/records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tandem {
namespace {

template <class Record>
void move_to_end(std::vector<Record>& target, std::vector<Record>& source) {
  target.insert(target.end(), std::make_move_iterator(source.begin()), std::make_move_iterator(source.end()));
}

/// As a stable sort of both; `target` is sorted, and most journals have nothing to add.
void merge_by_time(std::vector<MembershipRecord>& target, std::vector<MembershipRecord>& source) {
  const auto before = std::ssize(target);
  move_to_end(target, source);
  const auto added = target.begin() + before;
  std::ranges::stable_sort(added, target.end(), {}, &MembershipRecord::time);
  std::ranges::inplace_merge(target, added, {}, &MembershipRecord::time);
}

}  // namespace

OperationRecord record_of_copy(Rank rank, bool out, std::int64_t bytes, Seconds start, Seconds end) {
  return {
      .rank = rank, .kind = "copy", .work = out ? "out" : "in", .bytes = bytes, .start = start, .end = end};
}

void Journal::complete() {
  for (const auto& add_figures : std::exchange(later, {})) add_figures(*this);
}

void Journal::note_applied(Rank worker, int staleness_of_push, std::int64_t samples) {
  const std::pair place{worker, staleness_of_push};
  const auto place_of = [](const StalenessRecord& record) {
    return std::pair{record.rank, record.staleness};
  };
  auto at = std::lower_bound(
      staleness.begin(), staleness.end(), place,
      [&](const StalenessRecord& record, const auto& wanted) { return place_of(record) < wanted; });
  if (at == staleness.end() || place_of(*at) != place)
    at = staleness.insert(at, StalenessRecord{.rank = worker, .staleness = staleness_of_push});
  ++at->pushes;
  at->samples += samples;
}

CacheRecord& cache_record(std::vector<CacheRecord>& records, Rank rank, std::int64_t epoch,
                          const std::string& from) {
  // Those of the newest epoch come last.
  const auto found = std::find_if(records.rbegin(), records.rend(), [&](const CacheRecord& record) {
    return record.rank == rank && record.epoch == epoch && record.from == from;
  });
  if (found != records.rend()) return *found;
  return records.emplace_back(CacheRecord{.rank = rank, .epoch = epoch, .from = from});
}

void Journal::append(Journal&& other) {
  keep_decisions = keep_decisions || other.keep_decisions;
  move_to_end(steps, other.steps);
  move_to_end(evaluations, other.evaluations);
  move_to_end(commits, other.commits);
  // The duty of recording them may move from rank to rank.
  std::ranges::stable_sort(commits, {}, &CommitRecord::round);
  move_to_end(decisions, other.decisions);
  move_to_end(caches, other.caches);
  move_to_end(requests, other.requests);
  move_to_end(deliveries, other.deliveries);
  move_to_end(losses, other.losses);
  move_to_end(staleness, other.staleness);
  move_to_end(operations, other.operations);
  merge_by_time(membership, other.membership);
  move_to_end(gpus, other.gpus);
  move_to_end(later, other.later);
  missed_deadlines += other.missed_deadlines;
  dropped_samples += other.dropped_samples;
  split_samples += other.split_samples;
  // A worker that takes over the duty of the last one to record them records the same.
  counted_rounds = std::max(counted_rounds, other.counted_rounds);
  accepted_samples += other.accepted_samples;
  discarded_messages += other.discarded_messages;
  failed_commits += other.failed_commits;
  skipped_steps += other.skipped_steps;
  cpu_wait = std::max(cpu_wait, other.cpu_wait);
  other_load = std::max(other_load, other.other_load);
}

}  // namespace tandem
