#include "runtime/rank/job_world.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/gpu/device_collective.hpp"
#include "runtime/mpi/cpu_wait.hpp"
#include "runtime/mpi/cuda_aware.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/read_ring.hpp"
#include "runtime/mpi/wire.hpp"
#include "runtime/rank/host_disks.hpp"
#include "runtime/rank/machine_messages.hpp"
#include "runtime/rank/other_load.hpp"
#include "runtime/rank/rank_process.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/cost/slowdown.hpp"
#include "workloads/data/storage_file.hpp"
#include "workloads/records/journal_bytes.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/cache/sample_reads.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem {

std::string machine_name() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  return {name, static_cast<std::size_t>(length)};
}

namespace {

int number_of_host(const Job& job, Rank rank) {
  const auto& hosts = job.spec().platform.hosts;
  const auto found = std::ranges::find(hosts, job.devices().host_of(rank).name, &platforms::Host::name);
  return static_cast<int>(found - hosts.begin());
}

/// As many as the disk of the platform file serves.
std::function<int(int)> parallel_transfers(const Job& job, Rank rank) {
  if (!job.roster().has(rank)) return {};
  const auto disks = std::ssize(job.devices().host_of(rank).disks);
  if (job.spec().experiment.data.store == StoreAccess::mounted)
    return [requests = parallel_requests(job, rank)](int) { return requests; };
  return [&devices = job.devices(), rank, disks](int disk) {
    return disk < disks ? devices.disk_service(rank, disk).parallel : 1;
  };
}

}  // namespace

MpiSetting emulated_setting(const Job& job, Rank rank) {
  const bool has_host = job.roster().has(rank);
  const auto disks =
      std::make_shared<HostDisks>(MPI_COMM_WORLD, has_host ? number_of_host(job, rank) : -1,
                                  has_host ? static_cast<int>(job.devices().host_of(rank).disks.size()) : 0);
  if (!has_host) return {};
  const DevicePlan& devices = job.devices();
  return {.emulated =
              [model = devices.cost_model(rank), slow = Slowdown(job.spec().experiment, rank)](
                  const Work& work) mutable { return std::optional(model.price(work) * slow.next(work)); },
          .overlap_slowdown = job.spec().experiment.physics.overlap_slowdown,
          .emulates_second_queue = devices.has_second_queue(rank),
          .emulated_disk =
              [&devices, disks, rank](int disk, const DiskAccess& access, bool write, Seconds arrival) {
                return disks->serve(disk, arrival, devices.disk_service(rank, disk), access.requests,
                                    devices.disk_moving(rank, disk, access, write));
              },
          .parallel_transfers = parallel_transfers(job, rank)};
}

namespace {

/// Errors: ConfigError where it would carry no message.
std::shared_ptr<PeerMessages> peer_messages(MPI_Comm communicator, ComputeDevice* device, bool shares_node) {
  auto messages = shares_node ? std::make_shared<PeerMessages>(communicator, device) : nullptr;
  if (messages == nullptr || messages->pairs() == 0)
    throw ConfigError(
        "key 'run.device_messages': expected auto or staged, because no two ranks of a machine can read each "
        "other's GPU memory, found 'peer'");
  return messages;
}

}  // namespace

MpiSetting native_setting(const Job& job, Rank rank, ComputeDevice* device, bool shares_node,
                          MPI_Comm communicator) {
  MpiSetting setting{.parallel_transfers = parallel_transfers(job, rank), .device = device};
  setting.direct_messages =
      messages_are_direct(job.spec().experiment.run.device_messages, mpi_reads_device_memory());
  std::vector<Rank> workers(job.roster().workers().begin(), job.roster().workers().end());
  std::ranges::sort(workers);
  // The number under which the rank's device was made, wherever libtorch computes.
  setting.collective =
      make_device_collective(communicator, device == nullptr ? std::nullopt : job.devices().gpu_of(rank),
                             {.timeout = job.spec().experiment.run.sum_timeout,
                              .free_cache = [device] { device->free_cache(); },
                              .registered = {dynamic_cast<DeviceAllocations*>(device), workers}});
  if (shares_node) setting.node_memory = std::make_shared<NodeMemory>(communicator);
  if (job.spec().experiment.run.device_messages == DeviceMessages::peer)
    setting.peer_messages = peer_messages(communicator, device, shares_node);
  return setting;
}

MpiSetting job_setting(const Job& job, Rank rank, ComputeDevice* device, const std::string& cluster,
                       MPI_Comm communicator) {
  if (!job.devices().are_emulated()) return native_setting(job, rank, device, cluster.empty(), communicator);
  MpiSetting setting = emulated_setting(job, rank);
  if (cluster.empty()) setting.node_memory = std::make_shared<NodeMemory>(communicator);
  return setting;
}

