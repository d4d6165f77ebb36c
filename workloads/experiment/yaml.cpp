#include "workloads/experiment/yaml.hpp"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

// Walks a document and notes every value under its full path.
class Reader {
 public:
  /// `lined`: places name the line.
  Reader(std::string source, bool lined) : source_(std::move(source)), lined_(lined) {}

  void read(const std::string& variant, const std::string& path, const YAML::Node& node,
            const std::string& place) {
    if (variant.empty() && path == "variants") return read_variants(node, place);
    if (variant.empty() && path.starts_with("variants.")) {
      const std::string rest = path.substr(std::strlen("variants."));
      const auto dot = std::min(rest.find('.'), rest.size());
      return read(rest.substr(0, dot), dot < rest.size() ? rest.substr(dot + 1) : "", node, place);
    }
    if (!variant.empty() && path.empty()) {
      givens_.push_back({place, variant, "", node.IsMap() ? Json() : value_of(node, false)});
      if (node.IsMap()) read_children(variant, path, node);
      return;
    }
    if (is_experiment_section(path) && (node.IsMap() || node.IsNull()))
      return read_children(variant, path, node);
    const auto* key = find_experiment_key(path);
    if (is_experiment_section(path)) refuse(place, path, "a map of keys", quote(value_of(node, false)));
    if (key != nullptr && node.IsMap() && key->path == path && key_value(*key, {}).is_object())
      return read_children(variant, path, node);
    note({place, variant, path, value_of(node, key != nullptr && takes_text(*key))}, line_of(node));
  }

  void read_children(const std::string& variant, const std::string& path, const YAML::Node& node) {
    std::map<std::string, int> lines;
    for (const auto& child : node) {
      const int line = line_of(child.first);
      if (!child.first.IsScalar())
        refuse(place_at(line), path, "keys that are words", "a map or list as a key");
      const std::string name = child.first.Scalar();
      const std::string whole = path.empty() ? name : path + '.' + name;
      const auto [first, is_new] = lines.emplace(name, line);
      if (!is_new) refuse_twice(Given{place_at(line), variant, whole, {}}, first->second);
      line_ = line;
      read(variant, whole, child.second, place_at(line));
    }
  }

  std::vector<Given> take() { return std::move(givens_); }

 private:
  std::string place_at(int line) const { return lined_ ? source_ + ':' + std::to_string(line) : source_; }
  // An empty value has no mark of its own: the line of its key is the best there is.
  int line_of(const YAML::Node& node) const { return node.Mark().is_null() ? line_ : node.Mark().line + 1; }

  void read_variants(const YAML::Node& node, const std::string& place) {
    if (!node.IsMap() || node.size() == 0) {
      const Json value = node.IsMap() ? Json::object() : value_of(node, false);
      return note({place, "", "variants", value}, line_of(node));
    }
    read_children("", "variants", node);
  }

  [[noreturn]] static void refuse_twice(const Given& given, int first_line) {
    refuse(given.place, given.label(), "once", "again (first in line " + std::to_string(first_line) + ")");
  }

  void note(Given given, int line) {
    const auto [first, is_new] = lines_.emplace(given.label(), line);
    if (!is_new) refuse_twice(given, first->second);
    givens_.push_back(std::move(given));
  }

  // `as_text`: bare words are taken as they are written.
  Json value_of(const YAML::Node& node, bool as_text, int depth = 0) const {
    // An alias may lead a list into itself.
    constexpr int deepest = 8;
    if (depth > deepest) throw ConfigError(place_at(line_of(node)) + ": lists lie too deep in each other");
    if (node.IsNull()) return nullptr;
    if (node.IsScalar()) {
      const bool quoted = node.Tag() == "!";
      return as_text || quoted ? Json(node.Scalar()) : plain_scalar(node.Scalar());
    }
    Json value = node.IsMap() ? Json::object() : Json::array();
    if (node.IsSequence())
      for (const auto& item : node) value.push_back(value_of(item, as_text, depth + 1));
    return value;
  }

  std::string source_;
  bool lined_;
  int line_ = 1;
  std::map<std::string, int> lines_;
  std::vector<Given> givens_;
};

std::string read_text(const std::string& path) {
  const auto refuse_file = [&](int error) {
    throw ConfigError(path + ": expected an experiment file, found none that can be read (" +
                      std::strerror(error) + ")");
  };
  // A folder opens like a file and only then cannot be read.
  if (std::filesystem::is_directory(path)) refuse_file(EISDIR);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse_file(errno);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string explain(const YAML::Exception& error, const std::string& source, bool lined) {
  const std::string place = lined ? source + ':' + std::to_string(error.mark.line + 1) : source;
  return place + ": broken YAML: " + error.msg;
}

}  // namespace

std::vector<Given> read_yaml_file(const std::string& path) {
  const std::string text = read_text(path);
  Reader reader(path, true);
  try {
    const auto documents = YAML::LoadAll(text);
    if (documents.empty() || documents.front().IsNull())
      throw ConfigError(path + ": expected an experiment, found an empty file");
    if (documents.size() > 1)
      throw ConfigError(path + ": expected one document, found " + std::to_string(documents.size()));
    if (!documents.front().IsMap())
      throw ConfigError(path + ":1: expected a map of keys, found " +
                        (documents.front().IsSequence() ? "a list" : quote(documents.front().Scalar())));
    reader.read_children("", "", documents.front());
  } catch (const YAML::Exception& error) {
    throw ConfigError(explain(error, path, true));
  }
  return reader.take();
}

std::vector<Given> read_yaml_value(const std::string& place, const std::string& key,
                                   const std::string& text) {
  Reader reader(place, false);
  const auto* known = find_experiment_key(key);
  if (known != nullptr && key_value(*known, {}).is_string()) return {{place, "", key, text}};
  try {
    reader.read("", key, text.empty() ? YAML::Node(YAML::NodeType::Null) : YAML::Load(text), place);
  } catch (const YAML::Exception& error) {
    throw ConfigError(explain(error, place + ": key '" + key + "'", false));
  }
  return reader.take();
}

// ---- Writing ----

namespace {

void write_scalar(YAML::Emitter& out, const Json& value) {
  if (!value.is_string()) {
    out << value.dump();
    return;
  }
  const std::string text = value.get<std::string>();
  if (text.empty() || !plain_scalar(text).is_string()) out << YAML::DoubleQuoted;
  out << text;
}

void write(YAML::Emitter& out, const Json& value) {
  if (value.is_array()) {
    out << YAML::Flow << YAML::BeginSeq;
    for (const auto& item : value) write(out, item);
    out << YAML::EndSeq;
  } else if (value.is_object()) {
    // Nothing in it: written in one line, for an empty block has no form of its own.
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

// Overrides are stored as plain numbers; here they get their units back.
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
