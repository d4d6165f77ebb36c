#include "sim/simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <set>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include "policies/vocabulary/check.hpp"
#include "sim/physics.hpp"
#include "sim/sim_context.hpp"

namespace tandem::sim {
namespace {

namespace sg = simgrid::s4u;

/// Makes a message cost what its segment says on links of latency and bandwidth that stand for all sizes.
void use_calibrated_network(const std::vector<Profile::NetworkSegment>& segments, sg::Engine& engine) {
  const auto segment_of = [segments](double size) {
    const Profile::NetworkSegment* found = &segments.front();
    for (const auto& segment : segments)
      if (static_cast<double>(segment.from_bytes) <= size) found = &segment;
    return *found;
  };
  auto* model = engine.get_netzone_root()->get_network_model();
  using Links = std::vector<sg::Link*>;
  using Zones = std::unordered_set<sg::NetZone*>;
  model->set_lat_factor_cb(
      [segment_of](double size, const sg::Host*, const sg::Host*, const Links& links, const Zones&) {
        double latency = 0.0;
        for (const auto* link : links) latency += link->get_latency();
        return latency > 0.0 ? segment_of(size).alpha_s / latency : 1.0;
      });
  model->set_bw_factor_cb(
      [segment_of](double size, const sg::Host*, const sg::Host*, const Links& links, const Zones&) {
        double bandwidth = std::numeric_limits<double>::infinity();
        for (const auto* link : links) bandwidth = std::min(bandwidth, link->get_bandwidth());
        return 1.0 / (segment_of(size).beta_s * bandwidth);
      });
}

std::vector<sg::Host*> find_hosts(const SimulationSetting& setting, const sg::Engine& engine) {
  std::vector<sg::Host*> hosts;
  for (const auto& name : setting.hosts) {
    sg::Host* host = engine.host_by_name_or_null(name);
    if (host == nullptr)
      throw ConfigError("host '" + name + "' is not in the platform " + setting.platform_file);
    hosts.push_back(host);
  }
  return hosts;
}

}  // namespace

SimulationResult simulate(const SimulationSetting& setting) {
  const auto owned_engine = make_engine(setting.platform_config);
  sg::Engine& engine = *owned_engine;
  engine.load_platform(setting.platform_file);
  if (!setting.network.empty()) use_calibrated_network(setting.network, engine);

  World world;
  world.setting = &setting;
  const auto hosts = find_hosts(setting, engine);
  std::vector<std::unique_ptr<SimContext>> contexts;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    contexts.push_back(std::make_unique<SimContext>(world, static_cast<Rank>(rank), hosts[rank]));
    world.contexts.push_back(contexts.back().get());
  }
  std::exception_ptr failure;
  std::set<Rank> running;
  Seconds makespan;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    running.insert(static_cast<Rank>(rank));
    const auto actor = sg::Actor::create(fmt::format("rank {}", rank), hosts[rank], [&, rank] {
      SimContext& context = *contexts[rank];
      try {
        setting.body(context);
      } catch (const std::exception&) {
        // The first failure ends the simulation; the actor interface has no other way to hand it out.
        if (!failure) failure = std::current_exception();
        sg::Actor::kill_all();
        return;
      }
      context.close();
      makespan = std::max(makespan, context.now());
      running.erase(static_cast<Rank>(rank));
    });
    contexts[rank]->attach(actor);
  }
  std::vector<std::string> stuck;
  sg::Engine::on_deadlock_cb([&] {
    for (const Rank rank : running)
      stuck.push_back(fmt::format("rank {} on {} waits for {}", rank,
                                  setting.hosts[static_cast<std::size_t>(rank)],
                                  contexts[static_cast<std::size_t>(rank)]->waits_for()));
  });
  engine.run();
  if (failure) std::rethrow_exception(failure);
  if (!stuck.empty())
    throw WorldError(fmt::format("the simulated job is stuck:\n  {}", fmt::join(stuck, "\n  ")));
  return {makespan, effective_physics(setting)};
}

}  // namespace tandem::sim
