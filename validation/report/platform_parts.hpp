// A platform of a report as data: how a job uses it, its parts, and the drawing that is made from them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policies/vocabulary/choices.hpp"

namespace tandem::validation {

/// How a job uses the platform.
struct PlatformUse {
  std::string path{};
  Precision precision = Precision::fp32;
  std::vector<std::string> hosts{}, roles{};  ///< by rank
};

/// Names of the hosts and links that limit the job (platform_binding.hpp).
struct PlatformBinding {
  std::vector<std::string> links{}, hosts{};

  friend bool operator==(const PlatformBinding&, const PlatformBinding&) = default;
};

/// Hosts, links, and all ordered pairs of these hosts that have a route.
struct PlatformParts {
  struct Host {
    std::string name{}, device{};
    double flops_per_s = 0;
    std::string precision{};  ///< of that rate; may be empty
    std::vector<std::string> roles{};
    double stands_for = 1;  ///< number of hosts of its kind that it represents
  };
  struct Link {
    std::string name{};
    double bytes_per_s = 0, latency_s = 0;
    std::string sharing = "SHARED";  ///< SimGrid's
  };
  struct Route {
    std::string from{}, to{};  ///< names of hosts
    std::vector<std::string> links{};
  };
  std::string name{};
  std::vector<Host> hosts{};
  std::size_t hosts_left_out = 0;
  std::vector<Link> links{};
  std::vector<Route> routes{};
  PlatformBinding binds{};
};

// ---- Texts for people ----

struct DrawnLabel {
  std::string text{};
  bool binds = false;
};
struct DrawnRow : DrawnLabel {
  std::string kind{};  ///< "name", "about", "link"
};
/// A link that only two children use.
struct DrawnLane : DrawnLabel {
  std::size_t from = 0, to = 0;  ///< indices of children
};
struct DrawnNode {
  /// "host"; "switch": no link between its children; "shared": all messages between its children cross a
  /// common link; "mesh": other links; "direct": a root whose links are all lanes.
  std::string kind{};
  std::size_t count = 1;           ///< how many equal ones it represents
  bool binds = false;              ///< it, or a link that its children share, limits the job
  std::vector<DrawnRow> rows{};    ///< texts in its box
  std::vector<DrawnLabel> link{};  ///< links to the node above it
  std::vector<DrawnNode> children{};
  std::vector<DrawnLane> lanes{};
};
struct DrawnPlatform {
  std::string title{}, note{};
  DrawnNode root{};
};

}  // namespace tandem::validation
