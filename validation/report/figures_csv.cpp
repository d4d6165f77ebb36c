#include "validation/report/figures_csv.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "validation/compare/statistics.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

struct Owner {
  std::string configuration;
  std::string job = {};
};

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.12g}", value) : ""; }

class Lines {
 public:
  void add(const Owner& owner, const json& figure) {
    add(owner, figure.at("key"), figure.at("unit"), number_or_nan(figure.at("simulated")),
        number_or_nan(figure.at("measured")), number_or_nan(figure.at("error")),
        number_or_nan(figure.at("noise_floor")));
  }
  void add(const Owner& owner, const std::string& figure, const std::string& unit, double simulated,
           double measured, double error, double noise) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", owner.configuration, owner.job, figure, unit,
                        number(simulated), number(measured), number(error), number(noise));
  }

  std::string text = "configuration,job,figure,unit,simulated,measured,error,noise_floor\n";
};

/// 0 where nothing came from there.
double sum_of(const json& part, const std::string& from, const char* key) {
  const json& classes = part.at("classes");
  return classes.contains(from) ? classes.at(from).at(key).get<double>() : 0.0;
}

constexpr std::pair<const char*, Unit> class_sums[] = {
    {"samples", Unit::count}, {"bytes", Unit::bytes}, {"blocked_s", Unit::seconds}};

/// `data`: as data_of_worlds().
void add_classes(const Owner& owner, const json& data, Lines& lines) {
  for (const char* part : {"cold", "warm"}) {
    const json& simulated = data.at("simulated").at(part);
    const json& measured = data.at("measured").at(part);
    if (!simulated.is_object() || !measured.is_object()) continue;
    std::set<std::string> names;
    for (const json* world : {&simulated, &measured})
      for (const auto& [name, sum] : world->at("classes").items()) names.insert(name);
    for (const std::string& from : names)
      for (const auto& [key, unit] : class_sums) {
        const double ours = sum_of(simulated, from, key), theirs = sum_of(measured, from, key);
        lines.add(owner, fmt::format("{}.{}.{}", part, from, key), unit_name(unit), ours, theirs,
                  relative_error(ours, theirs), std::nan(""));
      }
  }
}

}  // namespace

std::string figures_csv(const json& document) {
  const json several = document.value("several_jobs", json::array());
  std::map<std::string, Owner> owners;
  for (const json& all : several)
    for (const json& job : all.at("jobs")) owners[job.at("configuration")] = {all.at("name"), job.at("job")};
  Lines lines;
  for (const json* configuration : compared_configurations(document)) {
    const std::string name = configuration->at("name");
    const auto known = owners.find(name);
    const Owner owner = known == owners.end() ? Owner{name} : known->second;
    for (const json& figure : configuration->at("figures"))
      if (figure.at("rank") == -1) lines.add(owner, figure);
    if (const json data = configuration->value("data", json()); data.is_object())
      add_classes(owner, data, lines);
  }
  for (const json& all : several)
    for (const json& figure : all.at("figures")) lines.add({all.at("name")}, figure);
  return lines.text;
}

}  // namespace tandem::validation
