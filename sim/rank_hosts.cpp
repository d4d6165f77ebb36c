// Looks hosts and routes up in the loaded platform.
#include "sim/rank_hosts.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <simgrid/s4u.hpp>

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

void check_isolated_hosts(const std::string& platform_file, const std::vector<RankHost>& places) {
  if (places.size() < 2) return;
  int ends[2];
  if (pipe(ends) != 0) throw WorldError("cannot open a pipe to a child process");
  const pid_t child = fork();
  if (child == 0) {
    // Its crash is an answer, not news for the user.
    std::signal(SIGSEGV, SIG_DFL);
    close(STDERR_FILENO);
    for (std::size_t i = 1; i < places.size(); ++i) {
      const bool told = write(ends[1], &i, sizeof(i)) == sizeof(i);
      if (!told) _exit(1);
      route_latency_s(places[0], places[i]);
    }
    _exit(0);
  }
  close(ends[1]);
  std::size_t last = 0;
  while (read(ends[0], &last, sizeof(last)) == sizeof(last)) {
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) throw missing_route(platform_file, places[0], places[last]);
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
