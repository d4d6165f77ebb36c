#include "validation/campaign/suite_file.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/safe_yaml.hpp"

namespace tandem::validation {
namespace {

/// The nodes of one file. All functions throw ConfigError with file, line, key, expected and found.
struct SuiteNodes {
  std::string path;

  std::string place_of(const YAML::Node& node) const {
    return path + ':' + std::to_string(node.Mark().line + 1);
  }
  [[noreturn]] static void fail_at(const std::string& place, const std::string& key,
                                   const std::string& expected, const YAML::Node& node);
  [[noreturn]] static void fail_unknown_key(const std::string& key, const std::string& place,
                                            const std::vector<std::string>& known);
  template <class Number>
  static Number number(const std::string& key, const std::string& place, const YAML::Node& node,
                       Number minimum, const std::string& expected) {
    Number value{};
    if (!node.IsScalar() || !YAML::convert<Number>::decode(node, value) || !(value >= minimum))
      fail_at(place, key, expected, node);
    return value;
  }
  static bool boolean(const std::string& key, const std::string& place, const YAML::Node& node);
  /// A text that is not empty, in one line.
  static std::string text(const std::string& key, const std::string& place, const YAML::Node& node);
  /// One value or a list of them.
  std::vector<SuiteValue> values_of(const std::string& key, const std::string& place,
                                    const YAML::Node& node) const;
  /// In one line, as --set takes it.
  static std::string text_of(const YAML::Node& node);
};

void SuiteNodes::fail_at(const std::string& place, const std::string& key, const std::string& expected,
                         const YAML::Node& node) {
  const std::string found = node.IsSequence() ? "a list"
                            : node.IsMap()    ? "a map"
                            : node.IsNull()   ? "nothing"
                                              : "'" + node.Scalar() + "'";
  fail(place, key, expected, found);
}

void SuiteNodes::fail_unknown_key(const std::string& key, const std::string& place,
                                  const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(key, known);
  throw ConfigError(place + ": unknown key '" + key + "' of a suite" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

bool SuiteNodes::boolean(const std::string& key, const std::string& place, const YAML::Node& node) {
  bool value = false;
  if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value))
    fail_at(place, key, "true or false", node);
  return value;
}

std::string SuiteNodes::text(const std::string& key, const std::string& place, const YAML::Node& node) {
  if (!node.IsScalar() || node.Scalar().empty()) fail_at(place, key, "a text", node);
  std::string line = node.Scalar();
  for (char& c : line)
    if (c == '\n') c = ' ';
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::vector<SuiteValue> SuiteNodes::values_of(const std::string& key, const std::string& place,
                                              const YAML::Node& node) const {
  if (node.IsNull() || node.IsMap() || (node.IsSequence() && node.size() == 0))
    fail_at(place, key, "a value or a list of values", node);
  std::vector<SuiteValue> values;
  if (!node.IsSequence()) return {{text_of(node), place}};
  for (const auto& item : node) values.push_back({text_of(item), place_of(item)});
  return values;
}

std::string SuiteNodes::text_of(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Flow);
  out.SetMapFormat(YAML::Flow);
  out << node;
  return out.c_str();
}

// ---- The key `study` ----

class StudyReader {
 public:
  explicit StudyReader(const SuiteNodes& nodes) : nodes_(nodes) {}

  StudySection read(const std::string& place, const YAML::Node& node) {
    if (!node.IsMap()) SuiteNodes::fail_at(place, "study", "a map of keys", node);
    section_.place = place;
    std::set<std::string> seen;
    for (const auto& child : node) {
      const std::string key = child.first.Scalar(), at = nodes_.place_of(child.first);
      if (!seen.insert(key).second) fail(at, "study." + key, "once", "again");
      read_key(key, at, child.second);
    }
    return std::move(section_);
  }

 private:
  void read_key(const std::string& key, const std::string& place, const YAML::Node& node) {
    const std::string path = "study." + key;
    if (key == "about") {
      section_.about = SuiteNodes::text(path, place, node);
    } else if (key == "baseline") {
      section_.baseline = SuiteNodes::text(path, place, node);
      section_.place = place;
    } else if (key == "decides") {
      section_.decides = one_of(study_measures, path, place, node);
    } else if (key == "knee") {
      section_.knee = share(path, place, node);
    } else if (key == "stall") {
      section_.stall = stall(path, place, node);
    } else if (key == "alone") {
      section_.alone = SuiteNodes::boolean(path, place, node);
    } else if (key == "operations") {
      section_.operations = SuiteNodes::boolean(path, place, node);
    } else if (key == "reading") {
      section_.reading = reading(path, place, node);
    } else if (key == "notes") {
      if (!node.IsSequence()) SuiteNodes::fail_at(place, path, "a list of texts", node);
      for (const auto& note : node)
        section_.notes.push_back(SuiteNodes::text(path, nodes_.place_of(note), note));
    } else if (key == "published") {
      if (!node.IsSequence()) SuiteNodes::fail_at(place, path, "a list of figures", node);
      for (const auto& figure : node) add_published(figure);
    } else {
      SuiteNodes::fail_unknown_key(key, place,
                                   {"about", "baseline", "decides", "knee", "stall", "alone", "operations",
                                    "reading", "notes", "published"});
    }
  }

  static double share(const std::string& path, const std::string& place, const YAML::Node& node) {
    const std::string expected = "a number > 0 and <= 1, like 0.5";
    const auto value = SuiteNodes::number<double>(path, place, node, 1e-9, expected);
    if (value > 1.0) SuiteNodes::fail_at(place, path, expected, node);
    return value;
  }

