#include "runtime/machines/check.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/conversation.hpp"

namespace tandem::machines {
namespace {

double now_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The machine's clock minus ours, from the shortest of several exchanges.
bool compare_clocks(Conversation& machine, MachineState& state) {
  constexpr int exchanges = 10;
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < exchanges; ++i) {
    const double before = now_of_day();
    const auto answer = machine.ask("clock");
    const double after = now_of_day();
    if (!answer) return false;
    if (after - before >= shortest) continue;
    shortest = after - before;
    state.clock_offset = Seconds(std::strtod(answer->c_str(), nullptr) - (before + after) / 2);
    state.clock_uncertainty = Seconds(shortest / 2);
  }
  return true;
}

/// Asks for the files. False: no answer.
bool ask_files(Conversation& machine, const CheckSetting& setting, MachineState& state) {
  if (setting.files.empty()) return true;
  const auto answer = machine.ask("files " + nlohmann::json(setting.files).dump());
  if (!answer) return false;
  for (const auto& file : nlohmann::json::parse(*answer)) {
    auto& content = state.files.emplace_back();
    if (!file.is_null()) content = FileContent{file.at("bytes"), file.at("digest")};
  }
  return state.files.size() == setting.files.size();
}

/// A slow disk needs as long.
Seconds time_to_read(const std::vector<std::string>& files) {
  constexpr double least_rate = 50e6;  // bytes per second
  double bytes = 0;
  std::error_code none;
  for (const auto& file : files)
    if (const auto size = std::filesystem::file_size(file, none); !none) bytes += static_cast<double>(size);
  return Seconds(bytes / least_rate);
}

MachineState ask_machine(const std::string& name, const CheckSetting& setting, bool here) {
  MachineState state{.machine = name};
  const auto words = words_on(setting.shell, here ? "localhost" : name, {setting.program, "--describe"});
  try {
    Conversation machine(words, setting.limit + time_to_read(setting.files));
    std::optional<std::string> answer;
    if (compare_clocks(machine, state)) answer = machine.ask("describe " + setting.token);
    if (!answer) {
      state.problem = here
                          ? "tandem-rank does not run: " + machine.reason()
                          : fmt::format("does not answer to `{} {} {} --describe`: {}",
                                        setting.shell.words.front(), name, setting.program, machine.reason());
      return state;
    }
    const auto described = nlohmann::json::parse(*answer);
    state.host = described.at("host");
    state.software = described.at("software");
    state.build = described.at("build");
    state.cores = described.at("cores");
    state.load = described.at("load");
    state.gpus = described.at("gpus");
    state.interfaces = described.at("interfaces");
    state.sees_results = described.at("sees_token");
    state.may_write = described.at("may_write");
    if (!ask_files(machine, setting, state)) state.problem = "does not list its files: " + machine.reason();
  } catch (const nlohmann::json::exception&) {
    state.problem =
        "another version of tandem-rank, or a login script that prints: expected one line of JSON";
  } catch (const WorldError& error) {
    state.problem = error.what();
  }
  return state;
}

/// Whether "10.0.0.7" is in "10.0.0.0/24".
bool is_in_network(const std::string& address, const std::string& network) {
  const auto slash = network.find('/');
  in_addr own{}, base{};
  const int bits = std::atoi(network.substr(slash + 1).c_str());
  if (inet_pton(AF_INET, address.c_str(), &own) != 1 || bits < 0 || bits > 32 ||
      inet_pton(AF_INET, network.substr(0, slash).c_str(), &base) != 1)
    return false;
  const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  return ((ntohl(own.s_addr) ^ ntohl(base.s_addr)) & mask) == 0;
}

/// Whether the machine has an interface of this name, or with an address of this network. Machines do not
/// tell addresses of IPv6.
bool has_interface(const MachineState& state, const std::string& wanted) {
  if (wanted.find(':') != std::string::npos) return true;
  if (wanted.find('/') == std::string::npos) return state.interfaces.contains(wanted);
  return std::ranges::any_of(state.interfaces, [&](const auto& one) {
    return std::ranges::any_of(one.second,
                               [&](const std::string& address) { return is_in_network(address, wanted); });
  });
}

/// Empty: messages find a way.
std::string interface_problem(const MachineState& state, const CheckSetting& setting) {
  std::istringstream list(setting.interface);
  for (std::string wanted; std::getline(list, wanted, ',');) {
    if (has_interface(state, wanted)) continue;
    std::vector<std::string> known;
    for (const auto& [name, addresses] : state.interfaces)
      known.push_back(addresses.empty() ? name : fmt::format("{} ({})", name, fmt::join(addresses, ", ")));
    return fmt::format("has no interface {}, but {}; choose one that all machines have with --interface",
                       wanted, fmt::join(known, ", "));
  }
  return {};
}

/// Empty: it has the same files as this machine.
std::string file_problem(const MachineState& state, const MachineState& here, const CheckSetting& setting) {
  for (std::size_t i = 0; i < setting.files.size(); ++i) {
    if (state.files[i] == here.files[i]) continue;
    if (!state.files[i])
      return fmt::format("has no file {}: copy it there, or keep it on a shared file system",
                         setting.files[i]);
    if (!here.files[i]) continue;
    return fmt::format(
        "its {} is another file ({} bytes, digest {}) than here ({} bytes, digest {}): copy "
        "it there, or keep it on a shared file system",
        setting.files[i], state.files[i]->bytes, state.files[i]->digest, here.files[i]->bytes,
        here.files[i]->digest);
  }
  return {};
}

/// `here`: this machine, which has no problem.
void judge(MachineState& state, const MachineState& here, const CheckSetting& setting) {
  if (!state.problem.empty()) return;
  const std::string folder = setting.token.substr(0, setting.token.rfind('/'));
  if (state.software != here.software || state.build != here.build)
    state.problem = fmt::format("another build: {} ({}) instead of {} ({}); install the same one at {}",
                                state.software, state.build, here.software, here.build, setting.program);
  else if (!state.may_write)
    state.problem = fmt::format("may not write to {}: choose another result directory with --out", folder);
  else if (auto no_interface = interface_problem(state, setting); !no_interface.empty())
    state.problem = std::move(no_interface);
  else
    state.problem = file_problem(state, here, setting);
}

/// A machine that is listed under two names would get the ranks of two. Equal names of hosts alone are no
/// sign, because machines may have a default name.
void judge_names(std::vector<MachineState>& states) {
  for (std::size_t later = 1; later < states.size(); ++later) {
    MachineState& state = states[later];
    const auto first = std::find_if(
        states.begin(), states.begin() + static_cast<std::ptrdiff_t>(later), [&](const MachineState& other) {
          return !state.host.empty() && other.host == state.host && other.interfaces == state.interfaces;
        });
    if (state.problem.empty() && &*first != &state)
      state.problem = fmt::format("is the same machine as '{}' (host {}): list it once, with all its ranks",
                                  first->machine, state.host);
  }
}

}  // namespace

