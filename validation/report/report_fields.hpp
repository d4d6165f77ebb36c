// The keys of report.json, declared once.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "validation/report/report.hpp"
#include "workloads/experiment/fields.hpp"
#include "workloads/records/run_fields.hpp"
#include "workloads/records/summary_fields.hpp"

namespace tandem {

template <>
struct Texts<Unit> {
  static std::string of(Unit unit) { return unit_name(unit); }
  static std::optional<Unit> parse(const std::string& text) { return unit_of(text); }
};

template <>
struct Texts<validation::Gate::State> {
  using State = validation::Gate::State;
  static std::string of(State state) { return validation::state_name(state); }
  static std::optional<State> parse(const std::string& text) {
    for (const State state : {State::passed, State::failed, State::not_checked})
      if (text == of(state)) return state;
    return std::nullopt;
  }
};

template <>
struct Texts<validation::Equivalence> {
  using Equivalence = validation::Equivalence;
  static std::string of(Equivalence verdict) { return validation::equivalence_name(verdict); }
  static std::optional<Equivalence> parse(const std::string& text) {
    for (const Equivalence verdict :
         {Equivalence::equivalent, Equivalence::different, Equivalence::inconclusive})
      if (text == of(verdict)) return verdict;
    return std::nullopt;
  }
};

template <>
struct OwnDocument<Experiment> {
  static nlohmann::json write(const Experiment& experiment) { return to_json(experiment); }
  static Experiment read(const nlohmann::json& document) { return experiment_from_json(document); }
};

template <>
struct Elements<validation::Interval> {
  static void visit(auto& i, auto&& element) {
    element(i.low);
    element(i.high);
  }
};

template <>
struct Elements<validation::CurvePoint> {
  static void visit(auto& p, auto&& element) {
    element(p.checkpoint_time_s);
    element(p.samples);
    element(p.accuracy);
  }
};

template <>
struct Elements<validation::LaunchSpan> {
  static void visit(auto& s, auto&& element) {
    element(s.number);
    element(s.from_s);
    element(s.to_s);
  }
};

template <>
struct Elements<validation::Slice> {
  static void visit(auto& s, auto&& element) {
    element(s.start_s);
    element(s.duration_s);
    element(s.phase);
    element(s.step);
  }
};

template <>
struct Elements<validation::MemberMark> {
  static void visit(auto& m, auto&& element) {
    element(m.time_s);
    element(m.kind);
    element(m.text);
  }
};

template <class T>
struct Fields<validation::Worlds<T>> {
  static void visit(auto& v, auto&& field) {
    fields(field, "simulated", v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::BothWorlds> {
  static void visit(auto& v, auto&& field) {
    fields(field, "simulated", v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::MembersFigure> {
  static void visit(auto& v, auto&& field) {
    fields(field, "simulated", v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::Gate> {
  static void visit(auto& v, auto&& field) {
    fields(field, "state", v.state, "checked", v.checked, "detail", v.detail);
  }
};

template <>
struct Fields<validation::ReportGates> {
  static void visit(auto& v, auto&& field) {
    fields(field, "operations", v.operations, "decisions", v.decisions, "replay", v.replay);
  }
};

template <>
struct Fields<validation::EnsembleInterval> {
  static void visit(auto& v, auto&& field) {
    fields(field, "low", v.low, "high", v.high, "inside", v.inside, "runs", v.runs);
  }
};

template <>
struct Fields<validation::Figure> {
  static void visit(auto& v, auto&& field) {
    fields(field, "key", v.key, "name", v.name, "unit", v.unit, "simulated", v.simulated, "measured",
           v.measured, "error", v.error, "noise_floor", v.noise_floor);
  }
};

template <>
struct Fields<validation::ReportFigure> {
  static void visit(auto& v, auto&& field) {
    Fields<validation::Figure>::visit(v, field);
    fields(field, "rank", v.rank, "host", v.host, "witness", v.witness, "contribution", v.contribution,
           "interval", v.interval, "ensemble", v.ensemble, "verdict", v.verdict);
  }
};

template <>
struct Fields<validation::RunMetrics> {
  static void visit(auto& v, auto&& field) {
    fields(field, "samples", v.samples, "applied_samples", v.applied_samples, "dropped_samples",
           v.dropped_samples, "pending_samples", v.pending_samples, "applied_throughput",
           v.applied_throughput, "shares", v.shares, "exchange_shares", v.exchange_shares, "staleness",
           v.staleness, "local_steps", v.local_steps, "phase_order", v.phase_order, "servers", v.servers,
           "sharding", v.sharding, "time_to_target", v.time_to_target);
    field("membership", v.membership, Key::optional);
  }
};

template <>
struct Fields<validation::ReportMetrics> {
  static void visit(auto& v, auto&& field) {
    fields(field, "simulated", v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::ReportMembers> {
  static void visit(auto& v, auto&& field) {
    fields(field, "departures", v.departures, "arrivals", v.arrivals, "largest_shift_s", v.largest_shift_s,
           "noticed_after_s", v.noticed_after_s, "gone_after_s", v.gone_after_s, "lost_samples",
           v.lost_samples, "batch", v.batch, "lost_per_departure", v.lost_per_departure,
           "lost_steps_per_departure", v.lost_steps_per_departure, "differences", v.differences,
           "after_the_end", v.after_the_end);
  }
};

template <>
struct Fields<validation::DataParts> {
  static void visit(auto& v, auto&& field) { fields(field, "cold", v.cold, "warm", v.warm); }
};

template <>
struct Fields<validation::StepTimeQuantiles> {
  static void visit(auto& v, auto&& field) {
    fields(field, "shares", v.shares, "simulated", v.simulated, "measured", v.measured, "kolmogorov",
           v.kolmogorov, "wasserstein", v.wasserstein);
  }
};

template <>
struct Fields<validation::AttributedPart> {
  static void visit(auto& v, auto&& field) {
    fields(field, "phase", v.phase, "rank", v.rank, "host", v.host, "kind", v.kind, "peer", v.peer,
           "peer_host", v.peer_host, "share", v.share);
  }
};

template <>
struct Fields<validation::ReportAttribution::Others> {
  static void visit(auto& v, auto&& field) { fields(field, "parts", v.parts, "share", v.share); }
};

template <>
struct Fields<validation::ReportAttribution> {
  static void visit(auto& v, auto&& field) {
    fields(field, "total", v.total, "parts", v.parts, "others", v.others);
  }
};

template <>
struct Fields<validation::AccuracyCurves> {
  static void visit(auto& v, auto&& field) {
    fields(field, "simulated", v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::RankMetrics> {
  static void visit(auto& v, auto&& field) {
    fields(field, "shares", v.shares, "exchange_shares", v.exchange_shares, "bytes_sent", v.bytes_sent,
           "bytes_received", v.bytes_received);
  }
};

template <>
struct Fields<validation::ShownRank> {
  static void visit(auto& v, auto&& field) {
    fields(field, "label", v.label, "simulated", v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::ShownRanks> {
  static void visit(auto& v, auto&& field) { fields(field, "left_out", v.left_out, "ranks", v.ranks); }
};

template <>
struct Fields<validation::ShownPhases::Series> {
  static void visit(auto& v, auto&& field) { fields(field, "times", v.times, "phases", v.phases); }
};

template <>
struct Fields<validation::ShownPhases> {
  static void visit(auto& v, auto&& field) {
    field("workers", v.workers);
    if (v.workers.empty()) return;
    fields(field, "simulated", v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::DataEpoch> {
  static void visit(auto& v, auto&& field) {
    fields(field, "epoch", v.epoch, "time_s", v.time_s, "classes", v.classes);
  }
};

template <>
struct Fields<validation::MemberStay> {
  static void visit(auto& v, auto&& field) {
    fields(field, "machine", v.machine, "arrived", v.arrived, "joined_s", v.joined_s, "departed_s",
           v.departed_s, "gone_s", v.gone_s, "cause", v.cause);
  }
};

template <>
struct Fields<validation::MemberSlot> {
  static void visit(auto& v, auto&& field) {
    fields(field, "slot", v.slot, "label", v.label, "stays", v.stays);
  }
};

template <>
struct Fields<validation::MembersOfRun> {
  static void visit(auto& v, auto&& field) {
    fields(field, "end_s", v.end_s, "live", v.live, "slots_left_out", v.slots_left_out, "slots", v.slots,
           "pauses", v.pauses, "launches", v.launches);
  }
};

template <>
struct Fields<validation::ShownOccupant> {
  static void visit(auto& v, auto&& field) {
    fields(field, "slot", v.slot, "machine", v.machine, "host", v.host, "cause", v.cause, "joined_s",
           v.joined_s, "departed_s", v.departed_s, "noticed_after_s", v.noticed_after_s, "gone_after_s",
           v.gone_after_s);
    field("region", v.region, Key::optional);
    field("zone", v.zone, Key::optional);
  }
};

template <>
struct Fields<validation::ShownMembers> {
  static void visit(auto& v, auto&& field) {
    fields(field, "occupants", v.occupants, "occupants_left_out", v.occupants_left_out, "simulated",
           v.simulated, "measured", v.measured);
  }
};

template <>
struct Fields<validation::WindowMembers> {
  static void visit(auto& v, auto&& field) { fields(field, "absent", v.absent, "marks", v.marks); }
};

template <>
struct Fields<validation::TimelineRank> {
  static void visit(auto& v, auto&& field) {
    fields(field, "label", v.label, "simulated", v.simulated, "measured", v.measured, "members", v.members);
  }
};

template <>
struct Fields<validation::Timeline> {
  static void visit(auto& v, auto&& field) {
    fields(field, "length_s", v.length_s, "ranks_left_out", v.ranks_left_out, "ranks", v.ranks);
  }
};

template <>
struct Fields<validation::ConfigurationDetail> {
  static void visit(auto& v, auto&& field) {
    fields(field, "accuracy", v.accuracy, "ranks", v.ranks, "step_times", v.step_times, "phase_series",
           v.phase_series);
    field("data", v.data, Key::added);
    field("members", v.members, Key::added);
    field("timeline", v.timeline);
  }
};

template <>
struct Fields<validation::ReportConfiguration> {
  static void visit(auto& v, auto&& field) {
    fields(field, "name", v.name, "group", v.group, "algorithm", v.algorithm, "set", v.set, "failure",
           v.failure);
    if (v.failed()) return;
    fields(field, "repetitions", v.repetitions, "draws", v.draws, "warmup_steps", v.warmup_steps,
           "unmatched_steps", v.unmatched_steps, "missed_deadlines", v.missed_deadlines, "cpu_wait_share",
           v.cpu_wait_share, "other_load", v.other_load, "throttled", v.throttled, "other_origin",
           v.other_origin, "gates", v.gates, "figures", v.figures, "metrics", v.metrics);
    field("members", v.members, Key::added);
    field("data", v.data, Key::added);
    fields(field, "step_times", v.step_times, "attribution", v.attribution, "environment", v.environment,
           "experiment", v.experiment, "commands", v.commands, "detail", v.detail);
  }
};

template <>
struct Fields<validation::Exchanges> {
  static void visit(auto& v, auto&& field) {
    fields(field, "local_steps", v.steps, "count", v.count, "staleness", v.staleness);
  }
};

template <>
struct Fields<validation::RankedVariant> {
  static void visit(auto& v, auto&& field) {
    fields(field, "name", v.name, "simulated_throughput", v.simulated_throughput, "measured_throughput",
           v.measured_throughput, "exchanges", v.exchanges, "simulated_place", v.simulated_place,
           "measured_place", v.measured_place);
    field("baseline", v.baseline, Key::nullable);
    fields(field, "speed_up", v.speed_up, "target", v.target, "time_to_target", v.time_to_target,
           "target_speed_up", v.target_speed_up);
  }
};

template <>
struct Fields<validation::Ranking> {
  static void visit(auto& v, auto&& field) {
    fields(field, "name", v.group, "spearman", v.spearman, "kendall", v.kendall, "same_order", v.same_order,
           "same_best", v.same_best, "largest_swapped_gap", v.largest_swapped_gap, "regret", v.regret,
           "variants", v.variants);
  }
};

template <>
struct Fields<validation::ErrorSummary> {
  static void visit(auto& v, auto&& field) {
    fields(field, "key", v.key, "name", v.name, "unit", v.unit, "count", v.count, "undefined", v.undefined,
           "bias", v.bias, "mape", v.mape, "median", v.median, "p95", v.p95);
    field("pearson", v.pearson, Key::added);
    fields(field, "largest", v.largest, "largest_configuration", v.largest_name, "mape_interval",
           v.mape_interval, "noise_floor", v.noise_floor, "error_over_noise", v.error_over_noise,
           "contribution", v.contribution, "absolute_contribution", v.absolute_contribution, "witnessed",
           v.witnessed, "code_path", v.code_path, "model", v.model, "equivalent", v.equivalent, "different",
           v.different, "inconclusive", v.inconclusive);
  }
};

template <>
struct Fields<validation::Coverage> {
  static void visit(auto& v, auto&& field) {
    fields(field, "configurations", v.configurations, "runs", v.runs, "inside", v.inside);
  }
};

/// The key "ranking" of a set.
template <class Set>
struct RankingOfSet {
  Set& set;
};
template <class Set>
struct Fields<RankingOfSet<Set>> {
  static void visit(auto& ranking, auto&& field) {
    auto& v = ranking.set;
    fields(field, "spearman", v.spearman, "kendall", v.kendall, "mean_spearman", v.mean_spearman,
           "mean_kendall", v.mean_kendall, "same_best", v.same_best, "mean_regret", v.mean_regret,
           "largest_regret", v.largest_regret, "speed_ups", v.speed_ups, "speed_up_mape", v.speed_up_mape);
  }
};

template <>
struct Fields<validation::SetSummary> {
  static void visit(auto& v, auto&& field) {
    fields(field, "name", v.name, "configurations", v.configurations, "failed", v.failed, "errors", v.errors,
           "timing_driven", v.timing_driven, "coverage", v.coverage);
    RankingOfSet<std::remove_reference_t<decltype(v)>> ranking{v};
    fields(field, "ranking", ranking, "groups", v.groups, "mean_kolmogorov", v.mean_kolmogorov,
           "mean_wasserstein", v.mean_wasserstein);
  }
};

template <>
struct Fields<validation::DrawnLabel> {
  static void visit(auto& v, auto&& field) { fields(field, "text", v.text, "binds", v.binds); }
};

template <>
struct Fields<validation::DrawnRow> {
  static void visit(auto& v, auto&& field) {
    Fields<validation::DrawnLabel>::visit(v, field);
    field("kind", v.kind);
  }
};

template <>
struct Fields<validation::DrawnLane> {
  static void visit(auto& v, auto&& field) {
    Fields<validation::DrawnLabel>::visit(v, field);
    fields(field, "from", v.from, "to", v.to);
  }
};

template <>
struct Fields<validation::DrawnNode> {
  static void visit(auto& v, auto&& field) {
    fields(field, "kind", v.kind, "count", v.count, "binds", v.binds, "rows", v.rows, "link", v.link,
           "children", v.children, "lanes", v.lanes);
  }
};

template <>
struct Fields<validation::DrawnPlatform> {
  static void visit(auto& v, auto&& field) {
    fields(field, "title", v.title, "note", v.note, "root", v.root);
  }
};

template <>
struct Fields<validation::WorstError> {
  static void visit(auto& v, auto&& field) {
    fields(field, "configuration", v.configuration, "error", v.error);
  }
};

template <>
struct Fields<validation::HostErrors> {
  static void visit(auto& v, auto&& field) {
    fields(field, "platform", v.platform, "host", v.host, "configurations", v.configurations, "bias", v.bias,
           "mape", v.mape);
  }
};

template <>
struct Fields<validation::ReportProfile> {
  static void visit(auto& v, auto&& field) {
    fields(field, "path", v.path, "configurations", v.configurations, "settings_of", v.settings_of);
    field("date", v.date, Key::optional);
    field("machine", v.machine, Key::optional);
    field("software", v.software, Key::optional);
    field("other_load", v.other_load, Key::optional);
    field("command", v.command, Key::optional);
    field("failure", v.failure);
  }
};

template <>
struct Fields<validation::ReportJobs::Job> {
  static void visit(auto& v, auto&& field) {
    fields(field, "job", v.job, "configuration", v.configuration, "start_s", v.start_s);
  }
};

template <>
struct Fields<validation::ReportJobs> {
  static void visit(auto& v, auto&& field) {
    fields(field, "name", v.name, "jobs", v.jobs, "figures", v.figures);
  }
};

template <>
struct Fields<validation::BilledFigure> {
  static void visit(auto& v, auto&& field) {
    fields(field, "forecast", v.forecast, "measured", v.measured, "error", v.error);
    field("within", v.within, Key::optional);
  }
};

template <>
struct Fields<validation::Bills> {
  static void visit(auto& v, auto&& field) {
    fields(field, "runs", v.runs, "time_s", v.time_s, "cost", v.cost);
  }
};

template <>
struct Fields<validation::Report> {
  static void visit(auto& v, auto&& field) {
    fields(field, "schema_version", v.schema_version, "title", v.title, "question", v.question, "headline",
           v.headline, "warnings", v.warnings, "state", v.state, "passed", v.passed, "verdict", v.verdict,
           "reasons", v.reasons, "advice", v.advice, "tolerance", v.tolerance, "margin", v.margin, "mape",
           v.mape, "bias", v.bias, "worst", v.worst, "sets", v.sets, "configurations", v.configurations);
    field("several_jobs", v.several_jobs, Key::optional);
    field("bills", v.bills, Key::optional);
    fields(field, "hosts", v.hosts, "profiles", v.profiles);
    field("platforms", v.platforms, Key::optional);
    fields(field, "phases", v.phases, "commands", v.commands);
  }
};

}  // namespace tandem
