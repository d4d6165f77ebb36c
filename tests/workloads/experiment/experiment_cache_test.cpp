// Cache policies in jobs: which samplers and algorithms they go with.
#include <gtest/gtest.h>

#include <string>

#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/job/plan/data_plan.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;

class CacheKeys : public ExperimentFile {
 protected:
  static std::string stored(const std::string& data, const std::string& more = "") {
    return minimal + "placement: {cache_nodes: [a]}\n" + more + "data: {source: storage, " + data + "}\n";
  }
};

TEST_F(CacheKeys, PoliciesThatPlanGoWithSamplersThatDealLists) {
  EXPECT_EQ(load(stored("cache: icache, sampling: importance")).data.cache, "icache");
  EXPECT_EQ(load(stored("cache: shade, sampling: rank-exponential")).data.cache, "shade");
  EXPECT_EQ(load(stored("cache: quiver, sampling: shuffled")).data.cache, "quiver");
  EXPECT_EQ(load(stored("cache: ods, sampling: chunked")).data.cache, "ods");
  EXPECT_EQ(load(stored("cache: lru, sampling: importance")).data.sampling, "importance");
}

TEST_F(CacheKeys, RefuseSamplersThatDoNotTellWhatAPolicyNeeds) {
  EXPECT_EQ(error_of(stored("cache: icache")),
            "lab.yaml: key 'data.sampling': expected importance | rank-exponential | shade, because cache "
            "policy icache needs losses, found 'shard'");
  EXPECT_EQ(error_of(stored("cache: icache, sampling: shuffled")),
            "lab.yaml:4: key 'data.sampling': expected importance | rank-exponential | shade, because cache "
            "policy icache needs losses, found 'shuffled'");
  EXPECT_EQ(error_of(stored("cache: ods")),
            "lab.yaml: key 'data.sampling': expected shuffled | importance | chunked, because cache policy "
            "ods needs the lists of epochs, found 'shard'");
  EXPECT_EQ(error_of(stored("cache: quiver, sampling: replacement")),
            "lab.yaml:4: key 'data.sampling': expected shuffled | importance | chunked, because cache policy "
            "quiver needs samples that are listed once, to change their places, found 'replacement'");
}

TEST_F(CacheKeys, RefuseWorkersThatAreInDifferentEpochs) {
  EXPECT_EQ(error_of(stored("cache: quiver, sampling: shuffled", "sync: {algorithm: asp}\n")),
            "lab.yaml:4: key 'sync.algorithm': expected an algorithm in which all workers take the same "
            "steps, because cache policy quiver needs epochs that begin for all workers at the same time, "
            "found 'asp'");
}

TEST_F(CacheKeys, RefuseCommitsThatLackWhichSamplesChangedPlaces) {
  const std::string because =
      ", because cache policy quiver lets samples change places in an epoch, and workers with modelled "
      "mathematics do not learn which they got, found ";
  EXPECT_EQ(error_of(stored("cache: quiver, sampling: shuffled", "checkpoint: {policy: fixed}\n")),
            "lab.yaml:4: key 'checkpoint.policy': expected nothing" + because + "'fixed'");
  EXPECT_EQ(
      error_of(stored("cache: quiver, sampling: shuffled", "recovery: {mode: restart}\nevaluate_every: 2\n")),
      "lab.yaml:4: key 'recovery.mode': expected in-place" + because + "'restart'");
  EXPECT_NO_THROW(load(stored("cache: icache, sampling: importance", "checkpoint: {policy: fixed}\n")));
}

