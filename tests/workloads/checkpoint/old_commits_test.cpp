// Which commits a rank removes: never the last one from which the job can start again.
#include "workloads/checkpoint/old_commits.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

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

TEST(OldCommits, WithoutACompleteOneAllStayWhereRanksAreTold) {
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15}, std::nullopt, {.keep = 1, .waits_for_complete = true}),
            Rounds{});
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15}, std::nullopt, {.keep = 1}), (Rounds{5, 10}));
}

/// Servers of workers that come and go hear at different times up to which round workers have written their
/// records: with one server at 10 and the other at 15, both have the commit of 15, or both that of 10.
TEST(OldCommits, LaterOnesStayWhereAnotherServerMayCountThem) {
  const KeepRule rule{.keep = 1, .waits_for_complete = true, .later_stay = true};
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 10, rule), Rounds{5});
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, 15, rule), (Rounds{5, 10}));
  EXPECT_EQ(commits_to_remove(Rounds{5, 10, 15, 20}, std::nullopt, rule), Rounds{});
}

}  // namespace
}  // namespace tandem
