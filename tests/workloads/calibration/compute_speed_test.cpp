// Costs of Tandem's own server from its calibrated sums and updates.
#include "workloads/calibration/compute_speed.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace TANDEM_FILE {

TEST(OwnServerCost, IsThatOfSumsAndUpdates) {
  const auto entry = [](Work::Kind kind, std::int64_t bytes, double seconds) {
    return Profile::ComputeEntry{"m", kind, -1, 0, bytes, seconds, 0, {seconds}};
  };
  const auto both = own_server_cost({entry(Work::Kind::reduce, 1'000'000, 10e-6 + 1e-3),
                                     entry(Work::Kind::reduce, 2'000'000, 10e-6 + 2e-3),
                                     entry(Work::Kind::update, 1'000'000, 30e-6 + 3e-3),
                                     entry(Work::Kind::update, 2'000'000, 30e-6 + 6e-3)});
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->message.count(), 20e-6, 1e-9);
  EXPECT_NEAR(both->push_rate->count(), 1e9 / 4, 1);
  EXPECT_FALSE(both->reply_rate);
  EXPECT_EQ(both->tensor, Seconds(0));
  EXPECT_FALSE(own_server_cost({entry(Work::Kind::update, 1, 1), entry(Work::Kind::update, 2, 2)}));
  EXPECT_FALSE(own_server_cost({}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
