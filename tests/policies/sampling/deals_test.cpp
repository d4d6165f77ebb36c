// Epochs in progress that are dealt to another number of workers: no sample twice, none never.
#include "policies/sampling/deals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>

#include "policies/sampling/samplers.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sampling {
namespace TANDEM_FILE {

std::vector<SampleId> all_ids(std::int64_t samples) {
  std::vector<SampleId> ids(static_cast<std::size_t>(samples));
  std::iota(ids.begin(), ids.end(), SampleId{0});
  return ids;
}

std::vector<SampleId> sorted(std::vector<SampleId> ids) {
  std::ranges::sort(ids);
  return ids;
}

struct Splits {
  std::string name;
  std::vector<std::uint16_t> labels;
  Setting setting;
  const Split& split;

  Splits(const std::string& split_name, std::int64_t samples, std::uint64_t seed)
      : name(split_name), split(splits().find(split_name).make) {
    const auto& entry = splits().find(split_name);
    for (std::int64_t id = 0; id < samples; ++id) labels.push_back(static_cast<std::uint16_t>(id * 7 % 5));
    setting = {.samples = samples,
               .labels = entry.make.needs_labels ? labels : std::span<const std::uint16_t>(),
               .workers = 1,
               .seed = seed,
               .options = Options::resolve(split_name, entry.options, {})};
  }
  /// The visits of the workers of the newest deal.
  std::vector<ShardVisits> visits(const std::vector<Deal>& deals, int workers) const {
    Setting own = setting;
    own.workers = workers;
    const Shards shards = split.deal(own);
    std::vector<Rest> first;
    if (!deals.empty()) first = rests_after(split, setting, deals, workers);
    std::vector<ShardVisits> all;
    for (int worker = 0; worker < workers; ++worker) {
      const auto& shard = shards[static_cast<std::size_t>(worker)];
      if (first.empty())
        all.emplace_back(shard, setting.seed, worker);
      else
        all.emplace_back(shard, setting.seed, worker, first[static_cast<std::size_t>(worker)]);
    }
    return all;
  }
};

class RestsOf : public ::testing::TestWithParam<const char*> {};

/// Workers of equal speed change three times; what they take in one epoch of the data is every sample once.
TEST_P(RestsOf, AnEpochIsDealtOnce) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto samples = 60 + static_cast<std::int64_t>(rng.below(60));
    const Splits splits(GetParam(), samples, seed);
    std::vector<Deal> deals;
    std::vector<SampleId> used, batch;
    for (int change = 0; change < 3; ++change) {
      const int workers = 1 + static_cast<int>(rng.below(6));
      const int each = static_cast<int>(rng.below(4));
      Deal deal{.workers = workers};
      for (ShardVisits& visits : splits.visits(deals, workers)) {
        visits.next(each, batch);
        used.insert(used.end(), batch.begin(), batch.end());
        deal.taken.push_back(each);
      }
      deals.push_back(deal);
    }
    const int workers = 1 + static_cast<int>(rng.below(6));
    auto least = static_cast<std::size_t>(samples), most = std::size_t{0};
    for (ShardVisits& visits : splits.visits(deals, workers)) {
      const Rest rest = visits.rest();
      EXPECT_EQ(rest.epoch, 0);
      least = std::min(least, rest.ids.size());
      most = std::max(most, rest.ids.size());
      visits.next(static_cast<int>(rest.ids.size()), batch);
      EXPECT_EQ(batch, rest.ids);
      used.insert(used.end(), batch.begin(), batch.end());
    }
    EXPECT_LE(most, least + 1);
    EXPECT_EQ(sorted(used), all_ids(samples));
  }
}

