// The keys of the summary.json of several jobs, declared once.
#pragma once

#include "workloads/experiment/fields.hpp"
#include "workloads/records/jobs_summary.hpp"

namespace tandem {

template <>
struct Fields<JobSummary::Alone> {
  static void visit(auto& a, auto&& field) {
    fields(field, "makespan_s", a.makespan_s, "step_time_s", a.step_time_s);
  }
};

template <>
struct Fields<JobSummary> {
  static void visit(auto& j, auto&& field) {
    fields(field, "start_s", j.start_s, "makespan_s", j.makespan_s, "step_time_s", j.step_time_s);
    field("alone", j.alone, Key::optional);
    field("slow_down", j.slow_down, Key::optional);
    field("step_slow_down", j.step_slow_down, Key::optional);
  }
};

template <>
struct Fields<SharedCacheSummary::Job> {
  static void visit(auto& j, auto&& field) {
    fields(field, "requests", j.requests, "hit_ratio", j.hit_ratio);
    field("benefit", j.benefit, Key::optional);
  }
};

template <>
struct Fields<SharedCacheSummary> {
  static void visit(auto& c, auto&& field) {
    fields(field, "jobs", c.jobs, "requests", c.requests, "hit_ratio", c.hit_ratio, "byte_hit_ratio",
           c.byte_hit_ratio, "bound", c.bound, "attained", c.attained);
  }
};

template <>
struct Fields<JobsSummary::Limits> {
  static void visit(auto& l, auto&& field) { fields(field, "min", l.min, "max", l.max); }
};

template <>
struct Fields<JobsSummary> {
  static void visit(auto& s, auto&& field) {
    fields(field, "jobs", s.jobs, "makespan_s", s.makespan_s);
    field("slow_down", s.slow_down, Key::optional);
    field("jain_index", s.jain_index, Key::optional);
    field("shared_cache", s.shared_cache, Key::optional);
  }
};

}  // namespace tandem
