#include "validation/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "validation/report/data_section.hpp"
#include "validation/report/members.hpp"
#include "validation/report/report_fields.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/occupants.hpp"
#include "workloads/records/phase_order.hpp"

namespace tandem::validation {
namespace {

// ---- One configuration ----

/// Workers that are shown one by one.
constexpr std::size_t most_ranks = 8;

AccuracyCurves accuracy_of(const VariantResults& variant) {
  AccuracyCurves curves{.simulated = curve_of(variant.simulated.journal.evaluations)};
  for (const auto& run : variant.measured) curves.measured.push_back(curve_of(run.journal.evaluations));
  return curves;
}

RunMetrics metrics_of(const Summary& summary) {
  return {.samples = summary.samples,
          .applied_samples = summary.applied_samples,
          .pending_samples = summary.pending_samples,
          .dropped_samples = summary.dropped_samples,
          .applied_throughput = summary.applied_throughput,
          .shares = summary.shares,
          .exchange_shares = summary.exchange_shares,
          .staleness = summary.staleness,
          .local_steps = summary.local_steps,
          .phase_order = summary.phase_order,
          .servers = summary.servers,
          .sharding = summary.sharding,
          .time_to_target = summary.time_to_target,
          .membership = summary.membership};
}

ReportMetrics metrics_of(const VariantResults& variant) {
  ReportMetrics metrics{.simulated = metrics_of(variant.simulated.summary)};
  for (const auto& run : variant.measured) metrics.measured.push_back(metrics_of(run.summary));
  return metrics;
}

std::string label_of(const RunInfo& info, Rank rank) {
  const std::string host = host_of(info, rank);
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + host);
}

/// None when the rank took no step.
std::optional<RankMetrics> metrics_of_rank(const Results& results, Rank rank) {
  const auto found = std::ranges::find(results.summary.ranks, rank, &RankSummary::rank);
  if (found == results.summary.ranks.end()) return std::nullopt;
  return RankMetrics{found->shares, found->exchange_shares, found->bytes_sent, found->bytes_received};
}

ShownRanks shown_ranks(const VariantResults& variant) {
  const auto& all = variant.simulated.summary.ranks;
  ShownRanks shown;
  for (const RankSummary& entry : all) {
    if (shown.ranks.size() == most_ranks) break;
    ShownRank& own = shown.ranks.emplace_back();
    own.label = label_of(variant.simulated.info, entry.rank);
    own.simulated = metrics_of_rank(variant.simulated, entry.rank);
    own.measured = metrics_of_rank(variant.measured.front(), entry.rank);
  }
  shown.left_out = all.size() - shown.ranks.size();
  return shown;
}

double first_counted_start(const Results& results) {
  double first = std::numeric_limits<double>::infinity();
  for (const auto& step : results.journal.steps)
    if (counts(results.info, step)) first = std::min(first, step.start.count());
  return first;
}

/// The phases of a rank within a window of time, cut at its ends.
std::vector<Slice> slices_of(const Results& results, Rank rank, double begin, double length) {
  std::vector<Slice> slices;
  for (const auto& step : results.journal.steps) {
    if (step.rank != rank) continue;
    double start = step.start.count() - begin;
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      const double end = start + step.phases[phase].count();
      const double from = std::max(start, 0.0), to = std::min(end, length);
      if (to > from) slices.push_back({from, to - from, phase, step.step});
      start = end;
    }
  }
  return slices;
}

