// Lists of machines, as users and Slurm write them, and the placement of ranks on them.
#include "runtime/machines/machines.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/name_lists.hpp"
#include "runtime/machines/placement.hpp"
#include "runtime/machines/stage.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::machines {
namespace TANDEM_FILE {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> names_of(const std::vector<Machine>& machines) {
  std::vector<std::string> names;
  for (const Machine& machine : machines) names.push_back(machine.name);
  return names;
}

TEST(HostList, NamesMachinesAndSlots) {
  const auto machines = parse_host_list("a:4,b,10.0.0.7:2");
  EXPECT_EQ(machines, (std::vector<Machine>{{"a", 4}, {"b", {}}, {"10.0.0.7", 2}}));
  EXPECT_EQ(parse_host_list("gpu[08-10]:4,b"),
            (std::vector<Machine>{{"gpu08", 4}, {"gpu09", 4}, {"gpu10", 4}, {"b", {}}}));
}

TEST(HostList, RefusesWhatIsNoMachine) {
  EXPECT_EQ(error_of([] { parse_host_list("a,b,a:2"); }),
            "--hosts: expected each machine once, found 'a' again");
  EXPECT_EQ(error_of([] { parse_host_list("a:"); }),
            "--hosts: machine 'a': expected a number of ranks after ':'");
  for (const char* slots : {"0", "-1", "x", "1x", "99999999999"})
    EXPECT_NE(error_of([&] { parse_host_list(std::string("a:") + slots); }).find("from 1 to 100000"),
              std::string::npos)
        << slots;
  // Names become words of a shell on another machine, and must not be options of ssh.
  for (const char* name : {"a b", "a;rm", "$(x)", "-oProxyCommand=x", "a|b"})
    EXPECT_NE(error_of([&] { parse_host_list(name); }).find("name or address"), std::string::npos) << name;
}

TEST(Hostfile, IsThatOfOpenMpi) {
  testing::TemporaryFolder folder;
  const auto machines =
      read_hostfile(folder.write("hosts", "# the lab\n a slots=4 max_slots=8\n\nb # one more\nc slots=1\n"));
  EXPECT_EQ(machines, (std::vector<Machine>{{"a", 4}, {"b", {}}, {"c", 1}}));
  const std::string bad = folder.write("bad", "a\nb sluts=4\n");
  EXPECT_EQ(error_of([&] { read_hostfile(bad); }),
            bad + ":2: expected slots=NUMBER after the machine, found 'sluts=4'");
  const std::string empty = folder.write("empty", "# nothing\n");
  EXPECT_EQ(error_of([&] { read_hostfile(empty); }), empty + ": expected a machine per line, found none");
  EXPECT_NE(error_of([] { read_hostfile("/nowhere"); }).find("no such file"), std::string::npos);
}

TEST(SlurmNodes, AreExpanded) {
  EXPECT_EQ(names_of(slurm_machines("n[1-3,07],login,gpu[08-11]-ib", "")),
            (std::vector<std::string>{"n1", "n2", "n3", "n07", "login", "gpu08-ib", "gpu09-ib", "gpu10-ib",
                                      "gpu11-ib"}));
  EXPECT_EQ(names_of(slurm_machines("r[1-2]n[0-1]", "")),
            (std::vector<std::string>{"r1n0", "r1n1", "r2n0", "r2n1"}));
  EXPECT_EQ(slurm_machines("n[1-4]", "2(x3),1"),
            (std::vector<Machine>{{"n1", 2}, {"n2", 2}, {"n3", 2}, {"n4", 1}}));
  for (const char* gpus : {"4", "h200:4", "a100:1,v100:3"})
    EXPECT_EQ(slurm_machines("n1", "", gpus).front().gpus, 4) << gpus;
  EXPECT_FALSE(slurm_machines("n1", "").front().gpus.has_value());
}

TEST(SlurmNodes, RefuseOtherTexts) {
  for (const char* nodes : {"", "n[1-", "n[3-1]", "n[a]", "n[]x,,m"})
    EXPECT_NE(error_of([&] { slurm_machines(nodes, ""); }).find("SLURM_JOB_NODELIST"), std::string::npos)
        << nodes;
  EXPECT_NE(error_of([] { slurm_machines("n[1-2]", "1"); }).find("2 nodes"), std::string::npos);
  EXPECT_NE(error_of([] { slurm_machines("n1", "2(x"); }).find("SLURM_TASKS_PER_NODE"), std::string::npos);
  EXPECT_NE(error_of([] { slurm_machines("n1", "", "x"); }).find("SLURM_GPUS_PER_NODE"), std::string::npos);
}

TEST(NameLists, AreReadAsTheyAreWritten) {
  for (const char* list : {"n[1-3],m", "n[07-12]-ib", "n[9-11]", "a:[0-7]", "n1,n3", "n[1-2],n[1-2]", "a,b"})
    EXPECT_EQ(list_of(names_in(list, "")), list);
  EXPECT_EQ(list_of({"n9", "n10", "n011"}), "n[9-10],n011");
  EXPECT_NE(error_of([] { names_in("n[0-999999]", "--map"); }).find("100000"), std::string::npos);
}

TEST(Mapping, NamesHostsMachinesAndGpus) {
  struct Case {
    std::vector<std::string> entries;
    std::vector<Mapped> hosts;
  };
  for (const auto& [entries, hosts] :
       std::vector<Case>{{{"node-1=10.0.0.7:3"}, {{"node-1", "10.0.0.7", 3}}},
                         {{"a=b", "c=b"}, {{"a", "b"}, {"c", "b"}}},
                         {{"n-[0-1],s=a"}, {{"n-0", "a"}, {"n-1", "a"}, {"s", "a"}}},
                         {{"n-[0-1]=gpu[09-10]"}, {{"n-0", "gpu09"}, {"n-1", "gpu10"}}},
                         {{"n-[0-3]=g[1-2]:[0-1]"},
                          {{"n-0", "g1", 0}, {"n-1", "g1", 1}, {"n-2", "g2", 0}, {"n-3", "g2", 1}}},
                         {{"auto", "s=a"}, {{"s", "a"}}}}) {
    const Mapping mapping = parse_mapping(entries);
    EXPECT_EQ(mapping.hosts, hosts) << entries.front();
    EXPECT_EQ(mapping.is_auto, entries.front() == "auto");
  }
  for (const char* entry : {"a", "=b", "a=", "a=b:", "a=b:x", "a=b:-1", "a=:1"})
    EXPECT_NE(error_of([&] { parse_mapping({entry}); }).find("HOST=MACHINE"), std::string::npos) << entry;
  EXPECT_EQ(error_of([] { parse_mapping({"n-[0-7]=g[1-3]"}); }),
            "--map n-[0-7]=g[1-3]: expected one machine for all, or one for each of the 8 hosts, found 3 "
            "machines");
  EXPECT_EQ(error_of([] {
              parse_mapping({"a=b", "a=c"});
            }),
            "--map a=c: expected each host once, found 'a' again");
  EXPECT_NE(error_of([] { parse_mapping({"a[=b"}); }).find("--map: expected up to"), std::string::npos);
}

const std::vector<PlacedRank> ranks = {{"worker", "w1"}, {"worker", "w2"}, {"server", "s"}};

TEST(Placement, IsByMappingThenAddressThenName) {
  PlacementRequest request{.machines = {{"a", {}}, {"b", {}}, {"s", {}}, {"w1", {}}},
                           .ranks = ranks,
                           .mapping = {{"w1", "a", {}}},
                           .addresses = {{"w2", "b"}, {"w1", "b"}}};
  EXPECT_EQ(place(request), (std::vector<std::string>{"a", "b", "s"}));
}

TEST(Placement, ASingleMachineTakesAllHosts) {
  EXPECT_EQ(place({.machines = {{"a", 3}}, .ranks = ranks}), (std::vector<std::string>{"a", "a", "a"}));
}

TEST(Placement, ErrorsShowTheTable) {
  const std::string none = error_of([] { place({.machines = {{"w1", {}}, {"s", 2}}, .ranks = ranks}); });
  EXPECT_TRUE(
      none.starts_with("host 'w2' of the platform is none of the machines: name it with --map w2=MACHINE"))
      << none;
  EXPECT_NE(none.find("   1  worker       w2                       none\n"), std::string::npos) << none;
  EXPECT_NE(none.find("machines: w1, s (2 slots)"), std::string::npos);
  const std::string full = error_of([] { place({.machines = {{"a", 2}}, .ranks = ranks}); });
  EXPECT_TRUE(full.starts_with("machine 'a': expected at most its 2 slots, found 3 ranks")) << full;
  EXPECT_EQ(error_of([] {
              place({.machines = {{"a", {}}, {"b", {}}}, .ranks = ranks, .mapping = {{"w1", "c", {}}}});
            }),
            "--map w1=c: expected one of the machines (a, b), found 'c'");
}

TEST(Staging, ReadsWhatLddPrints) {
  const std::string text =
      "\tlinux-vdso.so.1 (0x1)\n\tlibfmt.so.9 => not found\n\tlibz.so.1 => /lib/libz.so.1 (0x2)\n"
      "\tlibfmt.so.9 => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
  EXPECT_EQ(missing_libraries(text), std::vector<std::string>{"libfmt.so.9"});
  EXPECT_EQ(library_path(text, "libz.so.1"), "/lib/libz.so.1");
  EXPECT_EQ(library_path(text, "libfmt.so.9"), "");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::machines