namespace {

/// Whether a rank reads training samples from its disk.
bool reads_storage(const Roster& roster, Rank rank) {
  if (!roster.has(rank)) return false;
  const Roster::Role role = roster.assignment(rank).role;
  return role == Roster::Role::store ||
         (role == Roster::Role::cache_node && roster.ranks_of(Roster::Role::store).empty());
}

nlohmann::json by_rank(const std::vector<std::string>& texts) {
  nlohmann::json found = nlohmann::json::object();
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    if (!texts[rank].empty()) found["rank " + std::to_string(rank)] = texts[rank];
  return found;
}

/// How cache nodes and stores read where data.cold requests cold reads, by rank. Rank 0 gets it, and prints
/// the deviations. Collective.
void describe_cold_reads(const Job& job, Rank rank, const MpiSetting& setting, MPI_Comm communicator,
                         nlohmann::json& physics) {
  if (!job.spec().experiment.reads_cold()) return;
  const bool reads = reads_storage(job.roster(), rank) && job.real_math();
  // Records are written into the result directory; images are read where they are.
  const SampleSet* images = job.data().samples();
  const auto way = [&] {
    return images != nullptr ? images->train.source->page_cache() : cold_reads_in(job.spec().directory);
  };
  const PageCache found = reads ? way() : PageCache::used;
  const auto ways = gather_texts(communicator, reads ? describe(found) : "");
  const std::string kernel = setting.by_read_ring && has_read_ring() ? "io_uring" : "threads";
  const auto readers = gather_texts(communicator, found == PageCache::direct ? kernel : "");
  for (std::size_t of = 0; of < ways.size(); ++of)
    if (ways[of] == describe(PageCache::unavoidable))
      print_note("data.cold: rank " + std::to_string(of) + " reads " + ways[of]);
  if (const auto cold = by_rank(ways); !cold.empty()) physics["cold_reads"] = cold;
  if (const auto reads_by = by_rank(readers); !reads_by.empty()) physics["reads_by"] = reads_by;
}

}  // namespace

nlohmann::json describe_physics(const Job& job, Rank rank, const std::string& cluster,
                                const MpiSetting& setting, const GpuMonitor* gpu, MPI_Comm communicator) {
  const std::string host = host_device().name();
  const auto machines = gather_texts(communicator, machine_name());
  const auto devices = gather_texts(communicator, setting.device == nullptr ? host : setting.device->name());
  nlohmann::json physics = {{"network", "real"},
                            {"machines", machines},
                            {"devices", to_text(job.spec().experiment.run.devices)},
                            {"computed_on", devices}};
  if (!cluster.empty()) {
    physics["network"] = "emulated cluster";
    physics["cluster"] = nlohmann::json::parse(cluster);
  }
  describe_cold_reads(job, rank, setting, communicator, physics);
  if (setting.node_memory) {
    physics["node_memory_message_bytes"] = setting.node_memory->largest();
    for (const auto& [up_to_bytes, by] : to_profile(setting.node_routes))
      physics["node_messages"].push_back({{"up_to_bytes", up_to_bytes}, {"by", by}});
  }
  const auto gpus = gather_texts(communicator, gpu == nullptr ? "" : gpu->description().dump());
  if (std::ranges::all_of(devices, [&](const auto& device) { return device == host; })) return physics;
  for (std::size_t of = 0; of < gpus.size(); ++of)
    if (!gpus[of].empty()) physics["gpus"]["rank " + std::to_string(of)] = nlohmann::json::parse(gpus[of]);
  if (job.spec().experiment.run.cuda_graphs) physics["cuda_graphs"] = true;
  physics["device_messages"] = setting.direct_messages ? "direct" : setting.peer_messages ? "peer" : "staged";
  if (setting.peer_messages) physics["peer_pairs"] = setting.peer_messages->pairs();
  const AllReducePlan* plan = job.exchange().all_reduce();
  if (plan == nullptr || std::ranges::count(plan->collectives, native_all_reduce) == 0) return physics;
  const bool by_devices = setting.collective && setting.collective->can(job.roster().workers());
  physics["native_sums"] = by_devices ? "NCCL" : "MPI";
  return physics;
}

double share_of_others(const OtherLoad& others, MPI_Comm communicator) {
  double ours_s = others.own().count();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &ours_s, 1, MPI_DOUBLE, MPI_SUM, communicator), "MPI_Allreduce");
  return others.share(Seconds(ours_s)).value_or(0.0);
}

NetworkOrigin measured_network(const nlohmann::json& physics) {
  if (physics.contains("cluster")) return {.kind = "emulated cluster", .cluster = physics.at("cluster")};
  std::vector<std::string> machines = physics.at("machines");
  std::ranges::sort(machines);
  const auto repeated = std::ranges::unique(machines);
  machines.erase(repeated.begin(), repeated.end());
  const bool are_several = machines.size() > 1;
  return {.kind = are_several ? "real cluster" : "this machine", .machines = std::move(machines)};
}

