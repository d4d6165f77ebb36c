// `tandem run` with cache nodes and stores whose machines depart and come back, as in the simulation: ranks
// of a real mpirun read from the store, or wait for it, meanwhile.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/cli/resume_jobs.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/paths.hpp"
#include "workloads/records/id_text.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// The job without departures is simulated: its model is that of a run, to the byte.
/// Machines of node-4 live for 0.4 s, those of node-5 for 1 s, and a new one takes 0.1 s.
class DepartureJobs : public ResumeJobs, public ::testing::WithParamInterface<std::string> {
 protected:
  /// Three lives of a machine and more, also on a fast computer.
  static constexpr int rounds = 200;

  DepartureJobs() {
    const auto living = [](const std::string& seconds) {
      return "<disk id=\"disk-$1\" read_bw=\"40MBps\" write_bw=\"20MBps\"/><prop id=\"tandem:lifetime\" "
             "value=\"fixed time=" +
             seconds + "\"/>";
    };
    edited_lab(line_, {in_hosts("node-4", living("40")), in_hosts("node-5", living("100"))});
  }
  std::string job(const std::string& settings) const {
    return experiment(
        rounds,
        hundredfold +
            "--set platform=lab.xml --set transience.lifetime=fixed --set transience.detect=5 --set "
            "data.source=storage --set "
            "placement.cache_nodes=[node-4] --set placement.stores=[server] --set data.cache_capacity=100kB "
            "--set data.prefetch=2 --set physics.ensemble=0 --set evaluate_every=0 " +
            settings);
  }
  static std::vector<MembershipRecord> of(const std::string& host, const Results& results,
                                          const std::string& event) {
    auto changes = changes_with(results.journal, event);
    std::erase_if(changes, [&](const MembershipRecord& change) { return change.host != host; });
    return changes;
  }
  static std::int64_t direct(const Results& results) {
    std::int64_t samples = 0;
    for (const CacheRecord& record : results.journal.caches)
      if (record.rank < 4) samples += record.samples;
    return samples;
  }
  static void expect_absences(const std::string& host, const Results& results, std::size_t absences) {
    EXPECT_GE(of(host, results, "departed").size(), absences);
    EXPECT_GE(of(host, results, "gone").size(), absences);
    EXPECT_GE(of(host, results, "joined").size(), absences + 1);
    EXPECT_GE(cache_sum(results.journal, "").samples, rounds * 4 * 8);
    EXPECT_EQ(trained(results.journal), rounds * 4 * 8);
  }
};

class NodeDepartureJobs : public DepartureJobs {};

TEST_P(NodeDepartureJobs, EndWithTheModelOfAJobWithout) {
  succeeds("simulate " + job(GetParam() + " --set transience.lifetime=never") + " --out without");
  EXPECT_EQ(direct(results("without")), 0);
  for (const std::string world : {"simulate", "run"}) {
    SCOPED_TRACE(world);
    succeeds(world + " " + job(GetParam()) + " --out with_" + world);
    const Results with = results("with_" + world);
    expect_absences("node-4", with, 2);
    EXPECT_GT(direct(with), 0);
    expect_same_model("without", "with_" + world);
    if (GetParam().find("keep=true") != std::string::npos) {
      EXPECT_GT(cache_sum(with.journal, "kept").samples, 0);
    }
  }
  EXPECT_LE(line_.tandem("compare with_simulate with_run --out comparison").exit_code, 1);
}

const std::string keeping = "--set data.cache_capacity=20kB --set data.disk_capacity=150kB ";
INSTANTIATE_TEST_SUITE_P(LongAll, NodeDepartureJobs,
                         ::testing::Values("--set transience.notice=10", keeping + "--set data.keep=true"));

/// Two nodes that ask each other, of which both depart. Their memory holds all samples,
/// and any worker may get any of them.
class PeerDepartureJobs : public DepartureJobs {
 protected:
  static std::string peers() {
    return "--set workload.train_samples=256 --set data.cache_capacity=300kB --set data.sampling=shuffled "
           "--set data.copies=1 "
           "--set placement.cache_nodes=[node-4,node-5] --set data.peers=" +
           GetParam() + (GetParam() == "directory" ? " --set placement.directory=server" : "");
  }
};

TEST_P(PeerDepartureJobs, EndWithTheModelOfAJobWithout) {
  succeeds("simulate " + job(peers() + " --set transience.lifetime=never") + " --out without");
  succeeds("run " + job(peers()) + " --out with");
  expect_absences("node-4", results("with"), 2);
  expect_absences("node-5", results("with"), 1);
  EXPECT_GT(direct(results("with")), 0);
  EXPECT_GT(cache_sum(results("with").journal, "peer").samples, 0);
  expect_same_model("without", "with");
}

