#include "cli/shared/results_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cli/shared/data_text.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/plan_forecast.hpp"
#include "platforms/name_ranges.hpp"
#include "policies/vocabulary/money.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "validation/compare/attribution.hpp"
#include "validation/compare/members.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/launches.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

// Share of the makespan above which waiting for a CPU core is noted.
constexpr double worth_a_note = 0.1;

constexpr double least_share = 0.0005;  // smaller ones round to 0 %

/// "\n  workers: computing 71.2 % of the time (45.0 to 98.1 %), exchange 28.1 %".
std::string shares_line(const Summary& summary) {
  std::string line = "\n  workers: ";
  double lowest = 1, highest = 0;
  for (const auto& rank : summary.ranks) {
    lowest = std::min(lowest, rank.shares.computing);
    highest = std::max(highest, rank.shares.computing);
  }
  const TimeShares shares = summary.shares.value_or(TimeShares{});
  line += fmt::format("computing {:.1f} % of the time", 100 * shares.computing);
  if (highest - lowest >= 0.01) line += fmt::format(" ({:.1f} to {:.1f} %)", 100 * lowest, 100 * highest);
  const std::pair<const char*, double> others[] = {{"data", shares.data},
                                                   {"query", shares.query},
                                                   {"exchange", shares.exchange},
                                                   {"waiting for commits", shares.commits},
                                                   {"other", shares.other}};
  for (const auto& [name, share] : others) {
    if (share < least_share) continue;
    line += fmt::format(", {} {:.1f} %", name, 100 * share);
    if (summary.exchange_shares && name == std::string("exchange"))
      line += fmt::format(" ({:.1f} % waiting)", 100 * summary.exchange_shares->waiting);
  }
  return line;
}

std::string seconds_text(double seconds) { return significant(seconds, 4) + " s"; }

/// What the column "stall" leaves out.
std::string stall_line(const std::optional<validation::Binding>& binding) {
  if (!binding || binding->later_samples < least_share) return "";
  return fmt::format(
      "\n  stall: the part of its step time that a worker waited for its own samples; the others waited "
      "another {:.1f} % of all steps for its exchange",
      100 * binding->later_samples);
}

/// "\n  step time: exchange 40.1 %, data 31.9 % (21.7 % in exchanges, ...), computing 28 %": the largest
/// first.
std::string binds_line(const std::optional<validation::Binding>& binding) {
  if (!binding) return "";
  const auto in_exchanges = [](double share, const char* reason) {
    return share < least_share ? "" : fmt::format(" ({:.1f} % in exchanges, {})", 100 * share, reason);
  };
  std::vector<std::tuple<double, const char*, std::string>> parts = {
      {binding->computing, "computing", in_exchanges(binding->slower_workers, "waiting for slower workers")},
      {binding->data, "data",
       in_exchanges(binding->later_samples, "waiting for workers whose samples came later")},
      {binding->decoding, "decoding samples",
       in_exchanges(binding->slower_decoding, "waiting for workers that decoded longer")},
      {binding->exchange, "exchange", ""},
      {binding->commits, "waiting for commits",
       in_exchanges(binding->slower_commits, "waiting for workers that wrote longer")},
      {binding->query, "query", ""}};
  std::ranges::stable_sort(parts, std::ranges::greater(), [](const auto& part) { return std::get<0>(part); });
  std::string line;
  for (const auto& [share, name, reason] : parts)
    if (share >= least_share)
      line += fmt::format("{}{} {:.1f} %{}", line.empty() ? "" : ", ", name, 100 * share, reason);
  return (binding->commits < least_share ? "\n  step time: " : "\n  steps and commits: ") + line;
}

/// What the shares of workers do not show: they wait for a busy disk in their exchanges, too.
std::string store_line(const Summary& summary) {
  if (!summary.cache || !validation::is_saturated(summary.cache->storage_busy)) return "";
  return fmt::format(
      "\n  binds: the store, whose disk reads for {:.1f} % of the time; workers that have their samples wait "
      "in "
      "the exchange for the others",
      100 * std::min(1.0, *summary.cache->storage_busy));
}

