#include "cli/commands/answer_origins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
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

}  // namespace

std::string ms_text(double seconds) { return fmt::format("{:.1f} ms", 1e3 * seconds); }

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string origins_text(const JobOptions& job, const Experiment& experiment, const json& physics) {
  const auto& workload = experiment.workload;
  std::string text;
  if (workload.has_measured_times()) {
    const auto assumed = assumptions_of(job.experiment_file);
    text += fmt::format(
        "  measured: one {}'s step, {}{}\n", workload.measured_on.empty() ? "device" : workload.measured_on,
        workload.measured_buckets.empty() ? "as a whole" : "its buckets, and when each is ready",
        assumed.empty() ? "" : ", but for what is assumed:");
    for (const auto& one : assumed) text += "  assumed: " + one + '\n';
  }
  if (experiment.physics.spread > 0)
    text +=
        fmt::format("  {}: steps vary by {:.2g} %\n", is_given(job, "physics.spread") ? "given" : "measured",
                    100 * experiment.physics.spread);
  if (const std::string sums = sums_of(physics); !sums.empty())
    text += fmt::format("  {}: all-reduces {}\n",
                        sums.starts_with("as calibrated")  ? "measured"
                        : sums.starts_with("by a formula") ? "fitted"
                                                           : "assumed",
                        sums);
  if (!are_calibrated(physics))
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
