// The content of a journal, defined once: the columns of each kind of record, the file of each list of
// records, and the key of each figure of a whole run. CSV files, summary.json and the messages between ranks
// are derived from it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workloads/records/csv.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// `visit(record, column)` calls `column(name, field)` for each column in order. The record is const when it
/// is written.
template <class Record>
struct Columns;

template <>
struct Columns<StepRecord> {
  template <class R, class Visitor>
  static void visit(R& r, Visitor&& column) {
    column("rank", r.rank);
    column("step", r.step);
    column("round", r.round);
    column("version", r.version);
    column("start_s", r.start);
    for (std::size_t i = 0; i < phase_count; ++i) column(std::string(phase_names[i]) + "_s", r.phases[i]);
    column("decoding_s", r.decoding);
    column("samples", r.samples);
    column("loss", r.loss);
    column("bytes_sent", r.bytes_sent);
    column("bytes_received", r.bytes_received);
  }
};

template <>
struct Columns<EvaluationRecord> {
  template <class R, class Visitor>
  static void visit(R& r, Visitor&& column) {
    column("round", r.round);
    column("samples", r.samples);
    column("checkpoint_time_s", r.checkpoint_time);
    column("time_s", r.time);
    column("accuracy", r.accuracy);
    column("loss", r.loss);
    column("top5_accuracy", r.top5_accuracy);
  }
};

template <>
struct Columns<CommitRecord> {
  template <class R, class Visitor>
  static void visit(R& r, Visitor&& column) {
    column("round", r.round);
    column("started_s", r.started);
    column("ended_s", r.ended);
    column("blocked_s", r.blocked);
    column("bytes", r.bytes);
    column("by_servers_s", r.by_servers);
  }
};

template <>
struct Columns<DecisionRecord> {
  template <class R, class Visitor>
  static void visit(R& r, Visitor&& column) {
    column("rank", r.rank);
    column("side", r.side);
    column("event", r.event);
    column("decisions", r.decisions);
  }
};

template <>
struct Columns<OperationRecord> {
  template <class R, class Visitor>
  static void visit(R& r, Visitor&& column) {
    column("rank", r.rank);
    column("kind", r.kind);
    column("peer", r.peer);
    column("channel", r.channel);
    column("work", r.work);
    column("bucket", r.bucket);
    column("bytes", r.bytes);
    column("samples", r.samples);
    column("start_s", r.start);
    column("end_s", r.end);
  }
};

template <>
struct Columns<CacheRecord> {
  template <class R, class Visitor>
  static void visit(R& r, Visitor&& column) {
    column("rank", r.rank);
    column("epoch", r.epoch);
    column("from", r.from);
    column("samples", r.samples);
    column("bytes", r.bytes);
    column("blocked_s", r.blocked);
    column("reading_s", r.reading);
  }
};

template <>
struct Columns<StalenessRecord> {
  template <class R, class Visitor>
  static void visit(R& r, Visitor&& column) {
    column("rank", r.rank);
    column("staleness", r.staleness);
    column("pushes", r.pushes);
    column("samples", r.samples);
  }
};

template <>
struct Columns<RequestRecord> {
  static void visit(auto& r, auto&& column) {
    column("rank", r.rank);
    column("epoch", r.epoch);
    column("id", r.id);
    column("bytes", r.bytes);
  }
};

template <>
struct Columns<DeliveryRecord> {
  static void visit(auto& r, auto&& column) {
    column("rank", r.rank);
    column("epoch", r.epoch);
    column("set", r.set);
    column("samples", r.samples);
    column("bytes", r.bytes);
    column("distinct_bytes", r.distinct_bytes);
    column("requested", r.requested);
    column("delivered", r.delivered);
  }
};

template <>
struct Columns<LossRecord> {
  static void visit(auto& r, auto&& column) {
    column("rank", r.rank);
    column("epoch", r.epoch);
    column("id", r.id);
    column("loss", r.loss);
  }
};

template <>
struct Columns<MembershipRecord> {
  static void visit(auto& r, auto&& column) {
    column("time_s", r.time);
    column("slot", r.slot);
    column("incarnation", r.incarnation);
    column("host", r.host);
    column("event", r.event);
    column("cause", r.cause);
    column("view", r.view);
    column("role", r.role);
    column("region", r.region);
    column("zone", r.zone);
  }
};

template <>
struct Columns<GpuRecord> {
  static void visit(auto& r, auto&& column) {
    column("rank", r.rank);
    column("time_s", r.time);
    column("clock_mhz", r.clock_mhz);
    column("memory_clock_mhz", r.memory_clock_mhz);
    column("power_w", r.power_w);
    column("temperature_c", r.temperature_c);
    column("memory_bytes", r.memory_bytes);
    column("limits", r.limits);
  }
};

