#include "platforms/profile_files.hpp"

#include <cstdlib>
#include <fstream>

#include "policies/vocabulary/stream_text.hpp"

namespace tandem::platforms {

namespace fs = std::filesystem;

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  return rest_of(file);
}

fs::path profile_path(const PlatformXml& xml, const std::string& name) {
  const fs::path beside = fs::path(xml.path()).parent_path() / name;
  return fs::exists(beside) ? beside : fs::path(name);
}

ProfileText read_profile(const PlatformXml& xml, const std::string& name) {
  const fs::path path = profile_path(xml, name);
  return {path.string(), text_of_file(path)};
}

ProfileText read_trace(const PlatformXml& xml, const XmlElement& trace) {
  const std::string file = trace.attribute("file");
  ProfileText profile = file.empty() ? ProfileText{xml.place(trace), trace.text} : read_profile(xml, file);
  profile.period = std::strtod(trace.attribute("periodicity").c_str(), nullptr);
  return profile;
}

}  // namespace tandem::platforms
