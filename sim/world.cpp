// The shared state of a simulation: message pool, routes, the first error.
#include "sim/world.hpp"

#include <algorithm>
#include <optional>
#include <xbt/config.hpp>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/rank_context.hpp"
#include "sim/rank_hosts.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

/// SimGrid's model of the hosts' processors. Errors: ConfigError when work cannot be slowed down in it.
simgrid::kernel::resource::Model& find_cpu_model(const SimulationSetting& setting) {
  for (auto* const model : s4u::Engine::get_instance()->get_all_models())
    if (model->get_name() == "Cpu_Cas01") return *model;
  throw ConfigError(
      setting.platform_file +
      ": <config> chooses a processor model other than Cas01, on which work can neither be slowed "
      "down by messages as calibrated nor be stopped");
}

}  // namespace

World::World(const SimulationSetting& setting, Network& network)
    : setting_(setting),
      network_(network),
      precision_s_(simgrid::config::get_value<double>(simgrid_version::precision_flag)),
      cpu_model_(setting.slowdown || setting.stops_work ? &find_cpu_model(setting) : nullptr) {
  const auto places = find_rank_hosts(setting);
  for (std::size_t rank = 0; rank < setting.hosts.size(); ++rank)
    ranks_.push_back(std::make_unique<RankContext>(*this, static_cast<Rank>(rank), *places[rank].host));
}

World::~World() = default;

void World::host_changed(const s4u::Host& host) {
  if (host.is_on()) return;
  std::string lost;
  for (const auto& rank : ranks_)
    if (&rank->host() == &host && !rank->ended())
      lost += (lost.empty() ? "rank " : ", rank ") + std::to_string(rank->rank());
  if (lost.empty()) return;
  fail(std::make_exception_ptr(WorldError(setting_.platform_file + ": host \"" + host.get_name() + "\" of " +
                                          lost + " went down at " + std::to_string(s4u::Engine::get_clock()) +
                                          " s of simulated time")));
}

void World::link_changed(const s4u::Link& link) {
  if (link.is_on()) return;
  last_down_ = "link \"" + link.get_name() + "\" went down at " + std::to_string(s4u::Engine::get_clock()) +
               " s of simulated time";
}

std::string World::last_down() const {
  if (!last_down_.empty()) return last_down_;
  for (const auto* link : s4u::Engine::get_instance()->get_all_links())
    if (!link->is_on()) return "link \"" + link->get_name() + "\" is down from the start";
  return "a host, link or disk went down";
}

Message& World::new_message() {
  Message& message = messages_.emplace_back();
  message.index = static_cast<std::uint32_t>(messages_.size() - 1);
  return message;
}

void World::check_route(const RankContext& from, const RankContext& to) const {
  const RankHost sender{from.rank(), &from.host()};
  const RankHost receiver{to.rank(), &to.host()};
  const std::optional<double> latency_s = route_latency_s(sender, receiver);
  if (!latency_s) throw missing_route(setting_.platform_file, sender, receiver);
  if (!setting_.network.empty() && *latency_s <= 0)
    throw ConfigError(setting_.platform_file + ": the route from host \"" + from.host().get_name() +
                      "\" to host \"" + to.host().get_name() +
                      "\" must have a latency above 0 to carry a measured network");
}

void World::fail(std::exception_ptr error) {
  if (error_) return;
  error_ = std::move(error);
  end_ranks();
}

void World::cut() {
  const bool have_ended = std::ranges::all_of(ranks_, [](const auto& rank) { return rank->ended(); });
  if (error_ || have_ended) return;
  is_cut_ = true;
  end_ranks();
}

void World::end_ranks() {
  for (const auto& rank : ranks_) rank->killed();
  s4u::Actor::kill_all();
}

void World::note_deadlock() {
  if (error_ || is_cut_) return;
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
  if (is_cut_) return;
  for (const auto& rank : ranks_) TANDEM_CHECK(rank->ended(), "rank", rank->rank(), "did not end");
}

}  // namespace tandem::sim
