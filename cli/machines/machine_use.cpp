#include "cli/machines/machine_use.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "cli/machines/host_needs.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/cluster/system.hpp"
#include "runtime/machines/check.hpp"
#include "runtime/machines/local_watch.hpp"
#include "runtime/machines/name_lists.hpp"
#include "runtime/machines/stage.hpp"
#include "workloads/job/check/identity.hpp"
#include "workloads/job/plan/input_files.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

/// Checkpoints may be large.
constexpr Seconds transfer_limit{600.0};

/// A folder of a machine's own directory, for the checkpoint from which a job is resumed (ResultFiles).
constexpr const char* brought_folder = "resumed";

/// How the paths of models and states begin in a result directory; their files never change.
constexpr const char* checkpoint_files_begin = "checkpoints/round_";

std::vector<machines::Machine> machines_of(const MachineOptions& options, bool takes_allocation) {
  const int given =
      (options.hosts.empty() ? 0 : 1) + (options.hostfile.empty() ? 0 : 1) + (options.slurm ? 1 : 0);
  if (given > 1) throw ConfigError("expected one of --hosts, --hostfile and --slurm, found several");
  if (!options.hosts.empty()) return machines::parse_host_list(options.hosts);
  if (!options.hostfile.empty()) return machines::read_hostfile(options.hostfile);
  if (!options.slurm && !takes_allocation) return {};
  const auto allocation = machines::allocation_of_environment();
  if (options.slurm && !allocation)
    throw ConfigError(
        "--slurm: expected an allocation (SLURM_JOB_NODELIST), found none; use sbatch or salloc, or --hosts");
  if (!allocation || (allocation->size() == 1 && !options.slurm)) return {};
  return *allocation;
}

/// A file next to a result directory, as long as machines are asked whether they see it.
class Token {
 public:
  explicit Token(const std::string& out) {
    const fs::path folder = fs::absolute(out).lexically_normal().parent_path();
    fs::create_directories(folder);
    path_ = (folder / fmt::format(".tandem-check.{}", getpid())).string();
    if (!std::ofstream(path_)) throw WorldError(folder.string() + ": expected a folder that can be written");
  }
  ~Token() {
    std::error_code none;
    fs::remove(path_, none);
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The model and all states, and what ranks have recorded before, as paths in the result directory.
std::vector<std::string> checkpoint_files(const ResumePoint& point) {
  const auto name = fs::path(checkpoint_path("", point.round)).stem().string() + '.';
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(point.directory + "/checkpoints"))
    if (entry.path().filename().string().starts_with(name) || entry.path().extension() == ".records")
      paths.push_back("checkpoints/" + entry.path().filename().string());
  return paths;
}

nlohmann::json to_json(const machines::MachineState& state, int ranks) {
  return {{"machine", state.machine},
          {"host", state.host},
          {"ranks", ranks},
          {"cores", state.cores},
          {"load", state.load},
          {"gpus", state.gpus},
          {"clock_offset_s", state.clock_offset.count()},
          {"clock_uncertainty_s", state.clock_uncertainty.count()},
          {"shares_results", state.sees_results},
          {"software", state.software},
          {"build", state.build},
          {"problem", state.problem}};
}

}  // namespace

void add_machine_options(CLI::App& command, MachineOptions& options, bool mapped) {
  constexpr const char* group = "Several machines";
  command.add_option("--hosts", options.hosts, "Machines, with the ranks that each takes at most: a:4,b:2")
      ->group(group);
  command
      .add_option("--hostfile", options.hostfile,
                  "The same as a hostfile of Open MPI: a line \"a slots=4\" for each")
      ->group(group);
  command
      .add_flag("--slurm", options.slurm,
                "The nodes of this Slurm allocation; one of several nodes is also taken without this option")
      ->group(group);
  if (mapped)
    one_at_a_time(
        command.add_option(
            "--map", options.mapping,
            "These hosts of the platform are these machines, one for all or one each: server=a, "
            "node-[0-7]=b, "
            "node-[0-7]=gpu[01-08]; with GPUs gpu-[0-7]=b:[0-7]. auto: deal the hosts that have no machine "
            "over "
            "the machines by their slots (or cores) and GPUs, hosts behind one switch together where they "
            "fit "
            "[the property tandem:address, or the machine of the same name; a single machine takes all "
            "hosts]; may be repeated"))
        ->type_name("HOSTS=MACHINES[:GPUS]|auto")
        ->group(group);
  command
      .add_option("--interface", options.interface,
                  "Network between the machines, such as eth1 or 10.0.0.0/24")
      ->group(group);
  command
      .add_option("--stage", options.stage,
                  "Copy tandem-rank and the libraries that a machine lacks to this folder of each machine")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option(
          "--lost-after", options.lost_after_s,
          "Seconds after which a machine that does not answer is lost, and the job ends; 0: never, and "
          "checkpoints are gathered at the end only [4]")
      ->check(CLI::Range(0.0, 3600.0))
      ->type_name("SECONDS")
      ->group(group);
}

