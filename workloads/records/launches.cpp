#include "workloads/records/launches.hpp"

#include <iterator>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

std::optional<Seconds> time_at(const nlohmann::json& generation, const char* key) {
  const auto found = generation.find(key);
  if (found == generation.end() || found->is_null()) return std::nullopt;
  return Seconds(found->get<double>());
}

}  // namespace

std::optional<Seconds> LaunchRecord::ready_after() const {
  if (number == 0 || !launched || !began) return std::nullopt;
  return *began - *launched;
}

std::vector<LaunchRecord> launches_of(const nlohmann::json& generations) {
  std::vector<LaunchRecord> launches;
  for (const auto& generation : generations) {
    LaunchRecord& launch = launches.emplace_back();
    launch.number = std::ssize(launches) - 1;
    launch.launched = time_at(generation, "launched_s");
    launch.began = time_at(generation, "began_s");
    launch.round = generation.value("round", std::int64_t{0});
    if (const auto& ended = generation.at("ended"); ended.is_string()) ended.get_to(launch.ended);
  }
  return launches;
}

std::vector<double> ready_times_s(const std::vector<LaunchRecord>& launches) {
  std::vector<double> times;
  for (const auto& launch : launches)
    if (const auto after = launch.ready_after()) times.push_back(after->count());
  return times;
}

}  // namespace tandem
