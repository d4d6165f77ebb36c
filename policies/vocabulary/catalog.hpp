// A catalogue: an explicit list of named choices with summary, paper, options and factory. Help, `tandem
// list`, error messages and tests read the names from it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem {

template <class Factory>
struct CatalogEntry {
  std::string name;
  std::string summary;  ///< one line
  std::string paper;    ///< citation, or empty
  std::vector<OptionSpec> options;
  Factory make;
  std::vector<std::string> aliases = {};  ///< other names, under which `find` finds it too
};

template <class Factory>
class Catalog {
 public:
  using Entry = CatalogEntry<Factory>;

  /// `kind`: the noun for one entry, "sync algorithm".
  Catalog(std::string kind, std::vector<Entry> entries)
      : kind_(std::move(kind)), entries_(std::move(entries)) {}

  const std::string& kind() const { return kind_; }
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : entries_) names.push_back(entry.name);
    return names;
  }
  /// By name or alias. Errors: ConfigError with the nearest name and the list of all.
  const Entry& find(const std::string& name) const {
    for (const auto& entry : entries_)
      if (entry.name == name || std::ranges::find(entry.aliases, name) != entry.aliases.end()) return entry;
    std::string message = "unknown " + kind_ + " '" + name + "'";
    if (const auto nearest = nearest_name(name, names()); !nearest.empty())
      message += "; did you mean '" + nearest + "'?";
    else
      message += '.';
    message += " Known:";
    for (const auto& entry : entries_) message += ' ' + entry.name;
    throw ConfigError(message);
  }

 private:
  std::string kind_;
  std::vector<Entry> entries_;
};

}  // namespace tandem
