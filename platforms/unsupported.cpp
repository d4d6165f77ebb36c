#include "platforms/unsupported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

#include "platforms/name_ranges.hpp"
#include "platforms/profile_files.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::platforms {
namespace {

struct ProfileEvent {
  double time_s;
  double value;
};

/// The events of a profile; lines of other forms (comments, PERIODICITY, random events) are skipped.
std::vector<ProfileEvent> events_of(const std::string& text) {
  std::vector<ProfileEvent> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    ProfileEvent event{};
    if (words >> event.time_s >> event.value) events.push_back(event);
  }
  return events;
}

/// The property that a profile changes, by the attribute of its file and by the kind of a <trace_connect>.
struct ProfileUse {
  const char* attribute;
  const char* connect_kind;  ///< empty for attributes that only old files and <peer> have
  const char* element;
  const char* quantity;  ///< null: on or off
};
constexpr ProfileUse profile_uses[] = {
    {"state_file", "HOST_AVAIL", "host", nullptr}, {"state_file", "LINK_AVAIL", "link", nullptr},
    {"speed_file", "SPEED", "host", "speed"},      {"availability_file", "", "host", "speed"},
    {"state_file", "", "peer", nullptr},           {"speed_file", "", "peer", "speed"},
    {"availability_file", "", "peer", "speed"},    {"bandwidth_file", "BANDWIDTH", "link", "bandwidth"},
};

class Finder {
 public:
  explicit Finder(const PlatformXml& xml) : xml_(xml) {}

  std::vector<Unsupported> find() {
    check_settings();
    check_wifi();
    check_profiles();
    return std::move(found_);
  }

 private:
  void check_settings() {
    static const std::map<std::string, std::vector<std::string>> allowed = {
        {"network/model", {"CM02", "LV08", "SMPI", "IB"}}, {"host/model", {"default", "compound"}}};
    for (const auto& element : xml_.elements()) {
      if (element.name != "prop" || parent_of(element).name != "config") continue;
      const std::string value = element.attribute("value");
      const auto refuse = [&](const std::string& expected) {
        found_.push_back({fmt::format("{}: expected {}, found '{}'", xml_.place(element), expected, value)});
      };
      // Without a tolerance SimGrid never ends an activity whose remaining work is rounded.
      const std::string flag = element.attribute("id");
      // SimGrid 4 knows it by the second name too.
      const bool is_precision = flag == "surf/precision" || flag == "precision/timing";
      if (is_precision && !(std::strtod(value.c_str(), nullptr) > 0.0)) refuse("a number > 0");
      const auto values = allowed.find(flag);
      if (values == allowed.end()) continue;
      if (std::find(values->second.begin(), values->second.end(), value) == values->second.end())
        refuse(fmt::format("{}", fmt::join(values->second, " | ")));
    }
  }

  void check_wifi() {
    for (std::size_t i = 0; i < xml_.elements().size(); ++i) {
      const XmlElement& element = xml_.elements()[i];
      if (is_wifi_zone(element)) {
        const auto hosts = hosts_in(static_cast<int>(i));
        found_.push_back(
            {fmt::format("{}: expected a zone of wired links for hosts with ranks ({}), found routing '{}'; "
                         "SimGrid's "
                         "Wi-Fi needs the transmission rate of each host, which a platform file cannot give",
                         xml_.place(element), name_ranges(hosts), element.attribute("routing")),
             true, true, hosts});
      }
      if (element.name == "link" && lower(element.attribute("sharing_policy")) == "wifi" &&
          !is_wifi_zone(parent_of(element)))
        found_.push_back(
            {xml_.place(element) +
             ": expected sharing_policy SHARED, SPLITDUPLEX or FATPIPE outside of a Wi-Fi zone, found '" +
             element.attribute("sharing_policy") + "'"});
    }
  }

  void check_profiles() {
    std::map<std::string, std::string> traces;
    for (const auto& element : xml_.elements()) {
      if (element.name == "trace") traces[element.attribute("id")] = read_trace(xml_, element).text;
      for (const auto& use : profile_uses) {
        if (element.name == use.element && !element.attribute(use.attribute).empty())
          check_profile(use, xml_.place(element), element.attribute("id"),
                        read_profile(xml_, element.attribute(use.attribute)).text);
        if (element.name == "trace_connect" && element.attribute("kind") == use.connect_kind)
          check_profile(
              use, xml_.place(element) + " of " + use.element + " '" + element.attribute("element") + "'",
              element.attribute("element"), traces[element.attribute("trace")]);
      }
    }
  }

  void check_profile(const ProfileUse& use, const std::string& place, const std::string& id,
                     const std::string& text) {
    const auto events = events_of(text);
    const auto zero =
        std::find_if(events.begin(), events.end(), [](const auto& e) { return e.value <= 0.0; });
    if (zero == events.end()) return;
    const bool of_host = std::string(use.element) != "link";
    Unsupported unsupported;
    unsupported.is_of_some_hosts = of_host;
    if (of_host) unsupported.hosts = {id};
    if (use.quantity != nullptr) {
      unsupported.message =
          fmt::format("{}: expected a profile with a {} above 0 at all times, found {} at {} s", place,
                      use.quantity, zero->value, zero->time_s);
    } else {
      unsupported.is_refused = of_host && zero->time_s <= 0.0;
      unsupported.message =
          unsupported.is_refused
              ? place +
                    ": expected a host that is up when the simulation starts, found one that is down at 0 s"
              : fmt::format(
                    "{}: its profile turns it off at {} s; a simulation that {} then ends with an error{}",
                    place, zero->time_s, of_host ? "has a rank on it" : "sends a message over it",
                    of_host ? ", unless workers may depart (transience.lifetime: states)" : "");
    }
    found_.push_back(std::move(unsupported));
  }

  const XmlElement& parent_of(const XmlElement& element) const {
    return xml_.elements()[static_cast<std::size_t>(std::max(0, element.parent))];
  }
  static bool is_wifi_zone(const XmlElement& element) {
    return (element.name == "zone" || element.name == "AS") && lower(element.attribute("routing")) == "wifi";
  }
  std::vector<std::string> hosts_in(int zone) const {
    std::vector<std::string> hosts;
    for (const auto& element : xml_.elements())
      if (element.name == "host" && element.parent == zone) hosts.push_back(element.attribute("id"));
    return hosts;
  }

  const PlatformXml& xml_;
  std::vector<Unsupported> found_;
};

}  // namespace

std::vector<Unsupported> find_unsupported(const PlatformXml& xml) { return Finder(xml).find(); }

void check_can_simulate(const std::string& path, const std::vector<std::string>& hosts) {
  for (const auto& one : find_unsupported(PlatformXml(path))) {
    const bool concerns =
        !one.is_of_some_hosts ||
        std::find_first_of(hosts.begin(), hosts.end(), one.hosts.begin(), one.hosts.end()) != hosts.end();
    if (one.is_refused && concerns) throw ConfigError(one.message);
  }
}

}  // namespace tandem::platforms
