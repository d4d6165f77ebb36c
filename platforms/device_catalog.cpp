// The device catalogue is the table platforms/devices.csv. A platform file may give other figures itself
// (tandem:memory_rate, tandem:launch, or a host without a device, whose `speed` counts).
//
// Each entry is arithmetic on the maker's data sheet, with one stated share of the peak for a whole kind of
// device. They serve to compare clusters before anything is measured; `tandem calibrate` replaces them by
// measurements.
#include "platforms/device_catalog.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "platforms/csv_table.hpp"
#include "platforms/embedded_tables.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::platforms {
namespace {

constexpr double kTera = 1e12;

/// Reads rows. A rate is share x peak; the peak of a processor is cores x clock x flops per cycle.
class DevicesReader {
 public:
  explicit DevicesReader(CsvTable table) : table_(std::move(table)) {
    for (const char* column :
         {"device", "kind", "memory_gbps", "share", "memory_share", "launch_us", "source"})
      table_.expect(column);
  }

  DeviceTable read() {
    while (table_.next_row()) read_row();
    if (devices_.devices.empty()) table_.fail_header("a row for each device", "none");
    return std::move(devices_);
  }

 private:
  void read_row() {
    const std::string kind = table_.text("kind");
    if (kind != "gpu" && kind != "server" && kind != "board")
      table_.fail("kind", "gpu | server | board", kind);
    Device device{.name = new_name("device", table_.text("device")),
                  .speed = FlopsPerSecond(table_.is_given("cores") ? processor_rate() : fp32_rate()),
                  .memory_rate = BytesPerSecond(share("memory_share") * table_.positive("memory_gbps") * 1e9),
                  .launch = Seconds(table_.positive("launch_us") / 1e6),
                  .is_gpu = kind == "gpu",
                  .source = table_.text("source")};
    if (device.source.empty()) table_.fail("source", "where the figures come from", "");
    if (table_.is_given("memory_gb"))
      device.memory = Bytes(static_cast<std::int64_t>(table_.positive("memory_gb") * 1e9));
    device.spread = table_.positive_or("spread", device.spread);
    auto& aliases = devices_.aliases[device.name];
    for (const std::string& alias : words_in(table_.text("aliases")))
      aliases.push_back(new_name("aliases", alias));
    add_tensor_rates(device);
    devices_.devices.push_back(std::move(device));
  }

  /// Devices that compute in another precision, but not faster than in fp32, do the latter.
  void add_tensor_rates(Device& device) const {
    for (const auto& [precision, column] :
         {std::pair(Precision::tf32, "tf32"), std::pair(Precision::bf16, "bf16"),
          std::pair(Precision::fp16, "fp16")})
      if (table_.is_given(column))
        device.other_speeds[precision] =
            std::max(device.speed, FlopsPerSecond(share("tensor_share") * table_.positive(column) * kTera));
  }

  double fp32_rate() const { return share("share") * table_.positive("fp32") * kTera; }

  double processor_rate() const {
    constexpr int most = 1 << 20;
    return share("share") * table_.whole("cores", 1, most) * table_.positive("ghz") *
           table_.whole("flops_per_cycle", 1, most) * 1e9;
  }

  double share(const std::string& column) const {
    const double value = table_.positive(column);
    if (value > 1.0) table_.fail(column, "a share above 0 and at most 1", table_.text(column));
    return value;
  }

  std::string new_name(const char* column, const std::string& name) {
    if (name.empty() || name.find(' ') != std::string::npos || name != lower(name))
      table_.fail(column, "a name in lower case without blanks", name);
    if (!names_.insert(name).second) table_.fail(column, "a name that no other device has", name);
    return name;
  }

  CsvTable table_;
  DeviceTable devices_;
  std::set<std::string> names_;
};

const DeviceTable& catalog() {
  static const DeviceTable table = read_devices("platforms/devices.csv", devices_table());
  return table;
}

/// The one with this name or other name; else those of which one begins so.
std::vector<const Device*> candidates_of(const std::string& name) {
  std::vector<const Device*> begin_so;
  for (const auto& device : device_catalog()) {
    bool begins_so = device.name.starts_with(name);
    if (device.name == name) return {&device};
    for (const auto& alias : device_aliases(device.name)) {
      if (alias == name) return {&device};
      begins_so = begins_so || alias.starts_with(name);
    }
    if (begins_so) begin_so.push_back(&device);
  }
  return begin_so;
}

}  // namespace

DeviceTable read_devices(const std::string& name, std::string text) {
  return DevicesReader(CsvTable(name, std::move(text), "a table of devices")).read();
}

const std::vector<std::string>& device_aliases(const std::string& name) { return catalog().aliases.at(name); }

const std::vector<Device>& device_catalog() { return catalog().devices; }

const char* const device_of_ones_own =
    "another device is described by its host: leave out <prop id=\"device\">, give the sustained rate as "
    "speed=\"...\", and tandem:memory_rate, tandem:launch and memory as properties";

const Device& find_device(const std::string& name) {
  const auto candidates = candidates_of(lower(name));
  if (candidates.size() == 1 && !name.empty()) return *candidates.front();
  if (candidates.size() > 1 && !name.empty()) {
    std::string message = "device '" + name + "' is not unique; expected one of:";
    for (const Device* device : candidates) message += ' ' + device->name;
    throw ConfigError(message);
  }
  std::vector<std::string> names;
  for (const auto& device : device_catalog()) names.push_back(device.name);
  std::string message = "unknown device '" + name + "'";
  if (const auto nearest = nearest_name(lower(name), names); !nearest.empty())
    message += "; did you mean '" + nearest + "'?";
  message += " Known:";
  for (const auto& known : names) message += ' ' + known;
  message += "; " + std::string(device_of_ones_own);
  throw ConfigError(message);
}

}  // namespace tandem::platforms
