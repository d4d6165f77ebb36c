#include "workloads/job/placement/host_lifetime.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <utility>

#include "policies/lifetimes/catalog.hpp"
#include "policies/lifetimes/fates.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/experiment/option_durations.hpp"
#include "workloads/experiment/percent_text.hpp"

namespace tandem {
namespace {

/// As a value of the option of that name.
OptionValue value_of(const std::string& text, const std::string& name,
                     const std::vector<OptionSpec>& options) {
  const auto spec = std::ranges::find(options, name, &OptionSpec::name);
  if (spec != options.end() && std::holds_alternative<std::string>(spec->default_value)) return text;
  if (text == "true" || text == "false") return text == "true";
  if (const auto number = parse_number<std::int64_t>(text)) return *number;
  if (const auto number = parse_number<double>(text)) return *number;
  return text;
}

/// "NAME=VALUE", of which both may be percent-encoded. `what`: for the error.
std::pair<std::string, std::string> setting_of(const std::string& word, const std::string& what) {
  const auto equals = word.find('=');
  if (equals == std::string::npos) throw ConfigError("expected " + what + ", found '" + word + "'");
  return {percent_decoded(word.substr(0, equals)), percent_decoded(word.substr(equals + 1))};
}

/// "weibull shape=0.5 scale=6h". Errors: ConfigError.
LifetimeModel model_of(const std::string& text) {
  std::istringstream words(text);
  LifetimeModel model;
  words >> model.name;
  const auto& entry = lifetimes::catalog().find(model.name);
  for (std::string word; words >> word;) {
    const auto [name, value] = setting_of(word, "OPTION=VALUE after '" + model.name + "'");
    model.options[name] = value_of(value, name, entry.options);
  }
  read_durations(model.options, entry.options);
  return model;
}

std::string text_of(const std::map<std::string, std::string>& properties) {
  std::string text;
  for (const auto& [name, value] : properties)
    text += (text.empty() ? "" : " ") + percent_encoded(name) + '=' + percent_encoded(value);
  return text;
}

LifetimeGroup group_of(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos)
    throw ConfigError("expected 'PROPERTY=VALUE ...: MODEL OPTION=VALUE ...', found '" + text + "'");
  LifetimeGroup group;
  std::istringstream words(text.substr(0, colon));
  for (std::string word; words >> word;) group.properties.insert(setting_of(word, "PROPERTY=VALUE"));
  group.model = model_of(text.substr(colon + 1));
  return group;
}

}  // namespace

std::string lifetime_text_of(const platforms::Host& host) {
  const auto found = host.properties.find("tandem:lifetime");
  return found == host.properties.end() ? "" : found->second;
}

bool has_own_departures(const platforms::Host& host) {
  const std::string text = lifetime_text_of(host);
  const std::string model = text.substr(0, text.find(' '));
  return !model.empty() && model != "never";
}

std::string groups_of_hosts(const Experiment::Transience& transience) {
  const auto found = transience.options.find(lifetimes::by_host_option);
  return found == transience.options.end() ? "" : std::get<std::string>(found->second);
}

std::vector<LifetimeGroup> lifetime_groups_of(const std::string& text) {
  std::vector<LifetimeGroup> groups;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ';');) {
    try {
      groups.push_back(group_of(one));
      const LifetimeModel& model = groups.back().model;
      const std::vector<std::size_t> zone_of_one_slot = {0};
      lifetimes::make_fates(model.name, model.options, 1, zone_of_one_slot);
    } catch (const ConfigError& error) {
      throw ConfigError("group '" + one.substr(std::min(one.find_first_not_of(' '), one.size())) +
                        "': " + error.what());
    }
  }
  return groups;
}

LifetimesOfHosts::LifetimesOfHosts(const Experiment::Transience& transience)
    : common_{transience.lifetime, transience.options},
      limit_s_(transience.limit.count()),
      groups_(lifetime_groups_of(groups_of_hosts(transience))) {}

LifetimeModel LifetimesOfHosts::of(const platforms::Host& host) const {
  if (const std::string own = lifetime_text_of(host); !own.empty()) return model_of(own);
  LifetimeModel model = groups_.empty() ? common_ : of_group(host);
  if (limit_s_ > 0.0) model.options["limit"] = limit_s_;
  return model;
}

bool LifetimesOfHosts::may_depart(const platforms::Host& host, bool has_worker) const {
  if (!lifetime_text_of(host).empty()) return has_own_departures(host);
  return has_worker && of(host).name != "never";
}

bool LifetimesOfHosts::stay(const platforms::Host& host) const {
  const LifetimeModel model = of(host);
  if (model.name != "fixed") return model.name == "never";
  const auto& options = lifetimes::catalog().find(model.name).options;
  return Options::resolve(model.name, options, model.options).values() ==
         Options::resolve(model.name, options, {}).values();
}

/// The first that the host fits.
const LifetimeModel& LifetimesOfHosts::of_group(const platforms::Host& host) const {
  std::string known, found;
  for (const LifetimeGroup& group : groups_) {
    auto own = group.properties;
    for (auto& [name, value] : own) value = platforms::property_of(host, name);
    if (own == group.properties) return group.model;
    known += (known.empty() ? "" : " | ") + text_of(group.properties);
    found = text_of(own);
  }
  throw ConfigError("transience.options.by_host: host '" + host.name + "': expected properties of a group (" +
                    known + "), or an empty option, for one model of all machines, found " + found);
}

}  // namespace tandem
