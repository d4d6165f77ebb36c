// Slurm's files of switches and blocks: what is read, and what is refused with file and line.
#include "runtime/machines/slurm_topology.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::machines {
namespace TANDEM_FILE {

using Names = std::vector<std::string>;

class SlurmTopology : public ::testing::Test {
 protected:
  std::vector<Switch> read(const std::string& name, const std::string& text) const {
    return read_slurm_topology(folder_.write(name, text));
  }
  void refuses(const std::string& name, const std::string& text, const std::string& part) const {
    try {
      read(name, text);
      FAIL() << "accepted: " << text;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(name + part), std::string::npos) << error.what();
    }
  }
  testing::TemporaryFolder folder_;
};

const std::vector<Switch> two_racks = {
    {"s1", {"n1", "n2"}, {}}, {"s2", {"n3", "n4", "m"}, {}}, {"top", {}, {0, 1}}};

TEST_F(SlurmTopology, OfTheConfFile) {
  EXPECT_EQ(read("topology.conf",
                 "# racks\nSwitchName=s1 Nodes=n[1-2] LinkSpeed=10\n\nswitchname=s2 nodes=n[3-4],\\\nm\n"
                 "SwitchName=top Switches=s[1-2]  # the core\n"),
            two_racks);
  // A switch may come before those below it.
  EXPECT_EQ(read("topology.conf",
                 "SwitchName=top Switches=s1,s2\nSwitchName=s1 Nodes=n1,n2\nSwitchName=s2 Nodes=n[3-4],m\n"),
            two_racks);
  EXPECT_EQ(read("topology.conf", "BlockName=b1 Nodes=n[01-02]\nBlockSizes=2,4\n"),
            (std::vector<Switch>{{"b1", {"n01", "n02"}, {}}}));
}

TEST_F(SlurmTopology, OfTheYamlFile) {
  EXPECT_EQ(read("topology.yaml",
                 "---\n- topology: flat\n  flat: true\n- topology: blocks\n  block:\n    blocks:\n"
                 "      - block: b1\n        nodes: n9\n"
                 "- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n"
                 "      - switch: top\n        children: s[1-2]\n      - switch: s1\n        nodes: n[1-2]\n"
                 "      - switch: s2\n        nodes: [n3, n4, m]\n"),
            two_racks);
  EXPECT_EQ(read("topology.yml",
                 "- topology: t\n  block:\n    block_sizes: [2]\n    blocks:\n"
                 "      - block: b1\n        nodes: n[1-2]\n"),
            (std::vector<Switch>{{"b1", {"n1", "n2"}, {}}}));
}

TEST_F(SlurmTopology, RefusesWhatIsNoTree) {
  refuses("topology.conf", "", ":1: expected lines");
  refuses("topology.conf", "SwitchName=s1 Nodes\n", ":1: expected KEY=VALUE, found 'Nodes'");
  refuses("topology.conf", "\nSwitchName=s1 Node=n1\n", ":2: expected SwitchName");
  refuses("topology.conf", "Nodes=n1\n", ":1: expected SwitchName");
  refuses("topology.conf", "SwitchName=s1 Nodes=n[1-\n", ":1: ");
  refuses("topology.conf", "SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n", ":2: 's1' is listed twice");
  refuses("topology.conf", "SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n1\n",
          ":2: node 'n1' is listed twice");
  refuses("topology.conf", "SwitchName=top Switches=s1\n", ":1: expected a switch of this file, found 's1'");
  refuses("topology.conf", "SwitchName=a Switches=b\nSwitchName=b Switches=a\n", ":1: 'a' is below itself");
  refuses("topology.conf", "SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n\n",
          ":2: 'c' is below two switches");
  refuses("topology.yaml", "tree: {}\n", ":1: expected a list");
  refuses("topology.yaml", "- topology: [\n", ":");
  refuses("topology.yaml", "- topology: t\n  flat: true\n", ":1: expected a topology with");
  refuses("topology.yaml", "- topology: t\n  tree:\n    switches:\n      - nodes: n1\n",
          ":4: expected 'switch: NAME'");
  refuses("topology.yaml", "- topology: t\n  tree:\n    switches:\n      - switch: s\n        node: n1\n",
          ":4: expected switch, nodes or children, found 'node'");
  EXPECT_THROW(read_slurm_topology(folder_.path("none")), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::machines
