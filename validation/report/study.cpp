#include "validation/report/study.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "validation/report/data_section.hpp"
#include "validation/report/seed_means.hpp"
#include "validation/report/study_fields.hpp"
#include "workloads/experiment/json_fields.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;
using Number = std::optional<double>;

Number ratio(const Number& above, const Number& below) {
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

std::optional<Interval> interval_of(const std::optional<EnsembleFigure>& figure) {
  return figure ? std::optional(Interval{figure->low, figure->high}) : std::nullopt;
}

Number best_of(const Curve& curve) {
  if (curve.empty()) return std::nullopt;
  return std::ranges::max_element(curve, {}, &CurvePoint::accuracy)->accuracy;
}

Number best_top5_of(const Summary& summary) {
  Number best;
  for (const EvaluationRecord& evaluation : summary.evaluations)
    if (!std::isnan(evaluation.top5_accuracy))
      best = std::max(best.value_or(evaluation.top5_accuracy), evaluation.top5_accuracy);
  return best;
}

void add_reading(std::vector<StudyResult>& configurations, const std::optional<CurveReading>& reading) {
  for (auto& own : configurations)
    if (!own.failed() && reading && own.time_to_target)
      own.read_time_to_target_s = read_time_to(own.time_to_target->target, own.curve, *reading);
}

// ---- Speed-ups ----

/// The configuration of a group with that algorithm; if none is named, bsp, preferably over a server. Null
/// when there is none.
const StudyResult* baseline_of(const std::vector<const StudyResult*>& group, const std::string& algorithm) {
  const StudyResult* found = nullptr;
  for (const StudyResult* candidate : group) {
    if (!algorithm.empty()) {
      if (candidate->algorithm == algorithm) return candidate;
      continue;
    }
    const auto& sync = candidate->experiment.sync;
    if (sync.algorithm != "bsp") continue;
    if (sync.over == sync::Route::server) return candidate;
    if (found == nullptr) found = candidate;
  }
  return found;
}

/// By the name of the group.
std::map<std::string, const StudyResult*> baselines_of(const std::vector<StudyResult>& configurations,
                                                       const std::string& algorithm) {
  std::map<std::string, std::vector<const StudyResult*>> groups;
  for (const auto& own : configurations)
    if (!own.failed()) groups[own.group].push_back(&own);
  std::map<std::string, const StudyResult*> baselines;
  for (const auto& [name, members] : groups) baselines[name] = baseline_of(members, algorithm);
  return baselines;
}

void add_speed_ups(std::vector<StudyResult>& configurations, const std::string& algorithm) {
  const auto baselines = baselines_of(configurations, algorithm);
  for (auto& own : configurations) {
    if (own.failed()) continue;
    const StudyResult* baseline = baselines.at(own.group);
    own.baseline.emplace();
    if (baseline == nullptr) continue;
    *own.baseline = baseline->name;
    own.speed_up = ratio(own.throughput, baseline->throughput);
    own.target_speed_up = ratio(baseline->time_to_target_s, own.time_to_target_s);
    own.read_target_speed_up = ratio(baseline->read_time_to_target_s, own.read_time_to_target_s);
  }
}

// ---- The first lines ----

/// What their warnings depend on. Seeds are repetitions: the first one that worked counts.
std::vector<Contender> contenders_of(const std::vector<StudyResult>& configurations) {
  std::vector<Contender> all;
  std::set<std::string> known;
  for (const auto& own : configurations) {
    const std::string name = without_seed(own.name);
    if (own.failed() || !known.insert(name).second) continue;
    all.push_back({.name = name.empty() ? own.name : name,
                   .group = without_seed(own.group),
                   .throughput = own.throughput,
                   .exchanges = own.exchanges(),
                   .has_accuracy = !own.curve.empty(),
                   .learning_rate = own.experiment.optimizer.learning_rate});
  }
  return all;
}

std::string question_of(const std::vector<StudyResult>& configurations) {
  std::vector<std::vector<std::string>> questions;
  for (const auto& own : configurations)
    if (!own.failed()) questions.push_back(own.question);
  return question_line(questions);
}

/// Those of the headline, then those of each job, once.
std::vector<std::string> all_warnings(const std::vector<StudyResult>& configurations) {
  std::vector<std::string> warnings = exchange_warnings(contenders_of(configurations));
  std::set<std::string> known(warnings.begin(), warnings.end());
  for (const auto& own : configurations)
    for (const std::string& warning : own.warnings)
      if (known.insert(warning).second) warnings.push_back(warning);
  return warnings;
}

/// The figure of study_figures with this key.
Number figure_of(const StudyResult& own, const std::string& key) {
  const std::map<std::string, Number> figures = {{"throughput", own.throughput},
                                                 {"step_time_s", own.step_time_s},
                                                 {"speed_up", own.speed_up},
                                                 {"time_to_target_s", own.time_to_target_s},
                                                 {"target_speed_up", own.target_speed_up},
                                                 {"read_target_speed_up", own.read_target_speed_up},
                                                 {"best_accuracy", own.best_accuracy}};
  return figures.at(key);
}

std::vector<StudyPublished> published_of(const std::vector<StudyResult>& configurations,
                                         const std::vector<PublishedFigure>& figures) {
  std::vector<StudyPublished> all;
  for (const auto& figure : figures) {
    const auto own = std::ranges::find(configurations, figure.configuration, &StudyResult::name);
    // A study of chosen configurations lacks the others.
    if (own == configurations.end()) continue;
    const Number ours = own->failed() ? std::nullopt : figure_of(*own, figure.figure);
    all.push_back({.configuration = figure.configuration,
                   .figure = figure.figure,
                   .what = figure.what,
                   .value = figure.value,
                   .source = figure.source,
                   .ours = ours,
                   .ratio = ratio(ours, figure.value)});
  }
  return all;
}

}  // namespace

