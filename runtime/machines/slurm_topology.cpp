#include "runtime/machines/slurm_topology.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "runtime/machines/machines.hpp"

namespace tandem::machines {
namespace {

struct Entry {
  int line;
  std::string name, nodes, switches;  ///< lists as Slurm writes them: n[1-3],m
};

[[noreturn]] void refuse(const std::string& path, int line, const std::string& what) {
  throw ConfigError(fmt::format("{}:{}: {}", path, line, what));
}

std::vector<std::string> names_in(const std::string& path, int line, const std::string& list) {
  std::vector<std::string> names;
  if (list.empty()) return names;
  try {
    for (const Machine& one : slurm_machines(list, "")) names.push_back(one.name);
  } catch (const ConfigError& error) {
    refuse(path, line, error.what());
  }
  return names;
}

/// KEY=VALUE words; a backslash at the end of a line continues it.
std::vector<Entry> entries_of_conf(const std::string& path) {
  std::ifstream file(path);
  std::vector<Entry> entries;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    const int first = ++number;
    for (std::string next; line.ends_with('\\') && std::getline(file, next); ++number) {
      line.pop_back();
      line += next;
    }
    std::istringstream words(line.substr(0, line.find('#')));
    Entry entry{.line = first, .name = {}, .nodes = {}, .switches = {}};
    bool is_setting = false;
    for (std::string word; words >> word;) {
      const auto middle = word.find('=');
      if (middle == std::string::npos || middle + 1 == word.size())
        refuse(path, first, fmt::format("expected KEY=VALUE, found '{}'", word));
      const std::string key = lower(word.substr(0, middle)), value = word.substr(middle + 1);
      if (key == "switchname" || key == "blockname")
        entry.name = value;
      else if (key == "nodes")
        entry.nodes = value;
      else if (key == "switches")
        entry.switches = value;
      else if (key == "blocksizes")
        is_setting = true;
      else if (key != "linkspeed")  // not reliable: speeds are measured
        refuse(path, first,
               fmt::format(
                   "expected SwitchName, BlockName, Nodes, Switches, LinkSpeed or BlockSizes, found '{}'",
                   word.substr(0, middle)));
      if (words.eof()) break;
    }
    if (entry.name.empty() && entry.nodes.empty() && entry.switches.empty()) continue;
    if (entry.name.empty() || is_setting) refuse(path, first, "expected SwitchName or BlockName");
    entries.push_back(entry);
  }
  return entries;
}

std::string text_of(const std::string& path, const YAML::Node& node, const std::string& key) {
  const YAML::Node value = node[key];
  if (!value) return {};
  if (value.IsScalar()) return value.Scalar();
  std::string list;
  if (value.IsSequence())
    for (const auto& one : value) {
      if (!one.IsScalar()) refuse(path, one.Mark().line + 1, key + ": expected names");
      list += (list.empty() ? "" : ",") + one.Scalar();
    }
  else
    refuse(path, value.Mark().line + 1, key + ": expected names");
  return list;
}

std::vector<Entry> entries_below(const std::string& path, const YAML::Node& list, const std::string& kind) {
  const int line = list ? list.Mark().line + 1 : 1;
  if (!list || !list.IsSequence())
    refuse(path, line, fmt::format("expected a list of entries '- {}: NAME'", kind));
  std::vector<Entry> entries;
  for (const auto& item : list) {
    const int at = item.Mark().line + 1;
    if (!item.IsMap()) refuse(path, at, fmt::format("expected '{}: NAME'", kind));
    for (const auto& pair : item)
      if (const std::string key = pair.first.Scalar();
          key != kind && key != "nodes" && key != "children" && key != "link_speed")
        refuse(path, at, fmt::format("expected {}, nodes or children, found '{}'", kind, key));
    const Entry entry{at, text_of(path, item, kind), text_of(path, item, "nodes"),
                      text_of(path, item, "children")};
    if (entry.name.empty()) refuse(path, at, fmt::format("expected '{}: NAME'", kind));
    entries.push_back(entry);
  }
  return entries;
}

std::vector<Entry> entries_of_yaml(const std::string& path) {
  YAML::Node document;
  try {
    document = YAML::LoadFile(path);
  } catch (const YAML::Exception& error) {
    refuse(path, error.mark.line + 1, error.msg);
  }
  if (!document.IsSequence()) refuse(path, 1, "expected a list of entries '- topology: NAME'");
  YAML::Node chosen;
  for (const auto& topology : document) {
    if (!topology.IsMap() || !topology["topology"])
      refuse(path, topology.Mark().line + 1, "expected '- topology: NAME'");
    if (!topology["tree"] && !topology["block"]) continue;
    const YAML::Node preferred = topology["cluster_default"];
    const bool is_default = preferred && preferred.IsScalar() && lower(preferred.Scalar()) == "true";
    if (chosen.IsNull() || is_default) chosen.reset(topology);
  }
  if (chosen.IsNull()) refuse(path, 1, "expected a topology with 'tree:' or 'block:', found none");
  const bool is_tree = static_cast<bool>(chosen["tree"]);
  const YAML::Node body = chosen[is_tree ? "tree" : "block"];
  if (!body.IsMap())
    refuse(path, body.Mark().line + 1, is_tree ? "expected 'switches:'" : "expected 'blocks:'");
  return entries_below(path, body[is_tree ? "switches" : "blocks"], is_tree ? "switch" : "block");
}

/// Puts each switch after those below it.
class Order {
 public:
  Order(const std::string& path, const std::vector<Entry>& entries) : path_(path), entries_(entries) {
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (!number_.emplace(entries[i].name, i).second)
        refuse(path, entries[i].line, fmt::format("'{}' is listed twice", entries[i].name));
    for (std::size_t i = 0; i < entries.size(); ++i) visit(i);
  }
  std::vector<Switch> take() { return std::move(switches_); }

