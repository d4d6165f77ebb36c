#include "cli/results_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/data_text.hpp"
#include "cli/output.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "validation/compare/attribution.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/launches.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

// Share of the makespan above which waiting for a CPU core is noted.
constexpr double worth_a_note = 0.1;

/// "\n  workers: computing 71.2 % of the time (45.0 to 98.1 %), exchange 28.1 %".
std::string shares_line(const json& summary) {
  // Smaller shares round to 0 %.
  constexpr double least = 0.0005;
  std::string line = "\n  workers: ";
  double lowest = 1, highest = 0;
  for (const auto& rank : summary.at("ranks")) {
    const double computing = rank.at("shares").at("computing");
    lowest = std::min(lowest, computing);
    highest = std::max(highest, computing);
  }
  const auto& shares = summary.at("shares");
  line += fmt::format("computing {:.1f} % of the time", 100 * shares.at("computing").get<double>());
  if (highest - lowest >= 0.01) line += fmt::format(" ({:.1f} to {:.1f} %)", 100 * lowest, 100 * highest);
  for (const char* name : {"data", "query", "exchange", "other"}) {
    const double share = shares.at(name);
    if (share < least) continue;
    line += fmt::format(", {} {:.1f} %", name, 100 * share);
    if (const auto& parts = summary.at("exchange_shares");
        parts.is_object() && name == std::string("exchange"))
      line += fmt::format(" ({:.1f} % waiting)", 100 * parts.at("waiting").get<double>());
  }
  return line;
}

std::string seconds_text(double seconds) { return significant(seconds, 4) + " s"; }

/// "\n  binds: exchange 40.1 % of step time, data 31.9 % (21.7 % in exchanges, ...), computing 28 %": the
/// largest first.
std::string binds_line(const Results& results) {
  const auto binding = validation::binding(results.info, results.journal);
  if (!binding) return "";
  constexpr double least = 0.0005;  // smaller shares round to 0 %
  const auto in_exchanges = [](double share, const char* reason) {
    return share < least ? "" : fmt::format(" ({:.1f} % in exchanges, {})", 100 * share, reason);
  };
  std::vector<std::tuple<double, const char*, std::string>> parts = {
      {binding->computing, "computing", in_exchanges(binding->slower_workers, "waiting for slower workers")},
      {binding->data, "data",
       in_exchanges(binding->later_samples, "waiting for workers whose samples came later")},
      {binding->decoding, "decoding samples",
       in_exchanges(binding->slower_decoding, "waiting for workers that decoded longer")},
      {binding->exchange, "exchange", ""},
      {binding->query, "query", ""}};
  std::ranges::stable_sort(parts, std::ranges::greater(), [](const auto& part) { return std::get<0>(part); });
  std::string line;
  for (const auto& [share, name, reason] : parts)
    if (share >= least)
      line += fmt::format("{}{} {:.1f} %{}{}", line.empty() ? "" : ", ", name, 100 * share,
                          line.empty() ? " of step time" : "", reason);
  return "\n  binds: " + line;
}

/// Staleness and local steps, if the algorithm has them.
std::string rounds_line(const json& summary) {
  std::string line;
  const auto& staleness = summary.at("staleness");
  if (staleness.is_object() && staleness.at("max") > 0)
    line += fmt::format("staleness {} on average, at most {}", three_digits(staleness.at("mean")),
                        with_separators(staleness.at("max")));
  const auto& steps = summary.at("local_steps");
  if (steps.is_object() && steps.at("max") > 1)
    line += fmt::format("{}{} to {} local steps per round, {} on average", line.empty() ? "" : "; ",
                        with_separators(steps.at("min")), with_separators(steps.at("max")),
                        three_digits(steps.at("mean")));
  return line.empty() ? "" : "\n  " + line;
}

/// Exchanges per worker on average: "1,938", or "20.8" where workers differ.
std::string rounds_text(double rounds) { return with_unit(rounds, Unit::count); }

/// Later rounds than that of the last evaluation are in no accuracy.
std::string accuracy_text(const Journal& journal, double rounds) {
  if (journal.evaluations.empty()) return "";
  const EvaluationRecord& last = journal.evaluations.back();
  if (std::isnan(last.accuracy)) return "";
  return fmt::format(", test accuracy {:.3f} after round {} of {}", last.accuracy, last.round,
                     rounds_text(rounds));
}

