// Platform files for tests: written to the temporary directory and removed with the object.
#pragma once

#include <string>

#include "tests/support/temporary_folder.hpp"

namespace tandem::platforms {

/// A file with this content, which exists as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content, const std::string& name = "platform.xml");
  std::string path() const { return folder_.path(name_); }
  /// Adds another file to the same folder.
  void add(const std::string& name, const std::string& content) const;

 private:
  testing::TemporaryFolder folder_;
  std::string name_;
};

/// `body` inside <platform version="4.1">.
std::string platform_xml(const std::string& body);
/// `body` inside one zone.
std::string zone_xml(const std::string& routing, const std::string& body);
/// One <cluster> of hosts n-0 to n-(hosts - 1), 1 Gflop/s, links of 1 GB/s and 1 us; `more` is added to its
/// attributes.
std::string cluster_xml(int hosts, const std::string& more = "");
/// host-0 - host-1 - ... in a line; cable i between host-i and host-(i+1), 1 GB/s x (i + 1), 10 us.
std::string line_xml(int hosts);

}  // namespace tandem::platforms
