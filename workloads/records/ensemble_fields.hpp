// The keys of an ensemble and of its replicas, declared once.
#pragma once

#include "workloads/experiment/fields.hpp"
#include "workloads/records/ensemble.hpp"

namespace tandem {

template <>
struct Fields<ReplicaFigures> {
  static void visit(auto& f, auto&& field) {
    fields(field, "step_time_s", f.step_time, "throughput", f.throughput, "makespan_s", f.makespan,
           "phase_order", f.phase_order);
  }
};

template <>
struct Fields<EnsembleFigure> {
  static void visit(auto& f, auto&& field) {
    fields(field, "median", f.median, "low", f.low, "high", f.high, "values", f.values);
  }
};

template <>
struct Fields<EnsembleSummary::Figures> {
  static void visit(auto& f, auto&& field) {
    fields(field, "step_time_s", f.step_time, "throughput", f.throughput, "makespan_s", f.makespan,
           "phase_order", f.phase_order);
  }
};

template <>
struct Fields<EnsembleSummary> {
  static void visit(auto& e, auto&& field) {
    fields(field, "replicas", e.replicas, "level", e.level, "model_error", e.model_error, "recorded",
           e.recorded, "figures", e.figures);
  }
};

}  // namespace tandem
