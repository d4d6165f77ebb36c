#include "workloads/job/check/limits.hpp"

#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"

namespace tandem {
namespace {

using Values = std::map<std::string, std::string>;

/// "bsp | asp": names of the entries of which this is true.
template <class Factory, class IsOne>
std::string names_of(const Catalog<Factory>& catalog, const IsOne& is_one) {
  std::vector<std::string> names;
  for (const auto& entry : catalog.entries())
    if (is_one(entry.make)) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, " | "));
}

/// Samplers with which the cache policy works.
std::string samplers_for(const cache::Needs& needs) {
  return names_of(sampling::samplers(), [&](const sampling::SamplerFactory& sampler) {
    const bool needs_lists = needs.ahead || needs.importance || needs.lists;
    return (sampler.make != nullptr || !needs_lists) && (sampler.needs_losses || !needs.importance) &&
           (!sampler.may_repeat || !needs.ahead) && (!sampler.needs_losses || !needs.plan);
  });
}

std::string needs_of(cache::Needs needs) {
  needs.manifest = false;
  return cache::describe(needs);
}

/// The values of the names in braces.
Values values_of(const Combination& all) {
  const auto& [experiment, chosen] = all;
  std::vector<std::string> routes;
  for (const auto route : chosen.algorithm->routes) routes.push_back(to_text(route));
  const auto& optimizer = experiment.optimizer;
  return {
      {"algorithm", chosen.algorithm.name()},
      {"over", to_text(experiment.sync.over)},
      {"routes", fmt::format("{}", fmt::join(routes, " or "))},
      {"compression", chosen.compression.name()},
      {"cache", chosen.cache.name()},
      {"sampler", chosen.sampler.name()},
      {"split", chosen.split.name()},
      {"model", experiment.workload.model},
      {"lifetime", chosen.lifetime.name()},
      {"policy", experiment.checkpoint.policy},
      {"recovery", chosen.recovery.name()},
      {"place", to_text(experiment.checkpoint.to)},
      {"needs", needs_of(chosen.cache->needs)},
      {"planner",
       all.plans_epochs() ? "cache policy " + chosen.cache.name() : "sampler " + chosen.sampler.name()},
      {"peers", to_text(experiment.data.peers)},
      {"parameters", std::to_string(experiment.workload.synthetic_parameters)},
      {"workers", std::to_string(experiment.placement.workers.size())},
      {"rounds", std::to_string(experiment.stop.rounds)},
      {"cosine",
       std::to_string(optimizer.cosine_rounds > 0 ? optimizer.cosine_rounds : experiment.stop.rounds)},
      {"algorithms_over", names_of(sync::catalog(),
                                   [&](const sync::Factory& one) {
                                     return std::ranges::find(one.routes, experiment.sync.over) !=
                                            one.routes.end();
                                   })},
      {"algorithms_by_key", names_of(sync::catalog(), works_by_key)},
      {"algorithms_in_lockstep",
       names_of(sync::catalog(), [](const sync::Factory& one) { return one.lockstep; })},
      {"samplers", samplers_for(chosen.cache->needs)},
  };
}

/// Where no experiment is at hand.
const Values& nouns() {
  static const Values all = {{"algorithm", "(the algorithm)"},
                             {"over", "(sync.over)"},
                             {"routes", "(its routes)"},
                             {"compression", "(the compression)"},
                             {"cache", "(the policy)"},
                             {"sampler", "(the sampler)"},
                             {"split", "(the split)"},
                             {"model", "(the model)"},
                             {"lifetime", "(the lifetime)"},
                             {"policy", "(the policy)"},
                             {"recovery", "(the policy)"},
                             {"place", "(checkpoint.to)"},
                             {"needs", "(what it needs)"},
                             {"planner", "(the cache policy or sampler)"},
                             {"peers", "(data.peers)"},
                             {"parameters", "(their number)"},
                             {"workers", "(their number)"},
                             {"rounds", "stop.rounds"},
                             {"cosine", "(their number)"},
                             {"algorithms_over", "those of this route"},
                             {"algorithms_by_key", "asp and algorithms of rounds"},
                             {"algorithms_in_lockstep", "those in lockstep"},
                             {"samplers", "a sampler with what the policy needs"}};
  return all;
}

