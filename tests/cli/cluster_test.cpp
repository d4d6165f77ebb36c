// Creates, measures and removes an emulated cluster as a user would, and runs a job on it. Skipped without
// the rights or the kernel support that this needs.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "platforms/topology.hpp"
#include "runtime/cluster/plan.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/lab.hpp"
#include "tests/support/cluster_walk.hpp"
#include "tests/support/paths.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

TEST(ClusterOfShippedPlatforms, EveryPairUsesTheRouteOfSimGrid) {
  for (const char* name : {"homogeneous", "mixed_lab", "rack"}) {
    const auto topology = platforms::load_topology(testing::source_folder() + "/platforms/" + name + ".xml");
    cluster::Wiring wiring{topology.hosts(), {}, {}};
    for (const auto& channel : topology.channels())
      wiring.channels.push_back({channel.name, channel.bandwidth, channel.latency, channel.shared});
    for (const auto& [pair, route] : topology.routes()) {
      ASSERT_TRUE(route);
      wiring.routes[pair] = {route->channels, route->latency};
    }
    const auto plan = cluster::make_plan("test", wiring, false);
    for (const auto& [pair, route] : wiring.routes) EXPECT_EQ(walk(plan, pair), route.channels) << name;
  }
}

/// A small cluster with a unique name, which is always removed at the end.
class ClusterCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    id_ = line_.folder().filename().string();
    platform_ = line_.write(id_ + ".xml", star());
    const auto made = up();
    if (made.exit_code == 2 && made.output.find("an emulated cluster needs") != std::string::npos)
      GTEST_SKIP() << made.output;
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  void TearDown() override { line_.tandem("cluster down " + platform_); }

  /// Three hosts of 50 Mbit/s around a switch. Both directions share the cable of the third host, whose name
  /// needs quoting.
  static std::string star() {
    std::string text =
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
        "<platform version='4.1'><zone id='z' routing='Floyd'>\n";
    for (const char* host : {"first", "second", "3rd:host"})
      text.append("<host id='").append(host).append("' speed='100Gf'/>\n");
    text += "<router id='switch'/>\n";
    for (const char* host : {"first", "second", "3rd:host"})
      text.append("<link id='")
          .append(host)
          .append("-cable' bandwidth='50Mbps' latency='50us' sharing_policy='")
          .append(host[0] == '3' ? "SHARED" : "SPLITDUPLEX")
          .append("'/>\n");
    for (const char* host : {"first", "second", "3rd:host"})
      text.append("<route src='")
          .append(host)
          .append("' dst='switch'><link_ctn id='")
          .append(host)
          .append("-cable'")
          .append(host[0] == '3' ? "" : " direction='UP'")
          .append("/></route>\n");
    return text + "</zone></platform>\n";
  }
  std::string experiment(const std::string& more = "") const {
    return line_.write("job.yaml",
                       "platform: " + platform_ +
                           "\nworkload: {model: mlp, dataset: synthetic, math: real, train_samples: 200, "
                           "test_samples: 50, batch: 8}\n"
                           "placement: {workers: [second, '3rd:host'], servers: [first]}\n"
                           "run: {devices: native}\nstop: {rounds: 4}\n" +
                           more);
  }
  CommandResult up(const std::string& more = "") const {
    return line_.tandem("cluster up " + platform_ + more);
  }
  CommandResult down() const { return line_.tandem("cluster down " + id_); }
  /// Namespaces and state that belong to this cluster.
  std::string traces() const {
    return line_.shell("ls /run/netns | grep -F tandem." + id_ + ".; ls -d /run/tandem/clusters/" + id_)
        .output;
  }
  bool gone() const { return traces().find(id_ + ".") == std::string::npos; }

  CommandLine line_;
  std::string id_;
  std::string platform_;
};
using LongClusterCommand = ClusterCommand;

TEST_F(ClusterCommand, ChangesNothingElseAndCleansUp) {
  // Devices and names of the machine itself, and every file in /etc.
  const std::string machine =
      "ip -o link; ip -o addr; ip rule; hostname; find /etc -type f -printf '%p %s %T@\\n' | sort";
  const auto with = line_.shell(machine).output;
  EXPECT_NE(line_.tandem("cluster status").output.find("tandem." + id_ + ".second"), std::string::npos);
  const auto again = up();
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.output.find("is already up"), std::string::npos) << again.output;
  EXPECT_EQ(up(" --force").exit_code, 0);
  EXPECT_EQ(down().exit_code, 0);
  EXPECT_TRUE(gone()) << traces();
  EXPECT_EQ(line_.shell(machine).output, with);
  EXPECT_NE(down().output.find("was not up"), std::string::npos);
}

