// `tandem run --hosts` on three machines: hosts of an emulated cluster with a real sshd each. Skipped without
// the rights, the kernel support or the sshd that this needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "platforms/topology.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class SshMachines : public ::testing::Test {
 protected:
  void SetUp() override {
    id_ = line_.folder().filename().string();
    platform_ = line_.write(id_ + ".xml", star());
    const auto made = line_.tandem("cluster up " + platform_);
    if (made.exit_code == 2 && made.output.find("an emulated cluster needs") != std::string::npos)
      GTEST_SKIP() << made.output;
    ASSERT_EQ(made.exit_code, 0) << made.output;
    const auto started = line_.shell("sh " + script() + " up " + id_ + " \"$PWD/ssh\" m1 m2 m3");
    if (started.exit_code == 3) GTEST_SKIP() << "no sshd is installed";
    ASSERT_EQ(started.exit_code, 0) << started.output;
  }
  void TearDown() override {
    line_.shell("sh " + script() + " down \"$PWD/ssh\"");
    line_.tandem("cluster down " + platform_);
  }

  static std::string script() { return "'" + testing::source_folder() + "/tests/support/ssh_machines.sh'"; }
  /// Three hosts of 1 Gb/s around a switch.
  static std::string star() {
    std::string text =
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version='4.1'><zone id='z' routing='Floyd'>\n";
    for (const std::string host : {"m1", "m2", "m3"}) text += "<host id='" + host + "' speed='1Gf'/>\n";
    text += "<router id='switch'/>\n";
    for (const std::string host : {"m1", "m2", "m3"})
      text +=
          "<link id='cable-" + host + "' bandwidth='125MBps' latency='50us' sharing_policy='SPLITDUPLEX'/>\n";
    for (const std::string host : {"m1", "m2", "m3"})
      text += "<route src='" + host + "' dst='switch'><link_ctn id='cable-" + host +
              "' direction='UP'/></route>\n";
    return text + "</zone></platform>\n";
  }
  /// Words that run a command on a machine, as its sshd does.
  std::string on(const std::string& machine) const {
    const std::string line = machine == "m1" ? "1p" : machine == "m2" ? "2p" : "3p";
    return "nsenter --mount=/proc/$(pgrep -P $(sed -n " + line + " ssh/pids) sshd || sed -n " + line +
           " ssh/pids)/ns/mnt ";
  }
  std::string experiment(int rounds = 6, const std::string& more = "") const {
    return line_.write("job.yaml",
                       "platform: " + platform_ +
                           "\nworkload: {model: mlp, dataset: synthetic, math: real, train_samples: 200, "
                           "test_samples: 50, batch: 8}\nplacement: {workers: [m2, m3], servers: [m1]}\n"
                           "run: {devices: native}\nstop: {rounds: " +
                           std::to_string(rounds) + "}\n" + more);
  }
  /// On m1.
  CommandResult tandem(const std::string& words, const std::string& environment = "") const {
    return line_.shell(environment +
                       " OMPI_MCA_plm_rsh_agent=\"ssh -F $PWD/ssh/ssh_config\" sh /run/tandem/clusters/" +
                       id_ + "/enter m1 \"$TANDEM\" " + words);
  }
  /// `out`: of the job, which must not start.
  void refuses(const std::string& words, const std::vector<std::string>& parts,
               const std::string& out = "refused") const {
    const auto result = tandem("run " + experiment() + " --out " + out + ' ' + words);
    EXPECT_EQ(result.exit_code, 2) << words << '\n' << result.output;
    for (const auto& part : parts)
      EXPECT_NE(result.output.find(part), std::string::npos) << part << '\n' << result.output;
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / out)) << words;
  }
  /// In what m2 alone sees of the file system.
  void mount_on_m2(const std::string& command) const {
    const auto result = line_.shell(
        "daemon=$(sed -n 2p ssh/pids); nsenter --mount=/proc/$(pgrep -P $daemon sshd || echo "
        "$daemon)/ns/mnt sh -c \"" +
        command + '"');
    ASSERT_EQ(result.exit_code, 0) << command << '\n' << result.output;
  }

  CommandLine line_;
  std::string id_, platform_;
};
using LongSshMachines = SshMachines;

