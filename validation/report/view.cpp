#include "validation/report/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/report/report_names.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

Unit unit_of(const std::string& name) {
  for (const Unit unit : {Unit::seconds, Unit::samples_per_second, Unit::bytes, Unit::ratio})
    if (name == unit_name(unit)) return unit;
  return Unit::count;
}

/// "-4.41 to -3.45 %": the unit once.
std::string interval_text(double low, double high) {
  const std::string begin = signed_percent(low);
  return begin.substr(0, begin.find(' ')) + " to " + signed_percent(high);
}

/// "asp 4, esync 1": configurations where the count is not 0.
std::string counts_by_variant(const std::vector<const json*>& variants, const char* key) {
  constexpr int most = 8;
  std::string text;
  int told = 0, more = 0;
  for (const auto* variant : variants) {
    const std::int64_t count = variant->at(key);
    if (count == 0) continue;
    if (told == most) {
      ++more;
      continue;
    }
    ++told;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", variant->at("name").get<std::string>(),
                        with_unit(static_cast<double>(count), Unit::count));
  }
  return more == 0 ? text : text + fmt::format(" and {} more configurations", more);
}

std::string cpu_wait_note(const std::vector<const json*>& variants) {
  const auto share = [](const json& variant) { return variant.at("cpu_wait_share").get<double>(); };
  const auto& worst = **std::max_element(variants.begin(), variants.end(),
                                         [&](const json* a, const json* b) { return share(*a) < share(*b); });
  return fmt::format(
      "Measured ranks stood ready without a core for up to {:.1f} % of a run ({}); measured times contain "
      "it, "
      "simulated ones do not.",
      share(worst) * 100, worst.at("name").get<std::string>());
}

/// Empty when other programs never had much of the machine.
std::string other_load_note(const std::vector<const json*>& variants) {
  constexpr double worth_telling = 0.1;
  int count = 0;
  const json* worst = nullptr;
  double most = worth_telling;
  for (const json* variant : variants) {
    const double share = variant->at("other_load");
    if (share > worth_telling) ++count;
    if (share > most) worst = variant;
    most = std::max(most, share);
  }
  if (count == 0) return "";
  return fmt::format(
      "Other programs used this machine while {} of {} configurations were measured: up to {:.0f} % "
      "of its cores ({}).",
      count, variants.size(), most * 100, worst->at("name").get<std::string>());
}

bool is_busy(const std::vector<const json*>& variants) {
  constexpr double share = 0.1;
  return std::any_of(variants.begin(), variants.end(),
                     [](const json* variant) { return variant->at("cpu_wait_share").get<double>() > share; });
}

/// Whether the simulator's own code or what both take for the network and the machine is off.
std::string witness_note(const json& set) {
  for (const auto& errors : set.at("errors"))
    if (errors.at("key") == "step_time" && errors.at("witnessed") != 0)
      return fmt::format(
          "SMPI witness (the ranks' own MPI code on SimGrid's MPI and the same network model, {} "
          "configurations): its step times are {} from the simulator's (code path) and {} from the measured "
          "ones (network and machine), on average.",
          errors.at("witnessed").get<int>(), percent(number_or_nan(errors.at("code_path"))),
          percent(number_or_nan(errors.at("model"))));
  return "";
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
      .witness = with_unit(number_or_nan(figure.at("witness")), unit, scale),
      .contribution = signed_percent(number_or_nan(figure.at("contribution"))),
      .interval = "-",
      .noise_floor = percent(number_or_nan(figure.at("noise_floor"))),
      .verdict = figure.at("verdict").is_string() ? figure.at("verdict").get<std::string>() : "-"};
  if (const auto& interval = figure.at("interval"); interval.is_array())
    text.interval = interval_text(interval[0], interval[1]);
  return text;
}

const json* find_figure(const json& configuration, const std::string& key) {
  for (const auto& figure : configuration.at("figures"))
    if (figure.at("key") == key && figure.at("rank") == -1) return &figure;
  return nullptr;
}

bool has_witness(const json& configuration) {
  const json* step_time = find_figure(configuration, "step_time");
  return step_time != nullptr && step_time->at("witness").is_number();
}

