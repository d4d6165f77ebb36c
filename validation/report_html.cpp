// The report as one self-contained page. Tables and timelines are written here; the other charts are drawn by
// the page's script from the embedded document.
#include <fmt/format.h>

#include <cmath>

#include "policies/vocabulary/check.hpp"
#include "validation/html.hpp"
#include "validation/page/pieces.hpp"
#include "validation/report.hpp"
#include "validation/report_view.hpp"
#include "validation/timeline.hpp"

namespace tandem::validation {
namespace {

using html::escaped;
using html::typeset;
using nlohmann::json;

std::string badge(const std::string& state, const std::string& hint = "") {
  const bool checked = state != "not checked";
  return fmt::format("<span class=\"badge {}\" title=\"{}\">{}</span>", checked ? state : "not-checked",
                     escaped(hint), checked ? state : "n/a");
}

std::string tile(const std::string& name, const std::string& value) {
  return fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b></div>\n", name, typeset(value));
}

std::string worlds_legend() {
  return "<div class=\"legend\"><span><i style=\"background:var(--simulated)\"></i>simulated</span>"
         "<span><i style=\"background:var(--measured)\"></i>measured</span></div>\n";
}

std::string tiles_of_one(const json& document) {
  const auto& variant = document.at("variants").front();
  const auto step = figure_text(*find_figure(variant, "step_time"));
  const auto throughput = figure_text(*find_figure(variant, "throughput"));
  return tile("error of step time", step.error) + tile("its 95&nbsp;% interval", step.interval) +
         tile("noise floor of step time", step.noise_floor) + tile("error of throughput", throughput.error);
}

std::string head(const json& document) {
  const bool passed = document.at("passed");
  const auto& ranking = document.at("ranking");
  std::string text =
      fmt::format("<h1><small>Tandem validation report</small>{}</h1>\n", escaped(document.at("title")));
  text += fmt::format("<div class=\"verdict {0}\"><b>{0}</b>{1}</div>\n", passed ? "passed" : "failed",
                      escaped(document.at("verdict")));
  text += "<div class=\"tiles\">\n";
  if (document.at("variants").size() == 1) return text + tiles_of_one(document) + "</div>\n";
  text += tile("mean |error| of step time", percent(number_or_nan(document.at("mape"))));
  text += tile("bias of step time", signed_percent(number_or_nan(document.at("bias"))));
  text += tile("worst error", signed_percent(number_or_nan(document.at("worst").at("error"))));
  if (ranking.at("spearman").is_number()) {
    text += tile("rank agreement (Spearman)", three_digits(ranking.at("spearman")));
    text += tile("regret of choosing", percent(ranking.at("regret")));
  }
  return text + "</div>\n";
}

std::string overview(const json& document) {
  std::string text =
      "<h2>Step time</h2>\n<div "
      "class=\"scroll\"><table>\n<tr><th>Variant</th><th>Simulated</th><th>Measured</th>"
      "<th>Error</th><th>95&nbsp;% interval</th><th>Noise floor</th><th class=\"words\">Within margin</th>"
      "<th class=\"words\">Parity</th><th class=\"words\">Replay</th></tr>\n";
  const double tolerance = document.at("tolerance");
  for (const auto& variant : document.at("variants")) {
    const json& figure = *find_figure(variant, "step_time");
    const auto cells = figure_text(figure);
    const auto& gates = variant.at("gates");
    const bool beyond = std::abs(number_or_nan(figure.at("error"))) > tolerance;
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td{}>{}</td><td>{}</td><td>{}</td><td class=\"words\">{}</td>"
        "<td class=\"words\">{}</td><td class=\"words\">{}</td></tr>\n",
        escaped(variant.at("name")), typeset(cells.simulated), typeset(cells.measured),
        beyond ? " class=\"beyond\"" : "", typeset(cells.error), typeset(cells.interval),
        typeset(cells.noise_floor), cells.verdict == "-" ? "–" : badge(cells.verdict),
        badge(parity_state(variant), gates.at("operations").at("detail").get<std::string>() + "\n" +
                                         gates.at("decisions").at("detail").get<std::string>()),
        badge(gates.at("replay").at("state"), gates.at("replay").at("detail")));
  }
  text += "</table></div>\n";
  for (const auto& [gate, detail] : failed_gates(document))
    text += fmt::format("<h3>{}</h3><pre class=\"failed\">{}</pre>\n", escaped(gate), escaped(detail));
  text += "<ul class=\"remarks\">\n";
  for (const auto& remark : remarks(document)) text += "<li>" + escaped(remark) + "</li>\n";
  text += "</ul>\n";
  const auto count = document.at("variants").size();
  const auto height = 90 + 46 * count;
  text += fmt::format(
      "<div class=\"charts\">\n<div class=\"chart\"><h3>Mean step time</h3>{}<div style=\"height:{}px\">"
      "<canvas id=\"step-time\"></canvas></div></div>\n"
      "<div class=\"chart\"><h3>Error with its 95&nbsp;% interval</h3><div class=\"legend\"><span>"
      "<i style=\"background:#1a7f3726;outline:1px solid #1a7f3755\"></i>tolerance of {}</span></div><div "
      "style=\"height:{}px\">"
      "<canvas id=\"step-error\"></canvas></div></div>\n</div>\n",
      worlds_legend(), height, typeset(fmt::format("{:.3g} %", tolerance * 100)), height);
  return text;
}

std::string phases(const json& document) {
  const auto& variants = document.at("variants");
  std::string text =
      "<h2>Phases of a step</h2>\n<p class=\"lead\">Where the time of a mean step goes. A total that is "
      "right "
      "because two phases err in opposite directions shows here.</p>\n" +
      worlds_legend();
  text += fmt::format("<div class=\"charts{}\">\n", variants.size() == 1 ? " single" : "");
  for (std::size_t i = 0; i < variants.size(); ++i)
    text += fmt::format(
        "<div class=\"chart\"><h3>{}</h3><div style=\"height:230px\"><canvas "
        "id=\"phases-{}\"></canvas></div></div>\n",
        escaped(variants[i].at("name")), i);
  return text + "</div>\n";
}

bool has_accuracy(const json& variant) { return !variant.at("accuracy").at("simulated").empty(); }

std::string accuracy(const json& document) {
  const auto& variants = document.at("variants");
  std::string charts;
  std::size_t count = 0;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!has_accuracy(variants[i])) continue;
    ++count;
    charts += fmt::format(
        "<div class=\"chart\"><h3>{}</h3><div style=\"height:230px\"><canvas id=\"accuracy-{}\">"
        "</canvas></div></div>\n",
        escaped(variants[i].at("name")), i);
  }
  if (count == 0)
    return "<h2>Accuracy over time</h2>\n<p class=\"lead\">None: nothing was evaluated with real mathematics "
           "(workload.math, evaluate_every).</p>\n";
  return fmt::format(
      "<h2>Accuracy over time</h2>\n<p class=\"lead\">Test accuracy of the checkpoints; thin lines "
      "are further repetitions.</p>\n{}<div class=\"charts{}\">\n{}</div>\n",
      worlds_legend(), count == 1 ? " single" : "", charts);
}

