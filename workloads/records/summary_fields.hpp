// The keys of summary.json, declared once: files and reports are written and read by them.
#pragma once

#include <cmath>
#include <string>
#include <type_traits>

#include "workloads/experiment/fields.hpp"
#include "workloads/records/csv_columns.hpp"
#include "workloads/records/ensemble_fields.hpp"
#include "workloads/records/money_fields.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {

template <>
struct Fields<EvaluationRecord> {
  static void visit(auto& e, auto&& field) {
    // Written where it is known.
    constexpr bool reads = !std::is_const_v<std::remove_reference_t<decltype(e)>>;
    Columns<EvaluationRecord>::visit(e, [&](const std::string& name, auto& value) {
      const bool is_added = name == "top5_accuracy";
      if (is_added && !reads && std::isnan(e.top5_accuracy)) return;
      field(name, value, is_added ? Key::added : Key::required);
    });
  }
};

template <>
struct Fields<TimeStatistics> {
  static void visit(auto& s, auto&& field) {
    fields(field, "steps", s.steps, "mean", s.mean, "median", s.median, "p95", s.p95);
  }
};

template <>
struct Fields<PhaseTime> {
  static void visit(auto& p, auto&& field) { fields(field, "mean_s", p.mean_s, "share", p.share); }
};

template <>
struct Fields<TimeShares> {
  static void visit(auto& s, auto&& field) {
    fields(field, "computing", s.computing, "data", s.data, "query", s.query, "exchange", s.exchange);
    field("commits", s.commits, Key::optional);
    field("other", s.other);
  }
};

template <>
struct Fields<ExchangeShares> {
  static void visit(auto& s, auto&& field) {
    fields(field, "communicating", s.communicating, "waiting", s.waiting);
  }
};

template <>
struct Fields<LinkUse> {
  static void visit(auto& l, auto&& field) { fields(field, "in", l.in, "out", l.out, "both", l.both); }
};

template <>
struct Fields<DistributionSummary> {
  static void visit(auto& d, auto&& field) {
    fields(field, "count", d.count, "min", d.min, "mean", d.mean, "max", d.max);
    field("counts", d.counts, Key::optional);
  }
};

template <>
struct Fields<ByteSums> {
  static void visit(auto& b, auto&& field) { fields(field, "sent", b.sent, "received", b.received); }
};

template <>
struct Fields<WarmUpSteps> {
  static void visit(auto& w, auto&& field) { fields(field, "steps", w.steps, "rule", w.rule); }
};

template <>
struct Fields<RankSummary> {
  static void visit(auto& r, auto&& field) {
    fields(field, "rank", r.rank, "role", r.role, "host", r.host, "steps", r.steps, "samples", r.samples,
           "step_time_s", r.step_time, "bytes_sent", r.bytes_sent, "bytes_received", r.bytes_received,
           "shares", r.shares, "exchange_shares", r.exchange_shares, "staleness", r.staleness, "local_steps",
           r.local_steps);
  }
};

template <>
struct Fields<ServerSummary> {
  static void visit(auto& s, auto&& field) {
    fields(field, "rank", s.rank, "host", s.host, "shard_bytes", s.shard_bytes, "bytes_sent", s.bytes_sent,
           "bytes_received", s.bytes_received, "computing", s.computing, "link", s.link);
  }
};

template <>
struct Fields<ShardSizes> {
  static void visit(auto& s, auto&& field) {
    fields(field, "shards", s.shards, "mean_bytes", s.mean_bytes, "max_bytes", s.max_bytes,
           "largest_over_mean", s.largest_over_mean);
  }
};

template <>
struct Fields<TargetOutcome> {
  static void visit(auto& t, auto&& field) {
    fields(field, "target", t.target, "evaluations", t.evaluations, "best", t.best, "reached", t.reached,
           "round", t.round, "samples", t.samples, "checkpoint_time_s", t.checkpoint_time_s, "time_s",
           t.time_s);
  }
};

