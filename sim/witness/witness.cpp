// Runs the bodies as MPI processes of SMPI within this process: one actor per rank. The program is not copied
// per rank, because Tandem has no global variables that ranks write.
#include "sim/witness/witness.hpp"

#include <smpi/smpi.h>

#include <algorithm>
#include <simgrid/s4u.hpp>
#include <unordered_map>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "sim/engine.hpp"
#include "sim/physics.hpp"
#include "sim/rank_hosts.hpp"
#include "sim/witness/simulated_time.hpp"
#include "workloads/cost/eager_limit.hpp"

namespace tandem::witness {

namespace s4u = simgrid::s4u;

namespace {

constexpr const char* instance = "tandem";

/// Effect of MPI itself on times: calls take no time; only emulated work and the network do.
std::map<std::string, std::string> smpi_flags(Bytes eager_limit) {
  // SMPI's thresholds are the smallest sizes that wait.
  const auto threshold = std::to_string(eager_limit.count() + 1);
  return {{"smpi/simulate-computation", "no"},
          {"smpi/host-speed", "1f"},  // unused then, but SMPI complains without
          {"smpi/test", "0"},
          {"smpi/wtime", "0"},
          {"smpi/send-is-detached-thresh", threshold},
          {"smpi/async-small-thresh", threshold},
          {simgrid_version::precision_flag, "1e-9"}};
}

/// The state that the ranks of one simulation share.
struct Shared {
  explicit Shared(const sim::SimulationSetting& what) : setting(what) {}

  const sim::SimulationSetting& setting;
  Waker waker;
  std::unordered_map<const s4u::Disk*, DiskQueue> disks;
  Seconds makespan;
  std::exception_ptr error;
  std::size_t ended = 0;

  void fail(std::exception_ptr first) {
    if (error) return;
    error = std::move(first);
    s4u::Actor::kill_all();
  }
};

/// Ranks of one host share its disks.
MpiSetting emulated(Shared& shared, const sim::RankHost& place) {
  const sim::SimulationSetting& setting = shared.setting;
  const auto emulated_disk = [&shared, &setting, rank = place.rank, disks = place.host->get_disks()](
                                 int disk, const DiskAccess& access, bool write, Seconds arrival) {
    const auto* const used = disks.at(static_cast<std::size_t>(disk));
    const double rate = write ? used->get_write_bandwidth() : used->get_read_bandwidth();
    const DiskService service = setting.disk_service ? setting.disk_service(rank, disk) : DiskService{};
    const Seconds late = setting.disk_delay ? setting.disk_delay(rank, disk, access) : Seconds(0);
    const Seconds moving = setting.disk_moving ? setting.disk_moving(rank, disk, access, write)
                                               : access.size / BytesPerSecond(rate);
    return shared.disks[used].serve(arrival, service, access.requests, moving) + late;
  };
  return {.emulated = [&setting, rank = place.rank](
                          const Work& work) { return std::optional(setting.price(rank, work)); },
          .emulated_disk = emulated_disk,
          .transfers_overlap = false,
          .can_cancel = false};
}

void run_rank(Shared& shared, const sim::RankHost& place) {
  check_mpi(MPI_Init(nullptr, nullptr), "MPI_Init");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  smpi_process_set_user_data(&shared.waker);
  {
    MpiContext context(MPI_COMM_WORLD, emulated(shared, place));
    shared.setting.body(context);
    shared.makespan = std::max(shared.makespan, context.now());
    check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  }
  check_mpi(MPI_Finalize(), "MPI_Finalize");
  ++shared.ended;
}

void run_body(Shared& shared, const sim::RankHost& place) {
  // The error leaves its handler before the actors switch: they share one stack of caught exceptions.
  std::exception_ptr error;
  try {
    run_rank(shared, place);
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  if (error) shared.fail(error);
}

/// SMPI may send messages between any two ranks at the start and the end of the job.
void check_routes(const std::string& platform_file, const std::vector<sim::RankHost>& places) {
  for (const auto& from : places)
    for (const auto& to : places)
      if (from.host != to.host && !sim::route_latency_s(from, to))
        throw sim::missing_route(platform_file, from, to);
}

void start_ranks(Shared& shared, const std::vector<sim::RankHost>& places) {
  SMPI_app_instance_register(instance, nullptr, static_cast<int>(places.size()));
  for (const auto& place : places) {
    const auto name = std::to_string(place.rank);
    const auto actor = simgrid_version::add_actor("rank " + name, *place.host,
                                                  [&shared, &place] { run_body(shared, place); });
    actor->set_property("instance_id", instance);
    actor->set_property("rank", name);
  }
}

}  // namespace

sim::SimulationResult simulate(const sim::SimulationSetting& setting) {
  const auto own = sim::platform_config(setting.platform_file);
  const bool has_limit = setting.eager_limit < sim::SimulationSetting{}.eager_limit;
  const Bytes eager_limit = has_limit ? setting.eager_limit : tcp_eager_limit;
  const auto flags = smpi_flags(eager_limit);
  sim::Network network(setting);
  s4u::Engine& engine = sim::start_engine(setting, own, network, [&flags] {
    // Declares SMPI's flags, and prepares the hosts of the platform.
    SMPI_init();
    for (const auto& [flag, value] : flags) s4u::Engine::set_config(flag + ":" + value);
  });
  const auto places = sim::find_rank_hosts(setting);
  check_routes(setting.platform_file, places);
  Shared shared(setting);
  s4u::Engine::on_deadlock_cb([&shared] {
    if (!shared.error)
      shared.error = std::make_exception_ptr(WorldError(
          "deadlock at " + std::to_string(s4u::Engine::get_clock()) + " s of simulated time under SMPI"));
  });
  start_ranks(shared, places);
  engine.run();
  if (shared.error) std::rethrow_exception(shared.error);
  if (shared.ended < places.size()) throw WorldError("a rank did not end: its host went down");
  SMPI_finalize();

  auto physics =
      sim::report_physics(own, setting.network, eager_limit, "max-min over messages, with SimGrid's weights");
  for (const auto& [flag, value] : flags) physics["flags"][flag] = value;
  std::vector<std::string> warnings;
  if (network.has_windows())
    warnings.emplace_back("the windows of the platform (tandem:window) do not limit messages under smpi");
  return {shared.makespan, physics, std::move(warnings)};
}

}  // namespace tandem::witness
