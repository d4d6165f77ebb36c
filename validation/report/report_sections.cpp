#include "validation/report/report_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/report/html.hpp"
#include "validation/report/report.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation::sections {
namespace {

using html::escaped;
using html::typeset;
using nlohmann::json;

std::string badge(const std::string& state, const std::string& hint = "") {
  const bool checked = state != "not checked";
  return fmt::format("<span class=\"badge {}\" title=\"{}\">{}</span>", checked ? state : "not-checked",
                     escaped(hint), checked ? state : "n/a");
}

std::string verdict_badge(const std::string& verdict) { return verdict == "-" ? "–" : badge(verdict); }

bool is_phase(const json& figure) { return figure.at("key").get<std::string>().starts_with("phase."); }

std::string errors_table(const json& set, double tolerance) {
  std::string text =
      "<div class=\"scroll\"><table class=\"dense\">\n<tr><th>Figure</th><th>Bias</th><th>Mean "
      "|error|</th><th>90&nbsp;% interval</th><th>Median</th><th>p95</th><th>Largest</th><th "
      "class=\"words\">in</th><th>Noise floor</th><th>Error<br>over noise</th><th>Of step time</th>"
      "<th title=\"configurations by two one-sided tests: within the margin, undecided, beyond it\">"
      "Within margin<br>yes / unclear / no</th></tr>\n";
  for (const auto& errors : set.at("errors")) {
    const auto cells = error_text(errors);
    const bool beyond = errors.at("key") == "step_time" && number_or_nan(errors.at("mape")) > tolerance;
    text += fmt::format(
        "<tr{}><td>{}</td><td>{}</td><td{}>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td "
        "class=\"words name\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        is_phase(errors) ? " class=\"part\"" : "", escaped(errors.at("name")), typeset(cells.bias),
        beyond ? " class=\"beyond\"" : "", typeset(cells.mape), typeset(cells.interval),
        typeset(cells.median), typeset(cells.p95), typeset(cells.largest),
        escaped(errors.at("largest_configuration")), typeset(cells.noise_floor), typeset(cells.over_noise),
        typeset(cells.of_step_time), typeset(cells.verdicts));
  }
  text += "</table></div>\n";
  int undefined = 0;
  for (const auto& errors : set.at("errors")) undefined += errors.at("undefined").get<int>();
  if (undefined > 0)
    text += fmt::format(
        "<p class=\"lead\">{} relative errors are undefined because the measured value is 0; they are in no "
        "mean.</p>\n",
        undefined);
  return text;
}

std::string attribution_table(const json& attribution) {
  std::string text =
      "<table class=\"narrow\">\n<tr><th>Where the error of step time comes from</th><th>Share</th></tr>\n";
  for (const auto& part : attribution.at("parts"))
    text += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped(attribution_text(part)),
                        typeset(signed_percent(part.at("share"))));
  const auto& others = attribution.at("others");
  if (const int parts = others.at("parts"); parts > 0)
    text += fmt::format("<tr><td>{} smaller parts</td><td>{}</td></tr>\n", parts,
                        typeset(signed_percent(others.at("share"))));
  return text + fmt::format("<tr class=\"total\"><td>error of step time</td><td>{}</td></tr></table>\n",
                            typeset(signed_percent(attribution.at("total"))));
}

std::string metrics_table(const json& configuration) {
  std::string text =
      "<table class=\"narrow\">\n<tr><th>Of the whole run</th><th>Simulated</th><th>Measured</th></tr>\n";
  for (const auto& row : metric_rows(configuration))
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(row.name),
                        typeset(row.simulated), typeset(row.measured));
  text += "</table>\n";
  const std::string target = target_text(configuration);
  return target.empty() ? text : text + "<p>" + escaped(target) + "</p>\n";
}

