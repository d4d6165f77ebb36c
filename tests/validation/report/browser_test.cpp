// The report's page in a real browser, for one, several and many configurations: no network requests, no
// script errors, no empty charts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <tuple>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/support/made_study.hpp"
#include "tests/support/member_results.hpp"
#include "tests/support/synthetic_results.hpp"
#include "validation/report/lifetimes_page.hpp"
#include "validation/report/members.hpp"
#include "validation/report/plan_page.hpp"
#include "validation/report/predictor_page.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_page.hpp"
#include "validation/report/results_page.hpp"
#include "validation/report/scaling_page.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::many_variants;
using ::testing::Not;
using testing::six_variants;
using testing::synthetic_variant;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return rest_of(file);
}

std::string page_of(const std::vector<VariantResults>& variants) {
  const CompareOptions quick{.resampling = {.resamples = 50}};
  return report_html(make_report(variants, validate(variants, 0.1, quick), {.title = "lab", .commands = {}}));
}

/// Runs after the page's own scripts: counts blank canvases, and operates the controls.
const char* const probe = R"js(<script>
(() => {
  const blank = canvas => {
    const {width, height} = canvas;
    if (width === 0 || height === 0) return true;
    const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
    const seen = new Set();
    for (let at = 0; at < pixels.length; at += 4)
      if (pixels[at + 3] > 0) seen.add((pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2]);
    return seen.size < 3;
  };
  const shown = [...document.querySelectorAll('canvas')].filter(canvas => !canvas.parentElement.hidden);
  document.body.dataset.charts = shown.length;
  document.querySelectorAll('details').forEach(part => { part.open = true; });
  setTimeout(() => {
    document.body.dataset.wide = [...document.querySelectorAll('.scroll, .drawing')].filter(frame =>
      frame.scrollWidth > frame.clientWidth + 1).length;
  }, 100);
  document.body.dataset.blank = shown.filter(blank).map(canvas => canvas.id).join(' ') || 'none';
  const chosen = document.getElementById('chosen');
  for (let i = 0; chosen && i < chosen.options.length; ++i) {
    chosen.selectedIndex = i;
    chosen.dispatchEvent(new Event('change'));
  }
  const bar = document.querySelector('#timeline svg');
  const before = bar && bar.getAttribute('viewBox');
  const zoom = document.getElementById('zoom-in');
  if (zoom) zoom.click();
  document.body.dataset.zooms = bar && document.querySelector('#timeline svg').getAttribute('viewBox') !== before;
  document.body.dataset.slices = document.querySelectorAll('#timeline rect').length;
  window.addEventListener('load', () => {
    document.body.dataset.requests = performance.getEntriesByType('resource').length;
  });
})();
</script></body>)js";

/// Runs Chromium on a page and collects its output.
class Browser {
 public:
  static bool is_installed() { return std::system("command -v chromium > /dev/null 2>&1") == 0; }
  explicit Browser(std::string html) {
    directory_ = fs::temp_directory_path() / ("tandem_report_" + std::to_string(getpid()));
    fs::create_directories(directory_);
    std::ofstream(directory_ / "page.html") << html;
    if (const char* kept = std::getenv("TANDEM_KEEP_PAGES"))
      std::ofstream(fs::path(kept) /
                    (::testing::UnitTest::GetInstance()->current_test_info()->name() + std::string(".html")))
          << html;
    const auto end = html.rfind("</body>");
    if (end != std::string::npos) html.replace(end, std::string("</body>").size(), probe);
    std::ofstream(directory_ / "probed.html") << html;
    // Network requests of the page would be refused, and logged.
    const std::string command =
        "timeout 120 chromium --headless --no-sandbox --disable-gpu --window-size=1300,800 "
        "--proxy-server=127.0.0.1:9 "
        "--user-data-dir=" +
        (directory_ / "profile").string() + " --enable-logging=stderr --v=0 --virtual-time-budget=20000 " +
        "--dump-dom file://" + (directory_ / "probed.html").string() + " > " + (directory_ / "dom").string() +
        " 2> " + (directory_ / "log").string();
    status = std::system(command.c_str());
    dom = read(directory_ / "dom");
    log = read(directory_ / "log");
  }
  ~Browser() { fs::remove_all(directory_); }

