// Which commits a rank removes: never the last one from which the job can start again.
#include "workloads/checkpoint/old_commits.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace TANDEM_FILE {

using Rounds = std::vector<std::int64_t>;

TEST(OldCommits, AreThoseBeforeTheLastOnes) {
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 20, {.keep = 2}), (Rounds{5, 10}));
  EXPECT_EQ(commits_to_remove(Rounds{5, 10}, 10, {.keep = 2}), Rounds{});
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 20, {.keep = 0}), Rounds{}) << "all stay";
  EXPECT_EQ(commits_to_remove(Rounds{}, std::nullopt, {.keep = 2}), Rounds{});
}

/// The last commits may be incomplete: other ranks still write them, or could not.
TEST(OldCommits, TheLatestCompleteOneStays) {
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 10, {.keep = 1}), (Rounds{5, 15}));
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 5, {.keep = 1}), (Rounds{10, 15}));
}

TEST(OldCommits, WithoutACompleteOneAllStayWhereRanksAreNotified) {
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15}, std::nullopt, {.keep = 1, .waits_for_complete = true}),
            Rounds{});
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15}, std::nullopt, {.keep = 1}), (Rounds{5, 10}));
}

/// Servers of workers that come and go learn at different times up to which round workers have written their
/// records: with one server at 10 and the other at 15, both have the commit of 15, or both that of 10.
TEST(OldCommits, LaterOnesStayWhereAnotherServerMayCountThem) {
  const KeepRule rule{.keep = 1, .waits_for_complete = true, .later_stay = true};
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 10, rule), Rounds{5});
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 15, rule), (Rounds{5, 10}));
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, std::nullopt, rule), Rounds{});
}

TEST(OldCommits, TheFirstOfEachSpanOfRoundsStays) {
  const KeepRule rule{.keep = 1, .every = 20};
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 20, 25, 30}, 30, rule), (Rounds{5, 10, 25}));
  EXPECT_EQ(commits_to_remove(Rounds{7, 14, 21, 28, 35, 42, 49}, 49, rule), (Rounds{7, 14, 28, 35}))
      << "rounds of commits need not be multiples";
}

/// Each commit is written, then what is too much goes: the result is that of one removal at the end.
TEST(OldCommits, OfSpansDoNotDependOnWhatWasRemovedBefore) {
  const KeepRule rule{.keep = 2, .every = 10};
  Rounds written, all;
  for (std::int64_t round = 3; round < 100; round += 3 + round % 4) {
    written.push_back(round);
    all.push_back(round);
    for (const std::int64_t gone : commits_to_remove(written, round, rule)) std::erase(written, gone);
  }
  for (const std::int64_t gone : commits_to_remove(all, all.back(), rule)) std::erase(all, gone);
  EXPECT_EQ(written, all);
  EXPECT_EQ(written.size(), 10u);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
