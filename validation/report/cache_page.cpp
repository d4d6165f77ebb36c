#include "validation/report/cache_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

std::string opening_of(const json& document) {
  std::string text =
      fmt::format("{}: {} requests for {} objects, working set {} bytes{}.",
                  document.at("trace").get<std::string>(), with_separators(document.at("requests")),
                  with_separators(document.at("objects")), with_separators(document.at("working_set_bytes")),
                  document.at("ignores_sizes") ? " (each object counts as one)" : "");
  if (const std::int64_t warm_up = document.at("warm_up_requests"); warm_up > 0)
    text += fmt::format(" The first {} requests are not counted.", with_separators(warm_up));
  if (const std::string admission = document.at("admission"); admission != "all")
    text += fmt::format(" Admission: {}.", admission);
  if (const double rate = document.at("sample_rate"); rate < 1)
    text += fmt::format(
        " Estimated from {} disjoint samples of {:.3g} % of the objects each; the error is twice the "
        "standard error of "
        "their mean.",
        document.at("samples").get<int>(), 100 * rate);
  return text;
}

/// "0.1234", or "0.123 ± 0.004" where it is estimated.
std::string ratio_text(const json& own, const std::string& key) {
  const double ratio = own.at(key);
  if (!own.contains(key + "_error")) return fmt::format("{:.4f}", ratio);
  return fmt::format("{:.4f} ± {:.4f}", ratio, own.at(key + "_error").get<double>());
}

Table results_table(const json& document) {
  Table table{.columns = {{"Policy", true},
                          {"Capacity"},
                          {"Of the working set"},
                          {"Miss ratio"},
                          {"Byte miss ratio"},
                          {"Capacity used"},
                          {"Filling"},
                          {"Requests/s"}}};
  const double working_set = document.at("working_set_bytes");
  for (const auto& own : document.at("results")) {
    const double capacity = own.at("capacity_bytes"), used = own.at("largest_used_bytes");
    table.rows.push_back(
        {{own.at("policy").get<std::string>(), with_separators(own.at("capacity_bytes")),
          fmt::format("{:.3g} %", 100 * capacity / working_set), ratio_text(own, "miss_ratio"),
          ratio_text(own, "byte_miss_ratio"), fmt::format("{:.1f} %", 100 * used / capacity),
          fmt::format("{:.1f} %",
                      100 * own.at("filling_requests").get<double>() / own.at("requests").get<double>()),
          fmt::format("{:.3g} M", own.at("requests_per_s").get<double>() * 1e-6)}});
  }
  return table;
}

/// The limit of the ratios of caches that were not yet full; empty: none was for long.
std::string filling_note(const json& document) {
  constexpr double little = 0.01;
  for (const auto& own : document.at("results"))
    if (own.at("filling_requests").get<double>() > little * own.at("requests").get<double>())
      return "Filling: share of the counted requests up to the first object for which there was no room. "
             "Until then a cache misses because it is not yet full, whatever its policy; --warm-up leaves "
             "the first requests out.";
  return "";
}

Page page_of_caches(const json& document) {
  Page page{.title = document.at("trace"), .kind = "Tandem cache", .blocks = {}};
  page.add(Note{opening_of(document)});
  constexpr std::size_t height = 380;
  Charts charts{{{"miss-ratio", "Request miss ratio", height}}};
  if (!document.at("has_one_size")) charts.charts.push_back({"byte-miss-ratio", "Byte miss ratio", height});
  page.add(std::move(charts), Heading{2, "All replays"}, results_table(document));
  if (std::string note = filling_note(document); !note.empty()) page.add(Note{std::move(note)});
  page.add(Note{document.at("bound_name").get<std::string>() +
                ". Requests per second are those of the replay, on this machine."});
  return page;
}

}  // namespace

std::string cache_table(const json& document) {
  Page page;
  page.add(Note{opening_of(document)}, results_table(document));
  if (std::string note = filling_note(document); !note.empty()) page.add(Note{std::move(note)});
  return to_text(page);
}

void write_cache_report(const std::string& directory, const json& document) {
  const Page page = page_of_caches(document);
  write_report_files(directory, document, to_markdown(page), to_html(page, document, {pieces::cache}));
}

}  // namespace tandem::validation