TEST_F(LongClusterCommand, DownCleansUpAfterAKilledUp) {
  for (const char* moment : {"0.2", "0.35", "0.6"}) {
    ASSERT_EQ(down().exit_code, 0);
    line_.shell("timeout -s KILL " + std::string(moment) + " \"$TANDEM\" cluster up " + platform_);
    const auto removed = down();
    EXPECT_EQ(removed.exit_code, 0) << removed.output;
    EXPECT_TRUE(gone()) << traces();
  }
  // If interrupted, the command cleans up.
  line_.shell("timeout -s INT 0.3 \"$TANDEM\" cluster up " + platform_);
  const auto left = line_.tandem("cluster status").output;
  EXPECT_EQ(left.find(id_ + ": left over"), std::string::npos) << left;
}

TEST_F(LongClusterCommand, LinksHaveTheRatesOfTheFileAndAreShared) {
  std::map<std::string, double> file_rate;
  std::map<std::string, double> best_ratio;
  const auto measure = [&] {
    // No measurement is within this tolerance.
    const auto check =
        line_.shell("\"$TANDEM\" cluster check " + platform_ + " --tolerance 1e-9 --json > check.json");
    ASSERT_EQ(check.exit_code, 1) << check.output;
    const auto document = nlohmann::json::parse(line_.shell("cat check.json").output);
    for (const auto& link : document.at("links")) {
      const auto between = link.at("between").get<std::string>();
      file_rate[between] = link.at("file_rate").get<double>();
      EXPECT_LE(link.at("worst_ratio").get<double>(), 1.1) << check.output;
      best_ratio[between] = std::max(best_ratio[between], link.at("worst_ratio").get<double>());
    }
  };
  const auto all_reached = [&] {
    return std::all_of(best_ratio.begin(), best_ratio.end(),
                       [](const auto& one) { return one.second >= 0.9; });
  };
  // Other load can only make a link look slow, so each link gets three attempts.
  measure();
  for (int more = 0; more < 2 && !all_reached(); ++more) measure();
  EXPECT_TRUE(all_reached()) << nlohmann::json(best_ratio);
  EXPECT_EQ(file_rate.at("first -> second"), 6.25e6);
  EXPECT_EQ(file_rate.at("first -> second, both ways"), 2 * 6.25e6);
  EXPECT_EQ(file_rate.at("first -> 3rd:host, both ways"), 6.25e6);
  EXPECT_EQ(file_rate.at("all -> first"), 6.25e6);
}

TEST_F(LongClusterCommand, AJobTrainsTheSameModelAsWithoutACluster) {
  const std::string job = experiment();
  const auto on_cluster = line_.tandem("run --cluster " + platform_ + " " + job + " --out on");
  ASSERT_EQ(on_cluster.exit_code, 0) << on_cluster.output;
  const auto plain = line_.tandem("run " + job + " --out off");
  ASSERT_EQ(plain.exit_code, 0) << plain.output;
  const auto losses = [&](const char* out) {
    std::map<std::pair<Rank, int>, double> by_step;
    for (const auto& step : read_results((line_.folder() / out).string()).journal.steps)
      by_step[{step.rank, step.step}] = step.loss;
    return by_step;
  };
  EXPECT_EQ(losses("on"), losses("off"));
  EXPECT_EQ(losses("on").size(), 8U);
  const auto info = read_results((line_.folder() / "on").string()).info;
  EXPECT_EQ(info.network.value().kind, "emulated cluster");
  EXPECT_EQ(info.network.value().cluster.at("id"), id_);
  EXPECT_NE(on_cluster.output.find("network: the emulated cluster of "), std::string::npos)
      << on_cluster.output;
  const auto& physics = info.physics;
  EXPECT_EQ(physics.at("network"), "emulated cluster");
  EXPECT_EQ(physics.at("cluster").at("id"), id_);
  EXPECT_EQ(physics.at("machines"), (nlohmann::json{"second", "host-2", "first"}));
}

