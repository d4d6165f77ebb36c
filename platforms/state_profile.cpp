#include "platforms/state_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

#include "platforms/profile_files.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {
namespace {

namespace fs = std::filesystem;

struct Profile {
  std::vector<double> off, on;
  double period = 0.0;  ///< after which it repeats; 0: it does not
};

/// Lines "TIME 0|1", and one of "PERIODICITY SECONDS" (from the start) and "LOOPAFTER SECONDS" (after the
/// last time).
Profile parse(const ProfileText& profile) {
  Profile parsed;
  std::istringstream lines(profile.text);
  double last = 0.0, period = std::max(0.0, profile.period);
  std::optional<double> loop_after;
  std::optional<bool> is_up;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string first;
    if (!(words >> first) || first.starts_with('#')) continue;
    const auto refuse = [&](const std::string& expected) {
      throw ConfigError(fmt::format("{}:{}: expected {}, found '{}'", profile.place, number, expected, line));
    };
    double value = 0.0;
    if (!(words >> value)) refuse("TIME 0 or TIME 1");
    if (first == "PERIODICITY" || first == "LOOPAFTER") {
      if (!(value >= 0.0)) refuse("a number of seconds of at least 0");
      if (first == "PERIODICITY") period = value;
      if (first == "LOOPAFTER") loop_after = value;
      continue;
    }
    std::istringstream time_text(first);
    double time = 0.0;
    if (!(time_text >> time) || !time_text.eof() || time < 0.0) refuse("TIME 0 or TIME 1");
    if (time < last) refuse(fmt::format("a time from {:g} on, because profiles are in order", last));
    last = time;
    // A host that is up at first may be down when the profile repeats: only what repeats the line before is
    // left out.
    if (is_up == (value > 0.0)) continue;
    is_up = value > 0.0;
    (*is_up ? parsed.on : parsed.off).push_back(time);
  }
  parsed.period = loop_after ? last + *loop_after : period;
  return parsed;
}

std::string lifetime_of(const ProfileText& text) {
  const Profile profile = parse(text);
  if (profile.off.empty()) return "";
  std::string lifetime = fmt::format("states off={}", fmt::join(profile.off, ","));
  if (!profile.on.empty()) lifetime += fmt::format(" on={}", fmt::join(profile.on, ","));
  if (profile.period > 0.0) lifetime += fmt::format(" period={}", profile.period);
  return lifetime;
}

}  // namespace

std::map<std::string, std::string> lifetimes_of_states(const PlatformXml& xml) {
  std::map<std::string, ProfileText> traces;
  std::map<std::string, std::string> lifetimes;
  const auto note = [&](const std::string& host, const ProfileText& text) {
    if (const std::string lifetime = lifetime_of(text); !lifetime.empty()) lifetimes[host] = lifetime;
  };
  for (const auto& element : xml.elements()) {
    if (element.name == "host" && !element.attribute("state_file").empty())
      note(element.attribute("id"), read_profile(xml, element.attribute("state_file")));
    if (element.name == "trace") traces[element.attribute("id")] = read_trace(xml, element);
    if (element.name == "trace_connect" && element.attribute("kind") == "HOST_AVAIL")
      note(element.attribute("element"), traces[element.attribute("trace")]);
  }
  return lifetimes;
}

std::string without_host_states(const PlatformXml& xml, const std::string& folder) {
  const std::string text = text_of_file(xml.path());
  static const std::regex host_state(R"((<host\b[^>]*?)\sstate_file\s*=\s*("[^"]*"|'[^']*'))");
  static const std::regex connection(
      R"(<trace_connect\b[^>]*\bkind\s*=\s*["']HOST_AVAIL["'][^>]*?(/>|>\s*</trace_connect>))");
  static const std::regex file_name(R"(\b(\w*file)\s*=\s*["']([^"']+)["'])");
  const std::string stays = std::regex_replace(std::regex_replace(text, host_state, "$1"), connection, "");
  std::string result;
  auto from = stays.cbegin();
  for (std::sregex_iterator match(stays.begin(), stays.end(), file_name), end; match != end; ++match) {
    result.append(from, (*match)[0].first);
    const fs::path path = fs::absolute(profile_path(xml, (*match)[2].str()));
    result += fmt::format("{}=\"{}\"", (*match)[1].str(), fs::relative(path, folder).string());
    from = (*match)[0].second;
  }
  return result.append(from, stays.cend());
}

}  // namespace tandem::platforms
