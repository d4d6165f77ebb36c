#include "cli/commands/answer_origins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/compared_jobs.hpp"
#include "cli/commands/init_files.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// Whether it is --set's, not the file's.
bool is_given(const JobOptions& job, const std::string& key) {
  return std::ranges::any_of(job.settings,
                             [&](const std::string& setting) { return setting.starts_with(key + '='); });
}

/// "measured_forward: a third of the step": of lines of the experiment with a comment "# assumed: ...".
std::vector<std::string> assumptions_of(const std::string& file) {
  constexpr std::string_view mark = "# assumed: ";
  std::vector<std::string> found;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const auto comment = line.find(mark), colon = line.find(':'), key = line.find_first_not_of(' ');
    if (comment == std::string::npos || colon == std::string::npos || colon > comment) continue;
    found.push_back(line.substr(key, colon - key) + ": " + line.substr(comment + mark.size()));
  }
  return found;
}

/// "steps that count: 1, ...": of comments "# check failed: ...".
std::vector<std::string> failed_checks_of(const std::string& file) {
  constexpr std::string_view mark = "# check failed: ";
  std::vector<std::string> found;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(mark)) found.push_back(line.substr(mark.size()));
  return found;
}

/// One line for each way.
std::string sums_text(const std::vector<json>& physics) {
  std::set<std::string> ways;
  for (const json& one : physics)
    if (std::string sums = sums_of(one); !sums.empty()) ways.insert(std::move(sums));
  // Of several jobs, some have only one of both.
  const auto has = [&](const char* way) {
    return std::ranges::any_of(ways, [&](const std::string& one) { return one.starts_with(way); });
  };
  if (has("as NCCL's ring and tree"))
    std::erase_if(ways, [](const std::string& one) {
      return one.starts_with("as NCCL's ring,") || one.starts_with("as NCCL's tree,");
    });
  std::string text;
  for (const std::string& sums : ways)
    text += fmt::format("  {}: all-reduces {}\n",
                        sums.starts_with("as calibrated")  ? "measured"
                        : sums.starts_with("by a formula") ? "fitted"
                                                           : "assumed",
                        sums);
  if (std::ranges::any_of(physics, is_priced))
    text += "  assumed: the step in closed form (--fidelity priced)\n";
  return text;
}

/// One line for each device and predicted time.
std::string fitted_text(const std::vector<json>& physics, const std::string& predictor) {
  std::set<std::string> lines;
  for (const json& one : physics)
    for (const json& step : one.is_object() ? one.value("fitted_steps", json::array()) : json::array())
      lines.insert(fmt::format("  fitted: one {}'s step {} ({} to {}, {}), by {}\n",
                               step.at("device").get<std::string>(), ms_text(step.at("step_s")),
                               ms_text(step.at("lower_s")), ms_text(step.at("upper_s")),
                               share_text(step.at("confidence")), predictor));
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

std::string ms_text(double seconds) { return fmt::format("{:.1f} ms", 1e3 * seconds); }

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string origins_text(const JobOptions& job, const Experiment& experiment,
                         const std::vector<json>& physics) {
  const auto& workload = experiment.workload;
  std::string text;
  if (workload.has_measured_times()) {
    const auto assumed = assumptions_of(job.experiment_file);
    text += fmt::format(
        "  measured: one {}'s step, {}{}\n", workload.measured_on.empty() ? "device" : workload.measured_on,
        workload.measured_buckets.empty() ? "as a whole" : "its buckets, and when each is ready",
        assumed.empty() ? "" : ", but for what is assumed:");
    for (const auto& one : assumed) text += "  assumed: " + one + '\n';
    for (const auto& one : failed_checks_of(job.experiment_file)) text += "  less certain: " + one + '\n';
  } else if (!experiment.physics.predictor.empty()) {
    text += fitted_text(physics, experiment.physics.predictor);
  } else if (experiment.physics.profile.empty()) {
    text += "  assumed: computing, by the model's flops and the rates of `tandem list devices`\n";
  }
  if (experiment.physics.spread > 0)
    text +=
        fmt::format("  {}: steps vary by {:.2g} %\n", is_given(job, "physics.spread") ? "given" : "measured",
                    100 * experiment.physics.spread);
  text += sums_text(physics);
  if (!std::ranges::all_of(physics, are_calibrated))
    text += fmt::format(
        "  assumed: every link has its full rate, and a message between machines passes two links of {:g} "
        "us\n",
        1e6 * cable_latency.count());
  if (experiment.physics.overlap_slowdown > 1.0)
    text += fmt::format("  {}: kernels take {:.2f} times as long while messages move\n",
                        is_given(job, "physics.overlap_slowdown") ? "given" : "measured",
                        experiment.physics.overlap_slowdown);
  return text;
}

}  // namespace tandem::cli