  /// The page's console output; Chromium's own pages also write to the log.
  std::string console() const {
    std::string lines;
    std::istringstream text(log);
    for (std::string line; std::getline(text, line);)
      if (line.find("CONSOLE") != std::string::npos && line.find("source: chrome://") == std::string::npos)
        lines += line + "\n";
    return lines;
  }

  std::string noted(const std::string& name) const {
    std::smatch match;
    const std::string tag = dom.substr(std::min(dom.size(), dom.find("<body")), 400);
    return std::regex_search(tag, match, std::regex("data-" + name + "=\"([^\"]*)\"")) ? match[1].str() : "";
  }

  int status;
  std::string dom;
  std::string log;

 private:
  fs::path directory_;
};

void expect_good(const Browser& browser, int charts) {
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("charts"), std::to_string(charts));
  EXPECT_EQ(browser.noted("blank"), "none");
  EXPECT_EQ(browser.noted("requests"), "0");
  EXPECT_EQ(browser.noted("wide"), "0") << "tables wider than a page of 1,300 pixels";
  EXPECT_EQ(browser.noted("zooms"), "true");
  EXPECT_GT(std::atoi(browser.noted("slices").c_str()), 20);
}

// Charts: scatter, errors, phases and hosts; for the selected configuration phases, distribution, time
// shares, accuracy over time and samples, and phases of workers in both worlds; throughput of one group. With
// six configurations, the first selected one has staleness; with many, it has no accuracy.
TEST(LongReportInABrowser, OneConfiguration) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  expect_good(Browser(page_of({synthetic_variant({})})), 11);
}

TEST(LongReportInABrowser, OneConfigurationWithoutAccuracy) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const Browser browser(page_of({synthetic_variant({.accuracy = false, .cache = true}, {.repetitions = 1})}));
  expect_good(browser, 11);
  EXPECT_THAT(browser.dom, HasSubstr("From where samples came"));
  EXPECT_THAT(browser.dom, HasSubstr("nothing was evaluated with real mathematics"));
  EXPECT_THAT(browser.dom, HasSubstr("<th class=\"words\">Figure</th>"));
  EXPECT_THAT(browser.dom, HasSubstr("<div class=\"banner passed"));
}

VariantResults with_departures() {
  auto variant = synthetic_variant({.name = "asp", .algorithm = "asp", .rounds = 200});
  testing::set_members(variant.simulated, testing::two_departures());
  for (auto& run : variant.measured) testing::set_members(run, testing::two_departures(0.02));
  return variant;
}

// Staleness, and live workers over time, too.
TEST(LongReportInABrowser, MachinesThatDepart) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const Browser browser(page_of({with_departures()}));
  expect_good(browser, 13);
  EXPECT_THAT(browser.dom, HasSubstr("<title>machine 1, 0 µs to 1 s</title>"));
  EXPECT_THAT(browser.dom, HasSubstr("<title>no machine, 1 s to 1.5 s</title>"));
  EXPECT_THAT(browser.dom, HasSubstr("<title>machine 1 departed (revoked) at 2 s</title>"));
  EXPECT_THAT(browser.dom, HasSubstr("<title>machine 2 joined at 1.52 s</title>"));
}

TEST(LongReportInABrowser, JobsThatStartAgain) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  auto variant = with_departures();
  variant.simulated.info.generations = testing::three_launches();
  for (auto& run : variant.measured) run.info.generations = testing::three_launches(0.25);
  const Browser browser(page_of({variant}));
  expect_good(browser, 13);
  EXPECT_THAT(browser.dom, HasSubstr("<title>launch 1, 1.5 s to 2 s</title>"));
  EXPECT_THAT(browser.dom, HasSubstr("<title>launch 2, 2 s to 2.25 s</title>"));
  EXPECT_THAT(browser.dom, HasSubstr("<title>launch 2, 2 s to 2.5 s</title>"));
  EXPECT_THAT(browser.dom, HasSubstr("</i>ranks launched again</span>"));
  EXPECT_THAT(browser.dom, HasSubstr("<h2>Launches of jobs that started again</h2>"));
  EXPECT_THAT(Browser(page_of({with_departures()})).dom, Not(HasSubstr("</i>ranks launched again</span>")));
}