/// Shares of time and bytes of single workers, "simulated / measured" in a cell.
std::string workers_table(const json& ranks) {
  struct Column {
    const char* title;
    const char* place;
    Unit unit;
  };
  constexpr Column columns[] = {{"Computing", "/shares/computing", Unit::ratio},
                                {"Data", "/shares/data", Unit::ratio},
                                {"Query", "/shares/query", Unit::ratio},
                                {"Exchange", "/shares/exchange", Unit::ratio},
                                {"of it waiting", "/exchange_shares/waiting", Unit::ratio},
                                {"Other", "/shares/other", Unit::ratio},
                                {"Sent", "/bytes_sent", Unit::bytes},
                                {"Received", "/bytes_received", Unit::bytes}};
  std::string text =
      "<div class=\"scroll\"><table class=\"dense\">\n<tr><th>Worker, simulated / measured</th>";
  for (const auto& column : columns) text += fmt::format("<th>{}</th>", column.title);
  text += "</tr>\n";
  for (const auto& rank : ranks.at("ranks")) {
    text += "<tr><td>" + escaped(rank.at("label")) + "</td>";
    for (const auto& column : columns) {
      const auto value = [&](const char* world) {
        const json::json_pointer at(std::string("/") + world + column.place);
        return with_unit(rank.contains(at) ? number_or_nan(rank.at(at)) : number_or_nan(nullptr),
                         column.unit);
      };
      text += fmt::format("<td>{} / {}</td>", typeset(value("simulated")), typeset(value("measured")));
    }
    text += "</tr>\n";
  }
  text += "</table></div>\n";
  if (const int left = ranks.at("left_out"); left > 0)
    text += fmt::format("<p class=\"lead\">{} further workers are in summary.json.</p>\n", left);
  return text;
}

std::string figures_of(const json& configuration) {
  std::string rows;
  const bool witness = has_witness(configuration);
  for (const auto& figure : configuration.at("figures")) {
    const auto cells = figure_text(figure);
    rows += fmt::format(
        "<tr{}><td>{}</td><td>{}</td>{}<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td "
        "class=\"words\">{}</td></tr>\n",
        is_phase(figure) ? " class=\"part\"" : "", escaped(figure.at("name")), typeset(cells.simulated),
        witness ? "<td>" + typeset(cells.witness) + "</td>" : std::string(), typeset(cells.measured),
        typeset(cells.error), typeset(cells.contribution), typeset(cells.interval),
        typeset(cells.noise_floor), verdict_badge(cells.verdict));
  }
  std::string gates;
  for (const char* gate : {"operations", "decisions", "replay"}) {
    const auto& found = configuration.at("gates").at(gate);
    gates += fmt::format("<dt>{} {}</dt><dd>{}</dd>\n", gate, badge(found.at("state")),
                         escaped(found.at("detail")));
  }
  return fmt::format(
      "<details><summary>{}</summary><dl>{}</dl><div class=\"scroll\"><table>\n<tr><th>Figure</th>"
      "<th>Simulated</th>{}<th>Measured</th><th>Error</th><th>Of step time</th><th>95&nbsp;% "
      "interval</th><th>Noise floor</th>"
      "<th class=\"words\">Within margin</th></tr>\n{}</table></div>\n{}{}{}</details>\n",
      escaped(configuration.at("name")), gates, witness ? "<th>Under SMPI</th>" : "", rows,
      attribution_table(configuration.at("attribution")), metrics_table(configuration),
      workers_table(configuration.at("detail").at("ranks")));
}

std::string quantile_cells(const json& times) {
  std::string text;
  for (const std::size_t i : {0, 2, 3}) {
    const double measured = times.at("measured")[i];
    text += fmt::format("<td>{}<br>{}</td>",
                        typeset(with_unit(times.at("simulated")[i], Unit::seconds, measured)),
                        typeset(with_unit(measured, Unit::seconds)));
  }
  return text;
}

