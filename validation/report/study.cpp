#include "validation/report/study.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "validation/compare/headline.hpp"
#include "validation/compare/seed_means.hpp"
#include "validation/report/answer.hpp"
#include "validation/report/data_section.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

json ratio(const json& above, const json& below) {
  if (!above.is_number() || !below.is_number() || below.get<double>() == 0) return nullptr;
  return above.get<double>() / below.get<double>();
}

json curve_of(const json& summary) {
  json curve = json::array();
  for (const auto& evaluation : summary.at("evaluations"))
    if (evaluation.at("accuracy").is_number())
      curve.push_back(
          {evaluation.at("checkpoint_time_s"), evaluation.at("samples"), evaluation.at("accuracy")});
  return curve;
}

/// [low, high] of a figure of the ensemble; null: there is none.
json ensemble_interval(const json& summary, const char* key) {
  if (!summary.contains("ensemble")) return nullptr;
  const json& figure = summary.at("ensemble").at("figures").at(key);
  return figure.is_object() ? json::array({figure.at("low"), figure.at("high")}) : json();
}

json best_of(const json& curve) {
  json best;
  for (const auto& point : curve)
    if (best.is_null() || point[2].get<double>() > best.get<double>()) best = point[2];
  return best;
}

bool works(const json& configuration) { return configuration.at("failure") == ""; }

void add_reading(std::vector<json>& configurations, const std::optional<CurveReading>& reading) {
  for (auto& own : configurations) {
    if (!works(own)) continue;
    own["read_time_to_target_s"] = nullptr;
    const json& target = own.at("time_to_target");
    if (!reading || !target.is_object()) continue;
    if (const auto time = read_time_to(target.at("target"), own.at("curve"), *reading))
      own["read_time_to_target_s"] = *time;
  }
}

// ---- Speed-ups ----

/// The configuration of a group with that algorithm; if none is named, bsp, preferably over a server. Null
/// when there is none.
const json* baseline_of(const std::vector<const json*>& group, const std::string& algorithm) {
  const json* found = nullptr;
  for (const json* candidate : group) {
    if (!algorithm.empty()) {
      if (candidate->at("algorithm") == algorithm) return candidate;
      continue;
    }
    const json& sync = candidate->at("experiment").at("sync");
    if (sync.at("algorithm") != "bsp") continue;
    if (sync.at("over") == "server") return candidate;
    if (found == nullptr) found = candidate;
  }
  return found;
}

/// By the name of the group.
std::map<std::string, const json*> baselines_of(const std::vector<json>& configurations,
                                                const std::string& algorithm) {
  std::map<std::string, std::vector<const json*>> groups;
  for (const auto& own : configurations)
    if (works(own)) groups[own.at("group")].push_back(&own);
  std::map<std::string, const json*> baselines;
  for (const auto& [name, members] : groups) baselines[name] = baseline_of(members, algorithm);
  return baselines;
}

void add_speed_ups(std::vector<json>& configurations, const std::string& algorithm) {
  const auto baselines = baselines_of(configurations, algorithm);
  for (auto& own : configurations) {
    if (!works(own)) continue;
    const json* baseline = baselines.at(own.at("group"));
    own["baseline"] = baseline == nullptr ? json() : baseline->at("name");
    own["speed_up"] = baseline == nullptr ? json() : ratio(own.at("throughput"), baseline->at("throughput"));
    const auto gain_in = [&](const char* time) {
      return baseline == nullptr ? json() : ratio(baseline->at(time), own.at(time));
    };
    own["target_speed_up"] = gain_in("time_to_target_s");
    own["read_target_speed_up"] = gain_in("read_time_to_target_s");
  }
}

// ---- The first lines ----

std::optional<double> learning_rate_of(const json& own) {
  const json::json_pointer key("/experiment/optimizer/learning_rate");
  return own.contains(key) && own.at(key).is_number() ? std::optional<double>(own.at(key)) : std::nullopt;
}

/// What their warnings depend on.
std::vector<Contender> contenders_of(const std::vector<json>& configurations) {
  std::vector<Contender> all;
  for (const auto& own : configurations)
    if (works(own))
      all.push_back({.name = own.at("name"),
                     .group = own.at("group"),
                     .throughput = own.at("throughput"),
                     .exchanges = exchanges_of(own),
                     .has_accuracy = !own.at("curve").empty(),
                     .learning_rate = learning_rate_of(own)});
  return all;
}

std::string question_of(const std::vector<json>& configurations) {
  std::vector<std::vector<std::string>> questions;
  for (const auto& own : configurations)
    if (works(own)) questions.push_back(own.at("question"));
  return question_line(questions);
}

/// Those of the headline, then those of each job, once.
json all_warnings(const std::vector<json>& configurations, std::vector<std::string> warnings) {
  std::set<std::string> known(warnings.begin(), warnings.end());
  for (const auto& own : configurations) {
    if (!works(own)) continue;
    for (const std::string warning : own.at("warnings"))
      if (known.insert(warning).second) warnings.push_back(warning);
  }
  return warnings;
}

