#include "runtime/rank/rank_main.hpp"

#include <fmt/chrono.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/rank_watch.hpp"
#include "runtime/mpi/cpu_wait.hpp"
#include "runtime/mpi/host_time.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "runtime/mpi/mpi_variable.hpp"
#include "runtime/mpi/wire.hpp"
#include "runtime/rank/discover.hpp"
#include "runtime/rank/job_clocks.hpp"
#include "runtime/rank/job_world.hpp"
#include "runtime/rank/link_check.hpp"
#include "runtime/rank/machine_messages.hpp"
#include "runtime/rank/other_load.hpp"
#include "runtime/rank/own_job.hpp"
#include "runtime/rank/rank_device.hpp"
#include "runtime/rank/rank_memory.hpp"
#include "runtime/rank/rank_options.hpp"
#include "runtime/rank/rank_process.hpp"
#include "runtime/rank/result_files.hpp"
#include "runtime/rank/shared_launch.hpp"
#include "runtime/rank/warm_up.hpp"
#include "runtime/rank/warning_file.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/job/check/commit_place.hpp"
#include "workloads/job/check/identity.hpp"
#include "workloads/job/check/run_description.hpp"
#include "workloads/job/plan/job_context.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/records/gpu_figures.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {
namespace {

/// Rank 0 reads the document; only its machine needs to have the file. Collective.
nlohmann::json shared_document(const RankOptions& options, const std::string& what) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return nlohmann::json::parse(
      broadcast_text(MPI_COMM_WORLD, rank == 0 ? read_json_file(options.document, what).dump() : ""));
}

/// Also does everything slow before the first operation, so that time zero comes after it. Rank 0 says what.
Job load_job(const RankOptions& options, nlohmann::json document, const ResultFiles& files,
             MPI_Comm communicator) {
  int rank = 0, ranks = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size");
  if (rank == 0) print_status(fmt::format("loading the data on {} ranks", ranks));
  try {
    files.bring_checkpoint(document, std::filesystem::path(options.document).parent_path().string());
    Job job = job_from_document(document, files.directory(), options.data);
    if (job.real_math()) {
      if (rank == 0) print_status(fmt::format("loading libtorch on {} ranks", ranks));
      prepare_learner();
      within_rank_memory(job, rank, [&] { warm_up(job, rank); });
    }
    return job;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(options.document + ": not a job document: " + error.what());
  }
}

std::string utc(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::string now_utc() { return utc(std::chrono::system_clock::now()); }

/// Agrees when this generation began, by the clock of rank 0. Collective.
void begin_generation(Job& job, const std::string& directory, const Context& context, MPI_Comm communicator) {
  if (job.generation() == nullptr) return;
  Generation generation = *job.generation();
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  double start_s = now.count() - context.now().count();
  check_mpi(MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, communicator), "MPI_Bcast");
  if (generation.first_start_s == 0.0) generation.first_start_s = start_s;
  // Somebody may have set the clock back meanwhile.
  generation.began = Seconds(std::max(0.0, start_s - generation.first_start_s));
  if (context.rank() == 0) write_start(directory, generation.number(), start_s);
  job.set_generation(std::move(generation));
}

/// When the first generation began.
std::string started(const Job& job) {
  if (job.generation() == nullptr) return now_utc();
  const std::chrono::duration<double> since_epoch(job.generation()->first_start_s);
  return utc(std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(since_epoch)));
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  return text;  // Open MPI counts the terminating zero in its length
}

/// Prints first of all why hosts compute on another device than the platform file says.
std::vector<std::string> print_device_notes(const Job& job, const RankDevice& device, const OwnJob& own) {
  const auto notes = processor_notes(job, own.by_rank(gather_texts(own.communicator, device.why_no_gpu)));
  for (const auto& note : notes) print_note(note);
  return notes;
}

