#include "workloads/job/fates_of_job.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "policies/lifetimes/catalog.hpp"
#include "policies/lifetimes/fates_by_slot.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/option_durations.hpp"
#include "workloads/job/departing_nodes.hpp"
#include "workloads/job/needed_machines.hpp"
#include "workloads/job/zones.hpp"

namespace tandem {
namespace {

/// A lifetime model of the catalogue with options.
struct Model {
  std::string name;
  std::map<std::string, OptionValue> options;
  auto operator<=>(const Model&) const = default;
};

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

/// As a value of the option of that name.
OptionValue value_of(const std::string& text, const std::string& name,
                     const std::vector<OptionSpec>& options) {
  const auto spec = std::ranges::find(options, name, &OptionSpec::name);
  if (spec != options.end() && std::holds_alternative<std::string>(spec->default_value)) return text;
  if (text == "true" || text == "false") return text == "true";
  if (const auto number = number_of<std::int64_t>(text)) return *number;
  if (const auto number = number_of<double>(text)) return *number;
  return text;
}

/// "weibull shape=0.5 scale=6h". Errors: ConfigError.
Model model_of(const std::string& text) {
  std::istringstream words(text);
  Model model;
  words >> model.name;
  const auto& entry = lifetimes::catalog().find(model.name);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos)
      throw ConfigError("expected OPTION=VALUE after '" + model.name + "', found '" + word + "'");
    const std::string name = word.substr(0, equals);
    model.options[name] = value_of(word.substr(equals + 1), name, entry.options);
  }
  read_durations(model.options, entry.options);
  return model;
}

/// "region", "tandem:region"; empty: the host has neither.
std::string property_of(const platforms::Host& host, const std::string& name) {
  for (const auto& id : {name, "tandem:" + name})
    if (const auto found = host.properties.find(id); found != host.properties.end()) return found->second;
  return "";
}

/// The model of the first of the groups ("region=eu device=k80: weibull scale=2h") that the host fits.
Model model_for_host(const std::string& groups, const platforms::Host& host) {
  std::string known, found;
  std::istringstream list(groups);
  for (std::string group; std::getline(list, group, ';');) {
    const auto colon = group.find(':');
    if (colon == std::string::npos)
      throw ConfigError("expected 'PROPERTY=VALUE ...: MODEL OPTION=VALUE ...', found '" + group + "'");
    std::string wanted, own;
    std::istringstream words(group.substr(0, colon));
    for (std::string word; words >> word;) {
      const std::string name = word.substr(0, word.find('='));
      const char* const separator = wanted.empty() ? "" : " ";
      wanted += separator + word;
      own += separator + name + '=' + property_of(host, name);
    }
    if (own == wanted) return model_of(group.substr(colon + 1));
    known += (known.empty() ? "" : " | ") + wanted;
    found = own;
  }
  throw ConfigError("expected properties of a group (" + known +
                    "), or an empty option, for one model of all machines, found " + found);
}

/// Of machines on a host without a lifetime of its own.
Model model_of(const Experiment::Transience& setting, const platforms::Host& host) {
  Model model{setting.lifetime, setting.options};
  if (const std::string groups = groups_of_hosts(setting); !groups.empty()) {
    try {
      model = model_for_host(groups, host);
    } catch (const ConfigError& error) {
      throw ConfigError("transience.options.by_host: host '" + host.name + "': " + error.what());
    }
  }
  if (setting.limit > Seconds(0)) model.options["limit"] = setting.limit.count();
  return model;
}

}  // namespace

std::string lifetime_model_of(const Job& job, Rank rank) {
  const std::string text = lifetime_text_of(job.devices().host_of(rank));
  return text.substr(0, text.find(' '));
}

std::string groups_of_hosts(const Experiment::Transience& transience) {
  const auto found = transience.options.find(lifetimes::by_host_option);
  return found == transience.options.end() ? "" : std::get<std::string>(found->second);
}

std::unique_ptr<lifetimes::Fates> fates_of(const Job& job) {
  const auto& experiment = job.spec().experiment;
  std::vector<std::string> needed;
  for (const NeededMachine& machine : needed_machines(job)) needed.push_back(machine.host);
  for (const std::size_t node : departing_cache_nodes(job))
    needed.push_back(job.roster().host_of(job.roster().ranks_of(Roster::Role::cache_node)[node]));
  const auto zones = zones_of(job, needed);
  std::map<Model, std::size_t> numbers;
  std::vector<std::unique_ptr<lifetimes::Fates>> models;
  std::vector<std::size_t> of_slot;
  const auto add = [&](const platforms::Host& host) {
    const std::string text = lifetime_text_of(host);
    try {
      const Model model = text.empty() ? model_of(experiment.transience, host) : model_of(text);
      const auto [number, is_new] = numbers.emplace(model, models.size());
      if (is_new) models.push_back(lifetimes::make_fates(model.name, model.options, experiment.seed, zones));
      of_slot.push_back(number->second);
    } catch (const ConfigError& error) {
      if (text.empty()) throw;
      throw ConfigError(experiment.platform + ": host '" + host.name +
                        "', property tandem:lifetime: " + error.what());
    }
  };
  for (const Rank worker : job.roster().workers()) add(job.devices().host_of(worker));
  for (const std::string& host : needed) add(job.spec().platform.host(host));
  return std::make_unique<lifetimes::FatesBySlot>(std::move(models), std::move(of_slot));
}

}  // namespace tandem