json published_json(const std::vector<json>& configurations, const std::vector<PublishedFigure>& figures) {
  json all = json::array();
  for (const auto& figure : figures) {
    const auto own = std::find_if(
        configurations.begin(), configurations.end(),
        [&](const json& configuration) { return configuration.at("name") == figure.configuration; });
    // A study of chosen configurations lacks the others.
    if (own == configurations.end()) continue;
    const json ours = works(*own) ? own->at(figure.figure) : json();
    all.push_back({{"configuration", figure.configuration},
                   {"figure", figure.figure},
                   {"what", figure.what},
                   {"value", figure.value},
                   {"source", figure.source},
                   {"ours", ours},
                   {"ratio", ratio(ours, figure.value)}});
  }
  return all;
}

}  // namespace

std::optional<int> knee_of(const std::vector<std::pair<int, double>>& points, double share) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto& [workers, throughput] = points[i];
    const auto& [more, higher] = points[i + 1];
    TANDEM_CHECK(workers > 0 && more > workers && throughput > 0, "workers", workers, "and", more);
    if (higher / throughput - 1 < share * (static_cast<double>(more) / workers - 1)) return workers;
  }
  return std::nullopt;
}

std::optional<double> read_time_to(double target, const json& curve, const CurveReading& reading) {
  std::vector<std::pair<double, double>> points = {{0.0, reading.start}};
  const auto every = static_cast<std::size_t>(reading.every), mean = static_cast<std::size_t>(reading.mean);
  for (std::size_t i = every; i <= curve.size(); i += every)
    points.emplace_back(curve[i - 1][0].get<double>(), curve[i - 1][2].get<double>());
  for (std::size_t last = 0; last < points.size(); ++last) {
    double sum = 0;
    for (std::size_t back = 0; back < mean; ++back) sum += points[last - std::min(back, last)].second;
    if (sum / reading.mean >= target) return points[last].first;
  }
  return std::nullopt;
}

json study_configuration(const StudyConfiguration& configuration, const json& summary, const json& run,
                         const json& binding) {
  json environment = run;
  environment.erase("experiment");
  const json& target = summary.at("time_to_target");
  const double samples = std::max(1.0, summary.at("samples").get<double>());
  const json& bytes = summary.at("bytes");
  json curve = curve_of(summary);
  json best = best_of(curve);
  return {{"name", configuration.name},
          {"group", configuration.group},
          {"algorithm", configuration.algorithm},
          {"coordinates", configuration.coordinates},
          {"failure", ""},
          {"workers", run.at("experiment").at("placement").at("workers").size()},
          {"throughput", summary.at("throughput")},
          {"applied_throughput", summary.at("applied_throughput")},
          {"step_time_s", summary.at("step_time_s").at("mean")},
          {"intervals",
           {{"throughput", ensemble_interval(summary, "throughput")},
            {"step_time_s", ensemble_interval(summary, "step_time_s")},
            {"makespan_s", ensemble_interval(summary, "makespan_s")}}},
          {"phase_order", summary.at("phase_order")},
          {"question", run.value("question", std::vector<std::string>{})},
          {"warnings", run.value("warnings", std::vector<std::string>{})},
          {"makespan_s", summary.at("makespan_s")},
          {"rounds", summary.at("rounds")},
          {"samples", summary.at("samples")},
          {"bytes", bytes},
          {"bytes_per_sample",
           {{"sent", bytes.at("sent").get<double>() / samples},
            {"received", bytes.at("received").get<double>() / samples}}},
          {"shares", summary.at("shares")},
          {"exchange_shares", summary.at("exchange_shares")},
          {"binding", binding},
          {"cache_hit_ratio", summary.value(json::json_pointer("/cache/hit_ratio"), json())},
          {"data", data_of_result(summary)},
          {"staleness", summary.at("staleness")},
          {"membership", summary.value("membership", json())},
          {"local_steps", summary.at("local_steps")},
          {"time_to_target", target},
          {"time_to_target_s", target.is_object() ? target.at("checkpoint_time_s") : json()},
          {"best_accuracy", std::move(best)},
          {"curve", std::move(curve)},
          {"experiment", run.at("experiment")},
          {"command", run.at("command")},
          {"environment", std::move(environment)}};
}

json failed_study_configuration(const StudyConfiguration& configuration, const std::string& failure) {
  return {{"name", configuration.name},
          {"group", configuration.group},
          {"algorithm", configuration.algorithm},
          {"coordinates", configuration.coordinates},
          {"failure", failure}};
}

json study_document(std::vector<json> configurations, const std::string& title, const StudySection& section,
                    const std::vector<std::string>& commands) {
  add_reading(configurations, section.reading);
  add_speed_ups(configurations, section.baseline);
  json seeds = means_over_seeds(configurations, section.baseline);
  json published = published_json(configurations, section.published);
  json document = {
      {"kind", "study"},
      {"schema_version", study_schema_version},
      {"title", title},
      {"question", question_of(configurations)},
      {"warnings", all_warnings(configurations, exchange_warnings(contenders_of(configurations)))},
      {"about", section.about},
      {"notes", section.notes},
      {"baseline", section.baseline},
      {"knee_share", section.knee},
      {"configurations", std::move(configurations)},
      {"seeds", std::move(seeds)},
      {"published", std::move(published)},
      {"commands", commands}};
  document["answer"] = to_json(answer_of(document));
  return document;
}

}  // namespace tandem::validation