/// The n-th receive of a channel ends after the n-th send of it starts.
void expect_messages_follow_sends(const std::vector<OperationRecord>& operations, double uncertainty_s) {
  using Key = std::tuple<int, int, std::string, int>;
  std::map<Key, std::vector<double>> starts, ends;
  for (const auto& operation : operations) {
    if (operation.kind == "send")
      starts[{operation.rank, operation.peer, operation.channel, operation.bucket}].push_back(
          operation.start.count());
    if (operation.kind == "receive")
      ends[{operation.peer, operation.rank, operation.channel, operation.bucket}].push_back(
          operation.end.count());
  }
  int messages = 0;
  for (auto& [key, sent] : starts) {
    auto& received = ends[key];
    std::ranges::sort(sent);
    std::ranges::sort(received);
    ASSERT_EQ(sent.size(), received.size()) << std::get<0>(key) << " to " << std::get<1>(key);
    for (std::size_t i = 0; i < sent.size(); ++i, ++messages)
      EXPECT_GE(received[i], sent[i] - uncertainty_s) << std::get<0>(key) << " to " << std::get<1>(key);
  }
  EXPECT_GT(messages, 20);
}

TEST_F(LongSshMachines, RunAJobWhereItsRolesArePlaced) {
  const auto simulated = line_.tandem("simulate " + experiment() + " --out simulated -q");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured = tandem("run " + experiment() + " --hosts m1,m2,m3 --out measured --operations");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  for (const char* machine : {"m1", "m2", "m3"})
    EXPECT_NE(measured.output.find(machine + std::string("       ")), std::string::npos) << measured.output;
  const Results expected = read_results((line_.folder() / "simulated").string());
  const Results found = read_results((line_.folder() / "measured").string());
  EXPECT_EQ(found.info.physics.at("machines"), nlohmann::json({"m2", "m3", "m1"}))
      << "workers, then the server";
  // One kernel, so one clock: no message may arrive before it was sent, but for the stated uncertainty.
  const auto& clocks = found.info.physics.at("clocks");
  EXPECT_EQ(clocks.at("machines").size(), 3U);
  const double uncertainty_s = clocks.at("uncertainty_s");
  EXPECT_GT(uncertainty_s, 0.0);
  EXPECT_LT(uncertainty_s, 0.1);
  expect_messages_follow_sends(found.journal.operations, uncertainty_s);
  ASSERT_EQ(found.journal.steps.size(), expected.journal.steps.size());
  std::map<std::pair<Rank, int>, double> losses;
  for (const auto& step : expected.journal.steps) losses[{step.rank, step.step}] = step.loss;
  for (const auto& step : found.journal.steps)
    EXPECT_NEAR(step.loss, (losses[{step.rank, step.step}]), 1e-4) << step.rank << ' ' << step.step;
}

/// The calibration measures the network between the machines, and the simulation uses it.
TEST_F(LongSshMachines, ValidateComparesRunsOnThemWithTheirCalibration) {
  const std::string job = line_.write(
      "job.yaml", "platform: " + platform_ +
                      "\nworkload: {model: mlp, dataset: synthetic, math: real, train_samples: 200, "
                      "test_samples: 50, batch: 8}\nplacement: {workers: [m2, m3], servers: "
                      "[m1]}\nstop: {rounds: 10}\n");
  const auto result =
      tandem("validate " + job + " --hosts m1,m2,m3 --interface eth0 --out validated --tolerance 100");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("parity passed, replay passed"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("the simulation used"), std::string::npos) << result.output;
  const auto profile = read_json_file((line_.folder() / "validated/profile.json").string(), "a profile");
  EXPECT_EQ(profile.at("machines"), nlohmann::json({"m2", "m3", "m1"}));
  // Of the three pairs: two links of 1 Gb/s. A message of 8 MiB takes 67 ms or more.
  const auto& messages = profile.at("paths").at(0).at("messages");
  EXPECT_EQ(messages.back().at("bytes"), 16 << 20);
  EXPECT_GT(messages.back().at("median_s").get<double>(), 0.9 * (16 << 20) / 125e6);
  const auto measured = read_results((line_.folder() / "validated/job/measured-0").string());
  EXPECT_EQ(measured.info.experiment.run.devices, DeviceSpeed::native) << "by default";
  EXPECT_EQ(measured.info.network.value().kind, "real cluster");
  const auto simulated = read_results((line_.folder() / "validated/job/simulated").string());
  EXPECT_EQ(simulated.info.network.value().of, "real cluster");
}