std::vector<std::pair<std::string, std::string>> failed_gates(const json& document) {
  std::vector<std::pair<std::string, std::string>> failed;
  for (const auto* variant : compared_configurations(document))
    for (const char* gate : {"operations", "decisions", "replay"})
      if (const auto& found = variant->at("gates").at(gate); found.at("state") == "failed")
        failed.emplace_back(fmt::format("{}: {}", variant->at("name").get<std::string>(), gate),
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

ErrorText error_text(const json& errors) {
  const auto value = [&](const char* key) { return number_or_nan(errors.at(key)); };
  ErrorText text{.bias = signed_percent(value("bias")),
                 .mape = percent(value("mape")),
                 .interval = "-",
                 .median = percent(value("median")),
                 .p95 = percent(value("p95")),
                 .largest = signed_percent(value("largest")),
                 .noise_floor = percent(value("noise_floor")),
                 .over_noise = "-",
                 .of_step_time = signed_percent(value("contribution")),
                 .verdicts = "-"};
  if (errors.at("count") == 0) text.bias = text.mape = text.median = text.p95 = text.largest = "-";
  if (errors.at("error_over_noise").is_number())
    text.over_noise = three_digits(errors.at("error_over_noise")) + "x";
  if (const auto& interval = errors.at("mape_interval"); interval.is_array()) {
    const std::string low = percent(interval[0]);
    text.interval = low.substr(0, low.find(' ')) + " to " + percent(interval[1]);
  }
  const int counted = errors.at("equivalent").get<int>() + errors.at("different").get<int>() +
                      errors.at("inconclusive").get<int>();
  if (counted > 0)
    text.verdicts = fmt::format("{} / {} / {}", errors.at("equivalent").get<int>(),
                                errors.at("inconclusive").get<int>(), errors.at("different").get<int>());
  return text;
}

std::vector<const json*> compared_configurations(const json& document) {
  std::vector<const json*> all;
  for (const auto& configuration : document.at("configurations"))
    if (configuration.at("failure") == "") all.push_back(&configuration);
  return all;
}

std::vector<const json*> detailed_configurations(const json& document) {
  auto all = compared_configurations(document);
  std::erase_if(all, [](const json* configuration) { return configuration->at("detail").is_null(); });
  const auto error = [](const json* configuration) {
    return std::abs(number_or_nan(find_figure(*configuration, "step_time")->at("error")));
  };
  std::stable_sort(all.begin(), all.end(), [&](const json* a, const json* b) { return error(a) > error(b); });
  return all;
}

std::vector<const json*> failed_configurations(const json& document) {
  std::vector<const json*> all;
  for (const auto& configuration : document.at("configurations"))
    if (configuration.at("failure") != "") all.push_back(&configuration);
  return all;
}

std::string attribution_text(const json& part) {
  const std::string phase = part.at("phase"), kind = part.at("kind"), host = part.at("host");
  const int rank = part.at("rank"), peer = part.at("peer");
  if (rank < 0) return "who did how many steps";
  std::string text = fmt::format("{} of rank {}{}", phase, rank, host.empty() ? "" : " on " + host);
  if (kind.empty()) return text;
  if (kind == "compute" || kind == "sleep") return text + ": " + kind;
  if (peer < 0) return text + ": waiting to " + kind;
  const std::string peer_host = part.at("peer_host");
  return text + fmt::format(": waiting to {} {} rank {}{}", kind, kind == "send" ? "to" : "from", peer,
                            peer_host.empty() ? "" : " (" + peer_host + ")");
}

std::string ranking_text(const json& set) {
  const std::size_t groups = set.at("groups").size();
  if (groups == 0) return "";
  const json& ranking = set.at("ranking");
  const auto value = [&](const char* key) { return three_digits(number_or_nan(ranking.at(key))); };
  if (groups == 1)
    return fmt::format("Ranking by throughput: Spearman {}, Kendall {}, regret of choosing by simulation {}.",
                       value("spearman"), value("kendall"), percent(ranking.at("mean_regret")));
  return fmt::format(
      "Ranking by throughput, over {} groups that differ in the algorithm only: Spearman {}, Kendall {} on "
      "average; the fastest is picked in {} of them; regret of choosing by simulation {} on average, at most "
      "{}. "
      "Over "
      "all configurations: Spearman {}, Kendall {}.",
      groups, value("mean_spearman"), value("mean_kendall"), ranking.at("same_best").get<int>(),
      percent(ranking.at("mean_regret")), percent(ranking.at("largest_regret")), value("spearman"),
      value("kendall"));
}

std::vector<std::string> machine_warnings(const json& document) {
  std::vector<std::string> all;
  const auto variants = compared_configurations(document);
  if (const auto counts = counts_by_variant(variants, "late_devices"); !counts.empty())
    all.push_back(
        "This machine was too slow for the devices that it emulated, so that measured times are too long; "
        "times it was late: " +
        counts + ".");
  if (is_busy(variants))
    all.push_back(cpu_wait_note(variants) +
                  " Other work on this machine, or more ranks than cores, does that.");
  if (auto note = other_load_note(variants); !note.empty()) all.push_back(std::move(note));
  return all;
}

std::vector<std::string> remarks(const json& document) {
  std::vector<std::string> all;
  const auto variants = compared_configurations(document);
  if (variants.empty()) return all;
  if (document.at("sets").size() > 1)
    all.emplace_back(
        "The headline is that of the hold-out set: configurations whose settings no calibration used.");
  const int warmup = variants.front()->at("warmup_steps");
  all.push_back(fmt::format(
      "The first {} steps of each worker are warm-up and left out of step time and phases; makespan, "
      "throughput and bytes are of whole runs.",
      warmup));
  all.emplace_back(
      "Error: (simulated - measured) / measured. The 95 % interval of one configuration comes from 10,000 "
      "moving-block resamples of steps and repetitions, the 90 % interval of a mean error from resampling "
      "configurations. Noise floor: how far measured repetitions are from each other. Within margin: two "
      "one-sided tests.");
  if (std::ranges::any_of(variants, [](const json* variant) { return variant->at("draws") > 1; }))
    all.emplace_back(
        "Where sizes alone are simulated, it is done three times, each with the measured variations drawn "
        "anew, and "
        "the one with the middle throughput is compared.");
  if (const auto note = witness_note(document.at("sets").front()); !note.empty()) all.push_back(note);
  if (const auto counts = counts_by_variant(variants, "unmatched_steps"); !counts.empty())
    all.push_back("Steps that happened in one world only and have no partner: " + counts + ".");
  const auto warnings = machine_warnings(document);
  all.insert(all.end(), warnings.begin(), warnings.end());
  if (!is_busy(variants)) all.push_back(cpu_wait_note(variants));
  if (variants.front()->at("repetitions") == 1)
    all.emplace_back(
        "With one measured run there is no noise floor; set repetitions to 3 or more to get one.");
  return all;
}

}  // namespace tandem::validation
