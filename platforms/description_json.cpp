#include "platforms/description_json.hpp"

#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

using nlohmann::json;

json host_to_json(const Host& host) {
  json disks = json::array();
  for (const auto& disk : host.disks)
    disks.push_back({{"name", disk.name},
                     {"read_bytes_per_second", disk.read_rate.count()},
                     {"write_bytes_per_second", disk.write_rate.count()},
                     {"properties", disk.properties}});
  json other_speeds = json::object();
  for (const auto& [precision, speed] : host.device.other_speeds)
    other_speeds[to_text(precision)] = speed.count();
  return {{"name", host.name},
          {"speed_flops_per_second", host.speed.count()},
          {"cores", host.cores},
          {"device",
           {{"name", host.device.name},
            {"speed_flops_per_second", host.device.speed.count()},
            {"memory_bytes_per_second", host.device.memory_rate.count()},
            {"launch_seconds", host.device.launch.count()},
            {"spread", host.device.spread},
            {"is_gpu", host.device.is_gpu},
            {"other_speeds", other_speeds},
            {"has_one_speed", host.device.has_one_speed},
            {"memory_bytes", host.device.memory ? json(host.device.memory->count()) : json()}}},
          {"gpu", host.gpu ? json(*host.gpu) : json()},
          {"disks", disks},
          {"properties", host.properties}};
}

Host host_from_json(const json& from) {
  Host host;
  host.name = from.at("name").get<std::string>();
  host.speed = FlopsPerSecond(from.at("speed_flops_per_second").get<double>());
  host.cores = from.at("cores").get<int>();
  const json& device = from.at("device");
  host.device = {device.at("name").get<std::string>(),
                 FlopsPerSecond(device.at("speed_flops_per_second").get<double>()),
                 BytesPerSecond(device.at("memory_bytes_per_second").get<double>()),
                 Seconds(device.at("launch_seconds").get<double>()), device.at("is_gpu").get<bool>()};
  host.device.spread = device.at("spread").get<double>();
  for (const auto& [name, speed] : device.at("other_speeds").items()) {
    const auto precision = parse_choice<Precision>(name);
    if (!precision) throw ConfigError("platform description: expected a precision, found '" + name + "'");
    host.device.other_speeds[*precision] = FlopsPerSecond(speed.get<double>());
  }
  host.device.has_one_speed = device.at("has_one_speed").get<bool>();
  if (const json& memory = device.at("memory_bytes"); !memory.is_null())
    host.device.memory = Bytes(memory.get<std::int64_t>());
  if (!from.at("gpu").is_null()) host.gpu = from.at("gpu").get<int>();
  for (const json& disk : from.at("disks"))
    host.disks.push_back({disk.at("name").get<std::string>(),
                          BytesPerSecond(disk.at("read_bytes_per_second").get<double>()),
                          BytesPerSecond(disk.at("write_bytes_per_second").get<double>()),
                          disk.at("properties").get<std::map<std::string, std::string>>()});
  host.properties = from.at("properties").get<std::map<std::string, std::string>>();
  return host;
}

}  // namespace

json to_json(const Description& description) {
  json hosts = json::array();
  for (const auto& host : description.hosts) hosts.push_back(host_to_json(host));
  json links = json::array();
  for (const auto& link : description.links)
    links.push_back({{"name", link.name},
                     {"bytes_per_second", link.bandwidth.count()},
                     {"latency_seconds", link.latency.count()},
                     {"sharing", link.sharing}});
  return {{"file", description.file}, {"hosts", hosts}, {"links", links}, {"config", description.config}};
}

Description description_from_json(const json& from) {
  try {
    Description description;
    description.file = from.at("file").get<std::string>();
    for (const json& host : from.at("hosts")) description.hosts.push_back(host_from_json(host));
    for (const json& link : from.at("links"))
      description.links.push_back(
          {link.at("name").get<std::string>(), BytesPerSecond(link.at("bytes_per_second").get<double>()),
           Seconds(link.at("latency_seconds").get<double>()), link.at("sharing").get<std::string>()});
    description.config = from.at("config").get<std::map<std::string, std::string>>();
    return description;
  } catch (const json::exception& error) {
    throw ConfigError(std::string("platform description: ") + error.what());
  }
}

}  // namespace tandem::platforms