TEST_F(LongSshMachines, AreCheckedBeforeAnythingStarts) {
  const auto checked = tandem("run " + experiment() +
                              " --out never --hosts m1:1,m2:2 --map m3=m2 --check --json 2> /dev/null");
  ASSERT_EQ(checked.exit_code, 0) << checked.output;
  const auto machines = nlohmann::json::parse(checked.output).at("machines");
  ASSERT_EQ(machines.size(), 2U);
  EXPECT_EQ(machines[0].at("host"), "m2");
  EXPECT_EQ(machines[0].at("ranks"), 2);
  // One kernel, so one clock.
  for (const auto& machine : machines)
    EXPECT_LE(std::abs(machine.at("clock_offset_s").get<double>()),
              machine.at("clock_uncertainty_s").get<double>() + 1e-5);
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "never"));
  refuses("--hosts m1,m2,m9 --map m3=m9", {"machine 'm9'", "does not answer"});
  const auto address =
      line_.shell("sh /run/tandem/clusters/" + id_ + "/enter m2 hostname -I | cut -d ' ' -f 1");
  refuses("--hosts m1,m2," + address.output.substr(0, address.output.find('\n')) +
              " --map m3=" + address.output.substr(0, address.output.find('\n')),
          {"is the same machine as 'm2' (host m2)", "list it once"});
  refuses("--hosts m1,m2,m1", {"--hosts: expected each machine once, found 'm1' again"});
  for (const char* network : {"eth9", "lo,eth9", "10.99.7.0/24"})
    refuses("--hosts m1,m2,m3 --interface " + std::string(network),
            {"machine 'm2'", "no interface", "eth0 (10.", "--interface"});
  refuses("--hosts m1,m2", {"host 'm3'", "--map m3=MACHINE", "rank"});
  refuses("--hosts m1,m2:1 --map m3=m2", {"machine 'm2'", "1 slots", "found 2 ranks", "--map"});
  refuses("--hosts m1,m2,m3 --map nowhere=m2", {"no host named 'nowhere'"});
  refuses("--slurm", {"SLURM_JOB_NODELIST"});
  // No key fits any more.
  line_.shell("rm ssh/key.pub");
  refuses("--hosts m1,m2,m3", {"machine 'm2'", "Permission denied"});
}

TEST_F(LongSshMachines, OtherBuildsAndFoldersThatCannotBeWrittenAreRefused) {
  const std::string program = "$(dirname $TANDEM)/tandem-rank";
  ASSERT_EQ(line_.shell("cp " + program + " other-rank && printf x >> other-rank").exit_code, 0);
  mount_on_m2("mount --bind $PWD/other-rank " + program);
  refuses("--hosts m1,m2,m3", {"machine 'm2'", "another build", "install the same one"});
  ASSERT_EQ(line_.shell("mkdir fixed").exit_code, 0);
  mount_on_m2("umount " + program);
  mount_on_m2("mount --bind $PWD/fixed $PWD/fixed && mount -o remount,bind,ro $PWD/fixed");
  refuses("--hosts m1,m2,m3", {"machine 'm2': may not write to", "/fixed", "--out"}, "fixed/out");
}

/// The same files as on a shared file system, and a job that is resumed from them.
TEST_F(LongSshMachines, ResultsAreGatheredWithoutASharedFileSystem) {
  const std::string job =
      "run " + experiment(20, "evaluate_every: 10\n") + " --hosts m1,m2,m3 --losses --out ";
  const auto shared = tandem(job + "shared");
  ASSERT_EQ(shared.exit_code, 0) << shared.output;
  line_.shell("mkdir private");
  // Of rank 0 (m2) and another worker; then also of the server, which writes the model: m1 starts the job.
  for (const char* machine : {"m3", "m2"}) {
    ASSERT_EQ(line_.shell(on(machine) + "mount -t tmpfs none \"$PWD/private\"").exit_code, 0);
    const std::string out = std::string("private/without_") + machine;
    const auto run = tandem(job + out);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_NE(run.output.find("results are gathered"), std::string::npos) << run.output;
    for (const char* file : {"model.pt", "losses.csv"})
      EXPECT_EQ(line_.shell(std::string("cmp shared/") + file + ' ' + out + '/' + file).exit_code, 0)
          << machine << ' ' << file;
    const auto states = [&](const std::string& directory) {
      return line_.shell("cd " + directory + "/checkpoints && ls").output;
    };
    EXPECT_EQ(states(out), states("shared"));
    EXPECT_NE(states(out).find("worker_1.state"), std::string::npos) << states(out);
    EXPECT_FALSE(std::filesystem::exists(line_.folder() / out / "INCOMPLETE"));
    const auto left = line_.shell(on("m2") + "ls \"$PWD/private\"; " + on("m3") + "ls \"$PWD/private\"");
    EXPECT_EQ(left.exit_code, 0);
    EXPECT_EQ(left.output.find("part-"), std::string::npos) << left.output;
    const auto resumed =
        tandem("run --resume " + out + " --set stop.rounds=30 --hosts m1,m2,m3 --out " + out + "_resumed");
    ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
    EXPECT_EQ(read_results((line_.folder() / (out + "_resumed")).string()).info.resumed.value().round, 20);
  }
  const auto apart = tandem(job + "private/apart --set placement.evaluator=m2");
  EXPECT_EQ(apart.exit_code, 2) << apart.output;
  EXPECT_NE(apart.output.find("the evaluator on host 'm2'"), std::string::npos) << apart.output;
}

