#include "workloads/experiment/lifetime_file.hpp"

#include <algorithm>

#include "workloads/experiment/json_file.hpp"

namespace tandem {

using nlohmann::json;

bool is_lifetime_file(const std::string& text) { return text.ends_with(".json"); }

LifetimeFile read_lifetime_file(const std::string& path, const std::vector<std::string>& known) {
  const JsonFile file(path, "a lifetime model");
  file.expect_like({{"name", "weibull"}, {"options", json::object()}});
  LifetimeFile model{file.document().at("name"), file.document().at("options")};
  if (std::ranges::find(known, model.name) == known.end()) {
    std::string names;
    for (const auto& one : known) names += (names.empty() ? "" : " | ") + one;
    file.fail(JsonFile::Pointer("/name"), names, "'" + model.name + "'");
  }
  for (const auto& [name, value] : model.options.items())
    if (!value.is_primitive() || value.is_null())
      file.fail(JsonFile::Pointer("/options") / name, "a number, text, true or false", value.dump());
  return model;
}

}  // namespace tandem
