// Reads the key `study` of a suite file.
#include <algorithm>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "validation/campaign/suite_nodes.hpp"
#include "workloads/experiment/overrides.hpp"

namespace tandem::validation {
namespace {

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
    } else if (key == "knee") {
      section_.knee = share(path, place, node);
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
      SuiteNodes::fail_unknown_key(
          key, place, {"about", "baseline", "knee", "operations", "reading", "notes", "published"});
    }
  }

  static double share(const std::string& path, const std::string& place, const YAML::Node& node) {
    const std::string expected = "a number > 0 and <= 1, like 0.5";
    const auto value = SuiteNodes::number<double>(path, place, node, 1e-9, expected);
    if (value > 1.0) SuiteNodes::fail_at(place, path, expected, node);
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

  /// Adds the figure once for each configuration that it belongs to.
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
        result.figure = figure_name(full, at, child.second);
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

  static std::string figure_name(const std::string& path, const std::string& place, const YAML::Node& node) {
    std::string name = SuiteNodes::text(path, place, node);
    if (std::find(study_figures.begin(), study_figures.end(), name) != study_figures.end()) return name;
    std::string known;
    for (const auto& figure : study_figures) known += (known.empty() ? "" : " | ") + figure;
    const std::string nearest = nearest_name(name, study_figures);
    fail(place, path, "a figure (" + known + ")",
         "'" + name + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }

  const SuiteNodes& nodes_;
  StudySection section_;
};

}  // namespace

StudySection read_study(const SuiteNodes& nodes, const std::string& place, const YAML::Node& node) {
  return StudyReader(nodes).read(place, node);
}

}  // namespace tandem::validation
