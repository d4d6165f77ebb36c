// Placement of roles: defaults, idempotence, and every error.
#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Hosts = std::vector<std::string>;

platforms::Host host(const std::string& name, int cores, bool has_disk = false) {
  platforms::Host made;
  made.name = name;
  made.cores = cores;
  if (has_disk) made.disks.push_back({"disk", BytesPerSecond(1e8), BytesPerSecond(1e8)});
  return made;
}

/// Hosts a, b (with a disk), c, of one, four and two cores.
platforms::Description lab() {
  platforms::Description platform;
  platform.file = "lab.xml";
  platform.hosts = {host("a", 1), host("b", 4, true), host("c", 2)};
  return platform;
}

Experiment experiment_over(sync::Route route) {
  Experiment experiment;
  experiment.name = "test";
  experiment.sync.over = route;
  return experiment;
}

std::string error_of(Experiment experiment, const platforms::Description& platform = lab()) {
  try {
    resolve_placement(experiment, platform);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Placement, ServerGoesToTheFirstHostWithADisk) {
  Experiment experiment = experiment_over(sync::Route::server);
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.servers, Hosts{"b"});
  EXPECT_EQ(experiment.placement.workers, (Hosts{"a", "c"}));
  EXPECT_EQ(experiment.placement.evaluator, "");
}

TEST(Placement, AHostWithoutSpeedTakesNoRankThatComputes) {
  auto platform = lab();
  platform.hosts[1].speed = FlopsPerSecond(0);
  Experiment experiment = experiment_over(sync::Route::server);
  resolve_placement(experiment, platform);
  EXPECT_EQ(experiment.placement.servers, Hosts{"a"});
  EXPECT_EQ(experiment.placement.workers, Hosts{"c"});
  experiment.placement.workers = {"b", "c"};
  EXPECT_EQ(
      error_of(experiment, platform),
      "experiment 'test': key 'placement.workers': expected hosts that compute, found 'b', whose speed in "
      "lab.xml is 0");
  experiment.placement.workers = {"c"};
  experiment.data.source = DataSource::storage;
  experiment.placement.cache_nodes = {"a"};
  experiment.placement.stores = {"b"};
  EXPECT_EQ(error_of(experiment, platform), "no error") << "a store computes nothing";
}

TEST(Placement, ServerGoesToTheFirstHostWithoutAnyDisk) {
  auto platform = lab();
  platform.hosts[1].disks.clear();
  Experiment experiment = experiment_over(sync::Route::server);
  resolve_placement(experiment, platform);
  EXPECT_EQ(experiment.placement.servers, Hosts{"a"});
  EXPECT_EQ(experiment.placement.workers, (Hosts{"b", "c"}));
}

TEST(Placement, AllReduceNeedsNoServer) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  resolve_placement(experiment, lab());
  EXPECT_TRUE(experiment.placement.servers.empty());
  EXPECT_EQ(experiment.placement.workers, (Hosts{"a", "b", "c"}));
}

TEST(Placement, NamedServersReserveTheirHostOverEveryRoute) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.placement.servers = {"a"};
  resolve_placement(experiment, lab());
  EXPECT_TRUE(experiment.placement.servers.empty());
  EXPECT_EQ(experiment.placement.workers, (Hosts{"b", "c"}));
}

TEST(Placement, ShardsOfSyncSwitchDoNotAllowATimeLimit) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.sync.algorithm = "sync-switch";
  experiment.placement.servers = {"a", "b"};
  experiment.stop.rounds = 10;
  EXPECT_EQ(error_of(experiment), "no error");
  experiment.stop.seconds = Seconds(5);
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'stop.seconds': expected stop.rounds or stop.epochs, or sync.decides "
            "first-server, because 2 servers of sync-switch would each measure progress by their own clock, "
            "found a limit of time");
  experiment.placement.servers = {"co-located"};
  EXPECT_NE(error_of(experiment).find("because 3 servers"), std::string::npos) << error_of(experiment);
  experiment.placement.servers = {"a"};
  EXPECT_EQ(error_of(experiment), "no error");
  experiment.placement.servers = {"a", "b"};
  experiment.sync.decides = PushOrder::first_server;
  EXPECT_EQ(error_of(experiment), "no error") << "both take the time of the first one";
  experiment.sync.decides = PushOrder::each_server;
  experiment.sync.algorithm = "asp";
  EXPECT_EQ(error_of(experiment), "no error");
}