  static double stall(const std::string& path, const std::string& place, const YAML::Node& node) {
    const std::string expected = "a number > 0 and < 1, like 0.05";
    const auto value = SuiteNodes::number<double>(path, place, node, 1e-9, expected);
    if (value >= 1.0) SuiteNodes::fail_at(place, path, expected, node);
    return value;
  }

  CurveReading reading(const std::string& path, const std::string& place, const YAML::Node& node) const {
    if (!node.IsMap()) SuiteNodes::fail_at(place, path, "a map of keys", node);
    CurveReading result;
    for (const auto& child : node) {
      const std::string key = child.first.Scalar(), at = nodes_.place_of(child.first),
                        full = path + '.' + key;
      if (key == "every") {
        result.every = SuiteNodes::number<int>(full, at, child.second, 1, "an integer >= 1");
      } else if (key == "mean") {
        result.mean = SuiteNodes::number<int>(full, at, child.second, 1, "an integer >= 1");
      } else if (key == "start") {
        result.start = SuiteNodes::number<double>(full, at, child.second, 0.0, "a number >= 0");
      } else {
        SuiteNodes::fail_unknown_key(key, at, {"every", "mean", "start"});
      }
    }
    return result;
  }

  /// Adds the figure once for each of its configurations.
  void add_published(const YAML::Node& node) {
    const std::string path = "study.published", place = nodes_.place_of(node);
    if (!node.IsMap()) SuiteNodes::fail_at(place, path, "a map of keys", node);
    PublishedFigure result;
    YAML::Node configurations;
    bool has_value = false;
    for (const auto& child : node) {
      const std::string key = child.first.Scalar(), at = nodes_.place_of(child.first),
                        full = path + '.' + key;
      if (key == "configuration") {
        if (child.second.IsSequence() && child.second.size() == 0)
          SuiteNodes::fail_at(at, full, "a name or a list of names", child.second);
        configurations = child.second;
      } else if (key == "figure") {
        result.figure = one_of(study_figures, full, at, child.second);
      } else if (key == "what") {
        result.what = SuiteNodes::text(full, at, child.second);
      } else if (key == "source") {
        result.source = SuiteNodes::text(full, at, child.second);
      } else if (key == "value") {
        result.value = SuiteNodes::number<double>(full, at, child.second, 1e-12, "a number > 0");
        has_value = true;
      } else {
        SuiteNodes::fail_unknown_key(key, at, {"configuration", "figure", "what", "value", "source"});
      }
    }
    for (const auto& [key, given] :
         {std::pair("configuration", configurations.IsDefined() && !configurations.IsNull()),
          std::pair("figure", !result.figure.empty()), std::pair("value", has_value),
          std::pair("source", !result.source.empty())})
      if (!given) fail(place, path + '.' + key, "a value", "nothing");
    const auto add = [&](const YAML::Node& name) {
      result.place = nodes_.place_of(name);
      result.configuration = SuiteNodes::text(path + ".configuration", result.place, name);
      section_.published.push_back(result);
    };
    if (!configurations.IsSequence()) return add(configurations);
    for (const auto& name : configurations) add(name);
  }

  static std::string one_of(const std::vector<std::string>& figures, const std::string& path,
                            const std::string& place, const YAML::Node& node) {
    std::string name = SuiteNodes::text(path, place, node);
    if (std::find(figures.begin(), figures.end(), name) != figures.end()) return name;
    std::string known;
    for (const auto& figure : figures) known += (known.empty() ? "" : " | ") + figure;
    const std::string nearest = nearest_name(name, figures);
    fail(place, path, "a figure (" + known + ")",
         "'" + name + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }

  const SuiteNodes& nodes_;
  StudySection section_;
};

// ---- Suites ----

const std::vector<std::string> suite_keys = {"experiments", "variants",    "set",   "grid",
                                             "calibration", "repetitions", "seed",  "tolerance",
                                             "cluster",     "witness",     "alone", "study"};

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
    } else if (key == "alone") {
      if (boolean(key, place, node)) document_.alone = SuiteValue{"true", place};
    } else if (key == "study") {
      document_.study = StudyReader(*this).read(place, node);
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
      if (child.second.IsMap() && is_section(key)) {
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

  /// Whether a map is of keys below this one.
  static bool is_section(const std::string& key) {
    const auto [job, path] = key_of_job(key);
    return is_experiment_section(key) || key == "jobs" || (!job.empty() && is_experiment_section(path)) ||
           (key.starts_with("jobs.") && job.empty());
  }

  static void check_experiment_key(const std::string& section, const std::string& key,
                                   const std::string& place) {
    if (key == "name" || key == "variants" || key == "repetitions")
      fail(place, section + '.' + key, "a key of what is simulated and run", "'" + key + "'");
    const auto [job, path] = key_of_job(key);
    if (!job.empty() && path == "start") return;
    if (job.empty() && (key == "jobs" || key.starts_with("jobs.")))
      fail(place, section + '.' + key, "a key of a job, like jobs.NAME.seed", "'" + key + "'");
    if (find_experiment_key(path) == nullptr) fail_unknown({place, "", path, {}, job});
  }

  SuiteDocument document_;
};

}  // namespace

KeyOfJob key_of_job(const std::string& key) {
  const std::string jobs = "jobs.";
  if (!key.starts_with(jobs)) return {"", key};
  const auto dot = key.find('.', jobs.size());
  if (dot == std::string::npos) return {"", key};
  return {key.substr(jobs.size(), dot - jobs.size()), key.substr(dot + 1)};
}

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
