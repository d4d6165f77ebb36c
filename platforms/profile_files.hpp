// Finds and reads the profiles of platform files. A profile is a file of its own, or text in a <trace>
// element. The lines of a profile are not interpreted here.
#pragma once

#include <filesystem>
#include <string>

#include "platforms/platform_xml.hpp"

namespace tandem::platforms {

/// A profile and its place.
struct ProfileText {
  std::string place;    ///< the profile's file, or the element that contains it
  std::string text;     ///< empty also where the file cannot be read
  double period = 0.0;  ///< period, where the text has none; 0 or less: it does not repeat
};

/// Like SimGrid: relative to the platform file, then to the working directory.
std::filesystem::path profile_path(const PlatformXml& xml, const std::string& name);
ProfileText read_profile(const PlatformXml& xml, const std::string& name);
/// The profile of a <trace> element.
ProfileText read_trace(const PlatformXml& xml, const XmlElement& trace);

/// Empty also where the file cannot be read.
std::string text_of_file(const std::filesystem::path& path);

}  // namespace tandem::platforms