struct JobPlace {
  JobClocks* clocks;  ///< null: one clock
  const ResultFiles& files;
  const OwnJob& own;
  std::span<const Job> served;  ///< the other jobs that this rank serves
  GpuMonitor* gpu = nullptr;    ///< of this rank; null: it computes on the processor
};

/// The run of a rank in a launch whose jobs share cache nodes and stores.
JobRun run_sharing(const Job& job, const Recorded& recorded, MpiContext& context, const JobPlace& place) {
  const OwnJob& own = place.own;
  SharedLaunch launch{
      .ranks = *own.ranks, .rank = context.rank(), .job = own.number, .start = own.start, .served = {&job}};
  for (const Job& other : place.served) launch.served.push_back(&other);
  JobContext of_job(context, {.ranks = own.ranks->addresses(context.rank()),
                              .rank = own.rank,
                              .size = job.roster().size(),
                              .start = own.start});
  // The clock of all has just begun.
  wait_for_start(own);
  return run_sharing_job(launch, context, of_job, recorded);
}

/// `physics`: of run.json.
void run_and_write(const Job& job, const RankOptions& options, nlohmann::json physics, MpiContext& context,
                   const JobPlace& place) {
  const OwnJob& own = place.own;
  if (!own.shares() && context.world_size() != job.roster().size())
    throw ConfigError(fmt::format("{}: the job has {} ranks, mpirun started {}", options.document,
                                  job.roster().size(), context.world_size()));
  RunInfo info = describe_run(job, "measured");
  info.started = started(job);
  const Recorded recorded{.operations = options.operations,
                          .decisions = options.decisions,
                          .requests = options.requests,
                          .earlier = std::filesystem::path(options.document).parent_path().string(),
                          .has_company = own.has_company(),
                          .gpu = place.gpu};
  const JobRun run = own.shares() ? run_sharing(job, recorded, context, place)
                                  : run_job(job, context, own.communicator, recorded, place.clocks);
  place.files.gather();
  if (own.rank != 0) return;
  if (!run.clocks.empty()) physics["clocks"] = describe_clocks(run.clocks, physics.at("machines"));
  if (!place.files.are_shared()) physics["results"] = "gathered by rank 0";
  info.repetition = options.repetition;
  info.command = options.command;
  info.versions["mpi"] = mpi_version();
  info.network = measured_network(physics);
  info.devices = measured_devices(job, physics);
  info.physics = physics;
  for (const std::string& throttled : throttled_gpus(info, run.journal)) {
    print_note(throttled);
    info.warnings.push_back(throttled);
  }
  write_results(place.files.directory(), info, run.journal, run.makespan, options.trace);
}

CalibrationSetting calibration_setting(const nlohmann::json& document) {
  CalibrationSetting setting = default_calibration();
  if (document.contains("partners")) setting.partners = partners_from_json(document["partners"]);
  if (document.contains("all_reduces"))
    setting.all_reduce_series = all_reduce_series_from_json(document["all_reduces"]);
  setting.sharers = document.value("sharers", std::vector<Rank>{});
  setting.host_ranks = document.value("host_ranks", std::vector<Rank>{});
  setting.cluster = document.value("cluster", "");
  setting.is_real = document.value("real_cluster", false);
  // It cannot be measured: over shared memory, even small sends complete only when the receiver polls.
  auto limit = mpi_variable(setting.cluster.empty() ? "btl_vader_eager_limit" : "btl_tcp_eager_limit");
  // If the launcher allows it and the MPI has it, this transport has precedence.
  if (setting.cluster.empty())
    if (const auto of_cuda = mpi_variable("btl_smcuda_eager_limit")) limit = of_cuda;
  if (limit) setting.eager_bytes = *limit;
  return setting;
}

/// From the launch of the ranks until now, where the launcher said when that was; 0: it did not.
double launch_time(const RankOptions& options) {
  if (options.launched.empty()) return 0.0;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(0.0, now.count() - std::stod(options.launched));
}

