// Finds and reads the profiles of platform files, which are files of their own or stand in <trace> elements.
// Knows nothing of what the lines of a profile mean.
#pragma once

#include <filesystem>
#include <string>

#include "platforms/platform_xml.hpp"

namespace tandem::platforms {

/// A profile and where it stands.
struct ProfileText {
  std::string place;    ///< the profile's file, or the element that contains it
  std::string text;     ///< empty also where the file cannot be read
  double period = 0.0;  ///< after which it repeats, where the text does not say; 0 or less: it does not
};

/// Like SimGrid: relative to the platform file, then to the working directory.
std::filesystem::path profile_path(const PlatformXml& xml, const std::string& name);
ProfileText read_profile(const PlatformXml& xml, const std::string& name);
/// Of a <trace> element.
ProfileText read_trace(const PlatformXml& xml, const XmlElement& trace);

/// Empty also where the file cannot be read.
std::string text_of_file(const std::filesystem::path& path);

}  // namespace tandem::platforms
