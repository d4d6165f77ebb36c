#include "cli/data_text.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

std::string share_text(const json& share) {
  return share.is_number() ? fmt::format("{:.1f} %", 100 * share.get<double>()) : "-";
}

std::string classes_text(const json& part) {
  const double requests = part.at("requests");
  std::string text;
  for (const auto& [name, sum] : part.at("classes").items()) {
    if (sum.at("samples") == 0) continue;
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", name,
                        100 * sum.at("samples").get<double>() / requests);
  }
  return text;
}

std::string oblivious_text(const json& bound) {
  if (!bound.is_object() || !bound.at("oblivious").is_number()) return "";
  return fmt::format("; {} of the bytes hit on average without knowing the next requests",
                     share_text(bound.at("oblivious")));
}

std::string part_line(const std::string& name, const json& part) {
  const json& bound = part.at("bound");
  const auto of_bound = [&](const char* key) {
    return share_text(bound.is_object() ? bound.at(key) : json());
  };
  // Results of older versions have none.
  const json belady = part.value("belady", json::object());
  const json& time = part.at("epoch_time_s");
  return fmt::format("\n  {:<16}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}  {}", name,
                     with_separators(part.at("requests")), share_text(part.at("byte_hit_ratio")),
                     of_bound("byte_hit_ratio"), of_bound("attained"),
                     share_text(belady.value("byte_hit_ratio", json())),
                     share_text(belady.value("attained", json())), share_text(part.at("stall")),
                     time.is_number() ? significant(time, 4) + " s" : "-", classes_text(part)) +
         oblivious_text(bound);
}

/// Empty: not known.
std::string coverage_line(const json& data, const std::string& exception) {
  std::int64_t known = 0, whole = 0, complete = 0;
  for (const json& epoch : data.at("epochs")) {
    complete += epoch.at("complete").get<bool>() ? 1 : 0;
    const json& coverage = epoch.at("coverage");
    if (!coverage.is_object() || !epoch.at("complete").get<bool>()) continue;
    ++known;
    const bool is_once = coverage.at("distinct") == epoch.at("requests") && coverage.at("omitted") == 0;
    whole += is_once && coverage.at("distinct_share") == 1.0 ? 1 : 0;
  }
  const json& all = data.at("coverage");
  if (known == 0 || !all.is_object()) return "";
  std::string line = fmt::format(
      "\n  coverage: {} of {} complete epochs delivered each sample exactly once{}; {} of the samples "
      "in all, {} omitted, {} repeated, divergence {:.3g} nats",
      whole, complete, whole < complete && !exception.empty() ? " (" + exception + ")" : "",
      share_text(all.at("distinct_share")), with_separators(all.at("omitted")),
      with_separators(all.at("repeated")), all.at("divergence").get<double>());
  for (auto epoch = data.at("epochs").rbegin(); epoch != data.at("epochs").rend(); ++epoch)
    if (epoch->at("coverage").is_object() && epoch->at("coverage").contains("importance_age"))
      return line + fmt::format("; importance {:.2f} epochs old in the last one",
                                epoch->at("coverage").at("importance_age").get<double>());
  return line;
}

}  // namespace

std::string data_lines(const json& data, const std::string& exception) {
  if (!data.is_object()) return "";
  std::string text =
      fmt::format("\n  {:<16}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}  {}", "samples", "requests",
                  "hit bytes", "bound", "attained", "Belady", "attained", "stall", "epoch", "from");
  if (data.at("cold").is_object()) text += part_line("cold epoch", data.at("cold"));
  if (const json& warm = data.at("warm"); warm.is_object()) {
    const auto epochs = warm.at("epochs").get<std::int64_t>();
    text += part_line(epochs == 1 ? "1 warm epoch" : with_separators(epochs) + " warm epochs", warm);
  }
  return text + coverage_line(data, exception);
}

}  // namespace tandem::cli
