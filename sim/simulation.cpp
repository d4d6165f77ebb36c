// One simulation from platform file to makespan: actors and errors.
#include "sim/simulation.hpp"

#include <simgrid/Exception.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <utility>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/crash_report.hpp"
#include "sim/engine.hpp"
#include "sim/physics.hpp"
#include "sim/rank_context.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

/// Reports the end of activities that the kernel started; SimGrid fires it for these alone.
void report_ends() {
  simgrid_version::on_activity_ended([](const s4u::Activity& activity) {
    if (auto* const finishable = activity.get_data<Finishable>())
      finishable->finish(activity.get_state() == s4u::Activity::State::FINISHED);
  });
}

/// Events that SimGrid takes for simultaneous with it come before.
void end_at(World& world, Seconds until) {
  simgrid::kernel::timer::Timer::set(until.count() + 2 * world.precision_s(), [&world] { world.cut(); });
}

void run_body(World& world, RankContext& context) {
  // The error leaves its handler before the actors switch: they share one stack of caught exceptions.
  std::exception_ptr error;
  try {
    if (const auto& start_offsets = world.setting().start_offsets; !start_offsets.empty()) {
      Pending start = context.sleep(start_offsets.at(static_cast<std::size_t>(context.rank())));
      context.wait(start);
    }
    world.setting().body(context);
    context.end();
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  if (error) world.fail(error);
}

}  // namespace

SimulationResult simulate(const SimulationSetting& setting) {
  const auto own_config = platform_config(setting.platform_file);
  Network network(setting);
  s4u::Engine& engine = start_engine(setting, own_config, network);
  World world(setting, network);
  report_crashes();
  report_ends();
  simgrid_version::on_host_switched([&world](const s4u::Host& host) { world.host_changed(host); });
  simgrid_version::on_link_switched([&world](const s4u::Link& link) { world.link_changed(link); });
  s4u::Engine::on_deadlock_cb([&world] { world.note_deadlock(); });
  for (const auto& context : world.ranks())
    simgrid_version::add_actor("rank " + std::to_string(context->rank()), context->host(),
                               [&world, &context = *context] { run_body(world, context); });
  if (setting.until) end_at(world, *setting.until);
  engine.run();
  world.rethrow();

  Seconds makespan(0);
  Seconds overlap(0);
  std::vector<Seconds> ends;
  for (const auto& context : world.ranks()) {
    ends.push_back(context->end_time());
    makespan = std::max(makespan, ends.back());
    overlap = std::max(overlap, context->simulated_device().overlap());
  }
  if (world.is_cut()) makespan = *setting.until;
  return {makespan,
          report_physics(own_config, setting.network, setting.eager_limit, world.network().sharing()),
          world.network().warnings(),
          world.is_cut(),
          overlap,
          std::move(ends)};
}

}  // namespace tandem::sim