/// Staleness and local steps, if the algorithm has them.
std::string rounds_line(const Summary& summary) {
  std::string line;
  if (const auto& staleness = summary.staleness; staleness && staleness->max > 0)
    line += fmt::format("staleness {} on average, at most {}", three_digits(staleness->mean),
                        with_separators(staleness->max));
  if (const auto& steps = summary.local_steps; steps && steps->max > 1)
    line += fmt::format("{}{} to {} local steps per round, {} on average", line.empty() ? "" : "; ",
                        with_separators(steps->min), with_separators(steps->max), three_digits(steps->mean));
  return line.empty() ? "" : "\n  " + line;
}

/// Exchanges per worker on average: "1,938", or "20.8" where workers differ.
std::string rounds_text(double rounds) { return with_unit(rounds, Unit::count); }
/// No job has half a round.
const char* mean_of_workers(double rounds) { return rounds == std::floor(rounds) ? "" : " per worker"; }

/// Later rounds than that of the last evaluation are in no accuracy.
std::string accuracy_text(const Journal& journal, double rounds) {
  if (journal.evaluations.empty()) return "";
  const EvaluationRecord& last = journal.evaluations.back();
  if (std::isnan(last.accuracy)) return "";
  const std::string top5 =
      std::isnan(last.top5_accuracy) ? "" : fmt::format(" (top-5 {:.3f})", last.top5_accuracy);
  return fmt::format(", test accuracy {:.3f}{} after round {} of {}{}", last.accuracy, top5, last.round,
                     rounds_text(rounds), mean_of_workers(rounds));
}

std::string target_line(const Summary& summary) {
  if (!summary.time_to_target) return "";
  const TargetOutcome& target = *summary.time_to_target;
  const std::string begin = fmt::format("\n  target accuracy {:.4g}: ", target.target);
  if (target.evaluations == 0) return begin + "not evaluated (needs workload.math: real and evaluate_every)";
  if (!target.reached)
    return begin + fmt::format("not reached in {} evaluations, best {:.3f}",
                               with_separators(target.evaluations), target.best.value());
  return begin + fmt::format("reached after {} ({} including its evaluation) and {} samples",
                             seconds_text(target.checkpoint_time_s.value()),
                             seconds_text(target.time_s.value()), with_separators(target.samples.value()));
}

std::string accuracy_stop_line(const Results& results) {
  if (!results.summary.accuracy_stop) return "";
  const double wanted = results.info.experiment.stop.accuracy;
  const auto& stop = *results.summary.accuracy_stop;
  if (!stop)
    return fmt::format("\n  stop.accuracy {:.4g} was not reached; another limit of stop ended the job",
                       wanted);
  return fmt::format(
      "\n  stopped by stop.accuracy {:.4g}: evaluation {}, after round {}, found {:.4g} at {:.4g} s", wanted,
      stop->evaluation, stop->round, stop->accuracy, stop->time_s);
}

/// The intervals of an ensemble.
std::string ensemble_line(const Summary& summary) {
  if (!summary.ensemble) return "";
  const EnsembleSummary& ensemble = *summary.ensemble;
  const auto interval = [](const char* name, const std::optional<EnsembleFigure>& figure,
                           Unit unit) -> std::string {
    if (!figure) return "";
    return fmt::format("{} {} ({} to {})", name, with_unit(figure->median, unit),
                       with_unit(figure->low, unit), with_unit(figure->high, unit));
  };
  return fmt::format(
      "\n  median and {:.0f} % interval of {} simulations, and {:.0f} % for errors of the model: {}, {}; {}",
      100 * ensemble.level, ensemble.replicas, 100 * ensemble.model_error,
      interval("step time", ensemble.figures.step_time, Unit::seconds),
      interval("throughput", ensemble.figures.throughput, Unit::samples_per_second),
      interval("phase order of workers", ensemble.figures.phase_order, Unit::count));
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// "network: ...; devices: ...": whose they were, because two results with different networks cannot be
/// compared.
std::string origin_line(const RunInfo& info) {
  if (!info.network) return "";
  const std::string platform = file_name(info.experiment.platform);
  const std::string &kind = info.network->kind, &of = info.network->of;
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
      {"fitted", "as fast as physics.predictor says"},
      {"emulated", "emulated, as fast as the platform and the device catalogue say"},
      {"cpu", "real processors"},
      {"gpu", "real GPUs"}};
  const auto known = devices.find(info.devices);
  return "\n  network: " + network + "; devices: " + (known == devices.end() ? info.devices : known->second);
}

