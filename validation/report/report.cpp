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
#include "workloads/records/format.hpp"
#include "workloads/records/occupants.hpp"
#include "workloads/records/phase_order.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json interval_json(const std::optional<Interval>& interval) {
  return interval ? json{interval->low, interval->high} : json();
}

const char* verdict_name(Equivalence verdict) {
  switch (verdict) {
    case Equivalence::equivalent:
      return "equivalent";
    case Equivalence::different:
      return "different";
    case Equivalence::inconclusive:
      return "inconclusive";
  }
  return "";
}

// ---- One configuration ----

/// Workers that are shown one by one.
constexpr std::size_t most_ranks = 8;

json gate_json(const Gate& gate) {
  return {{"state", state_name(gate.state)}, {"checked", gate.checked}, {"detail", gate.detail}};
}

json ensemble_json(const std::optional<EnsembleInterval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->low},
          {"high", interval->high},
          {"inside", interval->inside},
          {"runs", interval->runs}};
}

json figure_json(const Figure& figure, const RunInfo& info) {
  return {{"key", figure.key},
          {"name", figure.name},
          {"unit", unit_name(figure.unit)},
          {"rank", figure.rank},
          {"host", host_of(info, figure.rank)},
          {"simulated", figure.simulated},
          {"measured", figure.measured},
          {"error", figure.error},
          {"witness", optional_json(figure.witness)},
          {"contribution", optional_json(figure.contribution)},
          {"interval", interval_json(figure.interval)},
          {"noise_floor", optional_json(figure.noise_floor)},
          {"ensemble", ensemble_json(figure.ensemble)},
          {"verdict", figure.verdict ? json(verdict_name(*figure.verdict)) : json()}};
}

json curve_json(const Results& results) {
  json curve = json::array();
  for (const auto& evaluation : results.journal.evaluations)
    if (!std::isnan(evaluation.accuracy))
      curve.push_back({evaluation.checkpoint_time.count(), evaluation.samples, evaluation.accuracy});
  return curve;
}

json accuracy_json(const VariantResults& variant) {
  json runs = json::array();
  for (const auto& run : variant.measured) runs.push_back(curve_json(run));
  return {{"simulated", curve_json(variant.simulated)}, {"measured", std::move(runs)}};
}

json chosen(const json& summary, const std::vector<const char*>& keys) {
  json picked = json::object();
  for (const char* key : keys) picked[key] = summary.at(key);
  return picked;
}

json metrics_of(const Results& results) {
  json metrics =
      chosen(results.summary, {"samples", "applied_samples", "dropped_samples", "pending_samples",
                               "applied_throughput", "shares", "exchange_shares", "staleness", "local_steps",
                               "phase_order", "servers", "sharding", "time_to_target"});
  if (results.summary.contains("membership")) metrics["membership"] = results.summary.at("membership");
  return metrics;
}

json metrics_json(const VariantResults& variant) {
  json runs = json::array();
  for (const auto& run : variant.measured) runs.push_back(metrics_of(run));
  return {{"simulated", metrics_of(variant.simulated)}, {"measured", std::move(runs)}};
}

std::string label_of(const RunInfo& info, Rank rank) {
  const std::string host = host_of(info, rank);
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + host);
}

/// Null when the rank took no step.
json rank_json(const Results& results, Rank rank) {
  for (const auto& entry : results.summary.at("ranks"))
    if (entry.at("rank") == rank)
      return chosen(entry, {"shares", "exchange_shares", "bytes_sent", "bytes_received"});
  return nullptr;
}

json ranks_json(const VariantResults& variant) {
  const auto& all = variant.simulated.summary.at("ranks");
  json ranks = json::array();
  for (const auto& entry : all) {
    if (ranks.size() == most_ranks) break;
    const Rank rank = entry.at("rank");
    ranks.push_back({{"label", label_of(variant.simulated.info, rank)},
                     {"simulated", rank_json(variant.simulated, rank)},
                     {"measured", rank_json(variant.measured.front(), rank)}});
  }
  const std::size_t left_out = all.size() - ranks.size();
  return {{"left_out", left_out}, {"ranks", std::move(ranks)}};
}