TEST_F(CacheKeys, RefuseTiersThatCannotBeKept) {
  EXPECT_TRUE(load(stored("disk_capacity: 1MB, keep: true")).data.keep);
  EXPECT_EQ(error_of(stored("keep: true")),
            "lab.yaml: key 'data.disk_capacity': expected the size of the second tier of cache nodes, "
            "because data.keep keeps it (memory is lost with the process), found '0B'");
  EXPECT_EQ(error_of(stored("disk_capacity: 1MB, keep: true, cache: quiver, sampling: shuffled")),
            "lab.yaml:4: key 'data.cache': expected a policy that needs only requests, or nopfs, because "
            "cache policy quiver does not use the second tier, which data.keep keeps, found 'quiver'");
  EXPECT_EQ(error_of(minimal + "data: {keep: true}\n"),
            "lab.yaml:3: key 'data.keep': expected false, because workers have their samples in memory "
            "(data.source) and no cache nodes; use data.source: storage, found 'true'");
}

TEST_F(CacheKeys, ADirectoryServesPoliciesThatNeedOnlyRequests) {
  EXPECT_EQ(load(stored("cache: minio, peers: directory, copies: 1")).data.peers, Peers::directory);
  EXPECT_EQ(
      error_of(stored("cache: hoard, peers: directory")),
      "lab.yaml:4: key 'data.peers': expected plan, because cache policy hoard needs more than requests: "
      "reads from other nodes, reads in the background, found 'directory'");
  EXPECT_EQ(load(stored("cache: icache, sampling: importance, peers: directory, copies: 1")).data.peers,
            Peers::directory);
  EXPECT_EQ(error_of(stored("cache: icache, sampling: importance, peers: ring")),
            "lab.yaml:4: key 'data.peers': expected none or directory, because cache policy icache needs "
            "more than requests: losses, reads in the background, found 'ring'");
  EXPECT_EQ(error_of(stored("cache: quiver, sampling: shuffled, peers: directory")),
            "lab.yaml:4: key 'data.peers': expected none, because cache policy quiver needs more than "
            "requests: the rest of each epoch, found 'directory'");
  EXPECT_EQ(error_of(minimal + "placement: {cache_nodes: [a], directory: a}\n" +
                     "data: {source: storage, peers: ring}\n"),
            "lab.yaml:3: key 'placement.directory': expected nothing, or data.peers directory, because "
            "data.peers is ring, found 'a'");
}

TEST_F(CacheKeys, CacheNodesMayAskEachOtherWhereMachinesDepart) {
  const std::string departs = "transience: {lifetime: exponential}\n";
  EXPECT_EQ(load(stored("peers: directory", departs)).data.peers, Peers::directory);
  EXPECT_EQ(load(stored("peers: ring", departs)).data.peers, Peers::ring);
}

TEST_F(CacheKeys, CapacityMayBeAPartOfTheStoredSamples) {
  Experiment experiment = load(stored("cache_capacity: 12.5%", "workload: {train_samples: 160}\n"));
  EXPECT_EQ(experiment.data.cache_percent.value, 12.5);
  EXPECT_EQ(to_json(experiment).at("data").at("cache_capacity"), "12.5%");
  resolve_cache_capacity(experiment);
  EXPECT_EQ(experiment.data.cache_capacity, Bytes(20 * 785)) << "Fashion-MNIST: a label and 28 x 28 pixels";
  EXPECT_EQ(experiment.data.cache_percent.value, 0.0);
  EXPECT_EQ(load(stored("cache_capacity: 0%")).data.cache_capacity, Bytes(0));
  for (const char* text : {"120%", "-1%", "x%", "-5", "some"})
    EXPECT_EQ(error_of(stored(std::string("cache_capacity: ") + text)),
              "lab.yaml:4: key 'data.cache_capacity': expected size >= 0 (like 4MiB) | 0% to 100% of the "
              "training samples' bytes, found '" +
                  std::string(text) + "'");
}

TEST_F(CacheKeys, BackgroundIsAWordOrANumberOfLoaders) {
  const auto given = [&](const std::string& text) {
    return load(stored("cache: hoard"), {{"data.background", text}}).data;
  };
  EXPECT_EQ(given("4").loaders, 4);
  EXPECT_EQ(given("while-computing").background, BackgroundReads::while_computing);
  for (const char* text : {"0", "1025", "always", "2.5"})
    EXPECT_EQ(
        error_of(stored(std::string("cache: hoard, background: ") + text)),
        "lab.yaml:4: key 'data.background': expected idle | while-computing | integer >= 1 and <= 1024, "
        "found '" +
            std::string(text) + "'");
}

