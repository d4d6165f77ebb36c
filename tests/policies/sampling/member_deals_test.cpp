// Samples of an epoch while workers leave and join: none counts twice, none never.
#include "policies/sampling/member_deals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sampling {
namespace TANDEM_FILE {

using Counts = std::vector<std::int64_t>;

/// A job in small: workers take samples, which count later, and leave and join meanwhile.
class Job {
 public:
  Job(const std::string& split, std::int64_t samples, std::size_t slots, std::size_t workers,
      std::uint64_t seed)
      : split_(splits().find(split).make), deals(slots, workers, {}, {}), counted(slots, 0), workers_(slots) {
    for (std::int64_t id = 0; id < samples; ++id) labels_.push_back(static_cast<std::uint16_t>(id * 7 % 5));
    const auto& entry = splits().find(split);
    setting_ = {.samples = samples,
                .labels = entry.make.needs_labels ? labels_ : std::span<const std::uint16_t>(),
                .workers = 0,
                .seed = seed,
                .options = Options::resolve(split, entry.options, {})};
    for (std::size_t slot = 0; slot < workers; ++slot) start(static_cast<int>(slot));
  }

  bool is_present(int slot) const { return at(slot).has_value(); }
  /// What a worker has taken, as deals count it.
  std::int64_t taken(int slot) const { return at(slot)->taken; }
  void start(int slot) {
    at(slot).emplace();
    at(slot)->taken = std::max(deals.begin(slot), counted[static_cast<std::size_t>(slot)]);
    at(slot)->deals.follow(deals, slot);
  }
  void follow() {
    for (int slot = 0; slot < std::ssize(workers_); ++slot)
      if (is_present(slot)) at(slot)->deals.follow(deals, slot);
  }
  void take(int slot, std::int64_t count) {
    Worker& worker = *at(slot);
    while (count > 0) {
      start_deals(worker);
      const std::int64_t now = worker.deals.until_next(worker.taken, count);
      std::vector<SampleId> ids;
      worker.visits->next(static_cast<int>(now), ids);
      worker.open.insert(worker.open.end(), ids.begin(), ids.end());
      worker.taken += now;
      count -= now;
    }
  }
  /// All that it has taken counts.
  void count(int slot) {
    Worker& worker = *at(slot);
    for (const SampleId id : worker.open) ++uses[id];
    worker.open.clear();
    counted[static_cast<std::size_t>(slot)] = worker.taken;
  }
  void stop(int slot) {
    for (const SampleId id : at(slot)->open) ++lost[id];
    at(slot).reset();
  }
  /// Each worker takes and counts what is left of the last epoch that one of them has begun, which is
  /// returned.
  int finish() {
    constexpr std::int64_t far = 1'000'000;
    int last = 0;
    for (auto& worker : workers_) {
      if (!worker) continue;
      start_deals(*worker);
      while (worker->deals.until_next(worker->taken, far) < far) use(*worker, 1);
      last = std::max(last, worker->visits->epoch());
    }
    for (auto& worker : workers_)
      while (worker && (worker->visits->epoch() < last || !worker->visits->rest().ids.empty()))
        use(*worker, 1);
    return last;
  }

  const Split& split_;
  MemberDeals deals;
  Counts counted;
  std::map<SampleId, int> uses, lost;

 private:
  struct Worker {
    DealsOfWorker deals;
    std::optional<ShardVisits> visits;
    std::int64_t taken = 0;
    std::vector<SampleId> open;
  };
  std::optional<Worker>& at(int slot) { return workers_.at(static_cast<std::size_t>(slot)); }
  const std::optional<Worker>& at(int slot) const { return workers_.at(static_cast<std::size_t>(slot)); }

  void start_deals(Worker& worker) {
    while (const auto part = worker.deals.take(worker.taken)) begin(worker, *part);
  }
  void use(Worker& worker, int count) {
    std::vector<SampleId> ids;
    worker.visits->next(count, ids);
    for (const SampleId id : ids) ++uses[id];
    worker.taken += count;
    start_deals(worker);
  }
  void begin(Worker& worker, const DealsOfWorker::Part& part) {
    setting_.workers = part.places;
    const Shards shards = split_.deal(setting_);
    const auto place = static_cast<std::size_t>(part.place);
    if (part.before.empty())
      worker.visits.emplace(shards[place], setting_.seed, part.place);
    else
      worker.visits.emplace(shards[place], setting_.seed, part.place,
                            rests_after(split_, setting_, part.before.list(), part.places)[place]);
    worker.visits->skip(worker.taken - part.begin);
  }

