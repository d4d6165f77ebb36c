#include "platforms/refusal.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "platforms/simgrid_child.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::platforms {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Units of a quantity, by a part of its attribute's name.
std::string units_of(const std::string& attribute) {
  if (contains(attribute, "lat")) return "a time in ps, ns, us, ms, s, m (minutes), h or d";
  if (contains(attribute, "speed")) return "a speed in f, kf, Mf, Gf, Tf or Pf (flop/s)";
  return "a bandwidth in Bps, kBps, MBps, GBps or TBps (bytes/s), or bps, kbps, Mbps, Gbps or Tbps (bits/s)";
}

/// The attribute whose value ends with this text; SimGrid names the text alone.
std::optional<std::pair<std::string, std::string>> attribute_ending(const XmlElement& element,
                                                                    const std::string& end) {
  for (const auto& [name, value] : element.attributes)
    if (value.ends_with(end) && name != "id") return std::pair{name, value};
  return std::nullopt;
}

std::string unknown_link(const PlatformXml& xml, const std::string& name) {
  std::vector<std::string> links;
  for (const auto& element : xml.elements())
    if (element.name == "link") links.push_back(element.attribute("id"));
  const std::string nearest = nearest_name(name, links);
  return "expected the id of a <link> that is declared before, found '" + name + "'" +
         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
}

/// The setting that SimGrid refuses, which it names without a line: it reads them all at the end of <config>.
/// Where it does not name it either, the <config>. Null: the element at this line is another one.
const XmlElement* refused_setting(const PlatformXml& xml, const XmlElement& at_line,
                                  const std::string& message) {
  const auto is_setting = [&](const XmlElement& element) {
    return element.name == "prop" && element.parent >= 0 &&
           xml.elements()[static_cast<std::size_t>(element.parent)].name == "config";
  };
  static const std::regex key("Bad config key: ([^ \n]+)");
  std::smatch parts;
  const bool names_key = std::regex_search(message, parts, key);
  if (!names_key && !is_setting(at_line) && at_line.name != "config") return nullptr;
  for (const auto& element : xml.elements()) {
    if (!is_setting(element)) continue;
    const std::string name = element.attribute("id"), value = element.attribute("value");
    if (names_key ? name == parts[1] : contains(message, name) || contains(message, '\'' + value + '\''))
      return &element;
  }
  if (!is_setting(at_line)) return &at_line;
  return &xml.elements()[static_cast<std::size_t>(at_line.parent)];
}

/// "speed: expected a speed in f, kf ..., found '4M'"; empty for a message that says it itself.
std::string expected_and_found(const PlatformXml& xml, const XmlElement& element,
                               const std::string& message) {
  static const std::regex unit("unknown unit: (.*)");
  static const std::regex integer("(.*) is not an int");
  static const std::regex number("cannot parse number: ?(.*)");
  static const std::regex link("Link not found: (.*)");
  std::smatch parts;
  const auto of_attribute =
      [&](const std::function<std::string(const std::string&)>& expected) -> std::string {
    const auto found = attribute_ending(element, parts[1]);
    if (!found) return {};
    return fmt::format("{}: expected {}, found '{}'", found->first, expected(found->first), found->second);
  };
  if (std::regex_search(message, parts, unit) || std::regex_search(message, parts, number))
    return of_attribute(units_of);
  if (std::regex_match(message, parts, integer))
    return of_attribute([](const std::string&) { return "an integer"; });
  if (std::regex_search(message, parts, link)) return unknown_link(xml, parts[1]);
  if (contains(message, "Not a valid model"))
    return fmt::format(
        "routing: expected Cluster | Dijkstra | DijkstraCache | Empty | Floyd | Full | None | Star | Vivaldi "
        "| Wifi, found '{}'",
        element.attribute("routing"));
  return {};
}

}  // namespace

ConfigError refusal(const PlatformXml& xml, const ChildResult& failed) {
  static const std::regex place("^Parse error at .*?:[0-9]+: ");
  const std::string message = std::regex_replace(simgrid_message(failed), place, "");
  // A check of Tandem's own names its place.
  if (message.starts_with(xml.path() + ':')) return ConfigError(message);
  const XmlElement* element = xml.at_line(parser_line(failed));
  if (element != nullptr)
    if (const auto* const setting = refused_setting(xml, *element, message)) element = setting;
  if (element == nullptr) return ConfigError(xml.path() + ": SimGrid refuses this platform file: " + message);
  const std::string explained = expected_and_found(xml, *element, message);
  if (explained.empty())
    return ConfigError(xml.place(*element) + ": SimGrid refuses this element: " + message);
  return ConfigError(fmt::format("{}: {} (SimGrid: {})", xml.place(*element), explained, message));
}

}  // namespace tandem::platforms