TEST_F(LongSshMachines, DataThatAMachineLacksOrHasOtherwiseIsRefused) {
  line_.shell(
      "mkdir data && for part in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 "
      "test_batch; "
      "do head -c 61460 /dev/zero > data/$part.bin; done; cp -r data other; printf x | dd conv=notrunc "
      "of=other/test_batch.bin bs=1 seek=61459");
  const std::string job =
      "--set workload.dataset=cifar-10 --set workload.dataset_directory=data --set "
      "workload.train_samples=20 --set workload.test_samples=20 --hosts m1,m2,m3";
  const auto fine = tandem("run " + experiment() + " --out refused --check " + job);
  ASSERT_EQ(fine.exit_code, 0) << fine.output;
  mount_on_m2("mount --bind $PWD/other $PWD/data");
  refuses(job, {"machine 'm2': its ", "/data/test_batch.bin is another file (61460 bytes", "copy it there"});
  mount_on_m2("mount -t tmpfs none $PWD/data");
  refuses(job, {"machine 'm2': has no file ", "/data/data_batch_1.bin", "copy it there"});
}

/// Machines without Tandem, one of them without a library that it needs.
TEST_F(LongSshMachines, TheProgramIsStagedWhereItIsNot) {
  line_.shell("mkdir staged upper");
  const std::string programs = "\"$(dirname \"$TANDEM\")\"";
  for (const char* machine : {"m2", "m3"}) {
    ASSERT_EQ(line_.shell(on(machine) + "mount -t tmpfs none " + programs).exit_code, 0);
    ASSERT_EQ(line_.shell(on(machine) + "mount -t tmpfs none \"$PWD/staged\"").exit_code, 0);
  }
  const std::string libraries = "/usr/lib/x86_64-linux-gnu";
  const auto hidden =
      line_.shell(on("m2") +
                  "sh -c 'mount -t tmpfs none \"$1/upper\" && cd \"$1/upper\" && mkdir u w && "
                  "mount -t overlay none -o lowerdir=" +
                  libraries + ",upperdir=u,workdir=w " + libraries + " && rm " + libraries +
                  "/libfmt.so.9*' sh \"$PWD\"");
  const auto refused = tandem("run " + experiment() + " --hosts m1,m2,m3 --out refused");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  const auto staged =
      tandem("run " + experiment() + " --hosts m1,m2,m3 --stage \"$PWD/staged\" --out staged_run");
  ASSERT_EQ(staged.exit_code, 0) << staged.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "staged_run/summary.json"));
  const auto copied = line_.shell(on("m2") + "sh -c 'ls \"$1\"/staged/*/lib' sh \"$PWD\"");
  if (hidden.exit_code == 0) {
    EXPECT_EQ(copied.output, "libfmt.so.9\n") << "what m2 lacks, and nothing else";
  }
}

