#include "runtime/cluster/wiring.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace tandem::cluster {

using nlohmann::json;

json to_json(const Wiring& wiring) {
  json channels = json::array();
  for (const auto& channel : wiring.channels)
    channels.push_back({{"name", channel.name},
                        {"bandwidth", channel.bandwidth.count()},
                        {"latency_s", channel.latency.count()},
                        {"shared", channel.shared}});
  json routes = json::array();
  for (const auto& [pair, route] : wiring.routes)
    routes.push_back({{"from", pair.first},
                      {"to", pair.second},
                      {"latency_s", route.latency.count()},
                      {"channels", route.channels}});
  return {{"hosts", wiring.hosts}, {"channels", channels}, {"routes", routes}};
}

Wiring wiring_from_json(const json& document) {
  Wiring wiring;
  document.at("hosts").get_to(wiring.hosts);
  for (const auto& channel : document.at("channels"))
    wiring.channels.push_back(
        {channel.at("name").get<std::string>(), BytesPerSecond(channel.at("bandwidth").get<double>()),
         Seconds(channel.at("latency_s").get<double>()), channel.at("shared").get<bool>()});
  for (const auto& route : document.at("routes"))
    wiring.routes[{route.at("from").get<int>(), route.at("to").get<int>()}] = {
        route.at("channels").get<std::vector<int>>(), Seconds(route.at("latency_s").get<double>())};
  return wiring;
}

std::vector<BytesPerSecond> max_min_rates(const Wiring& wiring, const std::vector<Pair>& flows) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  std::vector<double> rates(flows.size(), unlimited);
  std::vector<bool> fixed(flows.size(), false);
  std::vector<double> left;
  for (const auto& channel : wiring.channels) left.push_back(channel.bandwidth.count());
  const auto channels_of = [&](std::size_t flow) -> const std::vector<int>& {
    return wiring.routes.at(flows[flow]).channels;
  };
  // Progressive filling: the channel with the smallest share per flow determines the rates of its flows.
  for (;;) {
    std::vector<int> users(wiring.channels.size(), 0);
    for (std::size_t flow = 0; flow < flows.size(); ++flow)
      for (const int channel : channels_of(flow))
        users[static_cast<std::size_t>(channel)] += fixed[flow] ? 0 : 1;
    double least = unlimited;
    std::size_t narrowest = 0;
    for (std::size_t channel = 0; channel < left.size(); ++channel) {
      if (users[channel] == 0) continue;
      const double share = wiring.channels[channel].shared ? left[channel] / users[channel] : left[channel];
      if (share < least) {
        least = share;
        narrowest = channel;
      }
    }
    if (least == unlimited) break;
    for (std::size_t flow = 0; flow < flows.size(); ++flow) {
      const auto& route = channels_of(flow);
      if (fixed[flow] || std::find(route.begin(), route.end(), static_cast<int>(narrowest)) == route.end())
        continue;
      fixed[flow] = true;
      rates[flow] = least;
      for (const int channel : route)
        if (wiring.channels[static_cast<std::size_t>(channel)].shared)
          left[static_cast<std::size_t>(channel)] -= least;
    }
  }
  std::vector<BytesPerSecond> result;
  for (const double rate : rates) result.emplace_back(rate);
  return result;
}

}  // namespace tandem::cluster
