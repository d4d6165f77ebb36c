#include "runtime/rank/rank_main.hpp"

#include <fmt/chrono.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/gpu/device_collective.hpp"
#include "runtime/mpi/cpu_wait.hpp"
#include "runtime/mpi/cuda_aware.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "runtime/mpi/mpi_variable.hpp"
#include "runtime/mpi/wire.hpp"
#include "runtime/rank/emulation.hpp"
#include "runtime/rank/journal_wire.hpp"
#include "runtime/rank/link_check.hpp"
#include "runtime/rank/other_load.hpp"
#include "runtime/rank/rank_device.hpp"
#include "runtime/rank/rank_memory.hpp"
#include "runtime/rank/rank_options.hpp"
#include "runtime/rank/rank_process.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/job/identity.hpp"
#include "workloads/job/job_document.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem {
namespace {

/// Also does everything slow before the first operation, so that time zero comes after it.
Job load_job(const RankOptions& options) {
  std::ifstream file(options.document);
  if (!file) throw ConfigError(options.document + ": cannot be read");
  try {
    Job job = job_from_document(nlohmann::json::parse(file), options.out);
    if (job.real_math()) prepare_learner();
    return job;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(options.document + ": not a job document: " + error.what());
  }
}

std::string now_utc() {
  return fmt::format("{:%FT%TZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

/// On rank 0: the text of each rank, by rank.
std::vector<std::string> gather_texts(MPI_Comm communicator, const std::string& own) {
  const auto* begin = reinterpret_cast<const std::byte*>(own.data());
  std::vector<std::string> list;
  for (const auto& bytes : gather_bytes(communicator, {begin, begin + own.size()}))
    list.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return list;
}

std::string machine_name() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  return {name, static_cast<std::size_t>(length)};
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  return text;  // Open MPI counts the terminating zero in its length
}

/// OtherLoad::share, with the time that all ranks computed as `ours`. Collective.
double share_of_others(const OtherLoad& others, MPI_Comm communicator) {
  double ours_s = others.own().count();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &ours_s, 1, MPI_DOUBLE, MPI_SUM, communicator), "MPI_Allreduce");
  return others.share(Seconds(ours_s)).value_or(0.0);
}

/// Prints first of all why hosts compute on another device than the platform file says.
std::vector<std::string> print_device_notes(const Job& job, const RankDevice& device, MPI_Comm communicator) {
  const auto notes = processor_notes(job, gather_texts(communicator, device.why_no_gpu));
  for (const auto& note : notes) print_note(note);
  return notes;
}

/// The `physics` of run.json, complete on rank 0. Collective.
nlohmann::json describe_physics(const Job& job, const RankOptions& options, const MpiSetting& setting,
                                MPI_Comm communicator) {
  const std::string host = host_device().name();
  const auto machines = gather_texts(communicator, machine_name());
  const auto devices = gather_texts(communicator, setting.device == nullptr ? host : setting.device->name());
  nlohmann::json physics = {{"network", "real"},
                            {"machines", machines},
                            {"devices", to_text(job.spec().experiment.run.devices)},
                            {"computed_on", devices}};
  if (!options.cluster.empty()) {
    physics["network"] = "emulated cluster";
    physics["cluster"] = nlohmann::json::parse(options.cluster);
  }
  if (setting.node_memory) physics["node_memory_message_bytes"] = setting.node_memory->largest();
  if (std::ranges::all_of(devices, [&](const auto& device) { return device == host; })) return physics;
  physics["device_messages"] = setting.direct_messages ? "direct" : "staged";
  const AllReducePlan* plan = job.exchange().all_reduce();
  if (plan == nullptr || std::ranges::count(plan->collectives, native_all_reduce) == 0) return physics;
  const bool by_devices = setting.collective && setting.collective->can(job.roster().workers());
  physics["native_sums"] = by_devices ? "NCCL" : "MPI";
  return physics;
}

