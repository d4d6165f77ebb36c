// Faults of the data path of real jobs: samples that are not what their data set says, stores and cache nodes
// that die. No wrong sample is ever trained on: the models are those of undisturbed jobs.
#include <random>

#include "tests/cli/restart_jobs.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// The ranks: four workers, a server, two cache nodes (5, 6), two stores (7, 8) and an evaluator.
const std::string two_stores =
    "--set platform=lab.xml --set data.source=storage --set placement.cache_nodes=[node-1,node-2] --set "
    "placement.stores=[server,node-6] --set data.cache_capacity=50kB ";
/// As in the shipped lab, with a second disk.
void write_platform(const CommandLine& line) { edited_lab(line, {disks_of("node-6", "200MBps", "150MBps")}); }
const std::string own_disk =
    "--set data.source=storage --set placement.cache_nodes=[server] --set data.cache_capacity=50kB ";

class BadSamples : public ResumeJobs {
 protected:
  BadSamples() { write_platform(line_); }
  std::string job(const std::string& settings) const {
    return line_.experiment() +
           " --set workload.train_samples=200 --set workload.test_samples=50 --set stop.rounds=14 " +
           settings;
  }
  static constexpr const char* of_shards =
      "--set workload.dataset=shards --set workload.dataset_directory=shards ";
  void make_shards() const {
    succeeds("data pack fashion-mnist shards --train-samples 200 --test-samples 50 --shard-size 1MB");
  }
  /// Changes bytes of the training samples with these numbers, from 1, in their archive.
  void corrupt(const std::string& numbers) const {
    const auto done = line_.shell(
        "for n in " + numbers +
        "; do at=$(awk -v n=$n '/^shard train/ {t = 1; next} /^shard test/ {t = 0} t && ++i == n {print $1 + "
        "int($2 / 2)}' shards/index.txt); printf 'tandem' | dd of=shards/train-00000.tar bs=1 seek=$at "
        "conv=notrunc status=none || exit 1; done");
    EXPECT_EQ(done.exit_code, 0) << done.output;
  }
  std::int64_t replaced(const std::string& directory) const {
    return results(directory).summary.cache.value().replaced.value_or(0);
  }
};
using LongBadSamples = BadSamples;

TEST_F(LongBadSamples, EndTheJobAndAreNamed) {
  make_shards();
  corrupt("50");
  for (const auto& source : {two_stores, own_disk})
    for (const char* world : {"simulate ", "run "}) {
      const auto result = line_.tandem(world + job(of_shards + source) + " --out bad --force");
      EXPECT_EQ(result.exit_code, 70) << result.output;
      for (const char* word : {"sample 49 (", "shards/train-00000.tar, byte ", "expected the checksum",
                               "found ", "3 attempts", "data.bad_sample"})
        expect_in(word, result.output);
    }
}

TEST_F(LongBadSamples, AreReplacedAlikeInBothWorlds) {
  make_shards();
  const std::string replacing = of_shards + std::string("--set data.bad_sample=replace ");
  succeeds("simulate " + job(of_shards + two_stores) + " --out whole");
  succeeds("run " + job(replacing + two_stores) + " --out good");
  EXPECT_TRUE(contents("good/model.pt") == contents("whole/model.pt"));
  EXPECT_EQ(replaced("good"), 0);
  corrupt("20 50 51 120");
  for (const auto& [name, source] : {std::pair("stores", two_stores), std::pair("disk", own_disk)}) {
    SCOPED_TRACE(name);
    const std::string simulated = std::string("simulated_") + name,
                      measured = std::string("measured_") + name;
    const std::string told = succeeds("simulate " + job(replacing + source) + " --out " + simulated);
    expect_in("data.bad_sample: replace", told);
    succeeds("run " + job(replacing + source) + " --out " + measured);
    EXPECT_TRUE(contents(measured + "/model.pt") == contents(simulated + "/model.pt"));
    EXPECT_FALSE(contents(measured + "/model.pt") == contents("whole/model.pt"));
    // The job visits each sample twice, but for some of the second epoch.
    EXPECT_GE(replaced(simulated), 4);
    EXPECT_LE(replaced(simulated), 16);
    EXPECT_EQ(replaced(measured), replaced(simulated));
    EXPECT_EQ(results(measured).journal.steps.size(), results("whole").journal.steps.size());
  }
  EXPECT_TRUE(contents("measured_disk/model.pt") == contents("measured_stores/model.pt"));
}