std::vector<std::string> words_of(const MachineOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--hosts", options.hosts);
  add("--hostfile", options.hostfile);
  if (options.slurm) words.emplace_back("--slurm");
  for (const auto& mapping : options.mapping) add("--map", mapping);
  add("--interface", options.interface);
  add("--stage", options.stage);
  if (!words.empty()) add("--lost-after", fmt::format("{:g}", options.lost_after_s));
  return words;
}

MachineUse::MachineUse(const MachineOptions& options, bool takes_allocation)
    : options_(options),
      machines_(machines_of(options, takes_allocation)),
      mapping_(machines::parse_mapping(options.mapping)),
      is_allocation_(options.hosts.empty() && options.hostfile.empty()) {
  if (is_used()) return;
  for (const auto& [given, name] : {std::pair(!options.mapping.empty(), "--map"),
                                    {!options.interface.empty(), "--interface"},
                                    {!options.stage.empty(), "--stage"}})
    if (given)
      throw ConfigError(fmt::format("{}: expected --hosts, --hostfile or a Slurm allocation too", name));
}

std::vector<machines::MachineOffer> MachineUse::ask_offers() {
  LaunchSetting asked{.ranks = 0, .program = {sibling_program("tandem-rank")}};
  used_.clear();
  for (const auto& machine : machines_) used_.push_back(machine.name);
  stage(asked);
  staged_ = asked.program.front();
  const auto states =
      machines::ask_machines({.machines = used_, .shell = shell(), .program = staged_, .token = staged_});
  std::vector<machines::MachineOffer> offers;
  std::string problems;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& state = states[i];
    if (!state.problem.empty())
      problems +=
          fmt::format("{}machine '{}': {}", problems.empty() ? "" : "\n  ", state.machine, state.problem);
    offers.push_back({state.machine, machines_[i].slots.value_or(state.cores),
                      std::min(state.gpus, machines_[i].gpus.value_or(state.gpus))});
  }
  if (!problems.empty()) throw ConfigError(problems);
  return offers;
}

void MachineUse::deal_hosts(const LoadedJob& loaded, int least) {
  const machines::PlacementRequest request{.machines = machines_,
                                           .ranks = {},
                                           .mapping = mapping_.hosts,
                                           .addresses = addresses_of(loaded.platform)};
  auto needs = host_needs(loaded.experiment, loaded.platform, least);
  apply_mapping(needs, mapping_.hosts);
  for (auto& need : needs) need.machine = machines::named_machine(need.host, request);
  add_groups(needs, loaded.experiment.platform);
  const auto dealt = machines::deal(needs, ask_offers());
  mapping_.hosts.insert(mapping_.hosts.end(), dealt.begin(), dealt.end());
  print_mapping(mapping_.hosts);
}

void MachineUse::note_shared_gpus(const LoadedJob& loaded) const {
  if (mapping_.hosts.empty()) return;
  std::map<std::pair<std::string, int>, std::vector<std::string>> hosts_of;
  for (const auto& need : host_needs(loaded.experiment, loaded.platform)) {
    const auto mapped = std::ranges::find(mapping_.hosts, need.host, &machines::Mapped::host);
    if (need.gpu && mapped != mapping_.hosts.end() && !mapped->gpu)
      hosts_of[{mapped->machine, *need.gpu}].push_back(need.host);
  }
  for (const auto& [gpu, hosts] : hosts_of)
    if (const std::string list = machines::list_of(hosts); hosts.size() > 1)
      print_note(fmt::format(
          "hosts {} share GPU {} of machine '{}'; --map '{}={}:[0-{}]' gives each a GPU of its own", list,
          gpu.second, gpu.first, list, gpu.first, hosts.size() - 1));
}