/// Calls `list(file, is_optional, records)` for each list of records; an optional file is written only when
/// it has a row.
template <class J, class Visitor>
void visit_lists(J& journal, Visitor&& list) {
  list("steps.csv", false, journal.steps);
  list("evaluations.csv", false, journal.evaluations);
  list("caches.csv", false, journal.caches);
  list("staleness.csv", false, journal.staleness);
  list("commits.csv", true, journal.commits);
  list("operations.csv", true, journal.operations);
  list("decisions.csv", true, journal.decisions);
  list("requests.csv", true, journal.requests);
  list("deliveries.csv", true, journal.deliveries);
  list("losses.csv", true, journal.losses);
  list("membership.csv", true, journal.membership);
  list("gpus.csv", true, journal.gpus);
}

/// Calls `figure(key, value)` for each figure of a whole rank or run; `key` is that of summary.json.
template <class J, class Visitor>
void visit_figures(J& journal, Visitor&& figure) {
  figure("missed_deadlines", journal.missed_deadlines);
  figure("cpu_wait_s", journal.cpu_wait);
  figure("other_load", journal.other_load);
  figure("skipped_steps", journal.skipped_steps);
  figure("dropped_samples", journal.dropped_samples);
}

/// The same for the figures of jobs with several servers that decide by the order or the times of pushes.
template <class J, class Visitor>
void visit_server_figures(J& journal, Visitor&& figure) {
  figure("split_samples", journal.split_samples);
}

/// The same for the figures of jobs that commit by a policy, which are in summary.json as "commits".
template <class J, class Visitor>
void visit_commit_figures(J& journal, Visitor&& figure) {
  figure("failed", journal.failed_commits);
}

/// The same for the figures of jobs whose workers may depart, which are in summary.json as "membership".
template <class J, class Visitor>
void visit_membership_figures(J& journal, Visitor&& figure) {
  figure("counted_rounds", journal.counted_rounds);
  figure("accepted_samples", journal.accepted_samples);
  figure("discarded_messages", journal.discarded_messages);
}

/// Calls `moment(field)` for each moment of a rank's own clock in its records; durations are no moments. The
/// moment of a checkpoint is by the clock of the rank that wrote it.
template <class Visitor>
void visit_moments(Journal& journal, Visitor&& moment) {
  for (auto& step : journal.steps) moment(step.start);
  for (auto& evaluation : journal.evaluations) moment(evaluation.time);
  for (auto& change : journal.membership) moment(change.time);
  for (auto& sample : journal.gpus) moment(sample.time);
  for (auto& commit : journal.commits) {
    moment(commit.started);
    moment(commit.ended);
  }
  for (auto& operation : journal.operations) {
    moment(operation.start);
    moment(operation.end);
  }
}

template <class Record>
std::string to_csv(const std::vector<Record>& records) {
  csv::Writer writer;
  const Record blank{};
  Columns<Record>::visit(blank, [&](const std::string& name, const auto&) { writer.field(name); });
  writer.end_row();
  for (const auto& record : records) {
    Columns<Record>::visit(record, [&](const auto&, const auto& value) { writer.field(value); });
    writer.end_row();
  }
  return writer.text();
}

/// The name of a column in files of older versions; empty: they may lack it, and those after it.
template <class Record>
std::string earlier_name(const std::string& name) {
  return name;
}
template <>
inline std::string earlier_name<MembershipRecord>(const std::string& name) {
  if (name == "region" || name == "zone") return "";
  return name == "view" ? "epoch" : name;
}
template <>
inline std::string earlier_name<EvaluationRecord>(const std::string& name) {
  return name == "top5_accuracy" ? "" : name;
}
template <>
inline std::string earlier_name<CommitRecord>(const std::string& name) {
  return name == "by_servers_s" ? "" : name;
}

/// Errors: ConfigError naming `file`, line and column.
template <class Record>
std::vector<Record> from_csv(const std::string& file, std::string text) {
  std::vector<std::string> names, earlier;
  const Record blank{};
  Columns<Record>::visit(blank, [&](const std::string& name, const auto&) {
    names.push_back(name);
    earlier.push_back(earlier_name<Record>(name));
  });
  csv::Reader reader(file, std::move(text), std::move(names), earlier);
  std::vector<Record> records;
  while (reader.next_row()) {
    auto& record = records.emplace_back();
    Columns<Record>::visit(record, [&](const auto&, auto& value) {
      if (reader.has_field()) reader.field(value);
    });
  }
  return records;
}

}  // namespace tandem