double first_counted_start(const Results& results) {
  double first = std::numeric_limits<double>::infinity();
  for (const auto& step : results.journal.steps)
    if (counts(results.info, step)) first = std::min(first, step.start.count());
  return first;
}

/// The phases of a rank within a window of time, cut at its ends.
json slices_of(const Results& results, Rank rank, double begin, double length) {
  json slices = json::array();
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
  const double rounds = std::max(1.0, results.summary.at("rounds").get<double>());
  std::set<Rank> workers;
  for (const auto& record : results.journal.steps) workers.insert(record.rank);
  const double steps_per_round =
      static_cast<double>(results.journal.steps.size()) / static_cast<double>(workers.size()) / rounds;
  return std::clamp(1.5 * steps_per_round, 4.0, 16.0) * std::max(step.simulated, step.measured);
}

json timeline_json(const VariantResults& variant, const Comparison& comparison) {
  const Results& measured = variant.measured.front();
  const double length = window_length(variant.simulated, comparison);
  const double simulated_begin = first_counted_start(variant.simulated);
  const double measured_begin = first_counted_start(measured);
  std::set<Rank> workers;
  for (const auto& step : variant.simulated.journal.steps) workers.insert(step.rank);
  json ranks = json::array();
  for (const Rank rank : workers) {
    if (ranks.size() == most_ranks) break;
    const int slot = slot_of(variant.simulated.info, rank);
    ranks.push_back({{"label", label_of(variant.simulated.info, rank)},
                     {"simulated", slices_of(variant.simulated, rank, simulated_begin, length)},
                     {"measured", slices_of(measured, rank, measured_begin, length)},
                     {"members",
                      {{"simulated", members_in_window(variant.simulated, slot, simulated_begin, length)},
                       {"measured", members_in_window(measured, slot, measured_begin, length)}}}});
  }
  const std::size_t left_out = workers.size() - ranks.size();
  return {{"length_s", length}, {"ranks_left_out", left_out}, {"ranks", std::move(ranks)}};
}

/// Empty workers: there are no phases to compare.
json phase_series_json(const VariantResults& variant) {
  constexpr std::size_t most_times = 120;
  json all = {{"workers", json::array()}};
  const auto series_of = [&](const Results& results) {
    PhaseSeries series = phase_series(results.info, results.journal, most_times);
    if (series.times.empty()) return series;
    const Seconds begin = series.times.front();
    for (Seconds& time : series.times) time -= begin;
    series.workers.resize(std::min(series.workers.size(), most_ranks));
    for (auto& row : series.phases) row.resize(series.workers.size());
    return series;
  };
  const std::pair<const char*, PhaseSeries> worlds[] = {{"simulated", series_of(variant.simulated)},
                                                        {"measured", series_of(variant.measured.front())}};
  for (const auto& [world, series] : worlds) {
    if (series.times.empty()) return {{"workers", json::array()}};
    json times = json::array();
    for (const Seconds time : series.times) times.push_back(time.count());
    all[world] = {{"times", std::move(times)}, {"phases", series.phases}};
  }
  for (const Rank rank : worlds[0].second.workers)
    all["workers"].push_back(label_of(variant.simulated.info, rank));
  return all;
}

json quantiles(const std::vector<double>& sorted, int pieces) {
  json values = json::array();
  for (int i = 0; i <= pieces; ++i)
    values.push_back(quantile(sorted, static_cast<double>(i) / static_cast<double>(pieces)));
  return values;
}

json step_times_json(const StepTimes& times) {
  json shares = json::array(), simulated = json::array(), measured = json::array();
  for (const double share : StepTimes::shares) {
    shares.push_back(share);
    simulated.push_back(quantile(times.simulated, share));
    measured.push_back(quantile(times.measured, share));
  }
  return {{"shares", std::move(shares)},
          {"simulated", std::move(simulated)},
          {"measured", std::move(measured)},
          {"kolmogorov", times.kolmogorov},
          {"wasserstein", times.wasserstein}};
}

