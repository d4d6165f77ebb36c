#include "validation/report_view.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::validation {
namespace {

using nlohmann::json;

Unit unit_of(const std::string& name) {
  if (name == "s") return Unit::seconds;
  if (name == "samples/s") return Unit::samples_per_second;
  if (name == "bytes") return Unit::bytes;
  if (name == "ratio") return Unit::ratio;
  return Unit::count;
}

/// "-4.41 to -3.45 %": the unit once.
std::string interval_text(double low, double high) {
  const std::string begin = signed_percent(low);
  return begin.substr(0, begin.find(' ')) + " to " + signed_percent(high);
}

/// "asp 4, esync 1": variants where the count is not 0.
std::string counts_by_variant(const json& variants, const char* key) {
  std::string text;
  for (const auto& variant : variants)
    if (const std::int64_t count = variant.at(key); count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", variant.at("name").get<std::string>(),
                          with_unit(static_cast<double>(count), Unit::count));
  return text;
}

std::string core_wait_note(const json& variants) {
  const auto share = [](const json& variant) { return variant.at("core_wait_share").get<double>(); };
  const auto& worst = *std::max_element(variants.begin(), variants.end(),
                                        [&](const json& a, const json& b) { return share(a) < share(b); });
  return fmt::format(
      "Measured ranks stood ready without a core for up to {:.1f} % of a run ({}); measured times contain "
      "it, "
      "simulated ones do not.",
      share(worst) * 100, worst.at("name").get<std::string>());
}

}  // namespace

FigureText figure_text(const json& figure) {
  const Unit unit = unit_of(figure.at("unit"));
  const double simulated = number_or_nan(figure.at("simulated"));
  const double measured = number_or_nan(figure.at("measured"));
  const double scale = measured == 0 ? simulated : measured;
  FigureText text{
      .simulated = with_unit(simulated, unit, scale),
      .measured = with_unit(measured, unit, scale),
      .error = signed_percent(number_or_nan(figure.at("error"))),
      .contribution = signed_percent(number_or_nan(figure.at("contribution"))),
      .interval = "-",
      .noise_floor = percent(number_or_nan(figure.at("noise_floor"))),
      .verdict = figure.at("verdict").is_string() ? figure.at("verdict").get<std::string>() : "-"};
  if (const auto& interval = figure.at("interval"); interval.is_array())
    text.interval = interval_text(interval[0], interval[1]);
  return text;
}

const json* find_figure(const json& variant, const std::string& key) {
  for (const auto& figure : variant.at("figures"))
    if (figure.at("key") == key && figure.at("rank") == -1) return &figure;
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> failed_gates(const json& document) {
  std::vector<std::pair<std::string, std::string>> failed;
  for (const auto& variant : document.at("variants"))
    for (const char* gate : {"operations", "decisions", "replay"})
      if (const auto& found = variant.at("gates").at(gate); found.at("state") == "failed")
        failed.emplace_back(fmt::format("{}: {}", variant.at("name").get<std::string>(), gate),
                            found.at("detail"));
  return failed;
}

std::string parity_state(const json& variant) {
  const auto& gates = variant.at("gates");
  const std::string operations = gates.at("operations").at("state");
  const std::string decisions = gates.at("decisions").at("state");
  if (operations == "failed" || decisions == "failed") return "failed";
  return operations == "passed" || decisions == "passed" ? "passed" : "not checked";
}

std::vector<std::string> remarks(const json& document) {
  std::vector<std::string> all;
  const auto& variants = document.at("variants");
  const int warmup = variants.front().at("warmup_steps");
  all.push_back(fmt::format(
      "The first {} steps of each worker are warm-up and left out of step time and phases; makespan, "
      "throughput and bytes are of whole runs.",
      warmup));
  all.push_back(
      "Error: (simulated - measured) / measured. Its 95 % interval comes from 10,000 moving-block resamples "
      "of "
      "steps and repetitions. Noise floor: how far measured repetitions are from each other.");
  if (const auto counts = counts_by_variant(variants, "unmatched_steps"); !counts.empty())
    all.push_back("Steps that happened in one world only and have no partner: " + counts + ".");
  if (const auto counts = counts_by_variant(variants, "late_devices"); !counts.empty())
    all.push_back(
        "This machine was too slow for the devices that it emulated, so that measured times are too long; "
        "times it was late: " +
        counts + ".");
  all.push_back(core_wait_note(variants));
  if (variants.front().at("repetitions") == 1)
    all.emplace_back(
        "With one measured run there is no noise floor; set repetitions to 3 or more to get one.");
  return all;
}

}  // namespace tandem::validation
