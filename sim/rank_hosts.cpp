// Looks hosts and routes up in the loaded platform.
#include "sim/rank_hosts.hpp"

#include <csignal>
#include <cstring>
#include <simgrid/s4u.hpp>

#include "platforms/child_process.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

s4u::Host& find_host(const SimulationSetting& setting, std::size_t rank) {
  const std::string& name = setting.hosts[rank];
  if (s4u::Host* const host = s4u::Host::by_name_or_null(name)) return *host;
  std::vector<std::string> known;
  for (const s4u::Host* host : s4u::Engine::get_instance()->get_all_hosts())
    known.push_back(host->get_name());
  const std::string nearest = nearest_name(name, known);
  throw ConfigError(setting.platform_file + ": rank " + std::to_string(rank) + " is placed on host \"" +
                    name + "\", which the platform does not have" +
                    (nearest.empty() ? std::string() : "; did you mean \"" + nearest + "\"?"));
}

/// SimGrid 3.32 crashes on a host that no route of its Dijkstra zone mentions; a child process finds such a
/// host. The log of the kernel then has its segmentation fault, by the name of this program.
void check_isolated_hosts(const std::string& platform_file, const std::vector<RankHost>& hosts) {
  if (hosts.size() < 2) return;
  const auto result = platforms::run_in_child([&](const platforms::Emit& emit) {
    std::signal(SIGSEGV, SIG_DFL);
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      emit({reinterpret_cast<const char*>(&i), sizeof(i)});
      route_latency_s(hosts[0], hosts[i]);
    }
  });
  if (result.signal == 0) return;
  if (const std::string limit = platforms::over_time_limit(result); !limit.empty())
    throw WorldError(platform_file + ": routes between the ranks' hosts: " + limit);
  std::size_t last = 0;
  if (result.output.size() >= sizeof(last))
    std::memcpy(&last, result.output.data() + result.output.size() - sizeof(last), sizeof(last));
  throw missing_route(platform_file, hosts[0], hosts[last]);
}

}  // namespace

std::vector<RankHost> find_rank_hosts(const SimulationSetting& setting) {
  std::vector<RankHost> places;
  for (std::size_t rank = 0; rank < setting.hosts.size(); ++rank)
    places.push_back({static_cast<Rank>(rank), &find_host(setting, rank)});
  check_isolated_hosts(setting.platform_file, places);
  return places;
}

std::optional<double> route_latency_s(const RankHost& from, const RankHost& to) {
  std::vector<s4u::Link*> links;
  double latency_s = 0;
  try {
    from.host->route_to(to.host, links, &latency_s);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (links.empty() && latency_s <= 0) return std::nullopt;
  return latency_s;
}

ConfigError missing_route(const std::string& platform_file, const RankHost& from, const RankHost& to) {
  return ConfigError(platform_file + ": no route from host \"" + from.host->get_name() + "\" (rank " +
                     std::to_string(from.rank) + ") to host \"" + to.host->get_name() + "\" (rank " +
                     std::to_string(to.rank) + ")");
}

}  // namespace tandem::sim