/// `node_routes`: of the context's messages. `directory`: of this rank's files.
void calibrate_job(const Job& job, const RankOptions& options, const CalibrationSetting& setting,
                   const std::vector<Profile::NodeRoute>& node_routes, const std::string& directory,
                   MpiContext& context) {
  const MPI_Comm communicator = MPI_COMM_WORLD;
  const Seconds waited_before = cpu_wait().value_or(Seconds(0));
  const Seconds start = context.now();
  const OtherLoad others;
  const double launch_s = launch_time(options);
  Profile profile = calibrate(job, context, setting);
  profile.launch_s = launch_s;
  profile.node_routes = node_routes;
  profile.cpu_wait_share = (cpu_wait().value_or(Seconds(0)) - waited_before) / (context.now() - start);
  // As after a job: ranks wait without using a core while other ranks still measure.
  context.meet();
  profile.other_load = share_of_others(others, communicator);
  const auto machines = gather_texts(communicator, machine_name());
  if (context.rank() != 0) return;
  if (setting.is_real) profile.machines = machines;
  profile.machine = this_machine();
  profile.software = this_software() + ", " + mpi_version();
  profile.date = now_utc();
  profile.command = options.command;
  save_profile(options.apart ? directory + "/profile.json" : options.calibrate, profile);
}

