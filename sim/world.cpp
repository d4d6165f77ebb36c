// The shared state of a simulation: message pool, routes, the first error.
#include "sim/world.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <xbt/config.hpp>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "sim/rank_context.hpp"

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

ConfigError missing_route(const std::string& file, const RankContext& from, const RankContext& to) {
  return ConfigError(file + ": no route from host \"" + from.host().get_name() + "\" (rank " +
                     std::to_string(from.rank()) + ") to host \"" + to.host().get_name() + "\" (rank " +
                     std::to_string(to.rank()) + ")");
}

/// Latency of the route; nothing when there is none.
std::optional<double> route_latency_s(const RankContext& from, const RankContext& to) {
  std::vector<s4u::Link*> links;
  double latency_s = 0;
  try {
    from.host().route_to(&to.host(), links, &latency_s);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (links.empty() && latency_s <= 0) return std::nullopt;
  return latency_s;
}

}  // namespace

void Message::finish(bool succeeded) {
  sender->finish(send_slot, succeeded);
  if (receive_slot == no_slot && succeeded) {
    arrived = true;
    return;
  }
  if (receive_slot != no_slot) receiver->finish(receive_slot, succeeded);
  sender->recycle(*this);
}

World::World(const SimulationSetting& setting)
    : setting_(setting), precision_s_(simgrid::config::get_value<double>("surf/precision")) {
  for (std::size_t rank = 0; rank < setting.hosts.size(); ++rank)
    ranks_.push_back(std::make_unique<RankContext>(*this, static_cast<Rank>(rank), find_host(setting, rank)));
  check_isolated_hosts();
}

World::~World() = default;

Message& World::new_message() {
  Message& message = messages_.emplace_back();
  message.index = static_cast<std::uint32_t>(messages_.size() - 1);
  return message;
}

void World::check_route(const RankContext& from, const RankContext& to) const {
  const std::optional<double> latency_s = route_latency_s(from, to);
  if (!latency_s) throw missing_route(setting_.platform_file, from, to);
  if (!setting_.network.empty() && *latency_s <= 0)
    throw ConfigError(setting_.platform_file + ": the route from host \"" + from.host().get_name() +
                      "\" to host \"" + to.host().get_name() +
                      "\" must have a latency above 0 to carry a measured network");
}

void World::check_isolated_hosts() const {
  if (ranks_.size() < 2) return;
  int ends[2];
  if (pipe(ends) != 0) throw WorldError("cannot open a pipe to a child process");
  const pid_t child = fork();
  if (child == 0) {
    // Its crash is an answer, not news for the user.
    std::signal(SIGSEGV, SIG_DFL);
    close(STDERR_FILENO);
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      const bool told = write(ends[1], &i, sizeof(i)) == sizeof(i);
      if (!told) _exit(1);
      route_latency_s(*ranks_[0], *ranks_[i]);
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
  if (WIFSIGNALED(status)) throw missing_route(setting_.platform_file, *ranks_[0], *ranks_[last]);
}

void World::fail(std::exception_ptr error) {
  if (error_) return;
  error_ = std::move(error);
  s4u::Actor::kill_all();
}

void World::note_deadlock() {
  if (error_) return;
  constexpr int shown = 8;
  int stuck = 0;
  std::string text;
  for (const auto& rank : ranks_) {
    const std::string reason = rank->waiting_for();
    if (reason.empty() || ++stuck > shown) continue;
    text += "\n  " + reason;
  }
  if (stuck > shown) text += "\n  and " + std::to_string(stuck - shown) + " more";
  error_ = std::make_exception_ptr(
      WorldError("deadlock at " + std::to_string(s4u::Engine::get_clock()) + " s of simulated time:" + text));
}

void World::rethrow() const {
  if (error_) std::rethrow_exception(error_);
  for (const auto& rank : ranks_)
    if (!rank->ended())
      throw WorldError("rank " + std::to_string(rank->rank()) + " did not end: its host \"" +
                       rank->host().get_name() + "\" went down");
}

}  // namespace tandem::sim