TEST(LongReportInABrowser, SixConfigurations) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  expect_good(Browser(page_of(six_variants())), 13);
}

TEST(LongReportInABrowser, FiveHundredConfigurations) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const std::string page = page_of(many_variants(500));
  EXPECT_LT(page.size(), 15'000'000U);
  expect_good(Browser(page), 9);
}

/// Sorts by throughput, and marks the first two rows.
const char* const results_probe = R"js(<script>
(() => {
  const heading = [...document.querySelectorAll('#results th')].find(one => one.textContent.startsWith('throughput'));
  heading.click();
  const boxes = () => [...document.querySelectorAll('#results input')];
  boxes()[0].click();
  boxes()[1].click();
  const texts = selector => [...document.querySelectorAll(selector)].map(one => one.textContent).join('|');
  document.body.dataset.order = texts('#results tbody td:nth-child(2)');
  document.body.dataset.heads = texts('#compared th');
  document.body.dataset.difference = [...document.querySelectorAll('#compared tr')]
    .find(row => row.textContent.startsWith('throughput')).lastChild.textContent;
})();
</script></body>)js";

lifetimes::SurvivalCurve curve_of(std::initializer_list<double> survivals) {
  lifetimes::SurvivalCurve curve;
  curve.last = 2400.0;
  lifetimes::SurvivalStep step{};
  for (const double survival : survivals) {
    const bool is_known = survival > 0.0;
    step.time += 600.0;
    step.survival = survival;
    step.lower = is_known ? 0.8 * survival : lifetimes::no_value;
    step.upper = is_known ? 0.2 + 0.8 * survival : lifetimes::no_value;
    curve.steps.push_back(step);
  }
  return curve;
}

/// The first hour was not observed, and the second one has no departures.
lifetimes::HoursOfDay made_hours() {
  lifetimes::HoursOfDay found{.statistic = 61.0, .degrees = 22, .p_value = 1e-5, .aic_difference = -17.0};
  found.hours.assign(24, {.deaths = 4.0, .time = 3600.0, .factor = 24.0 / 22, .lower = 0.3, .upper = 2.8});
  found.hours[0] = {};
  found.hours[1] = {.deaths = 0.0, .time = 3600.0, .factor = 0.0, .lower = 0.0, .upper = 1.0};
  found.options = {{"by_hour", std::string("1,0,1.1")}, {"start_hour", 0.0}};
  return found;
}

// The curve with its models, that of groups, of which one has no departure, and departures by age and hour.
TEST(LongLifetimesInABrowser, OfTwoGroups) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const EstimatedLifetimes estimated{
      .median = 1200.0,
      .mean = {2400.0, {1500.0, 100.0, 1300.0, 1700.0}},
      .models = {{.fitted = {.model = "exponential",
                             .parameters = {{"mean", 1000.0, 400.0, lifetimes::no_value}},
                             .log_likelihood = -34.0,
                             .aic = 70.0,
                             .options = {},
                             .ends = {}},
                  .points = {{0.0, 1.0}, {1200.0, 0.3}, {2400.0, 0.1}}}},
      .chosen = {"exponential", {{"mean", 1000.0}, {"lost", 0.5}}},
      .by_age = {{.begin = 0.0,
                  .end = 1200.0,
                  .deaths = 2.0,
                  .time = 6000.0,
                  .rate = 3e-4,
                  .lower = 4e-5,
                  .upper = 1e-3},
                 {.begin = 1200.0,
                  .end = 2400.0,
                  .deaths = 2.0,
                  .time = 3000.0,
                  .rate = 7e-4,
                  .lower = 8e-5,
                  .upper = 2e-3},
                 {.begin = 2400.0, .end = 3600.0}},
      .by_hour = made_hours()};
  LifetimesFit fit{.file = "lifetimes.csv",
                   .all = {.machines = 6.0,
                           .revoked = 2.0,
                           .failed = 2.0,
                           .censored = 2.0,
                           .observed_s = 9000.0,
                           .curve = curve_of({0.8, 0.5, 0.2, 0.0}),
                           .estimated = estimated},
                   .confidence = 0.95,
                   .intervals = "profile likelihood"};
  LifetimesSample group = fit.all, alive = fit.all;
  group.values["region"] = "<b>west</b>";
  alive.values["region"] = "east";
  alive.curve.steps.clear();
  alive.estimated.reset();
  fit.groups = {group, alive};
  const Browser browser(lifetimes_html(fit));
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("charts"), "4");
  EXPECT_EQ(browser.noted("blank"), "none");
  EXPECT_EQ(browser.noted("requests"), "0");
  EXPECT_EQ(browser.noted("wide"), "0");
  EXPECT_THAT(browser.dom, HasSubstr("</i>exponential</span>"));
  EXPECT_THAT(browser.dom, HasSubstr("by_hour: \"1,0,1.1\""));
  EXPECT_THAT(browser.dom, HasSubstr("region &lt;b&gt;west&lt;/b&gt;"));
  EXPECT_THAT(browser.dom, HasSubstr("mean 1,000 (400.0 to no bound)"));
}

