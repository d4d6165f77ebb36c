// Sets up flags, platform and measured network in the order that SimGrid needs.
#include "sim/engine.hpp"

#include <chrono>
#include <csignal>

#include "policies/vocabulary/check.hpp"
#include "sim/physics.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

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

void load_platform(const s4u::Engine& engine, const std::string& file, Network& network) {
  try {
    engine.load_platform(file);
    network.extend_platform();
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

}  // namespace

s4u::Engine& start_engine(const SimulationSetting& setting, const std::map<std::string, std::string>& own,
                          Network& network, const std::function<void()>& before_loading) {
  TANDEM_CHECK(setting.price && setting.body, "a simulation needs prices and a body");
  if (setting.hosts.empty())
    throw ConfigError(setting.platform_file + ": a simulation needs at least one rank");
  if (s4u::Engine::has_instance())
    throw WorldError("a process can simulate only once, and this one did already");
  const KeptInterruptHandler interrupt;
  std::string name = "tandem";
  std::string quiet = "--log=root.thres:critical";
  std::string option = contexts;
  char* arguments[] = {name.data(), quiet.data(), option.data(), nullptr};
  int count = 3;
  // Kept until the process ends: SimGrid cannot start a second engine, and flags outlive the first.
  auto* const engine = new s4u::Engine(&count, arguments);
  interrupt.restore();
  set_physics(own, setting.hosts.size());
  if (before_loading) before_loading();
  load_platform(*engine, setting.platform_file, network);
  network.install();
  if (setting.progress) report_progress(setting.progress);
  return *engine;
}

}  // namespace tandem::sim
