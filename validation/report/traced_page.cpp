#include "validation/report/traced_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

Table buckets_table(const TracedPage& traced) {
  const bool is_launched =
      std::ranges::any_of(traced.buckets, [](const auto& bucket) { return bucket.launched != "-"; });
  Table table{.columns = {{"Bucket"},
                          {"Elements"},
                          {"Bytes"},
                          {is_launched ? "Ready, if the GPU never waited" : "Ready on the GPU"},
                          {"Launched by the processor"}}};
  int number = 0;
  for (const auto& bucket : traced.buckets)
    table.rows.push_back({{std::to_string(number++), with_separators(bucket.elements),
                           with_separators(bucket.bytes), bucket.ready, bucket.launched}});
  return without_empty_columns(std::move(table));
}

Table checks_table(const TracedPage& traced) {
  Table table{.columns = {{"Check", true}, {"Figure", true}, {"", true}}};
  for (const auto& [subject, figure, verdict] : traced.checks)
    table.rows.push_back({{subject, figure, verdict.empty() ? Cell("-") : Cell(verdict, Cell::Mark::badge)}});
  return table;
}

void add_timeline(const TracedPage& traced, Page& page) {
  if (!traced.has_streams) return;
  page.add(
      Heading{2, fmt::format("Step {} by streams of the GPU", traced.step)}, Explorer{},
      Note{
          "As recorded. Communication is hidden while a stream computes, and exposed otherwise. Gaps below a "
          "two-thousandth of the step are not drawn. A line marks when a bucket is ready."});
  if (traced.streams_left_out > 0)
    page.add(Note{fmt::format("{} more streams with less work are not shown.", traced.streams_left_out)});
}

Page page_of_traced_job(const TracedPage& traced) {
  Page page{.title = traced.title, .kind = "Tandem import"};
  page.add(AnswerBox{traced.question, traced.answer, traced.points});
  add_timeline(traced, page);
  constexpr std::size_t height = 340;
  page.add(
      Heading{2, "On other machines"},
      Charts{{{"by-workers",
               fmt::format("Speed of each GPU{}, by number of GPUs and bandwidth",
                           traced.is_as_profiled ? " as profiled" : ""),
               height},
              {"by-bandwidth", fmt::format("Step on {} GPUs, by bandwidth", traced.workers), height}}},
      Note{"Estimated: buckets leave one after the other when they are ready, 2 (n - 1) / n of their bytes "
           "over each GPU's link at its full rate, and computing and launching continue meanwhile, not "
           "slower than before. Buffers that are broadcast before the forward pass take the time of a sum of "
           "as many bytes. tandem simulate and tandem study --vary simulate the job."});
  if (!traced.buckets.empty()) page.add(Heading{2, "Buckets of the gradient"}, buckets_table(traced));
  if (traced.are_ready_times_assumed)
    page.add(Note{"Some times are assumed, in proportion to the bytes: the file does not have them."});
  if (!traced.checks.empty()) page.add(Heading{2, "Checks of the trace"}, checks_table(traced));
  return page;
}

}  // namespace

std::string traced_job_html(const TracedPage& traced) {
  return to_html(page_of_traced_job(traced), traced.drawn, {pieces::traced});
}

}  // namespace tandem::validation
