// The parts of platform files that Tandem writes.
#pragma once

#include <string>
#include <vector>

#include "platforms/description.hpp"

namespace tandem::platforms {

/// XML allows no two hyphens in a comment.
std::string comment_text(std::string text);
/// A name that no host has.
std::string free_name(const std::string& wanted, const std::vector<Host>& hosts);

/// The <host> element, indented for a zone of the top level.
std::string host_xml(const Host& host);
/// A link, with the rest of its name and attributes as given: host names and numbers need escaping before.
std::string link_xml(const std::string& name, BytesPerSecond bandwidth, Seconds latency,
                     const std::string& sharing);
/// Up to 100 hosts Floyd, whose tables cost n^3. For more hosts, a routing that computes routes on request.
std::string routing_for(std::size_t hosts);
/// A whole file; `zone`: the elements of its only zone, `config`: its <config> element or nothing.
std::string platform_xml(const std::string& comment, const std::string& config, const std::string& zone_name,
                         std::size_t hosts, const std::string& zone);

}  // namespace tandem::platforms
