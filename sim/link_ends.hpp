// Pairs of hosts at the ends of given links, so that a message can use a part of a route.
#pragma once

#include <map>
#include <optional>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

namespace tandem::sim {

class LinkEnds {
 public:
  using Links = std::vector<simgrid::s4u::Link*>;
  using Ends = std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*>;

  /// Adds hosts without routes of their own to the platform. There are few of them, because sealing a
  /// platform can take the cube of their number, but enough for some lists of links for each host of the
  /// job. Pre: the platform is loaded, but not sealed.
  void make(std::size_t hosts);
  /// A message from the first of these hosts to the second uses exactly these links. The same links have the
  /// same hosts. None when all pairs of hosts are in use. Pre: at least one link.
  std::optional<Ends> of(const Links& links);

 private:
  simgrid::s4u::NetZone* zone_ = nullptr;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::map<Links, Ends> ends_;  ///< each ordered pair of hosts serves one list of links
};

}  // namespace tandem::sim