TEST(Placement, EvaluatorFollowsServerOrFirstWorker) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.evaluate_every = 5;
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.evaluator, "b");
  experiment = experiment_over(sync::Route::all_reduce);
  experiment.evaluate_every = 5;
  experiment.placement.workers = {"c", "b"};
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.evaluator, "c");
  experiment.evaluate_every = 0;
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.evaluator, "");
}

TEST(Placement, IsIdempotent) {
  for (const sync::Route route : {sync::Route::server, sync::Route::all_reduce}) {
    Experiment once = experiment_over(route);
    once.evaluate_every = 3;
    resolve_placement(once, lab());
    Experiment twice = once;
    resolve_placement(twice, lab());
    EXPECT_EQ(to_json(once), to_json(twice));
  }
}

TEST(Placement, WorkerCountTakesTheFirstHosts) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.placement.worker_count = 2;
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.workers, (Hosts{"a", "b"}));
  experiment.placement.workers = {"c", "b", "a"};
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.workers, (Hosts{"c", "b"}));
  const Experiment once = experiment;
  resolve_placement(experiment, lab());
  EXPECT_EQ(to_json(once), to_json(experiment));
  experiment.placement.worker_count = 3;
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.worker_count': expected at most 2, the number of workers, "
            "found '3'");
}

TEST(Placement, AnAlgorithmOfOneWorkerUsesOneOfWorkerCount) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.sync.algorithm = "sequential";
  experiment.placement.worker_count = 2;
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.workers, Hosts{"a"});
  const Experiment once = experiment;
  resolve_placement(experiment, lab());
  EXPECT_EQ(to_json(once), to_json(experiment));
}

TEST(Placement, AHostTakesWorkersUpToItsSlots) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.placement.workers = {"b", "b", "b", "b"};
  EXPECT_EQ(error_of(experiment), "no error");
  experiment.placement.workers.push_back("b");
  EXPECT_EQ(
      error_of(experiment),
      "experiment 'test': key 'placement.workers': expected at most 4 on host 'b' (its property 'slots', or "
      "else its cores), found 5; name it less often, or raise <prop id=\"slots\"> in lab.xml");
  auto platform = lab();
  platform.hosts[1].properties["slots"] = "5";
  EXPECT_EQ(error_of(experiment, platform), "no error");
  platform.hosts[1].properties["slots"] = "0";
  experiment.placement.workers = {"b"};
  EXPECT_NE(error_of(experiment, platform).find("expected at most 0 on host 'b'"), std::string::npos);
}

TEST(Placement, TheOnlyHostTakesAllRoles) {
  auto platform = lab();
  platform.hosts.erase(platform.hosts.begin());
  platform.hosts.resize(1);
  Experiment experiment = experiment_over(sync::Route::server);
  resolve_placement(experiment, platform);
  EXPECT_EQ(experiment.placement.servers, std::vector<std::string>{"b"});
  EXPECT_EQ(experiment.placement.workers, std::vector<std::string>(4, "b"));
}

TEST(Placement, OtherRolesNeedNoSlots) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.workers = {"a"};
  experiment.placement.servers = {"a", "a"};
  experiment.placement.evaluator = "a";
  experiment.evaluate_every = 1;
  EXPECT_EQ(error_of(experiment), "no error");
}

Hosts servers_of(const std::string& word, const Hosts& workers, sync::Route route = sync::Route::server) {
  Experiment experiment = experiment_over(route);
  experiment.placement.servers = {word};
  experiment.placement.workers = workers;
  resolve_placement(experiment, lab());
  return experiment.placement.servers;
}

TEST(Placement, CoLocatedServersAreOnTheWorkersHosts) {
  EXPECT_EQ(servers_of("co-located", {"c", "b", "c"}), (Hosts{"c", "b", "c"}));
  EXPECT_EQ(servers_of("co-located", {}), (Hosts{"a", "b", "c"})) << "no host is reserved for servers";
  EXPECT_EQ(servers_of("co-located", {}, sync::Route::all_reduce), Hosts{});
}

TEST(Placement, OwnServersAreOnAllUnusedHosts) {
  EXPECT_EQ(servers_of("own", {"b"}), (Hosts{"a", "c"}));
  EXPECT_EQ(servers_of("own", {}), Hosts{"b"}) << "the same as the default";
  EXPECT_EQ(servers_of("own", {"b"}, sync::Route::all_reduce), Hosts{});
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.servers = {"own"};
  experiment.placement.workers = {"a"};
  experiment.placement.evaluator = "c";
  experiment.evaluate_every = 1;
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.servers, Hosts{"b"});
}

