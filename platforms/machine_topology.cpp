#include "platforms/machine_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "platforms/platform_xml.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

/// The elements of a file. Messages name their lines.
class TopologyFile {
 public:
  TopologyFile(std::string path, const std::string& what, const std::string& root)
      : path_(std::move(path)), elements_(read_xml(path_, what, root)) {}

  const std::vector<XmlElement>& elements() const { return elements_; }
  /// Null above the root.
  const XmlElement* parent_of(const XmlElement& element) const {
    return element.parent < 0 ? nullptr : &elements_[static_cast<std::size_t>(element.parent)];
  }

  /// The number at the beginning of an attribute ("16.0 GT/s PCIe"); nothing without the attribute.
  std::optional<double> number(const XmlElement& element, const std::string& key) const {
    const std::string text = element.attribute(key);
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || !(value >= 0))
      throw ConfigError(fmt::format("{}:{}: expected a number for '{}' of <{}>, found '{}'", path_,
                                    element.line, key, element.name, text));
    return value;
  }

 private:
  std::string path_;
  std::vector<XmlElement> elements_;
};

/// Of one NVLink in one direction, by compute capability, from NVIDIA's data sheets: Pascal 20 GB/s, Volta to
/// Hopper 25 GB/s, Blackwell 50 GB/s.
BytesPerSecond nvlink_rate(double capability) {
  if (capability >= 100) return BytesPerSecond(50e9);
  return BytesPerSecond(capability >= 70 ? 25e9 : 20e9);
}

std::string capability_text(double capability) {
  const int whole = static_cast<int>(capability);
  return fmt::format("compute capability {}.{}", whole / 10, whole % 10);
}

/// Whether it is inside an object of hwloc of this type.
const XmlElement* object_above(const TopologyFile& file, const XmlElement& element, const std::string& type) {
  for (const auto* above = file.parent_of(element); above != nullptr; above = file.parent_of(*above))
    if (above->name == "object" && above->attribute("type") == type) return above;
  return nullptr;
}

/// The values of <info> directly below an object.
std::string info_of(const TopologyFile& file, const XmlElement& object, const std::string& name) {
  for (const auto& element : file.elements())
    if (element.name == "info" && file.parent_of(element) == &object && element.attribute("name") == name)
      return element.attribute("value");
  return "";
}

/// Devices of the operating system.
void add_device(const TopologyFile& file, const XmlElement& object, MachineTopology& topology) {
  constexpr double network = 2, fabric = 3;  // HWLOC_OBJ_OSDEV_NETWORK, HWLOC_OBJ_OSDEV_OPENFABRICS
  const double kind = file.number(object, "osdev_type").value_or(-1);
  const XmlElement* bus = object_above(file, object, "PCIDev");
  // Loopbacks and bridges have no adapter.
  if ((kind == network || kind == fabric) && bus != nullptr)
    topology.adapters.push_back({.name = object.attribute("name"), .speed = {}});
  if (object.attribute("subtype") != "CUDA") return;
  topology.gpus.push_back({.name = info_of(file, object, "GPUModel")});
}

/// "2 x NVIDIA H100, NVIDIA A100".
template <class Item, class Text>
std::string list_of(const std::vector<Item>& items, const Text& text) {
  std::vector<std::pair<std::string, int>> counts;
  for (const auto& item : items) {
    const std::string name = text(item);
    if (!counts.empty() && counts.back().first == name)
      ++counts.back().second;
    else
      counts.emplace_back(name, 1);
  }
  std::string list;
  for (const auto& [name, count] : counts)
    list +=
        fmt::format("{}{}{}", list.empty() ? "" : ", ", count == 1 ? "" : fmt::format("{} x ", count), name);
  return list;
}

std::string rate_text(BytesPerSecond rate) { return fmt::format("{:.4g}GBps", rate.count() * 1e-9); }

/// The least of all GPUs; empty where one is not known.
std::string least_nvlink_rate(const std::vector<MachineTopology::Gpu>& gpus) {
  BytesPerSecond least{};
  for (const auto& gpu : gpus) {
    if (gpu.nvlink.count() == 0) return "";
    if (least.count() == 0 || gpu.nvlink < least) least = gpu.nvlink;
  }
  return gpus.empty() ? "" : rate_text(least);
}

}  // namespace

MachineTopology read_nccl_topology(const std::string& path) {
  const TopologyFile file(path, "a topology that NCCL wrote (NCCL_TOPO_DUMP_FILE)", "system");
  MachineTopology topology;
  std::map<int, double> capabilities;  // by the index of the element of the GPU
  for (std::size_t i = 0; i < file.elements().size(); ++i) {
    const XmlElement& element = file.elements()[i];
    if (element.name == "gpu") {
      const double capability = file.number(element, "sm").value_or(0);
      capabilities[static_cast<int>(i)] = capability;
      topology.gpus.push_back({.name = capability > 0 ? capability_text(capability) : ""});
    } else if (element.name == "nvlink" && capabilities.contains(element.parent)) {
      const double count = file.number(element, "count").value_or(1);
      topology.gpus.back().nvlink += nvlink_rate(capabilities.at(element.parent)) * count;
    } else if (element.name == "net") {
      // In Mbit/s.
      topology.adapters.push_back(
          {.name = element.attribute("name"),
           .speed = BytesPerSecond(file.number(element, "speed").value_or(0) * 1e6 / 8)});
    }
  }
  return topology;
}

MachineTopology read_hwloc_topology(const std::string& path) {
  const TopologyFile file(path, "a topology that hwloc wrote (lstopo FILE.xml)", "topology");
  MachineTopology topology;
  int cores = 0;
  double memory = 0;
  for (const auto& element : file.elements()) {
    if (element.name != "object") continue;
    const std::string type = element.attribute("type");
    if (type == "Core") ++cores;
    if (type == "NUMANode") memory += file.number(element, "local_memory").value_or(0);
    if (type == "Package" && topology.processor.empty())
      topology.processor = info_of(file, element, "CPUModel");
    if (type == "OSDev") add_device(file, element, topology);
  }
  if (cores > 0) topology.cores = cores;
  if (memory > 0) topology.memory = Bytes(static_cast<std::int64_t>(memory));
  return topology;
}

void add_topology(const MachineTopology& topology, Host& host) {
  if (topology.cores) host.cores = *topology.cores;
  const auto set = [&](const char* property, const std::string& value) {
    if (!value.empty()) host.properties[property] = value;
  };
  if (topology.memory) set("memory", fmt::format("{}MiB", topology.memory->count() >> 20));
  set("tandem:processor", topology.processor);
  using Gpu = MachineTopology::Gpu;
  // Drivers know their names, NCCL only their capability.
  const bool has_names = host.properties.contains("tandem:gpus");
  if (!has_names || std::ranges::none_of(topology.gpus, [](const Gpu& gpu) {
        return gpu.name.empty() || gpu.name.starts_with("compute capability");
      }))
    set("tandem:gpus",
        list_of(topology.gpus, [](const Gpu& gpu) { return gpu.name.empty() ? "unknown GPU" : gpu.name; }));
  set("tandem:nvlink", least_nvlink_rate(topology.gpus));
  set("tandem:network", list_of(topology.adapters, [](const MachineTopology::Adapter& adapter) {
        return adapter.speed.count() == 0 ? adapter.name : adapter.name + " " + rate_text(adapter.speed);
      }));
}

}  // namespace tandem::platforms
