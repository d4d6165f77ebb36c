#include "validation/report/traced_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

Table buckets_table(const json& document) {
  const bool is_launched = std::ranges::any_of(
      document.at("buckets"), [](const json& bucket) { return bucket.at("launched") != "-"; });
  Table table{.columns = {{"Bucket"},
                          {"Elements"},
                          {"Bytes"},
                          {is_launched ? "Ready, if the GPU never waited" : "Ready on the GPU"},
                          {"Launched by the processor"}}};
  int number = 0;
  for (const auto& bucket : document.at("buckets"))
    table.rows.push_back({{std::to_string(number++), with_separators(bucket.at("elements")),
                           with_separators(static_cast<std::int64_t>(bucket.at("bytes").get<double>())),
                           bucket.at("ready").get<std::string>(), bucket.at("launched").get<std::string>()}});
  return without_empty_columns(std::move(table));
}

Table checks_table(const json& document) {
  Table table{.columns = {{"Check", true}, {"Figure", true}, {"", true}}};
  for (const auto& check : document.at("checks")) {
    const auto verdict = check.at("verdict").get<std::string>();
    table.rows.push_back({{check.at("subject").get<std::string>(), check.at("figure").get<std::string>(),
                           verdict.empty() ? Cell("-") : Cell(verdict, Cell::Mark::badge)}});
  }
  return table;
}

void add_timeline(const json& document, Page& page) {
  const json& timeline = document.at("timeline");
  if (timeline.at("lanes").empty()) return;
  page.add(
      Heading{2, fmt::format("Step {} by streams of the GPU", timeline.at("step").get<int>())}, Explorer{},
      Note{
          "As recorded. Communication is hidden while a stream computes, and exposed otherwise. Gaps below a "
          "two-thousandth of the step are not drawn. A line marks when a bucket is ready."});
  if (const int left = timeline.at("left_out"); left > 0)
    page.add(Note{fmt::format("{} more streams with less work are not shown.", left)});
}

Page page_of_traced_job(const json& document) {
  Page page{.title = document.at("title"), .kind = "Tandem import"};
  page.add(AnswerBox{document.at("question"), document.at("answer"),
                     document.at("points").get<std::vector<std::string>>()});
  add_timeline(document, page);
  constexpr std::size_t height = 340;
  page.add(
      Heading{2, "On other machines"},
      Charts{{{"by-workers", "Speed of each GPU, by number of GPUs and bandwidth", height},
              {"by-bandwidth",
               fmt::format("Step on {} GPUs, by bandwidth", document.at("workers").get<int>()), height}}},
      Note{"Estimated: buckets leave one after the other when they are ready, 2 (n - 1) / n of their bytes "
           "over each GPU's link at its full rate, and computing and launching continue meanwhile, not "
           "slower than before. Buffers that are broadcast before the forward pass take the time of a sum of "
           "as many bytes. tandem simulate and tandem study --vary simulate the job."});
  if (!document.at("buckets").empty())
    page.add(Heading{2, "Buckets of the gradient"}, buckets_table(document));
  if (document.at("are_ready_times_assumed"))
    page.add(Note{"Some times are assumed, in proportion to the bytes: the file does not have them."});
  if (!document.at("checks").empty()) page.add(Heading{2, "Checks of the trace"}, checks_table(document));
  return page;
}

}  // namespace

std::string traced_job_html(const json& document) {
  return to_html(page_of_traced_job(document), document, {pieces::traced});
}

}  // namespace tandem::validation