std::string target_line(const json& summary) {
  const auto& target = summary.at("time_to_target");
  if (!target.is_object()) return "";
  const std::string begin = fmt::format("\n  target accuracy {:.4g}: ", target.at("target").get<double>());
  if (target.at("evaluations") == 0)
    return begin + "not evaluated (needs workload.math: real and evaluate_every)";
  if (!target.at("reached").get<bool>())
    return begin + fmt::format("not reached in {} evaluations, best {:.3f}",
                               with_separators(target.at("evaluations")), target.at("best").get<double>());
  return begin + fmt::format("reached after {} ({} including its evaluation) and {} samples",
                             seconds_text(target.at("checkpoint_time_s")), seconds_text(target.at("time_s")),
                             with_separators(target.at("samples")));
}

std::string accuracy_stop_line(const Results& results) {
  if (!results.summary.contains("accuracy_stop")) return "";
  const double wanted = results.info.experiment.stop.accuracy;
  const auto& stop = results.summary.at("accuracy_stop");
  if (!stop.is_object())
    return fmt::format("\n  stop.accuracy {:.4g} was not reached; another limit of stop ended the job",
                       wanted);
  return fmt::format(
      "\n  stopped by stop.accuracy {:.4g}: evaluation {}, after round {}, found {:.4g} at {:.4g} s", wanted,
      stop.at("evaluation").get<int>(), stop.at("round").get<std::int64_t>(),
      stop.at("accuracy").get<double>(), stop.at("time_s").get<double>());
}