  std::vector<std::uint16_t> labels_;
  Setting setting_{};
  std::vector<std::optional<Worker>> workers_;
};

struct History {
  const char* split;
  bool
      agree;  ///< all workers begin with a deal at a time; otherwise each when it has taken what it was dealt
};
class Membership : public ::testing::TestWithParam<History> {};

/// All present workers, and those that come, agree on a deal. Workers that are behind take these samples
/// first.
void settle(Job& job, std::vector<int> members, const Counts& taken, const Counts& behind) {
  std::vector<int> present;
  for (int slot = 0; slot < std::ssize(behind); ++slot)
    if (job.is_present(slot)) present.push_back(slot);
  members.insert(members.end(), present.begin(), present.end());
  std::ranges::sort(members);
  for (const int slot : present)
    job.counted[static_cast<std::size_t>(slot)] += behind[static_cast<std::size_t>(slot)];
  job.deals.settle(members, taken, job.counted);
  for (const int slot : present) job.take(slot, behind[static_cast<std::size_t>(slot)]);
}

/// In each epoch every sample counts once.
TEST_P(Membership, AnEpochIsTakenOnce) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    constexpr int slots = 7, first = 5;
    const auto draw = [&](int below) {
      return static_cast<int>(rng.below(static_cast<std::uint64_t>(below)));
    };
    const std::int64_t samples = 30 + draw(100);
    Job job(GetParam().split, samples, slots, first, seed);
    int present = first;
    for (int round = 0; round < 20; ++round) {
      // Some have begun their next step already, when the members change. Others are behind: what they take
      // before they begin with the new deal counts already.
      Counts behind(slots, 0);
      for (int slot = 0; slot < slots; ++slot) {
        if (!job.is_present(slot)) continue;
        const int step = 2 + draw(3);
        if (GetParam().agree && draw(4) == 0)
          behind[static_cast<std::size_t>(slot)] = step;
        else
          job.take(slot, step);
      }
      std::vector<int> replaced;
      for (int slot = 0; slot < slots; ++slot) {
        const bool leaves = job.is_present(slot) && present > 1 && draw(5) == 0;
        if (!leaves) continue;
        job.stop(slot);
        --present;
        if (!GetParam().agree) job.deals.leave(slot, job.counted[static_cast<std::size_t>(slot)]);
        if (draw(2) == 0) replaced.push_back(slot);
      }
      std::vector<int> come = replaced;
      for (int slot = 0; slot < slots; ++slot)
        if (!job.is_present(slot) && std::ranges::find(replaced, slot) == replaced.end() && draw(6) == 0)
          come.push_back(slot);
      while (present + std::ssize(come) > first) come.pop_back();
      present += static_cast<int>(come.size());
      Counts taken(slots, -1);
      // In a job of servers, a worker learns of a deal before it has taken so many more.
      const int ahead = GetParam().agree ? 0 : 10;
      for (int slot = 0; slot < slots; ++slot)
        if (job.is_present(slot)) taken[static_cast<std::size_t>(slot)] = job.taken(slot) + ahead;
      if (GetParam().agree) {
        settle(job, come, taken, behind);
      } else {
        for (const int slot : come) job.deals.join(slot, job.counted[static_cast<std::size_t>(slot)]);
        if (job.deals.is_due()) {
          for (const int slot : come)
            taken[static_cast<std::size_t>(slot)] = job.counted[static_cast<std::size_t>(slot)];
          job.deals.deal(taken, job.counted);
        }
      }
      job.follow();
      for (const int slot : come) job.start(slot);
      for (int slot = 0; slot < slots; ++slot)
        if (job.is_present(slot)) {
          if (!GetParam().agree) job.take(slot, draw(4));
          job.count(slot);
        }
      ASSERT_FALSE(job.deals.is_due());
      ASSERT_EQ(job.deals.places(), present);
    }
    const int last = job.finish();
    for (SampleId id = 0; id < samples; ++id) {
      EXPECT_EQ(job.uses[id], last + 1) << "sample " << id << ", lost " << job.lost[id];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Histories, Membership,
                         ::testing::Values(History{"iid", true}, History{"iid", false},
                                           History{"by-class", true}, History{"dirichlet", true},
                                           History{"dirichlet", false}),
                         [](const auto& info) {
                           std::string name = info.param.split;
                           std::erase(name, '-');
                           return name + (info.param.agree ? "Agreed" : "Notified");
                         });

TEST(MemberDeals, AReplacementContinuesWhereTheLastWorkerCounted) {
  MemberDeals deals(3, 3, {}, {});
  EXPECT_FALSE(deals.settle(std::vector{0, 1, 2}, Counts{12, -1, 8}, Counts{8, 4, 8}));
  EXPECT_EQ(deals.before().size(), 0U);
  EXPECT_EQ(deals.begin(1), 0);
  EXPECT_EQ(deals.place(1), 1);
}

/// In another slot, too.
TEST(MemberDeals, ASpareTakesThePlaceOfAWorker) {
  MemberDeals deals(4, 3, {}, {});
  EXPECT_FALSE(deals.settle(std::vector{0, 2, 3}, Counts{12, -1, 8, -1}, Counts{8, 4, 8, 0}));
  EXPECT_EQ(deals.place(3), 1);
  EXPECT_EQ(deals.begin(3), -4);
  EXPECT_FALSE(deals.place(1));
}

TEST(MemberDeals, AWorkerThatWaitsTakesThePlaceOfTheNextThatLeaves) {
  MemberDeals deals(3, 2, {}, {});
  EXPECT_FALSE(deals.join(2, 7));
  EXPECT_FALSE(deals.place(2));
  deals.leave(0, 4);
  EXPECT_EQ(deals.place(2), 0);
  EXPECT_EQ(deals.begin(2), 7 - 4);
  EXPECT_FALSE(deals.is_due());
}

TEST(MemberDeals, WhatIsLeftIsDealtToThoseThatStay) {
  MemberDeals deals(3, 3, {}, {});
  EXPECT_TRUE(deals.settle(std::vector{0, 2}, Counts{12, -1, 8}, Counts{8, 4, 8}));
  EXPECT_EQ(deals.before().list(), (Deals{{.workers = 3, .taken = {12, 4, 8}}}));
  EXPECT_EQ(deals.places(), 2);
  EXPECT_EQ(deals.place(2), 1);
  EXPECT_EQ(deals.begin(0), 12);
  EXPECT_EQ(deals.all(Counts{14, 4, 9}), (Deals{{3, {12, 4, 8}}, {2, {2, 1}}}));
}

/// The last worker reports 4 samples before its step in progress, which the others have counted.
TEST(MemberDeals, AWorkerThatIsBehindTakesItsStepOfTheEarlierDeal) {
  MemberDeals deals(3, 3, {}, {});
  EXPECT_TRUE(deals.settle(std::vector{0, 2}, Counts{8, -1, 4}, Counts{8, 4, 8}));
  EXPECT_EQ(deals.before().list(), (Deals{{.workers = 3, .taken = {8, 4, 8}}}));
  EXPECT_EQ(deals.begin(2), 8);
}

TEST(MemberDeals, PlacesStayEmptyWhereEachWorkerHasAllSamples) {
  MemberDeals deals(3, 3, {}, {.deals_again = false});
  EXPECT_FALSE(deals.settle(std::vector{0, 2}, Counts{12, -1, 8}, Counts{8, 4, 8}));
  EXPECT_FALSE(deals.settle(std::vector{0, 1, 2}, Counts{16, -1, 12}, Counts{12, 4, 12}));
  EXPECT_EQ(deals.place(1), 1);
  EXPECT_EQ(deals.begin(1), 0);
}

/// Samples that a worker had taken when they were dealt, and that never count, are taken again.
TEST(MemberDeals, LostStepsOfAnEarlierDealComeBack) {
  MemberDeals deals(3, 3, {}, {});
  deals.settle(std::vector{0, 2}, Counts{12, -1, 8}, Counts{8, 4, 4});
  deals.settle(std::vector{0}, Counts{16, -1, -1}, Counts{16, 4, 4});
  EXPECT_EQ(deals.before().back(), (Deal{2, {4, 0}, {{0, 2, 4, 4}}}));
}

TEST(MemberDeals, ComeBackFromNumbers) {
  MemberDeals deals(4, 3, {}, {}), same(4, 3, {}, {}), counts(4, 3, {}, {.knows_samples = false});
  for (MemberDeals* one : {&deals, &counts}) {
    EXPECT_TRUE(one->settle(std::vector{0, 2}, Counts{12, -1, 8, -1}, Counts{8, 4, 8, 0}));
    EXPECT_TRUE(one->settle(std::vector{0, 2, 3}, Counts{16, -1, 16, -1}, Counts{16, 4, 12, 0}));
    one->leave(0, 20);
  }
  const Counts counted{20, 4, 16, 0};
  const auto numbers = deals.to_numbers(counted);
  EXPECT_EQ(std::ssize(numbers), deals.count_numbers(counted));
  EXPECT_EQ(counts.count_numbers(counted), deals.count_numbers(counted)) << "without samples, as many";
  EXPECT_EQ(counts.count_numbers_of_change(), deals.count_numbers_of_change());
  same.restore(numbers);
  EXPECT_EQ(same.to_numbers(counted), numbers);
  EXPECT_EQ(same.count_numbers(counted), deals.count_numbers(counted));
  EXPECT_TRUE(same.is_due());
  const std::int64_t expected = deals.count_numbers_of_change();
  const auto change = to_numbers(deals.deal(Counts{20, 4, 18, 2}, counted));
  EXPECT_EQ(std::ssize(change), expected);
  std::vector<std::int64_t> in_larger_memory = change;
  in_larger_memory.push_back(7);
  same.follow(changes_from(in_larger_memory, 1).front());
  EXPECT_EQ(same.before().back(), deals.before().back());
  EXPECT_EQ(same.place(3), deals.place(3));
  EXPECT_EQ(same.begin(3), deals.begin(3));
}

/// A worker that learns of several deals at the same time follows them in order.
TEST(MemberDeals, SeveralChangesFollowEachOtherAsNumbers) {
  const MemberDeals::Rules rules;
  MemberDeals deals(3, 3, {}, rules), same(3, 3, {}, rules);
  std::vector<std::int64_t> numbers;
  const auto deal = [&](const Counts& taken) {
    const auto change = to_numbers(deals.deal(taken, taken));
    numbers.insert(numbers.end(), change.begin(), change.end());
  };
  deals.leave(1, 4);
  deal({8, 4, 8});
  deals.join(1, 4);
  deal({12, 4, 16});
  const auto changes = changes_from(numbers, 2);
  ASSERT_EQ(changes.size(), 2U);
  for (const auto& change : changes) same.follow(change);
  EXPECT_EQ(same.before().list(), deals.before().list());
  for (const int slot : {0, 1, 2}) {
    EXPECT_EQ(same.place(slot), deals.place(slot));
    EXPECT_EQ(same.begin(slot), deals.begin(slot));
  }
}

TEST(MemberDeals, AWorkerThatLearnsOfTwoDealsTakesNothingOfTheFirst) {
  MemberDeals deals(3, 3, {}, {});
  DealsOfWorker worker;
  deals.leave(2, 0);
  deals.deal(Counts{20, 20, 0}, Counts{0, 0, 0});
  worker.follow(deals, 0);
  deals.leave(1, 0);
  deals.deal(Counts{10, 0, 0}, Counts{0, 0, 0});
  worker.follow(deals, 0);
  EXPECT_EQ(worker.until_next(10, 30), 10);
  EXPECT_FALSE(worker.take(19));
  EXPECT_EQ(worker.take(20)->before.size(), 2U);
  EXPECT_FALSE(worker.take(20));
}

/// No deal is copied when others follow, nor by a worker that follows them.
TEST(MemberDeals, DealsAreKeptOnce) {
  constexpr int changes = 2000;
  MemberDeals deals(4, 4, {}, {});
  DealsOfWorker worker;
  std::vector<const Deal*> places;
  Counts taken(4, 0);
  for (int change = 0; change < changes; ++change) {
    if (change % 2 == 0)
      deals.leave(1, taken[1]);
    else
      deals.join(1, taken[1]);
    for (std::int64_t& count : taken) count += 2;
    deals.deal(taken, taken);
    worker.follow(deals, 0);
    places.push_back(&deals.before().back());
  }
  ASSERT_EQ(deals.before().size(), std::size_t{changes});
  std::size_t parts = 0;
  while (const auto part = worker.take(2 * changes)) {
    ++parts;
    ASSERT_EQ(part->before.size(), parts);
    ASSERT_EQ(&part->before.back(), places[parts - 1]);
  }
  EXPECT_EQ(parts, places.size());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sampling
