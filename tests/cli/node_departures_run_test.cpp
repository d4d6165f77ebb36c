// `tandem run` with a cache node whose machine departs and comes back: ranks of a real mpirun read from the
// store meanwhile, as in the simulation.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/resume_jobs.hpp"
#include "tests/support/cache_counts.hpp"

namespace tandem::testing {
namespace {

/// Machines of the cache node live for 0.4 s, and a new one takes 0.1 s.
class NodeDepartureJobs : public ResumeJobs, public ::testing::WithParamInterface<std::string> {
 protected:
  /// Three lives of the cache node and more, also on a fast machine.
  static constexpr int rounds = 200;

  NodeDepartureJobs() {
    std::string platform = contents(TANDEM_SOURCE_DIR "/platforms/mixed_lab.xml");
    const std::string device = "<prop id=\"device\" value=\"odroid-c2\"/>";
    const auto node = platform.find(device, platform.find("id=\"node-4\""));
    EXPECT_NE(node, std::string::npos);
    platform.insert(node,
                    "<disk id=\"disk-4\" read_bw=\"40MBps\" write_bw=\"20MBps\"/>\n"
                    "      <prop id=\"tandem:lifetime\" value=\"fixed time=40\"/>\n      ");
    line_.write("with_lifetime.xml", platform);
  }
  std::string job(const std::string& settings) const {
    return experiment(
        rounds,
        "--set platform=with_lifetime.xml --set transience.lifetime=fixed --set transience.start=10 --set "
        "transience.detect=5 --set transience.time_scale=100 --set data.source=storage --set "
        "placement.cache_nodes=[node-4] --set placement.stores=[server] --set data.cache_capacity=100kB "
        "--set data.prefetch=2 --set physics.ensemble=0 --set evaluate_every=0 " +
            settings);
  }
  static std::vector<MembershipRecord> of_node(const Results& results, const std::string& event) {
    auto changes = changes_with(results.journal, event);
    std::erase_if(changes, [](const MembershipRecord& change) { return change.host != "node-4"; });
    return changes;
  }
  static std::int64_t direct(const Results& results) {
    std::int64_t samples = 0;
    for (const CacheRecord& record : results.journal.caches)
      if (record.rank < 4) samples += record.samples;
    return samples;
  }
  static void expect_absences(const Results& results) {
    EXPECT_GE(of_node(results, "departed").size(), 2U);
    EXPECT_GE(of_node(results, "gone").size(), 2U);
    EXPECT_GE(of_node(results, "joined").size(), 3U);
    EXPECT_GT(direct(results), 0);
    EXPECT_GE(cache_sum(results.journal, "").samples, rounds * 4 * 8);
    std::int64_t trained = 0;
    for (const StepRecord& step : results.journal.steps) trained += step.samples;
    EXPECT_EQ(trained, rounds * 4 * 8);
  }
};

TEST_P(NodeDepartureJobs, EndWithTheModelOfAJobWithout) {
  for (const std::string world : {"simulate", "run"}) {
    SCOPED_TRACE(world);
    succeeds(world + " " + job(GetParam() + " --set transience.lifetime=never") + " --out without_" + world);
    succeeds(world + " " + job(GetParam()) + " --out with_" + world);
    const Results with = results("with_" + world);
    expect_absences(with);
    EXPECT_EQ(direct(results("without_" + world)), 0);
    const std::string model = contents("without_" + world + "/model.pt");
    EXPECT_GT(model.size(), 1000U);
    EXPECT_TRUE(model == contents("with_" + world + "/model.pt")) << "the models differ";
    if (GetParam().find("keep=true") != std::string::npos) {
      EXPECT_GT(cache_sum(with.journal, "kept").samples, 0);
    }
  }
  EXPECT_LE(line_.tandem("compare with_simulate with_run --out comparison").exit_code, 1);
}

const std::string keeping = "--set data.cache_capacity=20kB --set data.disk_capacity=150kB ";
INSTANTIATE_TEST_SUITE_P(All, NodeDepartureJobs,
                         ::testing::Values("", "--set transience.notice=10", keeping,
                                           keeping + "--set data.keep=true",
                                           "--set sync.over=all-reduce --set sync.collective=ring"));

}  // namespace
}  // namespace tandem::testing