int slot_of(const RunInfo& info, Rank rank) {
  const auto ranks = ranks_of_slots(info);
  return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

/// One and a half rounds, to show local steps and the exchange after them.
double window_length(const Results& results, const Comparison& comparison) {
  const auto& step = comparison.figure("step_time");
  const double rounds = std::max<double>(1.0, results.summary.rounds);
  std::set<Rank> workers;
  for (const auto& record : results.journal.steps) workers.insert(record.rank);
  const double steps_per_round =
      static_cast<double>(results.journal.steps.size()) / static_cast<double>(workers.size()) / rounds;
  return std::clamp(1.5 * steps_per_round, 4.0, 16.0) * std::max(step.simulated, step.measured);
}

Timeline timeline_of(const VariantResults& variant, const Comparison& comparison) {
  const Results& measured = variant.measured.front();
  const double length = window_length(variant.simulated, comparison);
  const double simulated_begin = first_counted_start(variant.simulated);
  const double measured_begin = first_counted_start(measured);
  std::set<Rank> workers;
  for (const auto& step : variant.simulated.journal.steps) workers.insert(step.rank);
  Timeline timeline{.length_s = length};
  for (const Rank rank : workers) {
    if (timeline.ranks.size() == most_ranks) break;
    const int slot = slot_of(variant.simulated.info, rank);
    TimelineRank& own = timeline.ranks.emplace_back();
    own.label = label_of(variant.simulated.info, rank);
    own.simulated = slices_of(variant.simulated, rank, simulated_begin, length);
    own.measured = slices_of(measured, rank, measured_begin, length);
    own.members = {members_in_window(variant.simulated, slot, simulated_begin, length),
                   members_in_window(measured, slot, measured_begin, length)};
  }
  timeline.ranks_left_out = workers.size() - timeline.ranks.size();
  return timeline;
}

/// No workers: there are no phases to compare.
ShownPhases shown_phases(const VariantResults& variant) {
  constexpr std::size_t most_times = 120;
  const auto series_of = [&](const Results& results) {
    PhaseSeries series = phase_series(results.info, results.journal, most_times);
    if (series.times.empty()) return series;
    const Seconds begin = series.times.front();
    for (Seconds& time : series.times) time -= begin;
    series.workers.resize(std::min(series.workers.size(), most_ranks));
    for (auto& row : series.phases) row.resize(series.workers.size());
    return series;
  };
  const PhaseSeries simulated = series_of(variant.simulated), measured = series_of(variant.measured.front());
  if (simulated.times.empty() || measured.times.empty()) return {};
  ShownPhases shown;
  const auto add = [](const PhaseSeries& series, ShownPhases::Series& to) {
    for (const Seconds time : series.times) to.times.push_back(time.count());
    to.phases = series.phases;
  };
  add(simulated, shown.simulated);
  add(measured, shown.measured);
  for (const Rank rank : simulated.workers) shown.workers.push_back(label_of(variant.simulated.info, rank));
  return shown;
}

std::vector<double> quantiles(const std::vector<double>& sorted, int pieces) {
  std::vector<double> values;
  for (int i = 0; i <= pieces; ++i)
    values.push_back(quantile(sorted, static_cast<double>(i) / static_cast<double>(pieces)));
  return values;
}

StepTimeQuantiles quantiles_of(const StepTimes& times) {
  StepTimeQuantiles all{.kolmogorov = times.kolmogorov, .wasserstein = times.wasserstein};
  for (const double share : StepTimes::shares) {
    all.shares.push_back(share);
    all.simulated.push_back(quantile(times.simulated, share));
    all.measured.push_back(quantile(times.measured, share));
  }
  return all;
}

ReportAttribution attribution_of(const Comparison& comparison, const RunInfo& info) {
  constexpr std::size_t most_parts = 12;
  ReportAttribution all{.total = comparison.figure("step_time").error};
  for (const Contribution& part : comparison.attribution) {
    if (all.parts.size() < most_parts) {
      all.parts.push_back({part, host_of(info, part.rank), host_of(info, part.peer)});
      continue;
    }
    ++all.others.parts;
    all.others.share += part.share;
  }
  return all;
}

/// None for jobs without cache nodes.
std::optional<Worlds<std::vector<DataEpoch>>> epochs_of(const VariantResults& variant) {
  const auto& simulated = variant.simulated.summary.data;
  const auto& measured = variant.measured.front().summary.data;
  if (!simulated || !measured) return std::nullopt;
  return Worlds<std::vector<DataEpoch>>{data_epochs(*simulated), data_epochs(*measured)};
}

std::vector<std::string> commands_of(const VariantResults& variant) {
  std::vector<std::string> commands = {variant.simulated.info.command};
  if (variant.witness) commands.push_back(variant.witness->info.command);
  for (const auto& run : variant.measured) commands.push_back(run.info.command);
  return commands;
}

// ---- All configurations ----

/// Errors of step time by host, over ranks and configurations; largest first.
std::vector<HostErrors> hosts_of(const std::vector<ReportConfiguration>& configurations) {
  struct Host {
    std::set<std::string> configurations;
    std::vector<double> errors;
  };
  std::map<std::pair<std::string, std::string>, Host> hosts;
  for (const auto& configuration : configurations) {
    if (configuration.failed()) continue;
    const std::filesystem::path platform(configuration.experiment.platform);
    for (const ReportFigure& figure : configuration.figures) {
      if (figure.rank == -1) continue;
      auto& host = hosts[{platform.stem().string(), figure.host}];
      host.configurations.insert(configuration.name);
      host.errors.push_back(figure.error);
    }
  }
  std::vector<HostErrors> all;
  for (const auto& [name, host] : hosts) {
    double sum = 0, magnitude = 0;
    for (const double error : host.errors) {
      sum += error;
      magnitude += std::abs(error);
    }
    const auto count = static_cast<double>(host.errors.size());
    all.push_back({.platform = name.first,
                   .host = name.second,
                   .configurations = host.configurations.size(),
                   .bias = sum / count,
                   .mape = magnitude / count});
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &HostErrors::mape);
  return all;
}

double error_of(const ReportConfiguration& configuration) {
  const ReportFigure* figure = configuration.find("step_time");
  return figure == nullptr ? 0 : std::abs(figure->error);
}

/// Keeps the details of the worst configurations and of some evenly chosen ones; this keeps reports of many
/// configurations small.
void keep_chosen_details(std::vector<ReportConfiguration>& configurations) {
  std::vector<std::size_t> worked;
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (!configurations[i].failed()) worked.push_back(i);
  if (worked.size() <= most_worst_details + most_even_details) return;
  auto by_error = worked;
  std::stable_sort(by_error.begin(), by_error.end(), [&](std::size_t a, std::size_t b) {
    return error_of(configurations[a]) > error_of(configurations[b]);
  });
  std::set<std::size_t> chosen(by_error.begin(),
                               by_error.begin() + static_cast<std::ptrdiff_t>(most_worst_details));
  std::erase_if(worked, [&](std::size_t i) { return chosen.contains(i); });
  for (std::size_t k = 0; k < most_even_details; ++k)
    chosen.insert(worked[(2 * k + 1) * worked.size() / (2 * most_even_details)]);
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (!chosen.contains(i)) configurations[i].detail.reset();
}

std::vector<std::string> all_commands(const std::vector<ReportConfiguration>& configurations) {
  std::vector<std::string> commands;
  for (const auto& configuration : configurations)
    commands.insert(commands.end(), configuration.commands.begin(), configuration.commands.end());
  return commands;
}

/// The largest share of samples at which a GPU of the run was throttled.
double throttled_share(const Results& run) {
  double most = 0.0;
  for (const auto& gpu : run.summary.gpus) most = std::max(most, gpu.throttled);
  return most;
}

}  // namespace

