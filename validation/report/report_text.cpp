// The report as a table for the terminal and as Markdown.
#include <fmt/format.h>

#include "validation/report/report.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// Rows of the summary: step time, phases that take time in one of the worlds, throughput, time to a target.
std::vector<const json*> main_figures(const json& variant) {
  std::vector<const json*> rows;
  for (const auto& figure : variant.at("figures")) {
    if (figure.at("rank") != -1) continue;
    const std::string key = figure.at("key");
    const bool silent_phase =
        key.starts_with("phase.") && figure.at("simulated") == 0.0 && figure.at("measured") == 0.0;
    if (key == "step_time" || key == "throughput" || key == "time_to_target" ||
        (key.starts_with("phase.") && !silent_phase))
      rows.push_back(&figure);
  }
  return rows;
}

std::string row_name(const json& figure) {
  const std::string name = figure.at("name");
  return figure.at("key").get<std::string>().starts_with("phase.") ? "  " + name : name;
}

void add_markdown_errors(const json& set, std::string& page) {
  page += fmt::format("\n## Errors over configurations: {} ({})\n\n", set.at("name").get<std::string>(),
                      set.at("configurations").get<int>() - set.at("failed").get<int>());
  page +=
      "| Figure | Bias | Mean error | 90 % interval | Median | p95 | Largest | Where | Noise floor | Over "
      "noise | Of step time | Within margin: yes / unclear / no |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |\n";
  for (const auto& errors : set.at("errors")) {
    const auto text = error_text(errors);
    page +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                    errors.at("name").get<std::string>(), text.bias, text.mape, text.interval, text.median,
                    text.p95, text.largest, errors.at("largest_configuration").get<std::string>(),
                    text.noise_floor, text.over_noise, text.of_step_time, text.verdicts);
  }
  page += fmt::format(
      "\nStep-time distributions, mean over configurations: Kolmogorov-Smirnov distance {}, Wasserstein-1 "
      "over "
      "the measured mean {}.\n",
      three_digits(set.at("mean_kolmogorov")), percent(set.at("mean_wasserstein")));
}

