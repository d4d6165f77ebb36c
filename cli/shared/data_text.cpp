#include "cli/shared/data_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>

#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string classes_text(const DataPart& part) {
  const auto requests = static_cast<double>(part.requests);
  std::string text;
  for (const auto& [name, sum] : part.classes) {
    if (sum.samples == 0) continue;
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", name,
                        100 * static_cast<double>(sum.samples) / requests);
  }
  return text;
}

std::string oblivious_text(const std::optional<BoundFigures>& bound) {
  if (!bound || !bound->oblivious) return "";
  return fmt::format("; {} of the bytes hit on average without knowing the next requests",
                     share_text(bound->oblivious));
}

std::string part_line(const std::string& name, const DataPart& part) {
  const auto& bound = part.bound;
  return fmt::format(
             "\n  {:<16}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}  {}", name,
             with_separators(part.requests), share_text(part.byte_hit_ratio),
             bound ? share_text(bound->byte_hit_ratio) : "-", bound ? share_text(bound->attained) : "-",
             share_text(part.belady.byte_hit_ratio), share_text(part.belady.attained), share_text(part.stall),
             part.epoch_time_s ? significant(*part.epoch_time_s, 4) + " s" : "-", classes_text(part)) +
         oblivious_text(bound);
}

/// Empty: not known.
std::string coverage_line(const DataFigures& data, const std::string& exception) {
  std::int64_t known = 0, whole = 0, complete = 0;
  for (const EpochFigures& epoch : data.epochs) {
    complete += epoch.complete ? 1 : 0;
    if (!epoch.coverage || !epoch.complete) continue;
    const CoverageFigures& coverage = *epoch.coverage;
    ++known;
    const bool is_once = coverage.distinct == epoch.requests && coverage.omitted == 0;
    whole += is_once && coverage.distinct_share == 1.0 ? 1 : 0;
  }
  if (known == 0 || !data.coverage) return "";
  const CoverageFigures& all = *data.coverage;
  std::string line = fmt::format(
      "\n  coverage: {}; {} of the samples in all, {} omitted, {} repeated, divergence {:.3g} nats",
      whole < complete && !exception.empty()
          ? fmt::format("of all epochs together, because {}", exception)
          : fmt::format("{} of {} complete epochs delivered each sample exactly once", whole, complete),
      share_text(all.distinct_share), with_separators(all.omitted), with_separators(all.repeated),
      all.divergence);
  for (const EpochFigures& epoch : data.epochs | std::views::reverse)
    if (epoch.coverage && epoch.coverage->importance_age)
      return line +
             fmt::format("; importance {:.2f} epochs old in the last one", *epoch.coverage->importance_age);
  return line;
}

}  // namespace

std::string data_lines(const DataFigures& data, const std::string& exception) {
  std::string text =
      fmt::format("\n  {:<16}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}  {}", "samples", "requests",
                  "hit bytes", "bound", "attained", "Belady", "attained", "stall", "epoch", "from");
  if (data.cold) text += part_line("cold epoch", *data.cold);
  if (data.warm) {
    const auto epochs = static_cast<std::int64_t>(data.warm->epochs);
    text += part_line(epochs == 1 ? "1 warm epoch" : with_separators(epochs) + " warm epochs", *data.warm);
  }
  return text + coverage_line(data, exception);
}

}  // namespace tandem::cli