/// What the times of compressions are, where no calibration has measured them.
std::string compression_line(const RunInfo& info) {
  const bool is_estimated = info.world == "simulated" && info.devices != "calibrated";
  if (info.experiment.sync.compression == "none" || !is_estimated) return "";
  return "\n  compression: not measured: bytes at the device's rate of memory; on GPUs also the start of each "
         "kernel, as an H100 took (validation/reports/gpu-2026-11-28.md)";
}

/// How many finished steps are done again after a restart, where workers recover in place.
std::string done_again_text(const MembershipSummary& membership) {
  if (!membership.done_again_samples) return "";
  const auto& samples = *membership.done_again_samples;
  if (!samples) return ", an unknown number done again";
  return fmt::format(", {} done again", with_separators(*samples));
}

/// Departures of machines without workers, by role.
std::string other_departures_text(const MembershipSummary& membership) {
  const std::int64_t all = membership.other_departures;
  if (all == 0) return "";
  std::vector<std::string> roles;
  for (const auto& [role, count] : membership.other_roles)
    roles.push_back(fmt::format("{} {}", with_separators(count), role));
  return fmt::format("\n  {} of machines without workers ({})",
                     all == 1 ? "1 departure" : with_separators(all) + " departures", fmt::join(roles, ", "));
}

/// "\n  2 workers: 53.1 samples/s for 20.0 s; 4 workers, learning rate x 2: ...": of the numbers of workers
/// that the job had for the longest time.
std::string workers_text(std::vector<TimeOfWorkers> all, const Experiment& experiment) {
  constexpr std::size_t most = 6;
  std::ranges::stable_sort(all, std::greater(), &TimeOfWorkers::time);
  all.resize(std::min(most, all.size()));
  std::ranges::sort(all, {}, &TimeOfWorkers::workers);
  std::vector<std::string> parts;
  for (const TimeOfWorkers& own : all) {
    const double factor = validation::rate_factor_of(experiment, own.workers);
    parts.push_back(fmt::format(
        "{} {}{}: {} samples/s for {}", own.workers, own.workers == 1 ? "worker" : "workers",
        factor == 1.0 ? "" : ", learning rate x " + three_digits(factor),
        three_digits(static_cast<double>(own.samples) / own.time.count()), seconds_text(own.time.count())));
  }
  return parts.empty() ? "" : fmt::format("\n  {}", fmt::join(parts, "; "));
}

/// A simulated time is that of one draw, unless there are several.
std::string draw_text(const Summary& summary, const RunInfo& info) {
  if (info.world != "simulated" || summary.ensemble ||
      !ResolvedExperiment(info.experiment).lifetime->is_drawn)
    return "";
  return fmt::format(
      "\n  lifetimes: one draw (seed {}); another --set seed gives other departures and another time",
      info.experiment.seed);
}

std::string membership_line(const Summary& summary, const RunInfo& info) {
  if (!summary.membership) return "";
  const Experiment& experiment = info.experiment;
  const MembershipSummary& membership = *summary.membership;
  const auto joined = membership.joined - std::ssize(experiment.placement.workers);
  const auto counted = [](std::int64_t count, const char* one, const char* several) {
    return fmt::format("{} {}", with_separators(count), count == 1 ? one : several);
  };
  const auto& lost = membership.lost_samples;
  return fmt::format(
      "\n  {}, {}, {}{}{}{}{}{}",
      counted(membership.departures, "departure of a worker", "departures of workers"),
      counted(std::max<std::int64_t>(0, joined), "later arrival", "later arrivals"),
      lost ? counted(*lost, "sample lost", "samples lost") : "an unknown number of samples lost",
      done_again_text(membership), workers_text(membership.by_workers, experiment),
      other_departures_text(membership), draw_text(summary, info),
      membership.warning.empty() ? "" : "\n  warning: " + membership.warning);
}