std::string filled(const std::string& text, const Values& values) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const auto& [name, value] : values) arguments.push_back(fmt::arg(name.c_str(), value));
  return fmt::vformat(text, arguments);
}

std::string text_of(const Limit& limit, const Limit::Case& at, const Values& values) {
  return filled(at.expected + (limit.because.empty() ? "" : ", because " + limit.because), values);
}

/// The value of a key or of an option, as errors show it.
std::string found_at(const std::string& path, const Experiment& experiment) {
  const ExperimentKey* key = find_experiment_key(path);
  if (key == nullptr) return "nothing";
  nlohmann::json value = written_value(*key, experiment);
  if (path.size() > key->path.size())
    value = value.value(path.substr(key->path.size() + 1), nlohmann::json());
  if (value.is_number_float()) return '\'' + shortest_text(value.get<double>()) + '\'';
  if (!value.is_array()) return quote(value);
  std::vector<std::string> items;
  for (const auto& item : value) items.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  return quote(fmt::format("{}", fmt::join(items, ", ")));
}

}  // namespace

bool Combination::exchanges_with_all() const {
  const bool is_in_groups = std::ranges::any_of(
      chosen.algorithm.entry().options, [](const auto& option) { return option.name == "group_size"; });
  return is_over(sync::Route::all_reduce) && !is_in_groups;
}

bool Combination::plans_epochs() const {
  const cache::Needs& needs = chosen.cache->needs;
  return has_cache_nodes() && (needs.ahead || needs.importance || needs.lists);
}

bool works_by_key(const sync::Factory& algorithm) {
  const bool has_server = std::ranges::find(algorithm.routes, sync::Route::server) != algorithm.routes.end();
  return has_server && (algorithm.lockstep || !algorithm.timing_driven || algorithm.decides_by_part);
}

const std::vector<LimitGroup>& limit_groups() {
  static const std::vector<LimitGroup> all = {{"Training", limits_of_training},
                                              {"Data", limits_of_data},
                                              {"Machines, commits and recovery", limits_of_machines},
                                              {"Numbers of workers and servers", limits_of_placement},
                                              {"Several jobs", limits_of_company},
                                              {"Jobs that share their caches", limits_of_shared_caches}};
  return all;
}

std::string describe(Limit::Kind kind) {
  switch (kind) {
    case Limit::Kind::unsupported:
      return "Refused combinations: features that do not work together";
    case Limit::Kind::unused:
      return "Keys without effect, which are refused so that an experiment says what its job does";
    case Limit::Kind::value:
      break;
  }
  return "Values that contradict each other, or need another one that is not given";
}

void check_limits(const std::vector<Limit>& limits, const Combination& all, const Locate& locate) {
  for (const Limit& limit : limits)
    for (const Limit::Case& at : limit.cases) {
      if (!at.is_met(all)) continue;
      const Origin origin = locate(at.key);
      fail(origin.place, origin.label, text_of(limit, at, values_of(all)), found_at(at.key, all.experiment));
    }
}

std::vector<std::string> met_warnings(const std::vector<Limit>& warnings, const Combination& all,
                                      const Locate& locate) {
  std::vector<std::string> texts;
  for (const Limit& warning : warnings)
    for (const Limit::Case& at : warning.cases)
      if (at.is_met(all))
        texts.push_back(fmt::format("{}: expected {}, found {}", located_key(locate, at.key),
                                    text_of(warning, at, values_of(all)), found_at(at.key, all.experiment)));
  return texts;
}

std::string describe(const Limit& limit, const Limit::Case& at) { return text_of(limit, at, nouns()); }

}  // namespace tandem