json attribution_json(const Comparison& comparison, const RunInfo& info) {
  constexpr std::size_t most_parts = 12;
  json parts = json::array();
  double others = 0;
  for (std::size_t i = 0; i < comparison.attribution.size(); ++i) {
    const auto& part = comparison.attribution[i];
    if (i >= most_parts) {
      others += part.share;
      continue;
    }
    parts.push_back({{"phase", part.phase},
                     {"rank", part.rank},
                     {"host", host_of(info, part.rank)},
                     {"kind", part.kind},
                     {"peer", part.peer},
                     {"peer_host", host_of(info, part.peer)},
                     {"share", part.share}});
  }
  const std::size_t left = comparison.attribution.size() - parts.size();
  return {{"total", comparison.figure("step_time").error},
          {"parts", std::move(parts)},
          {"others", {{"parts", left}, {"share", others}}}};
}

/// Null for jobs without cache nodes.
json data_detail(const VariantResults& variant) {
  json simulated = data_epochs(variant.simulated.summary);
  json measured = data_epochs(variant.measured.front().summary);
  if (!simulated.is_array() || !measured.is_array()) return nullptr;
  return {{"simulated", std::move(simulated)}, {"measured", std::move(measured)}};
}

json environment_json(const RunInfo& info) {
  json environment = to_json(info);
  environment.erase("experiment");
  return environment;
}

json configuration_commands(const VariantResults& variant) {
  json commands = json::array({variant.simulated.info.command});
  if (variant.witness) commands.push_back(variant.witness->info.command);
  for (const auto& run : variant.measured) commands.push_back(run.info.command);
  return commands;
}

// ---- All configurations ----

json errors_json(const ErrorSummary& s) {
  return {{"key", s.key},
          {"name", s.name},
          {"unit", unit_name(s.unit)},
          {"count", s.count},
          {"undefined", s.undefined},
          {"bias", s.bias},
          {"mape", s.mape},
          {"median", s.median},
          {"p95", s.p95},
          {"pearson", optional_json(s.pearson)},
          {"largest", s.largest},
          {"largest_configuration", s.largest_name},
          {"mape_interval", interval_json(s.mape_interval)},
          {"noise_floor", optional_json(s.noise_floor)},
          {"error_over_noise", optional_json(s.error_over_noise)},
          {"contribution", optional_json(s.contribution)},
          {"absolute_contribution", optional_json(s.absolute_contribution)},
          {"witnessed", s.witnessed},
          {"code_path", optional_json(s.code_path)},
          {"model", optional_json(s.model)},
          {"equivalent", s.equivalent},
          {"different", s.different},
          {"inconclusive", s.inconclusive}};
}

json worlds_json(const BothWorlds& value) {
  return {{"simulated", optional_json(value.simulated)}, {"measured", optional_json(value.measured)}};
}

json group_json(const Ranking& ranking) {
  json variants = json::array();
  for (const auto& variant : ranking.variants)
    variants.push_back({{"name", variant.name},
                        {"simulated_throughput", variant.simulated_throughput},
                        {"measured_throughput", variant.measured_throughput},
                        {"exchanges",
                         {{"local_steps", variant.exchanges.steps},
                          {"count", variant.exchanges.count},
                          {"staleness", variant.exchanges.staleness}}},
                        {"simulated_place", variant.simulated_place},
                        {"measured_place", variant.measured_place},
                        {"baseline", variant.baseline.empty() ? json() : json(variant.baseline)},
                        {"speed_up", worlds_json(variant.speed_up)},
                        {"target", optional_json(variant.target)},
                        {"time_to_target", worlds_json(variant.time_to_target)},
                        {"target_speed_up", worlds_json(variant.target_speed_up)}});
  return {{"name", ranking.group},
          {"spearman", optional_json(ranking.spearman)},
          {"kendall", optional_json(ranking.kendall)},
          {"same_order", ranking.same_order},
          {"same_best", ranking.same_best},
          {"largest_swapped_gap", ranking.largest_swapped_gap},
          {"regret", ranking.regret},
          {"variants", std::move(variants)}};
}

