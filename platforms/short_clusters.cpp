#include "platforms/short_clusters.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string_view>

#include "policies/vocabulary/stream_text.hpp"

namespace tandem::platforms {
namespace {

/// Others are built whole: SimGrid needs 30 ms for so many.
constexpr long long most_built_whole = 2048;

/// The number that the text begins with, as SimGrid writes it, and what follows.
std::optional<std::pair<int, std::string_view>> leading_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || text.front() == '-' || (digits > 1 && text.front() == '0')) return std::nullopt;
  return std::pair(number, text.substr(digits));
}

/// "0-99,200" -> (0, 99), (200, 200). None: they do not increase, or the radical is none.
std::optional<std::vector<std::pair<int, int>>> ranges_of(const std::string& radical) {
  std::vector<std::pair<int, int>> ranges;
  std::istringstream groups(radical);
  for (std::string group; std::getline(groups, group, ',');) {
    const auto first = group.empty() ? std::nullopt : leading_number(group);
    if (!first) return std::nullopt;
    auto last = first;
    if (!first->second.empty()) {
      if (first->second.front() != '-' || first->second.size() == 1) return std::nullopt;
      last = leading_number(first->second.substr(1));
    }
    const bool increases = ranges.empty() || (first && ranges.back().second < first->first);
    if (!last || !last->second.empty() || last->first < first->first || !increases) return std::nullopt;
    // No number follows.
    if (last->first == std::numeric_limits<int>::max()) return std::nullopt;
    ranges.emplace_back(first->first, last->first);
  }
  return ranges;
}