// Predicted against measured, and the errors of groups; the name of a group stays a text.
TEST(LongPredictorInABrowser, OfTwoDevices) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  PredictorPage predictor{
      .title = "step_time of <b>steps.csv</b>",
      .answer = "t4: mean error 12 %",
      .warnings = {"few groups"},
      .confidence = 0.9,
      .devices = {{"t4", "additive", "3", "12 %", "10 %", "20 %", "net3", "+1 %", "2 of 3", "-"}},
      .forms = {{"t4", "mean", "-", "-", "-", "-", "-", "not fitted: two points"}},
      .notes = {"features: launches"},
      .command = "tandem fit speed steps.csv"};
  for (const char* device : {"t4", "v100"})
    for (const double step_s : {0.1, 0.2, 0.4})
      predictor.points.push_back(
          {device, "<i>net</i>" + std::to_string(step_s), step_s, 1.1 * step_s, 0.9 * step_s, 1.3 * step_s});
  const Browser browser(predictor_html(predictor));
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("charts"), "2");
  EXPECT_EQ(browser.noted("blank"), "none");
  EXPECT_EQ(browser.noted("requests"), "0");
  EXPECT_EQ(browser.noted("wide"), "0");
  EXPECT_THAT(browser.dom, HasSubstr("</i>v100</span>"));
  EXPECT_THAT(browser.dom, HasSubstr("not fitted: two points"));
  EXPECT_THAT(browser.dom, HasSubstr("step_time of &lt;b&gt;steps.csv&lt;/b&gt;"));
}

// The speed by the number of workers with its band and caps.
TEST(LongScalingInABrowser, OfThreeNumbers) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  ScalingPage scaling{.title = "job/<b>asp</b>",
                      .advice = {"From 2 servers on"},
                      .notes = {"bound"},
                      .command = "tandem predict"};
  for (const int workers : {1, 2, 4})
    scaling.points.push_back({.workers = workers,
                              .speed = 100.0 * workers / (1.0 + 0.1 * workers),
                              .slowest = 60.0 * workers,
                              .fastest = 100.0 * workers,
                              .by_workers = 110.0 * workers,
                              .by_servers = workers > 1 ? std::optional(350.0) : std::nullopt,
                              .binds = "link a, by pushes"});
  const Browser browser(scaling_html(scaling));
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("charts"), "1");
  EXPECT_EQ(browser.noted("blank"), "none");
  EXPECT_EQ(browser.noted("requests"), "0");
  EXPECT_EQ(browser.noted("wide"), "0");
  EXPECT_THAT(browser.dom, HasSubstr("</i>servers alone</span>"));
  EXPECT_THAT(browser.dom, Not(HasSubstr("</i>network alone</span>")));
  EXPECT_THAT(browser.dom, HasSubstr("job/&lt;b&gt;asp&lt;/b&gt;"));
}

