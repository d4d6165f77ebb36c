#include "cli/fit/predictor_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/fit/predictor_text.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "policies/estimates/group_folds.hpp"
#include "validation/report/predictor_page.hpp"
#include "workloads/cost/step_predictor.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

using Evaluations = std::map<std::string, estimates::Evaluation>;  ///< by device

/// Why the table does not know the row's precision or batch; empty: it does, or the row states none.
std::string unknown_setting(const AskedRow& row, const DeviceReadings& rows) {
  if (!row.precision.empty() && row.precision != rows.precision)
    return fmt::format("precision {} was not measured, only {}", row.precision,
                       rows.precision.empty() ? "one that the table does not state" : rows.precision);
  if (!row.batch || (*row.batch >= rows.least_batch && *row.batch <= rows.most_batch)) return "";
  if (rows.least_batch == 0.0)
    return fmt::format("batch is {:g}, but the table does not state the batch that was measured", *row.batch);
  return fmt::format("batch is {:g}, but was {:g} to {:g} where it was measured", *row.batch,
                     rows.least_batch, rows.most_batch);
}

/// Why there is no time for the row; empty: there is one.
std::string refusal_of(const AskedRow& row, const StepsTable& table, const Evaluations& evaluations) {
  const auto known = evaluations.find(row.device);
  if (known == evaluations.end()) {
    std::vector<std::string> devices;
    for (const auto& [device, found] : evaluations) devices.push_back(device);
    return fmt::format("device {} was not measured, only {}", row.device, fmt::join(devices, ", "));
  }
  if (std::string unknown = unknown_setting(row, table.devices.at(row.device)); !unknown.empty())
    return unknown;
  return outside_text(table.features, known->second.predictor, row.input.features);
}

/// Prints the times, and returns them as a document.
json answer(const PredictorFitOptions& options, const StepsTable& table, const Evaluations& evaluations) {
  json answers = json::array();
  for (const AskedRow& row : read_asked_rows(options.asked, table, options.table.device)) {
    json answered = {{"place", row.place}, {"device", row.device}};
    if (const std::string refusal = refusal_of(row, table, evaluations); !refusal.empty()) {
      print_warning(row.place + ": no time, because " + refusal);
      answered["refused"] = refusal;
    } else {
      const auto time = evaluations.at(row.device).predictor.predict(row.input, options.confidence);
      fmt::print("{}: {} ({} to {})\n", row.place, with_unit(time.value, Unit::seconds),
                 with_unit(time.lower, Unit::seconds, time.value),
                 with_unit(time.upper, Unit::seconds, time.value));
      answered.update({{"value_s", time.value}, {"lower_s", time.lower}, {"upper_s", time.upper}});
    }
    answers.push_back(std::move(answered));
  }
  return answers;
}

/// `document`: what is printed; the file also has the points of the page.
void write_page(const PredictorFitOptions& options, const StepsTable& table, const Evaluations& evaluations,
                json document) {
  validation::PredictorPage page{
      .title = fmt::format("{} of {}, by {}", options.table.target, options.table.file, options.table.group),
      .answer = "",
      .confidence = options.confidence,
      .notes = table.notes,
      .command = command_line()};
  page.notes.push_back(fmt::format("features: {}", fmt::join(table.features, ", ")));
  for (json& own : document.at("devices")) {
    const std::string device = own.at("device").is_null() ? "" : own.at("device").get<std::string>();
    const std::size_t before = page.points.size();
    add_device(page, device, table.devices.at(device), evaluations.at(device));
    for (const auto& warning : evaluation_warnings(evaluations.at(device), options.confidence))
      page.warnings.push_back((device.empty() ? "" : device + ": ") + warning);
    for (std::size_t i = before; i < page.points.size(); ++i) {
      const auto& point = page.points[i];
      own["held_out"].push_back({{"group", point.group},
                                 {"measured_s", point.measured_s},
                                 {"predicted_s", point.predicted_s},
                                 {"lower_s", point.lower_s},
                                 {"upper_s", point.upper_s}});
    }
  }
  std::filesystem::create_directories(options.report);
  validation::write_predictor_report(options.report, page, document);
  print_note(fmt::format("predicted against measured in {}/report.html", options.report));
}

}  // namespace

void fit_predictor(const PredictorFitOptions& options) {
  const StepsTable table = read_steps_table(options.table);
  Evaluations evaluations;
  json document = {{"predictor", options.subject},
                   {"table", options.table.file},
                   {"target", options.table.target},
                   {"unit", "s"},
                   {"group", options.table.group},
                   {"features", table.features},
                   {"counts_batch", table.are_of_models},
                   {"notes", table.notes},
                   {"devices", json::array()}};
  const std::string of_unit = table.unit.of_s == 1.0 ? "" : ", from " + table.unit.name;
  fmt::print("{} of {}, in s{}{}, by {}; features: {}\n", options.table.target, options.table.file,
             table.unit.is_rate ? " per step (1 / rate)" : "", of_unit, options.table.group,
             fmt::join(table.features, ", "));
  for (const std::string& note : table.notes) print_note(note);
  for (const auto& [device, rows] : table.devices) {
    const auto& found = evaluations[device] = estimates::evaluate_forms(rows.readings);
    const std::string of = device.empty() ? "" : device + ": ";
    fmt::print("\n{}{}", of, evaluation_text(rows, found, options.confidence));
    for (const auto& warning : evaluation_warnings(found, options.confidence)) print_warning(of + warning);
    document["devices"].push_back(predictor_document(table.features, rows, found));
    document["devices"].back()["device"] = device.empty() ? json(nullptr) : json(device);
  }
  if (!options.out.empty()) {
    write_whole_file(options.out, document.dump(1) + '\n');
    fmt::print("\n{}\n", options.out);
  }
  if (!options.report.empty()) write_page(options, table, evaluations, document);
  if (!options.asked.empty()) {
    fmt::print("\n");
    document["asked"] = answer(options, table, evaluations);
  }
  print_document(document);
}

}  // namespace tandem::cli