std::vector<MachineState> ask_machines(const CheckSetting& setting) {
  std::vector<std::future<MachineState>> answers;
  for (const std::string& name : setting.machines)
    answers.push_back(std::async(
        std::launch::async, [&setting, name] { return ask_machine(name, setting, is_this_machine(name)); }));
  std::vector<MachineState> states;
  for (auto& answer : answers) states.push_back(answer.get());
  return states;
}

std::vector<MachineState> check_machines(const CheckSetting& setting) {
  auto local = std::async(std::launch::async, [&] { return ask_machine("this machine", setting, true); });
  std::vector<MachineState> states = ask_machines(setting);
  const MachineState here = local.get();
  if (!here.problem.empty()) throw WorldError(here.problem);
  for (MachineState& state : states) judge(state, here, setting);
  if (!setting.is_allocation) judge_names(states);
  return states;
}

std::string address_in(const MachineState& state, const std::string& interface) {
  std::istringstream list(interface);
  for (std::string wanted; std::getline(list, wanted, ',');) {
    const bool is_network = wanted.find('/') != std::string::npos;
    for (const auto& [name, addresses] : state.interfaces)
      for (const auto& address : addresses)
        if (is_network ? is_in_network(address, wanted) : name == wanted) return address;
  }
  return {};
}

std::string machines_table(const std::vector<MachineState>& states, const std::vector<int>& ranks) {
  std::size_t width = 7;
  for (const MachineState& state : states) width = std::max(width, state.machine.size());
  std::string table = fmt::format("{:<{}}  {:<12} {:>5} {:>5} {:>5} {:>4}  {:>20}  {}\n", "machine", width,
                                  "host", "ranks", "cores", "load", "GPUs", "clock offset", "state");
  for (std::size_t i = 0; i < states.size(); ++i) {
    const MachineState& state = states[i];
    const std::string clock = state.host.empty()
                                  ? "-"
                                  : fmt::format("{:+.3f} +- {:.3f} ms", 1e3 * state.clock_offset.count(),
                                                1e3 * state.clock_uncertainty.count());
    table += fmt::format(
        "{:<{}}  {:<12} {:>5} {:>5} {:>5.1f} {:>4}  {:>20}  {}\n", state.machine, width,
        state.host.empty() ? "-" : state.host, ranks[i], state.cores, state.load, state.gpus, clock,
        state.problem.empty() ? (state.sees_results ? "ready" : "ready, results are gathered")
                              : state.problem);
  }
  return table;
}

}  // namespace tandem::machines
