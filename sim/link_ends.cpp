#include "sim/link_ends.hpp"

#include <cmath>
#include <string>

#include "platforms/simgrid_version.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

void LinkEnds::make(std::size_t hosts) {
  // n hosts make n * (n - 1) pairs.
  constexpr double lists_a_host = 8;
  const auto count = 2 + static_cast<std::size_t>(std::sqrt(lists_a_host * static_cast<double>(hosts)));
  // No zone or host of a platform file has such a name.
  zone_ = &simgrid_version::zone_for_hosts("tandem: ends of links");
  constexpr double any_speed = 1e9;
  while (hosts_.size() < count)
    hosts_.push_back(simgrid_version::add_host(
        *zone_, "tandem: end of links " + std::to_string(hosts_.size()), any_speed));
}

std::optional<LinkEnds::Ends> LinkEnds::of(const Links& links) {
  const std::size_t number = ends_.size();
  if (number >= hosts_.size() * (hosts_.size() - 1) && !ends_.contains(links)) return std::nullopt;
  const auto [found, is_new] = ends_.try_emplace(links);
  if (!is_new) return found->second;
  const std::size_t from = number / (hosts_.size() - 1);
  const std::size_t to = number % (hosts_.size() - 1);
  found->second = {hosts_.at(from), hosts_.at(to < from ? to : to + 1)};
  std::vector<s4u::LinkInRoute> route;
  for (const s4u::Link* link : links) route.emplace_back(link);
  zone_->add_bypass_route(found->second.first->get_netpoint(), found->second.second->get_netpoint(), nullptr,
                          nullptr, route);
  return found->second;
}

}  // namespace tandem::sim
