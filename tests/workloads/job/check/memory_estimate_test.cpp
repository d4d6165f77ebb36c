// The estimate of memory: sums by hand, and the hosts that have too little.
#include "workloads/job/check/memory_estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/commit_plan.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t lenet_bytes = 4 * 431'080;
constexpr std::int64_t lenet_activations =
    4 * (784 + 11'520 + 5'760 + 2'880 + 3'200 + 1'600 + 800 + 500 + 10);
constexpr std::int64_t record_bytes = 785;

/// Two workers on "a" and "b" train LeNet with a server on "c".
Experiment two_workers() {
  Experiment experiment;
  experiment.workload.model = "lenet";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 1001;
  experiment.workload.test_samples = 100;
  experiment.workload.batch = 10;
  experiment.placement.workers = {"a", "b"};
  experiment.placement.servers = {"c"};
  experiment.placement.evaluator = "c";
  experiment.stop.rounds = 1;
  return experiment;
}

platforms::Description platform(const std::string& memory_of_a = "") {
  platforms::Description description;
  description.file = "three.xml";
  for (const char* name : {"a", "b", "c"}) description.hosts.emplace_back().name = name;
  if (!memory_of_a.empty()) description.hosts.front().properties["memory"] = memory_of_a;
  return description;
}

Job job(Experiment experiment, platforms::Description on = platform()) {
  return {std::move(experiment), std::move(on), ""};
}

TEST(Memory, OfAWorkerAndAServerByHand) {
  const Job lenet = job(two_workers());
  const RankMemory worker = estimate_memory(lenet, 0);
  EXPECT_EQ(worker.model, Bytes(lenet_bytes));
  EXPECT_EQ(worker.gradient, Bytes(lenet_bytes));
  EXPECT_EQ(worker.optimizer, Bytes(0));
  EXPECT_EQ(worker.algorithm, Bytes(0));
  EXPECT_EQ(worker.activations, Bytes(10 * lenet_activations));
  // Its 501 samples, and a batch in use and one in advance.
  EXPECT_EQ(worker.data, Bytes((501 + 20) * record_bytes));
  EXPECT_EQ(estimate_memory(lenet, 1).data, Bytes((500 + 20) * record_bytes));
  const RankMemory server = estimate_memory(lenet, 2);
  EXPECT_EQ(server.model, Bytes(2 * lenet_bytes));
  EXPECT_EQ(server.gradient, Bytes(lenet_bytes));
  EXPECT_EQ(server.algorithm, Bytes(2 * lenet_bytes)) << "a push of each worker";
  EXPECT_EQ(server.total(), Bytes(5 * lenet_bytes));
}

TEST(Memory, OfOptimisersAndAlgorithms) {
  Experiment experiment = two_workers();
  experiment.optimizer.kind = OptimizerKind::adam;
  EXPECT_EQ(estimate_memory(job(experiment), 2).optimizer, Bytes(2 * lenet_bytes));
  experiment.optimizer.kind = OptimizerKind::sgd;
  experiment.optimizer.momentum = 0.9;
  EXPECT_EQ(estimate_memory(job(experiment), 0).optimizer, Bytes(lenet_bytes));
  experiment.sync.algorithm = "local-sgd";
  EXPECT_EQ(estimate_memory(job(experiment), 0).algorithm, Bytes(2 * lenet_bytes)) << "mark and change";
  experiment.sync.algorithm = "dc-asgd";
  EXPECT_EQ(estimate_memory(job(experiment), 2).algorithm, Bytes(4 * lenet_bytes))
      << "a push and an older model of each worker";
  experiment.sync.algorithm = "bsp";
  experiment.sync.compression = "dgc";
  EXPECT_EQ(estimate_memory(job(experiment), 0).buffers, Bytes(2 * lenet_bytes)) << "unsent, and velocities";
  experiment.sync.compression = "none";
  experiment.sync.over = sync::Route::all_reduce;
  experiment.workload.bucket_bytes = Bytes(0);
  EXPECT_EQ(estimate_memory(job(experiment), 0).buffers, Bytes(lenet_bytes)) << "one bucket";
}

TEST(Memory, WithRealMathematicsEveryRankHasTheWholeDataSet) {
  Experiment experiment = two_workers();
  experiment.workload.math = Math::real;
  const Job real = job(experiment);
  for (const Rank worker : {0, 1})
    EXPECT_EQ(estimate_memory(real, worker).data, Bytes((1001 + 100 + 20) * record_bytes)) << worker;
  EXPECT_EQ(estimate_memory(real, 2).data, Bytes((1001 + 100) * record_bytes)) << "the server too";
}

TEST(Memory, IsSplitAmongTheShardsOfAServer) {
  Experiment experiment = two_workers();
  experiment.placement.servers = {"c", "c"};
  const Job halves = job(experiment);
  const auto total = estimate_memory(halves, 2).total() + estimate_memory(halves, 3).total();
  EXPECT_EQ(total, Bytes(5 * lenet_bytes));
}

/// Two workers, a cache node and a store.
Experiment from_storage() {
  Experiment experiment = two_workers();
  experiment.data.source = DataSource::storage;
  experiment.data.prefetch = 2;
  experiment.data.cache_capacity = Bytes(1'000'000);
  experiment.placement.cache_nodes = {"c"};
  experiment.placement.stores = {"c"};
  return experiment;
}

platforms::Description platform_with_disk() {
  auto on = platform();
  on.hosts[2].disks = {{"disk", BytesPerSecond(1e8), BytesPerSecond(1e8)}};
  return on;
}

Rank first_of(const Job& of, Roster::Role role) { return of.roster().ranks_of(role).front(); }

/// Messages have the mean size of what is stored, 114'000 bytes, which is less than an image of 224 x 224.
TEST(Memory, OfImagesFromStorageIsThatOfStoredBatches) {
  Experiment experiment = from_storage();
  experiment.workload.model = "resnet18";
  experiment.workload.dataset = "sizes";
  experiment.workload.dataset_options = {{"distribution", std::string("fixed")}, {"mean_bytes", 114'000.0}};
  const Job images = job(experiment, platform_with_disk());
  const Bytes stored(10 * 114'000);
  const Bytes records(10 * (2 + 3 * 224 * 224));
  EXPECT_EQ(images.data().stored_batch(), stored);
  EXPECT_EQ(estimate_memory(images, 0).data, stored * 3 + records) << "in use, in advance, and decoded";
  const RankMemory node = estimate_memory(images, first_of(images, Roster::Role::cache_node));
  EXPECT_EQ(node.data, Bytes(1'000'000 + 1001 * (4 + 4))) << "the cache, and tables of all samples";
  EXPECT_EQ(node.buffers, stored * 7 * 2) << "3 being sent, 1 read, 3 received from the store, per worker";
  EXPECT_EQ(estimate_memory(images, first_of(images, Roster::Role::store)).buffers, stored * 3 * 2);

  experiment.placement.stores.clear();
  const Job own_disk = job(experiment, platform_with_disk());
  EXPECT_EQ(estimate_memory(own_disk, first_of(own_disk, Roster::Role::cache_node)).buffers, stored * 4 * 2);
}

TEST(Memory, OfACacheNodeHasTheListsOfItsPolicy) {
  Experiment experiment = from_storage();
  const auto data_of_node = [](const Experiment& of) {
    const Job storage = job(of, platform_with_disk());
    return estimate_memory(storage, first_of(storage, Roster::Role::cache_node)).data;
  };
  const Bytes known_requests = data_of_node(experiment);
  experiment.data.cache = "quiver";
  EXPECT_EQ(data_of_node(experiment), known_requests + Bytes(8 * 1001)) << "the place of each sample";
  experiment.data.cache = "nopfs";
  experiment.data.cache_options = {{"memory_mb_s", 1000.0}, {"store_mb_s", 100.0}};
  experiment.stop = {};
  experiment.stop.epochs = 2.5;
  EXPECT_EQ(data_of_node(experiment), known_requests + Bytes(4 * 1001 * 3)) << "the lists of the run";
}

/// A cache node and a store on "n", which two jobs have in common.
TEST(Memory, OfASharedNodeIsThatForAllItsJobs) {
  Experiment experiment = from_storage();
  experiment.data.shared = true;
  experiment.placement.cache_nodes = {"n"};
  experiment.placement.stores = {"n"};
  auto on = platform();
  auto& shared = on.hosts.emplace_back();
  shared.name = "n";
  shared.disks = {{"disk", BytesPerSecond(1e8), BytesPerSecond(1e8)}};
  shared.properties["memory"] = "1kB";
  std::vector<Job> jobs;
  jobs.push_back(job(experiment, on));
  experiment.workload.batch = 30;
  jobs.push_back(job(experiment, on));
  std::vector<RankedJob> ranked;
  for (const Job& one : jobs) ranked.push_back({.roster = &one.roster(), .shares = true});
  const auto lacking = hosts_without_memory(jobs, JobRanks(ranked));
  ASSERT_EQ(lacking.size(), 1U);
  EXPECT_EQ(lacking.front().ranks, 2);
  const auto of = [](const Job& one, Roster::Role role) { return estimate_memory(one, first_of(one, role)); };
  using enum Roster::Role;
  const Bytes for_first = of(jobs[0], cache_node).total() + of(jobs[0], store).total();
  const Bytes for_second = of(jobs[1], cache_node).buffers + of(jobs[1], store).buffers + Bytes(4 * 1001);
  EXPECT_EQ(for_second, (of(jobs[0], cache_node).buffers + of(jobs[0], store).buffers) * 3 + Bytes(4 * 1001))
      << "its batches are three times as large";
  EXPECT_EQ(lacking.front().needed, for_first + for_second + program_memory * 2);
}

TEST(Memory, OfTheDirectoryIsAListForEachSample) {
  Experiment experiment = from_storage();
  experiment.data.peers = Peers::directory;
  experiment.data.copies = 1;
  experiment.placement.directory = experiment.placement.cache_nodes.front();
  const Job one = job(experiment, platform_with_disk());
  const auto samples = one.data().manifest().samples;
  EXPECT_EQ(estimate_memory(one, *one.roster().directory()).total() -
                estimate_memory(one, first_of(one, Roster::Role::store)).data,
            Bytes(samples * (24 + 2 * 16)));
}

TEST(Memory, OfStoredBatchesIsOfTheirMeanSize) {
  Experiment experiment = from_storage();
  experiment.workload.model = "resnet18";
  experiment.workload.dataset = "sizes";
  experiment.workload.dataset_options = {{"mean_bytes", 50'000.0}, {"deviation_bytes", 20'000.0}};
  const Job images = job(experiment, platform_with_disk());
  const auto& manifest = images.data().manifest();
  const double mean = static_cast<double>(manifest.total().count()) / static_cast<double>(manifest.samples);
  EXPECT_NEAR(static_cast<double>(images.data().stored_batch().count()), 10 * mean, 1.0);
  EXPECT_NEAR(mean, 50'000, 5'000);
}

TEST(Memory, OfRecordsFromStorageHasNothingToDecode) {
  Experiment experiment = from_storage();
  EXPECT_EQ(estimate_memory(job(experiment, platform_with_disk()), 0).data, Bytes(30 * record_bytes));
  experiment.data.augment = {{"flip", true}};
  EXPECT_EQ(estimate_memory(job(experiment, platform_with_disk()), 0).data, Bytes(40 * record_bytes))
      << "records that it augments";
}

TEST(Memory, OfAHostIsThatOfAllItsRanksAndThePrograms) {
  Experiment experiment = two_workers();
  experiment.placement.workers = {"a", "a"};
  EXPECT_TRUE(hosts_without_memory(job(experiment)).empty()) << "no host says how much it has";
  EXPECT_TRUE(hosts_without_memory(job(experiment, platform("1GiB"))).empty());
  const auto lacking = hosts_without_memory(job(experiment, platform("300MB")));
  ASSERT_EQ(lacking.size(), 1U);
  EXPECT_EQ(lacking.front().ranks, 2);
  EXPECT_GT(lacking.front().needed, program_memory * 2);
  EXPECT_THAT(to_text(lacking.front()), AllOf(HasSubstr("host 'a': 2 ranks need about 4"),
                                              HasSubstr("300 MB"), HasSubstr("activations")));
}

TEST(Memory, ABatchOfAMillionDoesNotFitABoard) {
  Experiment experiment = two_workers();
  experiment.workload.batch = 1'000'000;
  const auto lacking = hosts_without_memory(job(experiment, platform("1GiB")));
  ASSERT_EQ(lacking.size(), 1U);
  EXPECT_NEAR(static_cast<double>(lacking.front().needed.count()),
              1e6 * (lenet_activations + 2 * record_bytes), 0.01e12);
}

TEST(Memory, OfAGpuIsItsOwnProperty) {
  Experiment experiment = two_workers();
  experiment.workload.batch = 1000;
  // The processor has the program and the samples, the GPU all else.
  auto on = platform("205MB");
  on.hosts.front().device.is_gpu = true;
  EXPECT_TRUE(hosts_without_memory(job(experiment, on)).empty());
  on.hosts.front().properties["tandem:device_memory"] = "100MB";
  const auto lacking = hosts_without_memory(job(experiment, on));
  ASSERT_EQ(lacking.size(), 1U);
  EXPECT_EQ(lacking.front().needed, Bytes(2 * lenet_bytes + 1000 * lenet_activations));
  EXPECT_THAT(to_text(lacking.front()), HasSubstr("tandem:device_memory"));
}

/// LeNet's second convolution has 20 channels, its first one has one.
TEST(Memory, OfTensorCoresHasCopiesOfWeightsWithAdjacentChannels) {
  constexpr std::int64_t copied = 4 * 50 * 20 * 5 * 5;
  Experiment experiment = two_workers();
  experiment.workload.precision = Precision::tf32;
  auto on = platform();
  EXPECT_EQ(estimate_memory(job(experiment, on), 0).model, Bytes(lenet_bytes)) << "a processor";
  on.hosts.front().device.is_gpu = true;
  EXPECT_EQ(estimate_memory(job(experiment, on), 0).model, Bytes(lenet_bytes + copied));
  EXPECT_EQ(estimate_memory(job(experiment, on), 1).model, Bytes(lenet_bytes)) << "no GPU";
  experiment.placement.servers = {"a"};
  EXPECT_EQ(estimate_memory(job(experiment, on), 2).model, Bytes(2 * lenet_bytes)) << "no learner";
  experiment.workload.precision = Precision::fp32;
  EXPECT_EQ(estimate_memory(job(experiment, on), 0).model, Bytes(lenet_bytes)) << "no tensor cores";
}

/// Three commits of its own ranks and of those of one other host, and what each rank sends.
TEST(Memory, OfKeepersIsThatOfTheProcessor) {
  Experiment experiment = two_workers();
  experiment.checkpoint.policy = "fixed";
  experiment.checkpoint.to = CommitPlace::buddy;
  experiment.recovery.mode = RecoveryMode::restart;
  const Job lenet = job(experiment);
  Bytes parts{0}, kept{0};
  for (Rank rank = 0; rank < lenet.roster().size(); ++rank)
    if (has_part_in_commits(lenet, rank)) parts += commit_size(lenet, rank);
  ASSERT_EQ(lenet.roster().keepers().size(), 3U);
  for (const Rank keeper : lenet.roster().keepers()) {
    const RankMemory memory = estimate_memory(lenet, keeper);
    EXPECT_EQ(memory.total(), memory.data);
    kept += memory.data;
  }
  EXPECT_GT(parts, Bytes(0));
  EXPECT_EQ(kept, parts * 2 * (3 + 1));
}

TEST(Memory, OfADeviceIsThatOfTheCatalogueUnlessAPropertySaysMore) {
  Experiment experiment = two_workers();
  experiment.workload.batch = 200'000;  // 21.6 GB of activations
  auto on = platform();
  on.hosts[0].device = platforms::find_device("t4");
  on.hosts[1].device = platforms::find_device("a100");
  const auto lacking = hosts_without_memory(job(experiment, on));
  ASSERT_EQ(lacking.size(), 1U) << "the A100 has 40 GB";
  EXPECT_THAT(to_text(lacking.front()),
              AllOf(HasSubstr("host 'a': 1 rank needs about 21.6 GB"),
                    HasSubstr("but its device 't4' in the device catalogue gives it 16 GB")));
  on.hosts[0].properties["tandem:device_memory"] = "32GB";
  EXPECT_TRUE(hosts_without_memory(job(experiment, on)).empty());
  on.hosts[1].properties["tandem:device_memory"] = "20GB";
  EXPECT_THAT(to_text(hosts_without_memory(job(experiment, on)).at(0)),
              HasSubstr("but its <prop id=\"tandem:device_memory\"> gives it 20 GB"));
}

TEST(Memory, OfABoardIsThatOfItsHost) {
  Experiment experiment = two_workers();
  experiment.workload.batch = 10'000;  // 1.1 GB of activations
  auto on = platform();
  on.hosts[0].device = platforms::find_device("raspberry-pi-3");
  on.hosts[1].device = platforms::find_device("raspberry-pi-4");
  const auto lacking = hosts_without_memory(job(experiment, on));
  ASSERT_EQ(lacking.size(), 1U) << "a Raspberry Pi 4 has 1 to 8 GB";
  EXPECT_EQ(lacking.front().available, Bytes(1'000'000'000));
  EXPECT_GT(lacking.front().needed, program_memory + Bytes(10'000 * lenet_activations)) << "with the program";
  on.hosts[0].properties["memory"] = "2GiB";
  EXPECT_TRUE(hosts_without_memory(job(experiment, on)).empty());
}

TEST(Memory, APropertyThatIsNoSizeIsAnError) {
  const Job wrong = job(two_workers(), platform("much"));
  EXPECT_THAT([&] { (void)hosts_without_memory(wrong); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("three.xml: host 'a'"), HasSubstr("'memory'"), HasSubstr("'much'"))));
}

TEST(Memory, IsDescribedForEachKindOfRank) {
  const auto list = describe_memory(job(two_workers()));
  ASSERT_EQ(list.size(), 3U) << "two workers, whose shards differ by a sample, and a server";
  std::int64_t parts = 0;
  for (const char* part : {"model", "gradient", "optimizer", "algorithm", "buffers", "activations", "data"})
    parts += list[0].at(part).get<std::int64_t>();
  EXPECT_EQ(parts, list[0].at("total").get<std::int64_t>());
  EXPECT_EQ(list[2].at("role"), "server");
}

TEST(Memory, IsReadable) {
  EXPECT_EQ(readable(Bytes(999)), "999 B");
  EXPECT_EQ(readable(Bytes(1'724'320)), "1.72 MB");
  EXPECT_EQ(readable(Bytes(108'216'000'000)), "108 GB");
}

TEST(Disks, ServeAsTheirPropertiesSay) {
  auto on = platform();
  on.hosts[2].disks = {{"slow",
                        BytesPerSecond(1e8),
                        BytesPerSecond(5e7),
                        {{"tandem:latency", "5ms"}, {"tandem:parallel", "4"}}},
                       {"fast", BytesPerSecond(1e9), BytesPerSecond(1e9), {}}};
  const Job disks = job(two_workers(), on);
  EXPECT_DOUBLE_EQ(disks.devices().disk_service(2, 0).latency.count(), 0.005);
  EXPECT_EQ(disks.devices().disk_service(2, 0).parallel, 4);
  EXPECT_DOUBLE_EQ(disks.devices().disk_service(2, 1).latency.count(), 0.0);
  EXPECT_EQ(disks.devices().disk_service(2, 1).parallel, 1);
  EXPECT_DOUBLE_EQ(disks.devices().disk_moving(2, 0, {Bytes(1'000'000), 8}, false).count(), 0.01);
  EXPECT_DOUBLE_EQ(disks.devices().disk_moving(2, 0, {Bytes(1'000'000)}, true).count(), 0.02);
  for (const auto& [property, value] :
       std::vector<std::pair<std::string, std::string>>{{"tandem:latency", "-1ms"},
                                                        {"tandem:parallel", "0"},
                                                        {"tandem:parallel", "257"},
                                                        {"tandem:parallel", "2.5"},
                                                        {"tandem:parallel", "many"}}) {
    on.hosts[2].disks[1].properties = {{property, value}};
    EXPECT_THAT(
        [&] { (void)job(two_workers(), on); },
        ThrowsMessage<ConfigError>(AllOf(HasSubstr("three.xml: host 'c': disk 'fast'"),
                                         HasSubstr("'" + property + "'"), HasSubstr("'" + value + "'"))));
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