std::string configuration_row(const json& configuration, double tolerance, bool split) {
  const std::string set =
      split ? "<td class=\"words\">" + escaped(configuration.at("set")) + "</td>" : std::string();
  const std::string name = escaped(configuration.at("name"));
  if (configuration.at("failure") != "")
    return fmt::format("<tr><td>{}</td>{}<td class=\"beyond words\" colspan=\"12\">failed</td></tr>\n", name,
                       set);
  const json& figure = *find_figure(configuration, "step_time");
  const auto cells = figure_text(figure);
  const auto& gates = configuration.at("gates");
  const auto& times = configuration.at("step_times");
  const bool beyond = std::abs(number_or_nan(figure.at("error"))) > tolerance;
  return fmt::format(
      "<tr><td>{}</td>{}<td>{}</td><td>{}</td><td{}>{}</td><td>{}</td><td>{}</td><td "
      "class=\"words\">{}</td>{}<td>{}</td><td>{}</td><td class=\"words\">{}</td><td "
      "class=\"words\">{}</td></tr>\n",
      name, set, typeset(cells.simulated), typeset(cells.measured), beyond ? " class=\"beyond\"" : "",
      typeset(cells.error), typeset(cells.interval), typeset(cells.noise_floor), verdict_badge(cells.verdict),
      quantile_cells(times), typeset(three_digits(times.at("kolmogorov"))),
      typeset(percent(times.at("wasserstein"))),
      badge(parity_state(configuration), gates.at("operations").at("detail").get<std::string>() + "\n" +
                                             gates.at("decisions").at("detail").get<std::string>()),
      badge(gates.at("replay").at("state"), gates.at("replay").at("detail")));
}

/// "key: value · key: value" of an object of any depth; long lists by their length.
std::string key_values(const json& value, const std::string& prefix = "") {
  constexpr std::size_t longest = 160;
  if (value.is_array() && (value.size() > 4 || value.dump().size() > longest))
    return fmt::format("{}{} entries", prefix, value.size());
  if (!value.is_object()) return prefix + (value.is_string() ? value.get<std::string>() : value.dump());
  std::string text;
  for (const auto& [key, inner] : value.items())
    text += (text.empty() ? "" : " · ") + key_values(inner, key + ": ");
  return text.empty() ? prefix + "-" : text;
}

std::string profiles(const json& document) {
  std::string text;
  for (const auto& profile : document.at("profiles")) {
    const json& settings = profile.at("settings_of");
    text += fmt::format(
        "<dt>Profile</dt><dd>{}<br>measured {} by <code>{}</code>{}; used by {} configuration{}</dd>\n",
        escaped(profile.at("path")), escaped(profile.value("date", "never")),
        escaped(profile.value("command", "-")),
        settings.is_string() ? " with the settings of " + escaped(settings) : std::string(),
        profile.at("configurations").size(), profile.at("configurations").size() == 1 ? "" : "s");
  }
  return text;
}

/// Many commands would fill pages; those left out are in report.json.
std::string commands(const json& document) {
  constexpr std::size_t most = 60;
  const auto& all = document.at("commands");
  std::string text = "<h3>To repeat it</h3>\n<pre>";
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += escaped(all[i]) + "\n";
  text += "</pre>\n";
  if (all.size() > most)
    text += fmt::format("<p class=\"lead\">{} further commands are in report.json.</p>\n", all.size() - most);
  return text;
}

/// A chart that a configuration may have nothing for; then a sentence says why.
std::string optional_chart(const std::string& id, const std::string& title) {
  return fmt::format(
      "<div class=\"chart\"><h3>{1}</h3><div style=\"height:250px\"><canvas id=\"{0}\"></canvas></div><p "
      "class=\"lead\" id=\"no-{0}\"></p></div>\n",
      id, title);
}

std::string detail_note(const json& document) {
  const auto compared = compared_configurations(document);
  const auto shown = std::count_if(compared.begin(), compared.end(),
                                   [](const json* c) { return !c->at("detail").is_null(); });
  if (static_cast<std::size_t>(shown) == compared.size()) return "";
  return fmt::format(
      "<p class=\"lead\">Of {} configurations, {} are shown in detail: the {} with the largest errors of "
      "step "
      "time and {} chosen evenly. The result directories hold all.</p>\n",
      compared.size(), shown, most_worst_details, most_even_details);
}

}  // namespace