TEST_F(LongSshMachines, AreDiscoveredAndThenSimulatedAndRun) {
  const auto found = tandem("discover --hosts m1,m2,m3 --interface eth0 --out found.xml --disk .");
  ASSERT_EQ(found.exit_code, 0) << found.output;
  const auto measured = platforms::load_topology((line_.folder() / "found.xml").string());
  for (const std::string from : {"m1", "m2", "m3"})
    for (const std::string to : {"m1", "m2", "m3"})
      if (from != to) {
        EXPECT_NEAR(measured.between(from, to)->bandwidth.count() / 125e6, 1.0, 0.1) << from << ' ' << to;
      }
  experiment();
  EXPECT_EQ(tandem("show found.xml").exit_code, 0);
  for (const std::string words :
       {"simulate job.yaml --out predicted", "run job.yaml --hosts m1,m2,m3 --out run"}) {
    const auto result = tandem(words + " --set platform=found.xml");
    EXPECT_EQ(result.exit_code, 0) << words << '\n' << result.output;
  }
  // The topology file of a batch system gives the groups, and a machine that is not reached its name.
  line_.write("topology.conf",
              "SwitchName=left Nodes=m[1-2]\nSwitchName=right Nodes=m3\nSwitchName=top "
              "Switches=left,right\n");
  const auto grouped = tandem(
      "discover --hosts m1,m2,m3 --interface eth0 --slurm-topology topology.conf --out grouped.xml --disk .");
  ASSERT_EQ(grouped.exit_code, 0) << grouped.output;
  EXPECT_NE(grouped.output.find("m1, m2 share a link"), std::string::npos) << grouped.output;
  const auto refused = tandem("discover --hosts m1,m9 --out never.xml");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("machine 'm9'"), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "never.xml"));
}

/// A failure while a job runs, and what is left of the job.
class FailingMachines : public SshMachines {
 protected:
  /// The folder "private" is another one on each machine.
  void make_private_folders() const {
    for (const char* machine : {"m2", "m3"})
      ASSERT_EQ(line_.shell("mkdir -p private && " + on(machine) + "mount -t tmpfs none \"$PWD/private\"")
                    .exit_code,
                0);
  }
  struct LongJob {
    std::string experiment;
    std::string hosts = "m1,m2,m3";
    std::string folder = "";  ///< of the result directory "long"
    std::string more = "";    ///< options
    /// A shell command that succeeds when its ranks compute.
    std::string computes = "ls long/checkpoints/*.pt > /dev/null 2>&1";
  };
  LongJob endless() const { return {.experiment = experiment(10'000'000, "evaluate_every: 100\n")}; }
  /// Starts a job that would not end, does `harm` once its ranks compute, and waits until nothing is left.
  /// The output: the exit code, the seconds that this took, the log and the files of the result directory.
  std::string output_after(const std::string& harm, const LongJob& job) const {
    const std::string ranks = "pgrep -f '[b]in/tandem-rank [^ ]*/long/'";
    return line_
        .shell(
            "export OMPI_MCA_plm_rsh_agent=\"ssh -F $PWD/ssh/ssh_config\"; sh /run/tandem/clusters/" + id_ +
            "/enter m1 \"$TANDEM\" run " + job.experiment + " --hosts " + job.hosts + " --out " + job.folder +
            "long " + job.more +
            " > log 2>&1 & job=$!; for i in $(seq 300); do grep -q 'preparing the model' log && " +
            job.computes + " && break; sleep 0.1; done; " + harm +
            "; from=$(date +%s%N); for i in $(seq 200); do [ -z \"$(" + ranks +
            ")\" ] && break; sleep 0.1; done; to=$(date +%s%N); " + ranks +
            " && echo STILL THERE; wait $job; echo code $?; echo took $(((to - from) / 1000000000)) s; cat "
            "log; cd ./" +
            job.folder + "; ls long; cat long/INCOMPLETE")
        .output;
  }
  std::string output_after(const std::string& harm) const { return output_after(harm, endless()); }
  std::string network_of(const std::string& machine) const { return "tandem." + id_ + '.' + machine; }
  void expect_end(const std::string& output, const std::string& machine) const {
    EXPECT_EQ(output.find("STILL THERE"), std::string::npos) << output;
    EXPECT_NE(output.find("code 70"), std::string::npos) << output;
    int took_s = 100;
    std::sscanf(output.c_str() + std::min(output.size(), output.find("took ")), "took %d s", &took_s);
    EXPECT_LE(took_s, 5) << output;
    EXPECT_NE(output.find("INCOMPLETE"), std::string::npos) << output;
    EXPECT_NE(output.rfind(machine), std::string::npos) << output;
  }
};
using LongFailingMachines = FailingMachines;

