#include "policies/recovery/request_waits.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "policies/vocabulary/check.hpp"

namespace tandem::recovery {
namespace {

constexpr double shortest_s = 1e-3;  // waits of 0 could repeat without end at one time
constexpr double longest_s = 1e9;

OptionSpec duration(const std::string& name, const std::string& summary, Seconds value) {
  return {.name = name,
          .summary = summary,
          .default_value = value.count(),
          .minimum = shortest_s,
          .maximum = longest_s};
}

/// Equal zones become equal numbers from 0 on, without gaps.
std::vector<std::size_t> numbered(const std::vector<std::size_t>& zones) {
  std::map<std::size_t, std::size_t> numbers;
  std::vector<std::size_t> all;
  for (const auto zone : zones) all.push_back(numbers.emplace(zone, numbers.size()).first->second);
  return all;
}

/// Rules in the time of machines, as the job sees them.
RequestRules in_job(RequestRules rules, double time_scale) {
  for (Seconds* time : {&rules.retry, &rules.within, &rules.cooldown, &rules.longest})
    *time = *time / time_scale;
  return rules;
}

std::vector<std::size_t> groups_of(const Setting& setting, bool by_slot) {
  std::vector<std::size_t> groups(static_cast<std::size_t>(setting.slots), 0);
  if (by_slot)
    for (std::size_t slot = 0; slot < groups.size(); ++slot) groups[slot] = slot;
  else if (!setting.zones.empty())
    groups = numbered(setting.zones);
  return groups;
}

}  // namespace

std::vector<OptionSpec> cooldown_options() {
  const RequestRules defaults;
  return {{.name = "cooldown_after",
           .summary = "deaths of machines of one zone (or slot) after which nothing is requested there for a "
                      "while; 0: never",
           .default_value = std::int64_t{defaults.deaths},
           .minimum = 0,
           .maximum = 1e6},
          duration("cooldown_within_s", "time in which that many deaths count", defaults.within),
          duration("cooldown_s", "wait after them; doubles with each in a row", defaults.cooldown),
          {.name = "cooldown_of",
           .summary = "where deaths are counted together",
           .default_value = std::string("zone"),
           .choices = {"zone", "slot"}},
          duration("longest_wait_s", "longest of these waits", defaults.longest)};
}

std::vector<OptionSpec> request_options() {
  std::vector<OptionSpec> options = cooldown_options();
  options.insert(options.begin(),
                 duration("retry_s", "wait after a request that failed; doubles with each in a row",
                          RequestRules().retry));
  return options;
}

RequestRules cooldown_rules(const Options& options) {
  return {.deaths = static_cast<int>(options.integer("cooldown_after")),
          .within = Seconds(options.real("cooldown_within_s")),
          .cooldown = Seconds(options.real("cooldown_s")),
          .longest = Seconds(options.real("longest_wait_s")),
          .by_slot = options.text("cooldown_of") == "slot"};
}

RequestRules request_rules(const Options& options) {
  RequestRules rules = cooldown_rules(options);
  rules.retry = Seconds(options.real("retry_s"));
  return rules;
}

RequestWaits::RequestWaits(const Setting& setting, const RequestRules& rules)
    : rules_(in_job(rules, setting.time_scale)),
      group_of_(groups_of(setting, rules.by_slot)),
      retries_(group_of_.size()) {
  groups_.resize(*std::ranges::max_element(group_of_) + 1);
}

void RequestWaits::failed(std::size_t slot, Seconds now) {
  Retry& retry = retries_.at(slot);
  ++retry.failures;
  retry.at = now + wait(rules_.retry, retry.failures);
}

void RequestWaits::obtained(std::size_t slot) { retries_.at(slot) = {}; }

void RequestWaits::died(std::size_t slot, Seconds now) {
  if (rules_.deaths == 0) return;
  Group& group = groups_[group_of_.at(slot)];
  std::erase_if(group.deaths, [&](Seconds death) { return death < now - rules_.within; });
  group.deaths.push_back(now);
  if (group.deaths.size() < static_cast<std::size_t>(rules_.deaths)) return;
  group.deaths.clear();
  if (now > group.until + rules_.within) group.cooldowns = 0;
  ++group.cooldowns;
  group.until = now + wait(rules_.cooldown, group.cooldowns);
}

Seconds RequestWaits::earliest(std::size_t slot) const {
  return std::max(retries_.at(slot).at, groups_[group_of_[slot]].until);
}

Seconds RequestWaits::wait(Seconds first, int number) const {
  constexpr int most_doublings = 60;
  return std::min(rules_.longest, first * std::ldexp(1.0, std::min(number - 1, most_doublings)));
}

void RequestWaits::serialise(PolicyState& state) {
  state.column("failed_requests", retries_, &Retry::failures);
  state.column("retry_at", retries_, &Retry::at);
  state.column("cooldowns", groups_, &Group::cooldowns);
  state.column("cools_until", groups_, &Group::until);
  serialise_deaths(state);
  if (std::ranges::any_of(retries_, [](const Retry& retry) { return retry.failures < 0; }) ||
      std::ranges::any_of(groups_, [](const Group& group) { return group.cooldowns < 0; }))
    throw ConfigError("policy state: expected 'failed_requests' and 'cooldowns' of at least 0");
}

void RequestWaits::serialise_deaths(PolicyState& state) {
  std::vector<std::uint64_t> where;
  std::vector<Seconds> when;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    for (const Seconds death : groups_[group].deaths) {
      where.push_back(group);
      when.push_back(death);
    }
  state.list("death_groups", where);
  if (state.restores()) when.resize(where.size());
  state.column("death_times", when, std::identity());
  if (!state.restores()) return;
  for (auto& group : groups_) group.deaths.clear();
  for (std::size_t i = 0; i < where.size(); ++i) {
    if (where[i] >= groups_.size())
      throw ConfigError("policy state: expected 'death_groups' below " + std::to_string(groups_.size()));
    groups_[where[i]].deaths.push_back(when[i]);
  }
}

}  // namespace tandem::recovery
