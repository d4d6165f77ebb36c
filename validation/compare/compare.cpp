#include "validation/compare/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/records/metrics.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

// ---- Whether the results belong together ----

/// Without the keys that may differ between simulation and measurement: names, what only the simulator reads,
/// and the number of repetitions.
json comparable(const Experiment& experiment) {
  json keys = to_json(experiment);
  for (const char* key : {"name", "physics", "repetitions", "variants"}) keys.erase(key);
  // A run has none.
  if (experiment.data.store == StoreAccess::mounted) keys.at("placement").erase("stores");
  return keys.flatten();
}

/// "/sync/algorithm" -> "sync.algorithm".
std::string dotted(const std::string& pointer) {
  std::string key = pointer.substr(1);
  std::replace(key.begin(), key.end(), '/', '.');
  return key;
}

void check_experiments(const Results& a, const Results& b) {
  const json ours = comparable(a.info.experiment), theirs = comparable(b.info.experiment);
  json all = ours;
  all.update(theirs);
  for (const auto& [pointer, unused] : all.items()) {
    const std::string mine = ours.contains(pointer) ? ours.at(pointer).dump() : "absent";
    const std::string other = theirs.contains(pointer) ? theirs.at(pointer).dump() : "absent";
    if (mine != other)
      throw ConfigError(
          fmt::format("{} and {} are of different experiments: '{}' is {} in the first and {} in "
                      "the second",
                      a.path, b.path, dotted(pointer), mine, other));
  }
}

void check_world(const Results& results, const std::string& expected) {
  // The witness may be compared with simulations and with measurements.
  if (results.info.world != expected && results.info.world != "smpi")
    throw ConfigError(
        fmt::format("{}: expected a {} result, found a {} one", results.path, expected, results.info.world));
}

void check_counted_steps(const Results& results) {
  const auto counted = [&](const StepRecord& step) { return counts(results.info, step); };
  if (std::none_of(results.journal.steps.begin(), results.journal.steps.end(), counted))
    throw ConfigError(fmt::format("{}: no step beyond the {} warm-up steps (warmup_steps) of each worker",
                                  results.path, results.info.experiment.warmup_steps));
}

/// Only simulations have ranks for a mounted storage.
std::vector<std::string> comparable_roles(const RunInfo& info) {
  std::vector<std::string> roles = info.roles;
  if (info.experiment.data.store == StoreAccess::mounted) std::erase(roles, "store");
  return roles;
}

void check_same_job(const Results& simulated, const Results& other) {
  check_experiments(simulated, other);
  if (comparable_roles(simulated.info) != comparable_roles(other.info))
    throw ConfigError(fmt::format("{} and {} have different roles: {} and {}", simulated.path, other.path,
                                  fmt::join(simulated.info.roles, " "), fmt::join(other.info.roles, " ")));
  const auto from_round = [](const Results& results) {
    return results.info.resumed ? results.info.resumed->round : 0;
  };
  if (from_round(simulated) != from_round(other))
    throw ConfigError(fmt::format(
        "{} and {}: expected both to start at the same round, found one resumed from round {} and one "
        "from round {} (--resume)",
        simulated.path, other.path, from_round(simulated), from_round(other)));
  check_counted_steps(other);
}

void check_together(const Results& simulated, const std::vector<Results>& measured) {
  if (measured.empty()) throw ConfigError("nothing to compare " + simulated.path + " with");
  check_world(simulated, "simulated");
  check_counted_steps(simulated);
  for (const auto& run : measured) {
    check_world(run, "measured");
    check_same_job(simulated, run);
  }
}

// ---- Figures ----

using StepValue = std::function<double(const StepRecord&)>;
/// None, or NaN: a run has no such figure.
using RunValue = std::function<std::optional<double>(const Results&)>;

Series series_of(const Results& results, Rank rank, const StepValue& value) {
  Series series;
  for (const auto& step : results.journal.steps) {
    if (!counts(results.info, step) || (rank >= 0 && step.rank != rank)) continue;
    const auto position = static_cast<std::size_t>(step.step - results.info.experiment.warmup_steps);
    if (series.sums.size() <= position) {
      series.sums.resize(position + 1);
      series.counts.resize(position + 1);
    }
    series.sums[position] += value(step);
    series.counts[position] += 1;
  }
  return series;
}

/// Fills in what follows from the simulated and measured values.
void finish(Figure& figure, double simulated, const std::vector<double>& measured,
            const std::vector<double>& errors, double margin) {
  figure.simulated = simulated;
  figure.measured = boost::math::statistics::mean(measured);
  figure.error = relative_error(figure.simulated, figure.measured);
  figure.noise_floor = noise_floor(measured);
  figure.interval = percentile_interval(errors, 0.95);
  figure.verdict = equivalence(errors, margin);
}