TEST(Placement, OfOwnServersNeedsAnUnusedHost) {
  const std::string refusal =
      "experiment 'test': key 'placement.servers': expected own, which needs a host without another "
      "role, found none in lab.xml; co-located uses the hosts of the workers";
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.servers = {"own"};
  experiment.placement.workers = {"a", "b", "c"};
  EXPECT_EQ(error_of(experiment), refusal);
  auto platform = lab();
  platform.hosts.resize(1);
  experiment.placement.workers.clear();
  EXPECT_EQ(error_of(experiment, platform), refusal) << "the only host takes the workers";
}

TEST(Placement, KeywordsGiveOneServerToACoordinator) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.sync.algorithm = "esync";
  experiment.placement.servers = {"co-located"};
  experiment.placement.workers = {"c", "b"};
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.servers, Hosts{"c"});
}

TEST(Placement, AHostNameTakesPrecedenceOverAKeyword) {
  auto platform = lab();
  platform.hosts[2].name = "own";
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.servers = {"own"};
  resolve_placement(experiment, platform);
  EXPECT_EQ(experiment.placement.servers, Hosts{"own"});
}

TEST(Placement, SparesAreNotWorkers) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.spares = {"c"};
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.workers, Hosts{"a"});
  experiment.placement.spares = {"cc"};
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.spares': expected a host of lab.xml, found 'cc'; did you mean "
            "'c'?");
}

TEST(Placement, RefusesUnknownKeywords) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.servers = {"colocated"};
  EXPECT_EQ(
      error_of(experiment),
      "experiment 'test': key 'placement.servers': expected a host of lab.xml | co-located | own, found "
      "'colocated'; did you mean 'co-located'?");
  experiment.placement.servers = {"co-located", "a"};
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.servers': expected a host of lab.xml, found 'co-located'");
}

TEST(Placement, RefusesUnknownHosts) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.workers = {"bb"};
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.workers': expected a host of lab.xml, found 'bb'; did you "
            "mean 'b'?");
  experiment = experiment_over(sync::Route::server);
  experiment.placement.evaluator = "node-1234";
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.evaluator': expected a host of lab.xml | first-worker, found "
            "'node-1234'");
}

TEST(Placement, TheFirstWorkerMayEvaluate) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.evaluate_every = 2;
  experiment.placement.evaluator = "first-worker";
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.evaluator, "first-worker");
  EXPECT_EQ(Roster(experiment).evaluator(), std::nullopt);
}

TEST(Placement, RefusesOptionsThatDoNotFitTheWorkers) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.sync.algorithm = "k-sync";
  experiment.sync.options = {{"k", std::int64_t{2}}};
  EXPECT_EQ(error_of(experiment), "no error");
  experiment.sync.options = {{"k", std::int64_t{3}}};
  const Locate locate = [](const std::string& path) {
    return Origin{path == "sync.options.k" ? "lab.yaml:6" : "lab.yaml", path};
  };
  try {
    resolve_placement(experiment, lab(), locate);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "lab.yaml:6: key 'sync.options' of k-sync: option 'k': expected at most the number of workers "
        "(2), found '3'");
  }
}

TEST(Placement, RefusesDeparturesThatDoNotFitTheWorkers) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.transience.lifetime = "trace";
  experiment.transience.options = {{"events", std::string("3 remove a; 5 remove b")}};
  experiment.recovery.least = 2;
  EXPECT_EQ(error_of(experiment), "no error");
  experiment.recovery.least = 3;
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'recovery.least': expected at most 2, the number of workers, found '3'");
  experiment.recovery.least = 1;
  experiment.transience.options = {{"events", std::string("5 remove a; 3 remove b")}};
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'transience.options' of trace: option 'events': expected events in the "
            "order of time, so from 5 on, found '3 remove b'");
}

TEST(Placement, AJobGrowsToItsSlotsAtMost) {
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.transience.lifetime = "fixed";
  experiment.placement.workers = {"a"};
  experiment.placement.spares = {"b", "c"};
  experiment.recovery.most = 3;
  EXPECT_EQ(error_of(experiment), "no error");
  experiment.recovery.most = 4;
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'recovery.most': expected 0, or 1 to 3: the number of workers, and that "
            "with placement.spares, found '4'");
  experiment.recovery.most = 3;
  experiment.sync.algorithm = "sequential";
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'recovery.most': expected at most 1 for sequential, found '3'");
}