/// Each rank measures its part; rank 0 merges them.
void check_links(const RankOptions& options) {
  auto measurements = cluster::measurements_from_json(shared_document(options, "a list of measurements"));
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

/// Called before anything starts. Collective.
void check_alike(const Job& job, MPI_Comm communicator) {
  std::vector<JobIdentity> ranks;
  for (const auto& text : gather_texts(communicator, to_text(identity_of(job))))
    ranks.push_back(identity_from_text(text));
  expect_alike(job, ranks);
}

/// The evaluator reads the checkpoints that another rank writes.
void check_evaluator(const Job& job, const ResultFiles& files) {
  const Roster& roster = job.roster();
  const auto evaluator = roster.evaluator();
  const auto& plan = job.checkpoints();
  if (!evaluator || !plan.has_model || plan.every == 0 || files.are_shared()) return;
  std::vector<Rank> writers = {plan.writer};
  // When the first worker's machine departs, another worker writes.
  if (roster.steward() && roster.servers().empty())
    writers.assign(roster.workers().begin(), roster.workers().end());
  for (const Rank writer : writers)
    if (!files.are_together(*evaluator, writer))
      throw ConfigError(
          fmt::format("the evaluator on host '{}' reads the checkpoints of rank {} on host '{}', and the two "
                      "machines share no file system: expected both on one machine, or a result directory "
                      "(--out) that both see",
                      roster.host_of(*evaluator), writer, roster.host_of(writer)));
}

/// The process that writes the results, rank 0, holds their lock, so that no other job begins to write them
/// while it runs, even after the end of `tandem run`. Collective if the directory is to be created.
std::optional<WriteLock> claim_directory(const RankOptions& options, int rank, MPI_Comm communicator) {
  std::optional<WriteLock> lock;
  if (rank == 0 && options.create) {
    lock.emplace(create_result_directory(options.out, options.force));
    std::filesystem::copy_file(options.document, options.out + "/job.json");
  } else if (rank == 0 && options.calibrate.empty() && !options.apart) {
    lock.emplace(options.out, WriteLock::Use::with_job);
  }
  if (options.create) check_mpi(MPI_Barrier(communicator), "MPI_Barrier");
  return lock;
}

/// How long before its end a machine is warned, where the experiment does not say.
constexpr Seconds usual_notice{30.0};

/// Warnings come as signals or as files in `directory`. `signals` must outlive the result.
Notices notices_of(const Job& job, Rank rank, RankSignals& signals, const std::string& directory) {
  const auto& transience = job.spec().experiment.transience;
  const Seconds notice =
      transience.notice > Seconds(0) ? transience.notice / transience.time_scale : usual_notice;
  const RankAssignment& assignment = job.roster().assignment(rank);
  const auto take_warning = [rank, notice, assignment, &signals,
                             file = std::make_shared<WarningFile>(warning_path(directory, rank))] {
    std::optional<WarningFile::Warning> warning;
    if (const auto age = signals.take_warning())
      warning = WarningFile::Warning{notice, *age};
    else
      warning = file->take(notice);
    if (!warning) return std::optional<Seconds>();
    print_note(fmt::format("rank {} ({} on '{}') was warned: its machine will be taken away in {:g} s", rank,
                           role_name(assignment.role), assignment.host, warning->notice.count()));
    return std::optional(std::max(Seconds(), warning->notice - warning->age));
  };
  return {.take_warning = take_warning,
          .is_end_requested = [&signals] { return signals.is_end_requested(); }};
}

constexpr Bytes any_size(std::numeric_limits<std::int64_t>::max());

/// No message with gradients or models is larger than the whole model. Others may have any size: samples,
/// their losses, and states of ranks.
Bytes largest_message(const Job& job) {
  const bool has_others = job.data().from_storage() || job.data().needs_losses() || job.roster().steward() ||
                          job.checkpoints().commits.are_in_memory();
  return has_others ? any_size : job.model().bytes();
}

void run_on_device(Job& job, const RankOptions& options, const OwnJob& own, const ResultFiles& files,
                   std::span<const Job> served) {
  const Rank rank = own.rank;
  const MPI_Comm communicator = own.communicator;
  const RankDevice device = make_rank_device(job, rank);
  const auto notes = print_device_notes(job, device, own);
  if (!options.calibrate.empty()) {
    // Read before time zero, like everything else that a job reads.
    CalibrationSetting calibration = calibration_setting(own.document);
    MpiSetting setting = native_setting(job, rank, device.gpu.get(),
                                        calibration.is_real || calibration.cluster.empty(), communicator);
    // Disks are measured with as many reads at the same time as they may serve.
    setting.parallel_transfers = [](int) { return CalibrationSetting::deepest_reads; };
    if (setting.node_memory)
      setting.node_routes = choose_node_routes(nullptr, *setting.node_memory, any_size, communicator);
    const auto node_routes = to_profile(setting.node_routes);
    if (setting.device == nullptr && setting.node_memory && setting.node_memory->reaches_all())
      calibration.eager_bytes =
          setting.node_routes
              .eager_limit(Bytes(setting.node_memory->largest()), Bytes(calibration.eager_bytes))
              .count();
    // The limit that holds between all ranks.
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &calibration.eager_bytes, 1, MPI_INT64_T, MPI_MIN, communicator),
              "MPI_Allreduce");
    MpiContext context(communicator, std::move(setting));
    return calibrate_job(job, options, calibration, node_routes, files.directory(), context);
  }
  MpiSetting setting = job_setting(job, rank, device.gpu.get(), options.cluster, own.messages());
  if (setting.node_memory)
    setting.node_routes = choose_node_routes(job.devices().profile(), *setting.node_memory,
                                             largest_message(job), own.messages());
  std::optional<GpuMonitor> gpu;
  if (device.gpu) gpu.emplace(device.address);
  nlohmann::json physics =
      describe_physics(job, rank, options.cluster, setting, gpu ? &*gpu : nullptr, communicator);
  if (!notes.empty()) physics["notes"] = notes;
  if (own.has_company()) physics["other_jobs"] = own.others;
  if (!own.sharing.empty()) physics[shared_cache_key] = own.sharing;
  std::optional<JobClocks> clocks;
  // The hosts of an emulated cluster have one clock.
  if (options.cluster.empty()) clocks.emplace(communicator);
  if (own.has_company()) {
    meet_other_jobs();
    // The ranks of all jobs share the cores.
    setting.patience = patience_of_node(MPI_COMM_WORLD);
    if (!own.shares()) {
      meet_other_jobs();
      wait_for_start(own);
    }
  }
  MpiContext context(own.messages(), std::move(setting));
  begin_generation(job, files.directory(), context, communicator);
  run_and_write(job, options, std::move(physics), context,
                {.clocks = clocks ? &*clocks : nullptr,
                 .files = files,
                 .own = own,
                 .served = served,
                 .gpu = gpu ? &*gpu : nullptr});
  // What follows waits for all ranks of the machine, busily.
  if (own.has_company()) meet_other_jobs();
}