std::string measured_devices(const Job& job, const nlohmann::json& physics) {
  if (job.devices().are_emulated()) return "emulated";
  const auto& devices = physics.at("computed_on");
  const bool on_gpu =
      std::ranges::any_of(devices, [](const auto& name) { return name != host_device().name(); });
  return on_gpu ? "gpu" : "cpu";
}

JobRun run_job(const Job& job, MpiContext& context, MPI_Comm communicator, const Recorded& recorded,
               JobClocks* clocks) {
  const Seconds waited_before = cpu_wait().value_or(Seconds(0));
  const OtherLoad others;
  Journal journal;
  journal.keep_decisions = recorded.decisions;
  journal.keep_requests = recorded.requests;
  if (recorded.gpu != nullptr) recorded.gpu->start(context.rank(), context.now());
  if (recorded.operations) {
    context.watch_copies([&](const MpiContext::DeviceCopy& copy) {
      journal.operations.push_back(
          record_of_copy(context.rank(), copy.out, copy.bytes, copy.start, copy.end));
    });
    RecordingContext recording(context, journal.operations);
    run_role(job, recording, journal);
    context.watch_copies({});
  } else {
    run_role(job, context, journal);
  }
  const double own_end = context.now().count();
  if (recorded.gpu != nullptr) journal.gpus = recorded.gpu->finish();
  journal.missed_deadlines = context.late_devices();
  journal.cpu_wait = cpu_wait().value_or(Seconds(0)) - waited_before;
  // Ranks that end early wait here without using a core, unlike in an MPI collective.
  context.meet();
  journal.other_load = recorded.has_company ? 0.0 : share_of_others(others, communicator);
  JobRun run;
  if (clocks != nullptr) run.clocks = clocks->finish(context);
  std::vector<double> ends_s(context.rank() == 0 ? static_cast<std::size_t>(context.world_size()) : 0);
  journal.complete();
  check_mpi(MPI_Gather(&own_end, 1, MPI_DOUBLE, ends_s.data(), 1, MPI_DOUBLE, 0, communicator), "MPI_Gather");
  std::optional<JobRecords> records;
  if (job.generation() != nullptr) records.emplace(job, recorded.earlier);
  Rank rank = 0;
  for (const auto& bytes : gather_bytes(communicator, to_bytes(journal))) {
    Journal own = journal_from_bytes(bytes);
    Seconds end(ends_s[static_cast<std::size_t>(rank)]);
    if (!run.clocks.empty()) {
      use_clock_of_rank_0(own, run.clocks, rank, job.checkpoints().writer);
      end = run.clocks[static_cast<std::size_t>(rank)].on_rank_0(end);
    }
    if (records) end += job.generation()->began;
    run.makespan = std::max(run.makespan, end);
    if (records)
      records->add(rank, std::move(own));
    else
      run.journal.append(std::move(own));
    ++rank;
  }
  if (context.rank() == 0 && records) run.journal = records->take(run.makespan, recorded.decisions);
  return run;
}

JobRun run_sharing_job(const SharedLaunch& launch, MpiContext& context, Context& of_job,
                       const Recorded& recorded) {
  const Seconds waited_before = cpu_wait().value_or(Seconds(0));
  std::vector<Journal> journals(launch.served.size());
  for (Journal& journal : journals) {
    journal.keep_decisions = recorded.decisions;
    journal.keep_requests = recorded.requests;
  }
  Journal& own = journals.front();
  if (recorded.gpu != nullptr) recorded.gpu->start(of_job.rank(), context.now() - launch.start);
  if (recorded.operations)
    context.watch_copies([&](const MpiContext::DeviceCopy& copy) {
      own.operations.push_back(record_of_copy(of_job.rank(), copy.out, copy.bytes, copy.start - launch.start,
                                              copy.end - launch.start));
    });
  run_role_of(launch, of_job, journals, recorded.operations);
  context.watch_copies({});
  const Seconds end = context.now();
  if (recorded.gpu != nullptr) own.gpus = recorded.gpu->finish();
  own.missed_deadlines = context.late_devices();
  own.cpu_wait = cpu_wait().value_or(Seconds(0)) - waited_before;
  context.meet();
  for (Journal& journal : journals) journal.complete();
  SharedRecords records = gather_records(launch, journals, end);
  return {.journal = std::move(records.journal), .makespan = records.makespan};
}

std::vector<std::string> gather_texts(MPI_Comm communicator, const std::string& own) {
  const auto* begin = reinterpret_cast<const std::byte*>(own.data());
  std::vector<std::string> list;
  for (const auto& bytes : gather_bytes(communicator, {begin, begin + own.size()}))
    list.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return list;
}

}  // namespace tandem