json set_json(const SetSummary& set) {
  json errors = json::array(), groups = json::array();
  for (const auto& summary : set.errors) errors.push_back(errors_json(summary));
  for (const auto& ranking : set.groups) groups.push_back(group_json(ranking));
  return {{"name", set.name},
          {"configurations", set.configurations},
          {"failed", set.failed},
          {"errors", std::move(errors)},
          {"timing_driven", set.timing_driven ? errors_json(*set.timing_driven) : json()},
          {"coverage",
           {{"configurations", set.coverage.configurations},
            {"runs", set.coverage.runs},
            {"inside", set.coverage.inside}}},
          {"ranking",
           {{"spearman", optional_json(set.spearman)},
            {"kendall", optional_json(set.kendall)},
            {"mean_spearman", optional_json(set.mean_spearman)},
            {"mean_kendall", optional_json(set.mean_kendall)},
            {"same_best", set.same_best},
            {"mean_regret", set.mean_regret},
            {"largest_regret", set.largest_regret},
            {"speed_ups", set.speed_ups},
            {"speed_up_mape", optional_json(set.speed_up_mape)}}},
          {"groups", std::move(groups)},
          {"mean_kolmogorov", set.mean_kolmogorov},
          {"mean_wasserstein", set.mean_wasserstein}};
}

/// Errors of step time by host, over ranks and configurations; largest first.
json hosts_json(const std::vector<json>& configurations) {
  struct Host {
    std::set<std::string> configurations;
    std::vector<double> errors;
  };
  std::map<std::pair<std::string, std::string>, Host> hosts;
  for (const auto& configuration : configurations) {
    if (configuration.at("failure") != "") continue;
    const std::filesystem::path platform(configuration.at("experiment").at("platform").get<std::string>());
    for (const auto& figure : configuration.at("figures")) {
      if (figure.at("rank") == -1 || !figure.at("error").is_number()) continue;
      auto& host = hosts[{platform.stem().string(), figure.at("host")}];
      host.configurations.insert(configuration.at("name"));
      host.errors.push_back(figure.at("error"));
    }
  }
  std::vector<json> all;
  for (const auto& [name, host] : hosts) {
    double sum = 0, magnitude = 0;
    for (const double error : host.errors) {
      sum += error;
      magnitude += std::abs(error);
    }
    const auto count = static_cast<double>(host.errors.size());
    all.push_back({{"platform", name.first},
                   {"host", name.second},
                   {"configurations", host.configurations.size()},
                   {"bias", sum / count},
                   {"mape", magnitude / count}});
  }
  std::stable_sort(all.begin(), all.end(), [](const json& a, const json& b) {
    return a.at("mape").get<double>() > b.at("mape").get<double>();
  });
  return all;
}

double error_of(const json& configuration) {
  for (const auto& figure : configuration.at("figures"))
    if (figure.at("key") == "step_time" && figure.at("rank") == -1 && figure.at("error").is_number())
      return std::abs(figure.at("error").get<double>());
  return 0;
}

/// Keeps the details of the worst configurations and of some evenly chosen ones; this keeps reports of many
/// configurations small.
void keep_chosen_details(std::vector<json>& configurations) {
  std::vector<std::size_t> worked;
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (configurations[i].at("failure") == "") worked.push_back(i);
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
    if (!chosen.contains(i) && configurations[i].contains("detail")) configurations[i]["detail"] = nullptr;
}

json all_commands(const std::vector<json>& configurations) {
  json commands = json::array();
  for (const auto& configuration : configurations)
    if (configuration.contains("commands"))
      for (const auto& command : configuration.at("commands")) commands.push_back(command);
  return commands;
}

/// The largest share of samples at which a GPU of the run was throttled.
double throttled_share(const Results& run) {
  double most = 0.0;
  if (run.summary.contains("gpus"))
    for (const auto& gpu : run.summary.at("gpus")) most = std::max(most, gpu.at("throttled").get<double>());
  return most;
}

}  // namespace