/// `watched`: by the process that watches this machine. `world_rank`: among the ranks of all jobs.
void run_own_job(const RankOptions& options, const OwnJob& own, machines::RankRegistration& watched,
                 RankSignals* signals, int world_rank) {
  const MPI_Comm communicator = own.communicator;
  const Rank rank = own.rank;
  const ResultFiles files(communicator, {options.out, options.parts, options.apart});
  Job job = load_job(options, own.document, files, communicator);
  std::vector<Job> served;
  for (const nlohmann::json& document : own.served)
    served.push_back(job_from_document(document, files.directory(), options.data));
  if (options.losses) job.record_losses();
  if (!files.are_shared()) {
    expect_commits_for_machines(job.spec().experiment);
    job.set_files_apart();
  }
  if (signals != nullptr && job.roster().has(rank))
    job.set_notices(notices_of(job, rank, *signals, files.directory()));
  double last_progress = -1.0;
  // One bar cannot show the progress of several jobs.
  if (own.is_first)
    job.stop().on_report([&last_progress](double fraction) { print_progress(fraction, last_progress); });
  if (rank == 0) print_status("waiting for the other ranks");
  check_alike(job, communicator);
  check_evaluator(job, files);
  const std::optional<WriteLock> lock = claim_directory(options, rank, communicator);
  if (rank == 0) print_status("preparing the model");
  // Where that process started late.
  watched.connect_as(world_rank);
  within_rank_memory(job, rank, [&] { run_on_device(job, options, own, files, served); });
}

/// Errors name the job, where the launch has others.
void run_in_company(RankOptions options, const OwnJob& own, machines::RankRegistration& watched,
                    RankSignals* signals, int world_rank) {
  options.out = directory_of_job(options.out, own.name);
  const auto named = [&](const char* message) { return fmt::format("job '{}': {}", own.name, message); };
  try {
    run_own_job(options, own, watched, signals, world_rank);
  } catch (const ConfigError& error) {
    throw ConfigError(named(error.what()));
  } catch (const std::bad_alloc&) {
    throw WorldError(named("not enough memory"));
  } catch (const std::exception& error) {
    throw WorldError(named(error.what()));
  }
}

void run_rank(int argc, char** argv, machines::RankRegistration& watched, RankSignals* signals) {
  const RankOptions options = parse_rank_options(argc, argv);
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  watched.connect_as(rank);
  if (options.links) return check_links(options);
  if (options.discovers) return discover_machines(options.document);
  const OwnJob own = find_own_job(shared_document(options, "a job document"));
  if (own.has_company()) return run_in_company(options, own, watched, signals, rank);
  run_own_job(options, own, watched, signals, rank);
}

}  // namespace

void rank_main(int argc, char** argv, RankSignals* signals) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  machines::RankRegistration watched;
  const auto fail = [&watched](int exit_code, const std::string& message) {
    watched.announce_end(true);
    end_job(MPI_COMM_WORLD, exit_code, message);
  };
  try {
    run_rank(argc, argv, watched, signals);
    watched.announce_end(false);
  } catch (const ConfigError& error) {
    fail(2, error.what());
  } catch (const std::bad_alloc&) {
    fail(70, "not enough memory");
  } catch (const std::exception& error) {
    fail(70, error.what());
  }
}

}  // namespace tandem