void MachineUse::map_hosts(LoadedJob& loaded, int least) {
  for (const auto& mapped : mapping_.hosts) loaded.platform.host(mapped.host);  // refuses an unknown one
  if (mapping_.is_auto) deal_hosts(loaded, least);
  std::map<std::string, int> gpu_of;
  for (const auto& mapped : mapping_.hosts)
    if (mapped.gpu) gpu_of[mapped.host] = *mapped.gpu;
  for (auto& host : loaded.platform.hosts)
    if (const auto gpu = gpu_of.find(host.name); gpu != gpu_of.end()) host.gpu = gpu->second;
  note_shared_gpus(loaded);
}

void MachineUse::put_ranks(LaunchSetting& setting, const Job& job, int ranks) {
  machines::PlacementRequest request{.machines = machines_,
                                     .ranks = {},
                                     .mapping = mapping_.hosts,
                                     .addresses = addresses_of(job.spec().platform)};
  for (const auto& assignment : job.roster().assignments())
    request.ranks.push_back({role_name(assignment.role), assignment.host});
  while (std::ssize(request.ranks) < ranks)
    request.ranks.push_back({"measuring rank", job.roster().assignments().back().host});
  setting.hosts = machines::place(request);
  setting.interface = options_.interface;
  files_ = input_files(job);
  used_.clear();
  ranks_.clear();
  for (const std::string& machine : setting.hosts) {
    const auto known = std::ranges::find(used_, machine);
    if (known != used_.end()) {
      ++ranks_[static_cast<std::size_t>(known - used_.begin())];
      continue;
    }
    used_.push_back(machine);
    ranks_.push_back(1);
  }
  if (checked_.empty()) return;
  states_.clear();
  for (const std::string& machine : used_) {
    const auto state = std::ranges::find(checked_, machine, &machines::MachineState::machine);
    TANDEM_CHECK(state != checked_.end(), machine);
    states_.push_back(*state);
  }
}

const std::vector<std::string>& MachineUse::put_on_each(LaunchSetting& setting, int ranks_each) {
  used_.clear();
  for (const auto& machine : machines_) used_.push_back(machine.name);
  ranks_.assign(used_.size(), ranks_each);
  setting.hosts.clear();
  for (int i = 0; i < ranks_each; ++i) setting.hosts.insert(setting.hosts.end(), used_.begin(), used_.end());
  setting.ranks = static_cast<int>(setting.hosts.size());
  setting.interface = options_.interface;
  return used_;
}

machines::RemoteShell MachineUse::shell() const {
  return is_allocation_ ? machines::slurm_shell() : machines::remote_shell();
}

void MachineUse::stage(LaunchSetting& setting) {
  if (options_.stage.empty()) return;
  if (!staged_.empty()) {
    setting.program.front() = staged_;
    return;
  }
  // The machine that starts the job asks its own copy, too.
  std::vector<std::string> all = used_;
  if (std::ranges::none_of(all, machines::is_this_machine)) all.emplace_back("localhost");
  const std::string program = setting.program.front();
  print_note(fmt::format("copying tandem-rank to {} on {} machines ...", options_.stage, all.size()));
  setting.program.front() =
      machines::stage_program({.machines = std::move(all),
                               .shell = shell(),
                               .program = program,
                               .build = digest_of_file(program),
                               .folder = fs::absolute(options_.stage).lexically_normal().string()});
}

void MachineUse::note_several_networks() const {
  if (!options_.interface.empty() || std::getenv("OMPI_MCA_btl_tcp_if_include") != nullptr) return;
  for (const auto& state : states_) {
    std::vector<std::string> networks;
    for (const auto& [name, addresses] : state.interfaces)
      if (name != "lo" && !addresses.empty()) networks.push_back(name);
    if (networks.size() < 2) continue;
    return print_note(fmt::format(
        "machine '{}' has several networks ({}), and messages may use all of them together; --interface "
        "chooses one, also where connecting hangs",
        state.machine, fmt::join(networks, ", ")));
  }
}

