#include "validation/report/cache_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "workloads/experiment/fields.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/format.hpp"

namespace tandem {

template <>
struct Fields<validation::CacheReplay> {
  static void visit(auto& r, auto&& field) {
    fields(field, "policy", r.policy, "options", r.options, "capacity_bytes", r.capacity_bytes, "requests",
           r.requests, "hits", r.hits, "miss_ratio", r.miss_ratio, "byte_miss_ratio", r.byte_miss_ratio,
           "evicted", r.evicted, "filling_requests", r.filling_requests, "largest_used_bytes",
           r.largest_used_bytes, "requests_per_s", r.requests_per_s);
    field("miss_ratio_error", r.miss_ratio_error, Key::optional);
    field("byte_miss_ratio_error", r.byte_miss_ratio_error, Key::optional);
  }
};

template <>
struct Fields<validation::CacheReplays> {
  static void visit(auto& r, auto&& field) {
    fields(field, "trace", r.trace, "requests", r.requests, "objects", r.objects, "working_set_bytes",
           r.working_set_bytes, "skipped_requests", r.skipped_requests, "ignores_sizes", r.ignores_sizes,
           "admission", r.admission, "warm_up_requests", r.warm_up_requests, "sample_rate", r.sample_rate,
           "samples", r.samples, "has_one_size", r.has_one_size, "bound_name", r.bound_name, "results",
           r.results);
  }
};

}  // namespace tandem

namespace tandem::validation {
namespace {

std::string count_text(std::size_t count) { return with_separators(static_cast<std::int64_t>(count)); }

std::string opening_of(const CacheReplays& replays) {
  std::string text = fmt::format("{}: {} requests for {} objects, working set {} bytes{}.", replays.trace,
                                 count_text(replays.requests), with_separators(replays.objects),
                                 with_separators(replays.working_set_bytes),
                                 replays.ignores_sizes ? " (each object counts as one)" : "");
  if (replays.warm_up_requests > 0)
    text += fmt::format(" The first {} requests are not counted.", count_text(replays.warm_up_requests));
  if (replays.admission != "all") text += fmt::format(" Admission: {}.", replays.admission);
  if (replays.sample_rate < 1)
    text += fmt::format(
        " Estimated from {} disjoint samples of {:.3g} % of the objects each; the error is twice the "
        "standard error of "
        "their mean.",
        replays.samples, 100 * replays.sample_rate);
  return text;
}

/// "0.1234", or "0.123 ± 0.004" where it is estimated.
std::string ratio_text(double ratio, std::optional<double> error) {
  return error ? fmt::format("{:.4f} ± {:.4f}", ratio, *error) : fmt::format("{:.4f}", ratio);
}

Table results_table(const CacheReplays& replays) {
  Table table{.columns = {{"Policy", true},
                          {"Capacity"},
                          {"Of the working set"},
                          {"Miss ratio"},
                          {"Byte miss ratio"},
                          {"Capacity used"},
                          {"Filling"},
                          {"Requests/s"}}};
  const auto working_set = static_cast<double>(replays.working_set_bytes);
  for (const CacheReplay& own : replays.results) {
    const auto capacity = static_cast<double>(own.capacity_bytes);
    const auto filling = static_cast<double>(own.filling_requests);
    table.rows.push_back(
        {{own.policy, with_separators(own.capacity_bytes),
          fmt::format("{:.3g} %", 100 * capacity / working_set),
          ratio_text(own.miss_ratio, own.miss_ratio_error),
          ratio_text(own.byte_miss_ratio, own.byte_miss_ratio_error),
          fmt::format("{:.1f} %", 100 * static_cast<double>(own.largest_used_bytes) / capacity),
          fmt::format("{:.1f} %", 100 * filling / static_cast<double>(own.requests)),
          fmt::format("{:.3g} M", own.requests_per_s * 1e-6)}});
  }
  return table;
}

/// The limit of the ratios of caches that were not yet full; empty: none was for long.
std::string filling_note(const CacheReplays& replays) {
  constexpr double little = 0.01;
  for (const CacheReplay& own : replays.results)
    if (static_cast<double>(own.filling_requests) > little * static_cast<double>(own.requests))
      return "Filling: share of the counted requests up to the first object for which there was no room. "
             "Until then a cache misses because it is not yet full, whatever its policy; --warm-up leaves "
             "the first requests out.";
  return "";
}

Page page_of_caches(const CacheReplays& replays) {
  Page page{.title = replays.trace, .kind = "Tandem cache", .blocks = {}};
  page.add(Note{opening_of(replays)});
  constexpr std::size_t height = 380;
  Charts charts{{{"miss-ratio", "Request miss ratio", height}}};
  if (!replays.has_one_size) charts.charts.push_back({"byte-miss-ratio", "Byte miss ratio", height});
  page.add(std::move(charts), Heading{2, "All replays"}, results_table(replays));
  if (std::string note = filling_note(replays); !note.empty()) page.add(Note{std::move(note)});
  page.add(Note{replays.bound_name + ". Requests per second are those of the replay, on this machine."});
  return page;
}

}  // namespace

nlohmann::json cache_document(const CacheReplays& replays) { return write_fields(replays); }

std::string cache_table(const CacheReplays& replays) {
  Page page;
  page.add(Note{opening_of(replays)}, results_table(replays));
  if (std::string note = filling_note(replays); !note.empty()) page.add(Note{std::move(note)});
  return to_text(page);
}

void write_cache_report(const std::string& directory, const CacheReplays& replays) {
  const Page page = page_of_caches(replays);
  const nlohmann::json document = cache_document(replays);
  write_report_files(directory, document, to_markdown(page), to_html(page, document, {pieces::cache}));
}

}  // namespace tandem::validation
