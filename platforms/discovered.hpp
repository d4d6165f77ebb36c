// Writes the platform file of discovered machines and of the network between them.
#pragma once

#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/discovery/tree.hpp"

namespace tandem::platforms {

/// Hosts with their properties in the order of the tree's machines. Groups become routers behind a link;
/// those without a name are called rack-1, rack-2 ... Figures are rounded to four digits. Pre: one host for
/// each machine, all figures positive.
std::string discovered_xml(const std::string& comment, const std::vector<Host>& hosts,
                           const discovery::Tree& tree);

}  // namespace tandem::platforms