INSTANTIATE_TEST_SUITE_P(LongPartition, PeerDepartureJobs, ::testing::Values("partition"));
INSTANTIATE_TEST_SUITE_P(LongOthers, PeerDepartureJobs, ::testing::Values("directory"));

/// The same, where each knows what the other one keeps, in both worlds.
class PlannedDepartureJobs : public DepartureJobs {
 protected:
  static std::string plan() {
    return "--set workload.train_samples=256 --set data.cache_capacity=150kB --set data.sampling=shuffled "
           "--set placement.cache_nodes=[node-4,node-5] --set data.peers=plan --set data.cache=" +
           GetParam();
  }
  /// Of each epoch that has ended, all samples were delivered, each once.
  static void expect_delivered_once(const Results& results) {
    std::map<std::int64_t, std::vector<std::uint32_t>> requested;
    for (const DeliveryRecord& record : results.journal.deliveries)
      add_ids(record.requested, requested.try_emplace(record.epoch, 256).first->second);
    for (std::int64_t epoch = 0; epoch < rounds * 4 * 8 / 256; ++epoch)
      EXPECT_EQ(std::ranges::count(requested[epoch], 1U), 256) << epoch;
  }
};

TEST_P(PlannedDepartureJobs, EndWithTheModelOfAJobWithout) {
  succeeds("simulate " + job(plan() + " --set transience.lifetime=never") + " --out without");
  for (const std::string world : {"simulate", "run"}) {
    SCOPED_TRACE(world);
    succeeds(world + " " + job(plan()) + " --decisions --requests --out with_" + world);
    const Results with = results("with_" + world);
    expect_absences("node-4", with, 2);
    expect_absences("node-5", with, 1);
    EXPECT_GT(direct(with), 0);
    EXPECT_GT(cache_sum(with.journal, "peer").samples, 0);
    expect_delivered_once(with);
    expect_same_model("without", "with_" + world);
  }
  expect_replayed(results("with_simulate"), results("with_run"));
}

INSTANTIATE_TEST_SUITE_P(
    LongAll, PlannedDepartureJobs,
    ::testing::Values(
        "nopfs --set data.cache_options.memory_mb_s=1000 --set data.cache_options.peer_mb_s=100 "
        "--set data.cache_options.store_mb_s=10",
        "partitioned-minio"));

class StoreDepartureJobs : public DepartureJobs {
 protected:
  std::string stored(const std::string& settings) const {
    return job(
        "--set placement.cache_nodes=[server] --set placement.stores=[node-5] --set "
        "data.cache_capacity=20kB " +
        settings);
  }
};

TEST_P(StoreDepartureJobs, EndWithTheModelOfAJobWithout) {
  succeeds("simulate " + stored(GetParam() + " --set transience.lifetime=never") + " --out without");
  succeeds("run " + stored(GetParam()) + " --out with");
  expect_absences("node-5", results("with"), 1);
  EXPECT_EQ(direct(results("with")), 0);
  expect_same_model("without", "with");
}

INSTANTIATE_TEST_SUITE_P(LongAll, StoreDepartureJobs, ::testing::Values(""));

class SingleDepartureJobs : public StoreDepartureJobs {};
using LongSingleDepartureJobs = SingleDepartureJobs;

/// Nobody else has its samples.
TEST_P(SingleDepartureJobs, EndWithoutAStoreThatDoesNotComeBackAndNameIt) {
  refuses(GetParam() + " " + stored("--set transience.start=100000 --set recovery.give_up=1") + " --out out",
          "the store on 'node-5' has departed and did not come back in time", 70);
}

/// The shipped experiment, for some epochs.
TEST_P(LongSingleDepartureJobs, OfTheShippedExperimentHaveDepartures) {
  const std::string output =
      succeeds(GetParam() + " " + testing::source_folder() +
               "/workloads/experiments/departing_cache.yaml --variant lost --set stop.epochs=2 --out out");
  const Results result = results("out");
  const auto departures = of("node-4", result, "departed").size();
  EXPECT_GE(departures, 1U);
  EXPECT_GE(of("node-4", result, "ready").size(), 1U);
  expect_in(" of machines without workers (" + std::to_string(departures) + " cache-node)", output);
  EXPECT_EQ(trained(result.journal), 2 * 3000);
}

INSTANTIATE_TEST_SUITE_P(Simulated, SingleDepartureJobs, ::testing::Values("simulate"));
INSTANTIATE_TEST_SUITE_P(LongMeasured, SingleDepartureJobs, ::testing::Values("run"));
INSTANTIATE_TEST_SUITE_P(LongMeasured, LongSingleDepartureJobs, ::testing::Values("run"));

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
