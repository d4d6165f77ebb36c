// What jobs on one cache hit, and the most that they can.
#include "workloads/records/shared_cache.hpp"

#include <gtest/gtest.h>

#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/jobs_fields.hpp"

namespace tandem {
namespace TANDEM_FILE {

Journal journal_of(const std::vector<std::pair<std::string, std::int64_t>>& rows) {
  Journal journal;
  for (const auto& [from, samples] : rows)
    journal.caches.push_back({.rank = 1, .from = from, .samples = samples, .bytes = 10 * samples});
  return journal;
}

TEST(SharedCaches, CountWhatComesFromTheTiersOfANode) {
  const auto use = use_of_cache("a", journal_of({{"tier0", 3},
                                                 {"tier1", 2},
                                                 {"store", 4},
                                                 {"peer", 1},
                                                 {"substituted", 5},
                                                 {"background", 100},
                                                 {"wasted", 100}}));
  EXPECT_EQ(use.requests, 15);
  EXPECT_EQ(use.hits, 5);
  EXPECT_EQ(use.requested_bytes, 150);
  EXPECT_EQ(use.hit_bytes, 50);
  EXPECT_TRUE(use.reads_ahead);
  EXPECT_FALSE(use_of_cache("a", journal_of({{"tier0", 3}})).reads_ahead);
}

/// Ten intervals of 0.2 s with the cache, and of 0.5 s without, on two nodes.
TEST(SharedCaches, TellWhatACacheSavesTheJob) {
  Journal journal = journal_of({{"tier0", 3}});
  EXPECT_FALSE(use_of_cache("a", journal).benefit);
  for (const Rank node : {1, 2}) {
    journal.caches.push_back({.rank = node, .from = "probe-with", .samples = 5, .blocked = Seconds(1)});
    journal.caches.push_back({.rank = node, .from = "probe-without", .samples = 5, .blocked = Seconds(2.5)});
  }
  const auto use = use_of_cache("a", journal);
  EXPECT_EQ(use.requests, 3);
  EXPECT_DOUBLE_EQ(use.benefit.value(), 0.6);
  const auto summary =
      write_fields(shared_cache_summary({.jobs = {use}, .set = Bytes(100), .capacity = Bytes(50)}));
  EXPECT_DOUBLE_EQ(summary.at("jobs").at("a").at("benefit").get<double>(), 0.6);
}

SharedCache::Use epochs(int count, std::int64_t hits = 0) {
  return {.requests = 100 * count, .hits = hits, .requested_bytes = 1000 * count, .hit_bytes = 10 * hits};
}

TEST(SharedCaches, HaveABoundOfOneMinusWhatIsBeyondThemOnceForAllJobs) {
  // Very many equal epochs of J jobs: 1 - (1 - c) / J.
  for (const int jobs : {1, 2, 3, 4}) {
    SharedCache cache{.jobs = std::vector<SharedCache::Use>(static_cast<std::size_t>(jobs), epochs(100'000)),
                      .set = Bytes(1000),
                      .capacity = Bytes(200)};
    EXPECT_NEAR(cache.bound(), 1 - 0.8 / jobs, 1e-5) << jobs;
  }
  // Two epochs of each of two jobs, and a cache for all: each sample comes from the store once.
  const SharedCache all{.jobs = {epochs(2), epochs(2)}, .set = Bytes(1000), .capacity = Bytes(5000)};
  EXPECT_DOUBLE_EQ(all.bound(), 0.75);
  // And for a fifth: 200 as the first epoch begins, and 800 in each epoch.
  const SharedCache some{.jobs = {epochs(2), epochs(2)}, .set = Bytes(1000), .capacity = Bytes(200)};
  EXPECT_DOUBLE_EQ(some.bound(), 1 - (200 + 2 * 800) / 4000.0);
  // While the longer job is alone, it has the bound of one job.
  const SharedCache unequal{.jobs = {epochs(3), epochs(1)}, .set = Bytes(1000), .capacity = Bytes(200)};
  EXPECT_DOUBLE_EQ(unequal.bound(), 1 - (200 + 3 * 800) / 4000.0);
}

TEST(SharedCaches, AreSummarisedWithTheShareOfTheBoundThatIsAttained) {
  SharedCache cache{.jobs = {epochs(2, 100), epochs(2, 50)}, .set = Bytes(1000), .capacity = Bytes(5000)};
  cache.jobs[1].job = "b";
  const auto summary = write_fields(shared_cache_summary(cache));
  EXPECT_EQ(summary.at("requests"), 400);
  EXPECT_EQ(summary.at("hit_ratio"), 0.375);
  EXPECT_EQ(summary.at("bound"), 0.75);
  EXPECT_EQ(summary.at("attained"), 0.5);
  EXPECT_EQ(summary.at("jobs").at("b").at("hit_ratio"), 0.25);
  EXPECT_NE(shared_cache_text(cache).find("37.5 % of the bytes hit, at most 75.0 % can"), std::string::npos)
      << shared_cache_text(cache);
  // Where a sampler selects, the bound does not hold.
  cache.visits_all = false;
  EXPECT_TRUE(write_fields(shared_cache_summary(cache)).at("bound").is_null());
  // Nor where samples were there before anybody asked for them.
  cache.visits_all = cache.jobs[1].reads_ahead = true;
  EXPECT_TRUE(write_fields(shared_cache_summary(cache)).at("bound").is_null());
  EXPECT_EQ(shared_cache_text(cache).find("at most"), std::string::npos);
  cache.jobs = {{}, {}};
  EXPECT_TRUE(write_fields(shared_cache_summary(cache)).is_null());
  EXPECT_TRUE(shared_cache_text(cache).empty());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
