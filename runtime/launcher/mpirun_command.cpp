// The mpirun command: which flags, and why.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/launcher/rank_lines.hpp"
#include "runtime/launcher/single_copy.hpp"
#include "runtime/process/running_program.hpp"
#include "workloads/cost/eager_limit.hpp"

namespace tandem {
namespace {

using Words = std::vector<std::string>;

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

/// The transports of one machine. A CUDA-aware Open MPI has one more for the memory of GPUs (smcuda). Naming
/// a transport that is not installed ends the job, and the Open MPI of the ranks is not known here, so this
/// excludes the transports between machines instead.
Words transports_on_one_machine(bool device_memory) {
  return {"--mca", "btl", device_memory ? "^tcp,ofi,openib,portals4,uct,ugni,usnic" : "self,vader"};
}

/// Ranks and daemons use separate networks, so that only the messages of ranks are shaped.
void append_cluster(Words& words, const ClusterLaunch& cluster) {
  append(words, {"--mca", "plm", "rsh", "--mca", "plm_rsh_agent", "/bin/sh " + cluster.agent});
  append(words, {"--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "orte_keep_fqdn_hostnames", "1"});
  append(words, {"--mca", "oob_tcp_if_include", cluster.control_network});
  append(words, {"--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", cluster.data_network});
  append(words, {"--mca", "btl_tcp_eager_limit", std::to_string(tcp_eager_limit.count())});
}

/// The site's own configuration of Open MPI is not overridden.
bool site_sets(const std::string& parameter) {
  return std::getenv(("OMPI_MCA_" + parameter).c_str()) != nullptr;
}

/// Transports are those of the site, or what Open MPI finds. Ranks on other machines get no variables of this
/// one unless named.
void append_machines(Words& words, const LaunchSetting& setting) {
  if (!site_sets("btl_tcp_eager_limit"))
    append(words, {"--mca", "btl_tcp_eager_limit", std::to_string(tcp_eager_limit.count())});
  if (!setting.interface.empty())
    append(words, {"--mca", "btl_tcp_if_include", setting.interface, "--mca", "oob_tcp_if_include",
                   setting.interface});
  append(words, {"-x", launch_variable});
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr auto unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(unquoted) == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

Words launch_command(const LaunchSetting& setting) {
  TANDEM_CHECK(setting.ranks > 0 && !setting.program.empty(), "ranks", setting.ranks);
  TANDEM_CHECK(!setting.cluster || !setting.hosts.empty(), "a cluster needs the host of each rank");
  if (!setting.hosts.empty() && setting.hosts.size() != static_cast<std::size_t>(setting.ranks))
    throw ConfigError(fmt::format("hosts: expected one for each of {} ranks, found {}", setting.ranks,
                                  setting.hosts.size()));
  Words words;
  if (setting.cluster) words = {"/bin/sh", setting.cluster->enter, setting.cluster->head};
  append(words, {setting.mpirun, "-n", std::to_string(setting.ranks)});
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  // With two ranks or fewer mpirun would bind each to a core, starting at core 0 on each machine.
  append(words, {"--bind-to", "none", "--oversubscribe"});
  const bool is_one_machine = setting.hosts.empty();
  if (is_one_machine || setting.cluster) append(words, {"--mca", "pml", "ob1"});
  // If ranks share cores, Open MPI yields its core while it waits. If they do not, yielding would make each
  // wait as long as the time slice of another program.
  if (!is_one_machine || setting.ranks > usable_cores()) append(words, {"--mca", "mpi_yield_when_idle", "1"});
  if (is_one_machine) {
    // No process starts on another machine. Open MPI 4 is left with its launcher `isolated`, which Open MPI 5
    // does not have: naming it would print an error.
    append(words, {"--mca", "plm", "^rsh,ssh,slurm,tm,lsf,alps"});
    append(words, transports_on_one_machine(setting.device_memory));
    if (!single_copy_permitted()) append(words, {"--mca", "btl_vader_single_copy_mechanism", "none"});
  } else {
    append(words, {"--host", fmt::format("{}", fmt::join(setting.hosts, ",")), "--map-by", "seq"});
    if (setting.cluster)
      append_cluster(words, *setting.cluster);
    else
      append_machines(words, setting);
  }
  append(words, {"-x", "OMP_NUM_THREADS=1", "-x", "OPENBLAS_NUM_THREADS=1"});
  append(words, setting.program);
  return words;
}

std::string print_command(const LaunchSetting& setting) {
  Words words = launch_command(setting);
  for (auto& word : words) word = shell_word(word);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string sibling_program(const std::string& name) {
  const auto path = running_program().parent_path() / name;
  if (access(path.c_str(), X_OK) != 0)
    throw WorldError(fmt::format("{} does not exist; it is built when MPI is found", path.string()));
  return path.string();
}

}  // namespace tandem
