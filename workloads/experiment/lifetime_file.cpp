#include "workloads/experiment/lifetime_file.hpp"

#include <algorithm>

#include "workloads/experiment/json_file.hpp"
#include "workloads/experiment/percent_text.hpp"

namespace tandem {

using nlohmann::json;

bool is_lifetime_file(const std::string& text) { return text.ends_with(".json"); }

namespace {

using Pointer = JsonFile::Pointer;

void expect_model(const JsonFile& file, const Pointer& at, const std::vector<std::string>& known) {
  const json& model = file.document().at(at);
  const std::string name = model.at("name");
  if (std::ranges::find(known, name) == known.end()) {
    std::string names;
    for (const auto& one : known) names += (names.empty() ? "" : " | ") + one;
    file.fail(at / "name", names, "'" + name + "'");
  }
  for (const auto& [option, value] : model.at("options").items())
    if (!value.is_primitive() || value.is_null())
      file.fail(at / "options" / option, "a number, text, true or false", value.dump());
}

/// A word of the text that describes a group.
std::string word_of(const JsonFile& file, const Pointer& at, const std::string& name) {
  const json& value = file.document().at(at);
  return percent_encoded(name) + '=' +
         percent_encoded(value.is_string() ? value.get<std::string>() : value.dump());
}

/// "region=eu device=k80: weibull scale=7200.0 shape=0.5".
std::string group_text(const JsonFile& file, const Pointer& at, const std::vector<std::string>& known) {
  const json& group = file.document().at(at);
  for (const char* key : {"name", "options", "values"})
    if (!group.is_object() || !group.contains(key) || group.at(key).is_object() != (key[0] != 'n'))
      file.fail(at, "a model with name, options and values", group.dump());
  if (!group.at("name").is_string()) file.fail(at / "name", "text", group.at("name").dump());
  expect_model(file, at, known);
  std::string text;
  for (const auto& [name, unused] : group.at("values").items())
    text += (text.empty() ? "" : " ") + word_of(file, at / "values" / name, name);
  text += ": " + group.at("name").get<std::string>();
  for (const auto& [name, unused] : group.at("options").items())
    text += ' ' + word_of(file, at / "options" / name, name);
  return text;
}

}  // namespace

LifetimeFile read_lifetime_file(const std::string& path, const std::vector<std::string>& known) {
  const JsonFile file(path, "a lifetime model");
  file.expect_like({{"name", "weibull"}, {"options", json::object()}});
  expect_model(file, Pointer(), known);
  LifetimeFile model{file.document().at("name"), file.document().at("options")};
  const json groups = file.document().value("groups", json::array());
  if (!groups.is_array()) file.fail(Pointer("/groups"), "a list of models", groups.dump());
  std::string by_host;
  for (std::size_t i = 0; i < groups.size(); ++i)
    by_host += (i == 0 ? "" : "; ") + group_text(file, Pointer("/groups") / i, known);
  if (!by_host.empty()) model.options["by_host"] = by_host;
  return model;
}

}  // namespace tandem
