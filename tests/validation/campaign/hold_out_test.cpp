// A calibration profile must not depend on the runs that are compared.
#include "validation/campaign/hold_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Results run(const std::string& path, const std::string& started) {
  Results results;
  results.path = path;
  results.info.started = started;
  return results;
}

void check(const ProfileOrigin& profile) {
  const Results first = run("results/lab/bsp/measured-0", "2026-03-01T10:00:00Z");
  const Results second = run("results/lab/asp/measured-0", "2026-03-01T10:05:00Z");
  check_hold_out(profile, {first, second});
}

TEST(HoldOut, AProfileMeasuredBeforeTheRunsIsAccepted) {
  check({"results/lab/profile.json", "2026-03-01T09:59:00Z", "tandem validate lab.yaml --out results/lab"});
  check({"p.json", "2026-03-01T10:00:00Z", "tandem calibrate lab.yaml --out p.json"});
  check({"p.json", "2026-03-01T10:00:00Z", "tandem calibrate results/lab/bsp/measured-01/x.yaml"});
}

TEST(HoldOut, MeasuredAfterARunIsRefused) {
  EXPECT_THAT(
      [] {
        check({"p.json", "2026-03-01T10:02:00Z", "tandem calibrate lab.yaml"});
      },
      ThrowsMessage<ConfigError>(HasSubstr("after the run results/lab/bsp/measured-0")));
}

TEST(HoldOut, StoredInARunIsRefused) {
  EXPECT_THAT(
      [] {
        check({"results/lab/asp/../asp/measured-0/p.json", "2026-03-01T09:00:00Z", ""});
      },
      ThrowsMessage<ConfigError>(HasSubstr("is in the result directory")));
}

TEST(HoldOut, MadeFromARunIsRefused) {
  EXPECT_THAT(
      [] {
        check({"p.json", "2026-03-01T09:00:00Z", "fit 'results/lab/bsp/measured-0/steps.csv'"});
      },
      ThrowsMessage<ConfigError>(HasSubstr("was made from the result directory")));
  EXPECT_THAT(
      [] {
        check({"p.json", "2026-03-01T09:00:00Z", "fit --set in=./results/lab/asp/measured-0"});
      },
      ThrowsMessage<ConfigError>(HasSubstr("was made from the result directory")));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