void MachineUse::check(const LaunchSetting& setting, const std::string& out) {
  const Token token(out);
  states_ = machines::check_machines({.machines = used_,
                                      .shell = shell(),
                                      .program = setting.program.front(),
                                      .token = token.path(),
                                      .interface = options_.interface,
                                      .files = files_,
                                      .is_allocation = is_allocation_});
  fmt::print("{}", machines::machines_table(states_, ranks_));
  std::fflush(stdout);
  note_several_networks();
  std::string problems;
  for (const auto& state : states_)
    if (!state.problem.empty())
      problems +=
          fmt::format("{}machine '{}': {}", problems.empty() ? "" : "\n  ", state.machine, state.problem);
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t i = 0; i < states_.size(); ++i) all.push_back(to_json(states_[i], ranks_[i]));
  nlohmann::json mapping = nlohmann::json::array();
  for (const auto& entry : machines::mapping_entries(mapping_.hosts))
    mapping.push_back(entry.hosts + "=" + entry.machines);
  print_document({{"machines", all}, {"mapping", mapping}});
  if (!problems.empty()) throw ConfigError(problems);
  checked_ = states_;
}

std::string MachineUse::prefix(const std::string& out) const {
  return fs::absolute(out).lexically_normal().string() + '.' + parts_ + '-';
}

bool MachineUse::writes_results(const machines::MachineState& state) const {
  return state.sees_results && states_.front().sees_results;
}

void MachineUse::share_document(LaunchSetting& setting, const std::string& out, const ResumePoint* from) {
  parts_ = fmt::format("part-{}-{:08x}", getpid(), std::random_device()());
  setting.program.insert(setting.program.end(), {"--parts", parts_});
  if (states_.front().sees_results) return;
  const std::string folder = prefix(out) + "document";
  machines::send_files(shell(), used_.front(), out, {"job.json"}, folder, transfer_limit);
  if (from != nullptr)
    machines::send_files(shell(), used_.front(), from->directory, checkpoint_files(*from), folder,
                         transfer_limit);
  setting.program[1] = folder + "/job.json";
  setting.program.emplace_back("--apart");
}

std::unique_ptr<machines::Guards> MachineUse::guard(LaunchSetting& setting, const std::string& out) const {
  setting.mark = new_launch_mark();
  if (!is_used() || options_.lost_after_s == 0.0) return nullptr;
  machines::GuardSetting guards{.machines = {},
                                .shell = shell(),
                                .program = setting.program.front(),
                                .mark = setting.mark,
                                .limit = Seconds(options_.lost_after_s)};
  for (const auto& state : states_)
    guards.machines.push_back({.machine = state.machine,
                               .sees_results = writes_results(state),
                               .address = machines::address_in(state, options_.interface)});
  if (!out.empty()) guards.arrivals = {.folders = prefix(out), .files = checkpoint_files_begin, .into = out};
  return std::make_unique<machines::Guards>(std::move(guards));
}

