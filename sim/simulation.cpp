// One simulation from platform file to makespan: engine, actors, errors.
#include "sim/simulation.hpp"

#include <chrono>
#include <csignal>
#include <simgrid/Exception.hpp>

#include "policies/vocabulary/check.hpp"
#include "sim/physics.hpp"
#include "sim/rank_context.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

/// Reports the end of what the kernel started; SimGrid fires it for these activities alone.
void report_ends() {
  s4u::Activity::on_completion_cb([](const s4u::Activity& activity) {
    if (auto* const finishable = activity.get_data<Finishable>())
      finishable->finish(activity.get_state() == s4u::Activity::State::FINISHED);
  });
}

void report_progress(const std::function<void(Seconds)>& progress) {
  using Clock = std::chrono::steady_clock;
  s4u::Engine::on_time_advance_cb([progress, advances = 0U, last = Clock::now()](double) mutable {
    constexpr unsigned advances_between_looks = 1024;
    if (++advances % advances_between_looks != 0) return;
    const auto now = Clock::now();
    if (now - last < std::chrono::milliseconds(200)) return;
    last = now;
    progress(Seconds(s4u::Engine::get_clock()));
  });
}

void load_platform(const s4u::Engine& engine, const std::string& file) {
  try {
    engine.load_platform(file);
    engine.seal_platform();
  } catch (const std::exception& error) {
    throw ConfigError(file + ": " + error.what());
  }
}

/// AddressSanitizer follows threads, but not the stacks that SimGrid switches by default.
#if defined(__SANITIZE_ADDRESS__)
constexpr const char* contexts = "--cfg=contexts/factory:thread";
#else
constexpr const char* contexts = "--cfg=contexts/factory:raw";
#endif

/// The handler of Ctrl-C that was there before SimGrid installed its own.
class KeptInterruptHandler {
 public:
  KeptInterruptHandler() { sigaction(SIGINT, nullptr, &before_); }
  void restore() const { sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

void run_body(World& world, RankContext& context) {
  // The error leaves its handler before the actors switch: they share one stack of caught exceptions.
  std::exception_ptr error;
  try {
    world.setting().body(context);
    context.end();
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  if (error) world.fail(error);
}

}  // namespace

SimulationResult simulate(const SimulationSetting& setting) {
  TANDEM_CHECK(setting.price && setting.body, "a simulation needs prices and a body");
  if (setting.hosts.empty())
    throw ConfigError(setting.platform_file + ": a simulation needs at least one rank");
  if (s4u::Engine::has_instance())
    throw WorldError("a process can simulate only once, and this one did already");
  const auto own_config = platform_config(setting.platform_file);

  const KeptInterruptHandler interrupt;
  std::string name = "tandem";
  std::string quiet = "--log=root.thres:critical";
  std::string option = contexts;
  char* arguments[] = {name.data(), quiet.data(), option.data(), nullptr};
  int count = 3;
  // Kept until the process ends: SimGrid cannot start a second engine, and flags outlive the first.
  auto* const engine = new s4u::Engine(&count, arguments);
  interrupt.restore();
  set_physics(own_config);
  load_platform(*engine, setting.platform_file);
  set_measured_network(setting.network);

  World world(setting);
  report_ends();
  if (setting.progress) report_progress(setting.progress);
  s4u::Engine::on_deadlock_cb([&world] { world.note_deadlock(); });
  for (const auto& context : world.ranks())
    s4u::Actor::create("rank " + std::to_string(context->rank()), &context->host(),
                       [&world, &context = *context] { run_body(world, context); });
  engine->run();
  world.rethrow();

  Seconds makespan(0);
  for (const auto& context : world.ranks()) makespan = std::max(makespan, context->end_time());
  return {makespan, report_physics(own_config, setting.network, setting.eager_limit)};
}

}  // namespace tandem::sim