class Figures {
 public:
  Figures(const Results& simulated, const std::vector<Results>& measured, const CompareOptions& options,
          const Results* witness)
      : simulated_(simulated), measured_(measured), options_(options), witness_(witness) {}

  /// A mean over steps. Left out if no step of the rank counts in the simulation or in a measurement.
  void add_step_mean(Figure figure, const StepValue& value) {
    const Series simulation = series_of(simulated_, figure.rank, value);
    std::vector<Series> runs;
    std::vector<double> means;
    for (const auto& run : measured_) {
      means.push_back(runs.emplace_back(series_of(run, figure.rank, value)).mean());
      if (runs.back().sums.empty()) return;
    }
    if (simulation.sums.empty()) return;
    finish(figure, simulation.mean(), means, resampled_errors(simulation, runs, options_.resampling),
           options_.margin);
    if (witness_ != nullptr)
      if (const Series series = series_of(*witness_, figure.rank, value); !series.sums.empty())
        figure.witness = series.mean();
    all.push_back(std::move(figure));
  }

  /// A value of the whole run. Left out if the simulation or a measurement lacks it.
  void add_run_value(Figure figure, const RunValue& value) {
    const auto has = [&](const Results& results) {
      const auto own = value(results);
      return own && !std::isnan(*own);
    };
    if (!has(simulated_) || !std::all_of(measured_.begin(), measured_.end(), has)) return;
    std::vector<double> values;
    for (const auto& run : measured_) values.push_back(*value(run));
    const double simulated = *value(simulated_);
    finish(figure, simulated, values, resampled_errors(simulated, values, options_.resampling),
           options_.margin);
    if (witness_ != nullptr && has(*witness_)) figure.witness = *value(*witness_);
    all.push_back(std::move(figure));
  }

  std::vector<Figure> all;

 private:
  const Results& simulated_;
  const std::vector<Results>& measured_;
  const CompareOptions& options_;
  const Results* witness_;  ///< null: none
};

// ---- Figures of whole runs ----

template <class Number>
std::optional<double> number(const Number& value) {
  return static_cast<double>(value);
}
std::optional<double> number(Seconds value) { return value.count(); }
template <class Number>
std::optional<double> number(const std::optional<Number>& value) {
  return value ? number(*value) : std::nullopt;
}

/// A member of the summary itself.
template <class Member>
RunValue of_summary(Member Summary::*member) {
  return [member](const Results& run) -> std::optional<double> { return number(run.summary.*member); };
}
/// A member of a part of the summary, which may be missing.
template <class Part, class Member>
RunValue of_part(std::optional<Part> Summary::*part, Member Part::*member) {
  return [=](const Results& run) -> std::optional<double> {
    const auto& own = run.summary.*part;
    return own ? number((*own).*member) : std::nullopt;
  };
}
RunValue of_bytes(std::int64_t ByteSums::*sum) {
  return [sum](const Results& run) { return number(run.summary.bytes.*sum); };
}
RunValue of_data(std::optional<DataPart> DataFigures::*part, std::optional<double> DataPart::*figure) {
  return [=](const Results& run) -> std::optional<double> {
    const auto& data = run.summary.data;
    return data && (*data).*part ? (*((*data).*part)).*figure : std::nullopt;
  };
}
RunValue among_jobs(std::optional<double> JobSummary::*figure) {
  return [figure](const Results& run) -> std::optional<double> {
    return run.among_jobs ? (*run.among_jobs).*figure : std::nullopt;
  };
}

/// Figures of some algorithms only: samples that are not applied, staleness, local steps, phases of workers.
void add_of_algorithm(const Results& simulated, const std::vector<Results>& measured, Figures& figures) {
  const auto exceeds = [&](const RunValue& value, double bound) {
    const auto does = [&](const Results& run) { return value(run).value_or(bound) > bound; };
    return does(simulated) || std::ranges::any_of(measured, does);
  };
  const auto add = [&](const char* key, const char* name, Unit unit, const RunValue& value) {
    figures.add_run_value({.key = key, .name = name, .unit = unit}, value);
  };
  using Steps = DistributionSummary;
  if (exceeds(of_summary(&Summary::dropped_samples), 0) || exceeds(of_summary(&Summary::pending_samples), 0))
    add("applied_throughput", "samples applied per second", Unit::samples_per_second,
        of_summary(&Summary::applied_throughput));
  if (exceeds(of_part(&Summary::staleness, &Steps::max), 0))
    add("staleness", "mean staleness", Unit::count, of_part(&Summary::staleness, &Steps::mean));
  if (exceeds(of_part(&Summary::local_steps, &Steps::max), 1))
    add("local_steps", "local steps per round", Unit::count, of_part(&Summary::local_steps, &Steps::mean));
  if (ResolvedExperiment(simulated.info.experiment).algorithm->timing_driven)
    add("phase_order", "phase order of workers", Unit::count, of_summary(&Summary::phase_order));
}

