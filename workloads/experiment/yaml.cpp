#include "workloads/experiment/yaml.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/safe_yaml.hpp"
#include "workloads/experiment/utf8.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

// Walks a document and collects every value under its full path.
class Reader {
 public:
  explicit Reader(YamlSource source) : source_(std::move(source)) {}

  void read(const std::string& variant, const std::string& path, const YAML::Node& node,
            const std::string& place) {
    const bool is_of_experiment = job_.empty() && variant.empty();
    if (is_of_experiment && path == "jobs") return read_jobs(node, place);
    if (is_of_experiment && path.starts_with("jobs."))
      return read_job(path.substr(std::strlen("jobs.")), node, place);
    if (is_of_experiment && path == "variants") return read_variants(node, place);
    if (is_of_experiment && path.starts_with("variants.")) {
      const std::string rest = path.substr(std::strlen("variants."));
      const auto dot = std::min(rest.find('.'), rest.size());
      return read(rest.substr(0, dot), dot < rest.size() ? rest.substr(dot + 1) : "", node, place);
    }
    if (!variant.empty() && path.empty()) {
      assignments_.push_back({place, variant, "", node.IsMap() ? Json() : value_of(node, false)});
      if (node.IsMap()) read_children(variant, path, node);
      return;
    }
    if (is_experiment_section(path) && (node.IsMap() || node.IsNull()))
      return read_children(variant, path, node);
    const auto* key = find_experiment_key(path);
    if (is_experiment_section(path)) fail(place, path, "a map of keys", quote(value_of(node, false)));
    if (key != nullptr && node.IsMap() && key->path == path && key_value(*key, {}).is_object())
      return read_children(variant, path, node);
    note({place, variant, path, value_of(node, key != nullptr && takes_text(*key)), job_}, line_of(node));
  }

  void read_children(const std::string& variant, const std::string& path, const YAML::Node& node) {
    const auto whole = [&](const std::string& name) { return path.empty() ? name : path + '.' + name; };
    for_each_child(
        node, path,
        [&](const std::string& name) {
          return Assignment{"", variant, whole(name), {}, job_};
        },
        [&](const std::string& name, const YAML::Node& child, const std::string& place) {
          read(variant, whole(name), child, place);
        });
  }

  std::vector<Assignment> take() { return std::move(assignments_); }

 private:
  /// `label`: of the map. `assignment_to`: a name, for the error where it is there twice. `use`: name, node
  /// and place.
  template <class AssignmentTo, class Use>
  void for_each_child(const YAML::Node& node, const std::string& label, const AssignmentTo& assignment_to,
                      const Use& use) {
    std::map<std::string, int> lines;
    for (const auto& child : node) {
      const int line = line_of(child.first);
      if (!child.first.IsScalar()) fail(place_at(line), label, "a word as a key", "a map or list");
      const std::string name = child.first.Scalar();
      const auto [first, is_new] = lines.emplace(name, line);
      if (!is_new) {
        Assignment again = assignment_to(name);
        again.place = place_at(line);
        fail_twice(again, first->second);
      }
      line_ = line;
      use(name, child.second, place_at(line));
    }
  }

  std::string place_at(int line) const { return source_.at(line); }
  // An empty value has no mark of its own, so it gets the line of its key.
  int line_of(const YAML::Node& node) const { return node.Mark().is_null() ? line_ : node.Mark().line + 1; }

  void read_jobs(const YAML::Node& node, const std::string& place) {
    if (!node.IsMap() || node.size() == 0)
      fail(place, "jobs", "a map of at least one job",
           node.IsMap() ? "nothing" : quote(value_of(node, false)));
    for_each_child(
        node, "jobs",
        [](const std::string& name) {
          return Assignment{"", "", "", {}, name};
        },
        [this](const std::string& name, const YAML::Node& of, const std::string& at) {
          declare_job(name, of, at);
        });
  }

  // "speech", or "speech.sync.algorithm" of an override.
  void read_job(const std::string& text, const YAML::Node& node, const std::string& place) {
    const auto dot = text.find('.');
    if (dot == std::string::npos) return declare_job(text, node, place);
    check_name(place, "jobs", text.substr(0, dot));
    job_ = text.substr(0, dot);
    read("", text.substr(dot + 1), node, place);
    job_.clear();
  }

  void declare_job(const std::string& name, const YAML::Node& node, const std::string& place) {
    check_name(place, "jobs", name);
    if (!node.IsMap() && !node.IsNull())
      fail(place, "jobs." + name, "a map of keys", quote(value_of(node, false)));
    assignments_.push_back({place, "", "", nullptr, name});
    job_ = name;
    if (node.IsMap()) read_children("", "", node);
    job_.clear();
  }

  void read_variants(const YAML::Node& node, const std::string& place) {
    if (!node.IsMap() || node.size() == 0) {
      const Json value = node.IsMap() ? Json::object() : value_of(node, false);
      return note({place, "", "variants", value}, line_of(node));
    }
    read_children("", "variants", node);
  }