/// The intervals of an ensemble.
std::string ensemble_line(const json& summary) {
  if (!summary.contains("ensemble")) return "";
  const json& ensemble = summary.at("ensemble");
  const auto interval = [&](const char* name, const char* key, Unit unit) -> std::string {
    const json& figure = ensemble.at("figures").at(key);
    if (!figure.is_object()) return "";
    return fmt::format("{} {} ({} to {})", name, with_unit(figure.at("median"), unit),
                       with_unit(figure.at("low"), unit), with_unit(figure.at("high"), unit));
  };
  return fmt::format(
      "\n  median and {:.0f} % interval of {} simulations, and {:.0f} % for errors of the model: {}, {}; "
      "phase order of "
      "workers {}",
      100 * ensemble.at("level").get<double>(), ensemble.at("replicas").get<int>(),
      100 * ensemble.at("model_error").get<double>(), interval("step time", "step_time_s", Unit::seconds),
      interval("throughput", "throughput", Unit::samples_per_second),
      interval("", "phase_order", Unit::count));
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// "network: ...; devices: ...": whose they were, because two results with different networks cannot be
/// compared.
std::string origin_line(const RunInfo& info) {
  if (!info.network.is_object()) return "";
  const std::string platform = file_name(info.experiment.platform);
  const std::string kind = info.network.at("kind");
  const std::string of = info.network.value("of", "");
  std::string network;
  if (kind == "emulated cluster")
    network = "the emulated cluster of " + platform;
  else if (kind == "real cluster")
    network = "that between the machines of this run, not the links of " + platform;
  else if (kind == "this machine")
    network = "this machine's own, not the links of " + platform;
  else if (of == "platform")
    network = "simulated links of " + platform;
  else
    network = "simulated as calibrated on " +
              (of == "this machine"   ? "this machine, not the links of "
               : of == "real cluster" ? "the machines of "
                                      : std::string("the emulated cluster of ")) +
              platform;
  static const std::map<std::string, std::string> devices = {
      {"catalogue", "as fast as the platform and the device catalogue say"},
      {"calibrated", "as fast as calibrated"},
      {"emulated", "emulated, as fast as the platform and the device catalogue say"},
      {"cpu", "real processors"},
      {"gpu", "real GPUs"}};
  const auto known = devices.find(info.devices);
  return "\n  network: " + network + "; devices: " + (known == devices.end() ? info.devices : known->second);
}

/// Of finished steps before the job started again, where its workers recover in place.
std::string done_again_text(const json& membership) {
  if (!membership.contains("done_again_samples")) return "";
  const auto& samples = membership.at("done_again_samples");
  if (samples.is_null()) return ", an unknown number done again";
  return fmt::format(", {} done again", with_separators(samples.get<std::int64_t>()));
}

/// Of machines without workers, by what ran there.
std::string other_departures_text(const json& membership) {
  if (!membership.contains("other_departures")) return "";
  const auto all = membership.at("other_departures").get<std::int64_t>();
  std::vector<std::string> roles;
  const json by_role = membership.value("other_roles", json::object());
  for (const auto& [role, count] : by_role.items())
    roles.push_back(fmt::format("{} {}", with_separators(count.get<std::int64_t>()), role));
  return fmt::format("\n  {} of machines without workers ({})",
                     all == 1 ? "1 departure" : with_separators(all) + " departures", fmt::join(roles, ", "));
}

/// `workers`: with which the job began.
std::string membership_line(const json& summary, std::size_t workers) {
  if (!summary.contains("membership")) return "";
  const json& membership = summary.at("membership");
  const auto joined = membership.at("joined").get<std::int64_t>() - static_cast<std::int64_t>(workers);
  const auto counted = [](std::int64_t count, const char* one, const char* several) {
    return fmt::format("{} {}", with_separators(count), count == 1 ? one : several);
  };
  const auto& lost = membership.at("lost_samples");
  const std::string warning = membership.value("warning", "");
  return fmt::format(
      "\n  {}, {}, {}{}{}{}",
      counted(membership.at("departures"), "departure of a worker", "departures of workers"),
      counted(std::max<std::int64_t>(0, joined), "replacement", "replacements"),
      lost.is_null() ? "an unknown number of samples lost" : counted(lost, "sample lost", "samples lost"),
      done_again_text(membership), other_departures_text(membership),
      warning.empty() ? "" : "\n  warning: " + warning);
}

/// Why a job has started again: "departures of machines", or "a rank had died".
std::string causes_of_restarts(const RunInfo& info) {
  std::size_t departures = 0, arrivals = 0, deaths = 0;
  for (const auto& generation : info.generations) {
    if (!generation.at("ended").is_string()) continue;
    // The text is that of describe() in restarts.hpp.
    const auto why = generation.at("ended").get<std::string>();
    const bool departed = why.find("' departed (") != std::string::npos;
    ++(departed ? departures : why.starts_with("a machine came up for worker ") ? arrivals : deaths);
  }
  std::vector<std::string> causes;
  if (departures > 0)
    causes.emplace_back(departures == 1 ? "a departure of a machine" : "departures of machines");
  if (arrivals > 0) causes.emplace_back(arrivals == 1 ? "an arrival of a machine" : "arrivals of machines");
  if (deaths > 0) causes.emplace_back("a rank had died");
  return fmt::format("{}", fmt::join(causes, ", and after "));
}

/// Until the ranks of restarted launches were ready: "1.2 s (median)". Empty: in no time, or never.
std::string launch_times(const RunInfo& info) {
  const std::vector<double> times = ready_times_s(launches_of(info.generations));
  const double median = times.empty() ? 0.0 : quantile(times, 0.5);
  constexpr double microsecond = 1e-6;  // to which the beginning of a generation is recorded
  return median > microsecond ? seconds_text(median) + (times.size() > 1 ? " (median)" : "") : "";
}

/// "with 3, 2, 3 workers"; empty: every generation has had all.
std::string workers_text(const RunInfo& info) {
  std::vector<int> workers;
  for (const auto& generation : info.generations)
    if (generation.contains("workers")) workers.push_back(generation.at("workers").get<int>());
  return workers.empty() ? "" : fmt::format("with {} workers", fmt::join(workers, ", "));
}

/// The commits that were lost with the last copy of one of their parts.
std::string losses_text(const RunInfo& info) {
  std::vector<std::int64_t> rounds;
  for (const auto& generation : info.generations)
    if (generation.contains("lost_commit"))
      rounds.push_back(generation.at("lost_commit").get<std::int64_t>());
  if (rounds.empty()) return "";
  return fmt::format(
      "\n  commits were lost with the last copy of one of their parts, and the job started from "
      "an earlier one: round{} {}",
      rounds.size() == 1 ? "" : "s", fmt::join(rounds, ", "));
}

/// The experiment states no time until a departed machine is replaced and its ranks are ready.
bool replaces_at_once(const Experiment& experiment) {
  const Seconds delay =
      experiment.transience.start + experiment.transience.detect + experiment.recovery.launch;
  return experiment.transience.may_depart() && delay == Seconds(0);
}

std::string restarts_line(const RunInfo& info) {
  if (!info.generations.is_array()) return "";
  const std::size_t restarts = info.generations.size() - 1;
  std::string line = fmt::format("\n  started again {} after {}, {}from round {}",
                                 restarts == 1 ? "once" : fmt::format("{} times", restarts),
                                 causes_of_restarts(info), restarts == 1 ? "" : "at last ",
                                 with_separators(info.generations.back().at("round").get<std::int64_t>()));
  if (const std::string times = launch_times(info); !times.empty())
    line += "; ready after " + times;
  else if (info.world == "simulated" && replaces_at_once(info.experiment))
    line +=
        "; machines are replaced and ready at once (transience.start, transience.detect, recovery.launch: 0)";
  if (const std::string workers = workers_text(info); !workers.empty()) line += "; " + workers;
  return line + losses_text(info);
}

/// What a simulation assumed of commits on hosts without a disk.
std::string diskless_text(const RunInfo& info) {
  const json hosts = info.physics.value("commits_without_disk", json::array());
  if (hosts.empty()) return "";
  return fmt::format(
      "\n  no disk on host '{}'{}: writing commits there costs nothing (to price it, add a <disk> to the "
      "host in {})",
      hosts.at(0).get<std::string>(), hosts.size() > 1 ? fmt::format(" and {} more", hosts.size() - 1) : "",
      file_name(info.experiment.platform));
}

/// Empty where states are not committed apart from evaluations.
std::string commits_line(const json& summary, const RunInfo& info) {
  if (!summary.contains("commits")) return "";
  const json& commits = summary.at("commits");
  const double blocked_s = commits.at("blocked_s"), makespan_s = summary.at("makespan_s");
  const auto failed = commits.value("failed", std::int64_t{0});
  const std::int64_t count = commits.at("count");
  // The model is in the state of a worker, too.
  const std::string size =
      count == 0 ? ""
                 : fmt::format(" of {} (states of the ranks, and the model as a file)",
                               with_unit(commits.at("bytes").get<double>() / static_cast<double>(count),
                                         Unit::bytes));
  return fmt::format(
             "\n  commits: {}{}{}, for which training waited {} ({:.1f} % of the time{})",
             with_separators(count), size,
             failed > 0 ? fmt::format(" ({} more were not completed)", failed) : "", seconds_text(blocked_s),
             100 * blocked_s / makespan_s,
             count > 1 && blocked_s > 0.0
                 ? fmt::format(", {} each", seconds_text(blocked_s / static_cast<double>(count + failed)))
                 : "") +
         diskless_text(info);
}

/// Of samples.
std::string faults_line(const nlohmann::json& cache) {
  std::string line;
  if (const auto replaced = cache.value("replaced", std::int64_t{0}); replaced > 0)
    line += fmt::format(
        "\n  warning: {} times another sample took the place of one that could not be read, or was not what "
        "the data set says (data.bad_sample: replace); with stop, the job ends and names it",
        with_separators(replaced));
  if (const auto no_room = cache.value("no_room", std::int64_t{0}); no_room > 0)
    line += fmt::format(
        "\n  warning: {} times the disk of a cache node had no room for a sample of its second tier "
        "(data.disk_capacity), which the data set was read for instead",
        with_separators(no_room));
  if (const auto spoiled = cache.value("spoiled", std::int64_t{0}); spoiled > 0)
    line += fmt::format(
        "\n  warning: {} samples that cache nodes had kept on their disks (data.keep) were not what was "
        "written "
        "there, and are read from the data set again",
        with_separators(spoiled));
  return line;
}

/// How much longer a job on GPUs may take than an uncalibrated simulation says. While messages move, a
/// slowed device computes only the reciprocal of the slow-down.
std::string overlap_line(const RunInfo& info, double makespan_s) {
  if (!info.physics.contains("overlap_s")) return "";
  // Of kernels that compute while NCCL sums, the worst of public measurements.
  constexpr double published_slowdown = 1.8;
  const double longer_s = (1 - 1 / published_slowdown) * info.physics.at("overlap_s").get<double>();
  return fmt::format(
      "\n  not calibrated: GPUs compute {} while messages move; all-reduces slow that down, up to {} times "
      "in "
      "public measurements: then the job takes {} ({:.1f} %) longer (physics.overlap_slowdown)",
      seconds_text(info.physics.at("overlap_s")), published_slowdown, seconds_text(longer_s),
      100 * longer_s / makespan_s);
}

/// ", 182 ms per step": the median of all workers' steps.
std::string step_text(const nlohmann::json& times) {
  const auto& median = times.at("median");
  return median.is_number() ? fmt::format(", {} per step", seconds_text(median)) : "";
}

/// Why an epoch may have been recorded without all of its samples; empty: it may not.
std::string epochs_in_parts(const RunInfo& info) {
  if (info.resumed.is_object()) return "the first one without what came before the job was resumed";
  if (info.experiment.data.sampling == "shard")
    return "batches with samples of two epochs count for the later one";
  return "";
}

}  // namespace