/// `physics`: of run.json.
void run_job(const Job& job, const RankOptions& options, const nlohmann::json& physics, MpiContext& context,
             MPI_Comm communicator) {
  const int seats = job.roster().size();
  if (context.world_size() != seats)
    throw ConfigError(fmt::format("{}: the job has {} ranks, mpirun started {}", options.document, seats,
                                  context.world_size()));
  const std::string started = now_utc();
  const Seconds waited_before = cpu_wait().value_or(Seconds(0));
  const OtherLoad others;
  Journal journal;
  journal.keep_decisions = options.decisions;
  if (options.operations) {
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
  journal.missed_deadlines = context.late_devices();
  journal.cpu_wait = cpu_wait().value_or(Seconds(0)) - waited_before;
  // Early ranks wait here without using their core; a collective would spin.
  context.meet();
  journal.other_load = share_of_others(others, communicator);
  double makespan = 0.0;
  check_mpi(MPI_Reduce(&own_end, &makespan, 1, MPI_DOUBLE, MPI_MAX, 0, communicator), "MPI_Reduce");
  const auto journals = gather_bytes(communicator, to_bytes(journal));
  if (context.rank() != 0) return;

  Journal merged;
  for (const auto& bytes : journals) merged.append(journal_from_bytes(bytes));
  RunInfo info = describe_run(job, "measured");
  info.repetition = options.repetition;
  info.command = options.command;
  info.started = started;
  info.versions["mpi"] = mpi_version();
  info.physics = physics;
  write_results(options.out, info, merged, Seconds(makespan), options.trace);
}

CalibrationSetting calibration_setting(const RankOptions& options) {
  CalibrationSetting setting = default_calibration();
  const auto document = nlohmann::json::parse(std::ifstream(options.document));
  if (document.contains("partners")) setting.partners = partners_from_json(document["partners"]);
  setting.sharers = document.value("sharers", std::vector<Rank>{});
  setting.host_ranks = document.value("host_ranks", std::vector<Rank>{});
  setting.cluster = document.value("cluster", "");
  // It cannot be measured from outside: with shared memory even small sends end only when the receiver polls.
  auto limit = mpi_variable(setting.cluster.empty() ? "btl_vader_eager_limit" : "btl_tcp_eager_limit");
  // If the launcher allows it and the MPI has it, this transport has precedence.
  if (setting.cluster.empty())
    if (const auto of_cuda = mpi_variable("btl_smcuda_eager_limit")) limit = of_cuda;
  if (limit) setting.eager_bytes = *limit;
  return setting;
}

void calibrate_job(const Job& job, const RankOptions& options, const CalibrationSetting& setting,
                   MpiContext& context, MPI_Comm communicator) {
  const Seconds waited_before = cpu_wait().value_or(Seconds(0));
  const Seconds start = context.now();
  const OtherLoad others;
  Profile profile = calibrate(job, context, setting);
  profile.cpu_wait_share = (cpu_wait().value_or(Seconds(0)) - waited_before) / (context.now() - start);
  // As after a job: they wait without using their core, while other ranks still measure.
  context.meet();
  profile.other_load = share_of_others(others, communicator);
  if (context.rank() != 0) return;
  profile.machine = this_machine();
  profile.software = this_software() + ", " + mpi_version();
  profile.date = now_utc();
  profile.command = options.command;
  save_profile(options.calibrate, profile);
}

/// Each rank measures its part; rank 0 merges them.
void check_links(const RankOptions& options) {
  std::ifstream file(options.document);
  if (!file) throw ConfigError(options.document + ": cannot be read");
  auto measurements = cluster::measurements_from_json(nlohmann::json::parse(file));
  MpiContext context(MPI_COMM_WORLD, {});
  double last_progress = -1.0;
  measure_links(context, measurements, [&](std::size_t done) {
    const double fraction = static_cast<double>(done) / static_cast<double>(measurements.size());
    if (context.rank() == 0) print_progress(fraction, last_progress);
  });
  const std::string own = cluster::to_json(measurements).dump();
  const auto* begin = reinterpret_cast<const std::byte*>(own.data());
  for (const auto& bytes : gather_bytes(MPI_COMM_WORLD, {begin, begin + own.size()})) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto others = cluster::measurements_from_json(nlohmann::json::parse(text));
    for (std::size_t i = 0; i < others.size(); ++i) {
      measurements[i].latency_s = std::max(measurements[i].latency_s, others[i].latency_s);
      for (std::size_t k = 0; k < others[i].flows.size(); ++k)
        measurements[i].flows[k].rate = std::max(measurements[i].flows[k].rate, others[i].flows[k].rate);
    }
  }
  if (context.rank() != 0) return;
  std::ofstream result(options.out);
  result << cluster::to_json(measurements).dump(1) << '\n';
  if (!result.flush()) throw WorldError("cannot write " + options.out);
}