void add_markdown_ranking(const json& set, std::string& page) {
  if (set.at("groups").empty()) return;
  page += "\n## Ranking by throughput\n\n" + ranking_text(set) + "\n";
  if (const auto gains = speed_up_text(set); !gains.empty()) page += "\n" + gains + "\n";
  for (const auto& group : set.at("groups")) {
    page += fmt::format(
        "\n{}: regret {}\n\n| Algorithm | Simulated | Place | Measured | Place | Speed-up over bsp, "
        "simulated | "
        "measured | Speed-up to target accuracy, simulated | measured |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        group.at("name").get<std::string>(), percent(group.at("regret")));
    const auto ratio = [](const json& number) { return three_digits(number_or_nan(number)); };
    for (const auto& row : group.at("variants"))
      page += fmt::format(
          "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", row.at("name").get<std::string>(),
          with_unit(row.at("simulated_throughput"), Unit::samples_per_second),
          row.at("simulated_place").get<int>(),
          with_unit(row.at("measured_throughput"), Unit::samples_per_second),
          row.at("measured_place").get<int>(), ratio(row.at("speed_up").at("simulated")),
          ratio(row.at("speed_up").at("measured")), ratio(row.at("target_speed_up").at("simulated")),
          ratio(row.at("target_speed_up").at("measured")));
  }
}

void add_markdown_attribution(const json& attribution, std::string& page) {
  page += "\n| Where the error of step time comes from | Share |\n| --- | ---: |\n";
  for (const auto& part : attribution.at("parts"))
    page += fmt::format("| {} | {} |\n", attribution_text(part), signed_percent(part.at("share")));
  const auto& others = attribution.at("others");
  if (const int parts = others.at("parts"); parts > 0)
    page += fmt::format("| {} smaller parts | {} |\n", parts, signed_percent(others.at("share")));
  page += fmt::format("| **total** | {} |\n", signed_percent(attribution.at("total")));
}

void add_markdown_variant(const json& variant, std::string& page) {
  page += fmt::format("\n## {}\n\n", variant.at("name").get<std::string>());
  for (const char* gate : {"operations", "decisions", "replay"}) {
    const auto& found = variant.at("gates").at(gate);
    const std::string detail = found.at("detail");
    page += fmt::format("- {}: **{}**. {}\n", gate, found.at("state").get<std::string>(),
                        detail.substr(0, detail.find('\n')));
  }
  const bool witness = has_witness(variant);
  page += fmt::format(
      "\n| Figure | Simulated |{} Measured | Error | Of step time | 95 % interval | Noise floor | Verdict |\n"
      "| --- | ---: |{} ---: | ---: | ---: | ---: | ---: | --- |\n",
      witness ? " Under SMPI |" : "", witness ? " ---: |" : "");
  for (const auto& figure : variant.at("figures")) {
    const auto text = figure_text(figure);
    page += fmt::format("| {} | {} |{} {} | {} | {} | {} | {} | {} |\n", figure.at("name").get<std::string>(),
                        text.simulated, witness ? " " + text.witness + " |" : "", text.measured, text.error,
                        text.contribution, text.interval, text.noise_floor, text.verdict);
  }
  add_markdown_attribution(variant.at("attribution"), page);
  page += "\n| Of the whole run | Simulated | Measured |\n| --- | ---: | ---: |\n";
  for (const auto& row : metric_rows(variant))
    page += fmt::format("| {} | {} | {} |\n", row.name, row.simulated, row.measured);
  if (const auto target = target_text(variant); !target.empty()) page += "\n" + target + "\n";
  for (const auto& [world, info] : variant.at("environment").items())
    page += fmt::format("\n{}: {}; {}; {}; physics {}\n", world, info.at("machine").get<std::string>(),
                        info.at("started").get<std::string>(), info.at("versions").dump(),
                        info.at("physics").dump());
}

void add_markdown_overview(const json& document, std::string& page) {
  page +=
      "| Configuration | Set | Simulated step | Measured step | Error | 95 % interval | Noise floor | KS | "
      "Parity | Replay |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n";
  for (const auto& configuration : document.at("configurations")) {
    const std::string name = configuration.at("name"), set = configuration.at("set");
    if (configuration.at("failure") != "") {
      page += fmt::format("| {} | {} | failed | failed | - | - | - | - | - | - |\n", name, set);
      continue;
    }
    const auto text = figure_text(*find_figure(configuration, "step_time"));
    page += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name, set, text.simulated,
                        text.measured, text.error, text.interval, text.noise_floor,
                        three_digits(configuration.at("step_times").at("kolmogorov")),
                        parity_state(configuration),
                        configuration.at("gates").at("replay").at("state").get<std::string>());
  }
  page += "\n";
  for (const auto& remark : remarks(document)) page += "- " + remark + "\n";
  for (const auto* failed : failed_configurations(document))
    page += fmt::format("\n**{}: failed**\n\n```\n{}\n```\n", failed->at("name").get<std::string>(),
                        failed->at("failure").get<std::string>());
  for (const auto& [gate, detail] : failed_gates(document))
    page += fmt::format("\n**{}**\n\n```\n{}\n```\n", gate, detail);
}

/// A terminal holds the phases of a few configurations; of more, one line each.
constexpr std::size_t most_with_phases = 8;

void add_configuration_lines(const json& configuration, std::size_t width, bool phases, std::string& table) {
  std::string name = configuration.at("name");
  if (configuration.at("failure") != "") {
    table += fmt::format("{:<{}}  failed\n", name, width);
    return;
  }
  for (const auto* figure : main_figures(configuration)) {
    if (!phases && figure->at("key") != "step_time") continue;
    const auto text = figure_text(*figure);
    table += fmt::format("{:<{}}  {:<12} {:>16} {:>16} {:>10} {:>13}\n", name, width, row_name(*figure),
                         text.simulated, text.measured, text.error, text.contribution);
    name.clear();
  }
  if (const auto target = target_text(configuration); phases && !target.empty())
    table += fmt::format("{:<{}}  {}\n", "", width, target);
  if (phases || parity_state(configuration) == "failed")
    table += fmt::format("{:<{}}  parity {}, replay {}\n", "", width, parity_state(configuration),
                         configuration.at("gates").at("replay").at("state").get<std::string>());
}