/// Two configurations that were lived through, of which one does not always end, and two estimates.
PlanPage made_plan() {
  const nlohmann::json uses = {{"useful", 1.5}, {"wasted", 0.2}, {"idle", 0.1}, {"waiting", 0.2}};
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [way, time_s, cost] : {std::tuple{"ring", 7200.0, 2.0}, {"bsp", 3600.0, 4.0}})
    rows.push_back({{"offer", "made/<b>here</b>/one/spot"},
                    {"machines", 2},
                    {"way", way},
                    {"time_s", {{"median", time_s}, {"low", 0.9 * time_s}, {"high", 1.2 * time_s}}},
                    {"cost", {{"median", cost}, {"low", 0.9 * cost}, {"high", 1.1 * cost}}},
                    {"mean_cost", cost},
                    {"uses", uses},
                    {"lost_by", way == std::string("ring") ? "chosen" : "+100 % cost"}});
  rows[1]["time_s"]["high"] = nullptr;
  return {
      .title = "plan of <b>one</b>",
      .question = "Which machines?",
      .answer = "2 x made/here/one/spot, ring",
      .points = {"Binds: computing"},
      .is_met = true,
      .columns = {"#", "machines", "way", "commits", "time h (5 to 95 %)", "cost $ (5 to 95 %)", "lost by"},
      .rows = {{"1", "2 x made/here/one/spot", "ring", "-", "2 (1.8 to 2.4)", "2 (1.8 to 2.2)", "chosen"},
               {"2", "2 x made/here/one/spot", "bsp", "-", "1 (0.9 to never)", "4 (3.6 to 4.4)",
                "+100 % cost"}},
      .shown = 1,
      .changes = {{"price of a machine", "$0.5/h", "$0.8/h (+60 %)", "2 x made/here/one/spot, bsp"}},
      .left_out = {{"3", "not in --regions"}},
      .notes = {"4 configurations", "machines can be had"},
      .command = "tandem plan job.yaml",
      .drawn = {
          {"ways", {"bsp", "ring"}},
          {"goal", {{"deadline_s", 9000.0}, {"budget", 3.0}}},
          {"estimates",
           {{"offers", {"made/here/one/spot"}}, {"points", {{0, 1, 2, 7000.0, 2.1}, {0, 0, 9, 1e6, 99.0}}}}},
          {"results", std::move(rows)}}};
}

// Cost against time, and what the cost pays for; the same as text where no script runs.
TEST(LongPlanInABrowser, OfTwoWays) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const std::string page = plan_html(made_plan());
  const auto text = page.substr(page.find("<noscript>"), page.find("</noscript>") - page.find("<noscript>"));
  EXPECT_THAT(text, HasSubstr("plan of &lt;b&gt;one&lt;/b&gt;"));
  EXPECT_THAT(text, HasSubstr("2 x made/here/one/spot"));
  EXPECT_THAT(text, HasSubstr("$0.8/h (+60 %)"));
  const Browser browser(page);
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("charts"), "2");
  EXPECT_EQ(browser.noted("drawn"), "2");
  EXPECT_EQ(browser.noted("blank"), "none");
  EXPECT_EQ(browser.noted("requests"), "0");
  EXPECT_EQ(browser.noted("wide"), "0");
  EXPECT_THAT(browser.dom, HasSubstr("</i>ring</span>"));
  EXPECT_THAT(browser.dom, HasSubstr("<summary>More configurations that were lived through</summary>"));
  EXPECT_THAT(browser.dom, HasSubstr("plan of &lt;b&gt;one&lt;/b&gt;"));
}

TEST(LongResultsInABrowser, SortAndCompare) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  ResultsList list{.folder = "/all", .skipped = {"one: <b>damaged</b>"}};
  for (const auto& [path, throughput] : {std::pair{"slow", 100.0}, {"fast", 300.0}, {"middle", 200.0}}) {
    ResultRow& row = list.results.emplace_back();
    row.path = path;
    row.world = "simulated";
    row.started = "2026-01-01T10:00:00Z";
    row.name = "lab";
    row.model = "lenet";
    row.dataset = "fashion-mnist";
    row.figures.algorithm = "bsp";
    row.figures.workers = 4;
    row.figures.throughput = throughput;
    row.figures.shares = TimeShares{.computing = 0.5, .data = 0.1, .exchange = 0.4, .other = 0};
    row.report = path == std::string("fast") ? "report.html" : "";
  }
  std::string page = results_html(list);
  page.replace(page.rfind("</body>"), 7, results_probe);
  const Browser browser(page);
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("order"), "fast|middle|slow");
  EXPECT_EQ(browser.noted("heads"), "|fast|middle|difference");
  EXPECT_EQ(browser.noted("difference"), "\u221233.3 %");
  EXPECT_THAT(browser.dom, HasSubstr("one: &lt;b&gt;damaged&lt;/b&gt;"));
  EXPECT_THAT(browser.dom, HasSubstr("<a href=\"report.html\""));
  EXPECT_THAT(browser.dom, Not(HasSubstr(">time to target</th>")));
}

