#include "cli/fit/steps_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "platforms/csv_table.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "workloads/model/features.hpp"

namespace tandem::cli {
namespace {

constexpr const char* what = "a table of times with features";
constexpr const char* run_column = "run";
constexpr const char* batch_column = "batch";
constexpr const char* model_column = "model";
constexpr const char* precision_column = "precision";

double number_of(const CsvTable& table, const std::string& column) {
  const std::string text = table.text(column);
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) table.fail(column, "a finite number", text);
  return *value;
}

std::string name_in(const CsvTable& table, const std::string& column) {
  if (!table.is_given(column)) table.fail(column, "a name", "");
  return table.text(column);
}

/// Where features come from.
class FeatureSource {
 public:
  explicit FeatureSource(const StepsTable& table)
      : features_(table.features), are_of_models_(table.are_of_models), has_layers_(table.has_layers) {}

  void expect_in(const CsvTable& table) const {
    if (are_of_models_) table.expect(model_column);
    for (const std::string& feature : features_)
      if (!are_of_models_) table.expect(feature);
  }
  /// Of the current row.
  estimates::FormInput input(const CsvTable& table) {
    estimates::FormInput found;
    if (are_of_models_) {
      const double batch = table.positive_or(batch_column, 1.0);
      const ModelFeatures& model = model_of(table);
      for (const std::string& feature : features_) found.features.push_back(value_of(feature, model, batch));
      if (has_layers_) found.layers = layers_of(model, batch);
    } else {
      for (const std::string& feature : features_) found.features.push_back(number_of(table, feature));
    }
    return found;
  }

 private:
  static double value_of(const std::string& feature, const ModelFeatures& model, double batch) {
    const auto value = feature_named(feature, model, batch);
    TANDEM_CHECK(value.has_value(), feature);
    return *value;
  }

  const ModelFeatures& model_of(const CsvTable& table) {
    const std::string name = name_in(table, model_column);
    const auto known = models_.find(name);
    if (known != models_.end()) return known->second;
    try {
      LearnerSetting setting;
      setting.model = name;
      setting.dataset = usual_images(name);
      return models_.emplace(name, features_of(plan_model(setting))).first->second;
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}: {}", table.place(), model_column, error.what()));
    }
  }

  std::vector<std::string> features_;
  bool are_of_models_, has_layers_;
  std::map<std::string, ModelFeatures> models_;
};

/// Chooses the features of the table.
void choose_features(const CsvTable& table, const StepsTableOptions& options, StepsTable& found) {
  if (!options.features.empty()) {
    found.features = split(options.features, ',');
    found.are_of_models =
        table.has(model_column) && std::ranges::all_of(found.features, [&](const auto& name) {
          return !table.has(name) && std::ranges::count(options.usual, name) > 0;
        });
  } else {
    for (const std::string& usual : options.usual)
      if (table.has(usual) && usual != options.target) found.features.push_back(usual);
    // The batch alone explains no model.
    found.are_of_models =
        table.has(model_column) &&
        std::ranges::all_of(found.features, [](const auto& name) { return name == batch_column; });
    if (found.are_of_models) {
      found.features = options.usual;
      found.has_layers = options.are_of_steps;
      std::erase(found.features, batch_column);
    }
  }
  if (found.features.empty())
    table.fail_header(fmt::format("the columns of --features, some of {}, or {}",
                                  fmt::join(options.usual, ", "), model_column),
                      fmt::format("{}", fmt::join(table.columns(), ", ")));
  for (const std::string& feature : found.features) {
    if (feature == options.target || feature == options.group || feature == options.device)
      throw ConfigError(fmt::format(
          "--features: expected other columns than target, group and device, found '{}'", feature));
    if (std::ranges::count(found.features, feature) > 1)
      throw ConfigError(fmt::format("--features: expected each column once, found '{}' twice", feature));
  }
}

class Reader {
 public:
  explicit Reader(const StepsTableOptions& options) : options_(options), table_(options.file, what) {
    table_.expect(options.target);
    table_.expect(options.group);
    if (!options.device.empty()) table_.expect(options.device);
    choose_features(table_, options, found_);
    source_.emplace(found_);
    source_->expect_in(table_);
    batch_may_differ_ = found_.are_of_models || std::ranges::count(found_.features, batch_column) > 0;
  }

  StepsTable read() {
    while (table_.next_row()) add_row();
    if (found_.devices.empty())
      throw ConfigError(options_.file + ": expected rows below the header, found none");
    if (found_.are_of_models)
      found_.notes.emplace_back(
          "features are those of the models in the column model, for their usual images");
    leave_out_constants();
    for (const auto& [device, rows] : found_.devices) check_groups(device, rows);
    return std::move(found_);
  }