std::optional<TargetTimes> target_of(const Results& simulated, const std::vector<Results>& measured) {
  const double target = simulated.info.experiment.target_accuracy;
  if (target <= 0) return std::nullopt;
  const auto time_of = [](const Results& results) -> std::optional<double> {
    const auto outcome = time_to_target(results.info, results.journal);
    if (!outcome || !outcome->reached) return std::nullopt;
    return outcome->reached->checkpoint_time.count();
  };
  TargetTimes times{.target = target, .simulated = time_of(simulated), .measured = 0.0};
  for (const auto& run : measured) {
    const auto time = time_of(run);
    if (!time) times.measured.reset();
    if (times.measured) *times.measured += *time / static_cast<double>(measured.size());
  }
  return times;
}

double duration_of(const StepRecord& step) { return step.duration().count(); }

std::vector<Figure> figures_of(const Results& simulated, const std::vector<Results>& measured,
                               const CompareOptions& options, const Results* witness) {
  Figures figures(simulated, measured, options, witness);
  figures.add_step_mean({.key = "step_time", .name = "step time"}, duration_of);
  for (std::size_t i = 0; i < phase_count; ++i)
    figures.add_step_mean({.key = std::string("phase.") + phase_names[i], .name = phase_names[i]},
                          [i](const StepRecord& step) { return step.phases[i].count(); });
  const double step_time = figures.all.front().measured;
  for (auto& figure : figures.all)
    if (figure.key != "step_time") figure.contribution = (figure.simulated - figure.measured) / step_time;
  std::set<Rank> workers;
  for (const auto& step : simulated.journal.steps) workers.insert(step.rank);
  for (const Rank rank : workers)
    figures.add_step_mean(
        {.key = "step_time", .name = "step time of " + describe_rank(simulated.info, rank), .rank = rank},
        duration_of);
  const auto add = [&](const char* key, const char* name, Unit unit, const RunValue& value) {
    figures.add_run_value({.key = key, .name = name, .unit = unit}, value);
  };
  add("makespan", "makespan", Unit::seconds, of_summary(&Summary::makespan_s));
  add("throughput", "throughput", Unit::samples_per_second, of_summary(&Summary::throughput));
  add("cost", "cost", Unit::dollars, [](const Results& run) {
    return run.summary.cost ? std::optional(run.summary.cost->total.dollars()) : std::nullopt;
  });
  add("slow_down", "slow-down against alone", Unit::count, among_jobs(&JobSummary::slow_down));
  add("step_slow_down", "slow-down of steps against alone", Unit::count,
      among_jobs(&JobSummary::step_slow_down));
  add("computing_share", "share of time computing", Unit::ratio,
      of_part(&Summary::shares, &TimeShares::computing));
  add_of_algorithm(simulated, measured, figures);
  add("time_to_target", "time to target accuracy", Unit::seconds,
      of_part(&Summary::time_to_target, &TargetOutcome::checkpoint_time_s));
  add("samples_to_target", "samples to target accuracy", Unit::count,
      of_part(&Summary::time_to_target, &TargetOutcome::samples));
  add("rounds", "rounds", Unit::count, of_summary(&Summary::rounds));
  add("departures", "departures of workers", Unit::count,
      of_part(&Summary::membership, &MembershipSummary::departures));
  add("lost_samples", "samples lost with them", Unit::count,
      of_part(&Summary::membership, &MembershipSummary::lost_samples));
  add("bytes_sent", "sent by workers", Unit::bytes, of_bytes(&ByteSums::sent));
  add("bytes_received", "received by workers", Unit::bytes, of_bytes(&ByteSums::received));
  const auto of_cache = [](auto member) { return of_part(&Summary::cache, member); };
  add("cache.local", "cache hits", Unit::count, of_cache(&CacheSummary::local));
  add("cache.storage", "cache misses", Unit::count, of_cache(&CacheSummary::storage));
  add("cache.peer", "samples from other cache nodes", Unit::count, of_cache(&CacheSummary::peer));
  add("cache.hit_ratio", "hit ratio", Unit::ratio, of_cache(&CacheSummary::hit_ratio));
  add("cache.storage_bytes", "read from storage", Unit::bytes, of_cache(&CacheSummary::storage_bytes));
  add("cache.storage_time", "time reading storage", Unit::seconds, of_cache(&CacheSummary::storage_time));
  add("cold_epoch_time", "time of the cold epoch", Unit::seconds,
      of_data(&DataFigures::cold, &DataPart::epoch_time_s));
  add("epoch_time", "time per warm epoch", Unit::seconds,
      of_data(&DataFigures::warm, &DataPart::epoch_time_s));
  add("stall", "stall in warm epochs", Unit::ratio, of_data(&DataFigures::warm, &DataPart::stall));
  return std::move(figures.all);
}