const ReportFigure* ReportConfiguration::find(const std::string& key) const {
  const auto found = std::ranges::find_if(
      figures, [&](const ReportFigure& figure) { return figure.key == key && figure.rank == -1; });
  return found == figures.end() ? nullptr : &*found;
}

std::vector<const ReportConfiguration*> Report::compared() const {
  std::vector<const ReportConfiguration*> all;
  for (const auto& configuration : configurations)
    if (!configuration.failed()) all.push_back(&configuration);
  return all;
}

std::vector<const ReportConfiguration*> Report::detailed() const {
  auto all = compared();
  std::erase_if(all, [](const auto* configuration) { return !configuration->detail; });
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const auto* configuration) { return error_of(*configuration); });
  return all;
}

nlohmann::json to_json(const Report& report) { return write_fields(report); }

Report report_from_json(const nlohmann::json& document, const std::string& file) {
  return read_fields<Report>(document, file);
}

ReportConfiguration report_configuration(const VariantResults& variant, const Comparison& comparison) {
  const RunInfo& info = variant.simulated.info;
  const Results& measured = variant.measured.front();
  ReportConfiguration all{.name = variant.name,
                          .group = variant.group,
                          .algorithm = variant.algorithm.empty() ? variant.name : variant.algorithm,
                          .set = variant.calibration ? "calibration" : "hold-out",
                          .repetitions = variant.measured.size(),
                          .draws = variant.draws,
                          .warmup_steps = info.experiment.warmup_steps,
                          .unmatched_steps = comparison.unmatched_steps,
                          .other_origin = comparison.origin.difference,
                          .gates = {comparison.operations, comparison.decisions, comparison.replay},
                          .metrics = metrics_of(variant),
                          .members = report_members(comparison.members),
                          .data = data_of_worlds(variant.simulated.summary, measured.summary),
                          .step_times = quantiles_of(comparison.step_times),
                          .attribution = attribution_of(comparison, info),
                          .environment = {info, measured.info},
                          .experiment = info.experiment,
                          .commands = commands_of(variant)};
  for (const Figure& figure : comparison.figures) all.figures.push_back({figure, host_of(info, figure.rank)});
  for (const auto& run : variant.measured) {
    all.throttled = std::max(all.throttled, throttled_share(run));
    all.missed_deadlines += run.journal.missed_deadlines;
    all.other_load = std::max(all.other_load, run.journal.other_load);
    all.cpu_wait_share = std::max(all.cpu_wait_share, run.journal.cpu_wait.count() / run.summary.makespan_s);
  }
  all.detail = ConfigurationDetail{.accuracy = accuracy_of(variant),
                                   .ranks = shown_ranks(variant),
                                   .step_times = {quantiles(comparison.step_times.simulated, 100),
                                                  quantiles(comparison.step_times.measured, 100)},
                                   .phase_series = shown_phases(variant),
                                   .data = epochs_of(variant),
                                   .members = shown_members(variant.simulated, measured, comparison.members),
                                   .timeline = timeline_of(variant, comparison)};
  return all;
}