/// Kills a rank (-9) and expects its name, whatever Open MPI notices first.
class KilledRanks : public FailingMachines {
 protected:
  void expect_named(int rank) const {
    LongJob job = endless();
    job.more = "--force";
    const std::string output = output_after(
        "for p in $(pgrep -f '[b]in/tandem-rank [^ ]*/long/'); do tr '\\0' '\\n' < /proc/$p/environ | grep "
        "-qx OMPI_COMM_WORLD_RANK=" +
            std::to_string(rank) + " && kill -9 $p; done",
        job);
    const std::vector<std::string> machines = {"m2", "m3", "m1"};
    const std::string& machine = machines[static_cast<std::size_t>(rank)];
    expect_end(output, machine);
    // In the message and in INCOMPLETE.
    const std::string text =
        "rank " + std::to_string(rank) + " on machine '" + machine + "': was ended by signal 9 (Killed)";
    const auto first = output.find(text);
    EXPECT_NE(first, std::string::npos) << output;
    EXPECT_NE(output.find(text, first + 1), std::string::npos) << output;
    EXPECT_NE(output.find("rank " + std::to_string(rank) + " is the "), std::string::npos) << output;
  }
};
using LongKilledRanks = KilledRanks;

TEST_F(LongKilledRanks, AreNamed) { expect_named(1); }

TEST_F(LongKilledRanks, AreAlwaysNamed) {
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    expect_named(i % 3);
  }
}

TEST_F(LongFailingMachines, EndWhenAnSshdIsKilled) {
  const std::string output = output_after("for p in $(ip netns pids " + network_of("m3") +
                                          "); do [ \"$(cat /proc/$p/comm)\" = sshd ] && kill -9 $p; done");
  expect_end(output, "m3");
}

TEST_F(LongFailingMachines, EndWhenACableIsPulled) {
  const std::string output =
      output_after("for cable in eth0 eth1; do ip -n " + network_of("m3") + " link set $cable down; done");
  expect_end(output, "machine 'm3' does not answer any more");
  EXPECT_NE(output.find("rank 1 is the worker on 'm3'"), std::string::npos) << output;
  // The daemon that started it does not wait for the launcher either.
  const auto left =
      line_.shell("for i in $(seq 100); do left=$(for p in $(ip netns pids " + network_of("m3") +
                  "); do grep -x orted /proc/$p/comm; done); [ -z \"$left\" ] && exit 0; sleep "
                  "0.1; done; exit 1");
  EXPECT_EQ(left.exit_code, 0) << left.output;
}

/// Machines are watched over another network than that of the messages, which does not notice by itself.
TEST_F(LongFailingMachines, EndWhenTheNetworkOfTheMessagesBreaks) {
  LongJob job = endless();
  job.hosts.clear();
  std::vector<std::string> machines;
  for (const std::string name : {"m1", "m2", "m3"}) {
    const auto address = line_.shell("ip -n " + network_of(name) +
                                     " -4 -o addr show dev eth1 | sed 's/.* inet \\([0-9.]*\\).*/\\1/'");
    machines.push_back(address.output.substr(0, address.output.find('\n')));
    job.hosts += (job.hosts.empty() ? "" : ",") + machines.back();
    job.more += " --map " + name + "=" + machines.back();
  }
  job.more += " --interface eth0";
  const std::string output = output_after("ip -n " + network_of("m3") + " link set eth0 down", job);
  const std::string text = "machine '" + machines[2] + "' and machines '" + machines[0] + "', '" +
                           machines[1] + "' do not reach each other over the network of the job";
  expect_end(output, text);
  EXPECT_NE(output.find("rank 1 is the worker on 'm3'"), std::string::npos) << output;
}