/// A node that keeps a bad sample has nothing that it could send another one.
TEST_F(LongBadSamples, OfOtherNodesAreReplacedToo) {
  make_shards();
  corrupt("20 50 51 120");
  const std::string replacing = of_shards + two_stores +
                                "--set data.bad_sample=replace --set data.sampling=shuffled --set "
                                "stop.rounds=20 --set data.cache_capacity=200kB ";
  succeeds("simulate " + job(replacing) + " --out alone");
  EXPECT_GE(replaced("alone"), 8);
  for (const auto& [name, peers] :
       {std::pair("tiers",
                  "--set placement.cache_nodes=[server,node-6] --set data.peers=ring --set "
                  "data.cache_capacity=5kB --set data.disk_capacity=200kB"),
        std::pair("directory", "--set data.peers=directory --set placement.directory=server"),
        std::pair("planned",
                  "--set data.peers=plan --set data.cache=nopfs --set data.cache_capacity=60kB")}) {
    SCOPED_TRACE(name);
    succeeds("run " + job(replacing + peers) + " --out " + name);
    EXPECT_TRUE(contents(std::string(name) + "/model.pt") == contents("alone/model.pt"));
    EXPECT_EQ(replaced(name), replaced("alone"));
    EXPECT_GT(results(name).summary.cache.value().peer_misses.value_or(0), 0);
  }
}

TEST_F(LongBadSamples, BrokenImagesAreReplacedToo) {
  make_shards();
  line_.shell(
      "for part in train test; do mkdir -p images/$part; for file in shards/$part-*.tar; do tar xf $file -C "
      "images/$part; done; done; file=$(ls images/train/00003/* | head -n 1); printf 'tandem tandem' | dd "
      "of=$file bs=1 seek=50 conv=notrunc status=none");
  const std::string broken =
      "--set workload.dataset=folder --set workload.dataset_directory=images " + own_disk;
  refuses("run " + job(broken) + " --out stopped", "/images/train/00003/");
  for (const char* world : {"simulate", "run"})
    succeeds(std::string(world) + " " + job(broken + "--set data.bad_sample=replace") + " --out " + world);
  EXPECT_GE(replaced("run"), 1);
  EXPECT_EQ(replaced("run"), replaced("simulate"));
  EXPECT_TRUE(contents("run/model.pt") == contents("simulate/model.pt"));
}

/// In a local tier that is full; the job continues.
TEST_F(LongBadSamples, AFullDiskIsTold) {
  const std::string tiers = own_disk + "--set data.cache_capacity=5kB --set data.disk_capacity=60kB ";
  succeeds("simulate " + job(tiers) + " --out whole");
  // The result directory is prepared before there are ranks.
  const auto told = line_.shell(
      "\"$TANDEM\" run " + job(tiers) +
      " --out out > told.txt 2>&1 & run=$!; until [ -e out/job.json ]; do kill -0 $run || break; sleep 0.01; "
      "done; ln -s /dev/full out/tier_0.bin; wait $run; code=$?; cat told.txt; exit $code");
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_GT(results("out").summary.cache.value().no_room.value_or(0), 0);
  expect_in("had no room for a sample of its second tier", told.output);
  EXPECT_TRUE(contents("out/model.pt") == contents("whole/model.pt"));
}

/// Runs read the files themselves; simulations have ranks that send them.
TEST_F(LongBadSamples, AMountedStorageIsReadByCacheNodes) {
  make_shards();
  const std::string mounted = of_shards + two_stores + "--set data.store=mounted --set run.devices=native ";
  succeeds("simulate " + job(mounted) + " --operations --decisions --out simulated");
  succeeds("run " + job(mounted) + " --operations --decisions --out measured");
  EXPECT_TRUE(contents("measured/model.pt") == contents("simulated/model.pt"));
  EXPECT_EQ(std::ranges::count(results("simulated").info.roles, "store"), 2);
  EXPECT_EQ(std::ranges::count(results("measured").info.roles, "store"), 0);
  const auto compared = line_.tandem("compare simulated measured --out compared");
  expect_in("parity passed, replay passed", compared.output);
  // Bad samples are noticed there too.
  corrupt("50");
  refuses("run " + job(mounted) + " --out stopped", "sample 49 (", 70);
  for (const auto& [settings, words] :
       {std::pair("--set run.devices=emulated", "key 'run.devices'"),
        std::pair("--set workload.dataset=fashion-mnist", "key 'workload.dataset'"),
        std::pair("--set data.source=memory", "'data.store': expected served"),
        std::pair("--set placement.stores=[]", "placement.stores")}) {
    const std::string sources = std::string(settings).find("memory") == std::string::npos
                                    ? ""
                                    : " --set placement.stores=[] --set placement.cache_nodes=[]";
    refuses("run " + job(mounted) + settings + sources + " --out refused", words);
  }
}