 private:
  int visit(std::size_t index) {
    const Entry& entry = entries_[index];
    if (const auto known = placed_.find(index); known != placed_.end()) return known->second;
    if (!open_.insert(index).second)
      refuse(path_, entry.line, fmt::format("'{}' is below itself", entry.name));
    Switch made{entry.name, names_in(path_, entry.line, entry.nodes), {}};
    for (const std::string& node : made.nodes)
      if (!nodes_.insert(node).second)
        refuse(path_, entry.line, fmt::format("node '{}' is listed twice; its place is not a tree", node));
    for (const std::string& below : names_in(path_, entry.line, entry.switches)) {
      const auto known = number_.find(below);
      if (known == number_.end())
        refuse(path_, entry.line, fmt::format("expected a switch of this file, found '{}'", below));
      if (!below_.insert(known->second).second)
        refuse(path_, entry.line, fmt::format("'{}' is below two switches; its place is not a tree", below));
      made.switches.push_back(visit(known->second));
    }
    switches_.push_back(std::move(made));
    return placed_[index] = static_cast<int>(switches_.size()) - 1;
  }

  const std::string& path_;
  const std::vector<Entry>& entries_;
  std::map<std::string, std::size_t> number_;
  std::map<std::size_t, int> placed_;
  std::set<std::size_t> open_, below_;
  std::set<std::string> nodes_;
  std::vector<Switch> switches_;
};

}  // namespace

std::vector<Switch> read_slurm_topology(const std::string& path) {
  if (!std::ifstream(path))
    throw ConfigError(path + ": expected Slurm's topology.conf or topology.yaml, found no such file");
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  const auto entries = is_yaml ? entries_of_yaml(path) : entries_of_conf(path);
  if (entries.empty()) refuse(path, 1, "expected lines 'SwitchName=NAME Nodes=LIST', found none");
  return Order(path, entries).take();
}

}  // namespace tandem::machines
