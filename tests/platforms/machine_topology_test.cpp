// Topology files of NCCL and hwloc: two GPUs with NVLink behind PCIe switches, and a small machine of hwloc.
#include "platforms/machine_topology.hpp"

#include <gtest/gtest.h>

#include <string>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

/// Two GPUs on PCIe 4 x16, one of them behind a switch with an uplink of x8, with eight and four NVLinks; an
/// InfiniBand adapter of 200 Gbit/s.
const std::string nccl = R"(<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:40:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="8">
      <pci busid="0000:41:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:81:00.0" count="4" tclass="0x030200"/>
          <nvlink target="0000:c1:00.0" count="4" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:42:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" latency="0.000000" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:81:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1">
        <nvlink target="0000:41:00.0" count="4" tclass="0x030200"/>
      </gpu>
    </pci>
    <nic><net name="eth0" dev="1" speed="10000" port="0"/></nic>
  </cpu>
</system>
)";

const std::string hwloc = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f">
    <info name="Backend" value="Linux"/>
    <object type="Package" os_index="0">
      <info name="CPUModel" value="Some Processor"/>
      <object type="NUMANode" os_index="0" local_memory="34359738368"/>
      <object type="Core" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="2"/></object>
      <object type="Core" os_index="1"><object type="PU" os_index="1"/><object type="PU" os_index="3"/></object>
      <object type="Bridge" bridge_type="0-1">
        <object type="PCIDev" pci_busid="0000:01:00.0" pci_link_speed="31.507692">
          <object type="OSDev" name="cuda0" subtype="CUDA" osdev_type="5"><info name="GPUModel" value="NVIDIA A100"/></object>
        </object>
        <object type="PCIDev" pci_busid="0000:02:00.0" pci_link_speed="7.876923">
          <object type="OSDev" name="enp2s0" osdev_type="2"/>
          <object type="OSDev" name="mlx5_0" osdev_type="3"/>
        </object>
      </object>
    </object>
    <object type="OSDev" name="lo" osdev_type="2"/>
  </object>
</topology>
)";

class MachineTopologies : public ::testing::Test {
 protected:
  std::string error_of(MachineTopology (*read)(const std::string&), const std::string& text) const {
    try {
      read(folder_.write("bad.xml", text));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
  testing::TemporaryFolder folder_;
};

TEST_F(MachineTopologies, OfNcclHaveGpusWithTheirLinks) {
  const auto topology = read_nccl_topology(folder_.write("nccl.xml", nccl));
  ASSERT_EQ(topology.gpus.size(), 2U);
  EXPECT_EQ(topology.gpus[0].name, "compute capability 8.0");
  EXPECT_DOUBLE_EQ(topology.gpus[0].nvlink.count(), 8 * 25e9);
  EXPECT_DOUBLE_EQ(topology.gpus[1].nvlink.count(), 4 * 25e9);
  ASSERT_EQ(topology.adapters.size(), 2U);
  EXPECT_EQ(topology.adapters[0].name, "mlx5_0");
  EXPECT_DOUBLE_EQ(topology.adapters[0].speed.count(), 25e9);
  EXPECT_FALSE(topology.cores) << "NCCL does not say";
}

TEST_F(MachineTopologies, OfHwlocHaveCoresMemoryAndDevices) {
  const auto topology = read_hwloc_topology(folder_.write("hwloc.xml", hwloc));
  EXPECT_EQ(topology.cores, 2) << "threads are no cores";
  EXPECT_EQ(topology.memory, Bytes(std::int64_t{32} << 30));
  EXPECT_EQ(topology.processor, "Some Processor");
  ASSERT_EQ(topology.gpus.size(), 1U);
  EXPECT_EQ(topology.gpus[0].name, "NVIDIA A100");
  ASSERT_EQ(topology.adapters.size(), 2U) << "the loopback is none";
  EXPECT_EQ(topology.adapters[1].name, "mlx5_0");
}

TEST_F(MachineTopologies, BecomePropertiesOfTheHost) {
  Host host{.name = "a", .cores = 4};
  host.properties["tandem:gpus"] = "NVIDIA A100-SXM4-40GB, NVIDIA A100-SXM4-40GB";
  add_topology(read_hwloc_topology(folder_.write("hwloc.xml", hwloc)), host);
  EXPECT_EQ(host.cores, 2);
  EXPECT_EQ(host.properties.at("memory"), "32768MiB");
  EXPECT_EQ(host.properties.at("tandem:gpus"), "NVIDIA A100");
  EXPECT_EQ(host.properties.at("tandem:network"), "enp2s0, mlx5_0");
  EXPECT_FALSE(host.properties.contains("tandem:nvlink"));
  add_topology(read_nccl_topology(folder_.write("nccl.xml", nccl)), host);
  EXPECT_EQ(host.properties.at("tandem:gpus"), "NVIDIA A100") << "a capability replaces no name";
  EXPECT_EQ(host.properties.at("tandem:nvlink"), "100GBps") << "of the GPU with the least";
  EXPECT_EQ(host.properties.at("tandem:network"), "mlx5_0 25GBps, eth0 1.25GBps");
  EXPECT_EQ(host.cores, 2);
  Host bare{.name = "b"};
  add_topology(read_nccl_topology(folder_.write("nccl.xml", nccl)), bare);
  EXPECT_EQ(bare.properties.at("tandem:gpus"), "2 x compute capability 8.0");
}

TEST_F(MachineTopologies, ThatAreWrongNameFileAndLine) {
  EXPECT_NE(error_of(read_nccl_topology, hwloc).find("with the root <system>, found <topology>"),
            std::string::npos);
  EXPECT_NE(error_of(read_hwloc_topology, nccl).find("with the root <topology>, found <system>"),
            std::string::npos);
  EXPECT_NE(error_of(read_hwloc_topology, "not XML").find("bad.xml:1: expected well-formed XML"),
            std::string::npos);
  EXPECT_NE(error_of(read_nccl_topology, "<system>\n<gpu sm=\"new\"/>\n</system>")
                .find("bad.xml:2: expected a number for 'sm' of <gpu>, found 'new'"),
            std::string::npos);
  EXPECT_THROW(read_nccl_topology(folder_.path("absent.xml")), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