/// By the kernel (io_uring) or by threads, which the result says: the same samples, and the same notice of
/// bad ones.
TEST_F(LongBadSamples, AMountedStorageIsReadColdAsWell) {
  make_shards();
  const std::string mounted = of_shards + two_stores + "--set data.store=mounted --set run.devices=native ";
  succeeds("simulate " + job(mounted) + " --out simulated");
  succeeds("run " + job(mounted) + "--set data.cold=true --out cold");
  EXPECT_TRUE(contents("cold/model.pt") == contents("simulated/model.pt"));
  const auto physics = nlohmann::json::parse(contents("cold/run.json")).at("physics");
  ASSERT_EQ(physics.at("cold_reads").size(), 2U) << physics;
  for (const auto& [rank, way] : physics.at("cold_reads").items()) {
    if (way.get<std::string>().find("O_DIRECT") == std::string::npos) continue;
    const std::string by = physics.at("reads_by").at(rank);
    EXPECT_TRUE(by == "io_uring" || by == "threads") << by;
  }
  corrupt("50");
  const auto stopped = line_.tandem("run " + job(mounted) + "--set data.cold=true --out stopped");
  EXPECT_EQ(stopped.exit_code, 70) << stopped.output;
  for (const char* word : {"sample 49 (", "expected the checksum", "3 attempts"})
    expect_in(word, stopped.output);
}

class DyingStores : public RestartJobs, public ::testing::WithParamInterface<int> {
 protected:
  DyingStores() { write_platform(line_); }
};

TEST_P(DyingStores, EndTheJobAndAreNamed) {
  const std::string words = job(1'000'000, two_stores + "--set recovery.mode=in-place");
  const auto told = killed(words, {{has_checkpoint(10), std::to_string(GetParam())}});
  EXPECT_EQ(told.exit_code, 70) << told.output;
  const std::string host = GetParam() == 5 ? "cache-node on 'node-1'" : "store on 'server'";
  EXPECT_NE(told.output.find(fmt::format("rank {} is the {}", GetParam(), host)), std::string::npos)
      << told.output;
  EXPECT_EQ(line_.shell("ls out | grep '[.]bin'").output, "");
}

INSTANTIATE_TEST_SUITE_P(LongAll, DyingStores, ::testing::Values(5, 7),
                         [](const auto& info) { return info.param == 5 ? "OfACacheNode" : "OfAStore"; });

/// The rank behind the stores, on the host of the first cache node.
class DyingDirectory : public RestartJobs {
 protected:
  DyingDirectory() { write_platform(line_); }
};
using LongDyingDirectory = DyingDirectory;

TEST_F(LongDyingDirectory, EndsTheJobAndIsNamed) {
  const auto told = killed(job(1'000'000, two_stores + "--set data.peers=directory --set data.copies=1 --set "
                                                       "recovery.mode=in-place"),
                           {{has_checkpoint(10), "9"}});
  EXPECT_EQ(told.exit_code, 70) << told.output;
  expect_in("rank 9 is the directory on 'node-1'", told.output);
}

/// Cache nodes with two tiers (5, 6), stores (7, 8) and their directory (9) are killed one after the other at
/// random moments, each after at least one more commit.
class DeathsOfTheDataPath : public RestartJobs {
 protected:
  DeathsOfTheDataPath() { write_platform(line_); }
  static unsigned random(unsigned below) {
    static std::random_device device;
    return device() % below;
  }
};

using LongDeathsOfTheDataPath = DeathsOfTheDataPath;

TEST_F(LongDeathsOfTheDataPath, TrainOnNoWrongSample) {
  constexpr int deaths = 5, rounds = 40 * (deaths + 1);
  const std::string words =
      job(rounds,
          "--set platform=lab.xml --set data.source=storage --set placement.cache_nodes=[server,node-6] "
          "--set placement.stores=[server,node-6] --set data.cache_capacity=20kB --set "
          "data.disk_capacity=60kB --set data.peers=directory --set data.copies=1 --set "
          "recovery.restarts=100 ");
  succeeds("simulate " + words + " --out whole");
  std::string script =
      "echo 0 > count; committed() { ls out/checkpoints 2> /dev/null | grep -c '[.]pt$'; }; ";
  for (int death = 0; death < deaths; ++death)
    script += fmt::format(
        "until [ $(committed) -gt $(cat count) ]; do kill -0 $run 2> /dev/null || break; sleep 0.01; done; "
        "committed > count; sleep {:.2f}; kill -KILL $(rank {}) 2> /dev/null; ",
        0.01 * random(50), 5 + death);
  const auto told = killed(words, {}, script);
  ASSERT_EQ(told.exit_code, 0) << told.output;
  RecordProperty("restarts", static_cast<int>(restarts("out")));
  EXPECT_GE(restarts("out"), 1U) << told.output;
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", rounds);
  EXPECT_EQ(line_.shell("ls out | grep '[.]bin'").output, "");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
