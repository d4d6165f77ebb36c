// Scripts of a FollowedOrder: what arrives, what the first server has decided, and what is due.
#include "workloads/roles/server/followed_order.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace TANDEM_FILE {
namespace {

using Order = FollowedOrder<std::string>;

/// "b 2", with the time of the decision; "": nothing is due.
std::string take(Order& order) {
  const auto due = order.take();
  return due ? due->event + ' ' + std::to_string(static_cast<int>(due->decided.now.count())) : "";
}

TEST(FollowedOrder, EventsComeInTheOrderOfTheDecisions) {
  Order order(3);
  EXPECT_TRUE(order.awaits_decision());
  order.arrive(0, "a");
  order.arrive(1, "b");
  EXPECT_EQ(take(order), "");
  order.decide({.worker = 1, .now = Seconds(2)});
  EXPECT_FALSE(order.awaits_decision());
  order.decide({.worker = 0, .now = Seconds(3)});
  EXPECT_EQ(take(order), "b 2");
  EXPECT_EQ(take(order), "a 3");
  EXPECT_EQ(take(order), "");
  EXPECT_TRUE(order.awaits_decision());
}

TEST(FollowedOrder, AnEventThatIsDecidedAndNotThereHoldsUpLaterOnes) {
  Order order(2);
  order.decide({.worker = 1, .now = Seconds(1)});
  order.decide({.worker = 0, .now = Seconds(2)});
  order.arrive(0, "a");
  EXPECT_EQ(take(order), "");
  order.arrive(1, "b");
  EXPECT_EQ(take(order), "b 1");
  EXPECT_EQ(take(order), "a 2");
}

TEST(FollowedOrder, AWorkerSendsAgainWhenItsEventIsTaken) {
  Order order(1);
  order.decide({.worker = 0, .now = Seconds(1)});
  order.decide({.worker = 0, .now = Seconds(2)});
  order.arrive(0, "first");
  EXPECT_EQ(take(order), "first 1");
  EXPECT_EQ(take(order), "");
  order.arrive(0, "second");
  EXPECT_EQ(take(order), "second 2");
}

}  // namespace
}  // namespace TANDEM_FILE
}  // namespace tandem