TEST(Placement, GivesSequentialOneWorkerAndRefusesMore) {
  for (const sync::Route route : {sync::Route::server, sync::Route::all_reduce}) {
    Experiment experiment = experiment_over(route);
    experiment.sync.algorithm = "sequential";
    resolve_placement(experiment, lab());
    EXPECT_EQ(experiment.placement.workers, Hosts{"a"});
    experiment.placement.workers = {"a", "c"};
    const std::string error = error_of(experiment);
    EXPECT_NE(error.find("'placement.workers': expected at most 1 for sequential, found 2"),
              std::string::npos)
        << error;
  }
}

TEST(Placement, RefusesBadSlots) {
  auto platform = lab();
  platform.hosts[0].properties["slots"] = "two";
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  EXPECT_EQ(error_of(experiment, platform),
            "lab.xml: host 'a': property 'slots': expected integer >= 0, found 'two'");
}

TEST(Placement, RefusesAPlatformWithoutRoomForWorkers) {
  auto platform = lab();
  platform.hosts.resize(2);
  Experiment experiment = experiment_over(sync::Route::server);
  experiment.placement.servers = {platform.hosts[0].name, platform.hosts[1].name};
  EXPECT_EQ(error_of(experiment, platform),
            "experiment 'test': key 'placement.workers': expected at least one host without another "
            "role, found "
            "none; list the workers");
  platform.hosts.clear();
  EXPECT_EQ(error_of(experiment_over(sync::Route::server), platform),
            "lab.xml: expected at least one host, found none");
}

TEST(Placement, CacheNodesNeedADisk) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.placement.cache_nodes = {"a"};
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.cache_nodes': expected hosts with a disk, found 'a', which "
            "has none");
}

TEST(Placement, StoresNeedADiskEach) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.placement.cache_nodes = {"a"};
  experiment.placement.stores = {"b"};
  EXPECT_EQ(error_of(experiment), "no error") << "the cache node needs no disk";
  experiment.placement.stores = {"b", "a"};
  EXPECT_EQ(
      error_of(experiment),
      "experiment 'test': key 'placement.stores': expected hosts with a disk, found 'a', which has none");
  experiment.placement.stores = {"b", "b"};
  EXPECT_EQ(
      error_of(experiment),
      "experiment 'test': key 'placement.stores': expected a different host for each store, because two "
      "would share one disk, found 'b' twice");
  experiment.placement.stores = {"bb"};
  EXPECT_EQ(
      error_of(experiment),
      "experiment 'test': key 'placement.stores': expected a host of lab.xml, found 'bb'; did you mean 'b'?");
}

TEST(Placement, ATierOnTheDiskNeedsOneThatIsLargeEnough) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.data.disk_capacity = Bytes(8'000'000'000);
  experiment.placement.cache_nodes = {"a"};
  experiment.placement.stores = {"b"};
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.cache_nodes': expected hosts with a disk, found 'a', which "
            "has none");
  experiment.placement.cache_nodes = {"b"};
  EXPECT_EQ(error_of(experiment), "no error");
  auto platform = lab();
  platform.hosts[1].disks[0].properties["size"] = "6GB";
  EXPECT_EQ(
      error_of(experiment, platform),
      "experiment 'test': key 'data.disk_capacity': expected at most 6GB, the disk of host 'b', found '8GB'");
}

/// A run has no ranks of a mounted storage: those of the simulation come last.
TEST(Placement, RanksOfAMountedStorageComeLast) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.data.store = StoreAccess::mounted;
  experiment.evaluate_every = 1;
  experiment.placement.cache_nodes = {"a"};
  experiment.placement.stores = {"b"};
  EXPECT_EQ(error_of(experiment), "no error");
  resolve_placement(experiment, lab());
  const auto roles = [&] {
    std::vector<std::string> names;
    const Roster roster(experiment);
    for (const RankAssignment& one : roster.assignments()) names.emplace_back(role_name(one.role));
    return names;
  };
  auto simulated = roles();
  EXPECT_EQ(simulated.back(), "store");
  experiment.placement.stores.clear();
  simulated.pop_back();
  EXPECT_EQ(roles(), simulated);
}

/// Stores are no workers unless they are listed.
TEST(Placement, HostsOfStoresHaveNoWorkersByDefault) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.placement.cache_nodes = {"a"};
  experiment.placement.stores = {"b"};
  resolve_placement(experiment, lab());
  for (const std::string& worker : experiment.placement.workers) EXPECT_TRUE(worker != "a" && worker != "b");
  EXPECT_FALSE(experiment.placement.workers.empty());
}