/// Why a job has started again: "departures of machines", or "a rank had died".
std::string causes_of_restarts(const RunInfo& info) {
  std::size_t departures = 0, arrivals = 0, deaths = 0;
  for (const auto& launch : info.generations) {
    if (!launch.ended) continue;
    // The text is that of describe() in restarts.hpp.
    const std::string& why = *launch.ended;
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
  const std::vector<double> times = ready_times_s(info.generations);
  const double median = times.empty() ? 0.0 : quantile(times, 0.5);
  constexpr double microsecond = 1e-6;  // to which the beginning of a generation is recorded
  return median > microsecond ? seconds_text(median) + (times.size() > 1 ? " (median)" : "") : "";
}

/// "with 3, 2, 3 workers"; empty: every generation has had all.
std::string workers_text(const RunInfo& info) {
  std::vector<int> workers;
  for (const auto& launch : info.generations)
    if (launch.workers) workers.push_back(*launch.workers);
  return workers.empty() ? "" : fmt::format("with {} workers", fmt::join(workers, ", "));
}

/// The commits that were lost with the last copy of one of their parts.
std::string losses_text(const RunInfo& info) {
  std::vector<std::int64_t> rounds;
  for (const auto& launch : info.generations)
    if (launch.lost_commit) rounds.push_back(*launch.lost_commit);
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
  if (info.generations.empty()) return "";
  const std::size_t restarts = info.generations.size() - 1;
  std::string line =
      fmt::format("\n  started again {} after {}, {}from round {}",
                  restarts == 1 ? "once" : fmt::format("{} times", restarts), causes_of_restarts(info),
                  restarts == 1 ? "" : "at last ", with_separators(info.generations.back().round));
  if (const std::string times = launch_times(info); !times.empty())
    line += "; ready after " + times;
  else if (info.world == "simulated" && replaces_at_once(info.experiment))
    line +=
        "; machines are replaced and ready at once (transience.start, transience.detect, recovery.launch: 0)";
  if (const std::string workers = workers_text(info); !workers.empty()) line += "; " + workers;
  return line + losses_text(info);
}

/// The assumption of a simulation about commits on hosts without a disk.
std::string diskless_text(const RunInfo& info) {
  const json hosts = info.physics.value("commits_without_disk", json::array());
  if (hosts.empty()) return "";
  return fmt::format(
      "\n  no disk on host '{}'{}: writing commits there costs nothing (to price it, add a <disk> to the "
      "host in {})",
      hosts.at(0).get<std::string>(), hosts.size() > 1 ? fmt::format(" and {} more", hosts.size() - 1) : "",
      file_name(info.experiment.platform));
}

/// ", every 262 rounds (47.3 s)", medians.
std::string interval_text(const std::vector<CommitRecord>& commits) {
  if (commits.size() < 3) return "";
  std::vector<double> rounds, seconds;
  for (std::size_t i = 1; i < commits.size(); ++i) {
    rounds.push_back(static_cast<double>(commits[i].round - commits[i - 1].round));
    seconds.push_back((commits[i].started - commits[i - 1].started).count());
  }
  return fmt::format(", every {} rounds ({})", with_unit(quantile(rounds, 0.5), Unit::count),
                     seconds_text(quantile(seconds, 0.5)));
}

/// Empty where states are not committed apart from evaluations.
std::string commits_line(const Summary& summary, const RunInfo& info,
                         const std::vector<CommitRecord>& records) {
  if (!summary.commits) return "";
  const double blocked_s = summary.commits->blocked.count(), makespan_s = summary.makespan_s;
  const std::int64_t failed = summary.commits->failed_commits;
  const auto count = static_cast<std::int64_t>(summary.commits->count);
  // The model is in the state of a worker, too.
  const std::string size =
      count == 0
          ? ""
          : fmt::format(" of {} (states of the ranks, and the model as a file)",
                        with_unit(static_cast<double>(summary.commits->bytes) / static_cast<double>(count),
                                  Unit::bytes));
  return fmt::format(
             "\n  commits: {}{}{}{}, for which training waited {} ({:.1f} % of the time{})",
             with_separators(count), size,
             failed > 0 ? fmt::format(" ({} more were not completed)", failed) : "", interval_text(records),
             seconds_text(blocked_s), 100 * blocked_s / makespan_s,
             count > 1 && blocked_s > 0.0
                 ? fmt::format(", {} each", seconds_text(blocked_s / static_cast<double>(count + failed)))
                 : "") +
         diskless_text(info);
}

/// What was paid for machines; empty where none has a price.
std::string cost_line(const Summary& summary) {
  if (!summary.cost) return "";
  const CostSummary& cost = *summary.cost;
  std::vector<std::string> roles;
  for (const auto& [role, amount] : cost.roles)
    roles.push_back(fmt::format("{} {}", role, dollars_text(amount)));
  std::string line = fmt::format(
      "\n  cost: {} for {} of {:.3g} h of machines ({}): useful {}, wasted {}, idle {}, waiting {}",
      dollars_text(cost.total), cost.stays == 1 ? "1 stay" : with_separators(cost.stays) + " stays",
      cost.machine_hours, fmt::join(roles, ", "), dollars_text(cost.useful), dollars_text(cost.wasted),
      dollars_text(cost.idle), dollars_text(cost.waiting));
  if (cost.time_scale != 1.0)
    line += fmt::format("; 1 s of the job is {} of machines (transience.time_scale)",
                        seconds_text(cost.time_scale));
  if (!cost.prices_of.empty()) line += fmt::format("; prices of {}", cost.prices_of);
  line += "; without disks and egress";
  if (!cost.without_price.empty())
    line += fmt::format("; no price: {}", platforms::name_ranges(cost.without_price));
  return line;
}

/// What the plan of the job foretold; empty without a plan or a bill.
std::string forecast_line(const std::optional<validation::Forecast>& forecast, const Summary& summary) {
  const auto paid = forecast ? paid_run(*forecast, summary) : std::nullopt;
  return paid ? "\n  " + validation::text_of(*paid) : "";
}

/// How good the figures of --fidelity priced are.
std::string closed_form_line(const RunInfo& info) {
  const auto form = info.physics.find("closed_form");
  if (form == info.physics.end()) return "";
  const json& range = form->at("round_range_s");
  const double low = range.at(0), high = range.at(1);
  return fmt::format(
      "\n  in closed form: {} ({}){}; no step was simulated", form->at("round").get<std::string>(),
      form->at("because").get<std::string>(),
      low < high ? fmt::format(", a round from {} to {}", seconds_text(low), seconds_text(high)) : "");
}

/// Warnings about samples with faults; empty: there were none.
std::string faults_line(const CacheSummary& cache) {
  std::string line;
  if (const auto replaced = cache.replaced.value_or(0); replaced > 0)
    line += fmt::format(
        "\n  warning: {} times another sample took the place of one that could not be read, or was not what "
        "the data set says (data.bad_sample: replace); with stop, the job ends and names it",
        with_separators(replaced));
  if (const auto no_room = cache.no_room.value_or(0); no_room > 0)
    line += fmt::format(
        "\n  warning: {} times the disk of a cache node had no room for a sample of its second tier "
        "(data.disk_capacity), which the data set was read for instead",
        with_separators(no_room));
  if (const auto spoiled = cache.spoiled.value_or(0); spoiled > 0)
    line += fmt::format(
        "\n  warning: {} samples that cache nodes had kept on their disks (data.keep) were not what was "
        "written "
        "there, and are read from the data set again",
        with_separators(spoiled));
  return line;
}

std::string cache_text(const CacheSummary& cache) {
  std::string line;
  // None: nothing was read.
  if (cache.hit_ratio) line += fmt::format(", {:.1f} % of reads from the cache", 100 * *cache.hit_ratio);
  if (cache.kept)
    line +=
        fmt::format(", {} samples kept on disks of cache nodes (data.keep)", with_separators(*cache.kept));
  line += faults_line(cache);
  if (const auto found = cache.classes.find("substituted"); found != cache.classes.end())
    line += fmt::format(", {} samples replaced by others", with_separators(found->second.samples));
  return line;
}

/// How much longer a job on GPUs may take than an uncalibrated simulation says. While messages move, a
/// slowed device computes only the reciprocal of the slow-down.
std::string overlap_line(const RunInfo& info, double makespan_s) {
  if (!info.physics.contains("overlap_s")) return "";
  // The slow-down of kernels that compute while NCCL sums: the worst of public measurements.
  constexpr double published_slowdown = 1.8;
  const double longer_s = (1 - 1 / published_slowdown) * info.physics.at("overlap_s").get<double>();
  return fmt::format(
      "\n  not calibrated: GPUs compute {} while messages move; all-reduces slow that down, up to {} times "
      "in "
      "public measurements: then the job takes at most {} ({:.1f} %) longer (physics.overlap_slowdown)",
      seconds_text(info.physics.at("overlap_s")), published_slowdown, seconds_text(longer_s),
      100 * longer_s / makespan_s);
}

/// ", median step 182 ms", of all workers' steps.
std::string step_text(const TimeStatistics& times) {
  return std::isnan(times.median) ? "" : fmt::format(", median step {}", seconds_text(times.median));
}

/// Why an epoch may have been recorded without all of its samples; empty: it may not.
std::string epochs_in_parts(const RunInfo& info) {
  if (info.resumed) return "the first one lacks what came before the job was resumed";
  if (info.experiment.data.sampling == "shard")
    return "batches with samples of two epochs count for the later one";
  return "";
}

}  // namespace

