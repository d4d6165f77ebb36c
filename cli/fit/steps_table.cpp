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
#include "policies/vocabulary/quantity_text.hpp"
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
    read_units();
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
    for (const auto& [device, rows] : found_.devices) {
      check_groups(device, rows);
      if (!found_.are_of_models) check_units_of_features(device, rows);
    }
    return std::move(found_);
  }

 private:
  /// A column with its unit.
  struct OtherColumn {
    std::string name;
    ColumnUnit unit;
  };

  void read_units() {
    const auto unit = unit_of_column(options_.target);
    if (!unit)
      table_.fail_header(
          "a target whose name has a unit of time, such as (s), (ms), _us, _minutes or (steps/s), "
          "or no unit",
          options_.target);
    found_.unit = *unit;
    if (!options_.are_of_steps || (unit->is_rate && !is_of_steps(options_.target, *unit))) return;
    for (const std::string& name : table_.columns()) {
      const auto other = unit_of_column(name);
      if (other && other->is_rate != unit->is_rate && is_of_steps(name, *other))
        others_.push_back({name, *other});
    }
  }

  double time() const {
    const ColumnUnit& unit = found_.unit;
    if (unit.is_rate) return unit.of_s / table_.positive(options_.target);
    const std::string text = table_.text(options_.target);
    if (unit.of_s != 1.0 && has_time_unit(text))
      table_.fail(options_.target, "a number without a unit: the column's name says " + unit.name, text);
    const double time_s = table_.duration(options_.target) * unit.of_s;
    if (time_s <= 0.0) table_.fail(options_.target, "a time above 0", text);
    return time_s;
  }

  /// Speeds of several workers together may be some times higher than that of one; units are wrong by more.
  void check_others(double time_s) const {
    constexpr double alike = 10.0;
    for (const auto& [name, unit] : others_) {
      const auto value = parse_number<double>(table_.text(name));
      if (!value || !(*value > 0.0)) continue;
      const double expected = unit.is_rate ? unit.of_s / time_s : time_s / unit.of_s;
      if (*value >= expected / alike && *value <= expected * alike) continue;
      table_.fail(name,
                  fmt::format("about {:.3g}, because {} is {} (is the unit of one of these columns wrong?)",
                              expected, options_.target, table_.text(options_.target)),
                  table_.text(name));
    }
  }

  void add_row() {
    if (first_place_.empty()) first_place_ = table_.place();
    const std::string device = options_.device.empty() ? "" : name_in(table_, options_.device);
    const double time_s = time();
    check_others(time_s);
    const std::string group = name_in(table_, options_.group);
    estimates::Reading reading{{source_->input(table_), time_s, group}, table_.text(run_column)};
    const bool is_first = !found_.devices.contains(device);
    DeviceReadings& rows = found_.devices[device];
    if (is_first) {
      rows.precision = table_.text(precision_column);
    }
    std::vector<std::string>& places = places_[device];
    places.push_back(table_.place());
    if (table_.text(precision_column) != rows.precision)
      table_.fail(precision_column,
                  fmt::format("'{}' as in {} (fit each precision apart)", rows.precision, places.front()),
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
                    places_.at(device).front(), options_.group, device.empty() ? "" : " of device " + device,
                    groups.size(), fmt::join(groups, ", ")));
  }

  /// A group has a feature in two units where its values differ by a power of 1000, but its times do not.
  void check_units_of_features(const std::string& device, const DeviceReadings& rows) {
    const auto is_power = [](double ratio) {
      constexpr double rounding = 2e-3;
      const double power = std::abs(std::log10(ratio)) / 3.0;
      return power > 0.5 && std::abs(power - std::round(power)) < rounding;
    };
    constexpr double alike = 2.0;
    for (std::size_t i = 0; i < found_.features.size(); ++i) {
      if (found_.features[i] == batch_column) continue;
      std::map<std::string, std::size_t> first_rows;  // by group
      for (std::size_t row = 0; row < rows.readings.size(); ++row) {
        const estimates::FormPoint& point = rows.readings[row].point;
        const std::size_t first_row = first_rows.emplace(point.group, row).first->second;
        const estimates::FormPoint& first = rows.readings[first_row].point;
        const double value = point.input.features[i], known = first.input.features[i];
        const double slower = std::max(point.value, first.value), faster = std::min(point.value, first.value);
        if (!(value > 0.0 && known > 0.0) || !is_power(value / known) || slower > alike * faster) continue;
        throw ConfigError(fmt::format(
            "{}: {}: expected one unit in all rows, found {:g} where {} has {:g} with a time alike",
            places_.at(device)[row], found_.features[i], value, places_.at(device)[first_row], known));
      }
      note_jump(i, rows);
    }
  }

  /// Between the values of a feature, although times overlap.
  void note_jump(std::size_t feature, const DeviceReadings& rows) {
    constexpr double jump = 50.0;
    std::vector<std::pair<double, double>> values;  // with times
    for (const auto& reading : rows.readings)
      values.emplace_back(reading.point.input.features[feature], reading.point.value);
    std::ranges::sort(values);
    double slowest_s = 0.0;  // of the values below
    for (std::size_t i = 1; i < values.size(); ++i) {
      slowest_s = std::max(slowest_s, values[i - 1].second);
      if (values[i - 1].first <= 0.0 || values[i].first < jump * values[i - 1].first) continue;
      const bool overlap = std::any_of(values.begin() + static_cast<std::ptrdiff_t>(i), values.end(),
                                       [&](const auto& above) { return above.second < slowest_s; });
      if (overlap)
        found_.notes.push_back(
            fmt::format("'{}' jumps from {:g} to {:g}, and times do not: are all rows in one unit?",
                        found_.features[feature], values[i - 1].first, values[i].first));
    }
  }

  const StepsTableOptions& options_;
  CsvTable table_;
  StepsTable found_;
  std::optional<FeatureSource> source_;
  bool batch_may_differ_ = false;
  std::string first_place_;
  std::vector<OtherColumn> others_;                         ///< of the times that the target has, too
  std::map<std::string, std::vector<std::string>> places_;  ///< of the rows, by device
};

}  // namespace

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
