#include "cli/shared/plan_forecast.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "cli/shared/output.hpp"
#include "policies/vocabulary/digest.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "workloads/experiment/fields.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/experiment/keys.hpp"

namespace tandem {
namespace cli {
namespace {

/// A forecast, and of which job it is.
struct PlannedForecast {
  nlohmann::json experiment{};
  std::string platform{};  ///< digest of its file
  validation::Forecast figures{};
};

}  // namespace
}  // namespace cli

template <>
struct Fields<validation::ForecastFigure> {
  static void visit(auto& v, auto&& field) { fields(field, "mean", v.mean, "low", v.low, "high", v.high); }
};

template <>
struct Fields<validation::Forecast> {
  static void visit(auto& v, auto&& field) { fields(field, "time_s", v.time_s, "cost", v.cost); }
};

template <>
struct Fields<cli::PlannedForecast> {
  static void visit(auto& v, auto&& field) {
    fields(field, "experiment", v.experiment, "platform", v.platform, "figures", v.figures);
  }
};

namespace cli {
namespace {

namespace fs = std::filesystem;

std::string digest_of(const fs::path& file) {
  std::ifstream content(file, std::ios::binary);
  Digest digest;
  digest.add(rest_of(content));
  return digest.text();
}

/// Whether the job of a plan stays the same with another value.
bool is_free(std::string_view key) {
  constexpr std::array keys = {std::string_view("name"),
                               std::string_view("seed"),
                               std::string_view("repetitions"),
                               std::string_view("warmup_steps"),
                               std::string_view("run.devices"),
                               std::string_view("physics.network"),
                               std::string_view("physics.profile"),
                               std::string_view("physics.noise"),
                               std::string_view("physics.spread"),
                               std::string_view("physics.ensemble")};
  return std::ranges::find(keys, key) != keys.end();
}

/// The value of a key in the document of an experiment; null: it has none.
nlohmann::json value_in(const nlohmann::json& document, const std::string& key) {
  std::string pointer = '/' + key;
  if (const auto dot = pointer.find('.'); dot != std::string::npos) pointer[dot] = '/';
  const nlohmann::json::json_pointer place(pointer);
  return document.contains(place) ? document.at(place) : nlohmann::json();
}

/// The first key in which the experiment is not the planned one; empty: it is.
std::string difference(const PlannedForecast& planned, const Experiment& experiment, const fs::path& folder) {
  for (const ExperimentKey& key : experiment_keys()) {
    if (is_free(key.path) || key.path == "platform") continue;
    if (value_in(planned.experiment, key.path) != key_value(key, experiment)) return key.path;
  }
  const fs::path platform = folder / "platform.xml";
  std::error_code missing;
  const bool is_same_file =
      fs::equivalent(platform, experiment.platform, missing) && digest_of(platform) == planned.platform;
  return is_same_file ? "" : "platform";
}

}  // namespace

nlohmann::json forecast_document(const std::string& folder, const validation::Forecast& forecast) {
  JobOptions written;
  written.experiment_file = folder + "/experiment.yaml";
  return write_fields(PlannedForecast{to_json(load_job(written).experiment),
                                      digest_of(fs::path(folder) / "platform.xml"), forecast});
}

std::optional<validation::Forecast> forecast_of(const JobOptions& options, const Experiment& experiment) {
  const fs::path file(options.experiment_file), folder = file.parent_path();
  const std::string plan = (folder / "plan.json").string();
  if (file.filename() != "experiment.yaml" || !options.resume.empty() || !fs::exists(plan))
    return std::nullopt;
  const nlohmann::json document = read_json_file(plan, "a file that `tandem plan` wrote");
  if (!document.contains("forecast")) return std::nullopt;
  const auto planned = read_fields<PlannedForecast>(document.at("forecast"), plan);
  if (const std::string key = difference(planned, experiment, folder); !key.empty()) {
    print_note(plan + " has a forecast of another job: " + key + " differs");
    return std::nullopt;
  }
  return planned.figures;
}

nlohmann::json to_json(const validation::Forecast& forecast) { return write_fields(forecast); }

std::optional<validation::PaidRun> paid_run(const validation::Forecast& forecast, const Summary& summary) {
  if (!summary.cost) return std::nullopt;
  return validation::PaidRun{forecast, summary.makespan_s, summary.cost->total.dollars()};
}

}  // namespace cli
}  // namespace tandem