json configuration_document(const VariantResults& variant, const Comparison& comparison) {
  const RunInfo& info = variant.simulated.info;
  json figures = json::array();
  for (const auto& figure : comparison.figures) figures.push_back(figure_json(figure, info));
  std::int64_t missed = 0;
  double cpu_wait_share = 0.0;
  double other_load = 0.0;
  double throttled = 0.0;
  for (const auto& run : variant.measured) {
    throttled = std::max(throttled, throttled_share(run));
    missed += run.journal.missed_deadlines;
    other_load = std::max(other_load, run.journal.other_load);
    cpu_wait_share =
        std::max(cpu_wait_share, run.journal.cpu_wait.count() / run.summary.at("makespan_s").get<double>());
  }
  return {{"name", variant.name},
          {"group", variant.group},
          {"algorithm", variant.algorithm.empty() ? variant.name : variant.algorithm},
          {"set", variant.calibration ? "calibration" : "hold-out"},
          {"failure", ""},
          {"repetitions", variant.measured.size()},
          {"draws", variant.draws},
          {"warmup_steps", info.experiment.warmup_steps},
          {"unmatched_steps", comparison.unmatched_steps},
          {"missed_deadlines", missed},
          {"cpu_wait_share", cpu_wait_share},
          {"other_load", other_load},
          {"throttled", throttled},
          {"other_origin", comparison.origin.difference},
          {"gates",
           {{"operations", gate_json(comparison.operations)},
            {"decisions", gate_json(comparison.decisions)},
            {"replay", gate_json(comparison.replay)}}},
          {"figures", std::move(figures)},
          {"metrics", metrics_json(variant)},
          {"members", members_json(comparison.members)},
          {"data", data_of_worlds(variant.simulated.summary, variant.measured.front().summary)},
          {"step_times", step_times_json(comparison.step_times)},
          {"attribution", attribution_json(comparison, info)},
          {"environment",
           {{"simulated", environment_json(info)},
            {"measured", environment_json(variant.measured.front().info)}}},
          {"experiment", to_json(info.experiment)},
          {"commands", configuration_commands(variant)},
          {"detail",
           {{"accuracy", accuracy_json(variant)},
            {"ranks", ranks_json(variant)},
            {"step_times",
             {{"simulated", quantiles(comparison.step_times.simulated, 100)},
              {"measured", quantiles(comparison.step_times.measured, 100)}}},
            {"phase_series", phase_series_json(variant)},
            {"data", data_detail(variant)},
            {"members", members_detail(variant.simulated, variant.measured.front(), comparison.members)},
            {"timeline", timeline_json(variant, comparison)}}}};
}

json failed_configuration_document(const Compared& configuration) {
  return {{"name", configuration.name},
          {"group", configuration.group},
          {"algorithm", configuration.algorithm},
          {"set", configuration.calibration ? "calibration" : "hold-out"},
          {"failure", configuration.failure}};
}

json report_document(std::vector<json> configurations, const Validation& validation,
                     const ReportSource& source) {
  TANDEM_CHECK(configurations.size() == validation.configurations.size());
  keep_chosen_details(configurations);
  // Without a split there is only one set.
  if (validation.sets.size() == 1)
    for (auto& configuration : configurations) configuration["set"] = "all";
  json sets = json::array();
  for (const auto& set : validation.sets) sets.push_back(set_json(set));
  json hosts = hosts_json(configurations);
  json commands = source.commands.empty() ? all_commands(configurations) : json(source.commands);
  json document = {{"schema_version", report_schema_version},
                   {"title", source.title},
                   {"question", validation.question},
                   {"headline", validation.best},
                   {"warnings", validation.warnings},
                   {"verdict", validation.verdict},
                   {"passed", validation.passed()},
                   {"state", name_of(validation.judgement.verdict)},
                   {"reasons", validation.judgement.reasons},
                   {"advice", validation.judgement.advice},
                   {"tolerance", validation.tolerance},
                   {"margin", CompareOptions().margin},
                   {"mape", validation.mape},
                   {"bias", validation.bias},
                   {"worst", {{"configuration", validation.worst_variant}, {"error", validation.worst}}},
                   {"sets", std::move(sets)},
                   {"configurations", std::move(configurations)},
                   {"hosts", std::move(hosts)},
                   {"profiles", source.profiles},
                   {"phases", phase_names},
                   {"commands", std::move(commands)}};
  if (!source.several_jobs.empty()) document["several_jobs"] = source.several_jobs;
  return document;
}

json report_document(const std::vector<VariantResults>& variants, const Validation& validation,
                     const ReportSource& source) {
  TANDEM_CHECK(variants.size() == validation.configurations.size());
  std::vector<json> configurations;
  for (std::size_t i = 0; i < variants.size(); ++i)
    configurations.push_back(configuration_document(variants[i], *validation.configurations[i].comparison));
  return report_document(std::move(configurations), validation, source);
}

}  // namespace tandem::validation