/// Its checkpoints are brought here while it runs.
TEST_F(LongFailingMachines, AMachineThatIsLostTakesNoCheckpointAway) {
  ASSERT_EQ(line_.shell("mkdir private && " + on("m3") + "mount -t tmpfs none \"$PWD/private\"").exit_code,
            0);
  const std::string of_complete_commits =
      "cd private/long/checkpoints && for model in round_*.pt; do name=${model%.pt}; [ -f "
      "$name.worker_0.state ] "
      "&& [ -f $name.worker_1.state ] && [ -f $name.server_0.state ] && echo $name; done";
  const LongJob job = {.experiment = line_.write(
                           "server_on_m3.yaml",
                           "platform: " + platform_ +
                               "\nworkload: {model: mlp, dataset: synthetic, math: real, train_samples: "
                               "200, test_samples: 50, batch: 8}\nplacement: {workers: [m1, m2], servers: "
                               "[m3]}\nrun: {devices: native}\nstop: {rounds: 10000000}\n"
                               "evaluate_every: 100\n"),
                       .folder = "private/",
                       .computes = "(" + of_complete_commits + ") 2> /dev/null | grep -q round"};
  const std::string output = output_after(
      "for cable in eth0 eth1; do ip -n " + network_of("m3") + " link set $cable down; done", job);
  expect_end(output, "machine 'm3' does not answer any more");
  const auto files = line_.shell("cd private/long && ls -A . && cd checkpoints && ls -A");
  EXPECT_EQ(files.output.find(".arriving"), std::string::npos) << files.output;
  EXPECT_EQ(files.output.find("model.pt"), std::string::npos) << "m3 has not written it";
  const auto newest = line_.shell(of_complete_commits + " | tail -n 1 | sed 's/round_0*//'");
  const int round = std::atoi(newest.output.c_str());
  ASSERT_GE(round, 100) << files.output << output;
  const auto resumed = tandem("run --resume private/long --set stop.rounds=" + std::to_string(round + 20) +
                              " --hosts m1,m2 --map m3=m2 --out private/resumed");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_EQ(read_results((line_.folder() / "private/resumed").string()).info.resumed.value().round, round);
}

/// A job that starts again has the states and records that its machines keep to themselves. One machine is
/// away for a while, too: the job waits for it.
TEST_F(LongFailingMachines, AJobStartsAgainWithoutASharedFileSystem) {
  const std::string job = experiment(2000, "evaluate_every: 20\nrecovery: {mode: restart}\n");
  const auto whole = tandem("run " + job + " --hosts m1,m2,m3 --out whole");
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  ASSERT_NO_FATAL_FAILURE(make_private_folders());
  const auto cables = [&](const char* state) {
    return "for cable in eth0 eth1; do ip -n " + network_of("m3") + " link set $cable " + state + "; done; ";
  };
  const auto until_generation = [](const std::string& number) {
    return "until grep -q 'as generation " + number + "' log; do kill -0 $job || break; sleep 0.1; done; ";
  };
  const std::string wait_for_checkpoint =
      "seen=$(ls private/out/checkpoints/*.pt 2> /dev/null | wc -l); for i in $(seq 400); do sleep 0.05; [ "
      "$(ls "
      "private/out/checkpoints/*.pt 2> /dev/null | wc -l) -gt $((seen + 2)) ] && break; done; ";
  const auto restarted =
      line_.shell("export OMPI_MCA_plm_rsh_agent=\"ssh -F $PWD/ssh/ssh_config\"; sh /run/tandem/clusters/" +
                  id_ + "/enter m1 \"$TANDEM\" run " + job +
                  " --hosts m1,m2,m3 --out private/out > log 2>&1 & job=$!; " + wait_for_checkpoint +
                  "for p in $(pgrep -f \"bin/tandem-rank $PWD/private/out\"); do tr '\\0' '\\n' < "
                  "/proc/$p/environ | grep "
                  "-qx OMPI_COMM_WORLD_RANK=0 && kill -9 $p; done; " +
                  until_generation("1") + wait_for_checkpoint + cables("down") + until_generation("2") +
                  "sleep 2; " + cables("up") + "wait $job; code=$?; cat log; exit $code");
  ASSERT_EQ(restarted.exit_code, 0) << restarted.output;
  EXPECT_EQ(line_.shell("cmp whole/model.pt private/out/model.pt").exit_code, 0) << restarted.output;
  const Results all = read_results((line_.folder() / "private/out").string());
  const Results expected = read_results((line_.folder() / "whole").string());
  ASSERT_EQ(all.journal.steps.size(), expected.journal.steps.size()) << restarted.output;
  for (std::size_t i = 0; i < all.journal.steps.size(); ++i) {
    EXPECT_EQ(all.journal.steps[i].step, expected.journal.steps[i].step);
    EXPECT_EQ(all.journal.steps[i].loss, expected.journal.steps[i].loss);
  }
  EXPECT_GE(all.info.generations.size(), 3U) << restarted.output;
  const auto left = line_.shell(on("m2") + "ls \"$PWD/private\"; " + on("m3") + "ls \"$PWD/private\"");
  EXPECT_EQ(left.output.find("part-"), std::string::npos) << left.output;
}

