// The report as a table for the terminal and as Markdown.
#include <fmt/format.h>

#include "validation/report.hpp"
#include "validation/report_view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// Rows of the summary: step time, phases that take time in one of the worlds, throughput.
std::vector<const json*> main_figures(const json& variant) {
  std::vector<const json*> rows;
  for (const auto& figure : variant.at("figures")) {
    if (figure.at("rank") != -1) continue;
    const std::string key = figure.at("key");
    const bool silent_phase =
        key.starts_with("phase.") && figure.at("simulated") == 0.0 && figure.at("measured") == 0.0;
    if (key == "step_time" || key == "throughput" || (key.starts_with("phase.") && !silent_phase))
      rows.push_back(&figure);
  }
  return rows;
}

std::string row_name(const json& figure) {
  const std::string name = figure.at("name");
  return figure.at("key").get<std::string>().starts_with("phase.") ? "  " + name : name;
}

std::string ranking_line(const json& ranking) {
  if (!ranking.at("spearman").is_number()) return "";
  return fmt::format("Ranking by throughput: Spearman {}, regret of choosing by simulation {}.",
                     three_digits(ranking.at("spearman")), percent(ranking.at("regret")));
}

void add_markdown_ranking(const json& ranking, std::string& page) {
  if (ranking.at("variants").size() < 2) return;
  page +=
      "\n## Ranking by throughput\n\n| Variant | Simulated | Place | Measured | Place |\n"
      "| --- | ---: | ---: | ---: | ---: |\n";
  for (const auto& row : ranking.at("variants"))
    page += fmt::format("| {} | {} | {} | {} | {} |\n", row.at("name").get<std::string>(),
                        with_unit(row.at("simulated_throughput"), Unit::samples_per_second),
                        row.at("simulated_place").get<int>(),
                        with_unit(row.at("measured_throughput"), Unit::samples_per_second),
                        row.at("measured_place").get<int>());
  page += "\n" + ranking_line(ranking) + "\n";
}

void add_markdown_variant(const json& variant, std::string& page) {
  page += fmt::format("\n## {}\n\n", variant.at("name").get<std::string>());
  for (const char* gate : {"operations", "decisions", "replay"}) {
    const auto& found = variant.at("gates").at(gate);
    const std::string detail = found.at("detail");
    page += fmt::format("- {}: **{}**. {}\n", gate, found.at("state").get<std::string>(),
                        detail.substr(0, detail.find('\n')));
  }
  page +=
      "\n| Figure | Simulated | Measured | Error | Of step time | 95 % interval | Noise floor | Verdict |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
  for (const auto& figure : variant.at("figures")) {
    const auto text = figure_text(figure);
    page += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", figure.at("name").get<std::string>(),
                        text.simulated, text.measured, text.error, text.contribution, text.interval,
                        text.noise_floor, text.verdict);
  }
  for (const auto& [world, info] : variant.at("environment").items())
    page += fmt::format("\n{}: {}; {}; {}; physics {}\n", world, info.at("machine").get<std::string>(),
                        info.at("started").get<std::string>(), info.at("versions").dump(),
                        info.at("physics").dump());
}

}  // namespace

std::string summary_table(const json& document) {
  std::size_t width = 10;
  for (const auto& variant : document.at("variants"))
    width = std::max(width, variant.at("name").get<std::string>().size());
  std::string table = fmt::format("{:<{}}  {:<12} {:>16} {:>16} {:>10} {:>13}\n", "variant", width, "",
                                  "simulated", "measured", "error", "of step time");
  for (const auto& variant : document.at("variants")) {
    std::string name = variant.at("name");
    for (const auto* figure : main_figures(variant)) {
      const auto text = figure_text(*figure);
      table += fmt::format("{:<{}}  {:<12} {:>16} {:>16} {:>10} {:>13}\n", name, width, row_name(*figure),
                           text.simulated, text.measured, text.error, text.contribution);
      name.clear();
    }
    table += fmt::format("{:<{}}  parity {}, replay {}\n", "", width, parity_state(variant),
                         variant.at("gates").at("replay").at("state").get<std::string>());
  }
  for (const auto& [gate, detail] : failed_gates(document)) table += fmt::format("\n{}: {}\n", gate, detail);
  if (const auto line = ranking_line(document.at("ranking")); !line.empty()) table += "\n" + line;
  return table + "\n" + document.at("verdict").get<std::string>() + "\n";
}

std::string report_markdown(const json& document) {
  std::string page = fmt::format(
      "# {}: simulated against measured\n\n**{}** {}\n\n", document.at("title").get<std::string>(),
      document.at("passed").get<bool>() ? "PASSED." : "FAILED.", document.at("verdict").get<std::string>());
  page +=
      "| Variant | Simulated step | Measured step | Error | 95 % interval | Noise floor | Parity | Replay |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n";
  for (const auto& variant : document.at("variants")) {
    const auto text = figure_text(*find_figure(variant, "step_time"));
    page +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", variant.at("name").get<std::string>(),
                    text.simulated, text.measured, text.error, text.interval, text.noise_floor,
                    parity_state(variant), variant.at("gates").at("replay").at("state").get<std::string>());
  }
  page += "\n";
  for (const auto& remark : remarks(document)) page += "- " + remark + "\n";
  for (const auto& [gate, detail] : failed_gates(document))
    page += fmt::format("\n**{}**\n\n```\n{}\n```\n", gate, detail);
  add_markdown_ranking(document.at("ranking"), page);
  for (const auto& variant : document.at("variants")) add_markdown_variant(variant, page);
  page += "\n## Commands\n\n```\n";
  for (const auto& command : document.at("commands")) page += command.get<std::string>() + "\n";
  return page + "```\n";
}

}  // namespace tandem::validation
