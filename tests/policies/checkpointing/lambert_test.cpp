// The optimal interval against Boost's Lambert function.
#include <gtest/gtest.h>

#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>

#include "policies/checkpointing/interval.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

/// 1 + W cancels digits for small costs, so the tolerance there is that of Boost's value.
TEST(OptimalInterval, IsThatOfTheLambertFunction) {
  for (const double share : {1e-8, 1e-6, 1e-4, 0.003, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0}) {
    const double expected = 1.0 + boost::math::lambert_w0(-std::exp(-share - 1.0));
    const double found = optimal_interval(Seconds(3600.0 * share), Seconds(3600.0)).count() / 3600.0;
    EXPECT_NEAR(found / expected, 1.0, 1e-13 + 1e-15 / share) << share;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