template <>
struct Fields<ReachedAccuracy> {
  static void visit(auto& s, auto&& field) {
    fields(field, "evaluation", s.evaluation, "round", s.round, "accuracy", s.accuracy, "checkpoint_time_s",
           s.checkpoint_time_s, "time_s", s.time_s);
  }
};

template <>
struct Fields<TimeOfWorkers> {
  static void visit(auto& w, auto&& field) {
    fields(field, "workers", w.workers, "time_s", w.time, "samples", w.samples);
  }
};

template <>
struct Fields<MembershipSummary> {
  static void visit(auto& m, auto&& field) {
    fields(field, "departures", m.departures, "warned", m.warned, "requested", m.requested, "refused",
           m.refused, "joined", m.joined, "lost_samples", m.lost_samples);
    field("warning", m.warning, Key::optional);
    field("other_departures", m.other_departures, Key::optional);
    field("other_roles", m.other_roles, Key::optional);
    field("done_again_samples", m.done_again_samples, Key::optional);
    field("by_workers", m.by_workers, Key::optional);
    visit_membership_figures(m, field);
  }
};

template <>
struct Fields<CommitsSummary> {
  static void visit(auto& c, auto&& field) {
    fields(field, "count", c.count, "blocked_s", c.blocked, "bytes", c.bytes);
    visit_commit_figures(c, [&](const char* key, auto& figure) { field(key, figure, Key::optional); });
  }
};

template <>
struct Fields<ClassSums> {
  static void visit(auto& c, auto&& field) {
    fields(field, "samples", c.samples, "bytes", c.bytes, "blocked_s", c.blocked);
  }
};

template <>
struct Fields<ReadClassSums> {
  static void visit(auto& c, auto&& field) {
    Fields<ClassSums>::visit(c, field);
    field("reading_s", c.reading);
  }
};

template <>
struct Fields<CacheSummary> {
  static void visit(auto& c, auto&& field) {
    fields(field, "requests", c.requests, "local", c.local, "storage", c.storage, "local_bytes",
           c.local_bytes, "storage_bytes", c.storage_bytes, "storage_time_s", c.storage_time, "classes",
           c.classes);
    field("storage_busy", c.storage_busy, Key::optional);
    field("hit_ratio", c.hit_ratio, Key::optional);
    field("replaced", c.replaced, Key::optional);
    field("spoiled", c.spoiled, Key::optional);
    field("no_room", c.no_room, Key::optional);
    field("kept", c.kept, Key::optional);
    field("kept_bytes", c.kept_bytes, Key::optional);
    field("peer", c.peer, Key::optional);
    field("peer_bytes", c.peer_bytes, Key::optional);
    field("peer_misses", c.peer_misses, Key::optional);
  }
};

template <>
struct Fields<BoundFigures> {
  static void visit(auto& b, auto&& field) {
    fields(field, "name", b.name, "byte_hit_ratio", b.byte_hit_ratio, "attained", b.attained, "oblivious",
           b.oblivious);
  }
};

template <>
struct Fields<BeladyFigures> {
  static void visit(auto& b, auto&& field) {
    fields(field, "byte_hit_ratio", b.byte_hit_ratio, "attained", b.attained, "missing", b.missing);
  }
};

template <>
struct Fields<DirectoryFigures::Lookups> {
  static void visit(auto& l, auto&& field) {
    fields(field, "messages", l.messages, "bytes", l.bytes, "samples", l.samples, "blocked_s", l.blocked);
  }
};

template <>
struct Fields<DirectoryFigures::Updates> {
  static void visit(auto& u, auto&& field) {
    fields(field, "messages", u.messages, "bytes", u.bytes, "published", u.published, "withdrawn",
           u.withdrawn, "repaired", u.repaired);
  }
};

template <>
struct Fields<DirectoryFigures> {
  static void visit(auto& d, auto&& field) { fields(field, "lookups", d.lookups, "updates", d.updates); }
};