void add_interval(const char* key, const std::optional<EnsembleFigure>& interval,
                  double ReplicaFigures::*member, const std::vector<Results>& measured,
                  std::vector<Figure>& figures) {
  const auto figure =
      std::ranges::find_if(figures, [&](const Figure& own) { return own.key == key && own.rank < 0; });
  if (!interval || figure == figures.end()) return;
  EnsembleInterval held{.low = interval->low, .high = interval->high};
  for (const auto& run : measured) {
    const double value = replica_figures(run.summary).*member;
    held.inside += held.low <= value && value <= held.high ? 1 : 0;
    ++held.runs;
  }
  figure->ensemble = held;
}

void add_intervals(std::vector<Figure>& figures, const Results& simulated,
                   const std::vector<Results>& measured) {
  if (!simulated.summary.ensemble) return;
  const EnsembleSummary::Figures& ensemble = simulated.summary.ensemble->figures;
  add_interval("step_time", ensemble.step_time, &ReplicaFigures::step_time, measured, figures);
  add_interval("throughput", ensemble.throughput, &ReplicaFigures::throughput, measured, figures);
  add_interval("makespan", ensemble.makespan, &ReplicaFigures::makespan, measured, figures);
  add_interval("phase_order", ensemble.phase_order, &ReplicaFigures::phase_order, measured, figures);
}

std::vector<double> durations_of(const Results& results) {
  std::vector<double> durations;
  for (const auto& step : results.journal.steps)
    if (counts(results.info, step)) durations.push_back(duration_of(step));
  return durations;
}

StepTimes step_times_of(const Results& simulated, const std::vector<Results>& measured) {
  StepTimes times{.simulated = durations_of(simulated)};
  for (const auto& run : measured) {
    const auto durations = durations_of(run);
    times.measured.insert(times.measured.end(), durations.begin(), durations.end());
  }
  for (auto* world : {&times.simulated, &times.measured}) std::sort(world->begin(), world->end());
  times.kolmogorov = kolmogorov_distance(times.simulated, times.measured);
  times.wasserstein =
      wasserstein_distance(times.simulated, times.measured) / boost::math::statistics::mean(times.measured);
  return times;
}

int unmatched_steps(const Results& simulated, const Results& measured) {
  std::set<std::pair<Rank, int>> unmatched;
  for (const auto& step : simulated.journal.steps) unmatched.emplace(step.rank, step.step);
  for (const auto& step : measured.journal.steps)
    if (const std::pair key{step.rank, step.step}; unmatched.erase(key) == 0) unmatched.insert(key);
  return static_cast<int>(unmatched.size());
}

}  // namespace

bool Comparison::gates_hold() const {
  for (const Gate* gate : {&operations, &decisions, &replay})
    if (gate->state == Gate::State::failed) return false;
  return true;
}

const Figure* Comparison::find(const std::string& key, Rank rank) const {
  for (const auto& figure : figures)
    if (figure.key == key && figure.rank == rank) return &figure;
  return nullptr;
}

const Figure& Comparison::figure(const std::string& key, Rank rank) const {
  const Figure* found = find(key, rank);
  TANDEM_CHECK(found != nullptr, "key", key, "rank", rank);
  return *found;
}

Comparison compare(const Results& simulated, const std::vector<Results>& measured,
                   const CompareOptions& options, const std::optional<Results>& witness) {
  check_together(simulated, measured);
  if (witness) {
    if (witness->info.world != "smpi")
      throw ConfigError(
          fmt::format("{}: expected a result of `tandem simulate --fidelity smpi`, found a {} one",
                      witness->path, witness->info.world));
    check_same_job(simulated, *witness);
  }
  Comparison comparison;
  comparison.operations = operations_parity(simulated, measured);
  comparison.decisions = decisions_parity(simulated, measured);
  comparison.replay = replay(simulated, measured);
  comparison.figures = figures_of(simulated, measured, options, witness ? &*witness : nullptr);
  add_intervals(comparison.figures, simulated, measured);
  comparison.step_times = step_times_of(simulated, measured);
  comparison.members = compare_members(simulated, measured);
  comparison.target = target_of(simulated, measured);
  comparison.attribution = attribution(simulated, measured);
  for (const auto& run : measured) {
    comparison.unmatched_steps = std::max(comparison.unmatched_steps, unmatched_steps(simulated, run));
    if (comparison.origin.difference.empty()) comparison.origin = origin_of(simulated.info, run.info);
  }
  return comparison;
}

}  // namespace tandem::validation