TEST(Placement, TheDirectoryIsBehindTheStores) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.data.peers = Peers::directory;
  experiment.placement.cache_nodes = {"b"};
  resolve_placement(experiment, lab());
  EXPECT_EQ(experiment.placement.directory, "b") << "the first cache node's host";
  experiment.placement.cache_nodes = {"b", "c"};
  experiment.placement.directory = "c";
  experiment.placement.stores = {"b"};
  experiment.evaluate_every = 1;
  resolve_placement(experiment, lab());
  const Roster roster(experiment);
  ASSERT_TRUE(roster.directory().has_value());
  EXPECT_EQ(roster.host_of(*roster.directory()), "c");
  EXPECT_EQ(*roster.directory(), roster.ranks_of(Roster::Role::store).back() + 1);
  EXPECT_EQ(*roster.evaluator(), *roster.directory() + 1);
  experiment.placement.directory = "cc";
  EXPECT_EQ(error_of(experiment),
            "experiment 'test': key 'placement.directory': expected a host of lab.xml, found 'cc'; did you "
            "mean 'c'?");
  experiment.placement.directory.clear();
  EXPECT_THROW(Roster{experiment}, ConfigError) << "a document that was written by hand";
  experiment.data.peers = Peers::ring;
  EXPECT_FALSE(Roster(experiment).directory().has_value());
}

TEST(Placement, HostsOfTheDirectoryHaveNoWorkersByDefault) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.data.peers = Peers::directory;
  experiment.placement.cache_nodes = {"b"};
  experiment.placement.directory = "a";
  resolve_placement(experiment, lab());
  for (const std::string& worker : experiment.placement.workers) EXPECT_TRUE(worker != "a" && worker != "b");
  EXPECT_FALSE(experiment.placement.workers.empty());
}

TEST(Placement, TheCacheMustFitMemoryAndDisk) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.data.source = DataSource::storage;
  experiment.data.cache_capacity = Bytes(std::int64_t{8} << 30);
  experiment.placement.cache_nodes = {"b"};
  auto platform = lab();
  auto& node = platform.hosts[1];
  EXPECT_EQ(error_of(experiment, platform), "no error");
  node.properties["memory"] = "4GiB";
  EXPECT_EQ(error_of(experiment, platform),
            "experiment 'test': key 'data.cache_capacity': expected at most 4GiB, the memory of host 'b', "
            "found '8GiB'");
  node.properties["memory"] = "8GiB";
  EXPECT_EQ(error_of(experiment, platform), "no error");
  node.disks[0].properties["size"] = "6GB";
  EXPECT_EQ(error_of(experiment, platform),
            "experiment 'test': key 'data.cache_capacity': expected at most 6GB, the disk of host 'b', found "
            "'8GiB'");
  node.disks[0].properties["size"] = "big";
  EXPECT_EQ(error_of(experiment, platform),
            "lab.xml: host 'b': property 'size': expected a size (like 4GiB), found 'big'");
}

/// The lab with a T4 at host a; hosts b and c state one speed.
platforms::Description lab_with_a_t4() {
  auto platform = lab();
  for (auto& host : platform.hosts) host.device.has_one_speed = true;
  platform.hosts[0].device = platforms::find_device("t4");
  return platform;
}

TEST(Placement, DevicesOfWorkersHaveASpeedInThePrecision) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16}) {
    experiment.workload.precision = precision;
    EXPECT_EQ(error_of(experiment, lab_with_a_t4()), "no error");
  }
  experiment.workload.precision = Precision::bf16;
  EXPECT_EQ(error_of(experiment, lab_with_a_t4()),
            "experiment 'test': key 'workload.precision': expected a precision that the data sheet of device "
            "'t4' (host 'a' of lab.xml) gives (fp32 | fp16), or a profile measured in it, found 'bf16'");
  experiment.placement.workers = {"b", "c"};
  EXPECT_EQ(error_of(experiment, lab_with_a_t4()), "no error") << "their speed is of any precision";
}

TEST(Placement, MeasuredAndRealMathematicsMayHaveAnyPrecision) {
  Experiment experiment = experiment_over(sync::Route::all_reduce);
  experiment.workload.precision = Precision::bf16;
  Experiment measured = experiment;
  measured.run.devices = DeviceSpeed::native;
  EXPECT_NE(error_of(measured, lab_with_a_t4()), "no error");
  measured.physics.profile = "measured.json";
  EXPECT_EQ(error_of(measured, lab_with_a_t4()), "no error");
  experiment.workload.math = Math::real;
  EXPECT_EQ(error_of(experiment, lab_with_a_t4()), "no error");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
