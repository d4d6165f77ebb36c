// Reads one platform file: hosts and links from SimGrid, in the child process that has loaded the file, and
// the rest in this process.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/platform_xml.hpp"
#include "platforms/short_clusters.hpp"

namespace simgrid::s4u {
class Engine;
}

namespace tandem::platforms {

/// SimGrid keeps hosts and links in hash tables; this keeps the order of the file.
class DeclarationOrder {
 public:
  void expect(long long count) { places_.reserve(static_cast<std::size_t>(count)); }
  void add(const std::string& name) { places_.try_emplace(name, places_.size()); }
  bool knows(const std::string& name) const { return places_.count(name) > 0; }
  template <class Item>
  void sort(std::vector<Item>& items) const {
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < items.size(); ++i) order.emplace_back(place(items[i].name), i);
    std::sort(order.begin(), order.end());
    std::vector<Item> sorted;
    sorted.reserve(items.size());
    for (const auto& [place, index] : order) sorted.push_back(std::move(items[index]));
    items = std::move(sorted);
  }

 private:
  std::size_t place(const std::string& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? places_.size() : found->second;
  }
  std::unordered_map<std::string, std::size_t> places_;
};

class PlatformReader {
 public:
  /// Errors: ConfigError for a file that is not a platform, or has too many hosts.
  explicit PlatformReader(const std::string& path);

  const PlatformXml& xml() const { return xml_; }
  const ShortClusters& clusters() const { return clusters_; }
  /// Call it in the child, before SimGrid loads the file.
  void watch();
  /// Hosts without devices, and links. Call it in the child. Errors: ConfigError for figures out of range,
  /// also those that JSON cannot express.
  Description read(const simgrid::s4u::Engine& engine) const;
  /// A description from `read`, as text that the child sends to its parent. Errors: ConfigError for names
  /// that are not UTF-8.
  static std::string to_line(const Description& description);
  /// The whole description, with hosts that SimGrid did not build. Errors: ConfigError for bad properties of
  /// hosts, and when there are no hosts.
  Description from_line(const std::string& line) const;

 private:
  PlatformXml xml_;
  ShortClusters clusters_;
  DeclarationOrder hosts_;
  DeclarationOrder links_;
};

}  // namespace tandem::platforms