/// The process that watches the other machine kills its rank at the drawn time.
TEST_F(LongSshMachines, ARankIsKilledWhenItsMachineIsRevoked) {
  const std::string job =
      experiment(2000, "evaluate_every: 20\nrecovery: {mode: restart, policy: restart}\n");
  const auto whole = tandem("run " + job + " --hosts m1,m2,m3 --out whole");
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  const auto revoked = tandem("run " + job +
                              " --set run.revoke=kill --set transience.lifetime=fixed --set "
                              "'transience.options.times=1e9;0.8,1e9' --hosts m1,m2,m3 --out out");
  ASSERT_EQ(revoked.exit_code, 0) << revoked.output;
  EXPECT_NE(revoked.output.find("the machine of worker 1 on 'm3' departed (revoked); the job starts again"),
            std::string::npos)
      << revoked.output;
  EXPECT_EQ(line_.shell("cmp whole/model.pt out/model.pt").exit_code, 0) << revoked.output;
  const Results all = read_results((line_.folder() / "out").string());
  ASSERT_EQ(all.info.generations.size(), 2U);
  EXPECT_GE(all.info.generations[1].launched.value().count(), 0.8);
}

/// A machine is lost when states of it have arrived here, and the job continues without it.
TEST_F(LongFailingMachines, AJobContinuesWithFewerWorkers) {
  const std::string job = experiment(2000, "evaluate_every: 20\nrecovery: {mode: restart, policy: shrink}\n");
  const auto whole = tandem("run " + job + " --hosts m1,m2,m3 --out whole");
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  ASSERT_NO_FATAL_FAILURE(make_private_folders());
  const auto shrunk =
      line_.shell("export OMPI_MCA_plm_rsh_agent=\"ssh -F $PWD/ssh/ssh_config\"; sh /run/tandem/clusters/" +
                  id_ + "/enter m1 \"$TANDEM\" run " + job +
                  " --hosts m1,m2,m3 --out private/out > log 2>&1 & job=$!; until ls "
                  "private/out/checkpoints/round_00000[1-9]*.worker_1.state > /dev/null 2>&1; do kill -0 "
                  "$job || break; sleep 0.05; done; "
                  "for cable in eth0 eth1; do ip -n " +
                  network_of("m3") + " link set $cable down; done; wait $job; code=$?; cat log; exit $code");
  ASSERT_EQ(shrunk.exit_code, 0) << shrunk.output;
  EXPECT_NE(shrunk.output.find("generation 1 has 1 of 2 workers: 0"), std::string::npos) << shrunk.output;
  const Results all = read_results((line_.folder() / "private/out").string());
  ASSERT_EQ(all.info.generations.size(), 2U);
  const auto round = static_cast<int>(all.info.generations[1].round);
  EXPECT_GE(round, 80) << shrunk.output;
  std::map<Rank, std::int64_t> steps;
  for (const auto& step : all.journal.steps) EXPECT_EQ(step.step, steps[step.rank]++) << "rank " << step.rank;
  EXPECT_EQ(steps, (std::map<Rank, std::int64_t>{{0, 2000}, {1, round}}));
  // The same done by hand, on the same machines: sshd gives their ranks another environment than this
  // process has, such as OPENBLAS_CORETYPE, and other kernels of a library round differently.
  const auto hand = tandem("run --resume whole --resume-from " + std::to_string(round) +
                           " --set placement.workers=[m2] --hosts m1,m2 --out hand");
  ASSERT_EQ(hand.exit_code, 0) << hand.output;
  EXPECT_EQ(line_.shell("cmp hand/model.pt private/out/model.pt").exit_code, 0) << shrunk.output;
}

TEST_F(LongFailingMachines, EndWhenADiskIsFull) {
  ASSERT_EQ(line_
                .shell("mkdir small && " + on("m3") + "mount -t tmpfs -o size=64k none \"$PWD/small\" && " +
                       on("m3") + "dd if=/dev/zero of=\"$PWD/small/other\" status=none 2> /dev/null; true")
                .exit_code,
            0);
  const auto result =
      tandem("run " + experiment(20, "evaluate_every: 10\n") + " --hosts m1,m2,m3 --out small/out");
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_NE(result.output.find("No space left on device\n  rank 1 is the worker on 'm3'"), std::string::npos)
      << result.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "small/out/INCOMPLETE"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
