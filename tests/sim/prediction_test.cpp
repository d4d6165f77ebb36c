// The closed forms of `tandem predict` and of --fidelity priced against the simulation of every message, and
// against numbers by hand.
#include "workloads/priced/prediction.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/load.hpp"
#include "platforms/neighbours.hpp"
#include "sim/job_world.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/priced/fluid_network.hpp"
#include "workloads/priced/job_life.hpp"
#include "workloads/priced/speed_check.hpp"
#include "workloads/records/metrics.hpp"

namespace tandem {
namespace TANDEM_FILE {

struct Case {
  std::string name;
  int workers;
  double within;  ///< relative error
  std::function<void(Experiment&)> change;
  bool unequal = false;     ///< every other worker has a slower device
  int cores = 2;            ///< of the server's host
  std::string costs = "";   ///< properties of that host
  std::string binds = "";   ///< what limits, if that is checked
  std::string unused = "";  ///< cores, in words, if `binds` is given
  int rounds = 10;
  double slow_link = 0.0;  ///< of the last worker, in B/s; 0: as the others
  bool shared = false;     ///< both directions of a link share it, and the server's link binds
};
/// On links that both directions share, as those of SimGrid do where a platform does not say.
Case on_shared_links(Case of) {
  of.shared = true;
  return of;
}
/// Of a job whose last steps are of no round.
Case in_long_job(Case of) {
  of.rounds = 100;
  return of;
}
void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

/// ResNet-18 on GPUs behind links of 1 GB/s: computing and exchanges take about as long.
class Predictions : public ::testing::TestWithParam<Case> {
 protected:
  std::string platform() const {
    std::string body = testing::TemporaryPlatform::star(GetParam().workers + 2, 1e9, 1e-4, "HOST");
    for (int host = 0; body.find("HOST") != std::string::npos; ++host) {
      const char* device = GetParam().unequal && host % 2 == 1 ? "k80" : "t4";
      const std::string costs = host == 0 ? GetParam().costs : "";
      body.replace(body.find("HOST"), 4, fmt::format("<prop id='device' value='{}'/>{}", device, costs));
    }
    if (GetParam().slow_link > 0.0) {
      const std::string last =
          fmt::format("<link id='l{}' bandwidth='1000000000Bps'", GetParam().workers + 1);
      const std::size_t at = body.find(last);
      EXPECT_NE(at, std::string::npos) << body;
      body.replace(
          at, last.size(),
          fmt::format("<link id='l{}' bandwidth='{}Bps'", GetParam().workers + 1, GetParam().slow_link));
    }
    const auto remove = [&body](const std::string& text) {
      for (std::size_t at = 0; (at = body.find(text)) != std::string::npos;) body.erase(at, text.size());
    };
    if (GetParam().shared) {
      remove(" sharing_policy='SPLITDUPLEX'");
      remove(" direction='UP'");
    }
    const std::string cores = "core='2'";
    body.replace(body.find(cores), cores.size(), fmt::format("core='{}'", GetParam().cores));
    return body;
  }