/// After the rest, each worker visits its shard of the last deal, as workers that began with it do.
TEST_P(RestsOf, TheNextEpochIsThatOfTheNewDeal) {
  const Splits splits(GetParam(), 61, 3);
  const std::vector<Deal> deals = {{.workers = 4, .taken = {9, 9, 9, 9}}};
  auto changed = splits.visits(deals, 2), whole = splits.visits({}, 2);
  std::vector<SampleId> expected, found;
  for (std::size_t worker = 0; worker < 2; ++worker) {
    whole[worker].skip(worker == 0 ? 31 : 30);
    whole[worker].next(45, expected);
    changed[worker].skip(std::ssize(changed[worker].rest().ids));
    changed[worker].next(45, found);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(changed[worker].epoch(), whole[worker].epoch());
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, RestsOf, ::testing::Values("iid", "by-class", "dirichlet"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(RestsOf, SkippingEqualsVisiting) {
  for (const int left : {0, 1, 5})
    for (const int skipped : {0, 1, 5, 6, 11, 12, 40, 47}) {
      SCOPED_TRACE(std::to_string(left) + " " + std::to_string(skipped));
      Rest rest{.epoch = 3};
      for (int id = 0; id < left; ++id) rest.ids.push_back(50 + id);
      ShardVisits visits(all_ids(7), 5, 1, rest), skips(all_ids(7), 5, 1, rest);
      std::vector<SampleId> expected, found;
      visits.next(skipped, expected);
      skips.skip(skipped);
      EXPECT_EQ(skips.rest().ids, visits.rest().ids);
      visits.next(20, expected);
      skips.next(20, found);
      EXPECT_EQ(found, expected);
      EXPECT_EQ(skips.epoch(), visits.epoch());
    }
}

/// All begin the next epoch together. The slow ones have two whole epochs left, which the fast one has done
/// or begun.
TEST(RestsOf, WorkersThatAreBehindLeaveMore) {
  const Splits splits("iid", 40, 1);
  // The first worker is in its third epoch, the others in their first.
  auto before = splits.visits({}, 4);
  before[0].skip(25);
  for (std::size_t worker = 1; worker < 4; ++worker) before[worker].skip(2);
  std::vector<SampleId> left;
  for (const auto& visits : before) {
    const auto ids = visits.rest().ids;
    left.insert(left.end(), ids.begin(), ids.end());
    for (int epoch = visits.epoch(); epoch < 2; ++epoch)
      left.insert(left.end(), visits.shard().begin(), visits.shard().end());
  }
  std::vector<SampleId> dealt;
  for (const Rest& rest :
       rests_after(splits.split, splits.setting, std::vector<Deal>{{4, {25, 2, 2, 2}}}, 3)) {
    EXPECT_EQ(rest.epoch, 2);
    dealt.insert(dealt.end(), rest.ids.begin(), rest.ids.end());
  }
  EXPECT_EQ(sorted(dealt), sorted(left));
}

TEST(RestsOf, ReplicatedSamplesStayWithTheirWorkers) {
  const Splits splits("replicated", 10, 1);
  const std::vector<Deal> deals = {{.workers = 2, .taken = {4, 13}}};
  const auto before = splits.visits({}, 2);
  const auto rests = rests_after(splits.split, splits.setting, deals, 3);
  for (std::size_t worker = 0; worker < 2; ++worker) {
    ShardVisits own = before[worker];
    own.skip(deals[0].taken[worker]);
    EXPECT_EQ(rests[worker].ids, own.rest().ids);
    EXPECT_EQ(rests[worker].epoch, own.epoch());
  }
  EXPECT_TRUE(rests[2].ids.empty());
}

// ---- Common lists ----

TEST(RestLists, AListIsTakenOnce) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto samples = 60 + static_cast<std::int64_t>(rng.below(60));
    const auto sampler = samplers().find("shuffled").make.make({.samples = samples, .seed = seed});
    const auto list_of = [&](std::int64_t epoch) {
      const auto list = std::make_shared<EpochList>();
      sampler->list(epoch, {}, *list);
      return list;
    };
    std::vector<SampleId> used;
    std::vector<Deal> deals;
    std::shared_ptr<const EpochList> list = list_of(0);
    for (int change = 0; change < 3; ++change) {
      const int workers = 1 + static_cast<int>(rng.below(6));
      const auto each = static_cast<std::int64_t>(rng.below(4));
      for (std::int64_t place = 0; place < each * workers; ++place)
        used.push_back(list->ids[static_cast<std::size_t>(place)]);
      deals.push_back({workers, std::vector<std::int64_t>(static_cast<std::size_t>(workers), each)});
      const RestList rest = rest_list_after(list_of, deals, 2);
      EXPECT_EQ(rest.epoch, 0);
      ASSERT_NE(rest.list, nullptr);
      EXPECT_DOUBLE_EQ(rest.share, static_cast<double>(rest.list->ids.size()) / static_cast<double>(samples));
      list = rest.list;
    }
    used.insert(used.end(), list->ids.begin(), list->ids.end());
    EXPECT_EQ(sorted(used), all_ids(samples));
  }
}

TEST(RestLists, AnEpochThatIsDoneIsFollowedByTheNext) {
  const auto sampler = samplers().find("shuffled").make.make({.samples = 42});
  const auto list_of = [&](std::int64_t epoch) {
    const auto list = std::make_shared<EpochList>();
    sampler->list(epoch, {}, *list);
    return list;
  };
  // Two ids at the end of the list are left out by four workers, and are too few for three.
  const RestList next = rest_list_after(list_of, std::vector<Deal>{{4, {20, 20, 20, 20}}}, 3);
  EXPECT_EQ(next.epoch, 2);
  EXPECT_EQ(next.list, nullptr);
  EXPECT_EQ(next.share, 1.0);
  const RestList two = rest_list_after(list_of, std::vector<Deal>{{4, {20, 20, 20, 20}}}, 2);
  EXPECT_EQ(two.epoch, 1);
  ASSERT_NE(two.list, nullptr);
  const auto whole = list_of(1)->ids;
  EXPECT_EQ(two.list->ids, std::vector<SampleId>(whole.end() - 2, whole.end()));
}

TEST(DealHistory, CopiesShareTheDealsUntilOneContinuesOtherwise) {
  DealHistory history;
  history.append({2, {1, 2}});
  const DealHistory before = history;
  history.append({3, {1, 2, 3}});
  EXPECT_EQ(before.size(), 1U);
  EXPECT_EQ(&before[0], &history[0]);
  EXPECT_EQ(before.digest(1), history.digest(1));
  DealHistory otherwise = before;
  otherwise.append({3, {1, 2, 4}});
  EXPECT_EQ(otherwise.list(), (Deals{{2, {1, 2}}, {3, {1, 2, 4}}}));
  EXPECT_EQ(history.list(), (Deals{{2, {1, 2}}, {3, {1, 2, 3}}}));
  EXPECT_FALSE(otherwise.digest(2) == history.digest(2));
}

/// How often samples were divided among workers.
int divisions = 0;
Shards counted_deal(const Setting& setting) {
  ++divisions;
  return splits().find("iid").make.deal(setting);
}

/// 2,000 changes of the members, with steps that are lost.
DealHistory many_deals(const std::function<void(const DealHistory& deals, int workers)>& use) {
  DealHistory deals;
  Rng rng(3);
  for (int number = 0; number < 2000; ++number) {
    Deal deal{.workers = 2 + number % 3};
    for (int worker = 0; worker < deal.workers; ++worker)
      deal.taken.push_back(static_cast<std::int64_t>(rng.below(5)));
    if (number > 0 && number % 2 == 0) deal.returned = {{number - 1, 0, 0, deals.back().taken.front()}};
    deals.append(std::move(deal));
    use(deals, 2 + (number + 1) % 3);
  }
  return deals;
}

TEST(RestsOfDeals, AFurtherDealCostsAsMuchAsEachBefore) {
  const Splits samples("iid", 100, 7);
  const Split counted{.deal = counted_deal};
  RestsOfDeals rests;
  divisions = 0;
  many_deals([&](const DealHistory& deals, int workers) {
    const auto found = rests.after(counted, samples.setting, deals, workers);
    if (deals.size() % 500 != 0) return;
    const auto expected = rests_after(samples.split, samples.setting, deals.list(), workers);
    ASSERT_EQ(found->size(), expected.size());
    for (std::size_t worker = 0; worker < expected.size(); ++worker) {
      EXPECT_EQ((*found)[worker].ids, expected[worker].ids) << "worker " << worker;
      EXPECT_EQ((*found)[worker].epoch, expected[worker].epoch) << "worker " << worker;
    }
  });
  // Of the deal that ends, of what is left, and of the one whose samples come back.
  EXPECT_LE(divisions, 3 * 2000);
}

TEST(RestsOfDeals, AWorkerFarBehindGetsTheSame) {
  const Splits samples("iid", 100, 7);
  const DealHistory deals = many_deals([](const DealHistory&, int) {});
  RestsOfDeals rests;
  rests.after(samples.split, samples.setting, deals, 4);
  for (const std::size_t count : {1990U, 300U, 1U}) {
    const Deals first = [&] {
      Deals list = deals.list();
      list.resize(count);
      return list;
    }();
    const auto found = rests.after(samples.split, samples.setting, DealHistory(first), 4);
    const auto expected = rests_after(samples.split, samples.setting, first, 4);
    for (std::size_t worker = 0; worker < expected.size(); ++worker)
      EXPECT_EQ((*found)[worker].ids, expected[worker].ids) << "after " << count << ", worker " << worker;
  }
}

TEST(ListsOfDeals, AFurtherDealCostsAsMuchAsEachBefore) {
  int lists = 0;
  const ListOfEpoch list_of = [&lists](std::int64_t epoch) {
    ++lists;
    auto list = std::make_shared<EpochList>();
    list->ids = all_ids(100);
    std::ranges::rotate(list->ids, list->ids.begin() + epoch % 100);
    return list;
  };
  ListsOfDeals rests;
  int for_checks = 0;
  many_deals([&](const DealHistory& deals, int workers) {
    const RestList found = rests.after(list_of, deals, workers);
    if (deals.size() % 500 != 0) return;
    const int before = lists;
    const RestList expected = rest_list_after(list_of, deals.list(), workers);
    for_checks += lists - before;
    EXPECT_EQ(found.epoch, expected.epoch);
    ASSERT_EQ(found.list == nullptr, expected.list == nullptr);
    if (!found.list) return;
    EXPECT_EQ(found.list->ids, expected.list->ids);
  });
  // The first one, those of the epochs in progress, and one for each of at most 4 samples that come back.
  EXPECT_LE(lists - for_checks, 8 * 2000);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sampling
