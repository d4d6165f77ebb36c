#include "cli/fit/fit_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/fit/fit_text.hpp"
#include "policies/vocabulary/options.hpp"
#include "workloads/experiment/json_file.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// Errors: ConfigError.
double gap_of(const JsonFile& file) {
  const double gap = file.document().at("metadata").at("gap_seconds");
  if (gap <= 0.0)
    file.fail(json::json_pointer("/metadata/gap_seconds"), "a number of seconds above 0",
              fmt::format("{}", gap));
  return gap;
}

/// Errors: ConfigError.
std::vector<double> counts_of(const JsonFile& file) {
  std::vector<double> counts = file.document().at("data");
  const json::json_pointer data("/data");
  if (counts.empty()) file.fail(data, "at least one number of machines", "an empty list");
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < 0.0 || counts[i] != std::floor(counts[i]))
      file.fail(data / i, "a whole number of machines of at least 0", fmt::format("{}", counts[i]));
  return counts;
}

}  // namespace

json trace_document(const EventsFile& file) {
  std::set<std::string> nodes;
  for (const auto& event : file.events) nodes.insert(event.node);
  const auto count = [&](NodeEvent::Kind kind) {
    return std::ranges::count(file.events, kind, &NodeEvent::kind);
  };
  return {{"file", file.path},
          {"chosen", {{"name", "trace"}, {"options", {{"events", trace_text(file)}}}}},
          {"source",
           {{"file", file.path},
            {"machines", nodes.size()},
            {"arrivals", count(NodeEvent::Kind::add)},
            {"departures", count(NodeEvent::Kind::remove)},
            {"warnings", count(NodeEvent::Kind::warn)},
            {"observed_up_to_s", file.events.back().time}}}};
}

json capacity_document(const std::string& path) {
  const JsonFile file(path, "a trace of capacity");
  file.expect_like({{"metadata", {{"gap_seconds", 1.0}}}, {"data", {1}}});
  const double gap = gap_of(file);
  const auto counts = counts_of(file);
  std::string text;
  for (const double count : counts) text += (text.empty() ? "" : ",") + to_text(OptionValue(count));
  const auto [least, most] = std::ranges::minmax(counts);
  return {{"file", path},
          {"chosen", {{"name", "capacity-trace"}, {"options", {{"counts", text}, {"gap", gap}}}}},
          {"source",
           {{"file", path},
            {"counts", counts.size()},
            {"least", least},
            {"most", most},
            {"observed_up_to_s", gap * static_cast<double>(counts.size())}}}};
}

std::string replay_text(const json& document) {
  const json& source = document.at("source");
  const std::string file = document.at("file");
  const std::string duration = duration_text(source.at("observed_up_to_s"));
  if (source.contains("counts"))
    return fmt::format("{}: {} counts in {}, from {:g} to {:g} machines\n  chosen: capacity-trace\n", file,
                       source.at("counts").get<std::size_t>(), duration, source.at("least").get<double>(),
                       source.at("most").get<double>());
  return fmt::format("{}: {} nodes in {}: {} arrivals, {} departures, {} warnings\n  chosen: trace\n", file,
                     source.at("machines").get<std::size_t>(), duration,
                     source.at("arrivals").get<std::size_t>(), source.at("departures").get<std::size_t>(),
                     source.at("warnings").get<std::size_t>());
}

}  // namespace tandem::cli
