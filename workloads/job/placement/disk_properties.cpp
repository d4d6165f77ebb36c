#include "workloads/job/placement/disk_properties.hpp"

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem {
namespace {

[[noreturn]] void fail_property(const platforms::Disk& disk, const std::string& place,
                                const std::string& name, const std::string& expected,
                                const std::string& found) {
  throw ConfigError(place + ": disk '" + disk.name + "': property '" + name + "': expected " + expected +
                    ", found '" + found + "'");
}

Seconds latency_of(const platforms::Disk& disk, const std::string& place) {
  const auto found = disk.properties.find("tandem:latency");
  if (found == disk.properties.end()) return Seconds(0);
  const auto latency = parse_seconds(found->second);
  if (!latency || latency->count() < 0.0)
    fail_property(disk, place, found->first, "a time >= 0 (" + time_examples("5ms") + ")", found->second);
  return *latency;
}

int parallel_of(const platforms::Disk& disk, const std::string& place) {
  const auto found = disk.properties.find("tandem:parallel");
  if (found == disk.properties.end()) return 1;
  const std::string& text = found->second;
  const auto parallel = parse_number<int>(text, 1, DiskService::most_parallel);
  if (!parallel)
    fail_property(disk, place, found->first,
                  "a number of requests from 1 to " + std::to_string(DiskService::most_parallel), text);
  return *parallel;
}

}  // namespace

DiskService service_of(const platforms::Disk& disk, const std::string& place) {
  return {latency_of(disk, place), parallel_of(disk, place)};
}

std::string place_of(const platforms::Host& host, const std::string& file) {
  return file + ": host '" + host.name + "'";
}

}  // namespace tandem
