#include "platforms/discovery/tree.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tandem::discovery {

std::vector<int> Tree::path_up(int node) const {
  std::vector<int> path;
  for (; node != Node::core; node = nodes[static_cast<std::size_t>(node)].parent) path.push_back(node);
  return path;
}

std::vector<int> Tree::machines_below(int node) const {
  std::vector<int> below;
  for (int machine = 0; machine < machines; ++machine) {
    const auto path = path_up(machine);
    if (std::ranges::find(path, node) != path.end()) below.push_back(machine);
  }
  return below;
}

nlohmann::json to_json(const Tree& tree) {
  nlohmann::json nodes = nlohmann::json::array(), loopbacks = nlohmann::json::array();
  for (const Node& node : tree.nodes)
    nodes.push_back({{"name", node.name},
                     {"parent", node.parent},
                     {"up", node.cable.up},
                     {"down", node.cable.down},
                     {"is_shared", node.cable.is_shared},
                     {"latency_s", node.cable.latency_s},
                     {"limits", node.cable.limits}});
  for (const Loopback& one : tree.loopbacks)
    loopbacks.push_back({{"rate", one.rate}, {"latency_s", one.latency_s}});
  return {{"machines", tree.machines}, {"nodes", nodes}, {"loopbacks", loopbacks}};
}

Tree tree_from_json(const nlohmann::json& document) {
  Tree tree{.machines = document.at("machines").get<int>(), .nodes = {}, .loopbacks = {}};
  for (const auto& node : document.at("nodes"))
    tree.nodes.push_back({node.at("name").get<std::string>(),
                          node.at("parent").get<int>(),
                          {.up = node.at("up").get<double>(),
                           .down = node.at("down").get<double>(),
                           .is_shared = node.at("is_shared").get<bool>(),
                           .latency_s = node.at("latency_s").get<double>(),
                           .limits = node.at("limits").get<bool>()}});
  for (const auto& one : document.at("loopbacks"))
    tree.loopbacks.push_back({one.at("rate").get<double>(), one.at("latency_s").get<double>()});
  return tree;
}

}  // namespace tandem::discovery