std::string caveats(const json& document) {
  std::string text;
  for (const auto* failed : failed_configurations(document))
    text += fmt::format("<h3>{}: failed</h3><pre class=\"failed\">{}</pre>\n", escaped(failed->at("name")),
                        escaped(failed->at("failure")));
  for (const auto& [gate, detail] : failed_gates(document))
    text += fmt::format("<h3>{}</h3><pre class=\"failed\">{}</pre>\n", escaped(gate), escaped(detail));
  text += "<ul class=\"remarks\">\n";
  for (const auto& remark : remarks(document)) text += "<li>" + escaped(remark) + "</li>\n";
  return text + "</ul>\n";
}

std::string errors(const json& document) {
  const double tolerance = document.at("tolerance");
  const auto& sets = document.at("sets");
  std::string text = "<h2>Errors over configurations</h2>\n";
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto& set = sets[i];
    if (set.at("errors").empty()) continue;
    const std::string name = set.at("name");
    const std::string table =
        errors_table(set, tolerance) +
        fmt::format(
            "<p class=\"lead\">Distributions of step times, mean over configurations: Kolmogorov–Smirnov "
            "distance {}, Wasserstein-1 {} of the measured mean.</p>\n",
            typeset(three_digits(set.at("mean_kolmogorov"))), typeset(percent(set.at("mean_wasserstein"))));
    const std::string title =
        fmt::format("{} ({} configurations)", name == "all" ? "all configurations" : name + " set",
                    set.at("configurations").get<int>() - set.at("failed").get<int>());
    text += i == 0 ? fmt::format("<h3>{}</h3>\n{}", title, table)
                   : fmt::format("<details><summary>{}</summary>{}</details>\n", title, table);
  }
  return text;
}

std::string phases_and_hosts(const json& document) {
  const std::size_t hosts = std::min<std::size_t>(document.at("hosts").size(), 16);
  std::string note;
  if (document.at("hosts").size() > hosts)
    note = fmt::format("<p class=\"lead\">The {} hosts with the largest errors of {}.</p>", hosts,
                       document.at("hosts").size());
  return fmt::format(
      "<h2>Where the error is</h2>\n<p class=\"lead\">A total that is right because two phases err in "
      "opposite "
      "directions shows here: the contributions of the phases add up to the error of step time.</p>\n"
      "<div class=\"charts\">\n<div class=\"chart\"><h3>By phase, of step time</h3><div class=\"legend\">"
      "<span><i class=\"bias\"></i>mean (signed)</span><span><i class=\"absolute\"></i>mean of absolute "
      "values</span></div><div style=\"height:270px\"><canvas id=\"phase-errors\"></canvas></div></div>\n"
      "<div class=\"chart\"><h3>By host, step time of its ranks</h3><div class=\"legend\"><span><i "
      "class=\"bias\"></i>mean (signed)</span><span><i class=\"absolute\"></i>mean of absolute values</span>"
      "</div><div style=\"height:{}px\"><canvas id=\"host-errors\"></canvas></div>{}</div>\n</div>\n",
      std::max<std::size_t>(150, 60 + 34 * hosts), note);
}

