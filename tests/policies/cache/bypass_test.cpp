// Caches that a job bypasses to measure what they save it.
#include "policies/cache/bypass.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/cache/text.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

std::unique_ptr<CachePolicy> lru(int jobs) {
  return catalog().find("lru").make.node(
      {.tiers = {Bytes(2)}, .jobs = jobs, .manifest = {.samples = 8, .each = Bytes(1)}});
}

std::string decided(CachePolicy& policy, const std::string& event) {
  Decisions decisions;
  replay_event(policy, event, decisions);
  return to_text(decisions);
}

TEST(Bypass, AJobReadsFromTheStoreAndTheCacheKeepsWhatItWould) {
  const auto policy = with_bypass(lru(2), 2);
  EXPECT_EQ(decided(*policy, "want now=1,2"), "serve 1 store, 2 store; keep 1; keep 2");
  EXPECT_EQ(decided(*policy, "job state=bypasses"), "");
  EXPECT_EQ(decided(*policy, "want now=2,1"), "serve 2 store, 1 store");
  EXPECT_EQ(decided(*policy, "want now=3"), "serve 3 store; drop 2; keep 3") << "2 was used before 1";
  EXPECT_EQ(decided(*policy, "want job=1 now=1"), "serve 1 tier") << "the other job does not bypass it";
  EXPECT_EQ(decided(*policy, "job state=returns"), "");
  EXPECT_EQ(decided(*policy, "want now=3,1"), "serve 3 tier, 1 tier");
  EXPECT_TRUE(policy->holds(1));
  EXPECT_EQ(policy->used(), Bytes(2));
}

TEST(Bypass, EndsWithTheJob) {
  const auto policy = with_bypass(lru(1), 1);
  decided(*policy, "want now=1");
  decided(*policy, "job state=bypasses");
  decided(*policy, "job state=ends");
  EXPECT_EQ(decided(*policy, "want now=1"), "serve 1 tier");
}

/// Events as text read back, so that a recorded measurement can be replayed.
TEST(Bypass, ItsEventsReadBack) {
  for (const auto state : {JobChange::State::bypasses, JobChange::State::returns}) {
    const std::string text = to_text(JobChange{.job = 1, .state = state});
    const auto policy = with_bypass(lru(2), 2);
    decided(*policy, "want job=1 now=1");
    decided(*policy, text);
    EXPECT_EQ(decided(*policy, "want job=1 now=1"),
              state == JobChange::State::bypasses ? "serve 1 store" : "serve 1 tier");
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