std::string results_line(const Results& results) {
  const auto& summary = results.summary;
  const double rounds = summary.at("rounds");
  std::string line = fmt::format(
      "{} {}: {} rounds, {} samples in {} ({}{})", results.info.experiment.name, results.info.world,
      rounds_text(rounds), with_separators(summary.at("samples")), seconds_text(summary.at("makespan_s")),
      with_unit(summary.at("throughput"), Unit::samples_per_second), step_text(summary.at("step_time_s")));
  if (const auto dropped = results.journal.dropped_samples; dropped > 0)
    line += fmt::format(", {} of them dropped (arrived too late)", with_separators(dropped));
  if (const auto skipped = results.journal.skipped_steps; skipped > 0)
    line += fmt::format(", {} steps skipped (not finite)", with_separators(skipped));
  line += accuracy_text(results.journal, rounds);
  // Absent: nothing was read.
  if (const json::json_pointer ratio("/cache/hit_ratio"); summary.contains(ratio))
    line += fmt::format(", {:.1f} % of reads from the cache", 100 * summary.at(ratio).get<double>());
  if (const json::json_pointer kept("/cache/kept"); summary.contains(kept))
    line += fmt::format(", {} samples kept on disks of cache nodes (data.keep)",
                        with_separators(summary.at(kept).get<std::int64_t>()));
  if (summary.contains("cache")) line += faults_line(summary.at("cache"));
  if (summary.contains("cache") && summary.at("cache").at("classes").contains("substituted"))
    line += fmt::format(
        ", {} samples replaced by others",
        with_separators(
            summary.at("cache").at("classes").at("substituted").at("samples").get<std::int64_t>()));
  if (summary.contains("data")) line += data_lines(summary.at("data"), epochs_in_parts(results.info));
  line += ensemble_line(summary) + shares_line(summary) + binds_line(results) +
          commits_line(summary, results.info) + rounds_line(summary) +
          membership_line(summary, results.info.experiment.placement.workers.size()) + target_line(summary) +
          accuracy_stop_line(results) + restarts_line(results.info) + origin_line(results.info);
  if (const auto& sums = results.info.all_reduce; sums.is_object())
    line += "\n  all-reduce: " + sums.at("summary").get<std::string>();
  if (const auto& physics = results.info.physics; physics.contains("native_all_reduce"))
    line += "\n  library all-reduce timed " + physics.at("native_all_reduce").get<std::string>();
  line += overlap_line(results.info, summary.at("makespan_s"));
  if (const auto& shards = results.info.sharding; shards.is_object() && shards.at("bytes").size() > 1)
    line += "\n  server: " + shards.at("summary").get<std::string>();
  if (const auto& shards = results.info.sharding; shards.is_object() && shards.contains("busiest_summary"))
    line += "\n  busiest server: " + shards.at("busiest_summary").get<std::string>();
  if (const auto late = results.journal.missed_deadlines; late > 0)
    line += fmt::format(
        "\n  warning: {} missed deadlines: this machine is too slow or too busy for the devices it emulates, "
        "so the "
        "measured times are too long",
        late);
  const double waited = results.journal.cpu_wait.count() / summary.at("makespan_s").get<double>();
  if (waited > worth_a_note)
    line += fmt::format(
        "\n  note: a rank waited for a CPU core for {:.0f} % of the time: more ranks than cores, or other "
        "programs "
        "on this machine",
        waited * 100);
  return line + "\n  " + results.path + "\n";
}

void print_results(const std::string& directory) {
  const Results results = read_results(directory);
  fmt::print("{}", results_line(results));
  print_document({{"directory", directory},
                  {"summary", results.summary},
                  {"binding", validation::binding_json(results.info, results.journal)}});
}

}  // namespace tandem::cli