std::string ranking(const json& document) {
  const auto& rows = document.at("ranking").at("variants");
  if (rows.size() < 2) return "";
  std::string table =
      "<div class=\"scroll\"><table>\n<tr><th>Variant</th><th>Simulated<br>(samples/s)</th><th>Place</th>"
      "<th>Measured<br>(samples/s)</th><th>Place</th></tr>\n";
  for (const auto& row : rows) {
    const int simulated = row.at("simulated_place"), measured = row.at("measured_place");
    table += fmt::format("<tr><td>{}</td><td>{}</td><td{}>{}</td><td>{}</td><td>{}</td></tr>\n",
                         escaped(row.at("name")), typeset(three_digits(row.at("simulated_throughput"))),
                         simulated == measured ? "" : " class=\"beyond\"", simulated,
                         typeset(three_digits(row.at("measured_throughput"))), measured);
  }
  const double regret = document.at("ranking").at("regret");
  return fmt::format(
      "<h2>Ranking by throughput</h2>\n<p class=\"lead\">Whoever takes the variant that the simulation likes "
      "best "
      "loses {} against the best measured one.</p>\n<div class=\"charts\"><div class=\"chart\">{}"
      "</table></div></div>\n<div class=\"chart\">{}<div style=\"height:{}px\"><canvas "
      "id=\"throughput\"></canvas>"
      "</div></div></div>\n",
      regret == 0 ? "no speed" : typeset(percent(regret)) + " of speed", table, worlds_legend(),
      70 + 42 * rows.size());
}