/// None on an emulated cluster, where processes may communicate over the network only. Collective.
std::shared_ptr<NodeMemory> node_memory_outside(const std::string& cluster) {
  return cluster.empty() ? std::make_shared<NodeMemory>(MPI_COMM_WORLD) : nullptr;
}

/// `device`: null for the processor. Collective.
MpiSetting native_setting(const Job& job, ComputeDevice* device) {
  MpiSetting setting{.device = device};
  setting.direct_messages =
      messages_are_direct(job.spec().experiment.run.device_messages, mpi_reads_device_memory());
  setting.collective =
      make_device_collective(MPI_COMM_WORLD, device == nullptr ? std::nullopt : device->libtorch_gpu());
  return setting;
}

/// Called before anything starts. Collective.
void check_alike(const Job& job, const RankOptions& options, MPI_Comm communicator) {
  std::vector<JobIdentity> ranks;
  for (const auto& text : gather_texts(communicator, to_text(identity_of(job, options.document))))
    ranks.push_back(identity_from_text(text));
  expect_alike(job, ranks);
}

void run_on_device(const Job& job, const RankOptions& options, Rank rank) {
  const RankDevice device = make_rank_device(job, rank);
  const auto notes = print_device_notes(job, device, MPI_COMM_WORLD);
  if (!options.calibrate.empty()) {
    // Read before time zero, as everything that a job reads.
    CalibrationSetting calibration = calibration_setting(options);
    MpiSetting setting = native_setting(job, device.gpu.get());
    setting.node_memory = node_memory_outside(calibration.cluster);
    // A message in this memory counts as sent.
    if (setting.device == nullptr && setting.node_memory && setting.node_memory->reaches_all())
      calibration.eager_bytes = setting.node_memory->largest();
    // One number applies to all transports.
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &calibration.eager_bytes, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD),
              "MPI_Allreduce");
    MpiContext context(MPI_COMM_WORLD, std::move(setting));
    return calibrate_job(job, options, calibration, context, MPI_COMM_WORLD);
  }
  const bool emulated = job.spec().experiment.run.devices == DeviceSpeed::emulated;
  MpiSetting setting = emulated ? emulated_setting(job, rank) : native_setting(job, device.gpu.get());
  setting.node_memory = node_memory_outside(options.cluster);
  nlohmann::json physics = describe_physics(job, options, setting, MPI_COMM_WORLD);
  if (!notes.empty()) physics["notes"] = notes;
  MpiContext context(MPI_COMM_WORLD, std::move(setting));
  run_job(job, options, physics, context, MPI_COMM_WORLD);
}

void run_rank(int argc, char** argv) {
  const RankOptions options = parse_rank_options(argc, argv);
  if (options.links) return check_links(options);
  Job job = load_job(options);
  double last_progress = -1.0;
  job.stop().on_report([&last_progress](double fraction) { print_progress(fraction, last_progress); });
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check_alike(job, options, MPI_COMM_WORLD);
  within_rank_memory(job, rank, [&] { run_on_device(job, options, rank); });
}

}  // namespace

void rank_main(int argc, char** argv) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  try {
    run_rank(argc, argv);
  } catch (const ConfigError& error) {
    end_job(MPI_COMM_WORLD, 2, error.what());
  } catch (const std::bad_alloc&) {
    end_job(MPI_COMM_WORLD, 70, "not enough memory");
  } catch (const std::exception& error) {
    end_job(MPI_COMM_WORLD, 70, error.what());
  }
}

}  // namespace tandem