template <>
struct Fields<DataPart> {
  static void visit(auto& p, auto&& field) {
    fields(field, "epochs", p.epochs, "requests", p.requests, "bytes", p.bytes, "blocked_s", p.blocked,
           "hit_ratio", p.hit_ratio, "byte_hit_ratio", p.byte_hit_ratio, "bound", p.bound);
    field("belady", p.belady, Key::added);
    fields(field, "stall", p.stall, "epoch_time_s", p.epoch_time_s, "classes", p.classes);
    field("directory", p.directory, Key::optional);
  }
};

template <>
struct Fields<CoverageFigures> {
  static void visit(auto& c, auto&& field) {
    fields(field, "distinct", c.distinct, "distinct_share", c.distinct_share, "omitted", c.omitted,
           "repeated", c.repeated, "divergence", c.divergence);
    field("importance_age", c.importance_age, Key::optional);
  }
};

template <>
struct Fields<EpochFigures> {
  static void visit(auto& e, auto&& field) {
    fields(field, "epoch", e.epoch, "complete", e.complete, "time_s", e.time_s, "requests", e.requests,
           "hit_ratio", e.hit_ratio, "classes", e.classes, "coverage", e.coverage);
  }
};

template <>
struct Fields<DataFigures> {
  static void visit(auto& d, auto&& field) {
    fields(field, "cold", d.cold, "warm", d.warm, "coverage", d.coverage, "epochs", d.epochs);
  }
};

template <class Number>
struct Fields<NumberRange<Number>> {
  static void visit(auto& r, auto&& field) { fields(field, "min", r.min, "mean", r.mean, "max", r.max); }
};

template <>
struct Fields<GpuSummary> {
  static void visit(auto& g, auto&& field) {
    fields(field, "rank", g.rank, "host", g.host, "samples", g.samples, "clock_mhz", g.clock_mhz,
           "memory_clock_mhz", g.memory_clock_mhz, "power_w", g.power_w, "temperature_c", g.temperature_c,
           "memory_bytes", g.memory_bytes, "limits", g.limits, "throttled", g.throttled);
  }
};

template <>
struct Fields<CostSummary> {
  static void visit(auto& c, auto&& field) {
    fields(field, "total", c.total, "useful", c.useful, "wasted", c.wasted, "idle", c.idle, "waiting",
           c.waiting, "roles", c.roles, "stays", c.stays, "machine_hours", c.machine_hours, "time_scale",
           c.time_scale);
    field("without_price", c.without_price, Key::optional);
    field("prices_of", c.prices_of, Key::optional);
  }
};

template <>
struct Fields<Summary> {
  static void visit(auto& s, auto&& field) {
    fields(field, "schema_version", s.schema_version, "world", s.world, "makespan_s", s.makespan_s, "samples",
           s.samples, "applied_samples", s.applied_samples, "pending_samples", s.pending_samples,
           "throughput", s.throughput, "applied_throughput", s.applied_throughput, "steps", s.steps, "rounds",
           s.rounds, "warmup", s.warmup, "step_time_s", s.step_time, "phases", s.phases, "bytes", s.bytes,
           "ranks", s.ranks, "servers", s.servers, "sharding", s.sharding, "evaluations", s.evaluations,
           "time_to_target", s.time_to_target);
    visit_figures(s, field);
    visit_server_figures(s, [&](const char* key, auto& figure) { field(key, figure, Key::optional); });
    field("membership", s.membership, Key::optional);
    fields(field, "shares", s.shares, "exchange_shares", s.exchange_shares, "staleness", s.staleness,
           "local_steps", s.local_steps, "phase_order", s.phase_order);
    field("accuracy_stop", s.accuracy_stop, Key::optional);
    field("ensemble", s.ensemble, Key::optional);
    field("cache", s.cache, Key::optional);
    if (s.cache) field("data", s.data, Key::added);
    field("gpus", s.gpus, Key::optional);
    field("commits", s.commits, Key::optional);
    field("cost", s.cost, Key::optional);
  }
};

}  // namespace tandem