TEST_F(CacheKeys, ReadsInTheBackgroundWaitOnlyWhereThereAreSome) {
  EXPECT_EQ(load(stored("cache: hoard, background: while-computing")).data.background,
            BackgroundReads::while_computing);
  EXPECT_EQ(load(stored("cache: hoard, background: 2")).data.loaders, 2);
  // It reads its plan ahead.
  EXPECT_EQ(load(stored("cache: nopfs, background: while-computing")).data.background,
            BackgroundReads::while_computing);
  const std::string idle = "key 'data.background': expected idle, because ";
  EXPECT_EQ(error_of(stored("cache: lru, background: while-computing")),
            "lab.yaml:4: " + idle +
                "cache policy lru reads nothing in the background, found "
                "'while-computing'");
  EXPECT_EQ(error_of(stored("cache: hoard, background: while-computing",
                            "sync: {algorithm: d-psgd, over: peers}\n")),
            "lab.yaml:5: " + idle +
                "over peers (sync.over), workers exchange models while they compute, found "
                "'while-computing'");
  EXPECT_EQ(error_of(minimal + "data: {cache: hoard, background: while-computing}\n"),
            "lab.yaml:3: " + idle +
                "workers have their samples in memory (data.source) and no cache nodes; use data.source: "
                "storage, found 'while-computing'");
}

TEST_F(CacheKeys, PoliciesThatPlanWithTheRunGoWithListsThatTheSeedTells) {
  for (const char* sampler : {"shard", "shuffled", "chunked", "replacement"})
    EXPECT_EQ(load(stored("cache: nopfs, sampling: " + std::string(sampler))).data.cache, "nopfs");
  EXPECT_EQ(
      error_of(stored("cache: nopfs, sampling: importance")),
      "lab.yaml:4: key 'data.sampling': expected shard | shuffled | replacement | chunked, because cache "
      "policy nopfs plans with the whole run, found 'importance'");
}

TEST_F(CacheKeys, RefuseRunsWithoutAnEnd) {
  EXPECT_NE(
      error_of("platform: lab.xml\nstop: {seconds: 5}\nsync: {algorithm: asp}\nplacement: {cache_nodes: "
               "[a]}\ndata: {source: storage, cache: nopfs}\n")
          .find("expected the number of epochs, or stop.rounds, because cache policy nopfs plans with the "
                "whole run, found '0'"),
      std::string::npos);
}

/// It reads from others only where the experiment lets nodes do so.
TEST_F(CacheKeys, APolicyThatComparesRatesDoesWithoutPeers) {
  const std::string nodes = "data: {source: storage, cache: nopfs}\nplacement: {cache_nodes: [a, b]}\n";
  EXPECT_NO_THROW(load(minimal + nodes));
  EXPECT_NE(error_of(minimal + "data: {source: storage, cache: foresight, sampling: shuffled}\nplacement: "
                               "{cache_nodes: [a, b]}\n")
                .find("a policy that reads from no other cache node"),
            std::string::npos);
}

TEST_F(CacheKeys, ListsMayDependOnWhatIsCached) {
  EXPECT_EQ(load(stored("cache: shade, sampling: shade")).data.sampling, "shade");
  EXPECT_EQ(load(stored("cache: lru, sampling: shade")).data.sampling, "shade");
  EXPECT_EQ(
      error_of(stored("cache: shade, sampling: shade", "checkpoint: {policy: fixed}\n")),
      "lab.yaml:4: key 'checkpoint.policy': expected nothing, because the lists of sampler shade depend on "
      "what is cached, which commits do not record, found 'fixed'");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
