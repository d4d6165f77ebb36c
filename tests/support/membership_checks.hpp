// What tests of machines that depart ask of the records of a job.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "workloads/records/metrics.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {

/// The rows of membership.csv with this event, in the order of time.
inline std::vector<MembershipRecord> changes_with(const Journal& journal, const std::string& event) {
  std::vector<MembershipRecord> changes;
  for (const auto& change : journal.membership)
    if (change.event == event) changes.push_back(change);
  return changes;
}
inline std::int64_t count_of_changes(const Journal& journal, const std::string& event) {
  return std::ssize(changes_with(journal, event));
}

/// What happened to a machine: its slot, incarnation, event and cause.
using Fate = std::tuple<int, std::int64_t, std::string, std::string>;

/// With their times, in the order of membership.csv.
inline std::vector<std::pair<double, Fate>> timed_fates(const Journal& journal) {
  std::vector<std::pair<double, Fate>> fates;
  for (const auto& change : journal.membership)
    fates.emplace_back(change.time.count(),
                       Fate(change.slot, change.incarnation, change.event, change.cause));
  return fates;
}
inline std::vector<Fate> fates(const Journal& journal) {
  std::vector<Fate> fates;
  for (auto& [time_s, fate] : timed_fates(journal)) fates.push_back(std::move(fate));
  return fates;
}

/// Of the commits, in their order.
inline std::vector<std::int64_t> rounds_of_commits(const Journal& journal) {
  std::vector<std::int64_t> rounds;
  for (const auto& commit : journal.commits) rounds.push_back(commit.round);
  return rounds;
}

/// Of the losses of samples that a job with 96 of them recorded: each was trained on that often.
inline void expect_uses(const Journal& journal, int least, int most) {
  std::map<std::int64_t, int> uses;
  for (const auto& loss : journal.losses) ++uses[loss.id];
  EXPECT_EQ(uses.size(), 96U);
  for (const auto& [id, count] : uses) {
    EXPECT_GE(count, least) << "sample " << id;
    EXPECT_LE(count, most) << "sample " << id;
  }
}

/// Of samples: processed = applied + dropped + pending + lost.
inline SampleCounts expect_samples_add_up(const RunInfo& info, const Journal& journal) {
  const SampleCounts samples = sample_counts(info, journal);
  EXPECT_EQ(samples.processed, *samples.applied + samples.dropped + *samples.pending + samples.lost);
  EXPECT_GE(samples.lost, 0);
  EXPECT_GE(*samples.pending, 0);
  return samples;
}

}  // namespace tandem::testing