ReportConfiguration failed_configuration(const Compared& configuration) {
  return {.name = configuration.name,
          .group = configuration.group,
          .algorithm = configuration.algorithm,
          .set = configuration.calibration ? "calibration" : "hold-out",
          .failure = configuration.failure};
}

Report make_report(std::vector<ReportConfiguration> configurations, const Validation& validation,
                   const ReportSource& source) {
  TANDEM_CHECK(configurations.size() == validation.configurations.size());
  keep_chosen_details(configurations);
  // Without a split there is only one set.
  if (validation.sets.size() == 1)
    for (auto& configuration : configurations) configuration.set = "all";
  Report report{.title = source.title,
                .question = validation.question,
                .headline = validation.best,
                .warnings = validation.warnings,
                .state = name_of(validation.judgement.verdict),
                .passed = validation.passed(),
                .verdict = validation.verdict,
                .reasons = validation.judgement.reasons,
                .advice = validation.judgement.advice,
                .tolerance = validation.tolerance,
                .margin = CompareOptions().margin,
                .mape = validation.mape,
                .bias = validation.bias,
                .worst = {validation.worst_variant, validation.worst},
                .sets = validation.sets,
                .several_jobs = source.several_jobs,
                .bills = source.bills,
                .hosts = hosts_of(configurations),
                .profiles = source.profiles,
                .phases = {std::begin(phase_names), std::end(phase_names)},
                .commands = source.commands.empty() ? all_commands(configurations) : source.commands};
  report.configurations = std::move(configurations);
  return report;
}

Report make_report(const std::vector<VariantResults>& variants, const Validation& validation,
                   const ReportSource& source) {
  TANDEM_CHECK(variants.size() == validation.configurations.size());
  std::vector<ReportConfiguration> configurations;
  for (std::size_t i = 0; i < variants.size(); ++i)
    configurations.push_back(report_configuration(variants[i], *validation.configurations[i].comparison));
  return make_report(std::move(configurations), validation, source);
}

Curve curve_of(const std::vector<EvaluationRecord>& evaluations) {
  Curve curve;
  for (const EvaluationRecord& evaluation : evaluations)
    if (!std::isnan(evaluation.accuracy))
      curve.push_back({evaluation.checkpoint_time.count(), evaluation.samples, evaluation.accuracy});
  return curve;
}

std::vector<PlatformUse> platforms_of(const Report& report) {
  std::vector<PlatformUse> uses;
  for (const auto* own : report.compared())
    uses.push_back({.path = own->experiment.platform,
                    .precision = own->experiment.workload.precision,
                    .hosts = own->environment.simulated.hosts,
                    .roles = own->environment.simulated.roles});
  return uses;
}

}  // namespace tandem::validation
