// The workers of a generation, and the numbers of its ranks in the whole job.
#include "workloads/job/plan/workers_of_generation.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "workloads/records/rank_sets.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(WorkersOfGeneration, KeepTheirHosts) {
  Experiment whole;
  whole.placement.workers = {"a", "b", "c"};
  whole.placement.worker_count = 3;
  const Experiment fewer = with_workers_in(whole, {0, 2});
  EXPECT_EQ(fewer.placement.workers, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(fewer.placement.worker_count, 2);
}

/// Ranks 0 and 1 of the generation are the workers in slots 0 and 2 of three, rank 2 is the server.
TEST(WorkersOfGeneration, HaveTheNumbersOfTheirSlots) {
  Journal journal;
  journal.steps = {{.rank = 0}, {.rank = 1}};
  journal.decisions = {{.rank = 2}, {.rank = -1}};
  journal.operations = {{.rank = 1, .kind = "send", .peer = 2},
                        {.rank = 1, .kind = "read", .peer = 1},
                        {.rank = 0, .kind = "all-reduce", .work = "0-1"}};
  journal.membership = {{.slot = 1}};
  number_as_in_whole(journal, {0, 2}, 3);
  EXPECT_EQ(journal.steps[0].rank, 0);
  EXPECT_EQ(journal.steps[1].rank, 2);
  EXPECT_EQ(journal.decisions[0].rank, 3);
  EXPECT_EQ(journal.decisions[1].rank, -1) << "the launcher";
  EXPECT_EQ(journal.operations[0].rank, 2);
  EXPECT_EQ(journal.operations[0].peer, 3);
  EXPECT_EQ(journal.operations[1].peer, 1) << "a disk";
  EXPECT_EQ(journal.operations[2].peer, -1) << "none";
  EXPECT_EQ(journal.operations[2].work, "0 2");
  EXPECT_EQ(journal.membership[0].slot, 2);
}

TEST(WorkersOfGeneration, AreInTheDocumentOfTheGeneration) {
  Generation generation{.hosts = {"a", "b", "c"}, .slots = {0, 2}};
  generation.ended.push_back({.began = {}, .round = 4, .reason = {}, .slots = {}});
  generation.ended.push_back(
      {.began = {}, .round = 6, .reason = {}, .slots = {1}, .deals = {{.workers = 3, .taken = {1, 2, 3}}}});
  const Generation read = generation_from_json(to_json(generation));
  EXPECT_EQ(read.hosts, generation.hosts);
  EXPECT_EQ(slots_of(read, 0), (std::vector<int>{0, 1, 2})) << "all";
  EXPECT_EQ(slots_of(read, 1), std::vector<int>{1});
  EXPECT_EQ(slots_of(read, 2), (std::vector<int>{0, 2}));
  EXPECT_EQ(read.ended[1].deals, generation.ended[1].deals);
  const auto described = describe_generations(read, 8);
  EXPECT_EQ(described[1].workers, 1);
}

TEST(RankSets, RoundTrip) {
  for (const std::vector<Rank>& ranks : {std::vector<Rank>{}, {3}, {0, 1, 2}, {0, 2, 3, 7}, {10, 11}})
    EXPECT_EQ(ranks_of_text(text_of_ranks(ranks)), ranks);
  EXPECT_EQ(text_of_ranks(std::vector<Rank>{0, 1, 2, 3, 7}), "0-3 7");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
