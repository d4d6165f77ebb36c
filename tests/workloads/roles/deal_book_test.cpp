// Scripts of a DealBook: when it deals, how far ahead of their pushes workers may be then, and which
// messages they get.
#include "workloads/roles/server/deal_book.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {
namespace {

using Counted = std::vector<std::int64_t>;

/// Two workers, and a slot for a third one.
DealBook book(DealBook::Setting setting = {.batch = 4}) {
  setting.loads_ahead.resize(3, false);
  setting.knows_samples = true;
  return {std::move(setting), sampling::MemberDeals(3, 2, {}, {})};
}

DealBook::Taker member(bool awaits_reply, int batch = 0) {
  return {.is_member = true, .awaits_reply = awaits_reply, .batch = batch};
}

/// The samples that each of the places has when the deal is made: what their workers may take before.
Counted taken_at_deal(DealBook& book, const std::vector<DealBook::Taker>& takers) {
  book.leave(1, 20);
  EXPECT_TRUE(book.is_due());
  book.deal(Counted{10, 20, 0}, takers);
  EXPECT_FALSE(book.is_due());
  const auto message = book.take_new(0);
  EXPECT_TRUE(message);
  const std::span<const std::int64_t> numbers(message->numbers, static_cast<std::size_t>(message->count));
  return sampling::changes_from(numbers, 1).front().begin;
}

TEST(DealBook, WithoutDealsThereIsNothingToSend) {
  DealBook none({.loads_ahead = {false}}, std::nullopt);
  none.leave(0, 5);
  none.join(0, 5);
  EXPECT_FALSE(none.deals());
  EXPECT_FALSE(none.is_due());
  EXPECT_FALSE(none.take_new(0));
  EXPECT_EQ(none.count_numbers(Counted{5}), 0);
  EXPECT_TRUE(none.changed(Counted{5}).empty());
}

TEST(DealBook, AWorkerThatWaitsForItsReplyTakesNothingBeforeTheDeal) {
  DealBook deals = book();
  EXPECT_EQ(taken_at_deal(deals, {member(true), {}, {}}), Counted{10});
}

TEST(DealBook, AnotherWorkerMayTakeTwiceTheLargestPushOrBatch) {
  DealBook deals = book();
  EXPECT_EQ(taken_at_deal(deals, {member(false), {}, {}}), Counted{10 + 2 * 4});
  DealBook pushed = book();
  pushed.on_push(6);
  pushed.on_push(5);
  EXPECT_EQ(taken_at_deal(pushed, {member(false), {}, {}}), Counted{10 + 2 * 6});
  DealBook granted = book();
  EXPECT_EQ(taken_at_deal(granted, {member(false, 9), {}, {}}), Counted{10 + 2 * 9});
}

TEST(DealBook, BatchesThatWereLoadedOrRequestedInAdvanceAreTaken) {
  DealBook loads = book({.batch = 4, .loads_ahead = {true}});
  EXPECT_EQ(taken_at_deal(loads, {member(true), {}, {}}), Counted{10 + 4});
  DealBook requests = book({.batch = 4, .prefetch = 3, .loads_ahead = {true}});
  EXPECT_EQ(taken_at_deal(requests, {member(true), {}, {}}), Counted{10 + 3 * 4});
}

TEST(DealBook, EachWorkerLearnsOnceOfAllDealsThatItDoesNotKnow) {
  DealBook deals = book();
  EXPECT_FALSE(deals.take_new(0));
  deals.leave(1, 20);
  deals.deal(Counted{10, 20, 0}, std::vector<DealBook::Taker>{member(true), {}, {}});
  const auto first = deals.take_new(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(deals.known(0), 1);
  EXPECT_FALSE(deals.take_new(0));
  deals.join(1, 20);
  EXPECT_TRUE(deals.is_due());
  deals.deal(Counted{12, 20, 0}, std::vector<DealBook::Taker>{member(true), member(true), {}});
  // A newcomer gets all at once.
  const auto all = deals.take_all(1, Counted{12, 20, 0});
  EXPECT_EQ(all.count, deals.count_numbers(Counted{12, 20, 0}));
  EXPECT_FALSE(deals.take_new(1));
  EXPECT_EQ(deals.known(1), 2);
  const auto second = deals.take_new(0);
  ASSERT_TRUE(second);
  // One that knows none gets both in one message.
  const auto both = deals.take_new(2);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->count, first->count + second->count);
  std::vector<std::int64_t> expected(first->numbers, first->numbers + first->count);
  expected.insert(expected.end(), second->numbers, second->numbers + second->count);
  EXPECT_EQ(std::vector<std::int64_t>(both->numbers, both->numbers + both->count), expected);
  EXPECT_FALSE(deals.changed(Counted{12, 20, 0}).empty());
}

TEST(DealBook, WithoutSamplesMessagesHaveTheSameSizeAndNoNumbers) {
  DealBook known = book();
  DealBook sizes({.batch = 4, .loads_ahead = {false, false, false}},
                 sampling::MemberDeals(3, 2, {}, {.knows_samples = false}));
  for (DealBook* const each : {&known, &sizes}) {
    each->leave(1, 20);
    each->deal(Counted{10, 20, 0}, std::vector<DealBook::Taker>{member(true), {}, {}});
  }
  const auto message = sizes.take_new(0);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->numbers, nullptr);
  EXPECT_EQ(message->count, known.take_new(0)->count);
  EXPECT_EQ(sizes.take_all(2, Counted{10, 20, 0}).numbers, nullptr);
  EXPECT_TRUE(sizes.changed(Counted{10, 20, 0}).empty());
}

}  // namespace
}  // namespace TANDEM_FILE
}  // namespace tandem