 private:
  double time() const {
    if (is_rate(options_.target)) return 1.0 / table_.positive(options_.target);
    const double time_s = table_.duration(options_.target);
    if (time_s <= 0.0) table_.fail(options_.target, "a time above 0", table_.text(options_.target));
    return time_s;
  }

  void add_row() {
    if (first_place_.empty()) first_place_ = table_.place();
    const std::string device = options_.device.empty() ? "" : name_in(table_, options_.device);
    const double time_s = time();
    const std::string group = name_in(table_, options_.group);
    estimates::Reading reading{{source_->input(table_), time_s, group}, table_.text(run_column)};
    const bool is_first = !found_.devices.contains(device);
    DeviceReadings& rows = found_.devices[device];
    if (is_first) {
      rows.precision = table_.text(precision_column);
      first_places_[device] = table_.place();
    }
    if (table_.text(precision_column) != rows.precision)
      table_.fail(
          precision_column,
          fmt::format("'{}' as in {} (fit each precision apart)", rows.precision, first_places_[device]),
          table_.text(precision_column));
    if (table_.has(batch_column)) add_batch(rows, is_first);
    rows.readings.push_back(std::move(reading));
  }

  void add_batch(DeviceReadings& rows, bool is_first) const {
    const double batch = table_.positive(batch_column);
    if (is_first) rows.least_batch = rows.most_batch = batch;
    if (!batch_may_differ_ && batch != rows.least_batch)
      table_.fail(
          batch_column,
          fmt::format("{:g} as in earlier rows, because {} is no feature", rows.least_batch, batch_column),
          table_.text(batch_column));
    rows.least_batch = std::min(rows.least_batch, batch);
    rows.most_batch = std::max(rows.most_batch, batch);
  }

  /// Features that were named must differ; the others are left out.
  void leave_out_constants() {
    for (std::size_t i = found_.features.size(); i-- > 0;) {
      std::set<double> values;
      for (const auto& [device, rows] : found_.devices)
        for (const auto& reading : rows.readings) values.insert(reading.point.input.features[i]);
      if (values.size() > 1) continue;
      const std::string same = fmt::format("'{}' is {:g} in all rows", found_.features[i], *values.begin());
      if (!options_.features.empty())
        throw ConfigError(
            fmt::format("{}: expected features that differ, found that {}", first_place_, same));
      found_.notes.push_back("no feature: " + same);
      found_.features.erase(found_.features.begin() + static_cast<std::ptrdiff_t>(i));
      for (auto& [device, rows] : found_.devices)
        for (auto& reading : rows.readings)
          reading.point.input.features.erase(reading.point.input.features.begin() +
                                             static_cast<std::ptrdiff_t>(i));
    }
    if (found_.features.empty())
      throw ConfigError(first_place_ +
                        ": expected a feature that differs, found that all are the same in all rows");
  }

  void check_groups(const std::string& device, const DeviceReadings& rows) const {
    constexpr std::size_t least = 3;
    std::set<std::string> groups;
    for (const auto& reading : rows.readings) groups.insert(reading.point.group);
    if (groups.size() >= least) return;
    throw ConfigError(
        fmt::format("{}: {}: expected at least three groups{} (each is predicted without it), found {}: {}",
                    first_places_.at(device), options_.group, device.empty() ? "" : " of device " + device,
                    groups.size(), fmt::join(groups, ", ")));
  }

  const StepsTableOptions& options_;
  CsvTable table_;
  StepsTable found_;
  std::optional<FeatureSource> source_;
  bool batch_may_differ_ = false;
  std::string first_place_;
  std::map<std::string, std::string> first_places_;  ///< by device
};

}  // namespace

bool is_rate(const std::string& column) {
  const std::string name = lower(column);
  const auto has = [&](const char* mark) { return name.find(mark) != std::string::npos; };
  // "s/step" and "seconds/sample" are times.
  const auto ends_in = [&](const char* mark) { return name.ends_with(mark); };
  return has("speed") || has("per_second") || ends_in("/s") || ends_in("/sec") || ends_in("/second");
}

StepsTable read_steps_table(const StepsTableOptions& options) { return Reader(options).read(); }

std::vector<AskedRow> read_asked_rows(const std::string& file, const StepsTable& of,
                                      const std::string& device) {
  CsvTable table(file, what);
  FeatureSource source(of);
  source.expect_in(table);
  if (!device.empty()) table.expect(device);
  std::vector<AskedRow> rows;
  while (table.next_row()) {
    AskedRow& row = rows.emplace_back();
    row.place = table.place();
    if (!device.empty()) row.device = name_in(table, device);
    row.precision = table.text(precision_column);
    if (table.is_given(batch_column)) row.batch = table.positive(batch_column);
    row.input = source.input(table);
  }
  return rows;
}

}  // namespace tandem::cli