std::string results_line(const Results& results, bool is_answered,
                         const std::optional<validation::Forecast>& forecast) {
  const Summary& summary = results.summary;
  const double rounds = summary.rounds;
  const bool counts_steps = results.info.experiment.workload.counts_steps();
  std::string line =
      fmt::format("{} {}: {} rounds{}{} in {} ({}{})", results.info.experiment.name, results.info.world,
                  rounds_text(rounds), mean_of_workers(rounds),
                  counts_steps ? "" : fmt::format(", {} samples", with_separators(summary.samples)),
                  seconds_text(summary.makespan_s),
                  counts_steps ? significant(rounds / summary.makespan_s, 4) + " steps/s"
                               : with_unit(summary.throughput, Unit::samples_per_second),
                  step_text(summary.step_time));
  if (const auto dropped = results.journal.dropped_samples; dropped > 0)
    line += fmt::format(", {} of them dropped (arrived too late)", with_separators(dropped));
  if (const auto split = results.journal.split_samples; split > 0)
    line += fmt::format(", {} dropped by some servers alone", with_separators(split));
  if (const auto skipped = results.journal.skipped_steps; skipped > 0)
    line += fmt::format(", {} steps skipped (not finite)", with_separators(skipped));
  line += accuracy_text(results.journal, rounds);
  if (summary.cache) line += cache_text(*summary.cache);
  const auto binding = validation::binding(results.info, results.journal);
  if (summary.data) line += data_lines(*summary.data, epochs_in_parts(results.info)) + stall_line(binding);
  line += ensemble_line(summary) + shares_line(summary) + binds_line(binding) + store_line(summary) +
          commits_line(summary, results.info, results.journal.commits) + rounds_line(summary) +
          membership_line(summary, results.info) + cost_line(summary) + forecast_line(forecast, summary) +
          target_line(summary) + accuracy_stop_line(results) + restarts_line(results.info) +
          origin_line(results.info) + compression_line(results.info) + closed_form_line(results.info);
  if (const auto& sums = results.info.all_reduce; sums.is_object())
    line += "\n  all-reduce: " + sums.at("summary").get<std::string>();
  if (const auto& physics = results.info.physics; physics.contains("native_all_reduce"))
    line += "\n  library all-reduce timed " + physics.at("native_all_reduce").get<std::string>();
  if (!is_answered) line += overlap_line(results.info, summary.makespan_s);
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
  const double waited = results.journal.cpu_wait.count() / summary.makespan_s;
  if (waited > worth_a_note)
    line += fmt::format(
        "\n  note: a rank waited for a CPU core for {:.0f} % of the time: more ranks than cores, or other "
        "programs "
        "on this machine",
        waited * 100);
  return line + "\n  " + results.path + "\n";
}

void print_results(const std::string& directory, bool is_answered,
                   const std::optional<validation::Forecast>& forecast) {
  const Results results = read_results(directory);
  fmt::print("{}", results_line(results, is_answered, forecast));
  json document = {{"directory", directory},
                   {"summary", to_json(results.summary)},
                   {"binding", validation::to_json(validation::binding(results.info, results.journal))}};
  if (forecast) document["forecast"] = to_json(*forecast);
  print_document(document);
}

}  // namespace tandem::cli
