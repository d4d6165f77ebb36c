#include "cli/fit/table_fit.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/fit/estimates_text.hpp"
#include "cli/shared/output.hpp"
#include "platforms/host_properties.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

std::vector<double> values_of(const estimates::PositiveFit& fit) {
  std::vector<double> values;
  for (const auto& number : fit.numbers) values.push_back(number.value);
  return values;
}

estimates::PositiveFit fit_times(const JobTimes& times, double confidence) {
  return estimates::fit_positive(
      times.numbers(), times.measured(), [&](const auto& numbers) { return times.predict(numbers); },
      confidence);
}

std::vector<FittedRow> rows_of(const JobTimes& times) {
  std::vector<FittedRow> rows;
  for (const TimedRow& row : times.rows()) rows.push_back({row.name, row.place, row.step_s});
  return rows;
}

std::map<std::string, platforms::LinkRates> rates_of(const std::vector<JobTimes::Link>& links) {
  std::map<std::string, platforms::LinkRates> rates;
  for (const auto& link : links)
    rates[link.name] = {fmt::format("{:.5g}MBps", link.bandwidth.count() * 1e-6),
                        fmt::format("{:.5g}us", link.latency.count() * 1e6)};
  return rates;
}

/// Links with equal numbers are one line.
std::string links_text(const std::vector<JobTimes::Link>& links) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> names;
  for (const auto& [name, rates] : rates_of(links)) names[{rates.bandwidth, rates.latency}].push_back(name);
  std::string text;
  for (const auto& [rates, of] : names)
    text += fmt::format("  <link id=\"{}\" bandwidth=\"{}\" latency=\"{}\"/>{}\n", of.front(), rates.first,
                        rates.second, of.size() > 1 ? fmt::format(" and {} equal ones", of.size() - 1) : "");
  return text;
}

/// The platform file with what was found; empty: none is asked for.
std::string platform_text(const TableFitOptions& options, const JobTimes& times,
                          const std::vector<double>& numbers) {
  if (options.job.out.empty()) return "";
  const Experiment& experiment = times.rows().front().loaded.experiment;
  if (options.times.subject == FitSubject::network)
    return platforms::with_link_rates(experiment.platform, rates_of(times.links(numbers)));
  return platforms::with_host_properties(experiment.platform, experiment.placement.servers,
                                         server_properties(times.server_cost(numbers), true),
                                         server_cost_names());
}

}  // namespace

void fit_table(const TableFitOptions& options) {
  PlatformCache platforms;
  const JobTimes times(read_timed_rows(options.table, options.job, platforms), options.times, platforms);
  const estimates::PositiveFit fit = fit_times(times, options.confidence);
  const std::vector<FittedRow> rows = rows_of(times);
  const std::vector<double> numbers = values_of(fit);
  const bool is_network = options.times.subject == FitSubject::network;
  fmt::print("{} from {} ({} rows)\n{}", is_network ? "network" : "costs of servers", options.table,
             rows.size(), estimates_text(fit, rows));
  json document = estimates_document(fit, rows);
  if (is_network) {
    fmt::print("{}", links_text(times.links(numbers)));
    for (const auto& [name, rates] : rates_of(times.links(numbers)))
      document["links"][name] = {{"bandwidth", rates.bandwidth}, {"latency", rates.latency}};
  } else {
    document["properties"] = server_properties(times.server_cost(numbers), true);
    for (const auto& [name, value] : server_properties(times.server_cost(numbers), true))
      fmt::print("  <prop id=\"{}\" value=\"{}\"/>\n", name, value);
  }
  for (const auto& warning : estimates_warnings(fit, rows)) print_warning(warning);
  if (const std::string text = platform_text(options, times, numbers); !text.empty()) {
    write_whole_file(options.job.out, text);
    fmt::print("{}\n", options.job.out);
  }
  print_document(document);
}

}  // namespace tandem::cli