  Experiment experiment(const std::string& file) const {
    Experiment made;
    made.platform = file;
    made.workload.math = Experiment::Workload::Math::modelled;
    made.workload.model = "resnet18";
    made.workload.dataset = "synthetic-imagenet";
    made.workload.batch = 32;
    made.checkpoint.at_end = false;
    made.stop.rounds = GetParam().rounds;
    for (int worker = 0; worker < GetParam().workers; ++worker)
      made.placement.workers.push_back(fmt::format("host-{}", worker + 2));
    made.placement.servers = {"host-0"};
    GetParam().change(made);
    // ESync asks a coordinator over each route.
    if (made.sync.over == sync::Route::all_reduce && made.sync.algorithm != "esync")
      made.placement.servers.clear();
    return made;
  }
};

TEST_P(Predictions, AreThoseOfTheSimulation) {
  const testing::TemporaryPlatform file(platform());
  const testing::TemporaryFolder folder;
  const Experiment made = experiment(file.path());
  const auto description = platforms::load_platform(file.path());
  const auto of_workers = platforms::load_network(file.path(), made.placement.workers);
  const Job job(made, description, folder.path().string(), of_workers);
  const auto found =
      priced::predict(job, platforms::load_network(file.path(), priced::hosts_of_prediction(job)));
  const sim::JobRun run = sim::simulate_job(job, {.network = of_workers});
  const int rounds = GetParam().rounds;
  EXPECT_EQ(found.rounds, rounds);
  EXPECT_NEAR(found.makespan.count(), run.makespan.count(), GetParam().within * run.makespan.count());
  EXPECT_LE(found.fastest.count() * rounds, 1.02 * run.makespan.count());
  EXPECT_GE(found.slowest.count() * rounds, 0.98 * run.makespan.count());
  double parts = 0.0;
  for (const priced::Part& part : found.parts) parts += part.time.count();
  EXPECT_NEAR(parts, found.round.count(), 1e-9);
  // The first and last steps of a short job are many.
  if (rounds >= 100) {
    EXPECT_NEAR(found.samples_per_round() * rounds / 32, static_cast<double>(run.journal.steps.size()),
                (GetParam().within + 0.02) * static_cast<double>(run.journal.steps.size()));
  }
  if (GetParam().shared) {
    EXPECT_EQ(found.limits.front().name, "link l0, by pushes and replies");
    EXPECT_NEAR(found.limits.front().rounds_per_s * found.round.count(), 1.0, 0.06);
  }
  if (GetParam().binds.empty()) return;
  EXPECT_EQ(found.limits.front().name, GetParam().binds);
  EXPECT_EQ(found.unused_cores, GetParam().unused);
  EXPECT_FALSE(found.more_servers_help) << "each message costs 20 ms";
}

void bsp(Experiment&) {}
void two_servers(Experiment& experiment) { experiment.placement.servers = {"host-0", "host-1"}; }
/// Of a small model, so that the servers' work is the limit.
void small(Experiment& experiment) {
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
}
void two_on_one_host(Experiment& experiment) {
  small(experiment);
  experiment.placement.servers = {"host-0", "host-0"};
}
void small_asp(Experiment& experiment) {
  small(experiment);
  experiment.sync.algorithm = "asp";
}
constexpr const char* slow_server = "<prop id='tandem:server_message' value='20ms'/>";
constexpr const char* two_threads =
    "<prop id='tandem:server_message' value='20ms'/><prop id='tandem:server_parallel' value='2'/>";
void after_backward(Experiment& experiment) { experiment.sync.overlap = OverlapMode::none; }
std::function<void(Experiment&)> by(const std::string& algorithm) {
  return [=](Experiment& experiment) { experiment.sync.algorithm = algorithm; };
}
std::function<void(Experiment&)> with_quorum(const std::string& algorithm, std::int64_t k) {
  return [=](Experiment& experiment) {
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = {{"k", k}};
  };
}
/// Two steps of the slow workers take as long as three of the fast ones.
void esync(Experiment& experiment) {
  experiment.sync.algorithm = "esync";
  experiment.sync.options = {{"slowest_steps", std::int64_t{2}}};
}
void varied(Experiment& experiment) {
  experiment.physics.noise = NoiseSource::spread;
  experiment.physics.spread = 0.1;
}
std::function<void(Experiment&)> summed_by(const std::string& collective) {
  return [=](Experiment& experiment) {
    experiment.sync.over = sync::Route::all_reduce;
    experiment.sync.collective = collective;
  };
}
void ring_after_backward(Experiment& experiment) {
  summed_by("ring")(experiment);
  after_backward(experiment);
}
void slowmo_over_ring(Experiment& experiment) {
  summed_by("ring")(experiment);
  by("slowmo")(experiment);
}
/// Late steps stop, so all workers begin each round together.
void three_with_cancel(Experiment& experiment) {
  with_quorum("k-sync", 3)(experiment);
  experiment.sync.options["cancel"] = true;
}
void varied_with_cancel(Experiment& experiment) {
  with_quorum("k-sync", 6)(experiment);
  experiment.sync.options["cancel"] = true;
  varied(experiment);
}
void esync_over_ring(Experiment& experiment) {
  summed_by("ring")(experiment);
  esync(experiment);
}
void local_sgd(Experiment& experiment) {
  summed_by("ring")(experiment);
  experiment.sync.algorithm = "local-sgd";
  experiment.sync.options = {{"h", std::int64_t{4}}};
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, Predictions,
    ::testing::Values(
        Case{"bsp_2", 2, 0.02, bsp}, Case{"bsp_8", 8, 0.02, bsp},
        Case{"bsp_8_two_servers", 8, 0.02, two_servers},
        Case{"bsp_8_after_backward", 8, 0.02, after_backward}, Case{"bsp_6_unequal", 6, 0.02, bsp, true},
        Case{"bsp_8_varied", 8, 0.05, varied}, Case{"ring_2", 2, 0.02, summed_by("ring")},
        Case{"ring_8", 8, 0.02, summed_by("ring")}, Case{"ring_6_unequal", 6, 0.02, summed_by("ring"), true},
        Case{"halving_doubling_8", 8, 0.02, summed_by("halving-doubling")},
        Case{"double_tree_8", 8, 0.3, summed_by("double-tree")},
        Case{"native_8", 8, 0.02, summed_by("native")},
        Case{"native_6_unequal", 6, 0.02, summed_by("native"), true},
        Case{"ring_8_after_backward", 8, 0.02, ring_after_backward},
        Case{"ring_8_slow_link", 8, 0.02, summed_by("ring"), false, 2, "", "", "", 10, 1e8},
        Case{"pipelined_ring_8", 8, 0.02, summed_by("pipelined-ring")},
        Case{"hierarchical_8", 8, 0.02, summed_by("hierarchical")},
        Case{"recursive_doubling_8", 8, 0.02, summed_by("recursive-doubling")},
        Case{"halving_doubling_6", 6, 0.03, summed_by("halving-doubling")},
        // Bounds: buckets follow each other, although a tree does not use all links all the time.
        Case{"tree_8", 8, 0.2, summed_by("tree")},
        Case{"binary_blocks_6", 6, 0.2, summed_by("binary-blocks")},
        Case{"slowmo_8_ring", 8, 0.02, slowmo_over_ring},
        Case{"bsp_64", 64, 0.02, bsp, false, 2, "", "", "", 4},
        Case{"bsp_8_slow_link", 8, 0.02, bsp, false, 2, "", "", "", 10, 1e8},
        Case{"local_sgd_8_servers", 8, 0.02, by("local-sgd")},
        Case{"local_sgd_6_unequal_servers", 6, 0.02, by("local-sgd"), true},
        Case{"easgd_8", 8, 0.02, by("easgd")}, Case{"fedavg_8", 8, 0.02, by("fedavg")},
        Case{"dc_asgd_4", 4, 0.3, by("dc-asgd")}, in_long_job({"asp_6_unequal", 6, 0.2, by("asp"), true}),
        Case{"rennala_4", 4, 0.2, by("rennala")}, Case{"local_sgd_8", 8, 0.02, local_sgd},
        Case{"two_servers_one_core", 4, 0.02, two_on_one_host, false, 1, slow_server,
             "the work of the servers ('host-0': 2 servers, 1 core)"},
        Case{"two_servers_two_cores", 4, 0.05, two_on_one_host, false, 2, slow_server,
             "the work of the servers ('host-0': 2 servers, 2 cores)"},
        Case{"bsp_4_two_threads", 4, 0.1, small, false, 2, two_threads,
             "the work of the servers ('host-0': 1 server with 2 threads, 2 cores)"},
        Case{"bsp_4_one_of_four_cores", 4, 0.05, small, false, 4, slow_server, "the work of the servers",
             "the server on 'host-0' can use 1 of its 4 cores: one per thread "
             "(tandem:server_parallel)"},
        Case{"asp_6_two_threads", 6, 0.1, small_asp, false, 2, two_threads},
        Case{"asp_2", 2, 0.15, by("asp")}, Case{"asp_12", 12, 0.4, by("asp")},
        in_long_job({"k_sync_8", 8, 0.05, with_quorum("k-sync", 6)}),
        // The pushes and replies of the slow workers take a third of the server's link.
        in_long_job({"k_sync_6_unequal", 6, 0.32, with_quorum("k-sync", 3), true}),
        // The buckets that the slow workers push before they stop take a part of the server's link.
        in_long_job({"k_sync_6_unequal_cancel", 6, 0.25, three_with_cancel, true}),
        in_long_job({"k_sync_8_varied", 8, 0.1, varied_with_cancel}),
        Case{"k_batch_sync_4_k_2", 4, 0.3, with_quorum("k-batch-sync", 2)},
        Case{"k_batch_sync_4_k_4", 4, 0.2, with_quorum("k-batch-sync", 4)},
        Case{"k_batch_sync_12", 12, 0.4, with_quorum("k-batch-sync", 24)},
        on_shared_links({"bsp_8_shared", 8, 0.02, bsp}),
        on_shared_links({"asp_4_shared", 4, 0.12, by("asp")}),
        on_shared_links({"asp_8_shared", 8, 0.12, by("asp")}),
        on_shared_links({"dc_asgd_8_shared", 8, 0.12, by("dc-asgd")}),
        on_shared_links({"k_batch_sync_8_shared", 8, 0.12, with_quorum("k-batch-sync", 4)}),
        Case{"esync_2_unequal_links", 2, 0.03, by("esync"), false, 2, "", "", "", 100, 1e8},
        in_long_job({"esync_6_unequal", 6, 0.1, esync, true}),
        in_long_job({"esync_6_unequal_ring", 6, 0.02, esync_over_ring, true})),
    [](const auto& info) { return info.param.name; });

// ---- Transfers that share a link ----

/// Workers with a link of their own each, and one in front of a server. Their latencies differ, by too little
/// to move an end.
std::vector<double> ends_of_pushes(const std::vector<double>& rates, double shared) {
  platforms::Network network;
  std::vector<priced::Connection> pushes;
  const std::size_t count = rates.size() + 1;
  network.routes.resize(count * count);
  for (std::size_t worker = 0; worker < rates.size(); ++worker) {
    network.hosts.push_back(fmt::format("w{}", worker));
    network.channels.push_back({"own", BytesPerSecond(rates[worker]), Seconds(0.0), true});
    network.routes[worker * count + rates.size()] =
        platforms::Route{{static_cast<int>(worker), static_cast<int>(rates.size())},
                         Seconds(1e-9 * static_cast<double>(1 + worker))};
    pushes.push_back({network.hosts.back(), "server", {{Seconds(0.0), Bytes(100'000'000)}}});
  }
  network.hosts.push_back("server");
  network.channels.push_back({"shared", BytesPerSecond(shared), Seconds(0.0), true});
  std::vector<double> ends;
  for (const auto& arrived : priced::FluidNetwork(network).arrivals(pushes))
    ends.push_back(arrived.back().count());
  return ends;
}

/// The same, where workers with one rate are one connection.
std::vector<double> ends_by_class(const std::vector<std::pair<double, int>>& classes, double shared) {
  platforms::Network network;
  std::vector<priced::Connection> pushes;
  const std::size_t count = classes.size() + 1;
  network.routes.resize(count * count);
  for (std::size_t of = 0; of < classes.size(); ++of) {
    network.hosts.push_back(fmt::format("w{}", of));
    network.channels.push_back({"own", BytesPerSecond(classes[of].first), Seconds(0.0), true, true});
    network.routes[of * count + classes.size()] =
        platforms::Route{{static_cast<int>(of), static_cast<int>(classes.size())}, Seconds(0.0)};
    pushes.push_back(
        {network.hosts.back(), "server", {{Seconds(0.0), Bytes(100'000'000)}}, classes[of].second});
  }
  network.hosts.push_back("server");
  network.channels.push_back({"shared", BytesPerSecond(shared), Seconds(0.0), true});
  const priced::FluidNetwork fluid(network);
  double all = 0.0;
  for (const auto& [rate, workers] : classes) all += workers;
  EXPECT_NEAR(fluid.busiest(pushes, true).first.count(), 1e8 * all / shared, 1e-9);
  std::vector<double> ends;
  for (const auto& arrived : fluid.arrivals(pushes)) ends.push_back(arrived.back().count());
  return ends;
}

TEST(FluidNetwork, TransfersShareALinkFairly) {
  const auto six = ends_of_pushes({1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 5e7, 5e7}, 1e9);
  EXPECT_NEAR(six.front(), 0.6667, 1e-4);
  EXPECT_NEAR(six.back(), 2.0, 1e-7);
  for (const double end : ends_of_pushes({1e9, 1e9, 1e9, 1e9, 1.5e8, 1.5e8, 1.5e8, 1.5e8}, 1e9))
    EXPECT_NEAR(end, 0.8, 1e-7);
  const auto classes = ends_by_class({{1e9, 6}, {5e7, 2}}, 1e9);
  EXPECT_NEAR(classes.front(), six.front(), 1e-7);
  EXPECT_NEAR(classes.back(), six.back(), 1e-7);
}

/// Two workers of a host share its link of 0.1 GB/s; three hosts that are like it have one worker each.
/// Nothing else limits them.
TEST(FluidNetwork, HostsWithOtherWorkersHaveLinksOfTheirOwn) {
  platforms::Network network;
  network.hosts = {"w", "server"};
  network.channels = {{"own", BytesPerSecond(1e8), Seconds(0.0), true, true},
                      {"shared", BytesPerSecond(1e9), Seconds(0.0), true}};
  network.routes.resize(4);
  network.routes[1] = platforms::Route{{0, 1}, Seconds(0.0)};
  const auto pushes = [](int count, std::size_t group) {
    return priced::Connection{"w", "server", {{Seconds(0.0), Bytes(100'000'000)}}, count, group};
  };
  const std::vector<priced::Connection> all = {pushes(1, 0), pushes(1, 0), pushes(3, 1)};
  const priced::FluidNetwork fluid(network);
  const auto arrived = fluid.arrivals(all);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(arrived[i].back().count(), i < 2 ? 2.0 : 1.0, 1e-9) << i;
  EXPECT_NEAR(fluid.busiest(all).first.count(), 2.0, 1e-9);
  EXPECT_EQ(fluid.busiest(all).second, "own");
  EXPECT_NEAR(fluid.busiest(all, true).first.count(), 0.5, 1e-9) << "no other host uses a link of a host";
}

// ---- Many workers ----

/// Of 2,500 workers of a cluster: of one class; or, where hosts of another cluster could have their names,
/// each with routes of its own. `pairs`: hosts with a second worker; then the server has a wide link.
priced::Prediction of_many(const std::string& prefix, const std::function<void(Experiment&)>& change,
                           int pairs = 0) {
  constexpr int workers = 2500;
  const std::string hub =
      "<zone id='z' routing='Full'><host id='hub' speed='1Gf'/></zone><link id='wide' bandwidth='100TBps' "
      "latency='1us'/><zoneRoute src='c' dst='z' gw_src='r' gw_dst='hub'><link_ctn id='wide'/></zoneRoute>";
  const testing::TemporaryPlatform file(fmt::format(
      "<zone id='all' routing='Full'><cluster id='c' prefix='n-' suffix='' radical='0-{}' speed='1Gf' "
      "core='{}' bw='1GBps' lat='50us' router_id='r'/><cluster id='d' prefix='{}' suffix='' "
      "radical='1000000-1000001' "
      "speed='1Gf' bw='1GBps' lat='50us'/>{}</zone>",
      workers, pairs == 0 ? 1 : 2, prefix, pairs == 0 ? "" : hub));
  Experiment made;
  made.platform = file.path();
  made.workload.model = "mlp";
  made.workload.dataset = "synthetic";
  made.stop.rounds = 10;
  for (int worker = 1; worker <= workers; ++worker)
    made.placement.workers.push_back(fmt::format("n-{}", worker));
  for (int worker = 1; worker <= pairs; ++worker)
    made.placement.workers.push_back(fmt::format("n-{}", worker));
  made.placement.servers = {pairs == 0 ? "n-0" : "hub"};
  change(made);
  if (made.sync.over == sync::Route::all_reduce) made.placement.servers.clear();
  const auto description = platforms::load_platform(file.path());
  const Job job(made, description, "");
  return priced::predict(job, platforms::load_network(description, priced::hosts_of_prediction(job),
                                                      priced::hubs_of_prediction(job)));
}

TEST(LongPredictions, OfManyWorkersAreThoseOfTheirClasses) {
  struct Many {
    std::function<void(Experiment&)> change;
    int pairs = 0;
  };
  // 2,000 of 2,400 hosts with one worker each end a round before the others.
  for (const auto& [change, pairs] : {Many{bsp}, Many{by("asp")}, Many{with_quorum("k-sync", 2000)},
                                      Many{with_quorum("k-sync", 2000), 100}, Many{summed_by("ring")}}) {
    const priced::Prediction of_class = of_many("m-", change, pairs), of_each = of_many("n-1", change, pairs);
    EXPECT_NEAR(of_class.round.count(), of_each.round.count(), 1e-9 * of_each.round.count());
    EXPECT_NEAR(of_class.fastest.count(), of_each.fastest.count(), 1e-9 * of_each.round.count());
    EXPECT_NEAR(of_class.slowest.count(), of_each.slowest.count(), 1e-9 * of_each.round.count());
    ASSERT_EQ(of_class.limits.size(), of_each.limits.size());
    for (std::size_t i = 0; i < of_each.limits.size(); ++i)
      EXPECT_NEAR(of_class.limits[i].rounds_per_s / of_each.limits[i].rounds_per_s, 1.0, 1e-9);
  }
  EXPECT_EQ(of_many("m-", summed_by("ring")).limits.front().name, "the all-reduce")
      << "its latencies alone take half a second";
}

// ---- Measured speed against the closed form ----

TEST(SpeedChecks, SuspectThePartOfAStepThatIsLonger) {
  priced::Prediction found;
  found.round = Seconds(0.2);
  found.limits = {{"the work of the servers", 5.0, priced::Limit::Of::servers}, {"computing (a)", 10.0}};
  found.servers_needed = 2;
  priced::WorkerTimes& computing = found.classes.emplace_back();
  computing.workers = {0, 1};
  computing.forward = Seconds(0.04);
  computing.backward = {Seconds(0.06)};
  const auto text = [&](double step_s, double forward_s) {
    Summary measured;
    measured.step_time.mean = step_s;
    measured.phases["forward"].mean_s = forward_s;
    return priced::check_speed(found, measured).text;
  };
  const std::string prediction =
      "; by the prediction, the work of the servers binds, and would not from 2 servers on";
  EXPECT_EQ(text(0.21, 0.1),
            "210 ms per step after the warm-up, predicted 200 ms in closed form (+5.00 %)" + prediction);
  EXPECT_EQ(
      text(0.25, 0.15),
      "250 ms per step after the warm-up, predicted 200 ms in closed form (+25.0 %); computing takes 150 ms "
      "instead of 100 ms: the devices are suspected" +
          prediction);
  EXPECT_EQ(
      text(0.25, 0.1),
      "250 ms per step after the warm-up, predicted 200 ms in closed form (+25.0 %); exchange and waiting "
      "take 150 ms instead of 100 ms: suspected is the work of the servers" +
          prediction);
}

// ---- Lives of jobs ----

class Lives : public ::testing::Test {
 protected:
  Lives() : file_(testing::TemporaryPlatform::star(5, 1e9, 1e-4)) {
    made_.platform = file_.path();
    made_.workload.math = Experiment::Workload::Math::modelled;
    made_.stop.rounds = 1;
    made_.placement.workers = {"host-1", "host-2", "host-3", "host-4"};
    made_.placement.servers = {"host-0"};
    made_.transience.lifetime = "fixed";
  }
  priced::Life life(const priced::LifeSetting& setting, const priced::Change& change = {}) {
    const Job job(made_, platforms::load_platform(file_.path()), folder_.path().string());
    const priced::JobLife lives(job, setting);
    commit_ = lives.commit();
    return lives.live(1, change);
  }
  testing::TemporaryPlatform file_;
  testing::TemporaryFolder folder_;
  Experiment made_;
  priced::CommitTimes commit_;
};

/// Four workers of a step per second do 1,000 steps; two depart after 100 and 200 s. Nobody replaces them, or
/// another machine has come up 50 s later.
TEST_F(Lives, InPlaceTheOthersContinue) {
  const priced::LifeSetting steps{
      .rounds = 1000,
      .waits_for_all = false,
      .round = [](const std::vector<int>& slots) { return Seconds(1.0 / static_cast<double>(slots.size())); },
      .work = {}};
  made_.sync.algorithm = "asp";
  made_.transience.options = {{"times", std::string("100;200")}};
  made_.recovery.policy = "shrink";
  EXPECT_NEAR(life(steps).makespan.count(), 350.0, 1e-9);
  made_.recovery.policy = "replace";
  made_.transience.start = Seconds(50);
  const priced::Life replaced = life(steps);
  EXPECT_NEAR(replaced.makespan.count(), 275.0, 1e-9);
  EXPECT_EQ(replaced.departures, 2);
  // Machines that live twice as long depart at 200 and 400 s; the first one is missed from 200 to 250 s.
  EXPECT_NEAR(life(steps, {.lives = 2.0}).makespan.count(), 262.5, 1e-9);
  EXPECT_NEAR(life(steps, {.rounds = 0.2}).makespan.count(), 50.0, 1e-9);
}

/// Twenty rounds of a second, in which each worker computes for three quarters. A worker joins 0.3 s after
/// the begin of a round, which waits for its step; or after 0.9 s, when the others have pushed.
TEST_F(Lives, ARoundOverServersWaitsForAWorkerThatJoinsInIt) {
  made_.transience.options = {{"times", std::string("5.3")}};
  priced::WorkOfRound work;
  work.phases[static_cast<std::size_t>(Phase::forward)] = Seconds(0.75);
  const priced::LifeSetting rounds{.rounds = 20,
                                   .round = [](const auto&) { return Seconds(1.0); },
                                   .work = std::vector<priced::WorkOfRound>(4, work)};
  made_.transience.start = Seconds(1.0);
  EXPECT_NEAR(life(rounds).makespan.count(), 20.3, 1e-9);
  made_.transience.start = Seconds(1.6);
  EXPECT_NEAR(life(rounds).makespan.count(), 20.0, 1e-9);
  made_.transience.start = Seconds(1.0);
  made_.sync.over = sync::Route::all_reduce;
  made_.sync.order = WorkerOrder::rank;
  EXPECT_NEAR(life(rounds).makespan.count(), 20.0, 1e-9);
}

/// Twenty rounds of a second, in which each worker computes for three quarters, with ten commits.
TEST_F(Lives, CommitsAreNoPartOfExchanges) {
  made_.transience = {};
  made_.checkpoint.policy = "fixed";
  made_.checkpoint.options = {{"interval", 2.0}};
  made_.checkpoint.at_end = false;
  priced::WorkOfRound work;
  work.phases[static_cast<std::size_t>(Phase::forward)] = Seconds(0.75);
  const priced::Life found = life({.rounds = 20,
                                   .round = [](const auto&) { return Seconds(1.0); },
                                   .work = std::vector<priced::WorkOfRound>(4, work)});
  const double commits_s = 10 * commit_.write.count();
  ASSERT_GT(commits_s, 0.0);
  EXPECT_NEAR(found.makespan.count(), 20 + commits_s, 1e-9);
  const auto shares = time_shares({}, found.journal, found.makespan);
  EXPECT_EQ(shares.size(), 4U);
  for (const auto& [rank, of] : shares) {
    EXPECT_NEAR(of.exchange * found.makespan.count(), 5, 1e-9);
    EXPECT_NEAR(of.commits * found.makespan.count(), commits_s, 1e-9);
    EXPECT_NEAR(of.other, 0, 1e-9);
  }
}

/// All start again from the last complete commit, when the departure was noticed (1 s), another machine has
/// come up (3 s), the ranks were launched (2 s), and the commit was read.
TEST_F(Lives, AllStartAgainFromTheLastCommit) {
  made_.recovery.mode = RecoveryMode::restart;
  made_.recovery.policy = "restart";
  made_.recovery.least = 4;  // The others wait for the machine.
  made_.recovery.launch = Seconds(2);
  made_.checkpoint.policy = "fixed";
  made_.checkpoint.options = {{"interval", 2.0}};
  made_.checkpoint.at_end = false;
  made_.transience.detect = Seconds(1);
  made_.transience.start = Seconds(3);
  made_.transience.options = {{"times", std::string("10.5")}};
  const priced::Life found =
      life({.rounds = 20, .round = [](const auto&) { return Seconds(1.0); }, .work = {}});
  const double write_s = commit_.write.count();
  ASSERT_GT(write_s, 0.0);
  const int commits = static_cast<int>(10.5 / (2 + write_s)), kept = 2 * commits;
  EXPECT_NEAR(found.makespan.count(),
              10.5 + 1 + 3 + 2 + commit_.read.count() + (20 - kept) + write_s * (10 - commits), 1e-9);
  EXPECT_EQ(found.generations.size(), 2U);
  EXPECT_NEAR(found.lost_rounds * (1 + write_s / 2), 10.5 - commits * (2 + write_s), 1e-9);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