std::string errors_table(const json& set) {
  std::string table = fmt::format("\n{:<22} {:>10} {:>10} {:>10} {:>10} {:>12}   largest in\n",
                                  "errors (" + set.at("name").get<std::string>() + ")", "bias", "mean", "p95",
                                  "largest", "noise floor");
  for (const auto& errors : set.at("errors")) {
    const bool is_part = errors.at("contribution").is_number();
    if (is_part && errors.at("mape") == 0.0 && errors.at("undefined") == 0) continue;
    const auto text = error_text(errors);
    table += fmt::format("{:<22} {:>10} {:>10} {:>10} {:>10} {:>12}   {}\n",
                         errors.at("name").get<std::string>(), text.bias, text.mape, text.p95, text.largest,
                         text.noise_floor, errors.at("largest_configuration").get<std::string>());
  }
  return table;
}

}  // namespace

std::string summary_table(const json& document) {
  const auto& configurations = document.at("configurations");
  std::size_t width = 10;
  for (const auto& configuration : configurations)
    width = std::max(width, configuration.at("name").get<std::string>().size());
  std::string table = fmt::format("{:<{}}  {:<12} {:>16} {:>16} {:>10} {:>13}\n", "", width, "", "simulated",
                                  "measured", "error", "of step time");
  for (const auto& configuration : configurations)
    add_configuration_lines(configuration, width, configurations.size() <= most_with_phases, table);
  for (const auto* failed : failed_configurations(document))
    table += fmt::format("\n{}: failed: {}\n", failed->at("name").get<std::string>(),
                         failed->at("failure").get<std::string>());
  for (const auto& [gate, detail] : failed_gates(document)) table += fmt::format("\n{}: {}\n", gate, detail);
  const auto& sets = document.at("sets");
  if (configurations.size() > 1)
    for (const auto& set : sets)
      if (sets.size() == 1 || set.at("name") != "all") table += errors_table(set);
  for (const auto& line : {ranking_text(sets.front()), speed_up_text(sets.front())})
    if (!line.empty()) table += "\n" + line;
  for (const auto& warning : machine_warnings(document)) table += "\nwarning: " + warning + "\n";
  return table + "\n" + document.at("verdict").get<std::string>() + "\n";
}

std::string report_markdown(const json& document) {
  std::string page = fmt::format(
      "# {}: simulated against measured\n\n**{}** {}\n\n", document.at("title").get<std::string>(),
      document.at("passed").get<bool>() ? "PASSED." : "FAILED.", document.at("verdict").get<std::string>());
  add_markdown_overview(document, page);
  const auto& sets = document.at("sets");
  for (const auto& set : sets)
    if (!set.at("errors").empty()) add_markdown_errors(set, page);
  add_markdown_ranking(sets.front(), page);
  int left_out = 0;
  for (const auto* configuration : compared_configurations(document)) {
    if (configuration->at("detail").is_null())
      ++left_out;
    else
      add_markdown_variant(*configuration, page);
  }
  if (left_out > 0)
    page += fmt::format(
        "\nThe figures of {} further configurations are in report.json; shown are the {} with the largest "
        "errors and {} chosen evenly.\n",
        left_out, most_worst_details, most_even_details);
  page += "\n## Profiles\n\n";
  for (const auto& profile : document.at("profiles"))
    page += fmt::format("- {}: measured {} by `{}`, for {} configurations\n",
                        profile.at("path").get<std::string>(), profile.value("date", "never"),
                        profile.value("command", "-"), profile.at("configurations").size());
  page += "\n## Commands\n\n```\n";
  for (const auto& command : document.at("commands")) page += command.get<std::string>() + "\n";
  return page + "```\n";
}

}  // namespace tandem::validation
