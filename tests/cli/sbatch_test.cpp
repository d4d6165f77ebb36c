// Scripts of `tandem run --print-sbatch` with several hosts of the platform on a node, run without Slurm.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Sbatch : public ::testing::Test {
 protected:
  void SetUp() override {
    line_.write("gpus.yaml", experiment("four_h200", "real", "[gpu-0, gpu-1, gpu-2, gpu-3]", "processor"));
    line_.write("racks.yaml",
                experiment("two_racks", "modelled",
                           "[node-1-1, node-1-2, node-1-3, node-2-1, node-2-2, node-2-3]", "server"));
  }
  static std::string experiment(const std::string& platform, const std::string& math,
                                const std::string& workers, const std::string& server) {
    return "platform: " + source_folder() + "/platforms/" + platform +
           ".xml\nworkload: {model: mlp, dataset: synthetic, math: " + math +
           ", train_samples: 200, test_samples: 50, batch: 8}\nplacement: {workers: " + workers +
           ", servers: [" + server + "]}\nstop: {rounds: 6}\n";
  }
  CommandResult print(const std::string& words) const {
    return line_.tandem("run " + words + " --out out --print-sbatch");
  }
  /// A command for an allocation of these nodes, in which the script run.sbatch is.
  static std::string allocation_of(const std::string& nodes) {
    return "mkdir -p bin; printf '#!/bin/sh\\nprintf \"%%s\\\\n\" " + nodes +
           "\\n' > bin/scontrol; chmod +x bin/scontrol; export PATH=$PWD/bin:$PATH "
           "SLURM_JOB_NODELIST=\"$(bin/scontrol | paste -sd,)\"; ";
  }
  CommandLine line_;
};
using LongSbatch = Sbatch;

TEST_F(Sbatch, NodesFollowFromTheMapping) {
  struct Case {
    std::string words;
    std::string options;   ///< of sbatch, about nodes
    std::string machines;  ///< the last words of `tandem run` on nodes x1, x2 ...
  };
  for (const auto& [words, options, machines] : std::vector<Case>{
           {"gpus.yaml --map gpu-[0-3]=a --map processor=a",
            "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=5\n#SBATCH --gpus-per-node=4\n",
            "--map gpu-[0-3],processor=x1 "},
           {"gpus.yaml --map processor=b --map gpu-[0-3]=a:[4-7] --gpus 8",
            "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=8\n",
            "--map gpu-[0-3]=x1:[4-7] --map processor=x2 "},
           {"gpus.yaml --map gpu-[0-3]=a --set run.devices=emulated --interface eth1 --lost-after 9",
            "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --open-mode",
            "--force --slurm --interface eth1 --lost-after 9 --map gpu-[0-3]=x1 --map processor=x2 "},
           {"gpus.yaml --map auto --gpus 2",
            "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n#SBATCH --gpus-per-node=2\n",
            "--map gpu-[0-1]=x1:[0-1] --map gpu-[2-3]=x2:[0-1] --map processor=x2 "},
           {"gpus.yaml --map auto --gpus 0 --cpus 3",
            "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n#SBATCH --open-mode",
            "--map gpu-[0-2]=x1 --map gpu-3,processor=x2 "},
           {"racks.yaml", "#SBATCH --nodes=7\n#SBATCH --ntasks-per-node=1\n#SBATCH --open-mode",
            "--map node-2-3=x6 --map server=x7 "},
           {"racks.yaml --map auto --cpus 4",
            "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --open-mode",
            "--map node-1-[1-3]=x1 --map node-2-[1-3],server=x2 "},
           {"racks.yaml --map server=node-1-2",
            "#SBATCH --nodes=6\n#SBATCH --ntasks-per-node=2\n#SBATCH --open-mode",
            "--map node-1-1=x1 --map node-1-2,server=x2 --map node-1-3=x3 --map node-2-1=x4 --map "
            "node-2-2=x5 --map node-2-3=x6 "}}) {
    const auto printed = print(words);
    ASSERT_EQ(printed.exit_code, 0) << words << '\n' << printed.output;
    EXPECT_NE(printed.output.find(options), std::string::npos) << words << '\n' << printed.output;
    line_.write("run.sbatch", printed.output);
    const auto run = line_.shell(allocation_of("x1 x2 x3 x4 x5 x6 x7") +
                                 "sed 's/^exec [^ ]*/exec printf \"%s \"/' run.sbatch | bash");
    EXPECT_TRUE(run.output.ends_with(machines)) << words << '\n' << run.output << '\n' << printed.output;
  }
}