std::string explorer(const json& document) {
  std::string options;
  const auto compared = compared_configurations(document);
  for (const auto* configuration : detailed_configurations(document))
    options += fmt::format("<option>{} ({})</option>", escaped(configuration->at("name")),
                           typeset(figure_text(*find_figure(*configuration, "step_time")).error));
  if (options.empty()) return "";
  return fmt::format(
      "<h2>One configuration, closely</h2>\n{}<p{}><label>Configuration <select "
      "id=\"chosen\">{}</select></label></p>\n<h3 id=\"chosen-name\"></h3>\n"
      "<div class=\"legend\"><span><i class=\"simulated-box\"></i>simulated</span><span><i "
      "class=\"measured-box\"></i>measured</span></div>\n"
      "<div class=\"charts\">\n<div class=\"chart\"><h3>Phases of a mean step</h3><div "
      "style=\"height:250px\"><canvas id=\"phases\"></canvas></div></div>\n"
      "<div class=\"chart\"><h3>Distribution of step times</h3><div style=\"height:250px\"><canvas "
      "id=\"cdf\">"
      "</canvas></div></div>\n"
      "<div class=\"chart\"><h3>Largest parts of the error of step time</h3><div id=\"attribution\"></div>"
      "</div>\n<div class=\"chart\"><h3>Where the time of workers went</h3><div id=\"shares-legend\" "
      "class=\"legend\"></div><div id=\"shares-part\"><canvas id=\"shares\"></canvas></div><p class=\"lead\" "
      "id=\"no-shares\"></p></div>\n{}</div>\n"
      "<div class=\"timeline-part\"><h3>A few steps, simulated above measured</h3><p class=\"lead\">From the "
      "first step after the warm-up; the first measured run. <span class=\"screen\">Wheel or buttons zoom, "
      "dragging moves, pointing tells.</span></p><div class=\"toolbar\"><button id=\"zoom-in\" "
      "type=\"button\">Zoom in</button><button id=\"zoom-out\" type=\"button\">Zoom out</button><button "
      "id=\"zoom-all\" type=\"button\">All</button></div><div id=\"timeline-legend\" class=\"legend\"></div>"
      "<div id=\"timeline\" class=\"timeline\"></div><p class=\"lead\" id=\"ranks-left-out\"></p></div>\n",
      detail_note(document), compared.size() == 1 ? " hidden" : "", options,
      optional_chart("accuracy", "Test accuracy over time") +
          optional_chart("accuracy-samples", "Test accuracy over samples") +
          optional_chart("staleness", "Staleness of applied pushes") +
          optional_chart("local-steps", "Local steps a round"));
}

std::string configurations(const json& document) {
  const double tolerance = document.at("tolerance");
  const bool split = document.at("sets").size() > 1;
  const auto& all = document.at("configurations");
  std::string text = fmt::format(
      "<h2>All figures</h2>\n<p class=\"lead\">Quantiles of step time: simulated above measured. KS: "
      "Kolmogorov–Smirnov distance of the distributions. W1: Wasserstein-1 over the measured mean.</p>\n"
      "<div class=\"scroll tall\"><table "
      "class=\"dense\">\n<thead><tr><th>Configuration</th>{}<th>Simulated</th><th>Measured</th><th>Error</th>"
      "<th>95&nbsp;% interval</th><th>Noise floor</th><th class=\"words\">Within "
      "margin</th><th>P50</th><th>P95</th><th>P99</th><th>KS</th><th>W1</th><th "
      "class=\"words\">Parity</th><th "
      "class=\"words\">Replay</th></tr></thead>\n",
      split ? "<th class=\"words\">Set</th>" : "");
  for (const auto& configuration : all) text += configuration_row(configuration, tolerance, split);
  text += "</table></div>\n" + detail_note(document);
  for (const auto* configuration : detailed_configurations(document)) text += figures_of(*configuration);
  return text;
}

std::string environment(const json& document) {
  const auto compared = compared_configurations(document);
  std::string text = "<h2>Environment and commands</h2>\n";
  if (!compared.empty()) {
    const auto& configuration = *compared.front();
    for (const char* world : {"simulated", "measured"}) {
      const auto& info = configuration.at("environment").at(world);
      text += fmt::format(
          "<h3 class=\"{0}\">{0}</h3>\n<dl><dt>Machine</dt><dd>{1}</dd><dt>Started</dt><dd>{2}</dd>"
          "<dt>Versions</dt><dd>{3}</dd><dt>Physics</dt><dd>{4}</dd></dl>\n",
          world, escaped(info.at("machine")), escaped(info.at("started")),
          escaped(key_values(info.at("versions"))), escaped(key_values(info.at("physics"))));
    }
    text += fmt::format(
        "<dl><dt>Platform</dt><dd>{}</dd><dt>Seed</dt><dd>{}</dd><dt>Repetitions</dt><dd>{}</dd>{}</dl>\n",
        escaped(configuration.at("experiment").at("platform")),
        configuration.at("experiment").at("seed").dump(), configuration.at("repetitions").dump(),
        profiles(document));
    if (compared.size() > 1)
      text += "<p class=\"lead\">Of the first configuration; those of the others are in report.json.</p>\n";
  }
  return text + commands(document);
}

}  // namespace tandem::validation::sections
