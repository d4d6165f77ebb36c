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

struct Owner {
  std::string configuration;
  std::string job = {};
};

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.12g}", value) : ""; }

class Lines {
 public:
  void add(const Owner& owner, const Figure& figure) {
    add(owner, figure.key, unit_name(figure.unit), figure.simulated, figure.measured, figure.error,
        value_or_nan(figure.noise_floor));
  }
  void add(const Owner& owner, const std::string& figure, const std::string& unit, double simulated,
           double measured, double error, double noise) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", owner.configuration, owner.job, figure, unit,
                        number(simulated), number(measured), number(error), number(noise));
  }

  std::string text = "configuration,job,figure,unit,simulated,measured,error,noise_floor\n";
};

/// Zeros where nothing came from there.
ClassSums sums_of(const DataPart& part, const std::string& from) {
  const auto found = part.classes.find(from);
  return found == part.classes.end() ? ClassSums{} : found->second;
}

void add_classes(const Owner& owner, const std::string& name, const std::optional<DataPart>& simulated,
                 const std::optional<DataPart>& measured, Lines& lines) {
  if (!simulated || !measured) return;
  std::set<std::string> names;
  for (const auto* world : {&simulated, &measured})
    for (const auto& [from, sum] : (*world)->classes) names.insert(from);
  for (const std::string& from : names) {
    const ClassSums our = sums_of(*simulated, from), their = sums_of(*measured, from);
    const auto add = [&](const char* key, Unit unit, double ours, double theirs) {
      lines.add(owner, fmt::format("{}.{}.{}", name, from, key), unit_name(unit), ours, theirs,
                relative_error(ours, theirs), std::nan(""));
    };
    add("samples", Unit::count, static_cast<double>(our.samples), static_cast<double>(their.samples));
    add("bytes", Unit::bytes, static_cast<double>(our.bytes), static_cast<double>(their.bytes));
    add("blocked_s", Unit::seconds, our.blocked.count(), their.blocked.count());
  }
}

}  // namespace

std::string figures_csv(const Report& report) {
  std::map<std::string, Owner> owners;
  for (const ReportJobs& all : report.several_jobs)
    for (const auto& job : all.jobs) owners[job.configuration] = {all.name, job.job};
  Lines lines;
  for (const auto* configuration : report.compared()) {
    const auto known = owners.find(configuration->name);
    const Owner owner = known == owners.end() ? Owner{configuration->name} : known->second;
    for (const ReportFigure& figure : configuration->figures)
      if (figure.rank == -1) lines.add(owner, figure);
    if (const auto& data = configuration->data) {
      add_classes(owner, "cold", data->simulated.cold, data->measured.cold, lines);
      add_classes(owner, "warm", data->simulated.warm, data->measured.warm, lines);
    }
  }
  for (const ReportJobs& all : report.several_jobs)
    for (const Figure& figure : all.figures) lines.add({all.name}, figure);
  return lines.text;
}

}  // namespace tandem::validation