/// Four nodes of two GPUs, which real mathematics computes on; and the processors of the nodes with their
/// caches.
TEST_F(Sbatch, HostsOfOneMachineShareANode) {
  for (const std::string options : {"", " --object-store 500MBps"}) {
    const auto made =
        line_.tandem("init job --force --gpus a100:2 --nodes 4 --model mlp --dataset synthetic" + options);
    ASSERT_EQ(made.exit_code, 0) << made.output;
    const std::string native = options.empty() ? " --set workload.math=real --set run.devices=native" : "";
    const std::string printed = print("job.yaml" + native).output;
    const bool has_store = !options.empty();
    for (const std::string part :
         {has_store ? "#SBATCH --nodes=5\n#SBATCH --ntasks-per-node=3\n"
                    : "#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=2\n#SBATCH --gpus-per-node=2\n",
          has_store ? "--map 'node-2-a100-[1-2],node-2-processors'=\"${nodes[1]}\""
                    : "--map 'node-2-a100-[1-2]'=\"${nodes[1]}:[0-1]\""})
      EXPECT_NE(printed.find(part), std::string::npos) << part << '\n' << printed;
  }
  const auto one = print("gpus.yaml --map gpu-[0-3]=a --map processor=a");
  EXPECT_NE(one.output.find(", on 1 node.\n"), std::string::npos) << one.output;
}

TEST_F(Sbatch, NodesThatCannotBeChosenAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"gpus.yaml --map auto", "expected --gpus, the number of GPUs of a node"},
      {"racks.yaml --map auto --gpus 8", "expected --cpus, the number of cores of a node"},
      {"gpus.yaml --map gpu-[0-3]=a --gpus 2", "--gpus: expected at least 4, because the hosts of node 'a'"},
      {"racks.yaml --map auto --cpus 1 --set placement.servers=[node-1-1]",
       "host 'node-1-1': expected a machine with 2 ranks, found 1 rank"},
      {"racks.yaml --map nowhere=a", "no host named 'nowhere'"},
      {"racks.yaml --hosts a", "expected no --hosts and --hostfile"}};
  for (const auto& [words, message] : cases) {
    const auto result = print(words);
    EXPECT_EQ(result.exit_code, 2) << words;
    EXPECT_NE(result.output.find(message), std::string::npos) << words << '\n' << result.output;
  }
}

/// The only node is this machine, which needs no srun.
TEST_F(LongSbatch, SeveralHostsRunOnOneNode) {
  for (const std::string map : {"--map node-1-[1-3],node-2-[1-3],server=a", "--map auto --cpus 7"}) {
    const auto printed = print("racks.yaml " + map);
    ASSERT_EQ(printed.exit_code, 0) << printed.output;
    line_.write("run.sbatch", printed.output);
    const auto run = line_.shell(allocation_of("$(hostname)") + "SLURM_TASKS_PER_NODE=7 bash run.sbatch");
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_EQ(read_results((line_.folder() / "out").string()).journal.steps.size(), 36U) << run.output;
  }
  const std::string allocation = allocation_of("$(hostname)") + "export SLURM_TASKS_PER_NODE=";
  const std::string automatic = "; \"$TANDEM\" run racks.yaml --slurm --map auto --out dealt";
  const auto dealt = line_.shell(allocation + "7" + automatic);
  EXPECT_EQ(dealt.exit_code, 0) << dealt.output;
  EXPECT_NE(dealt.output.find("mapping: --map 'node-1-[1-3],node-2-[1-3],server="), std::string::npos)
      << dealt.output;
  const auto checked = line_.shell(allocation + "7" + automatic + " --check --json 2> /dev/null");
  EXPECT_EQ(nlohmann::json::parse(checked.output).at("mapping").size(), 1U) << checked.output;
  const auto refused = line_.shell(allocation + "6" + automatic);
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find("--map auto: expected machines with 7 ranks together, found 6 ranks"),
            std::string::npos)
      << refused.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
