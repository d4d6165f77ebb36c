#include "cli/results_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tandem::cli {

// Share of the makespan above which waiting for a core is told.
constexpr double worth_telling = 0.1;

std::string results_line(const Results& results) {
  const auto& summary = results.summary;
  std::string line = fmt::format(
      "{} {}: {} rounds, {} samples in {:.4g} s ({:.4g} samples/s)", results.info.experiment.name,
      results.info.world, summary.at("rounds").get<int>(), summary.at("samples").get<std::int64_t>(),
      summary.at("makespan_s").get<double>(), summary.at("throughput").get<double>());
  if (const auto dropped = results.journal.dropped_samples; dropped > 0)
    line += fmt::format(", {} of them dropped as too late", dropped);
  if (!results.journal.evaluations.empty())
    if (const double accuracy = results.journal.evaluations.back().accuracy; !std::isnan(accuracy))
      line += fmt::format(", test accuracy {:.3f}", accuracy);
  if (summary.contains("cache"))
    line += fmt::format(", {:.1f} % of reads from the cache",
                        100 * summary.at("cache").at("hit_ratio").get<double>());
  if (const auto& sums = results.info.all_reduce; sums.is_object())
    line += "\n  all-reduce: " + sums.at("summary").get<std::string>();
  if (const auto late = results.journal.late_devices; late > 0)
    line += fmt::format(
        "\n  warning: {} times an emulated device was not kept up with; this machine is too slow or "
        "too loaded for it, and the times are too long",
        late);
  const double waited = results.journal.core_wait.count() / summary.at("makespan_s").get<double>();
  if (waited > worth_telling)
    line += fmt::format(
        "\n  note: a rank stood ready without a core for {:.0f} % of the time: more ranks than cores, or "
        "other "
        "work on this machine",
        waited * 100);
  return line + "\n  " + results.path + "\n";
}

}  // namespace tandem::cli