TEST(LongResultsInABrowser, ShowMachinesOfTheMarkedResults) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  ResultsList list{.folder = "/all", .skipped = {"one: damaged"}};
  const auto variant = with_departures();
  for (const auto& [path, result, throughput] : {std::tuple{"simulated", &variant.simulated, 100.0},
                                                 std::tuple{"measured", &variant.measured[0], 99.0}}) {
    ResultRow& row = list.results.emplace_back();
    row.path = row.world = path;
    row.figures.throughput = throughput;
    row.departures = 2;
    row.lost_samples = 64;
    row.members = members_of_result(*result);
  }
  std::string page = results_html(list);
  page.replace(page.rfind("</body>"), 7, results_probe);
  const Browser browser(page);
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("heads"), "|simulated|measured|difference");
  EXPECT_THAT(browser.dom, HasSubstr("<h2>Membership</h2>"));
  EXPECT_THAT(browser.dom, HasSubstr("<summary>simulated: 2 departures, 1 arrival. Samples: "));
  EXPECT_THAT(browser.dom, HasSubstr("<title>machine 2 joined at 1.5 s</title>"));
  EXPECT_THAT(browser.dom, HasSubstr("<title>machine 2 joined at 1.52 s</title>"));
}

void expect_good_study(const Study& study, int charts) {
  const Browser browser(study_html(study));
  ASSERT_EQ(browser.status, 0) << browser.log;
  EXPECT_EQ(browser.console(), "");
  EXPECT_EQ(browser.noted("charts"), std::to_string(charts));
  EXPECT_EQ(browser.noted("drawn"), std::to_string(charts));
  EXPECT_EQ(browser.noted("wide"), "0") << "tables wider than a page of 1,300 pixels";
  EXPECT_EQ(browser.noted("blank"), "none");
  EXPECT_EQ(browser.noted("requests"), "0");
}

TEST(LongReportInABrowser, HostileNamesStayTexts) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const std::string hostile = "</script><b id=\"hostile\">x</b><img src=x onerror=\"null.nothing\">";
  const Browser browser(page_of({synthetic_variant({.name = hostile})}));
  expect_good(browser, 11);
  EXPECT_THAT(browser.dom, HasSubstr("<summary>&lt;/script&gt;&lt;b id=\"hostile\"&gt;"));
  EXPECT_THAT(browser.dom, Not(HasSubstr("<b id=\"hostile\">")));
}

// Charts: published figures; efficiency, time to the target and throughput over the number of workers; for
// each of three numbers of workers, accuracy over time and shares of time.
TEST(LongStudyInABrowser, SeveralNumbersOfWorkers) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  expect_good_study(testing::made_study(), 10);
}

// Charts: throughput by configuration, and time shares.
TEST(LongStudyInABrowser, OneNumberOfWorkersWithoutAccuracy) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  expect_good_study(make_study({testing::made_configuration({.algorithm = "bsp", .reached_s = 0}),
                                testing::made_configuration({.algorithm = "asp", .reached_s = 0})},
                               "two", {}, {}),
                    2);
}

TEST(LongReportInABrowser, AScriptErrorIsDetected) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  EXPECT_THAT(Browser("<script>null.nothing</script>").console(), HasSubstr("CONSOLE"));
}

TEST(LongReportInABrowser, ARequestAndABlankChartAreDetected) {
  if (!Browser::is_installed()) GTEST_SKIP() << "chromium is not installed";
  const Browser browser(
      "<html><body><img src=\"http://192.0.2.1/x.png\"><div><canvas id=\"empty\"></canvas></div><button "
      "id=\"zoom-in\"></button></body></html>");
  EXPECT_EQ(browser.noted("requests"), "1");
  EXPECT_EQ(browser.noted("blank"), "empty");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