  [[noreturn]] static void fail_twice(const Assignment& assignment, int first_line) {
    fail(assignment.place, assignment.label(), "once",
         "again (first in line " + std::to_string(first_line) + ")");
  }

  void note(Assignment assignment, int line) {
    const auto [first, is_new] = lines_.emplace(assignment.label(), line);
    if (!is_new) fail_twice(assignment, first->second);
    assignments_.push_back(std::move(assignment));
  }

  // `as_text`: a bare word is text, whatever else it looks like.
  Json value_of(const YAML::Node& node, bool as_text) const {
    if (node.IsNull()) return nullptr;
    if (node.IsScalar()) {
      const bool quoted = node.Tag() == "!";
      return as_text || quoted ? Json(node.Scalar()) : plain_scalar(node.Scalar());
    }
    Json value = node.IsMap() ? Json::object() : Json::array();
    if (node.IsSequence())
      for (const auto& item : node) value.push_back(value_of(item, as_text));
    return value;
  }

  YamlSource source_;
  int line_ = 1;
  std::string job_;  ///< whose keys are being read; empty: those of the experiment or a variant
  std::map<std::string, int> lines_;
  std::vector<Assignment> assignments_;
};

}  // namespace

std::vector<Assignment> read_yaml_file(const std::string& path) {
  const YamlSource source{path};
  const YAML::Node document = parse_yaml(read_yaml_text(path, "experiment"), source);
  if (document.IsNull()) throw ConfigError(path + ": expected an experiment, found an empty file");
  if (!document.IsMap())
    throw ConfigError(path + ":1: expected a map of keys, found " +
                      (document.IsSequence() ? "a list" : quote(document.Scalar())));
  Reader reader(source);
  reader.read_children("", "", document);
  return reader.take();
}

std::vector<Assignment> read_yaml_value(const std::string& place, const std::string& key,
                                        const std::string& text) {
  const YamlSource own{place + ": key '" + key + "'", false};
  const auto* known = find_experiment_key(key);
  if (known != nullptr && takes_text(*known) && key_value(*known, {}).is_string()) {
    if (!is_utf8(text)) throw ConfigError(own.name + ": expected text in UTF-8, found other bytes");
    return {{place, "", key, text}};
  }
  Reader reader({place, false});
  reader.read("", key, text.empty() ? YAML::Node(YAML::NodeType::Null) : parse_yaml(text, own), place);
  return reader.take();
}

// ---- Writing ----

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void write_scalar(YAML::Emitter& out, const Json& value) {
  if (!value.is_string()) {
    out << value.dump();
    return;
  }
  const std::string text = value.get<std::string>();
  // The emitter would write a carriage return at the end of a plain scalar, where a reader drops it.
  const bool is_plain = !text.empty() && std::ranges::none_of(text, is_control);
  if (!is_plain || !plain_scalar(text).is_string()) out << YAML::DoubleQuoted;
  out << text;
}

void write(YAML::Emitter& out, const Json& value) {
  if (value.is_array()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const auto& item : value) write(out, item);
    out << YAML::EndSeq;
  } else if (value.is_object()) {
    // An empty block has no form of its own: written as {}.
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [name, item] : value.items()) {
      out << YAML::Key;
      write_scalar(out, name);
      out << YAML::Value;
      write(out, item);
    }
    out << YAML::EndMap;
  } else {
    write_scalar(out, value);
  }
}

// Overrides are stored as plain numbers; people read them with units.
Json readable_variants(const Experiment& experiment) {
  Json variants = Json::object();
  for (const auto& [name, overrides] : experiment.variants) {
    variants[name] = Json::object();
    for (const auto& [path, value] : overrides.items()) {
      const auto* key = find_experiment_key(path);
      Experiment scratch;
      const bool whole = key->path == path && assign(*key, scratch, value);
      variants[name][path] = whole ? written_value(*key, scratch) : value;
    }
  }
  return variants;
}

}  // namespace

std::string to_yaml(const Experiment& experiment) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string section;
  for (const auto& key : experiment_keys()) {
    const auto dot = key.path.find('.');
    const std::string own_section = dot == std::string::npos ? "" : key.path.substr(0, dot);
    if (own_section != section) {
      if (!section.empty()) out << YAML::EndMap;
      if (!own_section.empty()) out << YAML::Key << own_section << YAML::Value << YAML::BeginMap;
      section = own_section;
    }
    const bool is_variants = key.path == "variants";
    out << YAML::Key << key.path.substr(own_section.empty() ? 0 : dot + 1) << YAML::Value;
    write(out, is_variants ? readable_variants(experiment) : written_value(key, experiment));
  }
  if (!section.empty()) out << YAML::EndMap;
  out << YAML::EndMap;
  return std::string(out.c_str()) + '\n';
}

}  // namespace tandem
