// The keys of the report.json of a study, and of the results that it is made from, declared once.
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "validation/compare/attribution_fields.hpp"
#include "validation/report/report_fields.hpp"
#include "validation/report/study.hpp"
#include "workloads/experiment/fields.hpp"
#include "workloads/records/jobs_fields.hpp"

namespace tandem {

template <>
struct Fields<validation::StudyConfiguration> {
  static void visit(auto& v, auto&& field) {
    fields(field, "name", v.name, "group", v.group, "algorithm", v.algorithm, "coordinates", v.coordinates);
  }
};

template <>
struct Fields<validation::StudyIntervals> {
  static void visit(auto& v, auto&& field) {
    fields(field, "throughput", v.throughput, "step_time_s", v.step_time_s, "makespan_s", v.makespan_s);
  }
};

template <>
struct Fields<validation::BytesPerSample> {
  static void visit(auto& v, auto&& field) { fields(field, "sent", v.sent, "received", v.received); }
};

template <>
struct Fields<validation::StudyCapacity> {
  static void visit(auto& v, auto&& field) {
    fields(field, "stall", v.stall, "capacity_bytes", v.capacity_bytes, "data_set_bytes", v.data_set_bytes,
           "step_bytes", v.step_bytes, "tried", v.tried);
  }
};

/// The key "environment": run.json without what differs from one simulation to the next.
template <class Info>
struct StudyEnvironment {
  Info& info;
};
template <class Info>
struct Fields<StudyEnvironment<Info>> {
  static void visit(auto& environment, auto&& field) {
    const auto kept = [&](const std::string& key, auto& value, Key kind = Key::required) {
      if (key != "command" && key != "started") field(key, value, kind);
    };
    Fields<RunInfo>::visit(environment.info, kept);
  }
};

template <>
struct Fields<validation::StudyResult> {
  static void visit(auto& v, auto&& field) {
    Fields<validation::StudyConfiguration>::visit(v, field);
    field("failure", v.failure);
    if (v.failed()) return;
    fields(field, "workers", v.workers, "throughput", v.throughput, "applied_throughput",
           v.applied_throughput, "step_time_s", v.step_time_s, "intervals", v.intervals, "phase_order",
           v.phase_order, "question", v.question, "warnings", v.warnings, "makespan_s", v.makespan_s,
           "rounds", v.rounds, "samples", v.samples, "bytes", v.bytes, "bytes_per_sample", v.bytes_per_sample,
           "shares", v.shares, "exchange_shares", v.exchange_shares, "binding", v.binding);
    field("cache_hit_ratio", v.cache_hit_ratio, Key::added);
    field("storage_busy", v.storage_busy, Key::optional);
    field("data", v.data, Key::added);
    field("staleness", v.staleness);
    field("membership", v.membership, Key::added);
    field("cost", v.cost, Key::optional);
    fields(field, "local_steps", v.local_steps, "time_to_target", v.time_to_target, "time_to_target_s",
           v.time_to_target_s, "best_accuracy", v.best_accuracy, "curve", v.curve, "experiment", v.experiment,
           "command", v.command);
    field("best_top5_accuracy", v.best_top5_accuracy, Key::optional);
    StudyEnvironment<std::remove_reference_t<decltype((v.environment))>> environment{v.environment};
    field("environment", environment);
    field("least_capacity", v.least_capacity, Key::optional);
    field("job", v.job, Key::optional);
    if (!v.job.empty()) {
      field("start_s", v.start_s);
      field("alone_makespan_s", v.alone_makespan_s);
      field("slow_down", v.slow_down);
      field("jobs_hash", v.jobs_hash, Key::optional);
    }
    field("baseline", v.baseline, Key::optional);
    if (!v.baseline) return;
    fields(field, "speed_up", v.speed_up, "target_speed_up", v.target_speed_up, "read_time_to_target_s",
           v.read_time_to_target_s, "read_target_speed_up", v.read_target_speed_up);
  }
};

template <>
struct Fields<validation::SeedMean> {
  static void visit(auto& v, auto&& field) { fields(field, "mean", v.mean, "deviation", v.deviation); }
};

template <>
struct Fields<validation::SeedMeans> {
  static void visit(auto& v, auto&& field) {
    fields(field, "name", v.name, "baseline", v.baseline, "configurations", v.configurations, "samples",
           v.samples, "makespan_s", v.makespan_s, "throughput", v.throughput, "last_accuracy",
           v.last_accuracy, "best_accuracy", v.best_accuracy, "accuracy_gain", v.accuracy_gain);
  }
};

template <>
struct Fields<validation::StudyJobs::Job> {
  static void visit(auto& v, auto&& field) {
    fields(field, "job", v.job, "start_s", v.start_s);
    field("configuration", v.configuration, Key::optional);
  }
};

template <>
struct Fields<validation::StudyJobs> {
  static void visit(auto& v, auto&& field) {
    field("name", v.name, Key::optional);
    fields(field, "jobs", v.jobs, "makespan_s", v.makespan_s, "jain_index", v.jain_index, "slow_down",
           v.slow_down, "shared_cache", v.shared_cache);
    field("least_capacity", v.least_capacity, Key::optional);
  }
};

template <>
struct Fields<validation::StudyPublished> {
  static void visit(auto& v, auto&& field) {
    fields(field, "configuration", v.configuration, "figure", v.figure, "what", v.what, "value", v.value,
           "source", v.source, "ours", v.ours, "ratio", v.ratio);
  }
};

template <>
struct Fields<validation::Study> {
  static void visit(auto& v, auto&& field) {
    fields(field, "kind", v.kind, "schema_version", v.schema_version, "title", v.title, "question",
           v.question, "warnings", v.warnings, "about", v.about, "notes", v.notes, "baseline", v.baseline,
           "knee_share", v.knee_share, "configurations", v.configurations);
    field("decides", v.decides, Key::optional);
    field("seeds", v.seeds, Key::added);
    fields(field, "published", v.published, "commands", v.commands);
    field("several_jobs", v.several_jobs, Key::optional);
    field("platforms", v.platforms, Key::optional);
  }
};

template <>
struct Texts<validation::Estimate::Place> {
  static std::string of(validation::Estimate::Place place) { return validation::place_text(place); }
};

template <>
struct Fields<validation::Estimate> {
  static void visit(auto& v, auto&& field) {
    fields(field, "mean", v.mean, "deviation", v.deviation, "gain", v.gain, "place", v.place);
  }
};

template <>
struct Fields<validation::Bottleneck> {
  static void visit(auto& v, auto&& field) { fields(field, "part", v.part, "share", v.share); }
};

template <>
struct Fields<validation::AnswerCell> {
  static void visit(auto& v, auto&& field) {
    fields(field, "configurations", v.configurations, "estimates", v.estimates, "shares", v.shares,
           "bottleneck", v.bottleneck);
  }
};

template <>
struct Fields<validation::AnswerRow> {
  static void visit(auto& v, auto&& field) {
    fields(field, "variant", v.variant, "cells", v.cells, "efficiency", v.efficiency, "knee", v.knee,
           "bottlenecks", v.bottlenecks);
  }
};

template <>
struct Fields<validation::StudyAxis> {
  static void visit(auto& v, auto&& field) {
    fields(field, "key", v.key, "name", v.name, "values", v.values, "numbers", v.numbers);
  }
};

template <>
struct Fields<validation::Measure> {
  static void visit(auto& v, auto&& field) {
    fields(field, "key", v.key, "name", v.name, "unit", v.unit, "more_is_better", v.more_is_better);
  }
};

template <>
struct Fields<validation::AnswerPanel> {
  static void visit(auto& v, auto&& field) {
    fields(field, "title", v.title, "columns", v.columns, "rows", v.rows);
  }
};

template <>
struct Fields<validation::Answer> {
  static void visit(auto& v, auto&& field) {
    fields(field, "question", v.question, "text", v.text, "points", v.points, "measures", v.measures,
           "across", v.across, "down", v.down, "others", v.others, "panels", v.panels);
  }
};

}  // namespace tandem
