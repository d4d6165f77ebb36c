// The columns of each CSV file of a result directory, named once for header, writing and reading.
#pragma once

#include <string>
#include <vector>

#include "workloads/records/csv.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

// `R` is the record, const when it is written; `column(name, field)` is called for each column in order.
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
    column("local", r.local);
    column("storage", r.storage);
    column("local_bytes", r.local_bytes);
    column("storage_bytes", r.storage_bytes);
    column("storage_time_s", r.storage_time);
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

/// Errors: ConfigError naming `file`, line and column.
template <class Record>
std::vector<Record> from_csv(const std::string& file, std::string text) {
  std::vector<std::string> names;
  const Record blank{};
  Columns<Record>::visit(blank, [&](const std::string& name, const auto&) { names.push_back(name); });
  csv::Reader reader(file, std::move(text), std::move(names));
  std::vector<Record> records;
  while (reader.next_row()) {
    auto& record = records.emplace_back();
    Columns<Record>::visit(record, [&](const auto&, auto& value) { reader.field(value); });
  }
  return records;
}

}  // namespace tandem