std::optional<int> knee_of(const std::vector<std::pair<int, double>>& points, double share) {
  for (auto point = points.begin(); point != points.end() && std::next(point) != points.end(); ++point) {
    const auto& [workers, throughput] = *point;
    TANDEM_CHECK(workers > 0 && std::next(point)->first > workers && throughput > 0, "workers", workers);
    const auto pays = [&](const std::pair<int, double>& larger) {
      const double added = static_cast<double>(larger.first) / workers - 1;
      return larger.second / throughput - 1 >= share * added;
    };
    if (std::none_of(std::next(point), points.end(), pays)) return workers;
  }
  return std::nullopt;
}

std::optional<double> read_time_to(double target, const Curve& curve, const CurveReading& reading) {
  std::vector<std::pair<double, double>> points = {{0.0, reading.start}};
  const auto every = static_cast<std::size_t>(reading.every), mean = static_cast<std::size_t>(reading.mean);
  for (std::size_t i = every; i <= curve.size(); i += every)
    points.emplace_back(curve[i - 1].checkpoint_time_s, curve[i - 1].accuracy);
  for (std::size_t last = 0; last < points.size(); ++last) {
    double sum = 0;
    for (std::size_t back = 0; back < mean; ++back) sum += points[last - std::min(back, last)].second;
    if (sum / reading.mean >= target) return points[last].first;
  }
  return std::nullopt;
}

std::vector<const StudyResult*> Study::worked() const {
  std::vector<const StudyResult*> all;
  for (const auto& configuration : configurations)
    if (!configuration.failed()) all.push_back(&configuration);
  return all;
}

json to_json(const Study& study) {
  json document = write_fields(study);
  document["answer"] = write_fields(answer_of(study));
  return document;
}

Study study_from_json(const json& document, const std::string& file) {
  return read_fields<Study>(document, file);
}

StudyResult study_result(const StudyConfiguration& configuration, const Summary& summary, const RunInfo& run,
                         const std::optional<Binding>& binding) {
  const auto samples = static_cast<double>(std::max<std::int64_t>(1, summary.samples));
  StudyResult own{configuration};
  own.workers = run.experiment.placement.workers.size();
  own.throughput = summary.throughput;
  own.applied_throughput = summary.applied_throughput;
  own.step_time_s = summary.step_time.mean;
  if (const auto& ensemble = summary.ensemble)
    own.intervals = {interval_of(ensemble->figures.throughput), interval_of(ensemble->figures.step_time),
                     interval_of(ensemble->figures.makespan)};
  own.phase_order = summary.phase_order;
  own.question = run.question;
  own.warnings = run.warnings;
  own.makespan_s = summary.makespan_s;
  own.rounds = summary.rounds;
  own.samples = summary.samples;
  own.bytes = summary.bytes;
  own.bytes_per_sample = {static_cast<double>(summary.bytes.sent) / samples,
                          static_cast<double>(summary.bytes.received) / samples};
  own.shares = summary.shares;
  own.exchange_shares = summary.exchange_shares;
  own.binding = binding;
  if (summary.cache) {
    own.cache_hit_ratio = summary.cache->hit_ratio;
    own.storage_busy = summary.cache->storage_busy;
  }
  own.data = data_of_result(summary);
  own.staleness = summary.staleness;
  own.local_steps = summary.local_steps;
  own.membership = summary.membership;
  own.cost = summary.cost;
  own.time_to_target = summary.time_to_target;
  if (const auto& target = summary.time_to_target) own.time_to_target_s = target->checkpoint_time_s;
  own.curve = curve_of(summary.evaluations);
  own.best_accuracy = best_of(own.curve);
  own.best_top5_accuracy = best_top5_of(summary);
  own.experiment = run.experiment;
  own.command = run.command;
  own.environment = run;
  return own;
}

StudyResult failed_study_result(const StudyConfiguration& configuration, const std::string& failure) {
  return {configuration, failure};
}

Study make_study(std::vector<StudyResult> configurations, const std::string& title,
                 const StudySection& section, const std::vector<std::string>& commands) {
  add_reading(configurations, section.reading);
  add_speed_ups(configurations, section.baseline);
  Study study{.title = title,
              .question = question_of(configurations),
              .warnings = all_warnings(configurations),
              .about = section.about,
              .notes = section.notes,
              .baseline = section.baseline,
              .decides = section.decides,
              .knee_share = section.knee,
              .seeds = means_over_seeds(configurations, section.baseline),
              .published = published_of(configurations, section.published),
              .commands = commands};
  study.configurations = std::move(configurations);
  return study;
}

std::vector<PlatformUse> platforms_of(const Study& study) {
  std::vector<PlatformUse> uses;
  for (const StudyResult* own : study.worked())
    uses.push_back({.path = own->experiment.platform,
                    .precision = own->experiment.workload.precision,
                    .hosts = own->environment.hosts,
                    .roles = own->environment.roles});
  return uses;
}

}  // namespace tandem::validation
