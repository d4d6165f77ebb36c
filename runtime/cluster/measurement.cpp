#include "runtime/cluster/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace tandem::cluster {
namespace {

using nlohmann::json;

constexpr double least_flow_bytes = 256 * 1024;
// For all flows of a measurement together, so that links faster than the machine do not take minutes.
constexpr double most_bytes = 64e6;
// Bytes for a flow without a limiting link. Its rate is not judged.
constexpr double unlimited_rate = 1e9;

class Planner {
 public:
  Planner(const Wiring& wiring, const MeasurementSetting& setting) : wiring_(wiring), setting_(setting) {}

  void add_pair(const Pair& pair) {
    if (!done_.insert({pair}).second) return;
    Measurement latency{Measurement::Kind::latency, name_of(pair), flows_of({pair}),
                        wiring_.routes.at(pair).latency};
    list_.push_back(std::move(latency));
    list_.push_back({Measurement::Kind::bandwidth, name_of(pair), flows_of({pair})});
  }
  void add_flows(const std::string& name, std::vector<Pair> pairs) {
    std::sort(pairs.begin(), pairs.end());
    if (done_.insert(pairs).second) list_.push_back({Measurement::Kind::bandwidth, name, flows_of(pairs)});
  }
  bool routed(const Pair& pair) const { return wiring_.routes.contains(pair); }
  std::string name_of(const Pair& pair) const { return host(pair.first) + " -> " + host(pair.second); }
  const std::string& host(int index) const { return wiring_.hosts[static_cast<std::size_t>(index)]; }
  std::vector<Measurement> take() { return std::move(list_); }

 private:
  std::vector<Flow> flows_of(const std::vector<Pair>& pairs) const {
    std::vector<Flow> flows;
    const auto rates = max_min_rates(wiring_, pairs);
    const Seconds duration = pairs.size() == 1 ? setting_.duration : setting_.duration_of_many;
    double sum = 0.0;
    for (const auto rate : rates) sum += std::min(rate.count(), unlimited_rate);
    const double seconds = std::min(duration.count(), most_bytes / sum);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const double bytes = std::min(rates[i].count(), unlimited_rate) * seconds;
      flows.push_back({pairs[i].first, pairs[i].second,
                       Bytes(static_cast<std::int64_t>(std::max(least_flow_bytes, bytes))), rates[i]});
    }
    return flows;
  }

  const Wiring& wiring_;
  const MeasurementSetting& setting_;
  std::set<std::vector<Pair>> done_;
  std::vector<Measurement> list_;
};

double used_of(const Wiring& wiring, const std::vector<Pair>& pairs, int channel) {
  const auto rates = max_min_rates(wiring, pairs);
  double sum = 0.0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& way = wiring.routes.at(pairs[i]).channels;
    if (std::find(way.begin(), way.end(), channel) != way.end()) sum += rates[i].count();
  }
  return sum;
}

/// Few pairs whose flows together fill the channel, or use as much of it as they can. Greedy: each next pair
/// adds the most.
std::vector<Pair> filling_pairs(const Wiring& wiring, int channel) {
  std::vector<Pair> candidates;
  for (const auto& [pair, route] : wiring.routes)
    if (std::find(route.channels.begin(), route.channels.end(), channel) != route.channels.end())
      candidates.push_back(pair);
  const double bandwidth = wiring.channels[static_cast<std::size_t>(channel)].bandwidth.count();
  std::vector<Pair> chosen;
  double used = 0.0;
  while (used < bandwidth * (1 - 1e-9)) {
    double best = used * (1 + 1e-9);
    const Pair* next = nullptr;
    for (const auto& candidate : candidates) {
      auto more = chosen;
      more.push_back(candidate);
      const double with = used_of(wiring, more, channel);
      if (with <= best) continue;
      best = with;
      next = &candidate;
      if (with >= bandwidth * (1 - 1e-9)) break;
    }
    if (next == nullptr) break;
    chosen.push_back(*next);
    used = best;
  }
  return chosen;
}

}  // namespace

json to_json(const std::vector<Measurement>& measurements) {
  json list = json::array();
  for (const auto& measurement : measurements) {
    json flows = json::array();
    for (const auto& flow : measurement.flows)
      flows.push_back({{"from", flow.from},
                       {"to", flow.to},
                       {"bytes", flow.size.count()},
                       {"expected", std::isinf(flow.expected.count()) ? json() : json(flow.expected.count())},
                       {"rate", flow.rate}});
    list.push_back({{"kind", measurement.kind == Measurement::Kind::latency ? "latency" : "bandwidth"},
                    {"name", measurement.name},
                    {"flows", flows},
                    {"expected_latency_s", measurement.expected_latency.count()},
                    {"latency_s", measurement.latency_s}});
  }
  return list;
}

std::vector<Measurement> measurements_from_json(const json& document) {
  std::vector<Measurement> measurements;
  for (const auto& entry : document) {
    const bool latency = entry.at("kind").get<std::string>() == "latency";
    Measurement measurement{latency ? Measurement::Kind::latency : Measurement::Kind::bandwidth,
                            entry.at("name").get<std::string>(),
                            {},
                            Seconds(entry.at("expected_latency_s").get<double>()),
                            entry.at("latency_s").get<double>()};
    for (const auto& flow : entry.at("flows")) {
      const auto& expected = flow.at("expected");
      measurement.flows.push_back({flow.at("from").get<int>(), flow.at("to").get<int>(),
                                   Bytes(flow.at("bytes").get<std::int64_t>()),
                                   BytesPerSecond(expected.is_null() ? HUGE_VAL : expected.get<double>()),
                                   flow.at("rate").get<double>()});
    }
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

std::vector<Measurement> plan_measurements(const Wiring& wiring, const MeasurementSetting& setting) {
  Planner planner(wiring, setting);
  const int hosts = static_cast<int>(wiring.hosts.size());
  if (hosts <= setting.all_pairs_up_to)
    for (const auto& [pair, route] : wiring.routes)
      if (pair.first != pair.second) planner.add_pair(pair);
  for (std::size_t channel = 0; channel < wiring.channels.size(); ++channel) {
    const auto pairs = filling_pairs(wiring, static_cast<int>(channel));
    const auto& name = wiring.channels[channel].name;
    if (pairs.empty()) continue;
    const Pair first = pairs.front();
    if (pairs.size() == 1)
      planner.add_pair(first);
    else
      planner.add_flows(fmt::format("{}: {} flows", name, pairs.size()), pairs);
    const Pair back{first.second, first.first};
    if (planner.routed(back))
      planner.add_flows(planner.name_of(std::min(first, back)) + ", both ways", {first, back});
  }
  std::vector<Pair> in, out;
  for (int host = 1; host < hosts; ++host) {
    if (planner.routed({host, 0})) in.emplace_back(host, 0);
    if (planner.routed({0, host})) out.emplace_back(0, host);
  }
  if (in.size() > 1) planner.add_flows("all -> " + planner.host(0), in);
  if (out.size() > 1) planner.add_flows(planner.host(0) + " -> all", out);
  return planner.take();
}

}  // namespace tandem::cluster
