#include "validation/campaign/suite_file.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "validation/campaign/suite_nodes.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/safe_yaml.hpp"

namespace tandem::validation {
namespace {

const std::vector<std::string> suite_keys = {"experiments", "variants",    "set",  "grid",
                                             "calibration", "repetitions", "seed", "tolerance",
                                             "cluster",     "witness",     "study"};

/// Walks the document; every error names the line.
class SuiteReader : SuiteNodes {
 public:
  explicit SuiteReader(const std::string& file) : SuiteNodes{file} {}

  SuiteDocument read(const YAML::Node& root) {
    document_.place = path;
    if (!root.IsMap()) fail_at(path + ":1", "", "a map of keys", root);
    std::set<std::string> seen;
    for (const auto& child : root) {
      const std::string key = child.first.Scalar(), place = place_of(child.first);
      if (!seen.insert(key).second) fail(place, key, "once", "again");
      read_key(key, place, child.second);
    }
    if (document_.experiments.empty())
      fail(path, "experiments", "an experiment file or a list of them", "nothing");
    for (const auto& experiment : document_.experiments)
      for (const auto& narrowed : experiment.grid) check_narrowed(narrowed);
    return std::move(document_);
  }

 private:
  void read_key(const std::string& key, const std::string& place, const YAML::Node& node) {
    if (key == "experiments") {
      read_experiments(place, node);
    } else if (key == "variants") {
      document_.variants = values_of(key, place, node);
    } else if (key == "set") {
      read_lists("set", "", place, node, document_.settings);
    } else if (key == "grid") {
      read_lists("grid", "", place, node, document_.grid);
    } else if (key == "calibration") {
      read_lists("calibration", "", place, node, document_.calibration);
    } else if (key == "repetitions") {
      document_.repetitions = number<int>(key, place, node, 1, "an integer >= 1");
    } else if (key == "seed") {
      document_.seed = number<int>(key, place, node, 0, "an integer >= 0");
    } else if (key == "tolerance") {
      document_.tolerance = number<double>(key, place, node, 1e-9, "a number > 0, like 0.1 for 10 %");
    } else if (key == "cluster") {
      document_.cluster = boolean(key, place, node);
    } else if (key == "witness") {
      document_.witness = boolean(key, place, node);
    } else if (key == "study") {
      document_.study = read_study(*this, place, node);
    } else {
      fail_unknown_key(key, place, suite_keys);
    }
  }

  /// A file, or a list of files and of maps with `file` and the part of the grid that it takes.
  void read_experiments(const std::string& place, const YAML::Node& node) {
    if (!node.IsSequence()) {
      for (auto& value : values_of("experiments", place, node))
        document_.experiments.push_back({std::move(value), {}});
      return;
    }
    if (node.size() == 0) fail_at(place, "experiments", "an experiment file or a list of them", node);
    for (const auto& item : node) {
      SuiteExperiment experiment{{text_of(item), place_of(item)}, {}};
      if (item.IsMap()) read_experiment(item, experiment);
      document_.experiments.push_back(std::move(experiment));
    }
  }

  void read_experiment(const YAML::Node& node, SuiteExperiment& experiment) {
    experiment.file.text.clear();
    for (const auto& child : node) {
      const std::string key = child.first.Scalar(), place = place_of(child.first);
      if (key == "file" && child.second.IsScalar())
        experiment.file.text = child.second.Scalar();
      else if (key == "file")
        fail_at(place, "experiments.file", "an experiment file", child.second);
      else if (key == "grid")
        read_lists("grid", "", place, child.second, experiment.grid);
      else
        fail_unknown_key(key, place, {"file", "grid"});
    }
    if (experiment.file.text.empty())
      fail(experiment.file.place, "experiments.file", "an experiment file", "nothing");
  }

  /// An experiment can leave out values of the suite's grid, but bring none of its own.
  void check_narrowed(const SuiteList& narrowed) const {
    const auto wide = std::find_if(document_.grid.begin(), document_.grid.end(),
                                   [&](const SuiteList& list) { return list.key == narrowed.key; });
    if (wide == document_.grid.end())
      fail(narrowed.place, "experiments.grid." + narrowed.key, "a key of the suite's grid",
           "'" + narrowed.key + "'");
    for (const auto& value : narrowed.values)
      if (std::none_of(wide->values.begin(), wide->values.end(),
                       [&](const SuiteValue& known) { return known.text == value.text; }))
        fail(value.place, "experiments.grid." + narrowed.key, "one of its values in the suite's grid",
             "'" + value.text + "'");
  }

  /// `section`: "set", "grid" or "calibration"; `prefix`: of the keys of a nested map.
  void read_lists(const std::string& section, const std::string& prefix, const std::string& place,
                  const YAML::Node& node, std::vector<SuiteList>& lists) {
    if (!node.IsMap()) fail_at(place, section, "a map of experiment keys", node);
    for (const auto& child : node) {
      const std::string key = prefix + child.first.Scalar(), at = place_of(child.first);
      if (child.second.IsMap() && is_experiment_section(key)) {
        read_lists(section, key + '.', at, child.second, lists);
        continue;
      }
      const bool axis = section == "calibration" && (key == "variant" || key == "experiment");
      if (!axis) check_experiment_key(section, key, at);
      const auto is_same = [&](const SuiteList& known) { return known.key == key; };
      if (std::any_of(lists.begin(), lists.end(), is_same)) fail(at, section + '.' + key, "once", "again");
      SuiteList list{key, at, {}};
      if (section == "set")
        list.values = {{text_of(child.second), at}};
      else
        list.values = values_of(section + '.' + key, at, child.second);
      lists.push_back(std::move(list));
    }
  }

  static void check_experiment_key(const std::string& section, const std::string& key,
                                   const std::string& place) {
    if (key == "name" || key == "variants" || key == "repetitions")
      fail(place, section + '.' + key, "a key of what is simulated and run", "'" + key + "'");
    if (find_experiment_key(key) == nullptr) fail_unknown({place, "", key, ""});
  }

  SuiteDocument document_;
};

}  // namespace

bool is_suite(const std::string& path) {
  std::error_code impossible;
  if (!std::filesystem::is_regular_file(path, impossible)) return false;
  try {
    const YAML::Node root = parse_yaml(read_yaml_text(path, "suite"), {path});
    if (!root.IsMap()) return false;
    for (const auto& child : root)
      if (child.first.IsScalar() && (child.first.Scalar() == "experiments" || child.first.Scalar() == "grid"))
        return true;
  } catch (const ConfigError&) {
    return false;
  }
  return false;
}

SuiteDocument read_suite_file(const std::string& path) {
  return SuiteReader(path).read(parse_yaml(read_yaml_text(path, "suite"), {path}));
}

}  // namespace tandem::validation