/// Whether a cluster with one prefix and one with the other could have hosts of the same name.
bool may_meet(const std::string& one, const std::string& other) {
  const auto& [shorter, longer] =
      std::minmax(one, other, [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return longer.starts_with(shorter) &&
         longer.find_first_not_of("0123456789", shorter.size()) == std::string::npos;
}

bool names_files(const XmlElement& element) {
  return element.name == "include" || std::ranges::any_of(element.attributes, [](const auto& attribute) {
           return attribute.first.find("file") != std::string::npos;
         });
}

/// Where the value of the attribute `radical` is in the text of an element that begins at `start`: begin and
/// size. None: it is not there as plain text.
std::optional<std::pair<std::size_t, std::size_t>> find_radical(const std::string& text, std::size_t start) {
  constexpr std::string_view name = "radical", blank = " \t\r\n";
  for (std::size_t at = start; at < text.size() && text[at] != '>';) {
    if (text[at] != '"' && text[at] != '\'') {
      ++at;
      continue;
    }
    const std::size_t end = text.find(text[at], at + 1);
    if (end == std::string::npos) return std::nullopt;
    // The word before " = ".
    const std::size_t sign = text.find_last_not_of(blank, at - 1);
    const std::size_t last = sign == 0 ? 0 : text.find_last_not_of(blank, sign - 1);
    if (text[sign] == '=' && last + 1 >= name.size() + 1 &&
        text.compare(last + 1 - name.size(), name.size(), name) == 0 &&
        blank.find(text[last - name.size()]) != std::string_view::npos)
      return std::pair(at + 1, end - at - 1);
    at = end + 1;
  }
  return std::nullopt;
}

std::string radical_of(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

bool ShortClusters::Cluster::has(int number) const {
  const auto after = std::ranges::upper_bound(ranges, number, {}, &std::pair<int, int>::first);
  return after != ranges.begin() && number <= std::prev(after)->second;
}

long long ShortClusters::Cluster::size() const {
  long long count = 0;
  for (const auto& [first, last] : ranges) count += static_cast<long long>(last) - first + 1;
  return count;
}

std::optional<ShortClusters::Cluster> ShortClusters::cluster_from(const PlatformXml& xml,
                                                                  const XmlElement& element) {
  const std::string topology = element.attribute("topology");
  if (element.name != "cluster" || element.host_count() <= most_built_whole ||
      (!topology.empty() && topology != "FLAT"))
    return std::nullopt;
  // A digit after the number would be read as a part of it.
  const std::string suffix = element.attribute("suffix");
  if (!suffix.empty() && '0' <= suffix.front() && suffix.front() <= '9') return std::nullopt;
  const auto ranges = ranges_of(element.attribute("radical"));
  const bool has_own_names = std::ranges::none_of(xml.elements(), [&](const XmlElement& other) {
    return (other.name == "cluster" || other.name == "cabinet") && &other != &element &&
           (may_meet(element.attribute("prefix"), other.attribute("prefix")) ||
            element.attribute("id") == other.attribute("id"));
  });
  if (!ranges || !has_own_names) return std::nullopt;
  return Cluster{.id = element.attribute("id"),
                 .prefix = element.attribute("prefix"),
                 .suffix = suffix,
                 .ranges = *ranges};
}

ShortClusters::ShortClusters(const PlatformXml& xml) {
  std::vector<std::size_t> places;
  for (const XmlElement& element : xml.elements()) {
    auto cluster = cluster_from(xml, element);
    if (!cluster) continue;
    clusters_.push_back(std::move(*cluster));
    places.push_back(element.offset);
  }
  if (clusters_.empty()) return;
  std::optional<std::string> text;
  if (std::ranges::none_of(xml.elements(), [this](const auto& element) { return singles_out(element); }))
    text = shortened(xml.path(), places);
  if (text)
    text_ = std::move(*text);
  else
    clusters_.clear();
}

/// A host that the element names may differ from the others.
bool ShortClusters::singles_out(const XmlElement& element) const {
  return names_files(element) || std::ranges::any_of(element.attributes, [this](const auto& attribute) {
           return host_named(attribute.second) || link_named(attribute.second);
         });
}

std::optional<std::string> ShortClusters::shortened(const std::string& path,
                                                    const std::vector<std::size_t>& places) const {
  std::ifstream file(path, std::ios::binary);
  std::string text = rest_of(file);
  // From the last one: places before a change stay.
  for (std::size_t i = clusters_.size(); i-- > 0;) {
    const auto radical = find_radical(text, places[i]);
    if (!radical) return std::nullopt;
    text.replace(radical->first, radical->second, radical_of(clusters_[i].built()));
  }
  return text;
}

/// A route between two hosts of the cluster needs two.
std::vector<int> ShortClusters::Cluster::built() const {
  const auto& [first, last] = ranges.front();
  return {first, first < last ? first + 1 : ranges.at(1).first};
}

long long ShortClusters::missing() const {
  long long count = 0;
  for (const Cluster& cluster : clusters_) count += cluster.size() - std::ssize(cluster.built());
  return count;
}

std::optional<ShortClusters::Numbered> ShortClusters::host_named(const std::string& name) const {
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    const Cluster& of = clusters_[i];
    if (name.size() <= of.prefix.size() + of.suffix.size() || !name.starts_with(of.prefix) ||
        !name.ends_with(of.suffix))
      continue;
    const auto number = leading_number(std::string_view(name).substr(of.prefix.size()));
    if (number && number->second == of.suffix && of.has(number->first))
      return Numbered{i, number->first, of.prefix, of.suffix};
  }
  return std::nullopt;
}

/// SimGrid names links by their cluster and the number of their host: "ID_link_7", "ID_link_7_UP",
/// "ID_link_7_limiter".
std::optional<ShortClusters::Numbered> ShortClusters::link_named(const std::string& name) const {
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    const std::string before = clusters_[i].id + "_link_";
    if (name.size() <= before.size() || !name.starts_with(before)) continue;
    const auto number = leading_number(std::string_view(name).substr(before.size()));
    if (number && (number->second.empty() || number->second.front() == '_') &&
        clusters_[i].has(number->first))
      return Numbered{i, number->first, before, std::string(number->second)};
  }
  return std::nullopt;
}

template <class Item, class Find>
std::vector<Item> ShortClusters::completed(std::vector<Item> items, const Find& find) const {
  std::vector<std::map<int, std::vector<Item>>> built(clusters_.size());
  for (const Item& item : items)
    if (const auto named = find(item.name)) built[named->cluster][named->number].push_back(item);
  std::vector<Item> all;
  std::vector<bool> is_complete(clusters_.size());
  for (Item& item : items) {
    const auto named = find(item.name);
    if (!named) all.push_back(std::move(item));
    if (!named || is_complete[named->cluster]) continue;
    is_complete[named->cluster] = true;
    const auto& of_cluster = built[named->cluster];
    std::vector<Numbered> names;
    const std::vector<Item>& likes = of_cluster.begin()->second;
    for (const Item& like : likes) names.push_back(*find(like.name));
    all.reserve(all.size() + static_cast<std::size_t>(clusters_[named->cluster].size()) * likes.size() +
                items.size());
    for (const auto& [first, last] : clusters_[named->cluster].ranges)
      for (int number = first; number <= last; ++number) {
        const auto own = of_cluster.find(number);
        if (own != of_cluster.end()) {
          all.insert(all.end(), own->second.begin(), own->second.end());
          continue;
        }
        for (std::size_t i = 0; i < likes.size(); ++i) {
          all.push_back(likes[i]);
          all.back().name = names[i].with(number);
        }
      }
  }
  return all;
}

void ShortClusters::complete(Description& description) const {
  if (clusters_.empty()) return;
  description.hosts =
      completed(std::move(description.hosts), [this](const auto& name) { return host_named(name); });
  description.links =
      completed(std::move(description.links), [this](const auto& name) { return link_named(name); });
}

std::optional<std::size_t> ShortClusters::cluster_of(const std::string& host) const {
  const auto named = host_named(host);
  return named ? std::optional(named->cluster) : std::nullopt;
}

std::vector<std::string> ShortClusters::built_like(const std::string& host) const {
  std::vector<std::string> names;
  const auto named = host_named(host);
  if (!named) return names;
  for (const int number : clusters_[named->cluster].built()) names.push_back(named->with(number));
  return names;
}

std::string ShortClusters::link_of(const std::string& host, const std::string& built,
                                   std::string link) const {
  if (host == built) return link;
  const auto wanted = host_named(host), stands_in = host_named(built);
  const auto named = link_named(link);
  const bool is_own = wanted && stands_in && named && named->cluster == stands_in->cluster &&
                      named->number == stands_in->number;
  return is_own ? named->with(wanted->number) : link;
}

}  // namespace tandem::platforms
