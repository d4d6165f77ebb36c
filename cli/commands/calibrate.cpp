// `tandem calibrate`: measures this machine for an experiment and writes a profile that simulations use.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/commands/commands.hpp"
#include "cli/machines/calibration_run.hpp"
#include "cli/machines/nccl_tables.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "platforms/this_machine.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/compute_speed.hpp"
#include "workloads/cost/all_reduce_fit.hpp"
#include "workloads/cost/network_table.hpp"
#include "workloads/cost/price_table.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/write_lock.hpp"

namespace tandem::cli {
namespace {

std::string path_text(const Profile::Path& path) {
  const bool has_kinds =
      !path.from_kind.empty() && !path.is_between(DevicePlan::processor_kind, DevicePlan::processor_kind);
  const std::string kinds = !has_kinds ? "" : fmt::format(" ({}, {})", path.from_kind, path.to_kind);
  std::string text = path.links == 0 ? fmt::format("\n  messages between two ranks of one machine{}\n", kinds)
                                     : fmt::format("\n  messages from {} to {}: {} links, {:.4g} MB/s\n",
                                                   path.from, path.to, path.links, path.bandwidth * 1e-6);
  text += "  message size    one way\n";
  for (const auto& entry : path.messages)
    text += fmt::format("  {:>10} B  {:>9.1f} us  +-{:.0f} %\n", entry.bytes, entry.median_s * 1e6,
                        entry.spread * 50);
  if (path.eager_bytes < std::numeric_limits<std::int64_t>::max())
    text += fmt::format("  a message above {} B is sent once its receive is posted\n", path.eager_bytes);
  if (path.held_bytes > 0)
    text += fmt::format("  a send completes while up to {} B of it are still in flight\n", path.held_bytes);
  text += "  fitted\n";
  for (const auto& segment : path.segments)
    text += fmt::format("  from {:>9} B: {:.1f} us + size / {:.3g} MB/s\n", segment.from_bytes,
                        segment.alpha_s * 1e6, 1e-6 / segment.beta_s);
  return text;
}

std::string all_reduce_text(const Profile& profile) {
  std::string text;
  if (!profile.all_reduces.empty()) text += "\n  MPI's own all-reduce\n  ranks         size          time\n";
  for (const auto& entry : profile.all_reduces)
    text += fmt::format("  {:>5} {:>10} B  {:>9.1f} us  +-{:.0f} %\n", entry.ranks, entry.bytes,
                        entry.median_s * 1e6, entry.spread * 50);
  return text;
}

std::string copies_text(const Profile& profile) {
  if (profile.copies.empty()) return "";
  std::string text = fmt::format("\n  copies between {} and pinned memory\n", profile.device);
  for (const auto& entry : profile.copies)
    text += fmt::format("  {} {:>10} B  {:>9.1f} us  {:>7.2f} GB/s\n", entry.out ? "out" : "in ", entry.bytes,
                        entry.median_s * 1e6, static_cast<double>(entry.bytes) / entry.median_s * 1e-9);
  return text;
}

std::string hosts_text(const Profile& profile) {
  if (profile.hosts.empty()) return "";
  std::string text = "  step times relative to the first host:\n";
  for (const auto& entry : profile.hosts) {
    text += fmt::format("    {} ({}): step time x{:.3f} +-{:.1f} %",
                        entry.host.empty() ? "an additional rank" : entry.host, entry.kind, entry.ratio,
                        entry.spread * 50);
    if (entry.kind != profile.hosts.front().kind)
      for (const auto& of : entry.works) text += fmt::format(", {} x{:.3g}", name_of(of.work), of.ratio);
    text += '\n';
  }
  return text;
}

/// One line for each effect other than the cost of work.
std::string disturbance_text(const Profile& profile) {
  std::string text;
  const auto separated = [](const std::string& list) { return list.empty() ? "" : ", "; };
  if (!profile.compute.empty()) {
    std::string slower;
    double first_s = 0.0;
    for (std::size_t i = 0; i < work_names.size(); ++i) {
      const auto kind = static_cast<Work::Kind>(i);
      const double slowdown = PriceTable(profile).slowdown(profile.compute.front().model, kind);
      if (slowdown > 1.0) slower += fmt::format("{}{} x{:.2f}", separated(slower), name_of(kind), slowdown);
    }
    for (const auto& entry : profile.compute) first_s += std::max(0.0, entry.first_s - entry.median_s);
    text += fmt::format("\n  while messages of {} B are in flight: {}\n", profile.disturbing_bytes,
                        slower.empty() ? "no work is slower" : slower);
    text += fmt::format("  the first step takes {:.1f} ms longer\n", first_s * 1e3);
  }
  if (const auto& offsets = profile.start_offsets.raw_s; !offsets.empty()) {
    const auto [first, last] = std::minmax_element(offsets.begin(), offsets.end());
    text += fmt::format("  start-up delay of {} ranks: {:.2f} to {:.2f} ms\n", offsets.size(), *first * 1e3,
                        *last * 1e3);
  }
  return text + hosts_text(profile);
}

std::string server_text(const Profile& profile) {
  const auto cost = own_server_cost(profile.compute);
  if (!cost) return "";
  std::string text =
      "\n  this program's own server, as another host would state it (here the profile has it)\n";
  for (const auto& [name, value] : server_properties(*cost, true))
    text += fmt::format("  <prop id=\"{}\" value=\"{}\"/>\n", name, value);
  return text;
}

/// Beyond these, phases of asynchronous workers develop otherwise than simulated.
constexpr double least_equal_rate = 0.8, largest_equal_rate = 1.25;

std::string older_rate_text(double rate) {
  const bool is_equal = rate >= least_equal_rate && rate <= largest_equal_rate;
  return fmt::format(
      "  of two transfers on one link, the older gets {:.2f} times the rate of the newer{}\n", rate,
      is_equal ? " (equal shares, as simulated)"
               : ": the simulation shares equally, so its asynchronous jobs may take other times");
}

std::string disks_text(const Profile& profile) {
  std::string text;
  for (const auto& disk : profile.disks)
    text += fmt::format(
        "  disk, {}: {:.1f} us per request, {} at the same time, reads {:.0f} MB/s, writes {:.0f} MB/s\n",
        disk.cold ? "past the page cache" : "through the page cache", disk.latency_s * 1e6, disk.parallel,
        disk.read_rate * 1e-6, disk.write_rate * 1e-6);
  return text.empty() ? text : "\n" + text;
}

std::string profile_text(const Profile& profile) {
  std::string text = fmt::format("measured on {}\n", profile.machine);
  if (profile.device != "host") text += fmt::format("  computing on {}\n", profile.device);
  for (const auto& path : profile.paths) text += path_text(path);
  text += all_reduce_text(profile);
  text += copies_text(profile);
  const NetworkTable network(profile);
  if (const double jitter = network.share_jitter(); jitter > 0)
    text += fmt::format(
        "\n  messages on one link end up to {} from where an equal share of it would let them (standard "
        "deviation)\n",
        with_unit(jitter, Unit::bytes));
  if (const Seconds late = network.busy_start(); late > Seconds(0))
    text += fmt::format("  a message that starts on a link in use is {:.2f} ms late\n", late.count() * 1e3);
  if (const auto rate = network.older_rate()) text += older_rate_text(*rate);
  if (!profile.compute.empty()) text += "\n  work            size          time\n";
  for (const auto& entry : profile.compute)
    text += fmt::format(
        "  {:<9} {:>4} {:>9} {:>9.3f} ms  +-{:.0f} %\n", name_of(entry.kind),
        entry.bucket < 0 ? "" : fmt::format("b{}", entry.bucket),
        entry.samples > 0 ? fmt::format("{} smp", entry.samples) : fmt::format("{} B", entry.bytes),
        entry.median_s * 1e3, entry.spread * 50);
  text += server_text(profile);
  text += disturbance_text(profile);
  text += disks_text(profile);
  if (!profile.storage.empty()) text += "\n  storage\n";
  for (const auto& entry : profile.storage)
    text += fmt::format("  {:<5} {:>10} B  {:>9.1f} us\n", entry.write ? "write" : "read", entry.bytes,
                        entry.median_s * 1e6);
  return text;
}

BytesPerSecond storage_rate(const Profile& profile, bool write) {
  std::vector<Profile::StorageEntry> entries;
  for (const auto& entry : profile.storage)
    if (entry.write == write) entries.push_back(entry);
  const auto by_size = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
  const auto [small, large] = std::minmax_element(entries.begin(), entries.end(), by_size);
  return rate_between(small->bytes, small->median_s, large->bytes, large->median_s);
}

platforms::MeasuredDisk measured_disk(const Profile& profile, bool cold) {
  if (const auto* disk = profile.disk(cold))
    return {BytesPerSecond(disk->read_rate), BytesPerSecond(disk->write_rate), Seconds(disk->latency_s),
            disk->parallel};
  return {storage_rate(profile, false), storage_rate(profile, true)};
}

/// The values of the profile that a platform file contains.
platforms::MeasuredMachine measured_machine(const Profile& profile, const ModelDescription& model,
                                            bool cold) {
  const ComputeSpeed speed = compute_speed(profile.compute, model);
  const auto& network = profile.paths.front().segments;
  const auto& fastest = *std::min_element(network.begin(), network.end(),
                                          [](const auto& a, const auto& b) { return a.beta_s < b.beta_s; });
  return {.name = profile.machine,
          .command = profile.command,
          .cores = static_cast<int>(std::thread::hardware_concurrency()),
          .core_speed = speed.core,
          .memory_rate = speed.memory,
          .network = {Seconds(std::max(1e-7, network.front().alpha_s)), BytesPerSecond(1.0 / fastest.beta_s)},
          .disk = measured_disk(profile, cold)};
}

/// `cold`: with the disk as reads past the page cache find it.
void write_platform(const std::string& path, const Profile& profile, const ModelDescription& model,
                    bool cold) {
  std::ofstream file(path);
  file << platforms::this_machine_xml(measured_machine(profile, model, cold));
  if (!file.flush()) throw WorldError("cannot write the platform file " + path);
}

struct AllReduceOptions {
  std::vector<int> ranks;
  std::vector<std::string> sizes;
};

/// Each size alone, so that the time of a long one does not limit how often a short one is measured.
std::vector<AllReduceSeries> all_reduces_of(const AllReduceOptions& options) {
  std::vector<AllReduceSeries> all;
  for (const int ranks : options.ranks)
    for (const std::string& text : options.sizes) {
      const auto size = parse_bytes(text);
      if (ranks < 2)
        throw ConfigError("--all-reduce-ranks: expected at least 2, found " + std::to_string(ranks));
      if (!size || size->count() <= 0 || size->count() % 4 != 0)
        throw ConfigError("--all-reduce-sizes: expected multiples of 4 bytes (64KiB), found '" + text + "'");
      all.push_back({ranks, {size->count()}});
    }
  return all;
}

/// How well a formula predicts other numbers of ranks, if more than two were measured.
std::string fit_text(const Profile& profile) {
  std::set<int> ranks;
  for (const auto& entry : profile.all_reduces) ranks.insert(entry.ranks);
  if (ranks.size() < 3) return "";
  std::string text;
  for (auto second = std::next(ranks.begin()); second != ranks.end(); ++second)
    if (const auto check = check_fit(profile, *ranks.begin(), *second))
      text += fmt::format(
          "  a formula fitted to {} and {} ranks predicts the {} other times: mean error {:.1f} %, largest "
          "{:.0f} %\n",
          *ranks.begin(), *second, check->times, check->mean_error * 100, check->largest_error * 100);
  return text;
}

struct CalibrateOptions {
  JobOptions job;
  std::string platform;  ///< file for this machine; empty: none
  bool on_cluster = false;
  bool print_command = false;
  MachineOptions machines;
  NcclTableOptions nccl;
  AllReduceOptions all_reduces;
};

void add_nccl_options(CLI::App& command, NcclTableOptions& options) {
  auto* tables = command.add_option("--from-nccl-tests", options.tables,
                                    "Measure nothing: take all-reduce times from this output of nccl-tests' "
                                    "all_reduce_perf; may be repeated");
  command
      .add_option("--into", options.into,
                  "With --from-nccl-tests: the profile that gets the times [and --out]. Without it the new "
                  "profile has the tables alone, which simulations combine with the platform's own links")
      ->needs(tables);
  command
      .add_option("--ranks", options.ranks,
                  "With --from-nccl-tests: number of ranks, if the table does not say")
      ->needs(tables);
}

void check_absent(const std::vector<std::string>& files, bool force) {
  for (const std::string& file : files)
    if (!file.empty() && std::filesystem::exists(file) && !force)
      throw ConfigError(file + " already exists; choose another name, or add --force");
}

int calibrate(CalibrateOptions options) {
  if (options.nccl.tables.empty() == options.job.experiment_file.empty())
    throw ConfigError("expected an experiment to measure, or --from-nccl-tests TABLE");
  if (!options.nccl.tables.empty() && options.job.out.empty()) options.job.out = options.nccl.into;
  const std::string path = options.job.out.empty() ? "profile.json" : options.job.out;
  check_absent({path, options.platform}, options.job.force);
  const WriteLock lock(path);
  if (!options.nccl.tables.empty()) {
    write_nccl_tables(options.nccl, path);
    return exit_success;
  }
  const LoadedJob loaded = load_job(options.job);
  const bool real = loaded.experiment.workload.math == Experiment::Workload::Math::real;
  if (!options.platform.empty() && !real)
    throw ConfigError("--platform needs measured compute times; set workload.math to real");
  const CalibrationPlace place{.cluster = options.on_cluster ? loaded.experiment.platform : "",
                               .machines = options.machines,
                               .all_reduces = all_reduces_of(options.all_reduces)};
  std::optional<WriteLock> platform_lock;
  if (!options.platform.empty()) platform_lock.emplace(options.platform);
  if (options.print_command) {
    if (!options.platform.empty())
      throw ConfigError(
          "--platform needs the results of the measurement, so it cannot be combined with --print-command");
    const std::string launch = prepare_calibration(options.job, path, place);
    fmt::print("{}\n", launch);
    print_document({{"command", launch}});
    return exit_success;
  }
  const int exit_code = run_calibration(options.job, path, place);
  if (exit_code != exit_success) return exit_code;
  const Profile profile = load_profile(path);
  fmt::print("{}{}\n{}\n", profile_text(profile), fit_text(profile), path);
  print_document(to_json(profile));
  if (options.platform.empty()) return exit_success;
  write_platform(options.platform, profile, make_job(loaded, "").model(), loaded.experiment.data.cold);
  fmt::print("{}\n", options.platform);
  return exit_success;
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "calibrate", "Measure this machine for an experiment and write a calibration profile for simulations");
  const auto options = std::make_shared<CalibrateOptions>();
  add_experiment_options(*command, options->job);
  command->get_option("--out")->description("Calibration profile to write [profile.json]");
  command->get_option("--force")->description("Replace existing files");
  command->add_flag("--cluster", options->on_cluster,
                    "Measure on the emulated cluster of the experiment's platform");
  command->add_flag(
      "--print-command", options->print_command,
      "Write job.json into OUT.work and print the launch command, which writes OUT: for a batch system, or "
      "a machine that has only tandem-rank");
  add_machine_options(*command, options->machines);
  for (const char* option : {"--hosts", "--hostfile", "--slurm"})
    command->get_option(option)->excludes("--cluster");
  command->add_option("--platform", options->platform, "Also write this machine as a platform file");
  auto* ranks = command->add_option("--all-reduce-ranks", options->all_reduces.ranks,
                                    "Also measure MPI's own all-reduce among these numbers of ranks (2,3,5)");
  auto* sizes = command->add_option("--all-reduce-sizes", options->all_reduces.sizes,
                                    "With --all-reduce-ranks: of these sizes (64KiB,1MiB)");
  for (auto* option : {ranks, sizes}) option->delimiter(',');
  ranks->needs(sizes);
  sizes->needs(ranks);
  add_nccl_options(*command, options->nccl);
  command->get_option("EXPERIMENT")->required(false);
  command->footer(
      "Measures messages between ranks, MPI's own all-reduce, every operation of one training step, and\n"
      "storage, warm and cold (the last two only with real math). The runs that are compared later are not "
      "used. Examples:\n"
      "  tandem calibrate workloads/experiments/mixed_lab.yaml --out profile.json\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --set physics.network=profile --set "
      "physics.profile=profile.json\n"
      "  tandem calibrate workloads/experiments/this_machine.yaml --platform platforms/this_machine.xml\n"
      "  tandem calibrate workloads/experiments/mixed_lab.yaml --cluster --out mixed_lab_profile.json\n"
      "  tandem calibrate workloads/experiments/mixed_lab.yaml --hosts a:4,b:4 --map server=a\n"
      "  tandem calibrate workloads/experiments/one_h200.yaml --print-command\n"
      "  tandem calibrate --from-nccl-tests all_reduce_8.txt --into profile.json --force\n"
      "  tandem calibrate --from-nccl-tests all_reduce_8.txt --out tables.json\n"
      "  tandem simulate lab.yaml --set physics.profile=tables.json");
  command->callback([options, &exit_code] { exit_code = calibrate(*options); });
}

}  // namespace tandem::cli
