#include "workloads/cost/server_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

constexpr std::string_view prefix = "tandem:server_";
constexpr const char* message_property = "tandem:server_message";
constexpr const char* tensor_property = "tandem:server_tensor";
constexpr const char* push_rate_property = "tandem:server_push_rate";
constexpr const char* reply_rate_property = "tandem:server_reply_rate";
constexpr const char* parallel_property = "tandem:server_parallel";
constexpr const char* variation_property = "tandem:server_variation";
constexpr int most_parallel = 4096;

[[noreturn]] void refuse(const std::string& place, const std::string& property, const std::string& expected,
                         const std::string& found) {
  throw ConfigError(
      fmt::format("{}: property '{}': expected {}, found '{}'", place, property, expected, found));
}

[[noreturn]] void refuse_name(const std::string& place, const std::string& name) {
  const std::vector<std::string> known = server_property_names();
  const std::string nearest = nearest_name(name, known);
  throw ConfigError(fmt::format("{}: property '{}': expected one of {}, found an unknown cost of a server{}",
                                place, name, fmt::join(known, ", "),
                                nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

Seconds time_from(const std::string& place, const std::string& property, const std::string& text) {
  const auto time = parse_seconds(text);
  if (!time || time->count() < 0.0)
    refuse(place, property, "a time >= 0 (" + time_examples("200us") + ")", text);
  return *time;
}

BytesPerSecond rate_from(const std::string& place, const std::string& property, const std::string& text) {
  const auto rate = parse_rate(text);
  if (!rate || rate->count() <= 0.0)
    refuse(place, property, "bytes per second > 0 (" + rate_examples() + ")", text);
  return *rate;
}

int number_from(const std::string& place, const std::string& property, const std::string& text) {
  const auto number = parse_number<int>(text, 1, most_parallel);
  if (!number) refuse(place, property, fmt::format("a whole number from 1 to {}", most_parallel), text);
  return *number;
}

double share_from(const std::string& place, const std::string& property, const std::string& text) {
  const auto share = parse_number<double>(text, 0.0, 1.0);
  if (!share) refuse(place, property, "a number from 0 to 1", text);
  return *share;
}

}  // namespace

Seconds ServerCost::time_of(const Work& work) const {
  const bool is_push = work.kind == Work::Kind::push;
  if (!is_push && work.kind != Work::Kind::reply) return Seconds(0);
  const auto& rate = is_push ? push_rate : reply_rate;
  return message + tensor * work.tensors + (rate ? work.bytes / *rate : Seconds(0));
}

std::optional<ServerCost> stated_server_cost(const platforms::Host& host, const std::string& file) {
  std::optional<ServerCost> cost;
  for (auto property = host.properties.lower_bound(std::string(prefix));
       property != host.properties.end() && property->first.starts_with(prefix); ++property) {
    const std::string place = file + ": host '" + host.name + "'";
    const auto& [name, text] = *property;
    if (!cost) cost.emplace();
    if (name == message_property)
      cost->message = time_from(place, name, text);
    else if (name == tensor_property)
      cost->tensor = time_from(place, name, text);
    else if (name == push_rate_property)
      cost->push_rate = rate_from(place, name, text);
    else if (name == reply_rate_property)
      cost->reply_rate = rate_from(place, name, text);
    else if (name == parallel_property)
      cost->parallel = std::min(number_from(place, name, text), std::max(1, host.cores));
    else if (name == variation_property)
      cost->variation = share_from(place, name, text);
    else
      refuse_name(place, name);
  }
  if (!cost || *cost != ServerCost{.parallel = cost->parallel, .variation = cost->variation}) return cost;
  for (const auto& [name, because] :
       {std::pair(parallel_property, "because this program's own server has one thread"),
        {variation_property, "which vary"}})
    if (const auto alone = host.properties.find(name); alone != host.properties.end())
      refuse(file + ": host '" + host.name + "'", name, std::string("other costs of the server, ") + because,
             alone->second);
  return cost;
}

std::map<std::string, std::string> server_properties(const ServerCost& cost, bool rounded) {
  std::map<std::string, std::string> properties;
  const auto time_text = [&](Seconds time) {
    return rounded ? fmt::format("{:.5g}us", time.count() * 1e6) : fmt::format("{}s", time.count());
  };
  const auto rate_text = [&](BytesPerSecond rate) {
    return rounded ? fmt::format("{:.5g}MBps", rate.count() * 1e-6) : fmt::format("{}Bps", rate.count());
  };
  if (cost.tensor > Seconds(0)) properties[tensor_property] = time_text(cost.tensor);
  if (cost.push_rate) properties[push_rate_property] = rate_text(*cost.push_rate);
  if (cost.reply_rate) properties[reply_rate_property] = rate_text(*cost.reply_rate);
  if (cost.parallel > 1) properties[parallel_property] = std::to_string(cost.parallel);
  if (cost.variation > 0.0)
    properties[variation_property] =
        rounded ? fmt::format("{:.5g}", cost.variation) : fmt::format("{}", cost.variation);
  if (cost.message > Seconds(0) || properties.empty()) properties[message_property] = time_text(cost.message);
  return properties;
}

std::vector<std::string> server_property_names() {
  std::vector<std::string> names = server_cost_names();
  names.insert(names.end(), {parallel_property, variation_property});
  return names;
}

std::vector<std::string> server_cost_names() {
  return {message_property, tensor_property, push_rate_property, reply_rate_property};
}

}  // namespace tandem
