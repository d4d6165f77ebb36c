#include "validation/campaign/hold_out.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "policies/vocabulary/check.hpp"

namespace tandem::validation {
namespace {

namespace fs = std::filesystem;

fs::path normal(const std::string& path) { return fs::absolute(path).lexically_normal(); }

bool lies_in(const fs::path& path, const fs::path& directory) {
  const std::string relative = path.lexically_relative(directory).string();
  return !relative.empty() && !relative.starts_with("..");
}

/// The words of a command may name a directory or a file in it, also as KEY=PATH.
bool names(const std::string& command, const fs::path& directory) {
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    std::erase(word, '\'');
    const auto equals = word.rfind('=');
    const std::string path = equals == std::string::npos ? word : word.substr(equals + 1);
    if (path.find('/') != std::string::npos && lies_in(normal(path), directory)) return true;
  }
  return false;
}

}  // namespace

void check_apart(const ProfileOrigin& profile, const std::vector<std::string>& run_directories) {
  for (const auto& directory : run_directories) {
    const fs::path run = normal(directory);
    if (lies_in(normal(profile.path), run))
      throw ConfigError(
          fmt::format("profile {}: is in the result directory {}, which is compared; calibration must not "
                      "use the runs that are "
                      "compared",
                      profile.path, directory));
    if (names(profile.command, run))
      throw ConfigError(fmt::format(
          "profile {}: was made from the result directory {}, which is compared ({}); calibrate without it",
          profile.path, directory, profile.command));
  }
}

void check_hold_out(const ProfileOrigin& profile, const std::vector<Results>& measured) {
  std::vector<std::string> directories;
  for (const auto& run : measured) directories.push_back(run.path);
  check_apart(profile, directories);
  // Both are ISO 8601 in UTC: text order is time order.
  for (const auto& run : measured)
    if (run.info.started < profile.date)
      throw ConfigError(fmt::format(
          "profile {}: was measured at {}, after the run {} that is compared (started {}); a calibration "
          "that may have used the runs proves nothing",
          profile.path, profile.date, run.path, run.info.started));
}

}  // namespace tandem::validation