namespace {

/// "machine 'a'", "machines 'a', 'b'".
std::string text_of(const std::vector<std::string>& names) {
  return fmt::format("machine{} '{}'", names.size() == 1 ? "" : "s", fmt::join(names, "', '"));
}

/// The first rank on a machine that is lost. `hosts`: machine of each rank.
std::optional<RankFailure> failure_of(const machines::Guards& guards, const std::vector<std::string>& hosts) {
  const auto lost = guards.lost();
  if (!lost) return std::nullopt;
  const auto rank = std::ranges::find(hosts, lost->machine) - hosts.begin();
  if (!lost->unreached.empty())
    return RankFailure{
        static_cast<Rank>(rank), lost->machine,
        fmt::format("machine '{}' and {} do not reach each other over the network of the job any more "
                    "(--interface), although both answer here: a cable, a switch or an interface failed",
                    lost->machine, text_of(lost->unreached))};
  return RankFailure{
      static_cast<Rank>(rank), lost->machine,
      fmt::format("machine '{}' does not answer any more ({}): it, its network or its sshd failed; "
                  "--lost-after sets how long an answer may take",
                  lost->machine, lost->reason)};
}

void name_killed(LaunchResult& result, const machines::RankEnd& seen, const std::string& place) {
  const machines::RankEnd end = completed(seen, result.ended_by_signal);
  result.failed_rank = end.rank;
  result.rank_died = true;
  result.message = fmt::format("rank {}{}: {}", end.rank, place, describe(end));
}

/// Where the job has failed: names the rank or the machine that broke it.
void find_cause(LaunchResult& result, machines::Guards& guards, const std::vector<std::string>& hosts) {
  if (result.exit_code != exit_environment_error) return;
  // Open MPI may notice first that other ranks have lost the connection to a rank that was killed. Without
  // mpirun, or a machine, other ranks end because of that.
  std::optional<machines::RankEnd> killed;
  if (!result.mpirun_was_killed && !guards.lost()) killed = guards.killed_rank();
  if (killed && !guards.lost()) {
    const std::string& machine = hosts.at(static_cast<std::size_t>(killed->rank));
    return name_killed(result, *killed, fmt::format(" on machine '{}'", machine));
  }
  if (result.failed_rank >= 0) return;
  // If mpirun notices first that a machine is lost, it does not say which.
  for (int i = 0; i < 50 && !guards.lost(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (const auto failure = failure_of(guards, hosts)) {
    result.failed_rank = failure->rank;
    result.message = failure->message;
  }
}

/// Watches all ranks of a job on this machine.
machines::LocalWatch watch_locally(const LaunchSetting& setting) {
  std::vector<machines::RankWatch> watches;
  if (!setting.cluster)
    watches.emplace_back(setting.mark);
  else
    for (const auto& space : setting.cluster->namespaces)
      cluster::inside_namespace(space, [&] { watches.emplace_back(setting.mark); });
  return machines::LocalWatch(std::move(watches));
}

/// On this machine. mpirun reports how ranks end, but sometimes reports a killed rank last.
LaunchResult launch_locally(const LaunchSetting& setting, const LaunchEvents& events) {
  machines::LocalWatch watch = watch_locally(setting);
  LaunchResult result = launch(setting, events);
  if (result.exit_code != exit_environment_error || result.mpirun_was_killed) return result;
  if (const auto killed = watch.killed_rank()) {
    const auto& hosts = setting.hosts;
    const auto rank = static_cast<std::size_t>(killed->rank);
    name_killed(result, *killed,
                " on host " + (hosts.empty() ? machines::this_machine_name() : hosts.at(rank)));
  }
  return result;
}

}  // namespace

GuardedResult launch_guarded(LaunchSetting setting, LaunchEvents events,
                             std::unique_ptr<machines::Guards> guards) {
  // Without a mark, a watcher would notice the ranks of every launch without one.
  if (setting.mark.empty()) setting.mark = new_launch_mark();
  const bool is_here = setting.cluster || setting.hosts.empty();
  if (!guards) return {is_here ? launch_locally(setting, events) : launch(setting, events), {}, {}};
  events.failure = [&] { return failure_of(*guards, setting.hosts); };
  events.kill_rank = [&](Rank rank) {
    return guards->kill_rank(setting.hosts.at(static_cast<std::size_t>(rank)), rank);
  };
  GuardedResult result{launch(setting, events), {}, {}};
  find_cause(result, *guards, setting.hosts);
  if (const auto lost = guards->lost(); lost && lost->unreached.empty()) result.lost_machine = lost->machine;
  for (std::size_t rank = 0; !result.lost_machine.empty() && rank < setting.hosts.size(); ++rank)
    if (setting.hosts[rank] == result.lost_machine) result.lost_ranks.push_back(static_cast<Rank>(rank));
  return result;
}

std::vector<std::string> MachineUse::fetch_results(const std::string& out, const std::string& lost) {
  std::vector<std::string> problems;
  for (const auto& state : states_) {
    if (writes_results(state)) continue;
    if (state.machine == lost) {
      left_behind_.emplace_back(lost, prefix(out));
      problems.push_back(fmt::format(
          "machine '{}': its files are missing here, but for the checkpoints that arrived before it was lost",
          lost));
      continue;
    }
    try {
      machines::fetch_folders(shell(), state.machine, prefix(out), brought_folder, out, transfer_limit);
      std::erase_if(left_behind_, [&](const auto& left) {
        if (left.first != state.machine) return false;
        machines::remove_folders(shell(), left.first, left.second, transfer_limit);
        return true;
      });
    } catch (const WorldError& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

}  // namespace tandem::cli
