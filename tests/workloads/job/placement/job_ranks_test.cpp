// Which rank of a launch is which rank of which job, where jobs share cache nodes and stores.
#include "workloads/job/placement/job_ranks.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace TANDEM_FILE {

using Ranks = std::vector<Rank>;
using Place = JobRanks::Place;

Experiment experiment_of(int workers, bool reads, bool evaluates = false) {
  Experiment experiment;
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.workers.assign(static_cast<std::size_t>(workers), "w");
  if (reads) {
    experiment.data.source = DataSource::storage;
    experiment.placement.cache_nodes = {"n", "m"};
    experiment.placement.stores = {"s"};
  }
  if (evaluates) {
    experiment.evaluate_every = 1;
    experiment.placement.evaluator = "e";
  }
  return experiment;
}

Ranks addresses(const JobRanks& ranks, Rank rank) {
  const auto all = ranks.addresses(rank);
  return {all.begin(), all.end()};
}

std::vector<Place> places(const JobRanks& ranks, Rank rank) {
  const auto all = ranks.places(rank);
  return {all.begin(), all.end()};
}

TEST(RanksOfJobs, FollowEachOtherWhereNothingIsShared) {
  const Roster first(experiment_of(2, true)), second(experiment_of(1, true, true));
  for (const bool one_shares : {false, true}) {
    const RankedJob jobs[] = {{.roster = &first, .shares = one_shares}, {.roster = &second}};
    const JobRanks ranks(jobs);
    EXPECT_EQ(ranks.size(), 10);
    EXPECT_EQ(ranks.of(0), (Ranks{0, 1, 2, 3, 4}));
    EXPECT_EQ(ranks.of(1), (Ranks{5, 6, 7, 8, 9}));
    EXPECT_EQ(ranks.own(7), (Place{1, 2}));
    EXPECT_EQ(addresses(ranks, 7), ranks.of(1));
    EXPECT_FALSE(ranks.any_shared());
    EXPECT_TRUE(ranks.sharing_with(0).empty());
  }
}

class SharedRanks : public ::testing::Test {
 protected:
  /// The second job begins first, so the nodes are its own; the third has none.
  SharedRanks()
      : first_(experiment_of(2, true, true)),
        second_(experiment_of(1, true)),
        third_(experiment_of(1, false)) {}
  JobRanks ranks() const {
    const RankedJob jobs[] = {
        {&first_, Seconds(5), true}, {&second_, Seconds(0), true}, {&third_, Seconds(0)}};
    return JobRanks(jobs);
  }
  Roster first_, second_, third_;
};

TEST_F(SharedRanks, BelongToTheJobThatBeginsFirstAndServeAll) {
  const JobRanks all = ranks();
  EXPECT_EQ(all.size(), 8);
  EXPECT_EQ(all.of(1), (Ranks{3, 4, 5, 6}));
  // Two workers, the nodes and the store of the second job, and an evaluator.
  EXPECT_EQ(all.of(0), (Ranks{0, 1, 4, 5, 6, 2}));
  EXPECT_EQ(all.of(2), (Ranks{7}));
  EXPECT_EQ(places(all, 5), (std::vector<Place>{{1, 2}, {0, 3}}));
  EXPECT_EQ(places(all, 2), (std::vector<Place>{{0, 5}}));
  EXPECT_TRUE(all.is_shared(6));
  EXPECT_FALSE(all.is_shared(3));
  EXPECT_EQ(all.sharing_with(0), (std::vector<std::size_t>{1}));
  EXPECT_EQ(all.sharing_with(1), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(all.sharing_with(2).empty());
  EXPECT_EQ(addresses(all, 4), (Ranks{3, 4, 5, 6, 0, 1, 4, 5, 6, 2}));
  EXPECT_EQ(addresses(all, 0), all.of(0));
}

TEST_F(SharedRanks, AreTheSameWhenReadFromADocument) {
  const JobRanks all = ranks();
  const Seconds starts[] = {Seconds(5), Seconds(0), Seconds(0)};
  const JobRanks again({all.of(0), all.of(1), all.of(2)}, starts);
  for (Rank rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(places(again, rank), places(all, rank)) << rank;
    EXPECT_EQ(addresses(again, rank), addresses(all, rank)) << rank;
  }
}

TEST_F(SharedRanks, EndWithTheLastJobAndCountForIt) {
  const JobRanks all = ranks();
  std::vector<Seconds> ends;
  for (const double end : {10.0, 12.0, 11.0, 8.0, 12.5, 12.4, 13.0, 20.0}) ends.emplace_back(end);
  EXPECT_EQ(all.end(0, ends), Seconds(13));
  EXPECT_EQ(all.end(1, ends), Seconds(8));
  EXPECT_EQ(all.end(2, ends), Seconds(20));
  ends[3] = Seconds(12.25);
  EXPECT_EQ(all.end(0, ends), Seconds(12));
  EXPECT_EQ(all.end(1, ends), Seconds(13));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
