// Clusters of very many hosts, which differ in their names alone: SimGrid builds a few hosts of each, and
// this code gives the others their names. SimGrid needs 13 us and 2 kB for every host that it builds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/platform_xml.hpp"

namespace tandem::platforms {

class ShortClusters {
 public:
  /// Finds the clusters of the file that have no topology, more than 2,048 hosts, and names that no other
  /// cluster could have, from which the number of a host can be read. None in a file where an element names
  /// one of their hosts or links, which may differ then, or another file, which SimGrid would search in the
  /// folder of this one.
  explicit ShortClusters(const PlatformXml& xml);

  /// The file with a few hosts of each of these clusters. Empty: it has no such cluster.
  const std::string& text() const { return text_; }
  /// Hosts that the text lacks.
  long long missing() const;
  /// Adds the hosts and links that the description lacks, in the order of the file.
  void complete(Description& description) const;

  /// The number of the cluster of this host; none: it is in none of these clusters.
  std::optional<std::size_t> cluster_of(const std::string& host) const;
  /// The hosts of its cluster that the text has, at least two. Pre: the host is in one of these clusters.
  std::vector<std::string> built_like(const std::string& host) const;
  /// The link of `host` in the place of that of `built`, a host of its cluster; another link stays.
  std::string link_of(const std::string& host, const std::string& built, std::string link) const;

 private:
  struct Cluster {
    std::string id, prefix, suffix;
    std::vector<std::pair<int, int>> ranges;  ///< of numbers, increasing: first and last one
    std::vector<int> built() const;           ///< numbers of the hosts that the text has
    bool has(int number) const;
    long long size() const;
  };
  /// A name with the number of a host: before, number, after.
  struct Numbered {
    std::size_t cluster;
    int number;
    std::string before, after;
    std::string with(int other) const { return before + std::to_string(other) + after; }
  };
  static std::optional<Cluster> cluster_from(const PlatformXml& xml, const XmlElement& element);
  bool singles_out(const XmlElement& element) const;
  std::optional<std::string> shortened(const std::string& path, const std::vector<std::size_t>& places) const;
  std::optional<Numbered> host_named(const std::string& name) const;
  std::optional<Numbered> link_named(const std::string& name) const;
  template <class Item, class Find>
  std::vector<Item> completed(std::vector<Item> items, const Find& find) const;

  std::vector<Cluster> clusters_;
  std::string text_;
};

}  // namespace tandem::platforms