std::string timelines(const json& document) {
  std::string text =
      "<h2>A few steps, side by side</h2>\n<p class=\"lead\">From the first step after the warm-up; the "
      "first "
      "measured run. One pair of rows a worker, on one scale of time.</p>\n" +
      phase_legend(document.at("phases"));
  for (const auto& variant : document.at("variants"))
    text += fmt::format("<h3>{}</h3>\n{}", escaped(variant.at("name")),
                        timeline(variant.at("timeline"), document.at("phases")));
  return text;
}

std::string all_figures(const json& variant) {
  std::string rows;
  for (const auto& figure : variant.at("figures")) {
    const auto cells = figure_text(figure);
    const bool part = figure.at("key").get<std::string>().starts_with("phase.");
    rows += fmt::format(
        "<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td "
        "class=\"words\">{}</td></tr>\n",
        part ? " class=\"part\"" : "", escaped(figure.at("name")), typeset(cells.simulated),
        typeset(cells.measured), typeset(cells.error), typeset(cells.contribution), typeset(cells.interval),
        typeset(cells.noise_floor), cells.verdict == "-" ? "–" : badge(cells.verdict));
  }
  std::string gates;
  for (const char* gate : {"operations", "decisions", "replay"})
    gates += fmt::format("<dt>{} {}</dt><dd>{}</dd>\n", gate, badge(variant.at("gates").at(gate).at("state")),
                         escaped(variant.at("gates").at(gate).at("detail")));
  return fmt::format(
      "<details><summary>{}</summary><dl>{}</dl><div class=\"scroll\"><table>\n<tr><th>Figure</th>"
      "<th>Simulated</th><th>Measured</th><th>Error</th><th>Of step time</th><th>95&nbsp;% "
      "interval</th><th>Noise floor</th>"
      "<th class=\"words\">Within margin</th></tr>\n{}</table></div></details>\n",
      escaped(variant.at("name")), gates, rows);
}

/// "key: value · key: value" of an object of any depth; long lists by their length.
std::string key_values(const json& value, const std::string& prefix = "") {
  if (value.is_array() && value.size() > 4) return fmt::format("{}{} entries", prefix, value.size());
  if (!value.is_object()) return prefix + (value.is_string() ? value.get<std::string>() : value.dump());
  std::string text;
  for (const auto& [key, inner] : value.items())
    text += (text.empty() ? "" : " · ") + key_values(inner, key + ": ");
  return text.empty() ? prefix + "-" : text;
}

std::string environment(const json& document) {
  const auto& variant = document.at("variants").front();
  std::string text = "<h2>Environment and commands</h2>\n";
  for (const char* world : {"simulated", "measured"}) {
    const auto& info = variant.at("environment").at(world);
    const std::string profile = info.at("profile");
    text += fmt::format(
        "<h3 "
        "class=\"{0}\">{0}</h3>\n<dl><dt>Machine</dt><dd>{1}</dd><dt>Started</dt><dd>{2}</dd><dt>Versions</"
        "dt>"
        "<dd>{3}</dd><dt>Physics</dt><dd>{4}</dd><dt>Profile</dt><dd>{5}</dd></dl>\n",
        world, escaped(info.at("machine")), escaped(info.at("started")),
        escaped(key_values(info.at("versions"))), escaped(key_values(info.at("physics"))),
        profile.empty() ? "none" : escaped(profile));
  }
  text += fmt::format(
      "<dl><dt>Platform</dt><dd>{}</dd><dt>Seed</dt><dd>{}</dd><dt>Repetitions</dt><dd>{}</dd></dl>\n",
      escaped(variant.at("experiment").at("platform")), variant.at("experiment").at("seed").dump(),
      variant.at("repetitions").dump());
  text += "<h3>To repeat it</h3>\n<pre>";
  for (const auto& command : document.at("commands")) text += escaped(command) + "\n";
  return text + "</pre>\n";
}

std::string body(const json& document) {
  std::string text = head(document) + overview(document) + phases(document) + accuracy(document) +
                     ranking(document) + timelines(document) + "<h2>All figures</h2>\n";
  for (const auto& variant : document.at("variants")) text += all_figures(variant);
  return text + environment(document);
}

}  // namespace

std::string report_html(const json& document) {
  return html::fill(pieces::page, {{"title", escaped(document.at("title"))},
                                   {"style", std::string(pieces::style)},
                                   {"body", body(document)},
                                   {"data", html::json_in_script(document)},
                                   {"chart_library", std::string(pieces::chart_library)},
                                   {"script", std::string(pieces::script)}});
}

}  // namespace tandem::validation