TEST_F(LongClusterCommand, AClusterForOneJobIsRemovedAfterIt) {
  ASSERT_EQ(down().exit_code, 0);
  const std::string job = experiment();
  const auto refused =
      line_.tandem("run --cluster " + platform_ + " " + job + " --print-command --out printed");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  // In the foreground: a shell lets what it starts in the background ignore SIGINT.
  const auto ended =
      line_.shell("export TANDEM; { for i in $(seq 600); do " + has_started("on") +
                  " && break; sleep 0.1; done; kill -INT $(cat pid); } & sh -c 'echo $$ > pid; exec "
                  "\"$TANDEM\" run --cluster " +
                  platform_ + " " + job + " --set stop.rounds=1000000 --out on'");
  EXPECT_NE(ended.output.find("creating one for this job"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("ended by signal 2"), std::string::npos) << ended.output;
  EXPECT_TRUE(gone()) << traces();
  const auto other = line_.tandem("run --cluster '" + testing::source_folder() + "/platforms/rack.xml' " +
                                  job + " --out other");
  EXPECT_EQ(other.exit_code, 2) << other.output;
}

TEST_F(LongClusterCommand, AKilledRankIsNamedWithItsHostAndAllIsCleanedUp) {
  const std::string ranks = "$(for p in $(ip netns pids tandem." + id_ +
                            ".second); do [ \"$(cat /proc/$p/comm)\" = tandem-rank ] && echo $p; done)";
  const auto result = line_.tandem_ended_early(
      "run --cluster " + platform_ + " " + experiment() + " --set stop.rounds=1000000 --out out",
      {.processes = "for n in /run/netns/tandem." + id_ + ".*; do ip netns pids $(basename $n); done",
       .when = has_started("out"),
       .kill = "kill -9 " + ranks});
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_NE(result.output.find("rank 0 on host second"), std::string::npos) << result.output;
}

TEST_F(LongClusterCommand, ARankIsKilledWhenItsMachineIsRevoked) {
  const std::string job = "run --cluster " + platform_ + " " +
                          experiment("evaluate_every: 5\nrecovery: {mode: restart, policy: restart}\n") +
                          " --set stop.rounds=30";
  const auto whole = line_.tandem(job + " --out whole");
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  const double makespan_s = read_results((line_.folder() / "whole").string()).summary.makespan_s;
  const auto revoked = line_.tandem(job + " --set run.revoke=kill " +
                                    lifetimes(std::to_string(0.4 * makespan_s) + ",1e9;1e9") + "--out out");
  ASSERT_EQ(revoked.exit_code, 0) << revoked.output;
  EXPECT_NE(revoked.output.find("the machine of worker 0 on 'second' departed (revoked)"), std::string::npos)
      << revoked.output;
  EXPECT_EQ(line_.shell("cmp whole/model.pt out/model.pt").exit_code, 0) << revoked.output;
  EXPECT_EQ(read_results((line_.folder() / "out").string()).info.generations.size(), 2U);
}

/// The machine of a worker departs, and the job continues without it; the commits may be on the hosts.
TEST_F(LongClusterCommand, AJobContinuesWithFewerWorkers) {
  const std::string job = "run --cluster " + platform_ + " " +
                          experiment(
                              "recovery: {mode: restart, policy: shrink}\ncheckpoint: {policy: fixed, "
                              "options: {interval: 5}}\n") +
                          " --set stop.rounds=60";
  const auto whole = line_.tandem(job + " --set checkpoint.keep=0 --out whole");
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  const double makespan_s = read_results((line_.folder() / "whole").string()).summary.makespan_s;
  for (const std::string to : {"directory", "buddy"}) {
    SCOPED_TRACE(to);
    const auto revoked =
        line_.tandem(job + " --set checkpoint.to=" + to + " --set checkpoint.keep=2 --set run.revoke=kill " +
                     lifetimes(std::to_string(0.5 * makespan_s) + ",1e9;1e9") + "--out " + to);
    ASSERT_EQ(revoked.exit_code, 0) << revoked.output;
    EXPECT_NE(revoked.output.find("generation 1 has 1 of 2 workers: 1"), std::string::npos) << revoked.output;
    const auto info = read_results((line_.folder() / to).string()).info;
    ASSERT_EQ(info.generations.size(), 2U);
    const auto round = static_cast<int>(info.generations[1].round);
    EXPECT_GE(round, 5) << revoked.output;
    // The same done by hand, on this machine.
    const auto hand = line_.tandem("run --resume whole --resume-from " + std::to_string(round) +
                                   " --set 'placement.workers=[3rd:host]' --out hand --force");
    ASSERT_EQ(hand.exit_code, 0) << hand.output;
    EXPECT_EQ(line_.shell("cmp hand/model.pt " + to + "/model.pt").exit_code, 0) << revoked.output;
  }
}

/// Also between its subcommands, when nothing but the validation itself runs.
TEST_F(LongClusterCommand, AnInterruptedValidationRemovesItsTemporaryCluster) {
  ASSERT_EQ(down().exit_code, 0);
  const auto result = line_.tandem_ended_early(
      "validate --cluster " + experiment() + " --set stop.rounds=1000000 --out out",
      {.processes = "for n in /run/netns/tandem." + id_ + ".*; do ip netns pids $(basename $n); done",
       .when = "[ -e /run/netns/tandem." + id_ + ".second ]"});
  EXPECT_EQ(result.exit_code, 143) << result.output;
  EXPECT_TRUE(gone()) << traces();
}

TEST_F(LongClusterCommand, WithoutRightsItNamesTheMissingOnes) {
  // Not as another user, who may lack read access to this folder.
  const std::string without_rights = "setpriv --bounding-set=-all --inh-caps=-all ";
  if (line_.shell(without_rights + "true").exit_code != 0) GTEST_SKIP() << "no rights to give up";
  const auto result = line_.shell(without_rights + "\"$TANDEM\" cluster up --force " + platform_);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_NE(result.output.find("needs root, or CAP_NET_ADMIN and CAP_SYS_ADMIN"), std::string::npos)
      << result.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
