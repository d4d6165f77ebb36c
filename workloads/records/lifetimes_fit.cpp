#include "workloads/records/lifetimes_fit.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "workloads/experiment/fields.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/records/format.hpp"

namespace tandem {

template <>
struct OwnDocument<OptionValue> {
  static nlohmann::json write(const OptionValue& value) { return option_to_json(value); }
};

template <>
struct Fields<ChosenLifetime> {
  static void visit(auto& c, auto&& field) { fields(field, "name", c.name, "options", c.options); }
};

template <>
struct Fields<lifetimes::SurvivalStep> {
  static void visit(auto& s, auto&& field) {
    fields(field, "time_s", s.time, "at_risk", s.at_risk, "deaths", s.deaths, "survival", s.survival, "error",
           s.error, "lower", s.lower, "upper", s.upper, "cumulative_hazard", s.cumulative_hazard);
  }
};

template <>
struct Fields<EstimatedLifetimes::Mean> {
  static void visit(auto& m, auto&& field) {
    fields(field, "limit_s", m.limit, "value_s", m.estimate.value, "error_s", m.estimate.error, "lower_s",
           m.estimate.lower, "upper_s", m.estimate.upper);
  }
};

template <>
struct Fields<lifetimes::CommonLimit> {
  static void visit(auto& l, auto&& field) { fields(field, "age_s", l.age, "ends", l.ends); }
};

template <>
struct Fields<lifetimes::FittedParameter> {
  static void visit(auto& p, auto&& field) {
    fields(field, "name", p.name, "value", p.value, "lower", p.lower, "upper", p.upper);
  }
};

template <>
struct Fields<EstimatedLifetimes::Model> {
  static void visit(auto& m, auto&& field) {
    fields(field, "name", m.fitted.model, "options", m.fitted.options, "parameters", m.fitted.parameters,
           "log_likelihood", m.fitted.log_likelihood, "aic", m.fitted.aic, "aic_difference",
           m.aic_difference);
    field("points", m.points, Key::optional);
  }
};

template <>
struct Fields<lifetimes::RateOfAges> {
  static void visit(auto& r, auto&& field) {
    fields(field, "begin_s", r.begin, "end_s", r.end, "deaths", r.deaths, "time_s", r.time, "rate", r.rate,
           "lower", r.lower, "upper", r.upper);
  }
};

template <>
struct Fields<lifetimes::HourOfDay> {
  static void visit(auto& h, auto&& field) {
    fields(field, "deaths", h.deaths, "time_s", h.time, "factor", h.factor, "lower", h.lower, "upper",
           h.upper);
  }
};

template <>
struct Fields<lifetimes::HoursOfDay> {
  static void visit(auto& h, auto&& field) {
    fields(field, "hours", h.hours, "separable", h.is_separable, "statistic", h.statistic, "degrees",
           h.degrees, "p_value", h.p_value, "aic_difference", h.aic_difference, "options", h.options);
  }
};

template <>
struct Fields<EstimatedLifetimes> {
  static void visit(auto& e, auto&& field) {
    fields(field, "median_s", e.median, "mean_up_to", e.mean, "limit", e.limit, "models", e.models, "chosen",
           e.chosen, "by_age", e.by_age, "by_hour", e.by_hour);
  }
};

template <>
struct Fields<LifetimesSample> {
  static void visit(auto& s, auto&& field) {
    field("values", s.values, Key::optional);
    fields(field, "machines", s.machines, "revoked", s.revoked, "failed", s.failed, "censored", s.censored,
           "in_interval", s.in_interval, "observed_s", s.observed_s, "survival", s.curve.steps, "last_s",
           s.curve.last);
    if (s.estimated) Fields<EstimatedLifetimes>::visit(*s.estimated, field);
  }
};

template <>
struct Fields<LifetimesFit::Correlation> {
  static void visit(auto& c, auto&& field) {
    fields(field, "window_s", c.window_s, "pairs", c.index.pairs, "expected", c.index.expected, "index",
           c.index.index);
  }
};

template <>
struct Fields<lifetimes::LogRank> {
  static void visit(auto& t, auto&& field) {
    fields(field, "statistic", t.statistic, "degrees", t.degrees, "p_value", t.p_value);
  }
};

template <>
struct Fields<LifetimesFit> {
  static void visit(auto& f, auto&& field) {
    Fields<LifetimesSample>::visit(f.all, field);
    fields(field, "file", f.file, "confidence", f.confidence, "intervals", f.intervals, "correlation",
           f.correlation);
    if (!f.groups.empty()) fields(field, "groups", f.groups, "log_rank", f.log_rank);
  }
};

namespace {

nlohmann::json source_of(const LifetimesFit& fit) {
  return {{"file", fit.file},
          {"machines", fit.all.machines},
          {"departures", fit.all.revoked + fit.all.failed},
          {"observed_up_to_s", fit.all.curve.last}};
}

}  // namespace

nlohmann::json document_of(const LifetimesFit& fit) {
  nlohmann::json document = write_fields(fit);
  document["source"] = source_of(fit);
  return document;
}

nlohmann::json document_of(const lifetimes::SurvivalCurve& curve) { return write_fields(curve.steps); }

nlohmann::json document_of(const ChosenLifetime& chosen) { return write_fields(chosen); }

nlohmann::json document_of(const std::vector<lifetimes::RateOfAges>& ages) { return write_fields(ages); }

nlohmann::json document_of(const lifetimes::HoursOfDay& hours) { return write_fields(hours); }

std::string verdict_of(const lifetimes::HoursOfDay& hours) {
  if (!hours.is_separable)
    return "inconclusive: each hour was observed at its own ages only, so that an effect of the hour cannot "
           "be "
           "told from one of the age";
  return fmt::format(
      "likelihood ratio {} with {} degrees of freedom, p = {:.2g}; AIC {:+.1f} against rates by age alone",
      significant(hours.statistic, 4), hours.degrees, hours.p_value, hours.aic_difference);
}

std::string experiment_lines_of(const lifetimes::HoursOfDay& hours) {
  std::string lines = "transience:\n  lifetime: piecewise\n  options:\n";
  for (const auto& [name, value] : hours.options) {
    const char* const quote = std::holds_alternative<std::string>(value) ? "\"" : "";
    lines += "    " + name + ": " + quote + to_text(value) + quote;
    lines += name == "start_hour" ? "   # the hour (UTC) at which the job starts\n" : "\n";
  }
  return lines;
}

nlohmann::json model_file_of(const LifetimesFit& fit) {
  const ChosenLifetime& of_all = fit.all.estimated->chosen;
  nlohmann::json file = document_of(of_all);
  file["source"] = source_of(fit);
  for (const LifetimesSample& group : fit.groups) {
    nlohmann::json model = document_of(group.estimated ? group.estimated->chosen : of_all);
    model["values"] = group.values;
    file["groups"].push_back(std::move(model));
  }
  return file;
}

std::string age_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds >= 3600.0) return three_digits(seconds / 3600.0) + " h";
  return seconds >= 60.0 ? three_digits(seconds / 60.0) + " min" : three_digits(seconds) + " s";
}

std::string name_of_group(const LifetimesSample& group) {
  std::string name;
  for (const auto& [column, value] : group.values) name += (name.empty() ? "" : ", ") + column + ' ' + value;
  return name;
}

}  // namespace tandem
