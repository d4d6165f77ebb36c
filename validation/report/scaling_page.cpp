#include "validation/report/scaling_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "validation/report/study.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;
using ScalingPoint = ScalingPage::Point;

std::string speed_text(double speed) { return with_unit(speed, Unit::samples_per_second); }

std::string answer_of_scaling(const ScalingPage& scaling) {
  const ScalingPoint &first = scaling.points.front(), &last = scaling.points.back();
  std::string text = fmt::format("{} {} train {}", last.workers, last.workers == 1 ? "worker" : "workers",
                                 speed_text(last.speed));
  if (first.workers < last.workers)
    text += fmt::format(", {} times as many as {} {}", three_digits(last.speed / first.speed), first.workers,
                        first.workers == 1 ? "worker" : "workers");
  if (const auto paying = last_that_pays(scaling.points))
    text += fmt::format("; from {} on, more workers gain less than half of a proportional gain", *paying);
  if (last.by_servers) text += fmt::format("; the servers allow at most {}", speed_text(*last.by_servers));
  return text;
}

Table table_of_scaling(const ScalingPage& scaling) {
  Table table{
      .columns = {{"Workers"}, {"Speed"}, {"at least"}, {"at most"}, {"Per worker"}, {"Binds", true}}};
  const ScalingPoint& first = scaling.points.front();
  for (const ScalingPoint& own : scaling.points) {
    const bool is_exact = own.slowest >= own.fastest;
    const double of_first = own.speed / own.workers / (first.speed / first.workers);
    table.rows.push_back(
        {{std::to_string(own.workers), speed_text(own.speed), is_exact ? "-" : speed_text(own.slowest),
          is_exact ? "-" : speed_text(own.fastest), percent(of_first), own.binds}});
  }
  return without_empty_columns(std::move(table));
}

Page page_of_scaling(const ScalingPage& scaling) {
  Page page{.title = scaling.title, .kind = "Tandem prediction (closed form)"};
  constexpr std::size_t height = 440;
  page.add(AnswerBox{"How fast does the job train with how many workers?", answer_of_scaling(scaling),
                     scaling.advice},
           Charts{{{"scaling", "Speed by the number of workers", height}}},
           Note{"The band is what the closed form leaves open. Dashed lines are what the job would reach if "
                "only the workers, the servers or the network limited it."},
           table_of_scaling(scaling), Heading{2, "Notes"}, Bullets{scaling.notes}, Heading{2, "Reproduce"},
           Code{scaling.command});
  return page;
}

json document_of_scaling(const ScalingPage& scaling) {
  const auto number = [](const std::optional<double>& value) { return value ? json(*value) : json(nullptr); };
  json points = json::array();
  for (const ScalingPoint& own : scaling.points)
    points.push_back({{"workers", own.workers},
                      {"samples_per_s", own.speed},
                      {"range_samples_per_s", {own.slowest, own.fastest}},
                      {"by_workers", number(own.by_workers)},
                      {"by_servers", number(own.by_servers)},
                      {"by_network", number(own.by_network)},
                      {"binds", own.binds}});
  json document = json::object();
  document["results"] = std::move(points);
  return document;
}

}  // namespace

std::optional<int> last_that_pays(const std::vector<ScalingPage::Point>& points) {
  std::vector<std::pair<int, double>> line;
  for (const ScalingPoint& point : points) line.emplace_back(point.workers, point.speed);
  return knee_of(line, 0.5);
}

std::string scaling_html(const ScalingPage& scaling) {
  return to_html(page_of_scaling(scaling), document_of_scaling(scaling), {pieces::scaling});
}

void write_scaling_report(const std::string& directory, const ScalingPage& scaling) {
  write_report_files(directory, document_of_scaling(scaling), to_markdown(page_of_scaling(scaling)),
                     scaling_html(scaling));
}

}  // namespace tandem::validation
